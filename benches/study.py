"""A whole study as a person runs it: through the command line, until the prompt is back."""

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.children import ChildError, run_child

LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Case:
    """A command line that is timed, and which of its times has a target."""

    name: str
    options: tuple[str, ...]
    judged: str
    """`trials_wall_s`: from the start to the last trial; `command_wall_s`: until the command has
    ended.
    """
    target_s: float | None


FULL_CASES = (
    Case(
        "1 replication, simulation",
        ("--set", "run.replications=1", "--no-report"),
        "trials_wall_s",
        4.0,
    ),
    Case("1 replication, with report", ("--set", "run.replications=1"), "command_wall_s", 8.0),
    Case(
        "5 replications, simulation",
        ("--set", "run.replications=5", "--no-report"),
        "trials_wall_s",
        20.0,
    ),
)
QUICK_CASES = (
    Case("1 replication, a tenth of the time", ("--quick", "--no-report"), "trials_wall_s", None),
)


def measure_study(cases: Sequence[Case], *, follow: Callable[[str], None]) -> list[dict[str, Any]]:
    """Time `ethermeter study boggs1988`.

    Parameters
    ----------
    cases
        The command lines.
    follow
        Told what is measured next.

    Returns
    -------
    :
        A row a command line. `status` is `measured`, or says what went wrong, and then all times
        are None.

    """
    rows = []
    for case in cases:
        follow(f"study: {case.name}")
        words = ["ethermeter", "study", "boggs1988", *case.options]
        row: dict[str, Any] = {
            "what": case.name,
            "command": " ".join(words),
            "trials": None,
            "jobs": None,
            "trials_wall_s": None,
            "trials_thread_s": None,
            "command_wall_s": None,
            "command_cpu_s": None,
            "judged": case.judged,
            "target_s": case.target_s,
            "met": None,
        }
        try:
            row.update(_times(words[1:]))
            row["status"] = "measured"
            row["met"] = None if case.target_s is None else row[case.judged] <= case.target_s
        except ChildError as error:
            row["status"] = f"failed: {error}"
        rows.append(row)
    return rows


def _times(options: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="ethermeter-bench-") as folder:
        directory = Path(folder) / "run"
        child = run_child(
            [sys.executable, "-m", "ethermeter", *options, "--out", str(directory)], limit_s=LIMIT_S
        )
        provenance = json.loads((directory / "provenance.json").read_text(encoding="utf-8"))
    return {
        "trials": provenance["trials"],
        "jobs": provenance["jobs"],
        "trials_wall_s": provenance["wall_s"],
        "trials_thread_s": provenance["simulation_s"],
        "command_wall_s": child.wall_s,
        "command_cpu_s": child.cpu_s,
    }
