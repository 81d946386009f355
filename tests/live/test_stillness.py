"""When a test that failed is done again."""

import pytest
from stillness import ATTEMPTS, MOST_LATE_S, until_it_counts


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
