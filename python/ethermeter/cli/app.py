"""The commands, put together."""

import click

from ethermeter.cli import shells
from ethermeter.cli.guard import Settings
from ethermeter.cli.help import Entry, Group, Groups

GROUPS: Groups = {
    "Experiments": {
        "run": Entry("Run an experiment, estimate and report.", "run"),
        "study": Entry("Reproduce a published study, or all, and check the claims.", "study"),
        "validate": Entry("Check experiment files; list their trials, run nothing.", "validate"),
        "report": Entry("Write the report of a finished run again, or figures.", "report"),
        "compare": Entry("Compare two runs point by point, or theory and simulation.", "compare"),
        "experiments": Entry("List, show and copy the shipped experiments.", "experiments"),
    },
    "Measurement": {
        "measure": Entry("Measure an experiment between hosts.", "measure"),
        "probe": Entry("Measure a host that answers, without an experiment.", "probe"),
        "reflector": Entry("Answer test packets of STAMP on this host.", "reflector"),
        "agent": Entry("Send and receive frames on this host for a coordinator.", "agent"),
        "hosts": Entry("Certify and check the hosts of a laboratory.", "hosts"),
        "testbed": Entry("Make virtual hosts on this machine and remove them.", "testbed", "GROUP"),
    },
    "Limits": {
        "find": Entry("Find largest values, calls, rates and bottlenecks.", "find", "GROUP"),
        "explain": Entry("Explain what limited each TCP connection of a capture.", "explain"),
        "bus": Entry("Find the longest cycle and access delays of a 10BASE-T1S bus.", "bus"),
    },
    "Models": {
        "fit": Entry("Estimate parameters of a network from measurements.", "fit"),
        "predict": Entry("Predict what a fitted network does.", "predict"),
        "model": Entry("List, show and evaluate models of theory and of voice.", "model"),
    },
}


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        from ethermeter._core import version

        click.echo(f"ethermeter {version()}")
        context.exit()


def _debug(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    Settings.debug = wanted


app = Group(
    "ethermeter",
    "Learn what an Ethernet can carry, with what delay, loss and fairness.",
    GROUPS,
    examples="  ethermeter study boggs1988\n  ethermeter experiments\n"
    "  ethermeter run poisson-load\n"
    "  ethermeter run my-network.toml --set stations.0.count=12 --out runs/twelve",
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version and exit.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_debug,
            help="Show the traceback of an error.",
        ),
        *shells.options(),
    ],
)
