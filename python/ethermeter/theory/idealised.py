"""Idealised scenarios: what the simulator receives to be exactly what a model assumes.

An idealised scenario is one of docs/formats.md, perhaps with the key `idealised`. Its packets
include preamble and gap, as in the models; the bits it counts are converted back to those of frames
afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethermeter.theory.inputs import PS_PER_S, ModelInputs
from ethermeter.theory.predictions import ENTRIES

Scenario = dict[str, Any]


@dataclass(frozen=True, slots=True)
class IdealisedScenario:
    """A scenario for the simulator, and how to convert the bits it counts.

    Parameters
    ----------
    scenario
        The scenario.
    frame_bits
        Bits of a frame in one bit that this scenario counts.
    overhead_bits
        Bits of a packet that are not the frame's, after that.

    """

    scenario: Scenario
    frame_bits: float = 1.0
    overhead_bits: float = 0.0


def ideal(model: str, inputs: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario | None:
    """Return the idealised scenario that a model assumes, or None if it has none of its own.

    Parameters
    ----------
    model
        Name of a model that applies.
    inputs
        Its model inputs.
    scenario
        The scenario.

    """
    make = _IDEAL.get(model)
    return make(inputs, scenario) if make is not None else None


def has_scenario(model: str) -> bool:
    """Whether a model has an idealised scenario of its own."""
    return model in _IDEAL


def bare(inputs: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    """Return the scenario with preamble and gap counted as parts of its frames."""
    overhead = round(inputs.overhead_bits)
    segment = {
        **_hearing(scenario["segment"]),
        "preamble_bits": 0,
        "gap_bits": 0,
        "gap_part1_bits": 0,
    }
    groups = [
        {**group, "frames": _longer(group["frames"], overhead)} for group in scenario["groups"]
    ]
    return IdealisedScenario(
        _without_theory({**scenario, "segment": segment, "groups": groups}), 1.0, overhead
    )


def in_slots(inputs: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    """Return the scenario with a slot of one propagation time as its bit, and packets of whole
    slots.
    """
    slot_ps = round(inputs.propagation_slot_s * PS_PER_S)
    bit_ps = scenario["segment"]["bit_ps"]
    overhead = round(inputs.overhead_bits)
    segment = {
        **_hearing(scenario["segment"]),
        "bit_ps": slot_ps,
        "preamble_bits": 0,
        "gap_bits": 0,
        "gap_part1_bits": 0,
    }

    def slots(bits: int) -> int:
        return max(1, round(float((bits + overhead) * bit_ps) / slot_ps))

    groups = [{**group, "frames": _mapped(group["frames"], slots)} for group in scenario["groups"]]
    return IdealisedScenario(
        _without_theory({**scenario, "segment": segment, "groups": groups}),
        slot_ps / bit_ps,
        overhead,
    )


def with_access(
    base: IdealisedScenario, idealised: Mapping[str, Any], **group: Any
) -> IdealisedScenario:
    """Return an idealised scenario with the medium access of a theory, some keys of its groups changed."""
    groups = [{**each, **group} for each in base.scenario["groups"]]
    return IdealisedScenario(
        {**base.scenario, "groups": groups, "idealised": dict(idealised)},
        base.frame_bits,
        base.overhead_bits,
    )


def _hearing(segment: Mapping[str, Any]) -> dict[str, Any]:
    """Return a segment without deaf time, of which no theory knows."""
    return {key: value for key, value in segment.items() if key != "deaf_ps"}


def _without_theory(scenario: Scenario) -> Scenario:
    return {key: value for key, value in scenario.items() if key != "theory"}


def _longer(frames: Mapping[str, Any], overhead: int) -> dict[str, Any]:
    return _mapped(frames, lambda bits: bits + overhead)


def _mapped(frames: Mapping[str, Any], change: Callable[[int], int]) -> dict[str, Any]:
    bits = frames["bits"]
    return {
        **frames,
        "bits": [change(each) for each in bits] if isinstance(bits, Sequence) else change(bits),
    }


def _ps(seconds: float) -> int:
    return round(seconds * PS_PER_S)


_AT_ONCE = {"kind": "constant", "ps": 0}
_ALWAYS: dict[str, Any] = {
    "arrivals": {"kind": "saturated"},
    "queue_frames": None,
    "service": _AT_ONCE,
    "generator": None,
}


def adaptive(inputs: ModelInputs, policy: str) -> dict[str, Any]:
    """Return contention in slots that begin with the silence, of the experiment's contention slot."""
    return {
        "world": "adaptive",
        "slot_ps": _ps(inputs.contention_slot_s),
        "clear_ps": 0,
        "policy": policy,
        "empty": "at-once",
    }


def _metcalfe_boggs(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    return with_access(bare(s, scenario), adaptive(s, "one-of-waiting"), **_ALWAYS)


def _almes_lazowska(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    return with_access(bare(s, scenario), adaptive(s, "one-of-waiting"), service=_AT_ONCE)


def _lam(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    access = {
        "world": "adaptive",
        "slot_ps": 2 * _ps(s.propagation_s),
        "clear_ps": _ps(s.propagation_s),
        "policy": "one-over-e",
        "empty": "next-slot",
    }
    return with_access(bare(s, scenario), access, service=_AT_ONCE)


def _ring(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    latency_s = ENTRIES["bux-1981-token-ring"].parameters(s)["latency_s"]
    access = {
        "world": "polling",
        "walk_ps": max(1, _ps(latency_s / s.stations)),
        "discipline": "exhaustive",
    }
    return with_access(bare(s, scenario), access, service=_AT_ONCE)


def _slotted(
    s: ModelInputs, persistence: str | float, population: dict[str, Any]
) -> dict[str, Any]:
    idle = (
        None if persistence != "non" else "same-slot" if "infinite" in population else "whole-slot"
    )
    return {
        "world": "slotted",
        "slot_ps": _ps(s.propagation_slot_s),
        "collision_slots": s.collision_slots,
        "persistence": persistence,
        "idle": idle,
        "population": population,
    }


def _crowd(
    model: str, persistence: Callable[[ModelInputs], str | float]
) -> Callable[[ModelInputs, Mapping[str, Any]], IdealisedScenario]:
    def base(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
        population = {"infinite": {"attempts_per_slot": attempt_load(model, s) / s.packet_slots}}
        return with_access(
            in_slots(s, scenario), _slotted(s, persistence(s), population), **_ALWAYS
        )

    return base


def attempt_load(model: str, inputs: ModelInputs) -> float:
    """Return the rate of attempts that carries what arrives, in attempts a packet time; where
    nothing carries it, that of the capacity.
    """
    entry = ENTRIES[model]
    return entry.attempt_load(inputs) if entry.attempt_load is not None else float("nan")


def _users(first: str) -> Callable[[ModelInputs, Mapping[str, Any]], IdealisedScenario]:
    def base(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
        model = "tasaka-1986" if first == "delayed" else "tobagi-hunt-1980-finite"
        retransmission = ENTRIES[model].parameters(s)["retransmission"]
        population = {"finite": {"retransmission": retransmission, "first": first}}
        made = in_slots(s, scenario)
        access = _slotted(s, "non", population)
        return (
            with_access(made, access, service=_AT_ONCE)
            if first == "delayed"
            else with_access(made, access)
        )

    return base


def _coyle_liu(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    access = {
        "collision_ps": _ps(s.collision_s),
        "sensing_mean_ps": (s.sensing_interval_s or 0) * PS_PER_S,
    }
    return with_access(
        bare(s, scenario),
        {
            "world": "unslotted",
            "propagation_ps": _ps(s.propagation_s),
            "access": {"non-persistent": access},
        },
    )


def _persistent(s: ModelInputs, mean_ps: float | None) -> dict[str, Any]:
    access = {
        "abort_ps": _ps(s.abort_s),
        "simultaneous_starts_unnoticed": False,
        "infinite_mean_ps": mean_ps,
    }
    return {
        "world": "unslotted",
        "propagation_ps": _ps(s.propagation_s),
        "access": {"one-persistent": access},
    }


def _takagi_kleinrock(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    mean_ps = s.packet_s * PS_PER_S / attempt_load("takagi-kleinrock-1985", s)
    return with_access(bare(s, scenario), _persistent(s, mean_ps), **_ALWAYS)


def _all_idle(s: ModelInputs, scenario: Mapping[str, Any]) -> IdealisedScenario:
    return with_access(bare(s, scenario), _persistent(s, None))


_IDEAL: dict[str, Callable[[ModelInputs, Mapping[str, Any]], IdealisedScenario]] = {
    "metcalfe-boggs-1976": _metcalfe_boggs,
    "almes-lazowska-1979": _almes_lazowska,
    "tobagi-hunt-1980-non-persistent": _crowd("tobagi-hunt-1980-non-persistent", lambda _: "non"),
    "tobagi-hunt-1980-one-persistent": _crowd("tobagi-hunt-1980-one-persistent", lambda _: 1.0),
    "tobagi-hunt-1980-p-persistent": _crowd(
        "tobagi-hunt-1980-p-persistent", lambda s: s.persistence
    ),
    "tobagi-hunt-1980-finite": _users("immediate"),
    "lam-1980": _lam,
    "bux-1981-token-ring": _ring,
    "coyle-liu-1983": _coyle_liu,
    "takagi-kleinrock-1985": _takagi_kleinrock,
    "takagi-kleinrock-1985-finite": _all_idle,
    "tasaka-1986": _users("delayed"),
}
