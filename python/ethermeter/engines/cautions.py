"""Cautions of what was simulated: frames that are illegal, and queues that are not in balance."""

import numpy as np
import numpy.typing as npt

from ethermeter.counts import LOSSES, Counts, Floats, FlowCounts, StationCounts
from ethermeter.entities import per_station
from ethermeter.framing import lengths_of, message_octets, packet_octets
from ethermeter.metrics import Caution, Masks, caution_mask
from ethermeter.metrics.formulas import LOST, floats
from ethermeter.scenario import CoderArrivals, Flow, SaturatedArrivals, Scenario
from ethermeter.store.columns import CAUTION, FLOWS, OF_QUEUES, STATIONS
from ethermeter.store.trial_result import Cautions
from ethermeter.theory.load import loads_of

SHORTEST, LONGEST = 64, 2000
"""Octets of legal frames, destination address to FCS (802.3-2022 § 3.2.7, § 4.4.2); the longest are
envelope frames.
"""
AROUND_PACKET = 18
"""Octets of a frame around its IP packet: addresses, type, check sequence (802.3-2022 § 3.2)."""
FILLING_SHARE = 0.05
"""Share of the measured window in which the queue of an overload may still fill."""
SETTLING_SHARE = 0.2
"""Share of the measured window in which a queue may come into balance: one without limit that is
measured from its beginning is then, on average over the window, shorter than in the long run by a
quarter of this.
"""
GROWTH_ERROR, LEAST_GROWTH, LEAST_BATCHES = 1e-4, 2.0, 5
"""Probability with which a flow of a trial whose queues are in balance is taken for one whose
backlog grows; the least growth, in messages; and the fewest batches of which it is known.
"""
STATION_GROWTH_SHARE, LEAST_STATION_GROWTH = 0.01, 2.0
"""Growth of queues from which they are not in balance: over the frames that came, and by station.
"""


def cautions_of(scenario: Scenario, counts: Counts) -> Cautions:
    """Return the cautions of what a simulation counted of a scenario."""
    return {STATIONS: station_cautions(scenario, counts), FLOWS: flow_cautions(scenario, counts)}


def station_cautions(scenario: Scenario, counts: Counts) -> dict[str, Masks]:
    """Return the cautions of stations, by the columns of their table."""
    stations = len(counts.stations.frames)
    words: list[str] = []
    if Caution.UNBOUNDED_QUEUE not in counts.cautions and is_growing(scenario, counts.stations):
        words.append(Caution.GROWING_QUEUE)
    return {
        CAUTION: np.full(stations, caution_mask(counts.cautions)),
        OF_QUEUES: np.full(stations, caution_mask(words)),
    }


def is_growing(scenario: Scenario, counts: StationCounts) -> bool:
    """Return whether queues of stations grew in the window.

    What a medium carries beside contention is not known before. So its queues grew if more frames
    came than left, by `STATION_GROWTH_SHARE` of those that came and by `LEAST_STATION_GROWTH` a
    station.
    """
    has_queue = per_station(
        scenario,
        lambda group: not isinstance(group.flow.arrivals, SaturatedArrivals | CoderArrivals),
    ).astype(bool)
    left = counts.frames + counts.discarded + counts.dropped
    came, grown = (float(of[has_queue].sum()) for of in (counts.offered, counts.offered - left))
    return grown > STATION_GROWTH_SHARE * came and grown >= LEAST_STATION_GROWTH * int(
        has_queue.sum()
    )


def flow_cautions(scenario: Scenario, counts: Counts) -> dict[str, Masks]:
    """Return the cautions of flows with receivers, by the columns of their table."""
    flows = counts.flows
    if not len(flows.offered):
        return {CAUTION: np.zeros(0, np.uint64)}
    masks = illegal_frames(scenario) | _of_loads(scenario)
    unbounded, growing_queue = (
        caution_mask([word]) for word in (Caution.UNBOUNDED_QUEUE, Caution.GROWING_QUEUE)
    )
    copies = np.array([float(len(flow.to)) for flow in scenario.flows])
    grows = growing(flows, copies) & (masks & unbounded == 0)
    return {CAUTION: masks | np.where(grows, growing_queue, np.uint64(0))}


def illegal_frames(scenario: Scenario) -> Masks:
    """Return the caution of flows with frames of a length that no standard allows."""
    word = caution_mask([Caution.ILLEGAL_FRAME_LENGTH])
    legal = np.array([_is_legal(flow) for flow in scenario.flows])
    return np.where(legal, np.uint64(0), word)


def _of_loads(scenario: Scenario) -> Masks:
    """Return the cautions of flows by the loads that the scenario offers; shape (flows,)."""
    found = np.zeros(len(scenario.flows), np.uint64)
    phases = scenario.phases
    before_ps = phases.measure_from_ps - phases.begin_ps
    window_ps = phases.measure_to_ps - phases.measure_from_ps
    loads = loads_of(scenario)
    for number, (overloads, settling_ps) in enumerate(
        zip(loads.overloads, loads.settling_ps, strict=True)
    ):
        is_filling = any(each.fill_ps > before_ps + FILLING_SHARE * window_ps for each in overloads)
        if any(overload.is_endless for overload in overloads):
            found[number] = caution_mask([Caution.UNBOUNDED_QUEUE])
        elif is_filling or settling_ps > before_ps + SETTLING_SHARE * window_ps:
            found[number] = caution_mask([Caution.GROWING_QUEUE])
    return found


def growing(flows: FlowCounts, copies: Floats) -> npt.NDArray[np.bool_]:
    """Return whether the backlog of each flow grew over the batches of the window.

    In a batch the backlog grows by what was offered and neither lost nor received; losses are taken
    as even. It grew over the window if the mean over batches is above 0, by Student's t with the
    probability `GROWTH_ERROR` over all flows, and if it grew by `LEAST_GROWTH` messages or more: of
    the flow alone, or of all flows together and the flow is one of those that grew. A backlog in
    balance may be long and vary slowly, but its differences have no mean.

    `copies`: receivers of each flow.
    """
    offered = floats(flows.batches.offered) * copies
    wanted = offered.sum(axis=0)
    lost = floats(flows.balance.lost)[:, [LOSSES.index(cause) for cause in LOST]]
    lost = np.minimum(lost.sum(axis=1) + flows.dropped * copies, wanted - flows.arrived)
    kept = 1 - lost / np.where(wanted > 0, wanted, 1.0)
    steps = offered * kept - flows.batches.messages
    error = GROWTH_ERROR / (len(copies) + 1)
    is_one = steps.sum(axis=0) >= LEAST_GROWTH
    together = steps.sum(axis=1, keepdims=True)
    found: npt.NDArray[np.bool_] = is_one & (_has_mean(steps, error) | _has_mean(together, error))
    return found


def _has_mean(steps: Floats, error: float) -> npt.NDArray[np.bool_]:
    """Return of which columns the mean is above 0, by Student's t with a one-sided error."""
    count = len(steps)
    if count < LEAST_BATCHES:
        return np.zeros(steps.shape[1], np.bool_)
    from scipy.special import stdtrit  # on demand, as in `results.interval`

    limit = stdtrit(count - 1, 1 - error) * steps.std(axis=0, ddof=1) / np.sqrt(count)
    return np.asarray(steps.mean(axis=0) > limit)


def _is_legal(flow: Flow) -> bool:
    """Whether all frames of a flow have a length that the standard allows."""
    if flow.transfer is not None:
        return packet_octets(flow.transfer) + AROUND_PACKET <= LONGEST
    lengths = [flow.frames, *([flow.response.frames] if flow.response is not None else [])]
    return all(
        SHORTEST <= octets <= LONGEST
        for of in lengths
        for bits in lengths_of(of)
        for octets in message_octets(flow, bits)
    )
