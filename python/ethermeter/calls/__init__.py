"""Calls between telephones: how many, where, and with which quality.

`question` is what is asked and the experiment that answers it for a number of calls; `venues` are
where the calls are. `quality` is what a simulated trial means for those who talk.
`ethermeter.strategies.calls` searches the largest number. `admission` is about calls that arrive
and end.
"""

from ethermeter.calls.quality import Quality, Wanted
from ethermeter.calls.question import Question
from ethermeter.calls.venues import BetweenHosts, OnSegment, pairs_of

__all__ = ["BetweenHosts", "OnSegment", "Quality", "Question", "Wanted", "pairs_of"]
