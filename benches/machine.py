"""The machine the numbers are of."""

import os
import platform
from typing import Any


def describe() -> dict[str, Any]:
    """Name the machine and what runs on it now.

    Returns
    -------
    :
        Processor, how many of them, kernel, Python, version of the core, and the load average of
        the last minute.

    """
    from ethermeter._core import version
    from ethermeter.provenance import cpu_model

    return {
        "cpu": cpu_model(),
        "processors": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "ethermeter": version(),
        "load": load(),
    }


def line(here: dict[str, Any]) -> str:
    """Return the machine of results in a line: what `describe` says, and `load_at_end`."""
    return (
        f"{here['cpu']}, {here['processors']} processors, {here['system']}; load {here['load']}"
        f" before, {here['load_at_end']} after"
    )


def load() -> float:
    """Return the load average of the last minute."""
    return round(os.getloadavg()[0], 2)
