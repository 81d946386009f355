"""An experiment: a file that was read and found sound."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ethermeter.experiment.sweep import Sweep


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment file, as read.

    Parameters
    ----------
    path
        The file.
    title
        What it is, in one line.
    notes
        Anything a reader should know.
    seed
        Where all chance comes from.
    series
        Name of the series in figures.
    engines
        Engines that answer.
    models
        Models that the engines "theory" and "idealised" use; None for all that apply.
    replications
        Trials of each point.
    batches
        Equal parts of the measured window.
    sources
        Where a parameter comes from: dotted key to "kind: text".
    sweeps
        What is varied.
    source_text
        The file's text after overrides; TOML.
    document
        The same as tables; not to be changed.

    """

    path: Path
    title: str
    notes: str
    seed: int
    series: str
    engines: tuple[str, ...]
    models: tuple[str, ...] | None
    replications: int
    batches: int
    sources: Mapping[str, str]
    sweeps: tuple[Sweep, ...]
    source_text: str = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)

    @property
    def points(self) -> int:
        """How many combinations of the varied values there are."""
        count = 1
        for sweep in self.sweeps:
            count *= len(sweep.values)
        return count

    @property
    def trials(self) -> int:
        """How many trials it makes: points, engines and replications.

        Exact where only the simulation answers. Which theories apply shows point by point in the
        plan; here each other engine counts as one trial a point.
        """
        return sum(
            self.points * (self.replications if engine in ("simulation", "live") else 1)
            for engine in self.engines
        )
