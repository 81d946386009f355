"""Calls: how many fit on a shared segment with a wanted quality, by simulation.

`question` is what is asked, and the experiment that answers it for a number of calls; `quality` is what a simulated trial means for those
who talk; `search` finds the largest number that is good enough. `admission` stands apart: what a run says of calls that come and go.
"""

from ethermeter.calls.quality import Quality, Wanted
from ethermeter.calls.question import Question
from ethermeter.calls.search import Answer, Rated, most_calls

__all__ = ["Answer", "Quality", "Question", "Rated", "Wanted", "most_calls"]
