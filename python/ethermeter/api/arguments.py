"""Arguments that several operations have."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol

from ethermeter.operation import Argument


class Read(Protocol):
    """Experiments that were read: what `load` returned."""

    @property
    def experiments(self) -> "tuple[Any, ...]":
        """The experiments."""

    @property
    def name(self) -> str | None:
        """Name of their plan; None for that of the first."""


EXPERIMENT = Argument(
    "An experiment file, or the name of a shipped one.", "EXPERIMENT", "experiments"
)
Experiment = Annotated[str | Path, EXPERIMENT]
ReadExperiment = Annotated[str | Path | Read, EXPERIMENT]
"""In Python also what was read already."""
RunPath = Annotated[Path, Argument("A run directory.", "RUN", "runs")]
Overrides = Annotated[
    Sequence[str] | Mapping[str, object],
    Argument(
        "Set a key of the experiment to this value; can be given several times.",
        "KEY=VALUE",
        "assignments",
    ),
]
Jobs = Annotated[
    int | str | None,
    Argument(
        "Number of threads, one for each processor unless given; or the address of a Dask cluster, "
        "such as tcp://host:8786. It does not change results.",
        "N|ADDRESS",
        least=1,
        most=4096,
    ),
]
Out = Annotated[
    Path | None,
    Argument(
        "Directory of the run, runs/NAME-HASH unless given. An unfinished run in it is continued.",
        "DIR",
    ),
]
Force = Annotated[bool, Argument("Discard what is in the directory, and start again.")]
Report = Annotated[bool, Argument("Do not write report.html.")]
FailIf = Annotated[
    Sequence[str],
    Argument(
        "Exit code 1 if this is so of any flow, such as 'loss > 0.1%' or 'call: one_way_delay.p99 "
        "> 20 ms', 3 if intervals are too wide to tell; checks are written into the run as JUnit, "
        "OpenMetrics and Markdown. Can be given several times.",
        "CONDITION",
    ),
]
Columns = Annotated[
    str | None,
    Argument(
        "Column of each metric in the CSV files of other programs.", "METRIC=COLUMN[:UNIT],..."
    ),
]
WHERE = Argument(
    "Where to measure: a file of hosts; testbed, which makes hosts on this machine and needs root; "
    "or loopback. testbed,relay delays single frames, and is chosen for traffic classes; "
    "testbed,plain joins all hosts at one switch, as fast as the machine allows; testbed,plain,N "
    "makes N of them.",
    "FILE|testbed|loopback",
    "venues",
)
Somewhere = Annotated[str | Path, WHERE]
On = Annotated[str | Path | None, WHERE]
