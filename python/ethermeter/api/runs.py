"""Runs: what a finished run holds, and how a plan or a strategy is run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET

from ethermeter.execution import (
    Execution,
    default_directory,
    evaluate,
    execute,
    finished_run,
    search,
)
from ethermeter.faults import InputError, counted
from ethermeter.json_values import plain
from ethermeter.metrics import Metric
from ethermeter.notebook import html_table
from ethermeter.results.query import Results
from ethermeter.store import RunDirectory, RunError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ethermeter.analysis.agreement import Agreement
    from ethermeter.analysis.bounds import Answers
    from ethermeter.analysis.capacity import Capacity
    from ethermeter.analysis.checks import Check
    from ethermeter.analysis.claims import Claim
    from ethermeter.api.experiments import Loaded
    from ethermeter.engines.live import Place
    from ethermeter.figure import Figure
    from ethermeter.operation import Display
    from ethermeter.results.estimates import Point
    from ethermeter.strategies import Strategy

T = TypeVar("T")
FILES = ("estimates", "positions", "claims", "live_claims", "report")
"""Files that are derived from a run, by the names of `ethermeter.execution.evaluate`."""
_TOLD = ("plan", "plan_hash", "trials", "wall_s", "simulation_s", "events")
"""Keys of the provenance that a summary has."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A run for programs: what was run, its files, and what follows from it.

    What a run does not have, or was left out, is unset. Estimates and claims are those of its
    files, the others as of `ethermeter.analysis.answers`.
    """

    run: str
    plan: object
    plan_hash: object
    trials: object
    wall_s: object
    simulation_s: object
    events: object
    failed: dict[str, str]
    files: dict[str, str]
    estimates: object = UNSET
    claims: object = UNSET
    live_claims: object = UNSET
    capacity: object = UNSET
    flows: object = UNSET
    live_accounts: object = UNSET
    live_agreement: object = UNSET
    bounds: object = UNSET
    checks: object = UNSET
    captures: object = UNSET


@dataclass(frozen=True, eq=False, repr=False)
class Run(Results):
    """A finished run: its results, in its directory or, of `simulate`, in memory.

    `checks`: conditions that it must not meet, of the operation that ran it.
    """

    checks: "tuple[Check, ...]" = ()

    def __repr__(self) -> str:
        where = repr(str(self.path)) if self.is_kept else "in memory"
        return f"Run({where}: {counted(len(self.trials()), 'trial')})"

    def __str__(self) -> str:
        """Return how much was run and where it lies, and of a network whether it fits."""
        from ethermeter.present.capacity import summary
        from ethermeter.results.trials import point_of

        points = counted(len({point_of(trial) for trial in self.trials()}), "point")
        where = str(self.path) if self.is_kept else "in memory"
        lines = [f"{counted(len(self.trials()), 'trial')} at {points}: {where}"]
        return "\n".join([*([summary(self.capacities)] if self.capacities else []), *lines])

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

    def claims(self, *, file: str | None = None) -> "tuple[Claim, ...]":
        """Return the published claims that the run was compared with; empty if there are none.

        `file`: only those of claims.json, or of live-claims.json.
        """
        from ethermeter.analysis import claims

        evaluate(self.path, report=False, anew=False)
        files = (claims.FILE, claims.LIVE_FILE) if file is None else (file,)
        found = [claims.read(self.path, each) for each in files]
        return tuple(claim for each in found if each is not None for claim in each[1])

    @property
    def files(self) -> dict[str, Path]:
        """Files that were derived from the run, by name: estimates, claims, report."""
        names = {name: f"{name.replace('_', '-')}.json" for name in FILES} | {
            "report": "report.html"
        }
        there = {name: self.path / file for name, file in names.items()}
        return {name: path for name, path in there.items() if path.exists()}

    @property
    def failed(self) -> dict[str, str]:
        """Why trials failed, by their ids."""
        from ethermeter.store.integrity import failed_in

        return failed_in(self.directory.provenance())

    @property
    def capacities(self) -> "tuple[Capacity, ...]":
        """Offered load and capacity of each point of networks."""
        from ethermeter.analysis import capacity

        return capacity.read(self)

    def check(self, *conditions: str) -> "tuple[Check, ...]":
        """Judge conditions that no flow may meet, such as "loss > 0.1%", at every point.

        Raises
        ------
        InputError
            If a text is no condition, or a point has no such metric, flow or group.

        """
        from ethermeter.analysis.checks import checks

        return checks(self, conditions)

    def flow_tables(self, points: "Sequence[Point]") -> "tuple[Point, ...]":
        """Estimates by table of flows, simulated or measured, at those points with several."""
        from ethermeter.analysis import flows
        from ethermeter.entities import flows_in
        from ethermeter.results.trials import point_of
        from ethermeter.trial import LIVE, SIMULATION

        wanted = {(point_of(point), point.engine) for point in points}
        trials = [
            trial
            for trial in self.directory.replications()
            if trial.engine in (SIMULATION, LIVE)
            and (point_of(trial), trial.engine) in wanted
            and flows_in(trial.scenario)
        ]
        return tuple(flows.of_tables(self.directory, trials))

    def summary(self, *, leave_out: tuple[str, ...] = ()) -> Summary:
        """Return the run for programs, without some of the answers."""
        provenance = self.directory.provenance()
        return Summary(
            run=str(self.path),
            **{key: provenance.get(key) for key in _TOLD},
            failed=self.failed,
            files={name: str(path) for name, path in self.files.items()},
            **self.contents("estimates", "claims", leave_out=leave_out),
            checks=plain(self.checks) if self.checks else UNSET,
        )

    def contents(self, *names: str, leave_out: tuple[str, ...] = ()) -> dict[str, object]:
        """Return derived files of these names, and the answers of the run, as JSON values."""
        import json

        from ethermeter.analysis.answers import answers

        there = self.files
        files = {
            name: json.loads(there[name].read_text(encoding="utf-8"))
            for name in (*names, "live_claims")
            if name in there and name not in leave_out
        }
        return files | answers(self.directory, leave_out=leave_out)

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
            `log_y`, `from_zero`, `across`, `theme` ("light" or "dark"), `title`
            (`ethermeter.report.style.Style`).

        Raises
        ------
        InputError
            If there is no such metric, style or value of one.

        Examples
        --------
        >>> run.plot("access_delay", style="one-column", log_y=True).save("f.pdf")  # doctest: +SKIP

        """
        from ethermeter.figure import Figure
        from ethermeter.report.style import style_of

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


def open(path: Path | str) -> Run:
    """Open a finished run by its directory.

    Raises
    ------
    InputError
        If there is no run, or an unfinished one.

    """
    directory = RunDirectory(Path(path))
    if not directory.is_finished():
        allowed = "a finished run; the command that began it continues it"
        raise InputError.of(str(path), "run", "unfinished, by its provenance.json", allowed)
    return Run.of_run(directory.path)


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What a strategy found, and the run of the trials that it proposed."""

    answer: T
    run: Run


def executed(
    loaded: "Loaded",
    execution: Execution,
    *,
    replications: int | None = None,
    out: Path | None,
    report: bool,
    place: "Place | None" = None,
    title: str | None = None,
    display: "Display",
) -> Run:
    """Run what was loaded, unless it is finished already, and write what is derived from it.

    Parameters
    ----------
    execution
        How it is run.
    replications
        Trials of each point, in place of the experiments' own.
    out
        The run directory; `runs/<name>-<plan hash>` unless given.
    report
        Whether to write `report.html`.
    place
        Where trials of the engine "live" are measured; None if there are none.
    title
        What progress is called; the plan's name unless given.
    display
        Where progress is shown.

    """
    plan = loaded.plan(seed=execution.seed, replications=replications)
    directory = out if out is not None else default_directory(plan)
    return _evaluated(
        directory,
        title or plan.name,
        None if execution.force else partial(finished_run, directory, plan, repeat=True),
        partial(
            execute,
            plan,
            loaded.experiments,
            directory=directory,
            options=execution,
            place=place,
        ),
        report=report,
        display=display,
    )


def found_by(
    strategy: "Strategy[Any]",
    kind: type[T],
    execution: Execution,
    *,
    out: Path | None,
    report: bool = True,
    place: "Place | None" = None,
    display: "Display",
) -> Found[T]:
    """Run what a strategy proposes, unless it is finished already, and return what it found.

    Arguments are those of `executed`; `kind`: the type of the strategy's answer.
    """
    import msgspec

    directory = out if out is not None else default_directory(strategy)
    run = _evaluated(
        directory,
        strategy.name,
        None if execution.force else partial(finished_run, directory, strategy),
        partial(search, strategy, directory=directory, options=execution, place=place),
        report=report,
        display=display,
    )
    return Found(msgspec.json.decode(run.directory.answer(), type=kind), run)


def _evaluated(
    directory: Path,
    title: str,
    finished: "Callable[[], RunDirectory | None] | None",
    begin: "Callable[..., RunDirectory]",
    *,
    report: bool,
    display: "Display",
) -> Run:
    """Run into a directory unless a finished run is there, and write what is derived from it."""
    try:
        found = None if finished is None else finished()
        if found is not None:
            display.say(f"{directory}: this run is already finished; --force runs it again")
        else:
            with display.progress(title) as shown:
                found = begin(follow=shown)
        with display.activity(title) as follow:
            evaluate(directory, report=report, anew=False, follow=follow)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note("finished trials are kept")
        raise
    return Run.of_run(found.path)
