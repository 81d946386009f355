"""Comparisons of two runs, or files of other programs, as rows."""

from ethermeter.analysis.comparison import compared
from ethermeter.imports.matching import matched


def compare(first, second, **options):
    """Compare the estimates of two runs."""
    found = matched(first, second)
    return compared(found.first, found.second, **options)
