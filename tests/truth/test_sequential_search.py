"""How often the answer of a search is right: on samples of known means, and on the office."""

from functools import partial

import numpy as np
import pytest
from ethermeter.analysis.conditions import margins_of
from ethermeter.analysis.sequential import sequential_test
from ethermeter.analysis.value_search import SearchAnswer
from ethermeter.engines import local, work
from ethermeter.experiment import load, shipped
from ethermeter.results.query import Results
from ethermeter.search import Question, question_of
from ethermeter.strategies import answered
from ethermeter.strategies.bisection import Bisection, most_positions
from ethermeter.strategies.search import ValueSearch
from scipy.stats import binom

COUNT = 101
SEARCHES = 200
DRAWS = {
    "normal": lambda random, size: random.normal(size=size),
    # As skewed as loss in bursts: mean 0 and standard deviation 1, skewness 2.
    "exponential": lambda random, size: random.exponential(size=size) - 1,
    "negative exponential": lambda random, size: 1 - random.exponential(size=size),
    "uniform": lambda random, size: random.uniform(-1, 1, size=size) * np.sqrt(3),
}


def is_right(draw: str, seed: int, *, error: float) -> bool:
    """Whether the ends of a search hold the true boundary, which lies at a random position."""
    random = np.random.default_rng([seed, 7])
    boundary = random.uniform(0, COUNT - 1)
    most = most_positions(COUNT)
    test = sequential_test(error / most, most=64)
    bisection = Bisection(COUNT, test, has_ends=True, most=most)
    runs: dict[int, int] = {}
    # The means fall by one standard deviation of a sample each twenty positions.
    samples = {
        at: (boundary - at) / 20 + DRAWS[draw](np.random.default_rng([seed, at]), (1, 64))
        for at in range(COUNT)
    }
    while steps := bisection.steps({at: samples[at][:, :of] for at, of in runs.items()}, runs):
        runs |= {step.position: step.end for step in steps}
    tried = bisection.tried({at: samples[at][:, :of] for at, of in runs.items()}, runs)
    ends = bisection.ends(tried)
    return ends.sure <= int(boundary) < ends.fails


@pytest.mark.parametrize("draw", list(DRAWS))
def test_the_answer_of_a_search_is_wrong_no_more_often_than_stated(draw):
    wrong = sum(not is_right(draw, seed, error=0.05) for seed in range(SEARCHES))
    # More than this has a probability below 1e-4 if the error is 5%.
    assert wrong <= binom.ppf(1 - 1e-4, SEARCHES, 0.05)


LIMIT_S = 1.04e-3
SHORT = ["network.classes=1", "phases.transmit=0.5 s", "phases.measure=last 0.4 s"]


def office(seed: int) -> Question:
    """The largest backups beside which no call waits longer than a limit on the mean."""
    experiment = load(shipped()["office"], overrides=[*SHORT, f"seed={seed}"])
    return question_of(
        experiment,
        {
            "largest": "flows.backup.arrivals.token_bucket.rate",
            "from": "30 Mb/s",
            "to": "46 Mb/s",
            "step": "0.25 Mb/s",
            "while": [f"call: one_way_delay <= {1e3 * LIMIT_S:g} ms"],
            "replications": 41,
        },
    )


def mean_delay(question: Question, position: int, *, trials: int) -> tuple[float, float]:
    """Mean delay of the calls over many trials, which are alike, and its standard error [s]."""
    planned = question.trials(position, 0, trials)
    jobs = [work.Work(at, trial.id, trial.line) for at, trial in enumerate(planned)]
    judge = partial(margins_of, question.conditions)
    means = [
        np.mean([each.value for each in judge(trial, Results.of_trial(trial, done.result))[0]])
        for done in local.run(jobs, jobs=2)
        if isinstance(done, work.Finished)
        for trial in [planned[done.place]]
    ]
    return float(np.mean(means)), float(np.std(means) / np.sqrt(trials))


@pytest.mark.long
def test_the_answers_of_twenty_seeds_on_the_office_hold_the_truth_of_a_long_run():
    long = office(999)
    # Neighbours on both sides of the limit, each clear of it by five standard errors.
    truth = next(at for at in range(long.values.count) if long.values.text(at).startswith("41.5 "))
    for position, is_below in ((truth, True), (truth + 1, False)):
        mean, error = mean_delay(long, position, trials=800)
        assert abs(mean - LIMIT_S) > 5 * error
        assert (mean < LIMIT_S) == is_below
    answers = [answered(ValueSearch(office(seed)), jobs=2) for seed in range(1, 21)]
    assert sum(map(holds_the_truth, answers)) >= 19
    assert all(not answer.cautions for answer in answers)
    # They say something: a range of 16 Mb/s is narrowed to a tenth of it.
    assert all(width(answer) <= 1.6 for answer in answers)


def ends(answer: SearchAnswer) -> tuple[float, float]:
    assert answer.at_least is not None
    assert answer.at_most is not None
    return float(answer.at_least.split()[0]), float(answer.at_most.split()[0])


def holds_the_truth(answer: SearchAnswer) -> bool:
    low, high = ends(answer)
    return low <= 41.5 <= high


def width(answer: SearchAnswer) -> float:
    low, high = ends(answer)
    return high - low
