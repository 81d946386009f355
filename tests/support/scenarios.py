"""Scenarios of networks from tables, for tests of what reads them."""

import msgspec
from ethermeter.scenario import Scenario

SECOND_PS = 10**12
PHASES = {
    "begin_ps": 0,
    "stop_ps": SECOND_PS,
    "measure_from_ps": 0,
    "measure_to_ps": SECOND_PS,
    "end_ps": SECOND_PS,
    "spread_ps": 0,
}


def scenario_of(**tables: object) -> Scenario:
    """Return a scenario of these tables; without others, and with one second that is measured."""
    return msgspec.convert({"nodes": [], "flows": [], "phases": PHASES, **tables}, Scenario)
