"""Entries of a study that no file holds."""

from ethermeter.studies.judging import Entry


def entry_with(*, series: str = "", flow: str = "", **keys: object) -> Entry:
    return Entry(
        id="made-up",
        what="",
        where="",
        unit="",
        basis="predicted",
        series=series,
        flow=flow,
        keys=keys,
    )
