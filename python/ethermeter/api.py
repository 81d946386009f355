"""The Python interface: load an experiment, run it, read its results."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethermeter.engines.work import TrialError
from ethermeter.faults import Fault, InputError, choices
from ethermeter.figure import Figure
from ethermeter.metrics import Metric
from ethermeter.notebook import counted, html_table
from ethermeter.report.style import style_of
from ethermeter.results.query import Results
from ethermeter.run import RunOptions, default_directory, evaluate, execute, finished_run
from ethermeter.store import RunDirectory, RunError
from ethermeter.trial import LIVE

if TYPE_CHECKING:
    from ethermeter.analysis.agreement import Agreement
    from ethermeter.analysis.bounds import Answers
    from ethermeter.analysis.claims import Claim
    from ethermeter.experiment import Experiment
    from ethermeter.plan import Plan
    from ethermeter.store.trial_result import TrialResult
    from ethermeter.trial import Trial


__all__ = [
    "Figure",
    "InputError",
    "Loaded",
    "Run",
    "RunError",
    "TrialError",
    "load",
    "locate",
    "open",
    "simulate",
]


@dataclass(frozen=True, slots=True, repr=False)
class Loaded:
    """Experiments that were read and can be run; several are run as one plan."""

    experiments: "tuple[Experiment, ...]"
    name: str | None = None
    """Name of the plan, or None for the name of the first experiment."""

    def __repr__(self) -> str:
        name = self.name or self.experiments[0].path.stem
        points = counted(sum(each.points for each in self.experiments), "point")
        trials = counted(sum(each.trials for each in self.experiments), "trial")
        return f"Loaded({name!r}: {points}, {trials})"

    def _repr_html_(self) -> str:
        """Return title, points and varied keys of the experiments as a table, for notebooks."""
        rows = [
            (
                each.title,
                each.points,
                each.trials,
                ", ".join(each.engines),
                "; ".join(f"{of.key}: {', '.join(of.texts[:8])}" for of in each.sweeps),
            )
            for each in self.experiments
        ]
        return html_table(repr(self), ("title", "points", "trials", "engines", "varied"), rows)

    def plan(self, *, seed: int | None = None, replications: int | None = None) -> "Plan":
        """Expand into trials; equal arguments give equal trials.

        The experiments' own seed, and number of trials of every point, hold if none is given.
        """
        from ethermeter import plan

        return plan.expand(self.experiments, name=self.name, seed=seed, replications=replications)

    def run(
        self,
        *,
        jobs: int | None = None,
        out: Path | str | None = None,
        seed: int | None = None,
        replications: int | None = None,
        resume: bool = True,
        force: bool = False,
        cluster: str | None = None,
        report: bool = False,
    ) -> "Run":
        """Run every trial that has no result yet. A finished run of the same plan is not run again.

        Parameters
        ----------
        jobs
            Threads; None for one a processor. It does not change the result.
        out
            The run directory; None for `runs/<name>-<plan hash>`.
        seed, replications
            As for `plan`.
        resume
            Continue an unfinished run that is in the directory.
        force
            Discard what is in the directory; `resume` is then without meaning.
        cluster
            Address of a Dask scheduler whose workers shall run the trials.
        report
            Whether to write `report.html` too.

        Raises
        ------
        InputError
            If the directory holds something else.
        RunError, TrialError
            If results cannot be written, or a trial broke off.

        Examples
        --------
        >>> import ethermeter as em
        >>> run = em.load("poisson-load").run(jobs=2)  # doctest: +SKIP

        """
        planned = self.plan(seed=seed, replications=replications)
        directory = Path(out) if out is not None else default_directory(planned)
        found = None if force else finished_run(directory, planned)
        if found is None:
            options = RunOptions(
                jobs=jobs,
                cluster=cluster,
                resume=resume and not force,
                force=force,
                command=("python", *sys.argv),
                seed=seed,
            )
            found = execute(planned, self.experiments, directory=directory, options=options)
        evaluate(found.path, report=report, anew=False)
        return Run.of_run(found.path)


class Run(Results):
    """A finished run: its results, in its directory or, of `simulate`, in memory."""

    def __repr__(self) -> str:
        where = repr(str(self.path)) if self.is_kept else "in memory"
        return f"Run({where}: {counted(len(self.trials()), 'trial')})"

    def _repr_html_(self) -> str:
        """Return what the run holds as a table, for notebooks."""
        points = self.estimated
        known = dict.fromkeys(metric for point in points for metric in point.estimates)
        report = self.path / "report.html" if self.is_kept else None
        has_report = report is not None and report.exists()
        rows = [
            ("series", ", ".join(dict.fromkeys(point.series for point in points))),
            ("engines", ", ".join(dict.fromkeys(point.engine for point in points))),
            ("points", len(points)),
            ("metrics", ", ".join(known)),
            ("report", report if has_report else "none; ethermeter report writes it"),
        ]
        return html_table(repr(self), ("property", "value"), rows)

    @property
    def path(self) -> Path:
        """The run directory; RunError of a run in memory."""
        if not self.is_kept:
            raise RunError("a run in memory has no directory; run the experiment for that")
        return self.directory.path

    def bounds(self) -> "Answers":
        """Return what theory says of networks, beside what was simulated and measured."""
        from ethermeter.analysis import bounds

        return bounds.read(self)

    def agreement(self) -> "tuple[Agreement, ...]":
        """Return every theory compared with the simulations, point by point."""
        from ethermeter.analysis import agreement

        return agreement.read(self)

    def claims(self) -> "tuple[Claim, ...]":
        """Return the published claims that the run was compared with; empty if there are none."""
        from ethermeter.analysis import claims

        evaluate(self.path, report=False, anew=False)
        found = [claims.read(self.path, file) for file in (claims.FILE, claims.LIVE_FILE)]
        return tuple(claim for each in found if each is not None for claim in each[1])

    def plot(
        self,
        metric: Metric | str,
        *,
        series: str | None = None,
        style: str = "screen",
        **values: object,
    ) -> "Figure":
        """Figure of one metric over what the experiment varies.

        The figure shows itself in a notebook and can be saved as PDF (with its fonts), SVG or PNG.

        Parameters
        ----------
        metric
            Its name.
        series
            One series; None for all, side by side.
        style
            "screen", or "one-column" or "two-column" of a paper.
        **values
            Changes of the style: `width`, `height`, `columns`, `font`, `font_size`, `log_x`,
            `log_y`, `theme` ("light" or "dark"), `title` (`ethermeter.report.style.Style`).

        Raises
        ------
        InputError
            If there is no such metric, style or value of one.

        Examples
        --------
        >>> run.plot("access_delay", style="one-column", log_y=True).save("f.pdf")  # doctest: +SKIP

        """
        evaluate(self.path, report=False, anew=False)
        drawn = style_of(style).changed(**values)
        return Figure(self.path, str(self.known(metric)), series, drawn)

    def chart(self, metric: Metric | str, *, series: str | None = None) -> Any:
        """Return the figure of `plot` as an Altair chart, to be changed.

        Needs Altair: `pip install 'ethermeter[notebook]'`.

        Raises
        ------
        InputError
            As of `plot`, and if Altair is not installed.

        """
        try:
            import altair
        except ImportError as error:
            allowed = "installed: pip install 'ethermeter[notebook]'"
            raise InputError.of("chart", "altair", "missing", allowed) from error
        return altair.Chart.from_dict(self.plot(metric, series=series).vega_lite(), validate=False)


def locate(name: Path | str) -> Path:
    """Return the path of an experiment: a file, or the name of a shipped one.

    A path that looks like a file is returned even if there is none, for `load` to refuse. A
    directory does not hide a shipped experiment of its name.

    Raises
    ------
    InputError
        If it is neither a file nor the name of a shipped experiment.

    """
    path = Path(name)
    if path.is_file() or path.suffix == ".toml":
        return path
    from ethermeter import experiment

    shipped = experiment.shipped()
    if str(name) in shipped:
        return shipped[str(name)]
    if path.exists():
        return path
    allowed = f"a file, or a shipped experiment: {choices(name, shipped)}"
    raise InputError.of_argument("experiment", str(name), allowed)


def load(
    *sources: Path | str | Mapping[str, object],
    overrides: Sequence[str] = (),
    name: str | None = None,
) -> Loaded:
    """Read experiments.

    Parameters
    ----------
    *sources
        Each a file, the name of a shipped experiment, the text of a file (with more than one line),
        or its tables as a mapping; several make one plan.
    overrides
        `"key.path=value"`, laid over every experiment before it is checked.
    name
        Name of the plan; None for the name of the first experiment.

    Raises
    ------
    InputError
        With every fault of every experiment.

    Examples
    --------
    >>> import ethermeter as em
    >>> em.load("poisson-load", overrides=["run.replications=3"])
    Loaded('poisson-load': 120 points, 360 trials)
    >>> hub = {
    ...     "title": "Ten hosts on a hub",
    ...     "segment": {"standard": "ieee-10", "length": "100 m"},
    ...     "stations": [{"count": 10, "frames": "1518 B", "arrivals": "saturated"}],
    ... }
    >>> em.load(hub)
    Loaded('experiment': 1 point, 1 trial)

    """
    if not sources:
        raise TypeError("load needs at least one experiment")
    loaded: list[Experiment] = []
    faults: list[Fault] = []
    for each in sources:
        try:
            loaded.append(_read(each, overrides))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(faults)
    return Loaded(tuple(loaded), name)


def _read(source: Path | str | Mapping[str, object], overrides: Sequence[str]) -> "Experiment":
    from ethermeter import experiment

    if isinstance(source, Mapping):
        return experiment.of_tables(source, overrides=overrides)
    if isinstance(source, str) and "\n" in source:
        return experiment.of_text(source, overrides=overrides)
    return experiment.load(locate(source), overrides=overrides)


def simulate(
    source: "Loaded | Path | str | Mapping[str, object]",
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
) -> Run:
    """Simulate an experiment in memory, by all of its engines but live measurement.

    Parameters
    ----------
    source
        An experiment, as `load` takes it, or what `load` returned.
    overrides
        As of `load`.
    seed, replications
        As of `Loaded.plan`.
    jobs
        Threads; None for one a processor.

    Raises
    ------
    InputError
        With every fault of the experiment, or if it has nothing to compute.
    TrialError
        If a trial broke off.

    Examples
    --------
    >>> import ethermeter as em
    >>> hub = em.segment(
    ...     "ieee-10",
    ...     title="Ten hosts on a hub",
    ...     length="100 m",
    ...     stations=em.stations(count=10, frames="1518 B", arrivals="saturated"),
    ...     phases={"transmit": "1 s", "measure": "last 0.9 s"},
    ... )
    >>> em.simulate(hub).value("utilisation") > 0.9
    True

    """
    loaded = source if isinstance(source, Loaded) else load(source, overrides=overrides)
    planned = loaded.plan(seed=seed, replications=replications).trials
    trials = [trial for trial in planned if trial.engine != LIVE]
    if not trials:
        allowed = "an engine besides live; measure measures"
        raise InputError.of(str(loaded.experiments[0].path), "run.engines", LIVE, allowed)
    return simulated(trials, jobs=jobs)


def simulated(trials: "Sequence[Trial]", *, jobs: int | None = None) -> Run:
    """Run trials in memory, on as many threads as there are processors unless `jobs` says how many.

    Raises
    ------
    TrialError
        If a trial broke off.

    """
    from ethermeter.engines import local, work
    from ethermeter.results.slices import InMemory

    todo = [work.Work(at, trial.id, trial.line, trial.traces) for at, trial in enumerate(trials)]
    found: dict[str, TrialResult] = {}
    with closing(local.run(todo, jobs=jobs or local.processors())) as done:
        for each in done:
            if isinstance(each, work.Finished):
                found[trials[each.place].id] = each.result
    return Run.of(trials, InMemory(found))


def open(path: Path | str) -> Run:
    """Open a finished run by its directory.

    Raises
    ------
    InputError
        If there is no run, or an unfinished one.

    """
    directory = RunDirectory(Path(path))
    if not directory.is_finished():
        raise InputError.of(
            str(path),
            "run",
            "unfinished, by its provenance.json",
            "a finished run; continue it with --resume",
        )
    return Run.of_run(directory.path)
