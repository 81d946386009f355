"""Parameters: what formulas need of the stations and flows of a scenario besides their counts."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ethermeter.counts import Column, Floats
from ethermeter.entities import is_voice, mean_bits, receiver_flows, talking_share
from ethermeter.nodes import links_in, mac_of, paths_of
from ethermeter.scenario import (
    Arrivals,
    CoderArrivals,
    Flow,
    Job,
    SamplesLengths,
    SaturatedArrivals,
    Scenario,
)

PS_PER_S = 1e12


def window_ps(scenario: Scenario) -> float:
    """Return the length of the measured window in ps."""
    return float(scenario.phases.measure_to_ps - scenario.phases.measure_from_ps)


def stacked(
    scenarios: Sequence[Scenario], of_one: Callable[[Scenario], Mapping[str, Column]]
) -> dict[str, Column]:
    """Return the parameters of several scenarios alike, with an axis of trials before the others.

    Those of equal scenarios are found once.
    """
    known = {
        id(entry): of_one(entry) for entry in {id(entry): entry for entry in scenarios}.values()
    }
    each = [known[id(entry)] for entry in scenarios]
    return {name: np.array([entry[name] for entry in each]) for name in each[0]}


def of_medium(scenario: Scenario, number: int = 0) -> dict[str, Column]:
    """Return the time of a bit, and of preamble and gap, of a medium, in ps, shape `(1,)`."""
    medium = scenario.media[number]
    bit_ps, mac = medium.bit_ps, mac_of(medium)
    return {
        "bit_ps": np.array([float(bit_ps)]),
        "around_ps": np.array([float((mac.preamble_bits + mac.gap_bits) * bit_ps)]),
    }


def of_stations(scenario: Scenario, number: int = 0) -> dict[str, Floats]:
    """Return the parameters of the stations of a medium, `(stations,)`, and its own, `(1,)`.

    `usual_bits` is the mean length of frames, NaN of a station that does not send one flow;
    `is_saturated`, `is_due`, `has_calls` and `talks` are 0 or 1, the latter three of a station
    whose flow has the medium as receiver, with a deadline, calls or a coder. Of a coder,
    `overhead_bits` are those of a frame and `sample_bits` of a sample; `coder_load` is the share of
    the line rate that its samples take, silence included.
    """
    found = of_medium(scenario, number)
    bit_ps = found["bit_ps"][0]
    flows: dict[str, list[Flow]] = {}
    for flow in scenario.flows:
        flows.setdefault(flow.from_, []).append(flow)
    groups = scenario.media[number].stations
    rows = [_of_flows(flows.get(stations.node, ()), bit_ps) for stations in groups]
    counts = [len(stations.points) for stations in groups]
    names = (
        "usual_bits",
        "is_saturated",
        "is_due",
        "has_calls",
        "talks",
        "overhead_bits",
        "sample_bits",
        "coder_load",
    )
    return found | dict(zip(names, np.repeat(np.array(rows, np.float64).T, counts, 1), strict=True))


def _of_flows(flows: Sequence[Flow], bit_ps: float) -> tuple[float, ...]:
    """Return the parameters of a station from the flows of its host."""
    usual_bits = mean_bits(flows[0].frames) if len(flows) == 1 else np.nan
    is_saturated = [isinstance(flow.arrivals, SaturatedArrivals) for flow in flows]
    is_due = any(not flow.to and flow.deadline_ps is not None for flow in flows)
    has_calls = any(flow.calls is not None for flow in flows)
    is_all_saturated = bool(flows) and all(is_saturated)
    found = (usual_bits, float(is_all_saturated), float(is_due), float(has_calls))
    for flow in flows:
        coder, frames = flow.arrivals, flow.frames
        if not flow.to and isinstance(coder, CoderArrivals) and isinstance(frames, SamplesLengths):
            load = coder_rate(coder) * bit_ps
            return (*found, 1.0, float(frames.overhead_bits), float(coder.sample_bits), load)
    return (*found, 0.0, 0.0, 1.0, 0.0)


def coder_rate(arrivals: Arrivals) -> float:
    """Return the bits of samples that a coder makes in a ps, silence included; 0 of others."""
    if not isinstance(arrivals, CoderArrivals):
        return 0.0
    return talking_share(arrivals) * arrivals.sample_bits / arrivals.sample_ps


def of_receivers(scenario: Scenario) -> dict[str, Column]:
    """Return the parameters of flows with receivers, shape `(flows,)`.

    `receivers` is how many there are; `is_transfer`, `reads` and `talks` are truth values: of a
    transfer, of one that reads a file, of voice. `job_octets` are those that a transfer moves, NaN
    if it goes on until the trial ends, or there is none. `deadline_s` is NaN of a flow without a
    deadline, for which `is_due` is false. Of a coder, `codec` is the name or None,
    and `sample_s` the time of a sample; `coder_load` is the rate of its samples over that of the
    slowest link of its path, `coder_load_together`, of shape `(1,)`, the largest sum on a link.
    """
    flows = receiver_flows(scenario)
    jobs = [None if flow.transfer is None else flow.transfer.job for flow in flows]
    found = {
        "receivers": np.array([float(len(flow.to)) for flow in flows]),
        "is_transfer": np.array([job is not None for job in jobs]),
        "reads": np.array(
            [
                job is not None and job.file is not None and job.file.direction == "read"
                for job in jobs
            ]
        ),
        "job_octets": np.array([_octets_of(job) for job in jobs], np.float64),
        "talks": np.array([is_voice(flow) for flow in flows]),
        "deadline_s": deadlines_s(scenario),
    }
    found["is_due"] = ~np.isnan(found["deadline_s"])
    if found["talks"].any():
        coders = [
            entry if isinstance(entry := flow.arrivals, CoderArrivals) else None for flow in flows
        ]
        found["codec"] = np.array([flow.codec for flow in flows], np.object_)
        found["sample_s"] = np.array(
            [0.0 if entry is None else entry.sample_ps / PS_PER_S for entry in coders]
        )
        found["coder_load"], found["coder_load_together"] = _loads(scenario)
    return found


def deadlines_s(scenario: Scenario) -> Floats:
    """Return the deadlines of flows with receivers in s, shape `(flows,)`; NaN without one."""
    given = (flow.deadline_ps for flow in receiver_flows(scenario))
    return np.array([np.nan if ps is None else ps / PS_PER_S for ps in given])


def _octets_of(job: Job | None) -> float:
    moves = None if job is None else job.file or job.stream
    return float("nan") if moves is None or moves.octets is None else moves.octets


def _loads(scenario: Scenario) -> tuple[Floats, Floats]:
    """Return the load of each coder, and the largest sum on any link."""
    links = links_in(scenario)
    together: dict[tuple[int, str], float] = {}
    each = np.zeros(len(scenario.flows))
    for at, (flow, path) in enumerate(zip(scenario.flows, paths_of(scenario), strict=True)):
        rate = coder_rate(flow.arrivals)
        for link, node in path if rate else ():
            load = rate * links[link].ps_per_octet / 8
            together[link, node] = together.get((link, node), 0.0) + load
            each[at] = max(each[at], load)
    return each, np.array([max(together.values())])
