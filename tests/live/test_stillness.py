"""When a test that failed is done again."""

import subprocess
import sys
import time

import pytest
from stillness import ATTEMPTS, LEAST_LATE_S, MOST_LATE_S, SLEEP_S, Witnesses, until_it_counts


def attempts(outcomes: list[bool], held_up_s: float) -> int:
    """How many attempts are made, each of which succeeds or not and adds to how long the machine stood still."""
    late_s, made = 0.0, 0

    def attempt(number: int) -> None:
        nonlocal late_s, made
        assert number == made
        made += 1
        late_s += held_up_s
        assert outcomes[number]

    try:
        until_it_counts(attempt, lambda: late_s)
    except AssertionError:
        return -made
    return made


def test_what_fails_while_the_machine_goes_on_has_failed() -> None:
    assert attempts([False, True], held_up_s=MOST_LATE_S / 2) == -1


def test_what_was_held_up_is_done_again_until_it_succeeds_or_the_last_time() -> None:
    assert attempts([True], held_up_s=1) == 1
    assert attempts([False, False, True], held_up_s=2 * MOST_LATE_S) == 3
    assert attempts([False] * (ATTEMPTS + 1), held_up_s=2 * MOST_LATE_S) == -ATTEMPTS


def test_an_error_is_no_failure_of_the_machine() -> None:
    def attempt(number: int) -> None:
        raise KeyError(number)

    with pytest.raises(KeyError, match="0"):
        until_it_counts(attempt, iter(range(9)).__next__)


@pytest.mark.root
def test_a_processor_that_is_taken_away_is_noticed() -> None:
    taken_s = 0.05
    thief = f"""
import os, time
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO)))
until_s = time.monotonic() + {taken_s}
while time.monotonic() < until_s:
    pass
"""
    with Witnesses() as witnesses:
        time.sleep(0.2)  # until they are there
        before_s = witnesses.late_s()
        subprocess.run([sys.executable, "-c", thief], check=True, timeout=30)
        assert witnesses.late_s() - before_s >= taken_s - LEAST_LATE_S - SLEEP_S
