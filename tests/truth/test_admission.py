"""Calls that are admitted or not, against Erlang, Poisson, hand values, and a simulation of calls
one by one.

The simulation is independent of the chain: it has a list of calls that end, and each decision is
made by what the rule does (count those that are heard, measure a load), not by its a_n. Seeded; a
comparison fails by chance with probability 1e-4, so that all of them together do with less than 1%:
Student's t over the replications.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from ethermeter import voice
from ethermeter.voice import ArgumentError
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t as student_t

Decision = Callable[[int, np.random.Generator], bool]
"""Whether a call is admitted that comes with so many active."""
Durations = Callable[[np.random.Generator, int], NDArray[np.float64]]
"""Durations of calls whose mean is 1."""

ERROR = 1e-4
REPLICATIONS = 12
ROUNDING = 1e-12
"""Sums of up to some hundred logarithms, none above some hundred, each rounded to 1e-16 of it."""


def is_within(samples: NDArray[np.float64], value: float) -> bool:
    """Whether a value is in the interval of the mean of independent samples, at the error
    probability of this file.
    """
    half = (
        student_t.ppf(1 - ERROR / 2, samples.size - 1)
        * samples.std(ddof=1)
        / math.sqrt(samples.size)
    )
    return bool(abs(samples.mean() - value) <= half)


@dataclass
class Seen:
    """What one simulation of calls saw."""

    blocking: float
    mean_calls: float
    beyond: float
    mean_loss: float
    crowded: float


def simulate(
    offered: float, decide: Decision, durations: Durations, loss: NDArray[np.float64], seed: int
) -> Seen:
    """Let calls come and go, mean duration 1; measure from the 1000th on."""
    rng = np.random.default_rng(seed)
    arrivals, warm = 9000, 1000
    comes = np.cumsum(rng.exponential(1 / offered, arrivals))
    lasts = durations(rng, arrivals)
    ends: list[float] = []
    spent, refused, now = np.zeros(loss.size), 0, 0.0
    for at in range(arrivals):
        while ends and ends[0] <= comes[at]:
            end = heapq.heappop(ends)
            spent[len(ends) + 1] += (end - now) * (at > warm)
            now = end
        spent[len(ends)] += (comes[at] - now) * (at > warm)
        now = comes[at]
        if decide(len(ends), rng):
            heapq.heappush(ends, now + lasts[at])
        else:
            refused += at >= warm
    share = spent / spent.sum()
    weight = share * np.arange(loss.size)
    return Seen(
        blocking=refused / (arrivals - warm),
        mean_calls=weight.sum(),
        beyond=weight[loss > LIMIT].sum() / weight.sum(),
        mean_loss=weight @ loss / weight.sum(),
        crowded=share[MOST + 1 :].sum(),
    )


OFFERED, MOST, CIRCUITS, LIMIT = 10.0, 10, 18, 0.01
HEARD, THRESHOLD, DEVIATION = 0.8, 0.5, 0.06
LOSS = np.maximum(np.arange(CIRCUITS + 1) - 7, 0) * 0.004
LOAD = np.arange(CIRCUITS + 1) * 0.05
RULES: dict[str, tuple[NDArray[np.float64], Decision]] = {
    "none": (voice.unlimited(CIRCUITS), lambda n, rng: n < CIRCUITS),
    "central": (voice.central(MOST, circuits=CIRCUITS), lambda n, rng: n < MOST),
    "count": (
        voice.by_count(MOST, heard=HEARD, circuits=CIRCUITS),
        lambda n, rng: n < CIRCUITS and np.count_nonzero(rng.random(n) < HEARD) < MOST,
    ),
    "load": (
        voice.by_load(np.minimum(LOAD[:CIRCUITS], 1), deviation=DEVIATION, threshold=THRESHOLD),
        lambda n, rng: n < CIRCUITS and LOAD[n] + DEVIATION * rng.standard_normal() < THRESHOLD,
    ),
}
DURATIONS: dict[str, Durations] = {
    "exponential": lambda rng, count: rng.exponential(1.0, count),
    "constant": lambda rng, count: np.ones(count),
    "mostly short": lambda rng, count: rng.exponential(np.where(rng.random(count) < 0.1, 5.5, 0.5)),
}


@pytest.mark.parametrize("durations", DURATIONS)
@pytest.mark.parametrize("rule", RULES)
def test_calls_one_by_one_fare_as_the_chain_says(rule, durations):
    admit, decide = RULES[rule]
    seen = [
        simulate(OFFERED, decide, DURATIONS[durations], LOSS, seed) for seed in range(REPLICATIONS)
    ]
    chain = voice.occupancy(OFFERED, admit=admit)
    lot = voice.call_time(chain.distribution, loss=LOSS, limit=LIMIT, most=MOST)
    expected = {
        "blocking": chain.blocking,
        "mean_calls": chain.mean_calls,
        "beyond": lot.beyond,
        "mean_loss": lot.mean_loss,
    }
    if rule == "central":
        # Nobody is beyond the threshold: chance has no part in it, and there is no interval.
        assert {each.crowded for each in seen} == {0.0}
        assert lot.crowded == 0
    else:
        expected["crowded"] = lot.crowded
    for name, value in expected.items():
        samples = np.array([getattr(each, name) for each in seen])
        assert is_within(samples, float(value)), (name, samples.mean(), value)


@given(st.floats(0, 300), st.integers(1, 200), st.integers(0, 100))
def test_a_server_that_counts_leaves_erlangs_loss(offered, most, more):
    found = voice.occupancy(offered, admit=voice.central(most, circuits=most + more))
    blocked = voice.erlang_b(offered, circuits=most)
    assert found.blocking == pytest.approx(blocked, abs=ROUNDING)
    assert found.mean_calls == pytest.approx(
        offered * (1 - blocked), abs=ROUNDING * max(offered, 1)
    )
    assert not found.distribution[most + 1 :].any()


@pytest.mark.parametrize("offered", [0.1, 1.0, 12.0, 35.0])
def test_without_a_rule_the_number_of_calls_is_poisson(offered):
    found = voice.occupancy(offered, admit=voice.unlimited(400))
    poisson = [math.exp(n * math.log(offered) - offered - math.lgamma(n + 1)) for n in range(401)]
    # 400 circuits are so many that what Poisson has beyond them is below 1e-200.
    assert found.distribution == pytest.approx(poisson, abs=ROUNDING)
    assert found.mean_calls == pytest.approx(offered, rel=ROUNDING)


def test_nothing_overflows():
    found = voice.occupancy([0.0, 1e-300, 1e9], admit=voice.unlimited(10_000))
    assert found.distribution.shape == (3, 10_001)
    assert found.distribution[:2, 0].tolist() == [1, 1]
    # Far more offered than there is room for: all circuits are taken, and 1 - circuits / offered
    # are refused, to 1 / offered.
    assert found.blocking[2] == pytest.approx(1 - 1e-5, abs=1e-9)
    assert np.isfinite(found.distribution).all()


def test_tiny_chains_are_what_they_are_by_hand():
    # p0 : p1 : p2 = 1 : 2 x 1 / 1 : 2 x 2 x 0.5 / 2.
    found = voice.occupancy(2.0, admit=[1.0, 0.5])
    assert found.distribution.tolist() == pytest.approx([0.25, 0.5, 0.25], abs=ROUNDING)
    assert found.blocking == pytest.approx(0.5 * 0.5 + 0.25, abs=ROUNDING)
    assert found.mean_calls == pytest.approx(1, abs=ROUNDING)
    # Of the calls that come 2 x (1 - blocking) a mean duration get in, and as many leave.
    lot = voice.call_time(found.distribution, loss=[0.0, 0.1, 0.4], limit=0.2, most=[0, 1])
    # Call time with one and with two: 0.5 and 0.25 x 2, halves.
    assert lot.beyond.tolist() == pytest.approx([0.5, 0.5], abs=ROUNDING)
    assert lot.mean_loss.tolist() == pytest.approx([0.25, 0.25], abs=ROUNDING)
    assert lot.crowded.tolist() == pytest.approx([0.75, 0.25], abs=ROUNDING)


def test_a_loss_at_the_limit_is_not_beyond_it():
    assert voice.call_time([0.0, 1.0], loss=[0.0, 0.01], limit=0.01, most=1).beyond == 0


def test_where_nobody_is_admitted_there_is_no_call_time():
    found = voice.occupancy(5.0, admit=voice.central(0, circuits=4))
    assert (found.blocking, found.mean_calls) == (1, 0)
    lot = voice.call_time(found.distribution, loss=np.zeros(5), limit=0.01, most=0)
    assert math.isnan(lot.beyond)
    assert math.isnan(lot.mean_loss)
    assert lot.crowded == 0


@given(st.floats(0.01, 200), st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_as_many_calls_end_as_are_admitted(offered, admit):
    found = voice.occupancy(offered, admit=admit)
    assert found.distribution.sum() == pytest.approx(1, abs=ROUNDING)
    assert found.mean_calls == pytest.approx(
        offered * (1 - found.blocking), abs=ROUNDING * max(1, offered)
    )


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_who_counts_refuses_when_enough_are_heard(share):
    rule = voice.by_count(3, heard=share, circuits=8)
    exact = [
        sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(min(n, 2) + 1))
        for n in range(8)
    ]
    assert rule.tolist() == pytest.approx(exact, abs=ROUNDING)


def test_a_count_that_misses_nobody_is_as_good_as_a_server():
    assert (
        voice.by_count(5, heard=1.0, circuits=9).tolist() == voice.central(5, circuits=9).tolist()
    )
    assert not voice.by_count(0, heard=0.5, circuits=9).any()
    assert voice.by_count(1, heard=0.0, circuits=9).all()


def test_a_load_that_scatters_is_below_the_threshold_as_often_as_a_normal_number():
    rule = voice.by_load([0.3, 0.4, 0.5, 0.6], deviation=0.1, threshold=0.5)
    # The normal distribution at 2, 1, 0 and -1 standard deviations, as every table has it.
    assert rule.tolist() == pytest.approx([0.97725, 0.84134, 0.5, 0.15866], abs=0.5e-5)
    assert voice.by_load([0.3, 0.5, 0.6], deviation=0.0, threshold=0.5).tolist() == [1, 0, 0]


def test_a_call_is_heard_if_either_talks_at_any_time():
    assert voice.heard(0.0, talk_s=1.2, silence_s=1.8) == pytest.approx(1 - 0.6**2, abs=ROUNDING)
    assert voice.heard(1e6, talk_s=1.2, silence_s=1.8) == 1
    assert voice.heard([0.0, 1.0], talk_s=1.0, silence_s=[[1.0], [2.0]]).shape == (2, 2)


@pytest.mark.parametrize("listen_s", [0.1, 1.0, 3.0])
def test_talkers_one_by_one_are_heard_as_often_as_the_formula_says(listen_s):
    talk_s, silence_s, windows, apart_s = 1.2, 1.8, 2000, 5.0
    shares = []
    for seed in range(REPLICATIONS):
        rng = np.random.default_rng(seed)
        starts = np.arange(windows) * apart_s
        missed = np.ones(windows, dtype=bool)
        for _ in range(2):
            # Silences and spurts in turn from long before the first window on; who is silent at its
            # start and until its end is missed.
            count = int(1.2 * windows * apart_s / (talk_s + silence_s)) + 200
            silences, spurts = rng.exponential(silence_s, count), rng.exponential(talk_s, count)
            ends_s = np.cumsum(silences + spurts) - spurts - 100.0
            begins_s = ends_s - silences
            assert ends_s[-1] > starts[-1] + apart_s
            of = np.searchsorted(ends_s, starts)
            missed &= (begins_s[of] <= starts) & (ends_s[of] >= starts + listen_s)
        shares.append(1 - missed.mean())
    assert is_within(
        np.array(shares), float(voice.heard(listen_s, talk_s=talk_s, silence_s=silence_s))
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: voice.occupancy(-1, admit=[1.0]),
            "occupancy: offered_erlangs = -1: a number from 0 to 1e+09",
        ),
        (lambda: voice.occupancy(math.nan, admit=[1.0]), "occupancy: offered_erlangs = nan: "),
        (
            lambda: voice.occupancy(1, admit=[1.0, 1.5]),
            "occupancy: admit = 1.5: a number from 0 to 1",
        ),
        (
            lambda: voice.occupancy(1, admit=1.0),
            "occupancy: admit = an array of shape (): from 1 to 10000 circuits",
        ),
        (lambda: voice.occupancy(1, admit=[]), "occupancy: admit = an array of shape (0,): "),
        (
            lambda: voice.occupancy(1, admit=np.ones(10_001)),
            "occupancy: admit = an array of shape (10001,): ",
        ),
        (
            lambda: voice.occupancy([1, 2], admit=np.ones((3, 4))),
            "occupancy: offered_erlangs, admit = arrays of shapes (2, 1), (3, 4): ",
        ),
        (lambda: voice.unlimited(0), "unlimited: circuits = 0: a whole number from 1 to 10000"),
        (lambda: voice.unlimited("many"), 'unlimited: circuits = "many": '),
        (
            lambda: voice.central(2.5, circuits=3),
            "central: most = 2.5: a whole number from 0 to 10000",
        ),
        (lambda: voice.central([1, 2], circuits=3), "central: most = an array of shape (2,): "),
        (
            lambda: voice.by_count(2, heard=1.1, circuits=3),
            "by-count: heard = 1.1: a number from 0 to 1",
        ),
        (lambda: voice.by_count(-2, heard=0.5, circuits=3), "by-count: most = -2: "),
        (lambda: voice.by_load([0.1, 2.0], deviation=0.1, threshold=0.5), "by-load: mean = 2: "),
        (
            lambda: voice.by_load([0.1, 0.2], deviation=-0.1, threshold=0.5),
            "by-load: deviation = -0.1: ",
        ),
        (
            lambda: voice.by_load([0.1, 0.2], deviation=[0.1] * 3, threshold=0.5),
            "by-load: mean, deviation, threshold = arrays of shapes ",
        ),
        (
            lambda: voice.heard(-1, talk_s=1, silence_s=1),
            "heard: listen_s = -1: a number from 0 to 1e+06",
        ),
        (lambda: voice.heard(1, talk_s=0, silence_s=1), "heard: talk_s = 0: "),
        (
            lambda: voice.call_time(0.5, loss=[0.0], limit=0.1, most=1),
            "call-time: distribution = one number: ",
        ),
        (
            lambda: voice.call_time([0.5, 0.5], loss=[0.0, 2.0], limit=0.1, most=1),
            "call-time: loss = 2: ",
        ),
        (
            lambda: voice.call_time([0.5, 0.5], loss=[0.0] * 3, limit=0.1, most=1),
            "call-time: distribution, loss, limit, most = arrays of ",
        ),
    ],
)
def test_what_cannot_be_is_named(call, said):
    with pytest.raises(ArgumentError) as error:
        call()
    assert str(error.value).startswith(said)
