"""Trials on the workers of a Dask cluster. The extra `ethermeter[cluster]` brings what it needs."""

import queue
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from typing import Any

from ethermeter.engines.answer import answer as run_trial
from ethermeter.engines.work import Finished, TrialError, UnderWay, Work, failure
from ethermeter.faults import InputError
from ethermeter.store.rows import TrialRows
from ethermeter.traces import Trace

HEARTBEAT_S = 0.1
CONNECT_S = 10
TASKS_A_WORKER = 16
"""At least so many tasks for every worker, so that all stay busy to the end and a lost one costs
little.
"""
TRIALS_A_TASK = 32
SUBMISSIONS = 5
"""Times a task is handed out anew after the cluster gave it up because its workers died."""


def run(
    trials: Sequence[Work],
    *,
    address: str,
    version: str,
    simulate: Callable[..., TrialRows] = run_trial,
) -> Generator[Finished | UnderWay, None, None]:
    """Run trials on a Dask cluster, as `ethermeter.engines.local.run`.

    A trial's rows depend on its line alone, so that they are the same as on any other machine.

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
    TrialError
        If the scheduler cannot be reached, has no worker or one of another version, or a trial
        breaks off.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError.of(
            "command line",
            "--cluster",
            address,
            "needs the extra: pip install 'ethermeter[cluster]'",
        ) from None
    client = _connect(distributed, address)
    try:
        workers = _check_workers(client, address, version)
        size = max(1, min(TRIALS_A_TASK, len(trials) // (workers * TASKS_A_WORKER)))
        tasks = [trials[begin : begin + size] for begin in range(0, len(trials), size)]

        traces = {sha256: work.traces[sha256] for work in trials for sha256 in work.traces}
        # Once to the cluster, and not with every task.
        shared = client.scatter(traces, hash=False, broadcast=True) if traces else traces

        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        under_way: dict[Any, tuple[Sequence[Work], int]] = {}

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
            try:
                future = ended.get(timeout=HEARTBEAT_S)
            except queue.Empty:
                yield UnderWay({})
                continue
            task, submission = under_way.pop(future)
            try:
                rows = future.result()
            except (distributed.KilledWorker, CancelledError) as error:
                if submission == SUBMISSIONS:
                    raise failure(task, error) from error
                submit(task, submission + 1)
                continue
            except Exception as error:
                raise failure(task, error) from error
            for work, its_rows in zip(task, rows, strict=True):
                yield Finished(work.place, its_rows)
    finally:
        with suppress(Exception):
            client.close(timeout=1)


def _run_task(
    simulate: Callable[..., TrialRows], lines: Sequence[str], traces: Mapping[str, Trace]
) -> list[TrialRows]:
    """Run a few trials; this is what a worker does."""
    return [
        simulate(line, traces={sha256: traces[sha256] for sha256 in traces if sha256 in line})
        for line in lines
    ]


def _connect(distributed: Any, address: str) -> Any:
    try:
        # No other client shall find this one by chance, hence not the default of the process.
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        cause = (str(error).splitlines() or ["unknown"])[0]
        raise TrialError(f"--cluster {address}: no scheduler answers there: {cause}") from error


def _check_workers(client: Any, address: str, version: str) -> int:
    """Wait for a worker, see that all have our version, and return how many there are."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
    except TimeoutError as error:
        raise TrialError(f"--cluster {address}: the scheduler has no worker") from error
    answers = client.run(_version, on_error="return")
    # A worker that dies while it is asked is lost like one that dies later: the others take its
    # work.
    answers = {
        worker: answer for worker, answer in answers.items() if not isinstance(answer, OSError)
    }
    for worker, answer in answers.items():
        if isinstance(answer, BaseException):
            cause = (str(answer).splitlines() or ["unknown"])[0]
            raise TrialError(
                f"--cluster {address}: a worker has no ethermeter: {cause}"
            ) from answer
        if answer != version:
            raise TrialError(
                f"--cluster {address}: worker {worker} has ethermeter {answer}, "
                f"here it is {version}"
            )
    if not answers:
        raise TrialError(f"--cluster {address}: no worker answers")
    return len(answers)


def _version() -> str:
    from ethermeter import _core

    return _core.version()
