"""Offered load of a network, known from its scenario before any trial.

Every wire, shared medium and stage is a resource that works for a share of the time in the long
run: its load. A resource that is offered more than it carries is overloaded: its queue grows until
its room is full, and then it loses what is beyond. A queue before a resource that carries its load
barely comes into balance after a long time. A trial that is over before shows less delay and loss
than there is in the long run.

Work is picoseconds of a resource, gaps between frames included. What a resource does not carry is
not offered to those behind it. Flows that wait for responses or acknowledgements, or whose source
is filled by a process, offer no more than is carried: they are not counted, nor are responses.
Voice counts with its shortest packets. A medium carries its line rate: what contention, beacons and
opportunities of PLCA take of it is not counted.
"""

from ethermeter.theory.load.analysis import in_order, loads_of, network_of
from ethermeter.theory.load.growth import settling_time
from ethermeter.theory.load.results import Loads, Overload, ResourceLoad

__all__ = [
    "Loads",
    "Overload",
    "ResourceLoad",
    "in_order",
    "loads_of",
    "network_of",
    "settling_time",
]
