"""Calibration: what data say of the unknowns of a network, and what it then predicts."""

from collections.abc import Sequence

from ethermeter.blocks import Table, Text
from ethermeter.calibration.answer import FitAnswer, PredictionAnswer
from ethermeter.calibration.judge import MAIN
from ethermeter.calibration.show import (
    JUDGED_HEAD,
    PREDICTED_HEAD,
    judged_of,
    judged_rows,
    predicted_rows,
    sum_rows,
    unknown_rows,
)


def calibration(found: FitAnswer) -> list[Text | Table]:
    """Lay out the unknowns, the sums of them that are determined, and doubts."""
    of_value = ["value", "from", "to", "unit"]
    blocks: list[Text | Table] = [
        Table(["unknown", *of_value, "determined"], unknown_rows(found), "Unknowns")
    ]
    if found.combinations:
        sums = Table(["sum", *of_value], sum_rows(found), "Sums that are determined")
        blocks += [Text(""), sums]
    return [*blocks, *map(Text, found.doubts)]


def prediction(found: PredictionAnswer) -> list[Text | Table]:
    """Lay out a prediction: beside what was measured, or its main values if nothing was."""
    if judged_of(found):
        table = Table(_lower(JUDGED_HEAD), judged_rows(found), "Against what was measured")
    else:
        main = [row for row in found.predicted if row.metric in MAIN]
        table = Table(_lower(PREDICTED_HEAD), predicted_rows(main), "Predictions")
    intervals = (
        f"intervals: 95% of {found.draws} simulations with parameters drawn as the data allow; "
        "each has a seed of its own, other than the file's"
    )
    return [table, Text(intervals), *map(Text, found.doubts)]


def _lower(head: Sequence[str]) -> list[str]:
    return [name.lower() for name in head]
