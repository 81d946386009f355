"""The commands, put together."""

from typing import Annotated

import typer

from ethermeter.cli.guard import Settings
from ethermeter.cli.help import Entry, Groups, group

GROUPS: Groups = {
    "Experiments": {
        "run": Entry("Run an experiment, estimate and report.", "running", "run"),
        "reproduce": Entry(
            "Reproduce a published study, or all, and check the claims.", "reproducing", "reproduce"
        ),
        "validate": Entry(
            "Check experiment files and report every fault.",
            "inspecting",
            "validate",
            "VALIDATE_EXAMPLES",
        ),
        "plan": Entry(
            "List the trials of an experiment; run nothing.", "inspecting", "plan", "PLAN_EXAMPLES"
        ),
        "report": Entry(
            "Write the report of a finished run again.", "reporting", "report", "REPORT_EXAMPLES"
        ),
        "compare": Entry(
            "Compare two finished runs point by point.", "reporting", "compare", "COMPARE_EXAMPLES"
        ),
        "figures": Entry(
            "Draw figures of a finished run into files.", "reporting", "figures", "FIGURES_EXAMPLES"
        ),
        "experiments": Entry(
            "List, show and copy the shipped experiments.",
            "inspecting",
            "experiments",
            "EXPERIMENTS_EXAMPLES",
        ),
        "schema": Entry(
            "Print the JSON Schema of experiment files, for editors.",
            "inspecting",
            "schema",
            "SCHEMA_EXAMPLES",
        ),
    },
    "Measurement": {
        "measure": Entry(
            "Measure an experiment between hosts, or a host that answers.", "measure", "measure"
        ),
        "reflector": Entry("Answer test packets of STAMP on this host.", "reflector", "reflector"),
        "agent": Entry("Send and receive frames on this host for a coordinator.", "agent", "agent"),
        "hosts": Entry("Certify and check the hosts of a laboratory.", "hosts"),
        "testbed": Entry("Make virtual hosts on this machine and remove them.", "testbed"),
    },
    "Limits": {
        "search": Entry(
            "Find the largest or smallest value with which conditions hold.", "search", "search"
        ),
        "calls": Entry("Find how many calls fit with a given quality.", "calls", "calls"),
        "benchmark": Entry(
            "Run a suite: RFC 2544, 2889, 3918, 6349, Y.1564.", "benchmark", "benchmark"
        ),
        "bottleneck": Entry("Find which stage limits a transfer.", "bottleneck", "bottleneck"),
        "ceilings": Entry(
            "Measure what each stage of this host can do alone.", "ceilings", "ceilings"
        ),
        "explain": Entry(
            "Explain what limited each TCP connection of a capture.", "explain", "explain"
        ),
        "plca": Entry(
            "Find the longest cycle and access delays of a 10BASE-T1S bus.", "plca", "plca"
        ),
    },
    "Calibration": {
        "calibrate": Entry(
            "Estimate parameters of a network from measurements.",
            "calibrating",
            "calibrate",
            "CALIBRATE_EXAMPLES",
        ),
        "predict": Entry(
            "Predict what a calibrated network does.", "calibrating", "predict", "PREDICT_EXAMPLES"
        ),
    },
    "Models": {
        "theory": Entry("List, evaluate and choose models; compare them with runs.", "theory"),
        "voice": Entry("Rate calls, cut speech into packets, size trunks.", "voice"),
    },
}

app = group(
    "ethermeter",
    "Learn what an Ethernet can carry, with what delay, loss and fairness.",
    GROUPS,
    examples="  ethermeter reproduce boggs1988\n  ethermeter experiments\n"
    "  ethermeter run poisson-load\n"
    "  ethermeter run my-network.toml --set stations.0.count=12 --out runs/twelve",
    has_completion=True,
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        from ethermeter._core import version

        typer.echo(f"ethermeter {version()}")
        raise typer.Exit


@app.callback()
def _all_commands(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn what an Ethernet can carry, with what delay, loss and fairness."""
    Settings.debug = debug
