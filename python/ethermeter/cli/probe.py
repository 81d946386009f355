"""The command that measures a host without an experiment."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethermeter.api.probe import ProbeOptions, Series, Slot, probe
from ethermeter.cli.command import Command, Form, Values
from ethermeter.cli.guard import FAILED

if TYPE_CHECKING:
    from ethermeter.probing.result import Measurement

EXAMPLES = """\
  ethermeter probe 192.0.2.7
  ethermeter probe 192.0.2.7 --by iperf3 --streams 4 --json
  ethermeter probe server --on hosts.toml --from client
  ethermeter probe 192.0.2.7 --every 5m --until 24h --out runs/uplink"""


def blocks(found: "Measurement | Series", options: ProbeOptions) -> Iterator[object]:
    """Yield what a terminal shows of a measurement, or of a series."""
    from ethermeter.present import probe as layout

    if isinstance(found, Series):
        yield from layout.series(found)
    else:
        yield from layout.measurement(found)


def plain(found: "Measurement | Series") -> object:
    """Return what was found as JSON values."""
    from msgspec import to_builtins

    return to_builtins(found)


def rows(found: "Measurement | Series") -> Iterator[dict[str, object]]:
    """Yield a row for each value; those of a series were printed as soon as they were known."""
    if not isinstance(found, Series):
        yield from found.rows()


def parts(options: ProbeOptions, form: Form) -> Callable[[Slot], None]:
    """Return what prints the rows of each measurement of a series."""

    def show(slot: Slot) -> None:
        from ethermeter.render.csv import lines

        head, *values = lines(slot.measurement.rows())
        for line in [head, *values] if slot.is_first else values:
            click.echo(line)

    return show if form == "csv" else lambda _: None


def _values(found: "Measurement | Series") -> Iterator[dict[str, object]]:
    """Yield each value; of a series how many measurements it has, and how many failed."""
    if isinstance(found, Series):
        yield {"measurements": found.measurements, "failures": found.failures}
    else:
        yield from found.rows()


def _names(options: ProbeOptions) -> list[str]:
    from ethermeter.metrics import EntityKind, metrics_of

    if options.every is not None:
        return ["measurements", "failures"]
    return [str(metric) for metric in metrics_of(EntityKind.FLOW)]


def end(found: "Measurement | Series", options: ProbeOptions) -> int:
    """Return the exit code."""
    return FAILED if isinstance(found, Series) and found.failures else 0


COMMAND = Command(
    probe,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    parts=parts,
    end=end,
    values=Values(
        _values,
        ("flow", "by"),
        names=_names,
        folder=lambda found, _: Path(found.series) if isinstance(found, Series) else None,
    ),
    former={
        "--hosts": "--on FILE",
        "--time": "--for TIME",
        "--to": "the host stands alone: probe HOST",
    },
)
