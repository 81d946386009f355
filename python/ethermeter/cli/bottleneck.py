"""Which stage holds a transfer back: one stage at a time is changed, and the throughput tells."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import options
from ethermeter.cli.output import print_json, print_table

if TYPE_CHECKING:
    from ethermeter.bottleneck import Attribution, Outcome

EXAMPLES = """\
  ethermeter bottleneck --list
  ethermeter bottleneck wire --testbed
  ethermeter bottleneck my-transfer.toml --testbed --repetitions 8 --out roofline.html
  ethermeter bottleneck receiver-window --testbed --json > result.json
  ethermeter ceilings --roofline result.json"""


def bottleneck(
    experiment: Annotated[
        str | None,
        typer.Argument(
            metavar="[TRANSFER]",
            show_default=False,
            help="The file of a transfer (docs/bottleneck.md), or the name of a shipped one.",
        ),
    ] = None,
    *,
    testbed: Annotated[
        bool,
        typer.Option(
            "--testbed", help="On two hosts of a testbed made on this machine. Needs root."
        ),
    ] = False,
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions",
            min=3,
            max=50,
            show_default=False,
            help="Rounds before a verdict, at most three of it, instead of the file's own number.",
        ),
    ] = None,
    seed: options.Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            show_default=False,
            help="Draw the path's roofline: .html, .svg, .pdf or .png.",
        ),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option(
            "--list", help="List the shipped transfers, each with a bottleneck that was put there."
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Find the bottleneck of a transfer by relieving or tightening one stage at a time, in random
    order.

    Exit code 0, also where it stays undecided; 1 if the system refuses something; 2 for input that
    cannot be used.
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
    if out is not None:
        from ethermeter.report.roofline import FORMATS

        if out.suffix.lower() not in FORMATS:
            refuse("--out", str(out), f"a file ending in one of {', '.join(FORMATS)}")
    document = load(experiment)
    from ethermeter.bottleneck import attribute, make_bench
    from ethermeter.cli.progress import ProgressDisplay

    with ProgressDisplay(document.title, pieces="transfers") as display, make_bench() as bench:
        found = attribute(
            document,
            bench,
            seed=seed,
            repetitions=repetitions,
            tell=display.count,
        )
    if out is not None:
        from ethermeter.report.roofline import export

        export(document.title, [found.roofline()], out)
    if as_json:
        print_json(found.as_json())
        return
    _print(found)
    if out is not None:
        typer.echo(str(out))


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


def _print(found: "Attribution") -> None:
    import numpy as np

    from ethermeter.analysis.interval import student
    from ethermeter.bottleneck.interventions import STAGES
    from ethermeter.report.roofline import rate_text, verdict

    def rates(outcomes: "tuple[Outcome, ...]") -> str:
        return rate_text(float(np.mean([outcome.throughput_bps for outcome in outcomes])))

    usual = student(np.asarray([outcome.throughput_bps for outcome in found.unchanged]))
    typer.echo(
        f"{found.document.title}: {rate_text(usual.value)} ± {rate_text(usual.half_width)}, {len(found.unchanged)} rounds in random order"
    )
    rows = []
    for change, response, outcomes in zip(
        found.changes, found.verdict.responses, found.changed, strict=True
    ):
        interval = f"{response.interval.value:.2f} ({response.interval.low:.2f} … {response.interval.high:.2f})"
        name = STAGES.get(change.stage, "Connections (no stage)")
        rows.append(
            [
                name,
                change.way,
                change.what,
                rates(outcomes),
                f"{100 * response.gain:+.0f}%",
                interval,
            ]
        )
    print_table(["stage", "", "from … to", "throughput", "change", "response"], rows)
    for left in found.not_tried:
        typer.echo(f"not changed: {STAGES.get(left.stage, left.stage).lower()}: {left.why}")
    typer.echo(f"processors are limited by {found.means}")
    typer.echo(verdict(found.roofline()))
    typer.echo(
        f"bottleneck: {STAGES[found.verdict.bottleneck] if found.verdict.bottleneck else 'undecided'} – {found.verdict.why}"
    )
