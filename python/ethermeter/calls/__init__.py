"""Calls: how many fit on a shared segment, or between hosts of a network, with a wanted quality, by
simulation.

`question` and `network` are what is asked of a segment and of a network, with the experiment that
answers it for a number of calls; `quality` is what a simulated trial means for those who talk;
`search` finds the largest number that is good enough. `admission` stands apart: what a run says of
calls that come and go.
"""

from ethermeter.calls.network import NetworkQuestion, pairs_of
from ethermeter.calls.quality import Quality, Wanted
from ethermeter.calls.question import Question
from ethermeter.calls.search import Answer, Rated, most_calls

__all__ = [
    "Answer",
    "NetworkQuestion",
    "Quality",
    "Question",
    "Rated",
    "Wanted",
    "most_calls",
    "pairs_of",
]
