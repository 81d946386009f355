"""Limits that two searches found, beside each other."""

from collections.abc import Iterator

from ethermeter.analysis.checks import Check
from ethermeter.analysis.comparison import Row
from ethermeter.blocks import Table, Text
from ethermeter.present.checks import checks
from ethermeter.quantities import Scale, number, with_ends


def comparison(
    row: Row, asked: tuple[str, str], check: Check | None, *, has_intervals: bool
) -> Iterator[Table | Text]:
    """Lay out both limits, their difference, and whether the second is worse.

    `asked`: the conditions of both. `has_intervals`: as of `analysis.limits.have_intervals`.
    """
    title = f"{row['metric']} {row['unit']}".rstrip()
    difference = with_ends(row["difference"], row["low"], row["high"], Scale(""))
    head = ["value", "first", "second", "difference", "verdict"]
    sign = "+" if (row["difference"] or 0) > 0 else ""
    cells = [title, number(row["a"]), number(row["b"]), sign + difference, row["verdict"]]
    yield Table(head, [cells], "Limits of both searches")
    if asked[0] != asked[1]:
        yield Text(f"They were asked differently: {asked[0]}; {asked[1]}.")
    if check is not None:
        if not has_intervals:
            yield Text("Without an interval of both, the values are compared by the share alone.")
        yield from checks([check])
