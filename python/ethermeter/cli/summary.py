"""A run made by a command: what it runs, and the summary of the finished run."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter.cli.guard import interrupted, say
from ethermeter.cli.output import print_text

if TYPE_CHECKING:
    from ethermeter.analysis.bounds import Answers
    from ethermeter.analysis.claims import Claim
    from ethermeter.analysis.overloads import OverloadedPoint
    from ethermeter.api import Loaded
    from ethermeter.engines.live import Place
    from ethermeter.results.estimates import Point
    from ethermeter.run import RunOptions
    from ethermeter.store import RunDirectory
    from ethermeter.strategies import Strategy


def run_and_sum_up(
    loaded: "Loaded",
    run_options: "RunOptions",
    *,
    replications: int | None,
    out: Path | None,
    report: bool,
    place: "Place | None" = None,
    title: str | None = None,
    may_begin: bool = False,
) -> "Summary":
    """Run what was loaded, unless it is finished already, and return its summary.

    Parameters
    ----------
    loaded
        Experiments, as `ethermeter.api.load` returns them.
    run_options
        How they are run.
    replications, out, report
        As the options of the same names.
    place
        Where the trials of the engine "live" are measured; None if there are none.
    title
        What progress is called; the plan's name if not given.
    may_begin
        Whether a run that is to be resumed may as well not be there yet.

    Raises
    ------
    typer.Exit
        After Ctrl-C or SIGTERM.

    """
    from ethermeter import run as running

    plan = loaded.plan(seed=run_options.seed, replications=replications)
    directory = out if out is not None else running.default_directory(plan)
    if may_begin and not directory.exists():
        run_options = replace(run_options, resume=False)
    return Summary(
        *_run_and_evaluate(
            directory,
            title or plan.name,
            None
            if run_options.force
            else partial(running.finished_run, directory, plan, repeat=run_options.resume),
            partial(
                running.execute,
                plan,
                loaded.experiments,
                directory=directory,
                options=run_options,
                place=place,
            ),
            report=report,
        )
    )


def search_and_sum_up(
    strategy: "Strategy[object]",
    run_options: "RunOptions",
    *,
    out: Path | None,
    report: bool,
    place: "Place | None" = None,
) -> "tuple[RunDirectory, Summary]":
    """Run what a strategy proposes, unless it is finished already.

    Parameters
    ----------
    strategy
        The strategy.
    run_options
        How it is run.
    out, report
        As the options of the same names.
    place
        Where trials are measured.

    Returns
    -------
    :
        The finished run, which has the answer, and its summary.

    Raises
    ------
    typer.Exit
        After Ctrl-C or SIGTERM.

    """
    from ethermeter import run as running

    directory = out if out is not None else running.default_directory(strategy)
    found, written = _run_and_evaluate(
        directory,
        strategy.name,
        None if run_options.force else partial(running.finished_run, directory, strategy),
        partial(running.search, strategy, directory=directory, options=run_options, place=place),
        report=report,
    )
    return found, Summary(found, written)


def _run_and_evaluate(
    directory: Path,
    title: str,
    finished: "Callable[[], RunDirectory | None] | None",
    execute: "Callable[..., RunDirectory]",
    *,
    report: bool,
) -> "tuple[RunDirectory, dict[str, Path]]":
    """Run into a directory unless a finished run is there, and write what is derived from it."""
    from ethermeter import run as running
    from ethermeter.cli.progress import ActivityDisplay, ProgressDisplay
    from ethermeter.store.recorder import can_repeat

    try:
        found = None if finished is None else finished()
        if found is not None:
            again = "--force runs it again"
            if can_repeat(directory):
                again = f"--resume repeats what failed, {again}"
            say(f"{directory}: this run is already finished; {again}")
        else:
            with ProgressDisplay(title) as display:
                found = execute(follow=display)
        with ActivityDisplay(title) as activity:
            written = running.evaluate(directory, report=report, anew=False, follow=activity)
    except KeyboardInterrupt as interrupt:
        raise interrupted(
            interrupt, f"finished trials are kept. To continue: {resume_command()}"
        ) from None
    return found, written


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished run and the files that were derived from it, by the names of `run.evaluate`."""

    run: "RunDirectory"
    written: Mapping[str, Path]

    def as_json(self, *, leave_out: tuple[str, ...] = ()) -> dict[str, object]:
        """Return what `--json` prints, without some of the answers."""
        provenance = self.run.provenance()
        return {
            "run": str(self.run.path),
            **{key: provenance.get(key) for key in _PRINTED},
            "failed": self.failed,
            "files": {name: str(path) for name, path in self.written.items()},
            **contents(self.run, self.written, *("estimates", "claims"), leave_out=leave_out),
        }

    @property
    def failed(self) -> dict[str, str]:
        """Why trials failed, by their ids."""
        from ethermeter.store.integrity import failed_in

        return failed_in(self.run.provenance())

    @property
    def points(self) -> "tuple[Point, ...]":
        """Estimates of the run."""
        from ethermeter.results import estimates

        return estimates.read(self.run.path)

    def flow_tables(self, points: "Sequence[Point]") -> "tuple[Point, ...]":
        """Estimates by table of flows, simulated or measured, at those points with several."""
        from ethermeter.analysis import flows
        from ethermeter.entities import flows_in
        from ethermeter.results.trials import point_of
        from ethermeter.trial import LIVE, SIMULATION

        wanted = {(point_of(point), point.engine) for point in points}
        trials = [
            trial
            for trial in self.run.replications()
            if trial.engine in (SIMULATION, LIVE)
            and (point_of(trial), trial.engine) in wanted
            and flows_in(trial.scenario)
        ]
        return tuple(flows.of_tables(self.run, trials))

    @property
    def overloads(self) -> "tuple[OverloadedPoint, ...]":
        """Points of the run at which more is offered than is carried."""
        from ethermeter.analysis.overloads import overloaded_points

        return tuple(overloaded_points(self.run.trials()))

    @property
    def answers(self) -> "Answers":
        """What theory says of the networks of the run, beside what was simulated and measured."""
        from ethermeter.analysis import bounds
        from ethermeter.results.query import Results

        return bounds.read(Results.of_run(self.run.path))

    def claims(self, name: str) -> "tuple[Claim, ...]":
        """Claims of the run in a file of this name; none without the file."""
        from ethermeter.analysis import claims

        found = claims.read(self.run.path, name)
        return () if found is None else found[1]


_PRINTED = ("plan", "plan_hash", "trials", "wall_s", "simulation_s", "events")
"""Keys of the provenance that `--json` prints."""


def contents(
    run: "RunDirectory",
    written: Mapping[str, Path],
    *names: str,
    leave_out: tuple[str, ...] = (),
) -> dict[str, object]:
    """Return derived files of a run, by the names of `ethermeter.run.evaluate`, and its answers."""
    import json

    from ethermeter.analysis.answers import answers

    files = {
        name: json.loads(written[name].read_text(encoding="utf-8"))
        for name in (*names, "live_claims")
        if name in written and name not in leave_out
    }
    return files | answers(run, leave_out=leave_out)


def resume_command() -> str:
    """Return the command line that continues this one."""
    return shlex.join(["ethermeter", *fresh(sys.argv[1:]), "--resume"])


def fresh(words: Sequence[str]) -> list[str]:
    """Return the words of a command without what it does with a run that is there."""
    return [word for word in words if word not in {"--resume", "--force"}]


def print_files(summary: Summary) -> None:
    """Print where a run is, and how many of its trials failed."""
    from ethermeter.analysis import failures

    provenance = summary.run.provenance()
    wall_s = provenance.get("wall_s")
    print_text(
        f"{provenance.get('trials')} trials"
        + (f" in {wall_s:.1f} s" if isinstance(wall_s, float) else "")
        + f": {summary.run.path}"
    )
    if (failed := failures.of_run(provenance)) is not None:
        print_text(failed)
    if "report" in summary.written:
        print_text(f"report: {summary.written['report']}")


def say_failed(summary: Summary) -> None:
    """Say which trials failed, and how they are repeated."""
    from ethermeter.store.recorder import can_repeat

    for trial, why in summary.failed.items():
        say(f"ethermeter: trial {trial} failed: {why}; it has no values")
    if can_repeat(summary.run.path):
        say(f"ethermeter: to repeat what failed: {resume_command()}")
