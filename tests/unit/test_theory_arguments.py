"""What models refuse, for every argument of every model; and what holds of whatever they accept."""

import math
from typing import Any

import numpy as np
import pytest
from ethermeter import InputError, theory
from ethermeter.arguments import Range
from ethermeter.theory.catalogue import Model, Symbol, models
from hypothesis import example, given, settings
from hypothesis import strategies as st
from theory_points import POINTS

MODELS = models()
NUMBERS = [
    (model, symbol)
    for model in MODELS.values()
    for symbol in model.symbols
    if isinstance(symbol.allowed, Range) and not symbol.row
]
WORDS = [
    (model, symbol)
    for model in MODELS.values()
    for symbol in model.symbols
    if not isinstance(symbol.allowed, Range)
]


def named(value: Any) -> str:
    return (
        value.name
        if isinstance(value, Model)
        else value.argument
        if isinstance(value, Symbol)
        else ""
    )


def refused(model: Model, argument: str, value: Any) -> str:
    """Evaluate a model with one argument replaced, and return what is said of it."""
    with pytest.raises(theory.ArgumentError) as error:
        model.function(**{**POINTS[model.name], argument: value})
    (fault,) = error.value.faults
    assert (fault.file, fault.key) == (model.name, argument)
    assert "\n" not in str(error.value)
    return fault.allowed


@pytest.mark.parametrize(("model", "symbol"), NUMBERS, ids=named)
def test_numbers_outside_the_range_are_refused_with_the_range(model, symbol):
    allowed = symbol.allowed
    assert isinstance(allowed, Range)
    below = np.nextafter(allowed.low, -math.inf)
    for value in (
        below,
        -1.0,
        np.nextafter(allowed.high, math.inf) if not allowed.whole else allowed.high + 1,
        math.nan,
        math.inf,
        -math.inf,
    ):
        assert refused(model, symbol.argument, value) == symbol.range
        # One wrong among right ones is found too.
        assert (
            refused(model, symbol.argument, [POINTS[model.name].get(symbol.argument, 2), value])
            == symbol.range
        )


@pytest.mark.parametrize(("model", "symbol"), NUMBERS, ids=named)
@pytest.mark.parametrize(
    "value",
    ["1", None, True, 1j, [[1], [1, 2]], {"a": 1}, 10**400, b"1", np.array(["x"])],
    ids=repr,
)
def test_what_is_no_number_is_refused(model, symbol, value):
    assert refused(model, symbol.argument, value) == symbol.range


@pytest.mark.parametrize(
    ("model", "symbol"),
    [(m, s) for m, s in NUMBERS if isinstance(s.allowed, Range) and s.allowed.whole],
    ids=named,
)
def test_counts_are_whole(model, symbol):
    assert refused(model, symbol.argument, 2.5) == symbol.range
    assert "whole" in symbol.range


@pytest.mark.parametrize(("model", "symbol"), WORDS, ids=named)
@pytest.mark.parametrize("value", ["other", 1, None, ["error"]], ids=repr)
def test_words_are_those_of_the_list(model, symbol, value):
    refused(model, symbol.argument, value)


@pytest.mark.parametrize("model", MODELS.values(), ids=named)
def test_shapes_that_do_not_broadcast_are_refused(model):
    (first, a), (second, b) = list(POINTS[model.name].items())[:2]
    with pytest.raises(theory.ArgumentError, match="shapes that broadcast") as error:
        model.function(**{**POINTS[model.name], first: [a] * 2, second: [b] * 3})
    assert first in error.value.faults[0].key


@pytest.mark.parametrize("model", MODELS.values(), ids=named)
def test_the_result_has_the_broadcast_shape(model):
    (first, a), (second, b) = list(POINTS[model.name].items())[:2]
    single = model.function(**POINTS[model.name])
    many = model.function(**{**POINTS[model.name], first: np.array([[a], [a]]), second: [b, b, b]})
    for output in model.outputs:
        one, several = getattr(single, output.field), getattr(many, output.field)
        assert np.shape(several)[:2] == (2, 3)
        assert np.ndim(one) == (1 if output.axis else 0)
        assert several.dtype == np.float64
        np.testing.assert_array_equal(several, np.broadcast_to(one, several.shape))
    assert isinstance(single.outside_range, np.bool_)
    assert not single.outside_range
    assert many.outside_range.shape == (2, 3)


@pytest.mark.parametrize("model", MODELS.values(), ids=named)
def test_arguments_are_left_as_they_were(model):
    values = {
        name: np.array([value, value], dtype=np.float64)
        for name, value in POINTS[model.name].items()
    }
    before = {name: value.copy() for name, value in values.items()}
    model.function(**values)
    for name, value in values.items():
        np.testing.assert_array_equal(value, before[name])


def test_an_error_is_an_input_error_of_one_line():
    with pytest.raises(InputError) as error:
        theory.metcalfe_boggs_1976(0, packet_bits=512, rate_bps=3e6, slot_s=16e-6)
    assert isinstance(error.value, ValueError)
    assert str(error.value) == "metcalfe-boggs-1976: stations = 0: a whole number from 1 to 1e+15"


UNSTABLE = {
    "almes-lazowska-1979": ("load", 2.0),
    "lam-1980": ("arrival_rate", 1000.0),
    "bux-1981-csma-cd": ("arrival_rate", 1000.0),
    "bux-1981-token-ring": ("arrival_rate", 1000.0),
    "bux-1981-slotted-ring": ("arrival_rate", 1000.0),
    "pollaczek-khinchine-1932": ("arrival_rate", 1000.0),
    "cobham-1954": ("load", 0.8),
    "kingman-1962": ("arrival_rate", 1000.0),
    "marchal-1976": ("arrival_rate", 1000.0),
}


def test_every_model_that_can_be_unstable_is_tried():
    assert set(UNSTABLE) == {name for name, model in MODELS.items() if model.symbol("unstable")}


@pytest.mark.parametrize("name", UNSTABLE)
def test_an_unstable_queue_is_refused_with_its_limit_or_gives_nan(name):
    model, (argument, value) = MODELS[name], UNSTABLE[name]
    allowed = refused(model, argument, value)
    limit = float(allowed.split("below ")[1].split(",")[0])
    assert POINTS[name][argument] < limit <= value
    found = model.function(
        **{**POINTS[name], argument: [POINTS[name][argument], value], "unstable": "nan"}
    )
    delay = getattr(found, model.outputs[0].field)
    assert np.isnan(delay).tolist() == found.outside_range.tolist() == [False, True]


def test_mixes_need_as_many_weights_as_lengths():
    lam = MODELS["lam-1980"]
    point = POINTS["lam-1980"]
    for packet_s, weights, argument in (
        ([1e-3, 2e-3], [1], "weights"),
        ([1e-3, 2e-3], [0, 0], "weights"),
        ([1e-3, 2e-3], [-1, 1], "weights"),
        ([1e-3, 2e-3], None, "weights"),
        ([[1e-3]], [[1]], "packet_s"),
        (1e-3, 1, "packet_s"),
        ([], [], "packet_s"),
        ([0.0, 1e-3], [1, 1], "packet_s"),
    ):
        with pytest.raises(theory.ArgumentError) as error:
            lam.function(**{**point, "packet_s": packet_s, "weights": weights, "lengths": "mix"})
        assert error.value.faults[0].key == argument
    with pytest.raises(theory.ArgumentError, match="weights = given"):
        lam.function(**{**point, "weights": [1]})


def test_a_collision_contains_its_window_and_short_packets_are_the_shorter():
    assert refused(MODELS["coyle-liu-1983"], "collision", 0.01) == "at least the window, 0.04"
    assert (
        refused(MODELS["tobagi-hunt-1980-bimodal"], "short_slots", 200.0)
        == "at most long_slots, 100"
    )


@pytest.mark.parametrize(
    "search", [theory.capacity, lambda function, **given: theory.load_of(0.5, function, **given)]
)
def test_a_search_needs_throughput_against_load(search):
    with pytest.raises(theory.ArgumentError, match="a model of throughput against load"):
        search(theory.metcalfe_boggs_1976, packet_bits=512, rate_bps=3e6, slot_s=16e-6)
    with pytest.raises(theory.ArgumentError, match="propagation"):
        search(theory.kleinrock_tobagi_1975)
    with pytest.raises(theory.ArgumentError, match="propagation = 2"):
        search(theory.kleinrock_tobagi_1975, propagation=2)


def test_the_load_of_a_throughput_carries_it_and_no_smaller_one_does():
    wanted = np.array([0.0, 1e-9, 0.3, 0.9, 0.9197, 0.944, 0.95])
    given_ = {"propagation": 0.01, "persistence": 0.1}
    loads = theory.load_of(wanted, theory.tobagi_hunt_1980_p_persistent, **given_)
    assert loads[0] == 0
    assert np.isnan(loads[-1])
    carried = theory.tobagi_hunt_1980_p_persistent(loads[:-1], **given_).throughput
    np.testing.assert_allclose(carried, wanted[:-1], rtol=1e-9)
    # .9197 lies on the first hump, .944 on the second only.
    assert loads[4] < 11
    assert loads[5] > 100
    for load, throughput in zip(loads[1:-1], wanted[1:-1], strict=True):
        smaller = load * np.linspace(0, 1 - 1e-9, 400)
        assert (
            theory.tobagi_hunt_1980_p_persistent(smaller, **given_).throughput < throughput
        ).all()


def test_the_load_of_the_capacity_is_that_of_its_maximum():
    given_ = {"propagation": [0.01, 0.1], "collision_slots": 2}
    most = theory.capacity(theory.tobagi_hunt_1980_one_persistent, **given_)
    loads = theory.load_of(most.capacity, theory.tobagi_hunt_1980_one_persistent, **given_)
    np.testing.assert_allclose(loads, most.load, rtol=1e-4)
    assert theory.load_of(
        [[0.2], [0.3]], theory.tobagi_hunt_1980_one_persistent, **given_
    ).shape == (2, 2)


def test_a_capacity_without_end_is_cautioned():
    found = theory.capacity(theory.tobagi_hunt_1980_non_persistent, propagation=0)
    assert found.outside_range
    assert found.capacity == pytest.approx(1, rel=1e-8)


def test_where_nothing_gets_through_there_is_no_delay():
    # 2000 stations that always start together.
    found = theory.tobagi_hunt_1980_finite(
        2000, generation=1, retransmission=[0.5, 1 - 2**-53, 1], packet_slots=10
    )
    assert (found.throughput < 1e-250).all()
    assert np.isnan(found.delay_slots).all()
    assert (
        theory.coyle_liu_1983(
            100, generation=1, retransmission=1e6, window=1, collision=1
        ).throughput
        < 1e-250
    )
    assert np.isnan(
        theory.tasaka_1986(
            2000, buffers=2, generation=1, retransmission=1, packet_slots=10
        ).delay_slots
    )


LOAD = st.floats(0, 1e9)
A = st.floats(0, 1)


@given(
    load=LOAD,
    a=A,
    slots=st.floats(1, 1e6),
    abort=st.floats(0, 10),
    p=st.floats(0.05, 1),
    stations=st.integers(2, 12),
)
def test_throughput_lies_between_nothing_and_all(load, a, slots, abort, p, stations):
    found = [
        theory.kleinrock_tobagi_1975(load, propagation=a),
        theory.kleinrock_tobagi_1975(load, propagation=a, slotted=False),
        theory.tobagi_hunt_1980_non_persistent(load, propagation=a, collision_slots=slots),
        theory.tobagi_hunt_1980_non_persistent(
            load, propagation=a, collision_slots=slots, idle="whole-slot"
        ),
        theory.tobagi_hunt_1980_one_persistent(load, propagation=a, collision_slots=slots),
        theory.tobagi_hunt_1980_p_persistent(
            load, propagation=max(a, 1e-6), collision_slots=slots, persistence=p
        ),
        theory.takagi_kleinrock_1985(load, propagation=a, abort=abort),
        theory.takagi_kleinrock_1985_double_peak(load, propagation=a, abort=abort),
        theory.takagi_kleinrock_1985_finite(load, stations=stations, propagation=a, abort=abort),
    ]
    for value in found:
        assert 0 <= value.throughput <= 1 + 1e-12
        # Nothing is carried that is not tried.
        assert value.throughput <= load * (1 + 1e-9)


@settings(max_examples=50)
@given(
    stations=st.integers(1, 40),
    generation=st.floats(1e-9, 1),
    retransmission=st.floats(1e-6, 1),
    packet=st.integers(1, 1000),
    collision=st.integers(1, 1000),
    delayed=st.booleans(),
)
def test_finite_populations_carry_at_most_a_packet_in_its_time(
    *,
    stations: int,
    generation: float,
    retransmission: float,
    packet: int,
    collision: int,
    delayed: bool,
) -> None:
    found = theory.tobagi_hunt_1980_finite(
        stations,
        generation=generation,
        retransmission=retransmission,
        packet_slots=packet,
        collision_slots=collision,
        delayed_first=delayed,
    )
    assert 0 <= found.throughput <= packet / (packet + 1) * (1 + 1e-12)
    assert 0 <= found.backlog <= stations * (1 + 1e-12)
    assert np.isnan(found.delay_slots) or found.delay_slots >= (packet + 1) * (1 - 1e-9)


@settings(max_examples=50)
@given(
    stations=st.integers(1, 40),
    generation=st.floats(1e-9, 1e3),
    retransmission=st.floats(1e-6, 1e3),
    window=st.floats(0, 1),
    longer=st.floats(0, 5),
)
def test_coyle_liu_stays_within_its_stations(stations, generation, retransmission, window, longer):
    found = theory.coyle_liu_1983(
        stations,
        generation=generation,
        retransmission=retransmission,
        window=window,
        collision=window + longer,
    )
    assert 0 <= found.throughput <= 1 / (1 + window) * (1 + 1e-12)
    assert 0 <= found.backlog <= stations * (1 + 1e-9)
    n = np.arange(stations + 1)
    assert (found.drift >= -1 - 1e-9).all()
    assert (found.drift <= stations - n + 1e-9).all()
    # Between two that attract there is one that repels.
    assert len(found.stable) - len(found.unstable) in {0, 1}


@example(
    stations=2, buffers=1, generation=0.125, retransmission=1 - 2**-53, packet=1, method="chain"
)
@settings(max_examples=30)
@given(
    stations=st.integers(1, 20),
    buffers=st.integers(1, 8),
    generation=st.floats(1e-6, 1),
    retransmission=st.floats(1e-3, 1),
    packet=st.integers(1, 200),
    method=st.sampled_from(["chain", "equilibrium"]),
)
def test_buffered_stations_lose_a_share(
    stations, buffers, generation, retransmission, packet, method
):
    found = theory.tasaka_1986(
        stations,
        buffers=buffers,
        generation=generation,
        retransmission=retransmission,
        packet_slots=packet,
        method=method,
    )
    assert 0 <= found.throughput <= 1
    assert 0 <= found.loss <= 1 + 1e-12
    assert np.isfinite(found.equilibria).sum() % 2 == 1


@given(
    utilisation=st.floats(0, 0.999),
    packet_s=st.floats(1e-9, 1),
    a=st.floats(0, 0.5),
    lengths=st.sampled_from(["fixed", "exponential"]),
    stations=st.integers(1, 1000),
)
def test_delays_are_at_least_a_packet_and_grow_with_the_load(
    utilisation, packet_s, a, lengths, stations
):
    rates = np.array([utilisation * 0.99, utilisation]) / packet_s
    for discipline in ("exhaustive", "gated"):
        found = theory.bux_1981_token_ring(
            rates,
            stations=stations,
            packet_s=packet_s,
            latency_s=a * packet_s,
            lengths=lengths,
            discipline=discipline,
        )
        assert (found.delay_s >= packet_s * (1 - 1e-12)).all()
        assert found.delay_s[1] >= found.delay_s[0] * (1 - 1e-12)
    for contention in ("geometric", "exponential"):
        queue = theory.lam_1980(
            rates / (1 + (2 * math.e + 1) * a),
            packet_s=packet_s,
            propagation_s=a * packet_s,
            lengths=lengths,
            contention=contention,
        )
        delay = queue.delay_s[~np.isnan(queue.delay_s)]
        assert (delay >= packet_s * (1 + a) * (1 - 1e-9)).all()


@given(stations=st.integers(1, 10**9), packet_bits=st.floats(1e-3, 1e9), slot_s=st.floats(0, 1))
def test_more_stations_are_never_more_efficient(stations, packet_bits, slot_s):
    found = theory.metcalfe_boggs_1976(
        [stations, stations + 1], packet_bits=packet_bits, rate_bps=1e7, slot_s=slot_s
    )
    assert 0 < found.efficiency[1] <= found.efficiency[0] * (1 + 1e-12)
    assert found.acquisition[1] >= math.exp(-1) * (1 - 1e-12)


@given(load=st.floats(0, 1e6), a=A, slots=st.floats(1, 1e4), more=st.floats(0, 1e4))
def test_longer_collisions_never_help_who_does_not_persist(load, a, slots, more):
    found = theory.tobagi_hunt_1980_non_persistent(
        load, propagation=a, collision_slots=[slots, slots + more]
    )
    assert found.throughput[1] <= found.throughput[0] * (1 + 1e-12)
    whole = theory.tobagi_hunt_1980_non_persistent(
        load, propagation=a, collision_slots=slots, idle="whole-slot"
    )
    assert whole.throughput <= found.throughput[0] * (1 + 1e-12)


@given(
    load=st.floats(0, 0.95),
    ratio=st.floats(0, 0.5),
    method=st.sampled_from(["chain", "birth-death"]),
)
def test_almes_lazowska_answers_below_its_limit(load, ratio, method):
    g = load / (1 + math.expm1(1) * ratio)
    found = theory.almes_lazowska_1979(
        g, packet_bits=1000, rate_bps=1e6, slot_s=ratio * 1e-3, method=method
    )
    assert found.response_s >= 1e-3 * (1 - 1e-9)
    assert found.waiting == pytest.approx(g * found.response_s / 1e-3, rel=1e-9, abs=1e-249)
