"""Bottleneck search: which stage holds a transfer back, by changing one stage at a time.

A stage's load tells little of what it costs; what happens when it is changed tells all. So each
stage is relieved (or, where it has nothing to relieve, tightened) while the others stay, in rounds
of random order, and the bottleneck is the stage whose change moves the throughput.
"""

from ethermeter.bottleneck.bench import Bench, Outcome, make_bench
from ethermeter.bottleneck.document import Document, load, transfers
from ethermeter.bottleneck.trials import Transfers
from ethermeter.bottleneck.verdict import Verdict, judge

__all__ = [
    "Bench",
    "Document",
    "Outcome",
    "Transfers",
    "Verdict",
    "judge",
    "load",
    "make_bench",
    "transfers",
]
