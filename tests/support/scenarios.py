"""Scenarios of networks from tables, for tests of what reads them."""

import msgspec
from ethermeter.scenario import Scenario


def phases(
    stop_ps: int = 10**12,
    *,
    measure_from_ps: int = 0,
    measure_to_ps: int | None = None,
    end_ps: int | None = None,
    spread_ps: int = 0,
) -> dict[str, int]:
    """Return phases from 0 on, which are measured as long as sources send if nothing is said."""
    return {
        "begin_ps": 0,
        "stop_ps": stop_ps,
        "measure_from_ps": measure_from_ps,
        "measure_to_ps": stop_ps if measure_to_ps is None else measure_to_ps,
        "end_ps": stop_ps if end_ps is None else end_ps,
        "spread_ps": spread_ps,
    }


def scenario_of(**tables: object) -> Scenario:
    """Return a scenario of these tables; without others, and with one second that is measured."""
    return msgspec.convert({"nodes": [], "flows": [], "phases": phases(), **tables}, Scenario)
