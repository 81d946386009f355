"""Bottleneck search: which stage holds a transfer back, by changing one stage at a time.

A stage's load does not show what it costs; the effect of a change does. So each
stage is relieved (or, where it has nothing to relieve, tightened) while the others stay, in rounds
of random order, and the bottleneck is the stage whose change moves the throughput.
"""

from ethermeter.bottleneck.bench import Bench, make_bench
from ethermeter.bottleneck.document import TransferFile, load, transfers
from ethermeter.bottleneck.trials import Transfers
from ethermeter.bottleneck.verdict import Verdict, judge

__all__ = [
    "Bench",
    "TransferFile",
    "Transfers",
    "Verdict",
    "judge",
    "load",
    "make_bench",
    "transfers",
]
