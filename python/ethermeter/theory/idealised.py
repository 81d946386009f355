"""Idealised scenarios: scenarios for the simulator with exactly the assumptions of a model.

An idealised scenario may have the medium access of a theory. Its packets include preamble and gap,
as in the models; counted bits are converted back to bits of frames afterwards.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from msgspec.structs import replace

from ethermeter.entities import constants_of, medium_of
from ethermeter.scenario import (
    Access,
    Adaptive,
    ConstantTimes,
    Finite,
    FixedLengths,
    Flow,
    Infinite,
    Lengths,
    Mac,
    MixLengths,
    NonPersistent,
    OnePersistent,
    Persistence,
    Policy,
    Polling,
    Population,
    SaturatedArrivals,
    Scenario,
    Slotted,
    Unslotted,
)
from ethermeter.theory.inputs import PS_PER_S, ModelInputs
from ethermeter.theory.predictions import ENTRIES

Change = Callable[[Flow], Flow]


@dataclass(frozen=True, slots=True)
class IdealisedScenario:
    """A scenario for the simulator, and how to convert the bits it counts.

    One bit that it counts is `frame_bits` of a frame; then `overhead_bits` of a packet are not the
    frame's.
    """

    scenario: Scenario
    frame_bits: float = 1.0
    overhead_bits: float = 0.0


def ideal(model: str, inputs: ModelInputs, scenario: Scenario) -> IdealisedScenario | None:
    """Return the idealised scenario that a model assumes, or None if it has none of its own.

    The model must apply to the inputs, which are those of the scenario.
    """
    make = _IDEAL.get(model)
    return make(inputs, scenario) if make is not None else None


def has_scenario(model: str) -> bool:
    """Whether a model has an idealised scenario of its own."""
    return model in _IDEAL


def bare(inputs: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    """Return the scenario with preamble and gap counted as parts of its frames."""
    overhead = round(inputs.overhead_bits)
    changed = with_flows(_without_overhead(scenario), _lengthened(lambda bits: bits + overhead))
    return IdealisedScenario(changed, 1.0, overhead)


def in_slots(inputs: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    """Return the scenario with a propagation slot as its bit, and packets of whole slots."""
    slot_ps = round(inputs.propagation_slot_s * PS_PER_S)
    bit_ps = medium_of(scenario).bit_ps
    overhead = round(inputs.overhead_bits)

    def slots(bits: int) -> int:
        return max(1, round(float((bits + overhead) * bit_ps) / slot_ps))

    changed = with_flows(_without_overhead(scenario), _lengthened(slots))
    medium = replace(medium_of(changed), bit_ps=slot_ps)
    return IdealisedScenario(replace(changed, media=(medium,)), slot_ps / bit_ps, overhead)


def with_flows(scenario: Scenario, change: Change) -> Scenario:
    """Return a scenario with every flow changed."""
    return replace(scenario, flows=tuple(map(change, scenario.flows)))


def with_access(
    base: IdealisedScenario, mac: Mac, change: Change = lambda flow: flow
) -> IdealisedScenario:
    """Return an idealised scenario with the medium access of a theory, and its flows changed."""
    medium = replace(medium_of(base.scenario), mac=mac)
    scenario = replace(with_flows(base.scenario, change), media=(medium,))
    return dataclasses.replace(base, scenario=scenario)


def _without_overhead(scenario: Scenario) -> Scenario:
    """Return a scenario without preamble, gap and turnaround time, as all theories assume."""
    mac = replace(
        constants_of(scenario), preamble_bits=0, gap_bits=0, gap_part1_bits=0, turnaround_ps=0
    )
    medium = replace(medium_of(scenario), mac=Mac(csma_cd=mac))
    return replace(scenario, media=(medium,))


def _lengthened(change: Callable[[int], int]) -> Change:
    return lambda flow: replace(flow, frames=mapped(flow.frames, change))


def mapped(frames: Lengths, change: Callable[[int], int]) -> Lengths:
    """Return lengths of frames with each of them changed."""
    if isinstance(frames, MixLengths):
        return replace(frames, bits=tuple(map(change, frames.bits)))
    assert isinstance(frames, FixedLengths), "no model answers for frames that grow"
    return replace(frames, bits=change(frames.bits))


def _ps(seconds: float) -> int:
    return round(seconds * PS_PER_S)


def at_once(flow: Flow) -> Flow:
    """Return a flow whose hosts need no time between frames."""
    return replace(flow, service=ConstantTimes(ps=0))


def without_host(flow: Flow) -> Flow:
    """Return a flow whose hosts need no time, and have no process that fills buffers."""
    return replace(at_once(flow), generator=None)


def _always(flow: Flow) -> Flow:
    return replace(without_host(flow), arrivals=SaturatedArrivals(), queue_frames=None)


def adaptive(inputs: ModelInputs, policy: Policy) -> Mac:
    """Return contention in the experiment's contention slots, which begin with the silence."""
    slot_ps = _ps(inputs.contention_slot_s)
    return Mac(adaptive=Adaptive(slot_ps=slot_ps, clear_ps=0, policy=policy, empty="at-once"))


def _one_of_waiting(change: Change, s: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    return with_access(bare(s, scenario), adaptive(s, "one-of-waiting"), change)


def _lam(s: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    access = Adaptive(
        slot_ps=2 * _ps(s.propagation_s),
        clear_ps=_ps(s.propagation_s),
        policy="one-over-e",
        empty="next-slot",
    )
    return with_access(bare(s, scenario), Mac(adaptive=access), at_once)


def _ring(s: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    latency_s = ENTRIES["bux-1981-token-ring"].parameters(s)["latency_s"]
    access = Polling(walk_ps=max(1, _ps(latency_s / s.stations)), discipline="exhaustive")
    return with_access(bare(s, scenario), Mac(polling=access), at_once)


def _slotted(s: ModelInputs, persistence: Persistence, population: Population) -> Mac:
    return Mac(
        slotted=Slotted(
            slot_ps=_ps(s.propagation_slot_s),
            collision_slots=s.collision_slots,
            persistence=persistence,
            idle=None
            if persistence != "non"
            else "same-slot"
            if population.infinite is not None
            else "whole-slot",
            population=population,
        )
    )


def _crowd(
    name: str, persistence: Persistence | None, s: ModelInputs, scenario: Scenario
) -> IdealisedScenario:
    """Return an infinite population of a persistence, or that of the inputs."""
    attempts = attempt_load(f"tobagi-hunt-1980-{name}-persistent", s)
    crowd = Infinite(attempts_per_slot=attempts / s.packet_slots)
    access = _slotted(s, persistence or s.persistence, Population(infinite=crowd))
    return with_access(in_slots(s, scenario), access, _always)


def attempt_load(model: str, inputs: ModelInputs) -> float:
    """Return the attempts a packet time that carry the arrivals; beyond the capacity, its rate."""
    entry = ENTRIES[model]
    return entry.attempt_load(inputs) if entry.attempt_load is not None else float("nan")


def _finite(
    model: str,
    first: Literal["immediate", "delayed"],
    change: Change,
    s: ModelInputs,
    scenario: Scenario,
) -> IdealisedScenario:
    users = Finite(retransmission=ENTRIES[model].parameters(s)["retransmission"], first=first)
    access = _slotted(s, "non", Population(finite=users))
    return with_access(in_slots(s, scenario), access, change)


def _unslotted(s: ModelInputs, access: Access) -> Mac:
    return Mac(unslotted=Unslotted(propagation_ps=_ps(s.propagation_s), access=access))


def _coyle_liu(s: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    access = NonPersistent(
        collision_ps=_ps(s.collision_s),
        sensing_mean_ps=(s.sensing_interval_s or 0) * PS_PER_S,
    )
    return with_access(bare(s, scenario), _unslotted(s, Access(non_persistent=access)))


def _persistent(s: ModelInputs, mean_ps: float | None) -> Mac:
    access = OnePersistent(
        abort_ps=_ps(s.abort_s), simultaneous_starts_unnoticed=False, infinite_mean_ps=mean_ps
    )
    return _unslotted(s, Access(one_persistent=access))


def _takagi_kleinrock(s: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    mean_ps = s.packet_s * PS_PER_S / attempt_load("takagi-kleinrock-1985", s)
    return with_access(bare(s, scenario), _persistent(s, mean_ps), _always)


def _all_idle(s: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    return with_access(bare(s, scenario), _persistent(s, None))


_IDEAL: dict[str, Callable[[ModelInputs, Scenario], IdealisedScenario]] = {
    "metcalfe-boggs-1976": partial(_one_of_waiting, _always),
    "almes-lazowska-1979": partial(_one_of_waiting, at_once),
    "tobagi-hunt-1980-non-persistent": partial(_crowd, "non", "non"),
    "tobagi-hunt-1980-one-persistent": partial(_crowd, "one", 1.0),
    "tobagi-hunt-1980-p-persistent": partial(_crowd, "p", None),
    "tobagi-hunt-1980-finite": partial(
        _finite, "tobagi-hunt-1980-finite", "immediate", lambda flow: flow
    ),
    "lam-1980": _lam,
    "bux-1981-token-ring": _ring,
    "coyle-liu-1983": _coyle_liu,
    "takagi-kleinrock-1985": _takagi_kleinrock,
    "takagi-kleinrock-1985-finite": _all_idle,
    "tasaka-1986": partial(_finite, "tasaka-1986", "delayed", at_once),
}
