"""Running a plan: trials through an engine into a run directory, then its estimates, claims and
report.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethermeter import provenance
from ethermeter.engines.work import Finished, TrialError, UnderWay, Work
from ethermeter.faults import Fault, InputError
from ethermeter.store import Recorder, RunDirectory, RunError
from ethermeter.store.files import remove_abandoned
from ethermeter.store.recorder import plan_hash_of, tidy
from ethermeter.studies import registry

if TYPE_CHECKING:
    from ethermeter.engines.live import Place
    from ethermeter.experiment import Experiment
    from ethermeter.plan import Plan, Trial

RUNS = Path("runs")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Parameters
    ----------
    trials, done
        Trials in the plan, and how many of these have a result.
    share
        Share of the work of this session that is done, 0 to 1.
    elapsed_s
        Time since the session began, in s.
    phase
        Of trials that take long: which, and how far they are.

    """

    trials: int
    done: int
    share: float
    elapsed_s: float
    phase: str = ""

    @property
    def remaining_s(self) -> float | None:
        """Time that is left, in s, if it goes on like this; None before there is anything to judge
        by.
        """
        return self.elapsed_s * (1 / self.share - 1) if self.share > 0 else None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a plan is run; nothing in here changes a result.

    Parameters
    ----------
    jobs
        Threads; None for one a processor.
    cluster
        Address of a Dask scheduler, or None to stay on this machine.
    resume, force
        Continue, or discard, what is in the directory.
    command
        What the person typed or called, for the provenance.
    study
        The published study that the run reproduces, or None.
    seed
        What the plan was seeded with instead of the experiments' own seeds, or None; for the
        provenance.
    live_study
        The published study whose live tests these are, or None.

    """

    jobs: int | None = None
    cluster: str | None = None
    resume: bool = False
    force: bool = False
    command: Sequence[str] = ()
    study: str | None = None
    seed: int | None = None
    live_study: str | None = None


def default_directory(plan: "Plan") -> Path:
    """Where a plan is run unless told otherwise: `runs/<name>-<plan hash>`."""
    return RUNS / f"{plan.name}-{plan.hash}"


def finished_run(directory: Path, plan: "Plan") -> RunDirectory | None:
    """Return the finished run of this very plan in a directory, or None."""
    if plan_hash_of(directory) != plan.hash:
        return None
    found = RunDirectory(directory)
    if not found.is_finished():
        return None
    found.verify_results()
    tidy(directory)
    return found


def execute(
    plan: "Plan",
    experiments: Sequence["Experiment"],
    *,
    directory: Path,
    options: RunOptions,
    follow: Callable[[Progress], None] | None = None,
    place: "Place | None" = None,
) -> RunDirectory:
    """Run every trial of a plan that has no result yet, and write the tables.

    Parameters
    ----------
    plan
        What is run.
    experiments
        The experiments it was made from; their text is kept with the run.
    directory
        The run directory.
    options
        How to run it.
    follow
        Is called about ten times a second with the progress.
    place
        Where trials of the engine "live" are measured, after all others.

    Returns
    -------
    :
        The finished run. Trials that failed, because an agent was lost, are in its provenance,
        under `failed`.

    Raises
    ------
    InputError
        If the directory holds something that may not be touched, or something is to be measured and
        cannot be, or no place is given.
    RunError
        If results cannot be written.
    TrialError
        If a trial breaks off or the cluster cannot be used. Finished trials are kept, as they are
        on `KeyboardInterrupt`.

    """
    from ethermeter._core import version
    from ethermeter.engines.local import processors

    if options.resume and options.force:
        raise InputError(
            [
                Fault(
                    "command line",
                    "--force",
                    "given with --resume",
                    "one of the two: continue what is there, or discard it",
                )
            ]
        )
    jobs = processors() if options.jobs is None else options.jobs
    if jobs < 1:
        raise InputError([Fault("command line", "--jobs", str(jobs), "at least 1")])
    _check_measurable(plan, experiments, place)
    begin_s = time.monotonic()
    names = names_of(experiments)
    began = provenance.begun(
        ethermeter=version(),
        plan_name=plan.name,
        plan_hash=plan.hash,
        trials=len(plan.trials),
        seeds={
            name: experiment.seed if options.seed is None else options.seed
            for name, experiment in names.items()
        },
        command=options.command,
        jobs=jobs,
        cluster=options.cluster,
    ) | {"study": options.study}
    if place is not None:
        began |= {"measured": place.name} | (
            {"live_study": options.live_study} if options.live_study else {}
        )
    texts = {name: experiment.source_text for name, experiment in names.items()}
    with Recorder(
        directory,
        plan,
        experiments=texts,
        version=version(),
        resume=options.resume,
        force=options.force,
    ) as recorder:
        before = recorder.provenance()
        began = provenance.resumed(began, before) if before else began
        recorder.write_provenance(began)
        pending = [
            Work(number, plan.trials[number].id, plan.trials[number].line)
            for number in recorder.pending
        ]
        effort = {work.place: effort_of(plan.trials[work.place]) for work in pending}
        all_effort, done_effort, done = sum(effort.values()), 0.0, len(plan.trials) - len(pending)
        failed: dict[str, str] = dict(recorder.provenance().get("failed", {}))

        def tell(under_way: float = 0.0, phase: str = "") -> None:
            if follow is not None:
                share = min(1.0, (done_effort + under_way) / all_effort) if all_effort else 1.0
                follow(Progress(len(plan.trials), done, share, time.monotonic() - begin_s, phase))

        seen_s: dict[
            int, float
        ] = {}  # since when each trial has been under way, by the monotonic clock
        live = [work for work in pending if plan.trials[work.place].engine == LIVE]
        others = [work for work in pending if plan.trials[work.place].engine != LIVE]
        with closing(
            _results(others, jobs=jobs, cluster=options.cluster, version=version())
        ) as results:
            for result in results:
                if isinstance(result, UnderWay):
                    recorder.flush_if_due()
                    seen_s = {place: seen_s.get(place, time.monotonic()) for place in result.shares}
                    tell(
                        sum(share * effort[place] for place, share in result.shares.items()),
                        _long_trials(
                            plan,
                            {
                                p: s
                                for p, s in result.shares.items()
                                if time.monotonic() - seen_s[p] >= LONG_TRIAL_S
                            },
                        ),
                    )
                else:
                    recorder.record(result.place, result.rows)
                    done, done_effort = done + 1, done_effort + effort[result.place]
                    tell()
        if place is not None and live:
            with closing(place.run(live, directory)) as measured:
                for seen in measured:
                    if not isinstance(seen, Finished):
                        recorder.flush_if_due()
                        tell(
                            seen.share * effort[seen.place],
                            f"trial {plan.trials[seen.place].id}, {seen.phase}",
                        )
                        continue
                    if (why := getattr(seen, "why", None)) is not None:
                        failed[plan.trials[seen.place].id] = why
                        recorder.write_provenance(began | {"failed": failed})
                    recorder.record(seen.place, seen.rows)
                    done, done_effort = done + 1, done_effort + effort[seen.place]
                    tell()
        began |= {"failed": failed} if failed else {}
        recorder.flush()
        tell(phase="writing the tables")
        recorder.finish(
            provenance.finished(
                began,
                wall_s=time.monotonic() - begin_s,
                core_s=recorder.core_s,
                events=recorder.events,
            )
        )
    return RunDirectory(directory)


def evaluate(
    directory: Path,
    *,
    report: bool = True,
    anew: bool = True,
    follow: Callable[[str], None] | None = None,
) -> dict[str, Path]:
    """Write what is derived from the observations of a finished run: estimates, claims if it
    reproduces a study, and the report.

    Parameters
    ----------
    directory
        The run directory.
    report
        Whether to write the report.
    anew
        Whether to write what is already there, and was not altered, once more.
    follow
        Is called with what is done next, such as "writing estimates.json".

    Returns
    -------
    :
        Path of `estimates`, `positions`, `claims`, `agreement`, `live_claims`, `flows`,
        `live_accounts`, `live_agreement` and `report`, of those that there are.

    Raises
    ------
    InputError
        If the run is unfinished, or a file of it is damaged that cannot be made again.
    RunError
        If something cannot be written.

    """
    run = RunDirectory(directory)
    if not run.is_finished():
        raise InputError(
            [
                Fault(
                    str(directory),
                    "run",
                    "unfinished, by its provenance.json",
                    "a finished run; continue it with --resume",
                )
            ]
        )
    tell = follow or (lambda _: None)
    tell("reading the run")
    run.verify_results()
    remove_abandoned(directory)
    study = run.provenance().get("study")
    steps: dict[str, tuple[str, Callable[[Path], Path]]] = {
        "estimates": ("estimates.json", _estimates)
    }
    if study in registry.names():
        definition = registry.find(study)
        if definition.has_positions:
            steps["positions"] = ("positions.json", _positions)
        steps["claims"] = ("claims.json", definition.write_claims)
    if any(trial.engine.startswith("theory/") for trial in run.trials()):
        steps["agreement"] = ("agreement.json", _agreement)
    live_study = run.provenance().get("live_study")
    if live_study in registry.names() and registry.find(live_study).measured is not None:
        steps["live_claims"] = ("live-claims.json", registry.find(live_study).write_measured)
    if any("network" in trial.scenario for trial in run.trials()):
        steps["flows"] = ("flows.json", _flows)
    if LIVE in {trial.engine for trial in run.trials()}:
        steps["live_accounts"] = ("live-accounts.json", _live_accounts)
    if {"simulation", LIVE} <= {trial.engine for trial in run.trials()}:
        steps["live_agreement"] = ("live-agreement.json", _live_agreement)
    if report:
        steps["report"] = ("report.html", _report)
    written = {}
    for name, (file, write) in steps.items():
        there = directory / file
        try:
            if anew or not run.is_kept(file):
                tell(f"writing {file}")
                write(directory)
            written[name] = there
        except OSError as error:
            raise RunError(
                f"cannot write {error.filename or there}: {error.strerror or error}; the observations are kept"
            ) from error
    return written


def names_of(experiments: Sequence["Experiment"]) -> dict[str, "Experiment"]:
    """Give every experiment the name of its file, numbered where two are called the same."""
    names: dict[str, Experiment] = {}
    for experiment in experiments:
        name, number = Path(experiment.path).stem, 2
        while name in names:
            name, number = f"{Path(experiment.path).stem}-{number}", number + 1
        names[name] = experiment
    return names


LIVE = "live"
EFFORT_PER_S = 1e6
LONG_TRIAL_S = 2.0
"""A trial that takes longer is named in the progress, with its share."""
MOST_NAMED = 2
"""Trials named at once."""


def _long_trials(plan: "Plan", shares: Mapping[int, float]) -> str:
    """Say how far trials are that have been under way for long."""
    named = [
        f"trial {plan.trials[place].id} at {share:.0%}"
        for place, share in sorted(shares.items())[:MOST_NAMED]
    ]
    return ", ".join(
        [
            *named,
            *([f"{len(shares) - MOST_NAMED} more under way"] if len(shares) > MOST_NAMED else []),
        ]
    )


def _check_measurable(
    plan: "Plan", experiments: Sequence["Experiment"], place: "Place | None"
) -> None:
    """Refuse what is to be measured and cannot be."""
    live = [
        Work(number, trial.id, trial.line)
        for number, trial in enumerate(plan.trials)
        if trial.engine == LIVE
    ]
    if live and place is None:
        file = str(experiments[0].path) if experiments else plan.name
        allowed = f"measured by another command: ethermeter measure {file} --testbed (in namespaces), --hosts hosts.toml, or --loopback"
        raise InputError([Fault(file, "run.engines", '"live"', allowed)])
    if place is not None:
        place.check(live)


def effort_of(trial: "Trial") -> float:
    """Roughly how long a trial takes compared with others; only the time that is left depends on
    it.

    Packets that fit into the simulated time, each of which every station takes a part in. What is
    measured takes its time, as long as a simulation of `EFFORT_PER_S` of these.
    """
    if trial.engine == LIVE:
        from ethermeter.engines.live import duration_s

        return duration_s(trial.scenario) * EFFORT_PER_S
    if trial.engine.startswith("theory/"):
        return 1.0
    scenario: Mapping[str, Any] = trial.scenario
    if "network" in scenario:
        return _effort_of_network(scenario)
    segment, phases = scenario["segment"], scenario["phases"]
    stations = sum(len(group["places"]) for group in scenario["groups"])
    frames = scenario["groups"][0]["frames"]
    bits = frames["min_bits"] if frames["kind"] == "samples" else frames["bits"]
    shortest = min(bits) if isinstance(bits, list) else bits
    packet_ps = (shortest + segment["preamble_bits"] + segment["gap_bits"]) * segment["bit_ps"]
    return float((phases["end_ps"] - phases["begin_ps"]) / packet_ps * (1 + stations))


def _effort_of_network(scenario: Mapping[str, Any]) -> float:
    """Messages that the flows offer at most, each of which passes several stages."""
    phases = scenario["phases"]
    time_ps = phases["end_ps"] - phases["begin_ps"]
    octet_ps = min(link["ps_per_octet"] for link in scenario["network"]["links"])
    total = 0.0
    for flow in scenario["flows"]:
        if "transfer" in flow:
            (job,) = flow["transfer"]["job"].values()
            total += (
                min(job.get("octets", time_ps / octet_ps), time_ps / octet_ps)
                / flow["transfer"]["tcp"]["mtu_octets"]
            )
            continue
        arrivals, frames = flow["arrivals"], flow["frames"]
        if frames["kind"] == "samples":
            shortest = frames["min_bits"]
            between_ps = (
                max(1.0, (shortest - frames["overhead_bits"]) / arrivals["sample_bits"])
                * arrivals["sample_ps"]
            )
        else:
            shortest = min(frames["bits"]) if frames["kind"] == "mix" else frames["bits"]
            between_ps = arrivals.get("mean_ps", arrivals.get("period_ps", 0.0))
        wire_ps = (shortest / 8 + 20) * octet_ps
        total += time_ps / max(between_ps, wire_ps) * len(flow["to"])
    return float(total) + 1.0


def _results(
    pending: Sequence[Work], *, jobs: int, cluster: str | None, version: str
) -> Generator[Finished | UnderWay, None, None]:
    if cluster is None:
        from ethermeter.engines import local

        return local.run(pending, jobs=jobs)
    from ethermeter.engines import cluster as engine

    return engine.run(pending, address=cluster, version=version)


def _estimates(directory: Path) -> Path:
    from ethermeter.analysis import estimates

    return estimates.write(directory)


def _agreement(directory: Path) -> Path:
    from ethermeter.analysis import agreement

    return agreement.write(directory)


def _flows(directory: Path) -> Path:
    from ethermeter.analysis import flows

    return flows.write(directory)


def _live_accounts(directory: Path) -> Path:
    from ethermeter.analysis import accounts

    return accounts.write(directory)


def _live_agreement(directory: Path) -> Path:
    from ethermeter.analysis import live

    return live.write(directory)


def _positions(directory: Path) -> Path:
    from ethermeter.analysis import positions

    return positions.write(directory)


def _report(directory: Path) -> Path:
    from ethermeter import report

    return report.write(directory)


__all__ = [
    "Progress",
    "RunError",
    "RunOptions",
    "TrialError",
    "default_directory",
    "evaluate",
    "execute",
    "finished_run",
]
