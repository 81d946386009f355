"""Distributions: histograms of several trials put together, counted by hand."""

from ethermeter.analysis.distribution import distribution
from made_results import made

ROWS = [
    ("a", "transmission_delay", 1.0, 2.0, 6),
    ("a", "transmission_delay", 4.0, 8.0, 2),
    ("a", "access_delay", 1.0, 2.0, 100),
    ("b", "transmission_delay", 2.0, 4.0, 1),
    ("b", "transmission_delay", 4.0, 8.0, 1),
    ("c", "transmission_delay", 1.0, 2.0, 5),
    ("other", "transmission_delay", 0.5, 1.0, 7),
]
SOURCE = made(histograms=ROWS)


def test_frames_of_all_trials_of_a_group_count_alike():
    first, second = distribution(SOURCE, "transmission_delay", [["b", "a"], ["c"]])
    assert first.frames == 10
    assert first.value_s.tolist() == [1.0, 2.0, 4.0, 8.0]
    assert first.exceeding.tolist() == [1.0, 0.4, 0.3, 0.0]
    assert (second.frames, second.value_s.tolist(), second.exceeding.tolist()) == (
        5,
        [1.0, 2.0],
        [1.0, 0.0],
    )


def test_a_group_without_frames_is_empty():
    (found,) = distribution(SOURCE, "response_time", [["a"]])
    assert (found.frames, found.value_s.size) == (0, 0)
