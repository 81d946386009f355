"""Ceilings: what each stage of this host could do if it were the only one, measured, told by the
system, or worked out.

A ceiling is no promise: stages that share a processor or a bus do less together than each alone.
What could not be had is said too, with the reason (`LeftOut`).
"""

from ethermeter.ceilings.survey import Options, survey
from ethermeter.ceilings.value import Ceiling, LeftOut, Survey

__all__ = ["Ceiling", "LeftOut", "Options", "Survey", "survey"]
