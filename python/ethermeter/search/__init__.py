"""Searches: which value of a key is wanted, and what must hold there.

`conditions` are what must hold, read from text and judged by the results of a trial; `values` are
those that a search tries. `question` is both with an experiment: the trials of a value. `bounds`
has what theory says beside an answer. `ethermeter.strategies.search` finds the answer.
"""

from ethermeter.analysis.conditions import Condition, Judged
from ethermeter.search.question import Question, check_table, question_of
from ethermeter.search.values import Values

__all__ = ["Condition", "Judged", "Question", "Values", "check_table", "question_of"]
