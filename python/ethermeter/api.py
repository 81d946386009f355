"""The Python interface: load an experiment, run it, read its results."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter.engines.work import TrialError
from ethermeter.faults import Fault, InputError
from ethermeter.figure import Figure
from ethermeter.metrics import Metric
from ethermeter.run import RunOptions, default_directory, evaluate, execute, finished_run
from ethermeter.store import RunDirectory, RunError

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True, slots=True)
class Loaded:
    """Experiments that were read and can be run; several are run as one plan."""

    experiments: "tuple[Experiment, ...]"
    name: str | None = None
    """Name of the plan, or None for the name of the first experiment."""

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


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run, in its directory."""

    directory: RunDirectory

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.directory.path

    def trials(self) -> "tuple[Trial, ...]":
        """Trials of the run, in the order of its plan."""
        return self.directory.trials()

    def to_pandas(
        self, *, metric: Metric | str | None = None, whole_segment: bool = False
    ) -> "pd.DataFrame":
        """Observations as a data frame. Needs pandas: `pip install 'ethermeter[pandas]'`.

        Parameters
        ----------
        metric
            Only this one; None for all.
        whole_segment
            Leave out the rows of single stations.

        Returns
        -------
        :
            One row an observation: series, what the experiment varies (one column each; numbers
            where all values are numbers), replication, trial, station (-1 for the whole segment),
            metric, value (in the metric's unit), caution.

        Raises
        ------
        InputError
            If there is no such metric.

        Examples
        --------
        >>> run = em.open("runs/poisson-load-0123456789ab")  # doctest: +SKIP
        >>> run.to_pandas(metric="utilisation", whole_segment=True)  # doctest: +SKIP

        """
        import pyarrow.compute as pc

        wanted = None if metric is None else _metric(metric)
        table = self.directory.observations()
        if wanted is not None:
            table = table.filter(pc.equal(table["metric"], str(wanted)))
        if whole_segment:
            table = table.filter(pc.equal(table["station"], -1))
        frame: pd.DataFrame = table.to_pandas()
        trials = {trial.id: trial for trial in self.trials()}
        columns: dict[str, dict[str, object]] = {
            "series": {name: trial.series for name, trial in trials.items()}
        }
        for key in dict.fromkeys(key for trial in trials.values() for key in trial.point):
            columns[key] = _numbers({name: trial.point.get(key) for name, trial in trials.items()})
        columns["replication"] = {name: trial.replication for name, trial in trials.items()}
        for place, (key, values) in enumerate(columns.items()):
            frame.insert(place, key, frame["trial"].map(values).astype(object).infer_objects())
        return frame

    def estimates(self) -> dict[str, object]:
        """Estimate of every metric at every point, with its interval.

        They are those of `estimates.json`: `metrics` and `points`; a point has `series`, `point`,
        `replications` and `estimates`.
        """
        import json

        evaluate(self.path, report=False, anew=False)
        found: dict[str, object] = json.loads(
            (self.path / "estimates.json").read_text(encoding="utf-8")
        )
        return found

    def plot(self, metric: Metric | str, *, series: str | None = None) -> "Figure":
        """Figure of one metric over what the experiment varies.

        The figure shows itself in a notebook and can be saved. It has all series side by side, or
        one.

        Raises
        ------
        InputError
            If there is no such metric.

        Examples
        --------
        >>> run.plot("utilisation").save("utilisation.svg")  # doctest: +SKIP

        """
        evaluate(self.path, report=False, anew=False)
        return Figure(self.path, str(_metric(metric)), series)


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
        allowed = f"a file, or a shipped experiment: {', '.join(shipped)}"
        raise InputError.of("command line", "experiment", str(name), allowed)
    return shipped[str(name)]


def load(*names: Path | str, overrides: Sequence[str] = (), name: str | None = None) -> Loaded:
    """Read experiments.

    Parameters
    ----------
    *names
        Files, or names of shipped experiments; several make one plan.
    overrides
        `"key.path=value"`, laid over every experiment before it is checked.
    name
        Name of the plan; None for the name of the first experiment.

    Raises
    ------
    InputError
        With every fault of every file.

    Examples
    --------
    >>> import ethermeter as em
    >>> em.load("poisson-load", overrides=["run.replications=3"]).run()  # doctest: +SKIP

    """
    from ethermeter import experiment

    if not names:
        raise TypeError("load needs at least one experiment")
    loaded: list[Experiment] = []
    faults: list[Fault] = []
    for each in names:
        try:
            loaded.append(experiment.load(locate(each), overrides=overrides))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(faults)
    return Loaded(tuple(loaded), name)


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
        raise InputError.of(
            "command line", "metric", str(name), f"one of {', '.join(Metric)}"
        ) from None


def _numbers(values: dict[str, str | None]) -> dict[str, object]:
    """Numbers if every text is one, so that the column can be sorted and drawn; else the texts."""
    for kind in (int, float):
        try:
            return {name: None if text is None else kind(text) for name, text in values.items()}
        except ValueError:
            continue
    return dict(values)
