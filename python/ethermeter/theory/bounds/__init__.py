"""Bounds: worst-case delays and backlogs of a network by network calculus.

A delay runs from the arrival of a message at its source to the last bit of its check sequence at
the destination, through the stages of the receiving host, as `one_way_delay` of a simulation. The
first link, preambles and propagation are in it; the frame's own gap is not. Times are calculated in
picoseconds; whole ones, at most 2⁵³, without rounding. `bounds_of` rounds them up.

`curves`, `schedulers`, `tfa` and `plp` know servers and flows only, not Ethernet; `sources`,
`stages` and `network` make them of a scenario.
"""

from ethermeter.theory.bounds.backlog import Backlog
from ethermeter.theory.bounds.results import Bounds, DelayBound, FlowBound, PortBound
from ethermeter.theory.bounds.solution import bounds_of, buses_of

__all__ = ["Backlog", "Bounds", "DelayBound", "FlowBound", "PortBound", "bounds_of", "buses_of"]
