"""Trials on the workers of a Dask cluster. The extra `ethermeter[cluster]` brings what it needs."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from ethermeter.engines.answer import answer as run_trial
from ethermeter.engines.work import (
    Finished,
    LostClusterError,
    TrialError,
    UnderWay,
    Work,
    failure,
)
from ethermeter.entities import flows_in, stations_in
from ethermeter.faults import InputError
from ethermeter.store.columns import FLOWS, STATIONS
from ethermeter.store.trial_result import TrialResult
from ethermeter.traces import Trace
from ethermeter.trial import digest_of, read_trial

HEARTBEAT_S = 0.1
CONNECT_S = 10
ANSWER_S = 20
"""Time in which the scheduler, and some worker, must give a sign of life."""
LOOK_S = 2
"""Time between looks for such signs."""
TASKS_A_WORKER = 16
"""At least so many tasks for every worker, so that all stay busy to the end and a lost one costs
little.
"""
TRIALS_A_TASK = 32
SUBMISSIONS = 5
"""Times a task is submitted: again if the cluster gave it up because its workers died, or gives no
result of it because the worker that has it does not answer.
"""

T = TypeVar("T")


def run(
    trials: Sequence[Work],
    *,
    address: str,
    version: str,
    simulate: Callable[..., TrialResult] = run_trial,
) -> Generator[Finished | UnderWay, None, None]:
    """Run trials on a Dask cluster, as `ethermeter.engines.local.run`.

    A trial's result depends on its line alone, so that it is the same as on any other machine; it
    bears the digest of this line, and no other is taken.

    Parameters
    ----------
    address
        Address of the scheduler, such as `tcp://host:8786`.
    version
        Version of ethermeter here; every worker must have the same.

    Raises
    ------
    InputError
        If the extra is not installed.
    LostClusterError
        If the connection to the scheduler is lost, or it or all workers give no sign of life for
        `ANSWER_S`.
    TrialError
        If the scheduler cannot be reached, has no worker or one of another version, a trial breaks
        off, or a worker answers something else than the results of the trials that it was given.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        allowed = "needs the extra: pip install 'ethermeter[cluster]'"
        raise InputError.of_argument("jobs", address, allowed) from None
    client = _connect(distributed, address)
    try:
        workers = _check_workers(client, address, version)
        size = max(1, min(TRIALS_A_TASK, len(trials) // (workers * TASKS_A_WORKER)))
        tasks = [trials[begin : begin + size] for begin in range(0, len(trials), size)]

        traces = {sha256: work.traces[sha256] for work in trials for sha256 in work.traces}
        # Once to the cluster, and not with every task.
        shared = (
            _bounded(lambda: client.scatter(traces, hash=False, broadcast=True), address)
            if traces
            else traces
        )

        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        under_way: dict[Any, tuple[Sequence[Work], int]] = {}
        pulse = _Pulse(client, address)

        def submit(task: Sequence[Work], submission: int) -> None:
            # Not pure: Dask would otherwise take the results of an earlier run with the same lines
            # from its memory.
            # What workers held that died is sent again.
            of_task = shared if submission == 1 else traces
            lines = [work.line for work in task]
            future = client.submit(_run_task, simulate, lines, of_task, pure=False)
            under_way[future] = (task, submission)
            future.add_done_callback(ended.put)

        for task in tasks:
            submit(task, 1)
        while under_way:
            pulse.feel()
            try:
                future = ended.get(timeout=HEARTBEAT_S)
            except queue.Empty:
                yield UnderWay({})
                continue
            task, submission = under_way.pop(future)
            try:
                results = _bounded(future.result, address)
            except (distributed.KilledWorker, CancelledError, _UnansweredError) as error:
                pulse.feel()  # without its scheduler a client cancels what it waits for
                if submission == SUBMISSIONS:
                    is_lost = isinstance(error, LostClusterError)
                    raise error if is_lost else failure(task, error) from error
                submit(task, submission + 1)
                continue
            except Exception as error:
                raise failure(task, error) from error
            if wrong := _wrong_with(task, results):
                (holders,) = _bounded(partial(client.who_has, [future]), address).values()
                raise failure(task, ValueError(f"worker {', '.join(holders)} {wrong}"))
            for work, result in zip(task, results, strict=True):
                yield Finished(work.place, result)
    finally:
        with suppress(Exception):
            client.close(timeout=1)


def _run_task(
    simulate: Callable[..., TrialResult], lines: Sequence[str], traces: Mapping[str, Trace]
) -> list[TrialResult]:
    """Run a few trials; this is what a worker does."""
    return [
        simulate(line, traces={sha256: traces[sha256] for sha256 in traces if sha256 in line})
        for line in lines
    ]


def _wrong_with(task: Sequence[Work], results: object) -> str:
    """Say what is wrong with the answer of a worker to a task; empty if nothing."""
    if not isinstance(results, list):
        return f"answered {type(results).__name__} in place of results"
    if len(results) != len(task):
        return f"answered {len(results)} of {len(task)} trials"
    for work, result in zip(task, results, strict=True):
        if not isinstance(result, TrialResult):
            return f"answered {type(result).__name__} in place of the result of {work.id}"
        # That of an older version has none.
        if getattr(result, "digest", None) != digest_of(work.line):
            return f"answered the result of another trial for {work.id}"
        trial = read_trial(work.line)
        assert not isinstance(trial, str), "a line of the plan is a trial"
        counts = {STATIONS: stations_in(trial.scenario), FLOWS: flows_in(trial.scenario)}
        for name, expected in counts.items():
            if (rows := result.rows(name)) not in (0, expected):
                return f"answered {rows} of {expected} {name} for {work.id}"
        if not result.is_sound:
            return f"answered tables with columns of unequal lengths for {work.id}"
    return ""


class _Pulse:
    """Looks whether a scheduler, and any of its workers, is alive."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._felt_s = self._looked_s = time.monotonic()
        self._scheduler_s = self._workers_s = self._felt_s  # of the last sign of life
        self._look: Future[Any] | None = None
        self._seen: dict[str, object] = {}

    def feel(self) -> None:
        """Raise LostClusterError without a sign of life for `ANSWER_S`; to be called often."""
        if self._client.status != "running":
            raise _lost(self._address, "the connection to the scheduler is lost")
        now_s = time.monotonic()
        if (away_s := now_s - self._felt_s) > LOOK_S:  # this process was held up itself
            self._scheduler_s += away_s
            self._workers_s += away_s
        self._felt_s = now_s
        if self._look is None and now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            self._look = _begun(self._client, self._client.scheduler.identity())
        if self._look is not None and self._look.done():
            found, self._look = self._look, None
            with suppress(OSError):
                # A worker tells the scheduler about itself every second or so, busy or not.
                workers = found.result()["workers"].items()
                seen = {worker: about["last_seen"] for worker, about in workers}
                self._scheduler_s = now_s
                if any(self._seen.get(worker) != at for worker, at in seen.items()):
                    self._workers_s = now_s
                self._seen = seen
        if now_s - self._scheduler_s > ANSWER_S:
            raise _lost(self._address, f"the scheduler has not answered for {ANSWER_S} s")
        if now_s - self._workers_s > ANSWER_S:
            raise _lost(self._address, f"no worker has given a sign of life for {ANSWER_S} s")


def _begun(client: Any, asked: Coroutine[Any, Any, T]) -> "Future[T]":
    """Begin to ask the scheduler something."""
    return asyncio.run_coroutine_threadsafe(asked, client.loop.asyncio_loop)


class _UnansweredError(LostClusterError):
    """A call of the client that had no answer in `ANSWER_S`."""


def _bounded(ask: Callable[[], T], address: str) -> T:
    """Return what a call of the client returns, which has no limit of time of its own.

    Raises _UnansweredError after `ANSWER_S`.
    """
    found: queue.SimpleQueue[tuple[T] | BaseException] = queue.SimpleQueue()

    def asked() -> None:
        try:
            found.put((ask(),))
        except BaseException as error:
            found.put(error)

    threading.Thread(target=asked, daemon=True).start()
    try:
        outcome = found.get(timeout=ANSWER_S)
    except queue.Empty:
        raise _lost(
            address, f"a worker has not answered for {ANSWER_S} s", _UnansweredError
        ) from None
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome[0]


def _lost(
    address: str, what: str, kind: type[LostClusterError] = LostClusterError
) -> LostClusterError:
    return kind(f"cluster {address}: {what}; finished trials are kept")


def _connect(distributed: Any, address: str) -> Any:
    try:
        # No other client shall find this one by chance, hence not the default of the process.
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        cause = (str(error).splitlines() or ["unknown"])[0]
        raise TrialError(f"cluster {address}: no scheduler answers there: {cause}") from error


def _check_workers(client: Any, address: str, version: str) -> int:
    """Wait for a worker, see that all have our version, and return how many there are."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
    except TimeoutError as error:
        raise TrialError(f"cluster {address}: the scheduler has no worker") from error
    answers = _bounded(lambda: client.run(_version, on_error="return"), address)
    # A worker that dies while it is asked is lost like one that dies later: the others take its
    # work.
    answers = {
        worker: answer for worker, answer in answers.items() if not isinstance(answer, OSError)
    }
    for worker, answer in answers.items():
        if isinstance(answer, BaseException):
            cause = (str(answer).splitlines() or ["unknown"])[0]
            raise TrialError(f"cluster {address}: a worker has no ethermeter: {cause}") from answer
        if answer != version:
            raise TrialError(
                f"cluster {address}: worker {worker} has ethermeter {answer}, here it is {version}"
            )
    if not answers:
        raise TrialError(f"cluster {address}: no worker answers")
    return len(answers)


def _version() -> str:
    from ethermeter import _core

    return _core.version()
