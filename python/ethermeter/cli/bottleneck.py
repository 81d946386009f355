"""The command that finds the stage which holds a transfer back."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.output import print_json, print_table, print_text, require_drawing
from ethermeter.cli.summary import print_files, search_and_sum_up
from ethermeter.quantities import Scale, quantity, with_ends

if TYPE_CHECKING:
    from ethermeter.bottleneck import Outcome
    from ethermeter.results.interval import Floats
    from ethermeter.strategies.bottleneck import Answer

EXAMPLES = """\
  ethermeter bottleneck --list
  ethermeter bottleneck wire --testbed
  ethermeter bottleneck my-transfer.toml --testbed --repetitions 8 --figure roofline.html
  ethermeter bottleneck receiver-window --testbed --out runs/window --resume
  ethermeter ceilings --roofline runs/window/answer.json"""


def bottleneck(
    experiment: Annotated[
        str | None,
        typer.Argument(
            metavar="[TRANSFER]",
            show_default=False,
            help="File of a transfer (docs/reference/transfer-file.md), or name of a shipped one.",
            autocompletion=completion.transfers,
        ),
    ] = None,
    *,
    testbed: Annotated[
        bool,
        typer.Option(
            "--testbed",
            help="Run the transfer between two hosts of a testbed on this machine. Needs root.",
        ),
    ] = False,
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions",
            min=3,
            max=50,
            show_default=False,
            help="Number of rounds before a verdict, instead of the file's; three times as many "
            "are made at most.",
        ),
    ] = None,
    seed: options.Seed = None,
    figure: options.Figure = None,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    no_report: options.NoReport = False,
    listed: Annotated[
        bool,
        typer.Option(
            "--list", help="List the shipped transfers, each of which has a known bottleneck."
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Find the bottleneck of a transfer by relieving or tightening one stage at a time.

    Exit code 0, even without a decision; 1 if the system refuses an operation; 2 for invalid input.
    """
    from ethermeter.bottleneck import load
    from ethermeter.cli.voice_values import refuse

    if listed:
        _list(as_json=as_json)
        return
    if experiment is None:
        refuse("TRANSFER", "not given", "the file of a transfer, or one that --list shows")
    if not testbed:
        refuse(
            "--testbed",
            "not given",
            "required: there is no other place yet where stages can be changed",
        )
    require_drawing("--figure", figure)
    document = load(experiment)
    import msgspec

    from ethermeter.bottleneck import Transfers
    from ethermeter.cli import next_steps
    from ethermeter.run import RunOptions
    from ethermeter.strategies.bottleneck import Answer, BottleneckSearch

    strategy = BottleneckSearch(document, seed=seed, repetitions=repetitions)
    run_options = RunOptions(
        resume=resume, force=force, command=tuple(sys.argv), seed=strategy.seed
    )
    with Transfers() as place:
        run, summary = search_and_sum_up(
            strategy, run_options, out=out, report=not no_report, place=place
        )
    answer = run.answer()
    found = msgspec.json.decode(answer, type=Answer)
    if figure is not None:
        from ethermeter.report.export import export
        from ethermeter.report.roofline import page

        export(page(found.title, [found.path()]), figure)
    if as_json:
        typer.echo(answer.decode(), nl=False)
        return
    _print(found)
    if figure is not None:
        typer.echo(str(figure))
    print_files(summary)
    next_steps.print_steps(next_steps.of_bottleneck(found, sys.argv[1:]))


def _list(*, as_json: bool) -> None:
    from ethermeter.bottleneck import load, transfers

    there = {name: load(name) for name in transfers()}
    if as_json:
        print_json(
            [
                {"name": name, "title": document.title, "planted": document.planted}
                for name, document in there.items()
            ]
        )
        return
    print_table(
        ["name", "bottleneck", "what it is"],
        [[name, document.planted or "", document.title] for name, document in there.items()],
    )


def _print(found: "Answer") -> None:
    import numpy as np

    from ethermeter.bottleneck.interventions import STAGES
    from ethermeter.report.roofline import verdict

    def rates(outcomes: "tuple[Outcome, ...]") -> str:
        return _rate(np.asarray([outcome.throughput_bps for outcome in outcomes]))

    usual = rates(found.unchanged)
    print_text(f"{found.title}: {usual}, {found.rounds} rounds in random order")
    rows = []
    for change in found.changes:
        response = change.response
        rows.append(
            [
                STAGES.get(change.stage, "Connections (no stage)"),
                change.way,
                change.what,
                rates(change.samples),
                f"{100 * change.gain:+.0f}%",
                with_ends(response.value, response.low, response.high, Scale("")),
            ]
        )
    print_table(["stage", "", "from … to", "throughput", "change", "response"], rows)
    for left in found.not_tried:
        print_text(f"not changed: {STAGES.get(left.stage, left.stage).lower()}: {left.why}")
    print_text(f"processors are limited by {found.processors_limited_by}")
    print_text(verdict(found.path()))
    named = STAGES[found.bottleneck] if found.bottleneck else "undecided"
    print_text(f"bottleneck: {named} – {found.why}")


def _rate(rates_bps: "Floats") -> str:
    """Write the mean of rates with its interval."""
    from ethermeter.results.interval import student

    mean = student(rates_bps)
    return quantity(mean.value, "bit/s", mean.half_width)
