"""Helpers shared by the tables of agent results."""

import math
from collections.abc import Sequence

from ethermeter.analysis.accounts import Account
from ethermeter.document import Row, Table, number, plain
from ethermeter.report.labels import key_title
from ethermeter.store.result import Result

OPEN_ROWS = 24
"""Rows of a table that are shown at once."""


class PointColumns:
    """Columns that distinguish points: the series if there are several, and every varied key."""

    def __init__(self, accounts: Sequence[Account]) -> None:
        """Find which there are."""
        self._several = len({each.series for each in accounts}) > 1
        self._keys = list(dict.fromkeys(key for each in accounts for key in each.point))

    def table(self, head: Row, rows: Sequence[Row], caption: str, *, headers: int = 1) -> Table:
        """Table whose rows begin with the cells of their point; `headers` of the others are too."""
        first = [*(["Series"] if self._several else []), *map(key_title, self._keys)]
        count = len(first) + headers
        kind = f"data names{min(count, 4)}"
        return Table([*first, *head], rows, caption, kind, count, OPEN_ROWS)

    def cells(self, account: Account) -> list[str]:
        """Cells of a point."""
        return [
            *([account.series] if self._several else []),
            *(plain(account.point.get(key, "")) for key in self._keys),
        ]

    def description(self, account: Account) -> str:
        """Which point, in words; empty where there is only one."""
        words = [f"{key_title(key)}: {plain(of)}" for key, of in account.point.items()]
        return ", ".join([*([account.series] if self._several else []), *words])

    def short(self, account: Account) -> str:
        """Name of a point by its values alone, for an axis; empty if there is only one."""
        return ", ".join(
            [*([account.series] if self._several else []), *map(plain, account.point.values())]
        )


def percent(share: float) -> str:
    """Share of one as per cent; a dash for none."""
    return f"{100 * share:.1f}%" if math.isfinite(share) else "–"


def value(of: float, factor: float = 1.0) -> str:
    """Write a number in the unit of the factor; a dash for none."""
    return number(of * factor)


def window_of(result: Result) -> tuple[float, float] | None:
    """Begin and end of the measured window of a test, in s since the transmission began."""
    phases = result.phases
    if not phases.measure_to_ns:
        return None
    return phases.measure_from_ns * 1e-9, phases.measure_to_ns * 1e-9
