"""Experiment files: those that are shipped, those that are valid, and copies."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ethermeter.blocks import Table, Text


def shipped(titles: Mapping[str, str]) -> Iterator[Table]:
    """Tabulate experiments, by name, with their titles."""
    yield Table(["experiment", "what it is"], list(titles.items()), "Shipped experiments")


def valid(trials: Mapping[str, int]) -> Iterator[Text]:
    """Say of each valid file how many trials it has."""
    return (Text(f"{file}: valid, {count} trials") for file, count in trials.items())


def copied(name: str, file: Path) -> Iterator[Text]:
    """Say where an experiment was copied to, and how the copy is run."""
    yield Text(f"{file}: a copy of {name}; run it with: ethermeter run {file}")
