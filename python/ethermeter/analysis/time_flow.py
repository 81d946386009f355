"""Time flow: when a frame passes each stage of its way, if it is alone in the network.

By the formulas of the simulator, in whole picoseconds: a stage begins when the one before it has
served the frame, or so much of it that it never waits for the rest.

Source
------
Hughes-Jones and Saka, ATL-COM-DAQ-2000-014, 2000, figure 2.1 and equation 2.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ethermeter.analysis.roofline import links_between, path_between
from ethermeter.framing import lengths_of, message_octets
from ethermeter.nodes import links_in, nodes_in
from ethermeter.scenario import Flow, SamplesLengths, Scenario, Stage
from ethermeter.theory.bounds.stages import PS_PER_S, Timing

MOST = 3
"""Time flows that are shown of a network."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A frame at a stage, in seconds since its call.

    The stage works on it from `begins_s` to `ends_s`; of that, `by_length_s` is for its octets.
    `goes_on_s` is when the next stage has all of it: later by delays, and by coalescing.
    """

    stage: str
    begins_s: float
    ends_s: float
    by_length_s: float
    goes_on_s: float


@dataclass(frozen=True, slots=True)
class TimeFlow:
    """A frame of `octets`, destination address to FCS, on its way from one host to another.

    `wires`: how many of the stages it passes are wires.
    """

    flow: str
    source: str
    sink: str
    octets: int
    wires: int
    passages: tuple[Passage, ...]

    @property
    def one_way_s(self) -> float:
        """The one-way delay of the frame."""
        return self.passages[-1].goes_on_s


def time_flows(scenario: Scenario, most: int = MOST) -> tuple[TimeFlow, ...]:
    """Return the time flow of the longest frame of the first flows that have one, at most so many.

    Of flows with equal times only the first is taken. Left out are transfers, packets of
    coders, messages of several frames, frames to a group, and ways over shared media or by stages
    with random times: there one frame alone does not have one time.
    """
    found: dict[tuple[object, ...], TimeFlow] = {}
    for flow in scenario.flows:
        if len(found) == most:
            break
        one = _time_flow(scenario, flow)
        if one is not None:
            times = tuple((each.begins_s, each.ends_s) for each in one.passages)
            found.setdefault((one.octets, times), one)
    return tuple(found.values())


def _time_flow(scenario: Scenario, flow: Flow) -> TimeFlow | None:
    if flow.transfer is not None or isinstance(flow.frames, SamplesLengths):
        return None
    frames = message_octets(flow, max(lengths_of(flow.frames)))
    if len(frames) > 1 or flow.address != "unicast":
        return None
    nodes = {node.name: node.kind for node in nodes_in(scenario)}
    path = links_between(links_in(scenario), flow.from_, flow.to[0])
    if any(link.half_duplex or nodes[node].hub is not None for _, link, node in path):
        return None
    stages = list(path_between(scenario, flow.from_, flow.to[0]))
    if any(stage.random is not None for _, stage in stages):
        return None
    passages = tuple(_passages(stages, frames[0]))
    return TimeFlow(flow.name, flow.from_, flow.to[0], frames[0], len(path), passages)


def _passages(stages: Sequence[tuple[str, Stage]], octets: int) -> list[Passage]:
    ready_ps = complete_ps = 0
    found = []
    for name, stage in stages:
        timing = Timing.of_stage(stage, 0)
        service_ps = timing.service_ps(octets)
        # It begins so late that the rest is there in time.
        start_ps = max(ready_ps, complete_ps - service_ps)
        end_ps = start_ps + service_ps
        complete_ps = end_ps + timing.delay_ps + timing.batch_ps
        ready_ps = complete_ps
        if timing.cuts_through:
            ready_ps = min(start_ps + timing.delay_ps + timing.head_ps(octets), complete_ps)
        times_ps = (start_ps, end_ps, service_ps - timing.fixed_ps, complete_ps)
        found.append(Passage(name, *(time_ps / PS_PER_S for time_ps in times_ps)))
    return found
