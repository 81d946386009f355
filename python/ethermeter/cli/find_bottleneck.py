"""The command that finds the stage which holds a transfer back."""

import sys
from collections.abc import Iterator, Mapping

from ethermeter import json_values
from ethermeter.api.find.bottleneck import BottleneckOptions, Searched, bottleneck
from ethermeter.cli.command import Command, Values
from ethermeter.faults import InputError

EXAMPLES = """\
  ethermeter find bottleneck
  ethermeter find bottleneck wire --on testbed
  ethermeter find bottleneck my-transfer.toml repetitions=8 --on testbed --figure roofline.html
  ethermeter find bottleneck receiver-window --on testbed --out runs/window
  ethermeter find ceilings --roofline runs/window/answer.json"""


def blocks(found: Searched, options: BottleneckOptions) -> Iterator[object]:
    """Yield the transfers, or what a terminal shows of a search."""
    from ethermeter.blocks import Code
    from ethermeter.cli import next_steps
    from ethermeter.present import bottleneck as layout
    from ethermeter.present import transfers
    from ethermeter.present.runs import files

    if isinstance(found, tuple):
        yield from transfers.transfers(found)
        return
    yield from layout.bottleneck(found.answer)
    if options.figure is not None:
        yield Code(str(options.figure))
    yield from files(found.run)
    yield from next_steps.first(next_steps.of_bottleneck(found.answer, sys.argv[1:]))


def plain(found: Searched) -> object:
    """Return the transfers, or the answer of a search, as JSON values."""
    import msgspec

    if isinstance(found, tuple):
        return json_values.plain(found)
    return json_values.plain(msgspec.to_builtins(found.answer))


def rows(found: Searched) -> Iterator[Mapping[str, object]]:
    """Yield a row for each transfer, or for each change that a search tried."""
    import msgspec

    if isinstance(found, tuple):
        for each in found:
            yield {"name": each.name, "title": each.title, "planted": each.planted}
        return
    for change in found.answer.changes:
        row = msgspec.to_builtins(change)
        yield {name: value for name, value in row.items() if name != "samples"}


def _names(options: BottleneckOptions) -> tuple[str, ...]:
    """Return what a search finds of each change; a list of transfers has no values."""
    if options.transfer is None:
        raise InputError.of_argument("fail_if", "given without a transfer", "one with a transfer")
    return ("factor", "gain", "response")


COMMAND = Command(
    bottleneck,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    values=Values(
        rows,
        ("stage", "way"),
        names=_names,
        folder=lambda found, _: None if isinstance(found, tuple) else found.run.path,
    ),
    former={
        "--no-report": "none: a report is written",
        "--repetitions": "repetitions=N",
        "--seed": "seed=N",
    },
)
