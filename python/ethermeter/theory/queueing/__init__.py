"""Queueing theory: mean delays, losses and saturation of networks.

`ethermeter.theory.waiting` has the formulas of single queues; `network` applies them
to the resources on the paths of a scenario's flows.
"""

from ethermeter.theory.queueing.network import means_of
from ethermeter.theory.queueing.results import FlowMean, Means, PortMean, Saturation
from ethermeter.theory.queueing.unmet import unmet

__all__ = ["FlowMean", "Means", "PortMean", "Saturation", "means_of", "unmet"]
