"""Quick measurements of a host by what answers there: an agent, a STAMP reflector, iperf3 -s."""

from ethermeter.quick.measuring import BY, Request, measure
from ethermeter.quick.result import Measurement, Value

__all__ = ["BY", "Measurement", "Request", "Value", "measure"]
