"""Runs: trials of a plan or of a strategy through an engine, then estimates, claims and report."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter import functions, provenance
from ethermeter.engines.work import Finished, TrialError, UnderWay, Work
from ethermeter.entities import (
    charged_ps,
    lengths_of,
    senders,
    stations_in,
)
from ethermeter.faults import InputError
from ethermeter.framing import packet_octets
from ethermeter.nodes import links_in
from ethermeter.results.query import Results
from ethermeter.scenario import (
    CoderArrivals,
    OnOffArrivals,
    PoissonArrivals,
    RegularArrivals,
    SamplesLengths,
    Scenario,
    TraceArrivals,
)
from ethermeter.store import Recorder, RunDirectory, RunError, arrow
from ethermeter.store.files import remove_abandoned
from ethermeter.store.integrity import failed_in, read_provenance
from ethermeter.store.recorder import can_repeat, plan_hash_of, tidy
from ethermeter.studies import registry
from ethermeter.trial import LIVE, THEORY

if TYPE_CHECKING:
    from ethermeter.engines.live import Place
    from ethermeter.experiment import Experiment
    from ethermeter.plan import Plan
    from ethermeter.strategies import Strategy
    from ethermeter.studies.definition import Study
    from ethermeter.trial import Trial

RUNS = Path("runs")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    `done` of `trials` trials in the plan have a result, `before` of them from earlier sessions;
    `share` is the share of the work of this session that is done, 0 to 1, `elapsed_s` the time
    since its first trial began, and `phase` says which trials take long, and how far they are.
    """

    trials: int
    done: int
    share: float
    elapsed_s: float
    phase: str = ""
    before: int = 0

    @property
    def remaining_s(self) -> float | None:
        """Remaining time at the rate of this session, in s; None at its beginning."""
        return self.elapsed_s * (1 / self.share - 1) if self.share > 0 else None

    @property
    def share_of_all(self) -> float:
        """Share of the whole run that is done, earlier sessions included, 0 to 1."""
        earlier = self.before / self.trials if self.trials else 0.0
        return earlier + (1 - earlier) * self.share


@dataclass(frozen=True, slots=True)
class Execution:
    """How a plan is run; nothing in here changes a result.

    Parameters
    ----------
    jobs
        Threads, or the address of a Dask scheduler; None for a thread a processor.
    force
        Discard what is in the directory; an unfinished run is continued otherwise.
    command, seed
        For the provenance: what the person typed or called, and the seed of the plan in place of
        the experiments' own.
    study, live_study
        The published study that the run reproduces, or whose live tests these are.
    """

    jobs: int | str | None = None
    force: bool = False
    command: Sequence[str] = ()
    study: str | None = None
    seed: int | None = None
    live_study: str | None = None


def default_directory(work: "Plan | Strategy[object]") -> Path:
    """Where a plan or a strategy is run unless another directory is given: `runs/<name>-<hash>`."""
    return RUNS / f"{work.name}-{_hash_of(work)}"


def finished_run(
    directory: Path, work: "Plan | Strategy[object]", *, repeat: bool = False
) -> RunDirectory | None:
    """Return the finished run of this very plan or strategy in a directory, or None.

    With `repeat`, a run with failed trials that can be repeated is not finished.
    """
    if plan_hash_of(directory) != _hash_of(work) or (repeat and can_repeat(directory)):
        return None
    found = RunDirectory(directory)
    if not found.is_finished():
        return None
    found.verify_results()
    tidy(directory)
    return found


def _hash_of(work: "Plan | Strategy[object]") -> str:
    from ethermeter.plan import Plan

    if isinstance(work, Plan):
        return work.hash
    from ethermeter.strategies.strategy import question_hash

    return question_hash(work.question)


def execute(
    plan: "Plan",
    experiments: Sequence["Experiment"],
    *,
    directory: Path,
    options: Execution,
    follow: Callable[[Progress], None] | None = None,
    place: "Place | None" = None,
) -> RunDirectory:
    """Run every trial of a plan that has no result yet, and write the tables.

    Parameters
    ----------
    experiments
        The experiments the plan was made from; their text is kept with the run.
    follow
        Is called about ten times a second with the progress.
    place
        Where trials of the engine "live" are measured, after all others.

    Returns
    -------
    :
        The finished run. Trials that failed, because an agent was lost or a theory has a defect,
        are in its provenance, under `failed`.

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
    session = _Session(directory, options, experiments, follow, place)
    session.check(plan.name, plan.trials)
    with session.recording(plan):
        session.run(plan.trials)
        session.finish()
    return RunDirectory(directory)


def search(
    strategy: "Strategy[object]",
    *,
    directory: Path,
    options: Execution,
    follow: Callable[[Progress], None] | None = None,
    place: "Place | None" = None,
) -> RunDirectory:
    """Run the trials that a strategy proposes until it has an answer, and write tables and answer.

    They are appended to the plan in the run directory. Arguments and errors are those of `execute`;
    `RunDirectory.answer` of the finished run is what the strategy found.
    """
    import msgspec

    from ethermeter.plan import Plan
    from ethermeter.store.measured import read_text
    from ethermeter.strategies.strategy import Finished as Answered
    from ethermeter.strategies.strategy import Observed

    session = _Session(directory, options, strategy.experiments, follow, place)
    session.check(strategy.name, ())
    observed: list[Observed] = []
    with session.recording(Plan(strategy.name, ()), question=strategy.question) as recorder:
        while not isinstance(proposed := strategy.propose(observed), Answered):
            session.check(strategy.name, proposed)
            recorder.extend(proposed)
            session.run(proposed, expected=strategy.expected_trials)
            observed += [
                Observed(
                    trial,
                    Results.of_trial(trial, recorder.result(number)),
                    read_text(directory, trial.id) if trial.engine == LIVE else b"",
                )
                for number, trial in enumerate(proposed, len(observed))
            ]
        answer = msgspec.json.format(msgspec.json.encode(proposed.answer), indent=1)
        session.finish(answer + b"\n")
    return RunDirectory(directory)


def _check_functions(directory: Path) -> None:
    """Refuse to continue a run whose functions in Python this process lacks or has changed."""
    if not directory.is_dir():
        return
    for kind, name, sha256 in functions.read(read_provenance(directory).get("functions")):
        if fault := functions.fault_of(kind, name, sha256):
            allowed = "the function with which the run began, another directory (out), or force"
            raise InputError.of(str(directory), "functions", fault, allowed)


def _work(place: int, trial: "Trial") -> Work:
    return Work(place, trial.id, trial.line, trial.traces)


class _Session:
    """One process that runs trials into a run directory, with the arguments of `execute`."""

    def __init__(
        self,
        directory: Path,
        options: Execution,
        experiments: Sequence["Experiment"],
        follow: Callable[[Progress], None] | None,
        place: "Place | None",
    ) -> None:
        from ethermeter._core import version
        from ethermeter.engines.local import processors

        self._cluster = options.jobs if isinstance(options.jobs, str) else None
        self._jobs = options.jobs if isinstance(options.jobs, int) else processors()
        if self._jobs < 1:
            raise InputError.of_argument("jobs", str(self._jobs), "at least 1")
        self._directory, self._options = directory, options
        self._experiments, self._follow, self._place = experiments, follow, place
        self._version = version()
        self._begin_s = time.monotonic()
        self._trials: list[Trial] = []
        self._expected = 0
        self._own = 0  # trials that this session has to run, of those so far
        self._trials_begin_s: float | None = None
        self._done, self._effort, self._done_effort = 0, 0.0, 0.0
        self._failed: dict[str, str] = {}
        self._provenance: dict[str, object] = {}
        self._functions: list[functions.Key] = []

    def check(self, name: str, trials: "Sequence[Trial]") -> None:
        """Refuse trials that cannot be run: measured without a place, or by functions elsewhere."""
        used = functions.named_in({id(of): of for of in (t.scenario for t in trials)}.values())
        self._functions += [key for key in used if key not in self._functions]
        if used and self._cluster is not None:
            allowed = (
                "expected no cluster: only this process has the functions in Python of the trials,"
                f" {functions.listed(used)}"
            )
            raise InputError.of_argument("jobs", self._cluster, allowed)
        live = [_work(at, trial) for at, trial in enumerate(trials) if trial.engine == LIVE]
        if live and self._place is None:
            file = str(self._experiments[0].path) if self._experiments else name
            allowed = (
                f"measured by another command: ethermeter measure {file} --on testbed (in"
                " namespaces), --on hosts.toml, or --on loopback"
            )
            raise InputError.of(file, "run.engines", '"live"', allowed)
        if self._place is not None:
            self._place.check(live)

    @contextmanager
    def recording(self, plan: "Plan", *, question: str | None = None) -> Iterator[Recorder]:
        """Hold the run directory, and begin its provenance."""
        options, names = self._options, names_of(self._experiments)
        if not options.force:
            _check_functions(self._directory)
        with Recorder(
            self._directory,
            plan,
            experiments={name: each.source_text for name, each in names.items()},
            version=self._version,
            question=question,
            force=options.force,
        ) as self._recorder:
            seeds = {name: each.seed for name, each in names.items()}
            began = provenance.begun(
                ethermeter=self._version,
                plan_name=plan.name,
                plan_hash=self._recorder.plan_hash,
                trials=len(plan.trials),
                seeds=seeds if options.seed is None else dict.fromkeys(seeds, options.seed),
                command=options.command,
                jobs=self._jobs,
                cluster=self._cluster,
            ) | {"study": options.study}
            if self._place is not None:
                began |= {"measured": self._place.name}
                began |= {"live_study": options.live_study} if options.live_study else {}
            tables = {
                table: sha256
                for each in self._experiments
                for table, sha256 in each.written.tables.items()
            }
            began |= {"tables": tables} if tables else {}
            if self._functions:
                began |= {"functions": functions.written(self._functions)}
            before = self._recorder.provenance()
            self._provenance = provenance.resumed(began, before) if before else began
            self._failed = failed_in(before)
            self._recorder.write_provenance(self._provenance | self._failures)
            yield self._recorder

    def run(self, trials: "Sequence[Trial]", *, expected: int = 0) -> None:
        """Run trials that were just added to the plan and have no result yet.

        About `expected` are run in all.
        """
        self._trials += trials
        self._expected = max(expected, len(self._trials))
        pending = [_work(at, self._trials[at]) for at in self._recorder.pending]
        self._done = len(self._trials) - len(pending)
        self._own += len(pending)
        if pending and self._trials_begin_s is None:
            self._trials_begin_s = time.monotonic()
        effort, known = {}, dict[tuple[int, str], float]()
        for work in pending:
            trial = self._trials[work.place]
            key = id(trial.scenario), trial.engine  # replications of a point have one scenario
            if key not in known:
                known[key] = effort_of(trial)
            effort[work.place] = known[key]
        self._effort += sum(effort.values())
        live = [work for work in pending if self._trials[work.place].engine == LIVE]
        others = [work for work in pending if self._trials[work.place].engine != LIVE]
        self._simulate(others, effort)
        if live:
            self._measure(live, effort)

    def _simulate(self, pending: Sequence[Work], effort: Mapping[int, float]) -> None:
        seen_s: dict[int, float] = {}  # since when each trial has been under way
        with closing(
            _results(pending, jobs=self._jobs, cluster=self._cluster, version=self._version)
        ) as results:
            for result in results:
                if not isinstance(result, UnderWay):
                    self._record(result, effort, result.result.failure)
                    continue
                if not seen_s:
                    arrow.load()  # while trials are under way
                self._recorder.flush_if_due()
                now_s = time.monotonic()
                seen_s = {place: seen_s.get(place, now_s) for place in result.shares}
                long = {
                    place: share
                    for place, share in result.shares.items()
                    if now_s - seen_s[place] >= LONG_TRIAL_S
                }
                self._tell(
                    sum(share * effort[place] for place, share in result.shares.items()),
                    self._long_trials(long),
                )

    def _measure(self, pending: Sequence[Work], effort: Mapping[int, float]) -> None:
        assert self._place is not None
        with closing(self._place.run(pending, self._directory)) as measured:
            for seen in measured:
                if not isinstance(seen, Finished):
                    self._recorder.flush_if_due()
                    self._tell(
                        seen.share * effort[seen.place],
                        f"trial {self._trials[seen.place].id}, {seen.phase}",
                    )
                    continue
                self._record(seen, effort, getattr(seen, "why", None))

    def _record(self, result: Finished, effort: Mapping[int, float], why: str | None) -> None:
        """Record a trial; `why` it failed, if it did."""
        trial = self._trials[result.place].id
        if why is not None:
            self._failed[trial] = why
            # What is no longer listed as failed must have its result on disk.
            self._recorder.flush()
            self._recorder.write_provenance(self._provenance | self._failures)
        else:
            self._failed.pop(trial, None)
        self._recorder.record(result.place, result.result)
        self._done += 1
        self._done_effort += effort[result.place]
        self._tell()

    def finish(self, answer: bytes | None = None) -> None:
        """Write the tables, and the answer of a strategy."""
        self._recorder.flush()
        self._expected = len(self._trials)
        self._tell(phase="writing the tables")
        self._recorder.finish(
            provenance.finished(
                self._provenance | {"trials": len(self._trials)} | self._failures,
                wall_s=time.monotonic() - self._begin_s,
                core_s=self._recorder.core_s,
                events=self._recorder.events,
                implementations=self._recorder.implementations,
            ),
            answer=answer,
        )

    @property
    def _failures(self) -> dict[str, object]:
        return {"failed": self._failed} if self._failed else {}

    def _tell(self, under_way: float = 0.0, phase: str = "") -> None:
        if self._follow is not None:
            before = len(self._trials) - self._own
            share = (self._done_effort + under_way) / self._effort if self._effort else 0.0
            # Of the trials that a strategy will still propose, those so far stand for the others.
            share = min(1.0, share) * self._own / max(1, self._expected - before)
            share = share if self._own or before < self._expected else 1.0
            began_s = self._trials_begin_s
            spent_s = 0.0 if began_s is None else time.monotonic() - began_s
            self._follow(Progress(self._expected, self._done, share, spent_s, phase, before))

    def _long_trials(self, shares: Mapping[int, float]) -> str:
        """Name trials that have been under way for long, with their shares."""
        named = [
            f"trial {self._trials[place].id} at {share:.0%}"
            for place, share in sorted(shares.items())[:MOST_NAMED]
        ]
        more = len(shares) - MOST_NAMED
        return ", ".join([*named, *([f"{more} more under way"] if more > 0 else [])])


def evaluate(
    directory: Path,
    *,
    report: bool = True,
    anew: bool = True,
    follow: Callable[[str], None] | None = None,
) -> dict[str, Path]:
    """Write what is derived from the observations of a finished run.

    These are the estimates, the claims if it reproduces a study, and the report.

    Parameters
    ----------
    report
        Whether to write the report.
    anew
        Whether to write what is already there, and was not altered, once more.
    follow
        Is called with what is done next, such as "writing estimates.json".

    Returns
    -------
    :
        Path of `estimates`, `positions`, `claims`, `live_claims` and `report`, of those that there
        are.

    Raises
    ------
    InputError
        If the run is unfinished, or a file of it is damaged that cannot be made again.
    RunError
        If something cannot be written.
    """
    run = RunDirectory(directory)
    if not run.is_finished():
        allowed = "a finished run; the command that began it continues it"
        raise InputError.of(str(directory), "run", "unfinished, by its provenance.json", allowed)
    tell = follow or (lambda _: None)
    tell("reading the run")
    run.verify_results()
    remove_abandoned(directory)
    study, live_study = (_study(run.provenance().get(key)) for key in ("study", "live_study"))
    steps: dict[str, Callable[[Path], Path] | None] = {
        "estimates.json": _written_by("results.estimates.write"),
        "positions.json": _written_by(
            "analysis.positions.write", is_wanted=study and study.has_positions
        ),
        "claims.json": study.write_claims if study else None,
        "live-claims.json": (
            live_study.write_measured if live_study and live_study.measured is not None else None
        ),
        "report.html": _written_by("studies.pages.write_report", is_wanted=report),
    }
    written = {}
    for file, write in steps.items():
        if write is None:
            continue
        there = directory / file
        try:
            if anew or not run.is_kept(file):
                tell(f"writing {file}")
                write(directory)
            written[there.stem.replace("-", "_")] = there
        except OSError as error:
            why = f"{error.strerror or error}; the observations are kept"
            raise RunError(f"cannot write {error.filename or there}: {why}") from error
    return written


def _study(name: object) -> "Study | None":
    return registry.find(str(name)) if name in registry.names() else None


def _written_by(function: str, *, is_wanted: object = True) -> Callable[[Path], Path] | None:
    """Return what writes a derived file, loaded on demand; None if it is not wanted."""

    def write(directory: Path) -> Path:
        module, _, name = function.rpartition(".")
        path: Path = getattr(import_module(f"ethermeter.{module}"), name)(directory)
        return path

    return write if is_wanted else None


def names_of(experiments: Sequence["Experiment"]) -> dict[str, "Experiment"]:
    """Give every experiment the name of its file, numbered where two are called the same."""
    names: dict[str, Experiment] = {}
    for experiment in experiments:
        name, number = Path(experiment.path).stem, 2
        while name in names:
            name, number = f"{Path(experiment.path).stem}-{number}", number + 1
        names[name] = experiment
    return names


EFFORT_PER_S = 1e6
LONG_TRIAL_S = 2.0
"""A trial that takes longer is named in the progress, with its share."""
MOST_NAMED = 2
"""Trials named at once."""


def effort_of(trial: "Trial") -> float:
    """Roughly how long a trial takes compared with others; used only for the remaining time.

    One, and the packets that fit into the simulated time, each heard by every station, or the
    messages that flows offer. A measurement takes its own time, that of a simulation of
    `EFFORT_PER_S` of these.
    """
    if trial.engine == LIVE:
        from ethermeter.engines.live import duration_s

        return duration_s(trial.scenario) * EFFORT_PER_S
    if trial.engine.startswith(THEORY):
        return 1.0
    return 1.0 + _effort_on_medium(trial.scenario) + _effort_of_flows(trial.scenario)


def _effort_on_medium(scenario: Scenario) -> float:
    """Packets that fit into the time, each heard by every station."""
    time_ps = scenario.phases.end_ps - scenario.phases.begin_ps
    return sum(
        time_ps / charged_ps(scenario, min(lengths_of(group.flow.frames)[0]))
        for group in senders(scenario)[:1]
    ) * (1 + stations_in(scenario))


def _effort_of_flows(scenario: Scenario) -> float:
    """Messages that the flows offer at most, each of which passes several stages."""
    time_ps = scenario.phases.end_ps - scenario.phases.begin_ps
    octet_ps = min((link.ps_per_octet for link in links_in(scenario)), default=0)
    total = 0.0
    for flow in scenario.flows:
        if not flow.to:
            continue
        if flow.transfer is not None:
            moves = flow.transfer.job.file or flow.transfer.job.stream
            most = time_ps / octet_ps
            octets = most if moves is None or moves.octets is None else min(moves.octets, most)
            total += octets / packet_octets(flow.transfer)
            continue
        shortest = min(lengths_of(flow.frames)[0])
        between_ps = 0.0
        match flow.arrivals, flow.frames:
            case CoderArrivals() as coder, SamplesLengths() as frames:
                samples = (shortest - frames.overhead_bits) / coder.sample_bits
                between_ps = max(1.0, samples) * coder.sample_ps
            case (
                PoissonArrivals(mean_ps=every_ps)
                | RegularArrivals(period_ps=every_ps)
                | TraceArrivals(mean_ps=every_ps)
                | OnOffArrivals(period_ps=every_ps),
                _,
            ):
                between_ps = every_ps
        wire_ps = (shortest / 8 + 20) * octet_ps
        total += time_ps / max(between_ps, wire_ps) * len(flow.to)
    return float(total)


def _results(
    pending: Sequence[Work], *, jobs: int, cluster: str | None, version: str
) -> Generator[Finished | UnderWay, None, None]:
    if cluster is None:
        from ethermeter.engines import local

        return local.run(pending, jobs=jobs)
    from ethermeter.engines import cluster as engine

    return engine.run(pending, address=cluster, version=version)


__all__ = [
    "Execution",
    "Progress",
    "RunError",
    "TrialError",
    "default_directory",
    "evaluate",
    "execute",
    "finished_run",
    "search",
]
