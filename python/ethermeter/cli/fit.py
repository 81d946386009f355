"""The command that fits a network to measurements."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter.api.fit import NETWORK, REPORT, FitOptions, fit
from ethermeter.cli.command import Command

if TYPE_CHECKING:
    from ethermeter.calibration.answer import FitAnswer

EXAMPLES = """\
  ethermeter fit runs/ping-0123456789ab --experiment two-pcs.toml
  ethermeter fit latency.csv runs/streaming-0123456789ab --experiment two-pcs.toml --out calibrated
  ethermeter fit latency.csv --experiment two-pcs.toml --json"""


def blocks(found: "FitAnswer", options: FitOptions) -> Iterator[object]:
    """Yield what a terminal shows of a fit."""
    from ethermeter.blocks import Text
    from ethermeter.present.calibration import calibration

    yield from calibration(found)
    yield Text(f"network: {options.out / NETWORK}")
    yield Text(f"report: {options.out / REPORT}")


def rows(found: "FitAnswer") -> Iterator[dict[str, object]]:
    """Yield a row for each parameter that was looked for."""
    from ethermeter.cli.output import row

    return map(row, found.unknowns)


COMMAND = Command(fit, EXAMPLES, blocks=blocks, rows=rows, former={"--model": "--experiment FILE"})
