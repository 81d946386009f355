"""Calls between telephones: how many, where, and with which quality.

`question` is what is asked and the experiment that answers it for a number of calls; `segment` and
`network` are where the calls are. `quality` is what a simulated trial means for those who talk.
`ethermeter.strategies.calls` searches the largest number. `admission` is about calls that come and
go.
"""

from ethermeter.calls.network import BetweenHosts, pairs_of
from ethermeter.calls.quality import Quality, Wanted
from ethermeter.calls.question import Question
from ethermeter.calls.segment import OnSegment

__all__ = ["BetweenHosts", "OnSegment", "Quality", "Question", "Wanted", "pairs_of"]
