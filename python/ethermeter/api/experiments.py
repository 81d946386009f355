"""Experiments that were read, and can be run."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter.execution import Execution
from ethermeter.faults import Fault, InputError, choices, counted, nearest
from ethermeter.notebook import html_table
from ethermeter.trial import LIVE

if TYPE_CHECKING:
    from ethermeter.api.arguments import Read
    from ethermeter.api.runs import Run
    from ethermeter.experiment import Experiment
    from ethermeter.plan import Plan
    from ethermeter.store.trial_result import TrialResult
    from ethermeter.trial import Trial

    Source = Path | str | Mapping[str, object] | Read

Overrides = Sequence[str] | Mapping[str, object]
"""Texts KEY=VALUE, or values by key."""


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
        jobs: int | str | None = None,
        out: Path | str | None = None,
        seed: int | None = None,
        replications: int | None = None,
        force: bool = False,
        report: bool = False,
    ) -> "Run":
        """Run every trial that has no result yet. A finished run of the same plan is not run again.

        Parameters
        ----------
        jobs
            Number of threads, one for each processor unless given; or the address of a Dask
            scheduler whose workers shall run the trials. It does not change the result.
        out
            The run directory; `runs/<name>-<plan hash>` unless given. An unfinished run of the same
            plan in it is continued.
        seed, replications
            As for `plan`.
        force
            Discard what is in the directory.
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
        from ethermeter.api.runs import executed
        from ethermeter.operation import Silence

        display = Silence()
        return executed(
            self,
            Execution(jobs=jobs, force=force, command=display.command, seed=seed),
            replications=replications,
            out=None if out is None else Path(out),
            report=report,
            display=display,
        )


def locate(name: Path | str, *, argument: str = "experiment") -> Path:
    """Return the path of an experiment: a file, or the name of a shipped one.

    A path that looks like a file is returned even if there is none, for `load` to refuse. A
    directory does not hide a shipped experiment of its name.

    Raises
    ------
    InputError
        With the argument that names it, if it is neither a file nor the name of a shipped
        experiment.

    """
    path = Path(name)
    if path.is_file():
        return path
    if path.suffix or path.parent != Path():
        beside = [each.name for each in path.parent.glob("*.toml")]
        if near := nearest(path.name, beside):
            allowed = f"no such file; did you mean {path.with_name(near[0])}?"
            raise InputError.of_argument(argument, str(name), allowed)
        if path.suffix:
            return path
    from ethermeter import experiment

    shipped = experiment.shipped()
    if str(name) in shipped:
        return shipped[str(name)]
    if path.exists():
        return path
    allowed = f"a file, or a shipped experiment: {choices(name, shipped)}"
    raise InputError.of_argument(argument, str(name), allowed)


def load(
    *sources: "Source",
    overrides: Overrides = (),
    name: str | None = None,
) -> Loaded:
    """Read experiments.

    Parameters
    ----------
    *sources
        Each a file, the name of a shipped experiment, the text of a file (with more than one line),
        its tables as a mapping, or what `load` returned; several make one plan.
    overrides
        `"key.path=value"`, or values by key, laid over every experiment before it is checked.
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
    overrides = override_texts(overrides)
    loaded: list[Experiment] = []
    faults: list[Fault] = []
    for each in sources:
        try:
            loaded.extend(_read(each, overrides))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(faults)
    if name is None and len(sources) == 1 and not isinstance(sources[0], str | Path | Mapping):
        name = sources[0].name
    return Loaded(tuple(loaded), name)


def override_texts(overrides: Overrides) -> tuple[str, ...]:
    """Return what is laid over an experiment as texts KEY=VALUE."""
    from ethermeter.experiment.toml import inline

    if isinstance(overrides, Mapping):
        return tuple(f"{key}={inline(value)}" for key, value in overrides.items())
    return tuple(overrides)


def _read(source: "Source", overrides: Sequence[str]) -> "tuple[Experiment, ...]":
    from ethermeter import experiment

    if isinstance(source, Mapping):
        return (experiment.of_tables(source, overrides=overrides),)
    if isinstance(source, str) and "\n" in source:
        return (experiment.of_text(source, overrides=overrides),)
    if isinstance(source, str | Path):
        return (experiment.load(locate(source), overrides=overrides),)
    found: tuple[Experiment, ...] = source.experiments
    return tuple(experiment.changed(each, overrides) for each in found) if overrides else found


def simulate(
    source: "Source",
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
) -> "Run":
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
    loaded = load(source, overrides=overrides)
    planned = loaded.plan(seed=seed, replications=replications).trials
    trials = [trial for trial in planned if trial.engine != LIVE]
    if not trials:
        allowed = "an engine besides live; measure measures"
        raise InputError.of(str(loaded.experiments[0].path), "run.engines", LIVE, allowed)
    return simulated(trials, jobs=jobs)


def simulated(trials: "Sequence[Trial]", *, jobs: int | None = None) -> "Run":
    """Run trials in memory, on as many threads as there are processors unless `jobs` says how many.

    Raises
    ------
    TrialError
        If a trial broke off.

    """
    from ethermeter.api.runs import Run
    from ethermeter.engines import local, work
    from ethermeter.results.slices import InMemory

    todo = [work.Work(at, trial.id, trial.line, trial.traces) for at, trial in enumerate(trials)]
    found: dict[str, TrialResult] = {}
    with closing(local.run(todo, jobs=jobs or local.processors())) as done:
        for each in done:
            if isinstance(each, work.Finished):
                found[trials[each.place].id] = each.result
    return Run.of(trials, InMemory(found))
