"""Parameters: what formulas need of the stations and flows of a scenario besides their counts."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ethermeter.counts import Column, Floats
from ethermeter.nodes import over_links, paths_of
from ethermeter.scenario import (
    Arrivals,
    CoderArrivals,
    Job,
    SamplesLengths,
    SaturatedArrivals,
    Scenario,
)
from ethermeter.station_groups import (
    Group,
    constants_of,
    is_voice,
    mean_bits,
    medium_of,
    per_station,
    talking_share,
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


def of_medium(scenario: Scenario) -> dict[str, Column]:
    """Return the time of a bit, and of preamble and gap, in ps, shape `(1,)`."""
    bit_ps, mac = medium_of(scenario).bit_ps, constants_of(scenario)
    return {
        "bit_ps": np.array([float(bit_ps)]),
        "around_ps": np.array([float((mac.preamble_bits + mac.gap_bits) * bit_ps)]),
    }


def of_stations(scenario: Scenario) -> dict[str, Floats]:
    """Return the parameters of stations, shape `(stations,)`, and of their medium, `(1,)`.

    `usual_bits` is the mean length of frames, `is_saturated` and `talks` are 0 or 1. Of a coder,
    `overhead_bits` are those of a frame and `sample_bits` of a sample; `coder_load` is the share of
    the line rate that its samples take, silence included.
    """
    found = of_medium(scenario)
    bit_ps = found["bit_ps"][0]
    of_group: Mapping[str, Callable[[Group], float]] = {
        "usual_bits": lambda group: mean_bits(group.flow.frames),
        "is_saturated": lambda group: isinstance(group.flow.arrivals, SaturatedArrivals),
        "talks": lambda group: group.has_coder,
        "overhead_bits": lambda group: (
            frames.overhead_bits if isinstance(frames := group.flow.frames, SamplesLengths) else 0
        ),
        "sample_bits": lambda group: (
            coder.sample_bits if isinstance(coder := group.flow.arrivals, CoderArrivals) else 1
        ),
        "coder_load": lambda group: coder_rate(group.flow.arrivals) * bit_ps,
    }
    return found | {name: per_station(scenario, value) for name, value in of_group.items()}


def coder_rate(arrivals: Arrivals) -> float:
    """Return the bits of samples that a coder makes in a ps, silence included; 0 of others."""
    if not isinstance(arrivals, CoderArrivals):
        return 0.0
    return talking_share(arrivals) * arrivals.sample_bits / arrivals.sample_ps


def of_flows(scenario: Scenario) -> dict[str, Column]:
    """Return the parameters of flows, shape `(flows,)`.

    `receivers` is how many there are; `is_transfer`, `reads` and `talks` are truth values: of a
    transfer, of one that reads a file, of voice. `job_octets` are those that a transfer moves, NaN
    if it goes on until the trial ends, or there is none. Of a coder, `codec` is the name or None,
    and `sample_s` the time of a sample; `coder_load` is the rate of its samples over that of the
    slowest link of its path, `coder_load_together`, of shape `(1,)`, the largest sum on a link.
    """
    flows = scenario.flows
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
    }
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


def _octets_of(job: Job | None) -> float:
    moves = None if job is None else job.file or job.stream
    return float("nan") if moves is None or moves.octets is None else moves.octets


def _loads(scenario: Scenario) -> tuple[Floats, Floats]:
    """Return the load of each coder, and the largest sum on any link."""
    links = over_links(scenario).links
    together: dict[tuple[int, str], float] = {}
    each = np.zeros(len(scenario.flows))
    for at, (flow, path) in enumerate(zip(scenario.flows, paths_of(scenario), strict=True)):
        rate = coder_rate(flow.arrivals)
        for link, node in path if rate else ():
            load = rate * links[link].ps_per_octet / 8
            together[link, node] = together.get((link, node), 0.0) + load
            each[at] = max(each[at], load)
    return each, np.array([max(together.values())])
