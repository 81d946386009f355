"""What searches found, compared: intervals by hand, and real searches."""

import json
import math
from pathlib import Path

import pytest
from ethermeter.analysis.limits import Limit, compared, have_intervals, judged
from ethermeter.faults import InputError
from ethermeter.results.interval import Estimate
from program import invoke


def limit(value: float, *ends: float, what: str = "calls", largest: bool = True) -> Limit:
    """Return a limit with the values between which it lies."""
    found = Estimate(value, math.nan, math.nan, ends=(ends[0], ends[1]) if ends else None)
    return Limit(what, "", "simulation", higher_is_better=largest, asked="loss == 0", value=found)


@pytest.mark.parametrize(
    ("second", "verdict", "check"),
    [
        # 4 fewer of 100, with ends 1 and 1 apart: the difference lies 1.41 about it.
        (limit(96, 95, 97), "lower", "fails"),
        # 1 fewer of 100 is less than half of 5%, and the worst that may be is less than 5%.
        (limit(99, 98, 100), "no difference", "passes"),
        # 4 fewer, but 11 either way may be chance.
        (limit(96, 85, 107), "no difference", "undecided"),
        # Without an interval 4% is less than 5%, and 6% is more.
        (limit(96), "undecided", "passes"),
        (limit(94), "undecided", "fails"),
        (limit(math.nan), "only in first", "undecided"),
    ],
)
def test_a_limit_is_judged_by_its_interval_or_the_share_alone(
    second: Limit, verdict: str, check: str
) -> None:
    first = limit(100, 99, 101)
    assert compared(first, second)["verdict"] == verdict
    assert judged(first, second, tolerance=0.05).verdict == check
    assert have_intervals(first, second) == (second.value.ends is not None)


def test_of_a_smallest_value_more_is_worse() -> None:
    first, second = limit(20, 20, 20, largest=False), limit(24, 24, 24, largest=False)
    assert judged(first, second, tolerance=0.05).verdict == "fails"
    assert judged(second, first, tolerance=0.05).verdict == "passes"


def test_limits_of_different_keys_are_refused() -> None:
    with pytest.raises(InputError, match="the smallest queue: expected a search for the largest"):
        compared(limit(20), limit(20, what="queue", largest=False))


def test_two_searches_by_the_command(tmp_path: Path) -> None:
    # Each front-end sends one frame at the same time: the queue needs a place for each.
    key = "network.switches.switch.queue"
    for count in (20, 24):
        words = ("--smallest", key, "from=15", "to=30", "--while", "loss == 0")
        of_count = (
            "--set",
            f"network.hosts.frontend.count={count}",
            "--out",
            tmp_path / str(count),
        )
        ended = invoke("find", "value", "buffer-sizing", *words, *of_count)
        assert ended.returncode == 0, ended.stderr
    few, many = tmp_path / "20", tmp_path / "24"
    worse = invoke("compare", few, many, "--fail-below", "5%")
    assert worse.returncode == 1, worse.stdout + worse.stderr
    assert f"{key}     20      24          +4  higher" in worse.stdout
    better = invoke("compare", many, few, "--fail-below", "5%", "--json")
    assert better.returncode == 0
    row = json.loads(better.stdout)["row"]
    assert (row["a"], row["b"], row["low"], row["high"]) == (24, 20, -4, -4)
    beside = invoke("compare", many, many / "answer.json")
    assert beside.returncode == 2
    assert "expected a run of find value or find calls" in beside.stderr
