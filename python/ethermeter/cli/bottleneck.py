"""The command that finds the stage which holds a transfer back."""

import sys
from typing import Annotated

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.output import print_json, require_drawing, show
from ethermeter.cli.summary import print_files, search_and_sum_up

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
    from ethermeter.present.bottleneck import bottleneck as layout

    show(layout(found))
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
    from ethermeter.present.transfers import transfers as layout

    show(layout(there))
