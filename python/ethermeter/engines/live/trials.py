"""Trials: tests between agents one after the other, each with its whole result kept."""

import datetime
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import DecodeError
from msgspec.json import decode

from ethermeter.engines.live import segments
from ethermeter.engines.live.description import LINGER_NS, describe, hosts_of
from ethermeter.engines.live.laboratory import Laboratory
from ethermeter.engines.live.observed import observe
from ethermeter.engines.live.segments import Emulated, of_hosts
from ethermeter.engines.live.switches import Around
from ethermeter.engines.work import Finished, TrialError, Work, failure
from ethermeter.faults import Fault, InputError
from ethermeter.live_reports import HostAnswer
from ethermeter.scenario import Scenario
from ethermeter.store.files import LIVE, write_whole
from ethermeter.store.measured import COMPLETE
from ethermeter.store.result import Result, read
from ethermeter.store.trial_result import failed
from ethermeter.trial import Trial, read_trial

if TYPE_CHECKING:
    import threading

FOLDER = LIVE
"""Folder of a run directory with the result of every test, as `<trial id>.json`."""
AROUND_S = 0.8
"""Time of a test besides its phases: connections, consent, a common beginning, results."""
AGENT_LOST = "agent-lost"


@dataclass(frozen=True, slots=True)
class Underway:
    """Progress of the trial that is being measured, by its index in the plan.

    The phase is connecting, arranging, settle, transmit, measure, drain or collecting, or, before a
    first trial, how long hosts still warm up; the share of the trial that is done is from 0 to 1.
    """

    place: int
    phase: str
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class FailedTrial(Finished):
    """A trial that began and was not measured to its end, because an agent was lost."""

    why: str


def duration_s(scenario: Scenario) -> float:
    """About how long measuring a trial takes, in s."""
    return scenario.phases.end_ps / 1e12 + LINGER_NS / 1e9 + AROUND_S


def trial_of(work: Work) -> Trial:
    """Return the trial of a work item; InputError if its line is not a trial."""
    found = read_trial(work.line)
    if isinstance(found, str):
        raise InputError.of("plan", work.id, work.line[:200], found)
    return replace(found, traces=work.traces) if work.traces else found


def check(trials: Sequence[Work], laboratory: Laboratory) -> None:
    """Refuse trials that cannot be measured in a laboratory, before anything runs.

    Raises InputError with every fault of the trials, each once.
    """
    from ethermeter import _core

    faults: dict[Fault, None] = {}
    for work in trials:
        try:
            trial = trial_of(work)
            segments.check(trial)
            test = describe(trial, laboratory, {})
            _core.check_test(test)
        except InputError as error:
            faults |= dict.fromkeys(error.faults)
        except ValueError as error:
            faults |= dict.fromkeys(_refused(work.id, line) for line in str(error).splitlines())
        if len(faults) > MOST_FAULTS:
            break
    if faults:
        raise InputError(list(faults)[:MOST_FAULTS])


MOST_FAULTS = 50


def _refused(trial: str, line: str) -> Fault:
    key, _, allowed = line.partition(": ")
    name, _, value = key.partition(" = ")
    return Fault(trial, name, value or "(as it is)", allowed or line)


def run(
    trials: Sequence[Work], laboratory: Laboratory, directory: Path
) -> Generator[Finished | Underway, None, None]:
    """Measure trials one after the other, and keep the result of each test in the run directory.

    Yields the progress of the trial, about ten times a second, and each trial at its end: as
    `FailedTrial` if an agent was lost in it. Raises TrialError if a trial cannot begin: an agent
    cannot be reached, or refuses.
    """
    for work in trials:
        yield from _measured(work, laboratory, directory)


def warm_up(work: Work, laboratory: Laboratory) -> Generator[Underway, None, None]:
    """Let hosts do what a trial does for as long as it says, and drop what they count.

    Whole tests, one after the other, so the last one may take longer. Yields how long it still
    takes. Raises TrialError as `run` does, and if an agent is lost.
    """
    begun_s = time.monotonic()
    length_s = trial_of(work).settings().warm_up_ps / 1e12

    def left_s() -> float:
        return begun_s + length_s - time.monotonic()

    while left_s() > 0:
        for seen in _tests(work, laboratory):
            if isinstance(seen, Underway):
                left = datetime.timedelta(seconds=max(0, round(left_s())))
                yield Underway(work.place, f"warm-up, {left} left", 0.0)
            elif seen[1].outcome != COMPLETE:
                raise TrialError(f"warm-up of trial {work.id}: {seen[1].failure}")


def _measured(
    work: Work, laboratory: Laboratory, directory: Path
) -> Generator[Finished | Underway, None, None]:
    begun_s = time.monotonic()
    for seen in _tests(work, laboratory):
        if isinstance(seen, Underway):
            yield seen
            continue
        text, result = seen
        write_whole(directory / FOLDER / f"{work.id}.json", text.decode() + "\n", within=directory)
        took_s = time.monotonic() - begun_s
        if result.outcome == COMPLETE:
            has_wires = laboratory.has_wires
            found = observe(trial_of(work), result, took_s=took_s, has_wires=has_wires)
            yield Finished(work.place, found)
        elif result.outcome == AGENT_LOST:
            yield FailedTrial(work.place, replace(failed(), core_s=took_s), result.failure)
        else:
            raise TrialError(f"trial {work.id}: {result.outcome}")


def _tests(
    work: Work, laboratory: Laboratory
) -> Generator[Underway | tuple[bytes, Result], None, None]:
    """Run the test of a trial; yield its progress, and at last its result, as JSON and read."""
    import queue
    import threading

    trial = trial_of(work)
    clock = _Clock(trial.scenario)
    done: queue.SimpleQueue[tuple[bytes, Result] | BaseException] = queue.SimpleQueue()
    stop = threading.Event()

    def measure() -> None:
        try:
            done.put(_tested(trial, laboratory, clock, stop))
        except BaseException as error:
            done.put(error)

    # A daemon thread, named for the command line: a second Ctrl-C does not wait for it.
    thread = threading.Thread(target=measure, name=f"trials-live-{work.place}", daemon=True)
    thread.start()
    try:
        while True:
            try:
                outcome = done.get(timeout=0.1)
                break
            except queue.Empty:
                yield Underway(work.place, *clock.reading())
    except (KeyboardInterrupt, GeneratorExit):
        # The agents are stopped; their counts are dropped, for a trial is complete or has none.
        stop.set()
        with suppress(KeyboardInterrupt):
            thread.join()
        raise
    thread.join()
    if isinstance(outcome, BaseException):
        raise failure(work, outcome) from outcome
    yield outcome


def _tested(
    trial: Trial, laboratory: Laboratory, clock: "_Clock", stop: "threading.Event"
) -> tuple[bytes, Result]:
    """Run the test of a trial; return its result, as JSON and read."""
    from ethermeter import _core

    answers = {
        name: decode(text, type=HostAnswer)
        for name, text in laboratory.ask(hosts_of(of_hosts(trial).scenario)).items()
    }
    for name, answer in answers.items():
        if answer.error:
            raise TrialError(f"{name}: {answer.error}")

    emulated = Emulated(laboratory.bed, trial)

    def follow(stage: str | None, begin_ns: int | None) -> bool:
        if stage is not None:
            clock.enter(stage, begin_ns)
        if begin_ns is not None:
            emulated.begin(begin_ns)
        return bool(stop.is_set())

    test = describe(trial, laboratory, answers)
    around = None if laboratory.bed is None else Around(laboratory.bed)
    text = _core.measure_test(
        test, credentials=laboratory.credentials, namespace=laboratory.namespace, follow=follow
    ).encode()
    media = emulated.end()
    if around is not None:
        text = around.extended(text, emulated.dropped(media))
    text = emulated.extended(text, media)
    try:
        return text, read(text)
    except DecodeError as error:
        raise TrialError(f"result of a test: {error}") from error


class _Clock:
    """Progress of a trial, by the stages of the coordinator and the time since they began."""

    def __init__(self, scenario: Scenario) -> None:
        phases = scenario.phases
        marks = (
            ("settle", 0),
            ("transmit", phases.begin_ps),
            ("measure", phases.measure_from_ps),
            ("transmit", phases.measure_to_ps),
            ("drain", phases.stop_ps),
        )
        self._phases = [(word, at_ps / 1e12) for word, at_ps in marks]
        self._whole_s = duration_s(scenario)
        self._stage, self._since_s = "connecting", time.monotonic()
        self._began_s = self._since_s

    def enter(self, stage: str, begin_ns: int | None) -> None:
        """Enter a stage; phases count from the time at which the agents begin."""
        since_s = time.monotonic() if begin_ns is None else begin_ns / 1e9
        self._stage, self._since_s = stage, since_s

    def reading(self) -> tuple[str, float]:
        """Return the phase, and the share that is done."""
        now_s = time.monotonic()
        word = self._stage
        if word == "running":
            since_s = now_s - self._since_s
            word = ["settle", *(name for name, at_s in self._phases if since_s >= at_s)][-1]
        return word, min(1.0, (now_s - self._began_s) / self._whole_s)
