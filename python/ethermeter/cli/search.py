"""The command that searches the largest or smallest value with which conditions hold."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.guard import FAILED
from ethermeter.cli.output import print_json, show
from ethermeter.cli.summary import print_files, say_failed, search_and_sum_up

if TYPE_CHECKING:
    from ethermeter.engines.live import Place

EXAMPLES = """\
  ethermeter search office --set network.classes=8 --while 'loss <= 0.1%' \
--largest flows.backup.arrivals.token_bucket.rate --from '20 Mb/s' --to '60 Mb/s' --step '1 Mb/s'
  ethermeter search office --set network.classes=1 --largest network.hosts.phone.count \
--from 1 --to 40 --while 'call: one_way_delay.p99 <= 10 ms' --while 'loss <= 0.1%'
  ethermeter search buffer-sizing --smallest network.switches.switch.queue --from 1 --to 40 \
--while 'loss == 0'
  ethermeter search my-network.toml --engine theory/queueing --json
  ethermeter search my-network.toml --testbed --replications 10 --out runs/largest --resume"""


def search(
    experiment: options.Experiment,
    *,
    largest: Annotated[
        str | None,
        typer.Option(
            "--largest",
            metavar="KEY",
            show_default=False,
            help="Key whose largest value is wanted, such as flows.load.arrivals.poisson_load.",
            autocompletion=completion.keys,
        ),
    ] = None,
    smallest: Annotated[
        str | None,
        typer.Option(
            "--smallest",
            metavar="KEY",
            show_default=False,
            help="Key whose smallest value is wanted, such as network.switches.s.queue.",
            autocompletion=completion.keys,
        ),
    ] = None,
    first: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="VALUE", show_default=False, help="First value of the range."
        ),
    ] = None,
    last: Annotated[
        str | None,
        typer.Option("--to", metavar="VALUE", show_default=False, help="Last value of the range."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            "--step",
            metavar="VALUE",
            show_default=False,
            help="Distance between tried values; unless given 1 for integers, else a hundredth of "
            "the range.",
        ),
    ] = None,
    conditions: Annotated[
        list[str] | None,
        typer.Option(
            "--while",
            metavar="CONDITION",
            show_default=False,
            autocompletion=completion.conditions,
            help=(
                "Condition that must hold: 'loss <= 0.1%' for each flow, 'call: one_way_delay.p99 "
                "<= 20 ms' for one, 'together: data_rate >= 90 Mb/s' for all. Can be given several "
                "times."
            ),
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            show_default=False,
            help="Engine that answers: simulation, theory/MODEL, idealised/MODEL or live; "
            "simulation unless given.",
            autocompletion=completion.engines,
        ),
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(
            "--confidence",
            metavar="SHARE",
            show_default=False,
            help="Probability that the answer lies between the stated values; 95% unless given.",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            min=1,
            max=1000,
            show_default=False,
            help="Largest number of trials of one value; 64 unless given.",
        ),
    ] = None,
    hosts: options.Hosts = None,
    testbed: Annotated[
        bool,
        typer.Option("--testbed", help="Measure in namespaces on this machine. Needs root."),
    ] = False,
    loopback: Annotated[
        bool, typer.Option("--loopback", help="Measure on the loopback interface.")
    ] = False,
    wires: Annotated[
        Literal["shaped", "relay"],
        typer.Option(
            "--wires", help="With --testbed: how links get their rate, as for ethermeter measure."
        ),
    ] = "shaped",
    overrides: options.Overrides = None,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    cluster: options.Cluster = None,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
) -> None:
    """Find the largest or smallest value of a key with which conditions hold.

    The table [search] of the file may have the question and the range. Exit code 0 if the answer is
    known to one step, 1 if it stays undecided or the conditions hold for no value of the range, 2
    for invalid input.
    """
    import msgspec

    from ethermeter import api
    from ethermeter.cli import next_steps
    from ethermeter.experiment import load
    from ethermeter.present import search as layout
    from ethermeter.run import RunOptions
    from ethermeter.search import question_of
    from ethermeter.strategies.search import Answer, ValueSearch

    place = _place(hosts, testbed=testbed, loopback=loopback, wires=wires, engine=engine)
    given = {
        "largest": largest,
        "smallest": smallest,
        "from": _value(first),
        "to": _value(last),
        "step": _value(step),
        "while": conditions,
        "engine": "live" if engine is None and place is not None else engine,
        "confidence": None if confidence is None else _confidence(confidence),
        "replications": replications,
    }
    more = [*(overrides or ()), *([] if seed is None else [f"seed={seed}"])]
    question = question_of(
        load(api.locate(experiment), overrides=more),
        {key: value for key, value in given.items() if value is not None},
    )
    run_options = RunOptions(
        jobs=jobs,
        cluster=cluster,
        resume=resume,
        force=force,
        command=tuple(sys.argv),
        seed=question.seed,
    )
    run, summary = search_and_sum_up(
        ValueSearch(question), run_options, out=out, report=not no_report, place=place
    )
    found = msgspec.json.decode(run.answer(), type=Answer)
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        show(layout.search(found))
        print_files(summary)
        steps = next_steps.of_search(found, experiment, more, sys.argv[1:])
        next_steps.print_steps(steps)
    say_failed(summary)
    if found.outcome in ("undecided", "none"):
        raise typer.Exit(FAILED)


def _place(
    hosts: Path | None,
    *,
    testbed: bool,
    loopback: bool,
    wires: Literal["shaped", "relay"],
    engine: str | None,
) -> "Place | None":
    """Return where is measured; None if nothing is."""
    from ethermeter.cli.venues import place_of
    from ethermeter.cli.voice_values import refuse

    is_live = engine == "live"
    if hosts is None and not testbed and not loopback:
        if is_live:
            refuse("--engine", "live", "with one of --hosts FILE, --testbed and --loopback")
        return None
    if engine is not None and not is_live:
        refuse("--engine", engine, "live, or none, with --hosts, --testbed or --loopback")
    return place_of(
        hosts,
        testbed=testbed,
        plain=False,
        loopback=loopback,
        wires=wires,
        captures=None,
        ip=4,
        least=0,
    )


def _value(text: str | None) -> object:
    """Return a value of a range: a number, or a text with a unit."""
    from ethermeter.experiment.toml import value_of

    return None if text is None else value_of(text)


_PERCENT = re.compile(r"\s*([0-9.]+)\s*%\s*", re.ASCII)


def _confidence(text: str) -> float:
    from ethermeter.cli.voice_values import refuse

    found = _PERCENT.fullmatch(text)
    try:
        return float(found[1]) / 100 if found else float(text)
    except ValueError:
        refuse("--confidence", text, 'a share such as "95%" or 0.95')
