"""Worlds: what the simulator is told in order to be exactly what a model assumes, and on the way
from there to the segment as it is.

A world is a scenario of docs/formats.md, perhaps with the key `idealised`. Its packets hold
preamble and gap, as in the models; so the bits that it counts are turned back into those of frames
afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethermeter.applied.models import ENTRIES
from ethermeter.applied.situation import PS_PER_S, Situation

Scenario = dict[str, Any]


@dataclass(frozen=True, slots=True)
class World:
    """A world that can be simulated.

    Parameters
    ----------
    scenario
        What the simulator is told.
    frame_bits
        Bits of a frame in one bit that this world counts.
    overhead_bits
        Bits of a packet that are not the frame's, after that.

    """

    scenario: Scenario
    frame_bits: float = 1.0
    overhead_bits: float = 0.0


def ideal(model: str, situation: Situation, scenario: Mapping[str, Any]) -> World | None:
    """Return the world that a model assumes, or None if it has none of its own.

    Parameters
    ----------
    model
        Name of a model that applies.
    situation
        What theories see of the scenario.
    scenario
        The scenario.

    """
    make = _IDEAL.get(model)
    return make(situation, scenario) if make is not None else None


def has_world(model: str) -> bool:
    """Whether a model has a world of its own."""
    return model in _IDEAL


def bare(situation: Situation, scenario: Mapping[str, Any]) -> World:
    """Return the scenario with preamble and gap counted as parts of its frames."""
    overhead = round(situation.overhead_bits)
    segment = {
        **_hearing(scenario["segment"]),
        "preamble_bits": 0,
        "gap_bits": 0,
        "gap_part1_bits": 0,
    }
    groups = [
        {**group, "frames": _longer(group["frames"], overhead)} for group in scenario["groups"]
    ]
    return World(_without_theory({**scenario, "segment": segment, "groups": groups}), 1.0, overhead)


def in_slots(situation: Situation, scenario: Mapping[str, Any]) -> World:
    """Return the scenario with a slot of one propagation time as its bit, and packets of whole
    slots.
    """
    slot_ps = round(situation.propagation_slot_s * PS_PER_S)
    bit_ps = scenario["segment"]["bit_ps"]
    overhead = round(situation.overhead_bits)
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
    return World(
        _without_theory({**scenario, "segment": segment, "groups": groups}),
        slot_ps / bit_ps,
        overhead,
    )


def with_access(world: World, idealised: Mapping[str, Any], **group: Any) -> World:
    """Return a world with the medium access of a theory, and some keys of its groups changed."""
    groups = [{**each, **group} for each in world.scenario["groups"]]
    return World(
        {**world.scenario, "groups": groups, "idealised": dict(idealised)},
        world.frame_bits,
        world.overhead_bits,
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


def adaptive(situation: Situation, policy: str) -> dict[str, Any]:
    """Return contention in slots that begin with the silence, of the experiment's contention slot."""
    return {
        "world": "adaptive",
        "slot_ps": _ps(situation.contention_slot_s),
        "clear_ps": 0,
        "policy": policy,
        "empty": "at-once",
    }


def _metcalfe_boggs(s: Situation, scenario: Mapping[str, Any]) -> World:
    return with_access(bare(s, scenario), adaptive(s, "one-of-waiting"), **_ALWAYS)


def _almes_lazowska(s: Situation, scenario: Mapping[str, Any]) -> World:
    return with_access(bare(s, scenario), adaptive(s, "one-of-waiting"), service=_AT_ONCE)


def _lam(s: Situation, scenario: Mapping[str, Any]) -> World:
    access = {
        "world": "adaptive",
        "slot_ps": 2 * _ps(s.propagation_s),
        "clear_ps": _ps(s.propagation_s),
        "policy": "one-over-e",
        "empty": "next-slot",
    }
    return with_access(bare(s, scenario), access, service=_AT_ONCE)


def _ring(s: Situation, scenario: Mapping[str, Any]) -> World:
    latency_s = ENTRIES["bux-1981-token-ring"].parameters(s)["latency_s"]
    access = {
        "world": "polling",
        "walk_ps": max(1, _ps(latency_s / s.stations)),
        "discipline": "exhaustive",
    }
    return with_access(bare(s, scenario), access, service=_AT_ONCE)


def _slotted(s: Situation, persistence: str | float, population: dict[str, Any]) -> dict[str, Any]:
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
    model: str, persistence: Callable[[Situation], str | float]
) -> Callable[[Situation, Mapping[str, Any]], World]:
    def world(s: Situation, scenario: Mapping[str, Any]) -> World:
        population = {"infinite": {"attempts_per_slot": attempt_load(model, s) / s.packet_slots}}
        return with_access(
            in_slots(s, scenario), _slotted(s, persistence(s), population), **_ALWAYS
        )

    return world


def attempt_load(model: str, situation: Situation) -> float:
    """Return the rate of attempts that carries what arrives, in attempts a packet time; where
    nothing carries it, that of the capacity.
    """
    entry = ENTRIES[model]
    return entry.attempt_load(situation) if entry.attempt_load is not None else float("nan")


def _users(first: str) -> Callable[[Situation, Mapping[str, Any]], World]:
    def world(s: Situation, scenario: Mapping[str, Any]) -> World:
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

    return world


def _coyle_liu(s: Situation, scenario: Mapping[str, Any]) -> World:
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


def _persistent(s: Situation, mean_ps: float | None) -> dict[str, Any]:
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


def _takagi_kleinrock(s: Situation, scenario: Mapping[str, Any]) -> World:
    mean_ps = s.packet_s * PS_PER_S / attempt_load("takagi-kleinrock-1985", s)
    return with_access(bare(s, scenario), _persistent(s, mean_ps), **_ALWAYS)


def _all_idle(s: Situation, scenario: Mapping[str, Any]) -> World:
    return with_access(bare(s, scenario), _persistent(s, None))


_IDEAL: dict[str, Callable[[Situation, Mapping[str, Any]], World]] = {
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
