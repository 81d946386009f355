"""Definition: what a study is, as the `study.py` of its folder gives it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ethermeter.analysis.claims import FILE, LIVE_FILE, Claim, text_of
from ethermeter.document import Section
from ethermeter.presentation import Presentation
from ethermeter.results.query import Results
from ethermeter.store import RunDirectory
from ethermeter.studies.judging import (
    Entry,
    OpenQuestion,
    Rule,
    judged,
    left_open,
    published,
)
from ethermeter.trial import LIVE, SIMULATION

Sections = Callable[[Results, Sequence[Claim]], list[Section]]
"""Sections of a study's page, from the results of a run and its claims."""


@dataclass(frozen=True, slots=True)
class Study:
    """A published study: its experiments, how its claims are judged, and how it is shown.

    `package`: the folder of the study, as a package. `experiments`: its experiment files, without
    `.toml`, in the order in which they are run. `rules`: by which its claims are judged, by name;
    `least`: replications from which a point of a run counts. `presentation`: of
    the page of such a run. `sections`: builds the study's own sections of the page of a run; None
    if it has none. `quick`: what a quick run sets in the experiments: about a tenth of the study's
    time. `quick_replications`: replications of a quick run. `measured`: judges a run of its live
    tests; None if these have no published numbers to compare. `measured_section`: builds the
    section that compares such a run with the published numbers. `subset`: what is set in
    live tests, by file without `.toml`, unless all of their points are asked for (`full`).
    `has_positions`: whether estimates of stations by position are kept with a run.
    """

    package: str
    experiments: tuple[str, ...]
    rules: Mapping[str, Rule]
    presentation: Presentation
    sections: Sections | None = None
    quick: tuple[str, ...] = ()
    quick_replications: int = 1
    measured: Callable[[Results], tuple[Claim, ...]] | None = None
    measured_section: Callable[[Sequence[Claim]], Section] | None = None
    subset: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_positions: bool = False
    least: int = 1

    @property
    def name(self) -> str:
        """Name of the study: that of its folder, with hyphens."""
        return self.package.rpartition(".")[2].replace("_", "-")

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of its experiments among the shipped ones."""
        return tuple(f"{self.name}/{file}" for file in self.experiments)

    def published(self) -> list[Entry]:
        """Return what was published, claim by claim, in the order of `published.toml`."""
        return published(self.package)

    def left_open(self) -> list[OpenQuestion]:
        """Return what the text leaves open, and what follows now."""
        return left_open(self.package)

    def claims(self, results: Results) -> tuple[Claim, ...]:
        """Judge every claim, in the order of `published.toml`, by what was simulated."""
        return judged(self.published(), self.rules, results.by(SIMULATION, least=self.least))

    def write_claims(self, run_dir: Path) -> Path:
        """Judge a run and write its `claims.json`; the path of the file."""
        claims = self.claims(Results.of_run(run_dir))
        return RunDirectory(run_dir).keep(FILE, text_of(self.name, claims))

    def write_measured(self, run_dir: Path) -> Path:
        """Judge a run of the live tests and write its `live-claims.json`; the path of the file."""
        if self.measured is None:
            raise ValueError(f"{self.name} has no published numbers to compare live tests with")
        claims = self.measured(Results.of_run(run_dir).by(LIVE))
        return RunDirectory(run_dir).keep(LIVE_FILE, text_of(self.name, claims))
