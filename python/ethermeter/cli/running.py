"""Commands that run trials."""

import math
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.analysis.claims import FILE
from ethermeter.cli import options, studies
from ethermeter.cli.bounds import print_bounds
from ethermeter.cli.guard import interrupted, say
from ethermeter.cli.output import number, print_json, print_table
from ethermeter.cli.studies import ALL
from ethermeter.studies import registry

if TYPE_CHECKING:
    from ethermeter.analysis.bounds import Answers
    from ethermeter.analysis.claims import Claim
    from ethermeter.analysis.estimates import Point
    from ethermeter.analysis.live import Comparison, Pair
    from ethermeter.api import Loaded
    from ethermeter.engines.live import Place
    from ethermeter.experiment import Experiment
    from ethermeter.metrics import Metric
    from ethermeter.run import RunOptions
    from ethermeter.store import RunDirectory
    from ethermeter.strategies import Strategy

RUN_EXAMPLES = """\
  ethermeter run poisson-load
  ethermeter run my-network.toml --jobs 2 --out runs/first
  ethermeter run my-network.toml --set stations.0.count=12 --set 'phases.transmit="2 s"'
  ethermeter run my-network.toml --resume
  ethermeter run my-network.toml --cluster tcp://10.0.0.1:8786 --json"""
REPRODUCE_EXAMPLES = """\
  ethermeter reproduce boggs1988
  ethermeter reproduce boggs1988 --replications 1
  ethermeter reproduce boggs1988 --quick --json
  ethermeter reproduce gonsalves1982
  ethermeter reproduce --list
  ethermeter reproduce all --quick --out runs/all"""


BESIDE = ("live_claims", "flows", "live_accounts", "live_agreement", "bounds")
"""What is derived from runs of networks beside estimates."""
TABLE_METRICS = ("utilisation", "goodput", "transmission_delay", "loss", "jain_index")
VOICE_TABLE_METRICS = ("voice_load", "voice_utilisation", "voice_delay", "sample_loss")
FLOW_TABLE_METRICS = ("message_rate", "goodput", "one_way_delay", "round_trip", "loss")
FLOW_VOICE_TABLE_METRICS = ("voice_load", "sample_delay", "sample_loss", "rating", "mos")
TRANSFER_TABLE_METRICS = ("transfer_rate", "acknowledgement_delay")
PLCA_TABLE_METRICS = ("cycle_time", "attempt_delay", "attempt_delay_max")
CLOCK_TABLE_METRICS = ("clock_delay", "synchronised_delay", "delay_error", "delay_uncertainty")
TABLE_ROWS = 30


def run(
    experiment: options.Experiment,
    *,
    overrides: options.Overrides = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    cluster: options.Cluster = None,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
) -> None:
    """Run an experiment, estimate its metrics and write a report."""
    from ethermeter import api
    from ethermeter.run import RunOptions

    loaded = _simulated(api.load(experiment, overrides=overrides or ()), experiment)
    run_options = RunOptions(
        jobs=jobs, cluster=cluster, resume=resume, force=force, command=tuple(sys.argv), seed=seed
    )
    summary = run_and_sum_up(
        loaded, run_options, replications=replications, out=out, report=not no_report
    )
    if as_json:
        print_json(summary.as_json())
        return
    print_points(summary.points)
    print_bounds(summary.answers)
    print_run_cautions(summary.points)
    print_files(summary)


def _simulated(loaded: "Loaded", name: str) -> "Loaded":
    """Leave out the engine "live" of an experiment that has others, and say how it is measured."""
    from ethermeter.trial import LIVE

    (experiment,) = loaded.experiments
    engines = tuple(engine for engine in experiment.engines if engine != LIVE)
    if not engines or engines == experiment.engines:
        return loaded
    how = f"ethermeter measure {name} --testbed{_wires(experiment)}"
    say(f"ethermeter: nothing is measured here; to measure it, too: {how}")
    return replace(loaded, experiments=(replace(experiment, engines=engines),))


def _wires(experiment: "Experiment") -> str:
    """Return the option of wires that a testbed of an experiment needs.

    Only relayed wires have traffic classes.
    """
    from ethermeter.nodes import classes_of

    first = experiment.scenarios.at([0] * len(experiment.sweeps))
    has_classes = any(map(classes_of, first.nodes))
    return " --wires relay" if has_classes else ""


def reproduce(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY",
            show_default=False,
            help=f"The study: {', '.join(registry.names())}, or all of them: {ALL}.",
        ),
    ] = None,
    *,
    list_studies: Annotated[
        bool,
        typer.Option(
            "--list", help="Print every study with one line of what it is, and run nothing."
        ),
    ] = False,
    overrides: options.Overrides = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="About a tenth of the study's time, few replications: wider intervals."
        ),
    ] = False,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    cluster: options.Cluster = None,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
) -> None:
    """Run a published study again and check its claims; or every study, on one page.

    With all, studies are run into runs/<study>-<plan hash>, or into a directory of their names
    within --out, and studies.html is written beside them. A study that fails does not stop the
    others; the exit code is then 1.
    """
    from ethermeter.faults import InputError, choices
    from ethermeter.run import RunOptions

    if list_studies:
        studies.list_studies(as_json=as_json)
        return
    if study != ALL and study not in registry.names():
        raise InputError.of(
            "command line", "study", study or "(missing)", choices(study, registry.names())
        )

    def summary_of(name: str, directory: Path | None, *, title: str) -> Summary:
        from ethermeter import api

        of = registry.find(name)
        loaded = api.load(
            *of.runs, overrides=(*(of.quick if quick else ()), *(overrides or ())), name=name
        )
        run_options = RunOptions(
            jobs=jobs,
            cluster=cluster,
            resume=resume,
            force=force,
            command=tuple(sys.argv),
            study=name,
            seed=seed,
        )
        wanted = of.quick_replications if quick and replications is None else replications
        return run_and_sum_up(
            loaded,
            run_options,
            replications=wanted,
            out=directory,
            report=not no_report,
            title=title,
            may_begin=study == ALL,
        )

    if study == ALL:
        from ethermeter.run import RUNS

        if overrides:
            raise InputError.of(
                "command line",
                "--set",
                overrides[0],
                "not with all: each study has keys of its own",
            )
        names = registry.names()
        outcomes = [
            studies.outcome(
                name,
                partial(
                    summary_of,
                    name,
                    None if out is None else out / name,
                    title=f"{at} of {len(names)}, {name}",
                ),
            )
            for at, name in enumerate(names, 1)
        ]
        studies.print_outcomes(
            outcomes,
            studies.write_index(outcomes, RUNS if out is None else out, quick=quick),
            as_json=as_json,
        )
        return
    summary = summary_of(study, out, title=study)
    if as_json:
        print_json(summary.as_json(leave_out=("estimates", "flows")))
        return
    print_claims(summary.claims(FILE))
    print_files(summary)


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
            None if run_options.force else partial(running.finished_run, directory, plan),
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

    try:
        found = None if finished is None else finished()
        if found is not None:
            say(f"{directory}: this run is already finished; --force runs it again")
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

    def as_json(self, *, leave_out: Sequence[str] = ()) -> dict[str, object]:
        """Return what `--json` prints, without some of the derived files."""
        provenance = self.run.provenance()
        names = [name for name in ("estimates", "claims", *BESIDE) if name not in leave_out]
        return {
            "run": str(self.run.path),
            **{key: provenance.get(key) for key in _PRINTED},
            "failed": self.failed,
            "files": {name: str(path) for name, path in self.written.items()},
            **contents(self.written, *names),
        }

    @property
    def failed(self) -> dict[str, str]:
        """Why trials failed, by their ids."""
        found = self.run.provenance().get("failed")
        return dict(found) if isinstance(found, dict) else {}

    @property
    def points(self) -> "tuple[Point, ...]":
        """Estimates of the run."""
        from ethermeter.analysis import estimates

        return estimates.read(self.run.path)

    @property
    def answers(self) -> "Answers":
        """What theory says of the networks of the run, beside what was simulated and measured."""
        from ethermeter.analysis import bounds

        return bounds.read(self.run)

    def claims(self, name: str) -> "tuple[Claim, ...]":
        """Claims of the run in a file of this name; none without the file."""
        from ethermeter.analysis import claims

        found = claims.read(self.run.path, name)
        return () if found is None else found[1]


_PRINTED = ("plan", "plan_hash", "trials", "wall_s", "simulation_s", "events")
"""Keys of the provenance that `--json` prints."""


def contents(written: Mapping[str, Path], *names: str) -> dict[str, object]:
    """Read the derived files of a run that exist, by the names of `ethermeter.run.evaluate`."""
    import json

    return {
        name: json.loads(written[name].read_text(encoding="utf-8"))
        for name in names
        if name in written
    }


def resume_command() -> str:
    """Return the command line that continues this one."""
    words = [word for word in sys.argv[1:] if word not in {"--resume", "--force"}]
    return shlex.join(["ethermeter", *words, "--resume"])


def print_side_by_side(pairs: "Sequence[Pair]", file: Path) -> None:
    """Print both engines by table of flows, where there are several; `file` has all of it."""
    if len({pair.flows for pair in pairs}) > 1:
        keys = list(dict.fromkeys(key for pair in pairs for key in pair.point))
        rows = [
            [
                *(pair.point.get(key, "") for key in keys),
                pair.flows,
                f"{pair.metric} {pair.metric.unit}".strip(),
                number(pair.simulation.value),
                number(pair.live.value),
                number(pair.ratio, digits=3),
            ]
            for pair in pairs[:TABLE_ROWS]
        ]
        head = [*keys, "flows", "metric", "simulation", "live", "live / simulation"]
        print_table(head, rows)
        if len(pairs) > TABLE_ROWS:
            typer.echo(f"… {len(pairs) - TABLE_ROWS} more in {file}")


def print_live_agreement(found: "Sequence[Comparison]", file: Path) -> None:
    """Print how what was measured differs from what was simulated; `file` has all of it."""
    from ethermeter.report.cautions import Marks

    if not found:
        return
    keys = list(dict.fromkeys(key for each in found for key in each.point))
    comparisons = [each for each in found if each.metric in FLOW_TABLE_METRICS]
    shown = comparisons[:TABLE_ROWS]
    marks = Marks(each.cautions for each in shown)
    rows = [
        [
            *(each.point.get(key, "") for key in keys),
            f"{each.metric} {each.metric.unit}".strip(),
            number(each.live),
            number(each.simulation),
            f"{number(each.difference)} ±{number(each.half_width, digits=2)}",
            f"{each.verdict} {marks.at(each.cautions)}".rstrip(),
        ]
        for each in shown
    ]
    print_table([*keys, "metric", "live", "simulation", "live − simulation", "verdict"], rows)
    if len(comparisons) > len(shown):
        more = len(comparisons) - len(shown)
        typer.echo(f"… {more} more in {file}")
    for line in marks.legend():
        typer.echo(line)


def print_points(points: "Sequence[Point]") -> None:
    """Print the main metrics of the first points."""
    from ethermeter.analysis.interval import Estimate
    from ethermeter.metrics import Metric
    from ethermeter.report.cautions import Marks

    known = {metric for point in points for metric in point.estimates}
    keys = list(dict.fromkeys(key for point in points for key in point.point))
    # What lies between a theory and the segment is for the agreement in the report.
    points = [point for point in points if not point.engine.startswith("ablation/")]
    several = len({point.engine for point in points}) > 1
    metrics = [Metric(name) for name in _table_metrics(points, known)]
    missing = Estimate(math.nan, math.nan, math.nan)
    shown = [
        [point.estimates.get(metric, missing) for metric in metrics]
        for point in points[:TABLE_ROWS]
    ]
    marks = Marks(cell.cautions for cells in shown for cell in cells if math.isfinite(cell.value))
    rows = [
        [
            *([point.engine] if several else []),
            *(point.point.get(key, "") for key in keys),
            *(
                number(cell.value) + marks.at(cell.cautions) if math.isfinite(cell.value) else "–"
                for cell in cells
            ),
        ]
        for point, cells in zip(points, shown, strict=False)
    ]
    heads = [f"{metric} {metric.unit if metric in known else ''}".strip() for metric in metrics]
    print_table([*(["engine"] if several else []), *keys, *heads], rows)
    if len(points) > TABLE_ROWS:
        typer.echo(f"… {len(points) - TABLE_ROWS} more points in the report")
    for line in marks.legend():
        typer.echo(line)


def _table_metrics(points: "Sequence[Point]", known: "Set[Metric]") -> list[str]:
    """Return the metrics that a table of these points shows; `known` are those of the run."""
    from ethermeter.metrics import Metric

    def has_value(metric: str) -> bool:
        found = [point.estimates.get(Metric(metric)) for point in points]
        return any(of is not None and math.isfinite(of.value) for of in found)

    is_of_flows = [Metric.MESSAGE_RATE in point.estimates for point in points]
    metrics = [] if all(is_of_flows) else list(TABLE_METRICS)
    if any(is_of_flows):
        # Nothing but transfers: octets, no messages.
        only_transfers = not has_value("message_rate")
        metrics += ["data_rate", "retransmitted"] if only_transfers else FLOW_TABLE_METRICS
    if Metric.VOICE_DELAY in known:
        if any({Metric.UTILISATION, Metric.VOICE_DELAY} <= set(of.estimates) for of in points):
            metrics += VOICE_TABLE_METRICS
        if Metric.RATING in known:
            metrics += FLOW_VOICE_TABLE_METRICS
    metrics += filter(
        has_value, (*PLCA_TABLE_METRICS, *TRANSFER_TABLE_METRICS, *CLOCK_TABLE_METRICS)
    )
    return list(dict.fromkeys(metrics))


def print_run_cautions(points: "Sequence[Point]") -> None:
    """Print the cautions of the run as a whole."""
    from ethermeter.analysis.estimates import run_cautions
    from ethermeter.report.cautions import Marks

    for line in Marks([]).legend(run_cautions(points)):
        typer.echo(line)


def print_claims(claims: "Sequence[Claim]") -> None:
    """Print every claim of the study with its verdict."""
    rows = [
        [claim.id, number(claim.published), number(claim.ours), claim.basis, claim.verdict]
        for claim in claims
    ]
    print_table(["claim", "published", "ours", "basis", "verdict"], rows)


def print_files(summary: Summary) -> None:
    """Print where a run is."""
    provenance = summary.run.provenance()
    wall_s = provenance.get("wall_s")
    typer.echo(
        f"{provenance.get('trials')} trials"
        + (f" in {wall_s:.1f} s" if isinstance(wall_s, float) else "")
        + f": {summary.run.path}"
    )
    if "report" in summary.written:
        typer.echo(f"report: {summary.written['report']}")
