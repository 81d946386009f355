"""Provenance: software, machine, plan and time of a run. No observation depends on it."""

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("numpy", "pyarrow", "scipy")


def begun(
    *,
    ethermeter: str,
    plan_name: str,
    plan_hash: str,
    trials: int,
    seeds: Mapping[str, int],
    command: Sequence[str],
    jobs: int,
    cluster: str | None,
) -> dict[str, object]:
    """Describe a run that begins now; the key `finished` is missing.

    `ethermeter` is the version, `seeds` has that of each experiment by its name, `command` the
    command line or the call of a Python session, `cluster` the address of the Dask scheduler.
    """
    return {
        "ethermeter": ethermeter,
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu": cpu_model(),
        "processors": os.cpu_count() or 1,
        "command": list(command),
        "plan": plan_name,
        "plan_hash": plan_hash,
        "trials": trials,
        "seeds": dict(seeds),
        "jobs": jobs,
        "cluster": cluster,
        "started": now(),
        "sessions": 1,
    }


def resumed(provenance: Mapping[str, object], before: Mapping[str, object]) -> dict[str, object]:
    """Return this session's provenance with the first start, and the number of sessions so far."""
    sessions = before.get("sessions")
    started = before.get("started", provenance["started"])
    return {
        **provenance,
        "started": started,
        "sessions": 1 + (sessions if isinstance(sessions, int) else 0),
    }


def finished(
    provenance: Mapping[str, object],
    *,
    wall_s: float,
    core_s: float,
    events: int,
    implementations: Sequence[str],
) -> dict[str, object]:
    """Complete the provenance of a run that ends now.

    `wall_s` counts from the beginning of this session to the last trial; `core_s`, the time in the
    simulator, and `events`, the transmissions simulated, are sums over threads and sessions.
    `implementations` of the simulator are those that ran: "fast" or "reference".
    """
    return {
        **provenance,
        "finished": now(),
        "wall_s": round(wall_s, 3),
        "simulation_s": round(core_s, 3),
        "events": events,
        "implementations": list(implementations),
    }


def sealed(provenance: Mapping[str, object]) -> dict[str, object]:
    """Add the checksum of all other keys, by which `damage` finds a change."""
    return {
        **{key: value for key, value in provenance.items() if key != "seal"},
        "seal": _seal(provenance),
    }


def damage(found: object) -> str:
    """Return the fault of a provenance file's content, or an empty text."""
    if not isinstance(found, dict):
        return f"damaged: holds {type(found).__name__}, no object"
    if found.get("seal", _seal(found)) != _seal(found):
        return "damaged: its seal differs"
    for key, kind in _KINDS.items():
        if key in found and not isinstance(found[key], kind):
            return f"damaged: {key} is {type(found[key]).__name__}"
    return ""


_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "finished": str,
    "failed": dict,
    "live_study": str,
    "plan_hash": str,
    "sha256": dict,
    "study": (str, type(None)),
}
"""Types of the keys that other rooms read."""


def _seal(provenance: Mapping[str, object]) -> str:
    rest = {key: value for key, value in provenance.items() if key != "seal"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def now() -> str:
    """Time of day, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def cpu_model() -> str:
    """Name of the processor as the system reports it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
