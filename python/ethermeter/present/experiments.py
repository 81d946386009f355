"""Experiment files: those that are shipped, those that are valid, and copies."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from ethermeter.blocks import Table, Text
from ethermeter.faults import counted

FIRST = (
    *("office", "schools-hub", "hub-and-switch", "buffer-sizing", "voice-network"),
    *("10base-t1s/sensor-bus", "industrial-ring", "poisson-load", "benchmark/switch", "wire-live"),
)
"""Experiments to begin with."""


def shipped(titles: Mapping[str, str], *, chosen: bool) -> Iterator[Table | Text]:
    """Tabulate experiments with their titles: those that a word chose, or ten to begin with."""
    shown = titles if chosen else {name: titles[name] for name in FIRST}
    yield Table(["experiment", "what it is"], list(shown.items()), "Shipped experiments")
    if not chosen:
        families = Counter(name.partition("/")[0] for name in titles if "/" in name)
        named = ", ".join(f"{name} ({count})" for name, count in families.items())
        yield Text(
            f"{len(titles) - len(shown)} more: ethermeter experiments all, or with a word, such as "
            f"{named}"
        )


def valid(trials: Mapping[str, int]) -> Iterator[Text]:
    """Say of each valid file how many trials it has."""
    return (Text(f"{file}: valid, {counted(count, 'trial')}") for file, count in trials.items())


def copied(name: str, file: Path) -> Iterator[Text]:
    """Say where an experiment was copied to, and how the copy is run."""
    yield Text(f"{file}: a copy of {name}; run it with: ethermeter run {file}")
