"""Predictions: for each model, when it applies, its parameters, and its predictions as metrics.

A model's throughput in packet times a second is the utilisation, because a packet counts with its
preamble and gap. A model whose input is the rate of all attempts (G, new and repeated) is evaluated
at the smallest G that carries the arrivals.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ethermeter import theory
from ethermeter.metrics import Caution, Metric
from ethermeter.metrics.statistics import PS_PER_S
from ethermeter.theory.bus_polling import PolledBus
from ethermeter.theory.inputs import Floats, ModelInputs
from ethermeter.theory.polling import limited_heads, limited_waits
from ethermeter.theory.simplifications import OTHER_PROTOCOL, Simplification, named, violated
from ethermeter.theory.two_queues import waits_of_two

Parameters = dict[str, Any]
Function = Callable[..., Any]

_NEEDS: dict[str, tuple[Callable[[ModelInputs], bool], str]] = {
    "no-waits": (
        lambda s: not s.priority_waits,
        "needs stations without priority waits, which no theory models",
    ),
    "no-calls": (
        lambda s: not s.calls,
        "needs stations that send all the time; here they send in calls, which come and go",
    ),
    "whole-cable": (
        lambda s: not s.cable_fault,
        "needs a whole cable; here it is open or shorted at some time",
    ),
    "built-in": (
        lambda s: not s.functions,
        "needs built-in backoff and arrivals; here a function in Python makes them",
    ),
    "saturated": (
        lambda s: s.arrivals == "saturated",
        "needs stations that are saturated; arrivals are {0.arrivals}",
    ),
    "poisson": (
        lambda s: s.arrivals == "poisson",
        "needs Poisson arrivals; they are {0.arrivals}",
    ),
    "no-bus": (
        lambda s: s.bus is None,
        "needs a segment of another standard than 10BASE-T1S, whose stations may use PLCA",
    ),
    "bus": (lambda s: s.bus is not None, "needs a segment of 10BASE-T1S"),
    "turns": (
        lambda s: s.bus is None or s.bus.is_bounded,
        "needs nodes that take turns: {0.why_unbounded}",
    ),
    "settled": (lambda s: not s.early, "needs nodes that take turns from the begin: {0.early}"),
    "polled": (
        lambda s: (
            s.bus is None
            or all(len(node.ids) == 1 and not node.burst_count for node in s.bus.nodes)
        ),
        "needs nodes with one node-id and burst-cnt 0: one frame a cycle",
    ),
    "two-nodes": (
        lambda s: s.bus is None or len(s.bus.nodes) == 2,
        "needs a bus of two nodes; there are {0.stations}",
    ),
    "no-generator": (
        lambda s: not s.generator,
        "needs stations without a generator, here a user process fills buffers",
    ),
    "thinking": (
        lambda s: s.thinking_s is not None,
        "needs stations that think for an exponential time: saturated, service ="
        ' {{ exponential = {{ offset = "0 s", mean = … }} }}',
    ),
    "sensing": (
        lambda s: s.sensing_interval_s is not None,
        "needs theory.sensing_interval, the mean time until a station tries again",
    ),
    "alike": (lambda s: s.alike, "needs stations that are all alike"),
    "several": (lambda s: s.stations > 1, "needs two stations or more"),
    "apart": (lambda s: s.propagation_s > 0, "needs stations that are some distance apart"),
    "longer": (
        lambda s: s.propagation_s <= 0 or s.packet_s >= s.propagation_s,
        "needs packets longer than the propagation",
    ),
    "hesitant": (
        lambda s: s.persistence < 1,
        "needs theory.persistence below 1; with 1 it is the 1-persistent model",
    ),
    "one-length": (
        lambda s: len(s.packet_bits) == 1,
        "needs packets of one length; there are {0.packet_bits.size}",
    ),
    "endless": (
        lambda s: s.buffers is None,
        "needs unlimited queues; there is room for {0.buffers}",
    ),
    "limited": (lambda s: s.buffers is not None, "needs limited queues (queue = …)"),
}
"""Conditions of the models, each with the obstacle where it does not hold."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The metrics that a model predicts, and whether the inputs are outside its range."""

    values: Mapping[Metric, float]
    outside_range: bool
    is_bound: bool = False  # Whether values are upper bounds
    is_approximation: bool = False  # Whether the inputs are an approximation of the scenario
    # Of each station, shape `(stations,)`, where the model distinguishes them
    of_stations: Mapping[Metric, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """How a model applies to experiments: its simplifications and conditions, and its prediction.

    `parameters` are the arguments of its function. `attempt_load` is for a model whose input is the
    rate of attempts: the rate that carries the arrivals, in attempts a packet time.
    """

    assumes: tuple[Simplification, ...]
    needs: tuple[str, ...]
    parameters: Callable[[ModelInputs], Parameters]
    predict: Callable[[ModelInputs], Prediction]
    attempt_load: Callable[[ModelInputs], float] | None = None

    def obstacles(self, inputs: ModelInputs) -> list[str]:
        """Reasons why it does not apply to the inputs; empty if it applies."""
        always = (
            "built-in",
            "no-waits",
            "no-calls",
            "whole-cable",
            *(() if "bus" in self.needs else ("no-bus",)),
        )
        conditions = (_NEEDS[need] for need in (*always, *self.needs))
        return [text.format(inputs) for holds, text in conditions if not holds(inputs)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a model applies to a scenario."""

    model: str  # Its name
    obstacles: tuple[str, ...]  # Why it does not apply; empty if it does
    # What it assumes that is not so: assumption to text
    differences: Mapping[Simplification, str] = field(default_factory=dict)
    cautions: tuple[Caution, ...] = ()  # Cautions of every one of its values
    # What it predicts, in the metrics' units; empty if it does not apply
    values: Mapping[Metric, float] = field(default_factory=dict)
    of_stations: Mapping[Metric, Floats] = field(default_factory=dict)  # As of `Prediction`

    @property
    def applies(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.obstacles


def judge(model: str, inputs: ModelInputs) -> Verdict:
    """Return whether a model applies to a scenario, and what it predicts.

    Raises
    ------
    KeyError
        If there is no such model.

    """
    entry = ENTRIES[model]
    if obstacles := entry.obstacles(inputs):
        return Verdict(model, tuple(obstacles))
    found, predicted = violated(entry.assumes, inputs), entry.predict(inputs)
    cautions = {
        Caution.OUTSIDE_MODEL_RANGE: predicted.outside_range,
        Caution.OTHER_PROTOCOL: bool(OTHER_PROTOCOL & set(found)),
        Caution.UPPER_BOUND: predicted.is_bound,
        Caution.APPROXIMATION: predicted.is_approximation,
    }
    words = tuple(name for name, holds in cautions.items() if holds)
    return Verdict(model, (), found, words, predicted.values, predicted.of_stations)


def judge_all(inputs: ModelInputs) -> tuple[Verdict, ...]:
    """Judge every model."""
    return tuple(judge(model, inputs) for model in ENTRIES)


def applicable(inputs: ModelInputs) -> tuple[str, ...]:
    """Names of the models that apply; cheaper than to judge them."""
    return tuple(name for name, entry in ENTRIES.items() if not entry.obstacles(inputs))


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


def _wire(s: ModelInputs) -> Parameters:
    return {
        "packet_bits": s.packet_s * s.rate_bps,
        "rate_bps": s.rate_bps,
        "slot_s": s.contention_slot_s,
    }


def _metcalfe_boggs_parameters(s: ModelInputs) -> Parameters:
    return {"stations": s.stations, **_wire(s)}


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
    return {"load": s.load, **_wire(s)}


def _almes_lazowska(s: ModelInputs) -> Prediction:
    found = theory.almes_lazowska_1979(**_almes_lazowska_parameters(s), unstable="nan")
    most = s.packet_s / (s.packet_s + (math.e - 1) * s.contention_slot_s)
    values = _rates(s, min(s.load, most) / s.packet_s) | {
        Metric.RESPONSE_TIME: float(found.response_s)
    }
    return Prediction(values, bool(found.outside_range) or s.load >= most)


def _entry(
    assumes: str,
    needs: str,
    parameters: Callable[[ModelInputs], Parameters],
    predict: Callable[[ModelInputs], Prediction],
    attempt_load: Callable[[ModelInputs], float] | None = None,
) -> Entry:
    return Entry(named(assumes), tuple(needs.split()), parameters, predict, attempt_load)


# Replications repeat the same arguments, and a search is slow.
@lru_cache(maxsize=1024)
def _capacity(function: Function, **parameters: float) -> tuple[float, float]:
    """Return the largest throughput of a model, and the rate of attempts at which it occurs."""
    best = theory.capacity(function, **parameters)
    return float(best.capacity), float(best.load)


@lru_cache(maxsize=1024)
def _load_of(throughput: float, function: Function, **parameters: float) -> float:
    return float(theory.load_of(throughput, function, **parameters))


def _of_attempts(
    function: Function,
    parameters: Callable[[ModelInputs], Parameters],
    assumes: str,
    needs: str,
    *,
    each_sends: bool,
) -> Entry:
    """Return the entry of a model whose input is the rate of attempts.

    `each_sends` says whether every attempt is a transmission.
    """

    def load(s: ModelInputs) -> float:
        """Return the smallest rate of attempts that carries the arrivals, or carries most."""
        most, best = _capacity(function, **parameters(s))
        return _load_of(s.load, function, **parameters(s)) if s.load <= most else best

    def predict(s: ModelInputs) -> Prediction:
        most, _ = _capacity(function, **parameters(s))
        values = _rates(s, min(s.load, most) / s.packet_s)
        if each_sends:
            values[Metric.ATTEMPTS_PER_FRAME] = load(s) / min(s.load, most)
        return Prediction(values, s.load > most)

    return _entry(assumes, needs, parameters, predict, load)


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
    function: Function,
    parameters: Callable[[ModelInputs], Parameters],
    beyond_end_s: Callable[[ModelInputs], float],
) -> Callable[[ModelInputs], Prediction]:
    """Return the prediction of a mean delay that ends so long after the last bit was sent [s]."""

    def predict(s: ModelInputs) -> Prediction:
        found = function(**parameters(s), unstable="nan")
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


def _turns_parameters(s: ModelInputs) -> Parameters:
    assert s.bus is not None
    return s.bus.cycle_arguments


def _turns(s: ModelInputs) -> Prediction:
    """Predict the largest times: upper bounds."""
    assert s.bus is not None
    bus = s.bus
    of_nodes = {
        metric: np.array([delay_ps(node) for node in bus.nodes]) / PS_PER_S
        for metric, delay_ps in (
            (Metric.ATTEMPT_DELAY_MAX, bus.attempt_delay_ps),
            (Metric.ACCESS_DELAY_MAX, bus.access_delay_ps),
        )
    }
    values = {Metric.CYCLE_TIME_MAX: bus.longest_ps / PS_PER_S} | {
        metric: float(delays_s.max()) for metric, delays_s in of_nodes.items()
    }
    return Prediction(values, outside_range=False, is_bound=True, of_stations=of_nodes)


def _polling_parameters(s: ModelInputs) -> Parameters:
    """Return the parameters of nodes that are alike: the mean of all."""
    assert s.bus is not None
    polled = PolledBus(s.bus)
    queues = polled.queues
    return {
        "arrival_rate": float(queues.rate.mean()),
        "queues": len(queues.rate),
        "service_s": float(queues.mean_s.mean()),
        "walk_s": polled.walk_s,
    }


def _polling(s: ModelInputs) -> Prediction:
    assert s.bus is not None
    polled = PolledBus(s.bus)
    queues, walk_s = polled.queues, np.array(polled.walk_s)
    waits_s, cycle_s, _ = limited_waits(queues, walk_s)
    heads_s = limited_heads(queues, walk_s, waits_s)
    times_s = {Metric.RESPONSE_TIME: waits_s, Metric.ACCESS_DELAY: heads_s}
    return _polled(s, polled, times_s, float(cycle_s))


def _two_queues_parameters(s: ModelInputs) -> Parameters:
    assert s.bus is not None
    first, second = PolledBus(s.bus).pair
    return {
        "arrival_rate": first.rate,
        "service_s": first.mean_s,
        "walk_s": first.walk_s,
        "other_rate": second.rate,
        "other_service_s": second.mean_s,
        "other_walk_s": second.walk_s,
    }


def _two_queues(s: ModelInputs) -> Prediction:
    assert s.bus is not None
    polled = PolledBus(s.bus)
    first, second = polled.pair
    waits = waits_of_two(first, second)
    load = first.rate * first.mean_s + second.rate * second.mean_s
    cycle_s = math.nan if waits is None else polled.walk_s / (1 - load)
    times_s = np.full((2, 2), math.nan)
    if waits is not None:
        times_s = np.array([[each.wait_s, each.head_s] for each in waits]).T
    if s.bus.nodes[0].ids > s.bus.nodes[1].ids:
        times_s = times_s[:, ::-1]
    wait_s, head_s = times_s
    return _polled(s, polled, {Metric.RESPONSE_TIME: wait_s, Metric.ACCESS_DELAY: head_s}, cycle_s)


def _polled(
    s: ModelInputs, polled: PolledBus, waits_s: Mapping[Metric, Floats], cycle_s: float
) -> Prediction:
    """Return what waits of the nodes until their frames are served mean on the line."""
    bus, rates = polled.bus, polled.rates
    bits = np.array([bus.plca.csma_cd.preamble_bits + node.mean_bits for node in bus.nodes])
    late_s = polled.held_s + polled.passed_s
    of_nodes = {metric: wait_s + late_s for metric, wait_s in waits_s.items()}
    of_nodes[Metric.RESPONSE_TIME] += bits * bus.bit_ps / PS_PER_S
    values = _rates(s, s.arrival_rate) | {Metric.CYCLE_TIME: cycle_s}
    values |= {metric: float(rates @ times_s / rates.sum()) for metric, times_s in of_nodes.items()}
    is_outside = math.isnan(cycle_s)
    return Prediction(values, is_outside, is_approximation=True, of_stations=of_nodes)


_ONE_OF_MANY = "poisson apart longer several"
_ATTEMPTS = "infinite-population poisson-attempts equally-far no-overhead"
_IN_SLOTS = "slotted non-persistent fixed-retransmission equally-far no-overhead constant-collision"
_CONTENDING = "infinite-population known-queue equally-far no-overhead constant-collision"


ENTRIES: dict[str, Entry] = {
    "metcalfe-boggs-1976": _entry(
        "slotted no-overhead equally-far known-queue always-ready constant-collision",
        "saturated no-generator",
        _metcalfe_boggs_parameters,
        _metcalfe_boggs,
    ),
    "almes-lazowska-1979": _entry(
        "slotted no-overhead equally-far infinite-population known-queue constant-collision",
        "poisson endless one-length",
        _almes_lazowska_parameters,
        _almes_lazowska,
    ),
    "tobagi-hunt-1980-non-persistent": _of_attempts(
        theory.tobagi_hunt_1980_non_persistent,
        _slots,
        f"slotted non-persistent {_ATTEMPTS} constant-collision",
        _ONE_OF_MANY,
        each_sends=False,
    ),
    "tobagi-hunt-1980-one-persistent": _of_attempts(
        theory.tobagi_hunt_1980_one_persistent,
        _slots,
        f"slotted {_ATTEMPTS} constant-collision",
        f"{_ONE_OF_MANY} one-length",
        each_sends=True,
    ),
    "tobagi-hunt-1980-p-persistent": _of_attempts(
        theory.tobagi_hunt_1980_p_persistent,
        _p_slots,
        f"slotted p-persistent {_ATTEMPTS} constant-collision",
        f"hesitant {_ONE_OF_MANY} one-length",
        each_sends=False,
    ),
    "tobagi-hunt-1980-finite": _entry(
        _IN_SLOTS, "thinking sensing alike apart longer several", _finite_parameters, _finite
    ),
    "lam-1980": _entry(
        f"slotted {_CONTENDING}",
        "poisson endless apart longer",
        _contending_parameters,
        _delay(theory.lam_1980, _contending_parameters, lambda s: s.propagation_s),
    ),
    "bux-1981-csma-cd": _entry(
        _CONTENDING,
        "poisson endless apart longer",
        _contending_parameters,
        _delay(theory.bux_1981_csma_cd, _contending_parameters, lambda s: s.propagation_s / 2),
    ),
    "bux-1981-token-ring": _entry(
        "token no-overhead",
        "poisson endless alike",
        _ring_parameters,
        _delay(theory.bux_1981_token_ring, _ring_parameters, lambda s: _latency_s(s) / 2),
    ),
    "coyle-liu-1983": _entry(
        "non-persistent fixed-retransmission equally-far no-overhead constant-collision",
        "thinking sensing alike apart longer several one-length",
        _coyle_liu_parameters,
        _coyle_liu,
    ),
    "takagi-kleinrock-1985": _of_attempts(
        theory.takagi_kleinrock_1985,
        _aborting,
        _ATTEMPTS,
        f"{_ONE_OF_MANY} one-length",
        each_sends=True,
    ),
    "takagi-kleinrock-1985-finite": _entry(
        "lost-after-collision equally-far no-overhead",
        "thinking alike apart longer several one-length",
        _all_idle_parameters,
        _all_idle,
    ),
    "tasaka-1986": _entry(
        _IN_SLOTS,
        "poisson limited sensing alike apart longer several one-length",
        _tasaka_parameters,
        _tasaka,
    ),
    "boxma-meister-1987": _entry(
        "", "bus turns polled poisson endless", _polling_parameters, _polling
    ),
    "boxma-groenendijk-1988": _entry(
        "",
        "bus turns two-nodes polled poisson endless",
        _two_queues_parameters,
        _two_queues,
    ),
    "plca-2019": _entry("", "bus turns settled", _turns_parameters, _turns),
}
"""Every model that can answer an experiment, in order of publication."""
