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
        help="Of CSV files of other programs: which column has which metric.",
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
        help="Threads; one a processor unless given. It changes no result.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        max=2**63 - 1,
        show_default=False,
        help="Seed, instead of the experiment's own.",
    ),
]
Replications = Annotated[
    int | None,
    typer.Option(
        "--replications",
        min=1,
        max=1000,
        show_default=False,
        help="Trials of every point, instead of the experiment's own number.",
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
    typer.Option("--resume", help="Continue a run that was interrupted, and repeat failed trials."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Discard the run that is in the directory and begin again.")
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
        help="Also draw into a file: .html, .svg, .pdf or .png.",
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
        help="Lay a value over the file's; can be given several times.",
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
