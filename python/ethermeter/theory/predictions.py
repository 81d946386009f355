"""Predictions: for each model, when it applies, its parameters, and its predictions as metrics.

A model's throughput in packet times a second is the utilisation, because a packet counts with its
preamble and gap. A model whose input is the rate of all attempts (G, new and repeated) is evaluated
at the smallest G that carries the arrivals.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ethermeter import theory
from ethermeter.metrics import Metric
from ethermeter.theory.inputs import ModelInputs
from ethermeter.theory.simplifications import Simplification

Parameters = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The metrics that a model predicts, and whether the inputs are outside its range."""

    values: Mapping[Metric, float]
    outside_range: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """How a model applies to experiments.

    Parameters
    ----------
    assumes
        Its simplifications.
    obstacles
        Reasons why it does not apply to the inputs; empty if it applies.
    parameters
        Arguments of its function.
    predict
        Its prediction.
    attempt_load
        For a model whose input is the rate of attempts: the rate that carries the arrivals, in
        attempts a packet time.

    """

    assumes: tuple[Simplification, ...]
    obstacles: Callable[[ModelInputs], list[str]]
    parameters: Callable[[ModelInputs], Parameters]
    predict: Callable[[ModelInputs], Prediction]
    attempt_load: Callable[[ModelInputs], float] | None = None


def _obstacles(
    *conditions: Callable[[ModelInputs], str | None],
) -> Callable[[ModelInputs], list[str]]:
    return lambda inputs: [
        text for condition in (_no_waits, *conditions) if (text := condition(inputs)) is not None
    ]


def _no_waits(s: ModelInputs) -> str | None:
    return (
        "needs stations without priority waits, which no theory models"
        if s.priority_waits
        else None
    )


def _saturated(s: ModelInputs) -> str | None:
    return (
        None
        if s.arrivals == "saturated"
        else f"needs stations that are saturated; arrivals are {s.arrivals}"
    )


def _poisson(s: ModelInputs) -> str | None:
    return None if s.arrivals == "poisson" else f"needs Poisson arrivals; they are {s.arrivals}"


def _no_generator(s: ModelInputs) -> str | None:
    return (
        "needs stations without a generator, here a user process fills buffers"
        if s.generator
        else None
    )


def _thinking(s: ModelInputs) -> str | None:
    if s.thinking_s is not None:
        return None
    return (
        "needs stations that think for an exponential time: saturated, service ="
        ' { exponential = { offset = "0 s", mean = … } }'
    )


def _sensing(s: ModelInputs) -> str | None:
    return (
        None
        if s.sensing_interval_s is not None
        else "needs theory.sensing_interval, the mean time until a station tries again"
    )


def _alike(s: ModelInputs) -> str | None:
    return None if s.alike else "needs stations that are all alike"


def _several(s: ModelInputs) -> str | None:
    return None if s.stations > 1 else "needs two stations or more"


def _apart(s: ModelInputs) -> str | None:
    if s.propagation_s <= 0:
        return "needs stations that are some distance apart"
    return None if s.packet_s >= s.propagation_s else "needs packets longer than the propagation"


def _hesitant(s: ModelInputs) -> str | None:
    return (
        None
        if s.persistence < 1
        else "needs theory.persistence below 1; with 1 it is the 1-persistent model"
    )


def _one_length(s: ModelInputs) -> str | None:
    return (
        None
        if len(s.packet_bits) == 1
        else f"needs packets of one length; there are {len(s.packet_bits)}"
    )


def _endless(s: ModelInputs) -> str | None:
    return None if s.buffers is None else f"needs unlimited queues; there is room for {s.buffers}"


def _limited(s: ModelInputs) -> str | None:
    return None if s.buffers is not None else "needs limited queues (queue = …)"


def _rates(s: ModelInputs, packets_per_s: float) -> dict[Metric, float]:
    """Return the rates that follow from the delivered packets."""
    mean_bits = s.packet_s * s.rate_bps
    return {
        Metric.UTILISATION: packets_per_s * s.packet_s,
        Metric.BIT_RATE: packets_per_s * mean_bits,
        Metric.PACKET_RATE: packets_per_s,
        Metric.GOODPUT: packets_per_s * (mean_bits - s.overhead_bits),
    }


def _held(
    packets_per_s: float, delay_s: float, backlog: float, *, beyond_end_s: float
) -> dict[Metric, float]:
    """Return delay and mean number of frames held of a model that counts past the last bit.

    `beyond_end_s` is the time after the last bit [s] that the model includes.
    """
    return {
        Metric.TRANSMISSION_DELAY: delay_s - beyond_end_s,
        Metric.OFFERED_LOAD_Q: backlog - packets_per_s * beyond_end_s,
    }


def _metcalfe_boggs_parameters(s: ModelInputs) -> Parameters:
    return {
        "stations": s.stations,
        "packet_bits": s.packet_s * s.rate_bps,
        "rate_bps": s.rate_bps,
        "slot_s": s.contention_slot_s,
    }


def _metcalfe_boggs(s: ModelInputs) -> Prediction:
    found = theory.metcalfe_boggs_1976(**_metcalfe_boggs_parameters(s))
    packets_per_s = float(found.efficiency) / s.packet_s
    values = _rates(s, packets_per_s) | {
        # Q stations always have a frame, so a frame waits for Q - 1 others on average (Little).
        Metric.TRANSMISSION_DELAY: s.stations / packets_per_s,
        Metric.OFFERED_LOAD_Q: float(s.stations),
        # One station on average starts in every slot; the slot that succeeds is the last of 1/A.
        Metric.ATTEMPTS_PER_FRAME: 1 / float(found.acquisition),
    }
    # While one station's host is busy, the others must keep the queue as long as it is.
    return Prediction(
        values, bool(found.outside_range) or s.service_s > (s.stations - 1) * s.packet_s
    )


def _almes_lazowska_parameters(s: ModelInputs) -> Parameters:
    return {
        "load": s.load,
        "packet_bits": s.packet_s * s.rate_bps,
        "rate_bps": s.rate_bps,
        "slot_s": s.contention_slot_s,
    }


def _almes_lazowska(s: ModelInputs) -> Prediction:
    found = theory.almes_lazowska_1979(**_almes_lazowska_parameters(s), unstable="nan")
    most = s.packet_s / (s.packet_s + (math.e - 1) * s.contention_slot_s)
    values = _rates(s, min(s.load, most) / s.packet_s) | {
        Metric.RESPONSE_TIME: float(found.response_s)
    }
    return Prediction(values, bool(found.outside_range) or s.load >= most)


def _attempts(
    function: str, parameters: Callable[[ModelInputs], Parameters], *, each_sends: bool
) -> Callable[[ModelInputs], Prediction]:
    """Return the prediction of a model whose input is the rate of attempts."""
    load_of = _attempt_load(function, parameters)

    def predict(s: ModelInputs) -> Prediction:
        most, _ = _capacity(function, **parameters(s))
        values = _rates(s, min(s.load, most) / s.packet_s)
        if each_sends:
            values[Metric.ATTEMPTS_PER_FRAME] = load_of(s) / min(s.load, most)
        return Prediction(values, s.load > most)

    return predict


def _attempt_load(
    function: str, parameters: Callable[[ModelInputs], Parameters]
) -> Callable[[ModelInputs], float]:
    """Return the smallest rate of attempts that carries the arrivals, or carries most."""

    def load(s: ModelInputs) -> float:
        most, best = _capacity(function, **parameters(s))
        return _load_of(s.load, function, **parameters(s)) if s.load <= most else best

    return load


# Replications repeat the same arguments, and a search is slow.
@lru_cache(maxsize=1024)
def _capacity(function: str, **parameters: float) -> tuple[float, float]:
    """Return the largest throughput of a model, and the rate of attempts at which it occurs."""
    best = theory.capacity(getattr(theory, function), **parameters)
    return float(best.capacity), float(best.load)


@lru_cache(maxsize=1024)
def _load_of(throughput: float, function: str, **parameters: float) -> float:
    return float(theory.load_of(throughput, getattr(theory, function), **parameters))


def _slots(s: ModelInputs) -> Parameters:
    return {"propagation": 1 / s.packet_slots, "collision_slots": s.collision_slots}


def _p_slots(s: ModelInputs) -> Parameters:
    return _slots(s) | {"persistence": s.persistence}


def _aborting(s: ModelInputs) -> Parameters:
    return {"propagation": s.propagation_s / s.packet_s, "abort": s.abort_s / s.packet_s}


def _finite_parameters(s: ModelInputs) -> Parameters:
    slot_s = s.propagation_slot_s
    slots = np.maximum(1, np.round(s.packet_bits / s.rate_bps / slot_s))
    return {
        "stations": s.stations,
        "generation": -math.expm1(-slot_s / (s.thinking_s or math.inf)),
        "retransmission": -math.expm1(-slot_s / (s.sensing_interval_s or math.inf)),
        "packet_slots": slots,
        "weights": s.weights,
        "collision_slots": s.collision_slots,
    }


def _finite(s: ModelInputs) -> Prediction:
    found = theory.tobagi_hunt_1980_finite(**_finite_parameters(s))
    packets_per_s = float(found.throughput) / s.packet_s
    values = _rates(s, packets_per_s) | _held(
        packets_per_s,
        float(found.delay_slots) * s.propagation_slot_s,
        float(found.backlog),
        beyond_end_s=s.propagation_slot_s,
    )
    return Prediction(values, bool(found.outside_range))


def _queue_parameters(s: ModelInputs) -> Parameters:
    fixed = len(s.packet_bits) == 1
    return {
        "arrival_rate": s.arrival_rate,
        "packet_s": s.packet_s if fixed else s.packet_bits / s.rate_bps,
        "weights": None if fixed else s.weights,
        "lengths": "fixed" if fixed else "mix",
    }


def _contending_parameters(s: ModelInputs) -> Parameters:
    return _queue_parameters(s) | {"propagation_s": s.propagation_s}


def _delay(
    function: str,
    parameters: Callable[[ModelInputs], Parameters],
    beyond_end_s: Callable[[ModelInputs], float],
) -> Callable[[ModelInputs], Prediction]:
    """Return the prediction of a model of mean delay.

    The model's delay ends `beyond_end_s` [s] after the last bit has left the sender.
    """

    def predict(s: ModelInputs) -> Prediction:
        found = getattr(theory, function)(**parameters(s), unstable="nan")
        delay_s = float(found.delay_s)
        stable = math.isfinite(delay_s)
        values = _rates(s, s.arrival_rate if stable else math.nan) | {
            Metric.RESPONSE_TIME: delay_s - beyond_end_s(s)
        }
        return Prediction(values, bool(found.outside_range) or not stable)

    return predict


def _ring_parameters(s: ModelInputs) -> Parameters:
    return _queue_parameters(s) | {
        "stations": s.stations,
        "latency_s": _latency_s(s),
        "discipline": "exhaustive",
    }


def _latency_s(s: ModelInputs) -> float:
    """Return the latency of a ring: twice the cable, and every station [s]."""
    return 2 * s.propagation_s + s.stations * s.station_latency_s


def _coyle_liu_parameters(s: ModelInputs) -> Parameters:
    return {
        "stations": s.stations,
        "generation": s.packet_s / (s.thinking_s or math.inf),
        "retransmission": s.packet_s / (s.sensing_interval_s or math.inf),
        "window": s.propagation_s / s.packet_s,
        "collision": s.collision_s / s.packet_s,
    }


def _coyle_liu(s: ModelInputs) -> Prediction:
    found = theory.coyle_liu_1983(**_coyle_liu_parameters(s))
    packets_per_s = float(found.throughput) / s.packet_s
    values = _rates(s, packets_per_s) | _held(
        packets_per_s,
        float(found.delay) * s.packet_s,
        float(found.backlog),
        beyond_end_s=s.propagation_s,
    )
    return Prediction(values, bool(found.outside_range))


def _all_idle_parameters(s: ModelInputs) -> Parameters:
    return _aborting(s) | {
        "load": s.stations * s.packet_s / (s.thinking_s or math.inf),
        "stations": s.stations,
    }


def _all_idle(s: ModelInputs) -> Prediction:
    found = theory.takagi_kleinrock_1985_finite(**_all_idle_parameters(s))
    return Prediction(_rates(s, float(found.throughput) / s.packet_s), bool(found.outside_range))


def _tasaka_parameters(s: ModelInputs) -> Parameters:
    slot_s = s.propagation_slot_s
    return {
        "stations": s.stations,
        "buffers": s.buffers,
        "generation": -math.expm1(-slot_s * s.arrival_rate / s.stations),
        "retransmission": -math.expm1(-slot_s / (s.sensing_interval_s or math.inf)),
        "packet_slots": s.packet_slots,
        "collision_slots": s.collision_slots,
    }


def _tasaka(s: ModelInputs) -> Prediction:
    found = theory.tasaka_1986(**_tasaka_parameters(s))
    values = _rates(s, float(found.throughput) / s.packet_s) | {
        # The model counts the slot in which the last bit still travels.
        Metric.RESPONSE_TIME: (float(found.delay_slots) - 1) * s.propagation_slot_s,
        Metric.LOSS: float(found.loss),
    }
    return Prediction(values, bool(found.outside_range))


def _assume(words: str) -> tuple[Simplification, ...]:
    return tuple(Simplification(word) for word in words.split())


_ONE_OF_MANY = _obstacles(_poisson, _apart, _several)
_THINKERS = _obstacles(_thinking, _sensing, _alike, _apart, _several)

ENTRIES: dict[str, Entry] = {
    "metcalfe-boggs-1976": Entry(
        _assume("slotted no-overhead equally-far known-queue always-ready constant-collision"),
        _obstacles(_saturated, _no_generator),
        _metcalfe_boggs_parameters,
        _metcalfe_boggs,
    ),
    "almes-lazowska-1979": Entry(
        _assume(
            "slotted no-overhead equally-far infinite-population known-queue constant-collision"
        ),
        _obstacles(_poisson, _endless, _one_length),
        _almes_lazowska_parameters,
        _almes_lazowska,
    ),
    "tobagi-hunt-1980-non-persistent": Entry(
        _assume(
            "slotted non-persistent infinite-population poisson-attempts equally-far no-overhead"
            " constant-collision"
        ),
        _ONE_OF_MANY,
        _slots,
        _attempts("tobagi_hunt_1980_non_persistent", _slots, each_sends=False),
        _attempt_load("tobagi_hunt_1980_non_persistent", _slots),
    ),
    "tobagi-hunt-1980-one-persistent": Entry(
        _assume(
            "slotted infinite-population poisson-attempts equally-far no-overhead"
            " constant-collision"
        ),
        _obstacles(_poisson, _apart, _several, _one_length),
        _slots,
        _attempts("tobagi_hunt_1980_one_persistent", _slots, each_sends=True),
        _attempt_load("tobagi_hunt_1980_one_persistent", _slots),
    ),
    "tobagi-hunt-1980-p-persistent": Entry(
        _assume(
            "slotted p-persistent infinite-population poisson-attempts equally-far no-overhead"
            " constant-collision"
        ),
        _obstacles(_hesitant, _poisson, _apart, _several, _one_length),
        _p_slots,
        _attempts("tobagi_hunt_1980_p_persistent", _p_slots, each_sends=False),
        _attempt_load("tobagi_hunt_1980_p_persistent", _p_slots),
    ),
    "tobagi-hunt-1980-finite": Entry(
        _assume(
            "slotted non-persistent fixed-retransmission equally-far no-overhead constant-collision"
        ),
        _THINKERS,
        _finite_parameters,
        _finite,
    ),
    "lam-1980": Entry(
        _assume(
            "slotted infinite-population known-queue equally-far no-overhead constant-collision"
        ),
        _obstacles(_poisson, _endless, _apart),
        _contending_parameters,
        _delay("lam_1980", _contending_parameters, lambda s: s.propagation_s),
    ),
    "bux-1981-csma-cd": Entry(
        _assume("infinite-population known-queue equally-far no-overhead constant-collision"),
        _obstacles(_poisson, _endless, _apart),
        _contending_parameters,
        _delay("bux_1981_csma_cd", _contending_parameters, lambda s: s.propagation_s / 2),
    ),
    "bux-1981-token-ring": Entry(
        _assume("token no-overhead"),
        _obstacles(_poisson, _endless, _alike),
        _ring_parameters,
        _delay("bux_1981_token_ring", _ring_parameters, lambda s: _latency_s(s) / 2),
    ),
    "coyle-liu-1983": Entry(
        _assume("non-persistent fixed-retransmission equally-far no-overhead constant-collision"),
        _obstacles(_thinking, _sensing, _alike, _apart, _several, _one_length),
        _coyle_liu_parameters,
        _coyle_liu,
    ),
    "takagi-kleinrock-1985": Entry(
        _assume("infinite-population poisson-attempts equally-far no-overhead"),
        _obstacles(_poisson, _apart, _several, _one_length),
        _aborting,
        _attempts("takagi_kleinrock_1985", _aborting, each_sends=True),
        _attempt_load("takagi_kleinrock_1985", _aborting),
    ),
    "takagi-kleinrock-1985-finite": Entry(
        _assume("lost-after-collision equally-far no-overhead"),
        _obstacles(_thinking, _alike, _apart, _several, _one_length),
        _all_idle_parameters,
        _all_idle,
    ),
    "tasaka-1986": Entry(
        _assume(
            "slotted non-persistent fixed-retransmission equally-far no-overhead constant-collision"
        ),
        _obstacles(_poisson, _limited, _sensing, _alike, _apart, _several, _one_length),
        _tasaka_parameters,
        _tasaka,
    ),
}
"""Every model that can answer an experiment, in order of publication."""
