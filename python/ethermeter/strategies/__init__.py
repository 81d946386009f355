"""Strategies: experiments that decide from the results so far which trials are run next.

`strategy` is what all have in common; each other module is one strategy.
`ethermeter.execution.search` runs one into a run directory, where it can be interrupted and
resumed.
"""

from ethermeter.strategies.strategy import Finished, Observed, Strategy, answered

__all__ = ["Finished", "Observed", "Strategy", "answered"]
