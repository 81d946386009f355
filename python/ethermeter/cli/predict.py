"""The command that predicts what a fitted network does."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter.api.predict import REPORT, SCENARIO, PredictOptions, predict
from ethermeter.cli.command import Command, Values

if TYPE_CHECKING:
    from ethermeter.calibration.answer import PredictionAnswer

EXAMPLES = """\
  ethermeter predict four-to-one.toml --network calibrated/network.toml
  ethermeter predict four-to-one.toml --network calibrated/network.toml \
--against runs/four-to-one-0123456789ab"""


def blocks(found: "PredictionAnswer", options: PredictOptions) -> Iterator[object]:
    """Yield what a terminal shows of a prediction."""
    from ethermeter.blocks import Text
    from ethermeter.present.calibration import prediction

    yield from prediction(found)
    yield Text(f"scenario with this network: {options.out / SCENARIO}")
    yield Text(f"report: {options.out / REPORT}")


def rows(found: "PredictionAnswer") -> Iterator[dict[str, object]]:
    """Yield a row for each comparison with what was measured, or for each predicted value."""
    from ethermeter.calibration.show import judged_of
    from ethermeter.cli.output import row

    yield from map(row, judged_of(found) or found.predicted)


def _values(found: "PredictionAnswer") -> Iterator[dict[str, object]]:
    """Yield each predicted value, and by how much it differs from a measured one."""
    from ethermeter.calibration.show import judged_of
    from ethermeter.cli.output import row

    yield from map(row, found.predicted)
    for each in judged_of(found):
        yield {"of": str(each.metric), "point": each.point, "relative_error": each.relative_error}


def _names(options: PredictOptions) -> list[str]:
    from ethermeter.metrics import EntityKind, metrics_of

    more = [] if options.against is None else ["relative_error"]
    return [*more, *map(str, metrics_of(EntityKind.FLOW))]


COMMAND = Command(
    predict,
    EXAMPLES,
    blocks=blocks,
    rows=rows,
    values=Values(_values, ("of", "point"), names=_names, folder=lambda _, options: options.out),
)
