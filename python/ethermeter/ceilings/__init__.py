"""Ceilings: the rate of each stage of this host alone, measured, read from the system or computed.

Stages that share a processor or a bus are slower together than each alone.
Ceilings that could not be found are listed with the reason (`LeftOut`).
"""

from ethermeter.ceilings.survey import Options, survey
from ethermeter.ceilings.value import Ceiling, Facts, LeftOut, Survey

__all__ = ["Ceiling", "Facts", "LeftOut", "Options", "Survey", "survey"]
