"""The Python interface: load an experiment, run it, read its results."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from ethermeter import frames
from ethermeter.engines.work import TrialError
from ethermeter.faults import Fault, InputError, choices
from ethermeter.figure import Figure
from ethermeter.frames import Library
from ethermeter.metrics import Metric
from ethermeter.notebook import counted, html_table
from ethermeter.report.style import style_of
from ethermeter.results.frame import observations
from ethermeter.results.values import metrics_in
from ethermeter.run import RunOptions, default_directory, evaluate, execute, finished_run
from ethermeter.store import RunDirectory, RunError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ethermeter.analysis.claims import Claim
    from ethermeter.analysis.estimates import Point
    from ethermeter.experiment import Experiment
    from ethermeter.plan import Plan
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
        return Run(found)


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """A finished run, in its directory."""

    directory: RunDirectory

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}: {counted(len(self.trials()), 'trial')})"

    def _repr_html_(self) -> str:
        """Return what the run holds as a table, for notebooks."""
        points = self.points()
        known = dict.fromkeys(metric for point in points for metric in point.estimates)
        report = self.path / "report.html"
        rows = [
            ("series", ", ".join(dict.fromkeys(point.series for point in points))),
            ("engines", ", ".join(dict.fromkeys(point.engine for point in points))),
            ("points", len(points)),
            ("metrics", ", ".join(known)),
            ("report", report if report.exists() else "none; ethermeter report writes it"),
        ]
        return html_table(repr(self), ("property", "value"), rows)

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.directory.path

    def trials(self) -> "tuple[Trial, ...]":
        """Trials of the run, in the order of its plan."""
        return self.directory.trials()

    @overload
    def observations(
        self,
        *,
        metric: Metric | str | None = ...,
        whole: bool = ...,
        library: Literal["pandas"] = ...,
    ) -> "pd.DataFrame": ...
    @overload
    def observations(
        self,
        *,
        metric: Metric | str | None = ...,
        whole: bool = ...,
        library: Literal["polars"],
    ) -> "pl.DataFrame": ...
    @overload
    def observations(
        self,
        *,
        metric: Metric | str | None = ...,
        whole: bool = ...,
        library: Literal["arrow"],
    ) -> "pa.Table": ...
    def observations(
        self,
        *,
        metric: Metric | str | None = None,
        whole: bool = False,
        library: Library = "pandas",
    ) -> "frames.Frame":
        """Return the observations of every trial as a data frame.

        Parameters
        ----------
        metric
            Only this one; None for all.
        whole
            Leave out the rows of single stations and flows.
        library
            "pandas" (`pip install 'ethermeter[pandas]'`), "polars" or "arrow".

        Returns
        -------
        :
            One row an observation: series, engine, what the experiment varies (a column each, as
            numbers in SI units and octets where all values are quantities), replication, trial,
            station (-1 for the whole segment or network), metric, value (in the metric's unit),
            caution. `attrs["units"]` of a pandas frame has the units of the varied keys.

        Raises
        ------
        InputError
            If the run has no such metric, or there is no such library.

        Examples
        --------
        >>> run = em.open("runs/poisson-load-0123456789ab")  # doctest: +SKIP
        >>> run.observations(metric="utilisation", whole=True)  # doctest: +SKIP

        """
        self.directory.refuse_unfinished()
        trials = self.trials()
        wanted = None if metric is None else [_metric(metric)]
        self._refuse_others(wanted or (), (of for trial in trials for of in metrics_in(trial)))
        table = observations(self.directory, trials, wanted, whole=whole)
        return frames.converted(frames.of_trials(self.directory, table), library)

    def _refuse_others(self, wanted: Iterable[Metric], there: Iterable[Metric]) -> None:
        """Raise InputError for a metric that no trial of the run has."""
        known = dict.fromkeys(there)
        for metric in wanted:
            if metric not in known:
                raise InputError.of(str(self.path), "metric", metric, choices(metric, known))

    @overload
    def estimates(
        self,
        *metrics: Metric | str,
        series: str | None = ...,
        library: Literal["pandas"] = ...,
    ) -> "pd.DataFrame": ...
    @overload
    def estimates(
        self,
        *metrics: Metric | str,
        series: str | None = ...,
        library: Literal["polars"],
    ) -> "pl.DataFrame": ...
    @overload
    def estimates(
        self,
        *metrics: Metric | str,
        series: str | None = ...,
        library: Literal["arrow"],
    ) -> "pa.Table": ...
    def estimates(
        self, *metrics: Metric | str, series: str | None = None, library: Library = "pandas"
    ) -> "frames.Frame":
        """Return the estimate of every metric at every point, with its 95% interval.

        Parameters
        ----------
        *metrics
            Only these; all if none is given.
        series
            Only this one; None for all.
        library
            As of `observations`.

        Returns
        -------
        :
            One row an estimate: series, engine, what the experiment varies, replications, metric,
            value, low and high (missing where there is no interval), unit, cautions.

        Raises
        ------
        InputError
            If the run has no such metric or series, or there is no such library.

        Examples
        --------
        >>> run.estimates("utilisation", "collisions_per_frame")  # doctest: +SKIP

        """
        points = self.points()
        if series is not None:
            known = list(dict.fromkeys(point.series for point in points))
            if series not in known:
                raise InputError.of(str(self.path), "series", series, choices(series, known))
            points = tuple(point for point in points if point.series == series)
        wanted = [_metric(metric) for metric in metrics] or None
        self._refuse_others(wanted or (), (of for point in points for of in point.estimates))
        return frames.converted(frames.of_estimates(points, wanted), library)

    def points(self) -> "tuple[Point, ...]":
        """Return the points of the run, each with its estimates by metric."""
        from ethermeter.analysis import estimates

        evaluate(self.path, report=False, anew=False)
        return estimates.read(self.path)

    @overload
    def histograms(self, *, library: Literal["pandas"] = ...) -> "pd.DataFrame": ...
    @overload
    def histograms(self, *, library: Literal["polars"]) -> "pl.DataFrame": ...
    @overload
    def histograms(self, *, library: Literal["arrow"]) -> "pa.Table": ...
    def histograms(self, *, library: Library = "pandas") -> "frames.Frame":
        """Return the histograms of delay: a row a bucket, from `low_ps` to below `high_ps`.

        Columns and `library` as of `observations`; `count` in place of the value.

        Raises
        ------
        InputError
            If the run has none, as one of theories has.

        """
        table = self.directory.histograms()
        if table is None:
            raise InputError.of(str(self.path), "histograms", "none", "a run of an engine")
        return frames.converted(frames.of_trials(self.directory, table), library)

    @overload
    def ports(self, *, library: Literal["pandas"] = ...) -> "pd.DataFrame": ...
    @overload
    def ports(self, *, library: Literal["polars"]) -> "pl.DataFrame": ...
    @overload
    def ports(self, *, library: Literal["arrow"]) -> "pa.Table": ...
    def ports(self, *, library: Library = "pandas") -> "frames.Frame":
        """Return what was counted at the ports of networks; a row a port. `library` as above.

        Raises
        ------
        InputError
            If the run has no network.

        """
        table = self.directory.ports()
        if table is None:
            raise InputError.of(str(self.path), "ports", "none", "a run of a network")
        return frames.converted(frames.of_trials(self.directory, table), library)

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
        return Figure(self.path, str(_metric(metric)), series, drawn)

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

    A path that looks like a file is returned even if there is none, for `load` to refuse.

    Raises
    ------
    InputError
        If it is neither a file nor the name of a shipped experiment.

    """
    path = Path(name)
    if path.exists() or path.suffix == ".toml":
        return path
    from ethermeter import experiment

    shipped = experiment.shipped()
    if str(name) not in shipped:
        allowed = f"a file, or a shipped experiment: {choices(name, shipped)}"
        raise InputError.of("command line", "experiment", str(name), allowed)
    return shipped[str(name)]


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
    return Run(directory)


def _metric(name: Metric | str) -> Metric:
    try:
        return Metric(name)
    except ValueError:
        raise InputError.of("command line", "metric", str(name), choices(name, Metric)) from None
