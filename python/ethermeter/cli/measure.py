"""The command that measures: trials of the engine "live" between agents."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from ethermeter.cli import options, running
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.output import print_json

if TYPE_CHECKING:
    from ethermeter.engines.live import Place

EXAMPLES = """\
  ethermeter measure wire-live --testbed
  ethermeter measure my-network.toml --hosts hosts.toml --replications 5
  ethermeter measure my-network.toml --testbed --plain --set 'phases.transmit="2 s"'
  ethermeter measure my-network.toml --loopback --json"""


def measure(
    experiment: options.Experiment,
    *,
    hosts: Annotated[
        Path | None, typer.Option("--hosts", metavar="FILE", show_default=False, help="Measure between the agents of these hosts.")
    ] = None,
    testbed: Annotated[
        bool,
        typer.Option("--testbed", help="Build the experiment's network out of namespaces on this machine and measure there. Needs root."),
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="With --testbed: all hosts at one switch as fast as the machine is, whatever the network says.")
    ] = False,
    wires: Annotated[
        Literal["shaped", "relay"],
        typer.Option("--wires", help="Of a testbed: shaped (rates as of a wire), or relayed (delays of frames too; takes a processor)."),
    ] = "shaped",
    loopback: Annotated[bool, typer.Option("--loopback", help="Measure between agents on this machine's loopback addresses.")] = False,
    overrides: options.Overrides = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
) -> None:
    """Measure an experiment between real hosts, and simulate it too if its file asks for both.

    Exit code 1 if an agent was lost in a trial: that one has no values, all others are there. 2 if it cannot be measured, 130 after Ctrl-C
    or kill; finished trials are then kept.
    """
    from ethermeter import api
    from ethermeter.faults import Fault, InputError
    from ethermeter.run import Manner

    place = _place(hosts, testbed=testbed, plain=plain, loopback=loopback, wires=wires)
    loaded = api.load(experiment, overrides=overrides or ())
    for one in loaded.experiments:
        if "live" not in one.engines:
            allowed = """expected "live" among them: --set 'run.engines=["simulation", "live"]'"""
            raise InputError([Fault(str(one.path), "run.engines", str(list(one.engines)), allowed)])
    signal.signal(signal.SIGTERM, _terminated)
    manner = Manner(jobs=jobs, resume=resume, force=force, command=tuple(sys.argv), seed=seed)
    summary = running.run_and_sum_up(loaded, manner, replications=replications, out=out, report=not no_report, place=place)
    if as_json:
        print_json(summary)
    else:
        running.print_points(summary["estimates"])
        running.print_live_agreement(summary)
        running.print_files(summary)
    for trial, why in summary["in_vain"].items():
        say(f"ethermeter: trial {trial}: {why}; it has no values")
    if summary["in_vain"]:
        raise typer.Exit(FAILED)


def _terminated(*_: object) -> NoReturn:
    """Let a kill end all that Ctrl-C would."""
    raise KeyboardInterrupt


def _place(hosts: Path | None, *, testbed: bool, plain: bool, loopback: bool, wires: Literal["shaped", "relay"]) -> "Place":
    from ethermeter import hosts_file
    from ethermeter.engines.live import Hosts, Local
    from ethermeter.faults import Fault, InputError

    if (hosts is not None) + testbed + loopback != 1:
        given = [name for name, there in (("--hosts", hosts is not None), ("--testbed", testbed), ("--loopback", loopback)) if there]
        allowed = "expected one of --hosts FILE, --testbed and --loopback: where to measure"
        raise InputError([Fault("command line", "measure", " ".join(given) or "(none of them)", allowed)])
    if plain and not testbed:
        raise InputError([Fault("command line", "--plain", "given", "expected with --testbed only")])
    if hosts is not None:
        return Hosts(hosts_file.read(hosts).laboratory())
    if testbed:
        from ethermeter.testbed.commands import require

        require("ip", "tc", "ethtool")
        return Local("plain" if plain else "testbed", wires)
    return Local("loopback")
