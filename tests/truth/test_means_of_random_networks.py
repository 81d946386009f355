"""Means of random networks by queueing theory are as far from simulations as the page says."""

from pathlib import Path

import pytest
from scipy.stats import binom

from benches.means import FAMILIES, deviations

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "means.md"
CASES = 20
RARE = 1e-4
"""Probability with which a number of networks that fits the page is refused."""


def beyond_a_tenth() -> dict[str, float]:
    """Return the means beyond 10% by the page, of one network of each kind."""
    rows = [
        line.strip("| \n").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()
    ]
    found = [row for row in rows if row[0] in FAMILIES]
    return {
        name: int(means) * float(share.rstrip("%")) / 1e4 for name, means, _, share, *_ in found
    }


def test_the_page_has_all_kinds_of_networks() -> None:
    assert beyond_a_tenth().keys() == FAMILIES.keys()


@pytest.mark.parametrize("name", FAMILIES)
def test_means_are_as_far_from_simulations_as_the_page_says(name: str) -> None:
    # Other networks than those of the page. Means of one network deviate together or not: the share
    # of networks with one is at most their number in a network.
    each = [deviations(FAMILIES[name], 1, seed=100 + case) for case in range(CASES)]
    outside = sum(any(abs(value) > 0.1 for value in of_network) for of_network in each)
    # A page with none in 100 networks may have 5% of them, with a probability of 0.6%.
    expected = max(beyond_a_tenth()[name], 0.05)
    assert outside <= binom.isf(RARE, CASES, min(expected, 1.0))
