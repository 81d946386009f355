"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from ethermeter.cli import completion

Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="METRIC=COLUMN[:UNIT],...",
        show_default=False,
        help="Column of each metric in the CSV files of other programs.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        max=4096,
        show_default=False,
        help="Number of threads; one for each processor unless given. It does not change results.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        max=2**63 - 1,
        show_default=False,
        help="Seed that replaces that of the experiment.",
    ),
]
Replications = Annotated[
    int | None,
    typer.Option(
        "--replications",
        min=1,
        max=1000,
        show_default=False,
        help="Number of trials of each point; it replaces that of the experiment.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", show_default=False, help="Run directory; runs/<name>-<plan hash> unless given."
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue an interrupted run, and repeat failed trials."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Discard the run in the directory and start again.")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        show_default=False,
        help="Run the trials on a Dask cluster, such as tcp://host:8786.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")]
Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        show_default=False,
        help="Also draw a figure into this file: .html, .svg, .pdf or .png.",
    ),
]
Hosts = Annotated[
    Path | None,
    typer.Option(
        "--hosts",
        metavar="FILE",
        show_default=False,
        help="Measure between the agents of these hosts.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        show_default=False,
        autocompletion=completion.assignments,
        help="Set a key of the experiment to this value; can be given several times.",
    ),
]
Experiment = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT",
        help="An experiment file, or the name of a shipped one.",
        autocompletion=completion.experiments,
    ),
]
RunPath = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="A run directory.", autocompletion=completion.runs),
]
