"""Trials on the threads of this machine."""

import os
import queue
import threading
from collections.abc import Callable, Generator, Sequence

from ethermeter.engines.answer import answer
from ethermeter.engines.work import Finished, Work, failure
from ethermeter.store.rows import TrialRows

HEARTBEAT_S = 0.1


def processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(trials: Sequence[Work], *, jobs: int, simulate: Callable[[str], TrialRows] = answer) -> Generator[Finished | None, None, None]:
    """Run trials on threads; the compiled core lets go of the interpreter, so they really run side by side.

    Parameters
    ----------
    trials
        What is to be run; begun in this order.
    jobs
        Threads, at least 1.
    simulate
        From a trial's line to its rows.

    Yields
    ------
    :
        Every trial as it finishes, in any order; and None at least every 0.1 s in between, so that the caller can keep house.

    Raises
    ------
    TrialError
        If a trial breaks off. Those under way are then abandoned, as they are when the caller closes the iterator or is interrupted.

    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    todo: queue.SimpleQueue[Work] = queue.SimpleQueue()
    for work in trials:
        todo.put(work)
    done: queue.SimpleQueue[Finished | tuple[Work, BaseException]] = queue.SimpleQueue()
    stop = threading.Event()

    def labour() -> None:
        while not stop.is_set():
            try:
                work = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(Finished(work.place, simulate(work.line)))
            except BaseException as error:
                done.put((work, error))
                return

    # Daemons: a trial cannot be interrupted, and who presses Ctrl-C shall not wait for it.
    threads = [threading.Thread(target=labour, name=f"trials-{number}", daemon=True) for number in range(min(jobs, len(trials)))]
    for thread in threads:
        thread.start()
    try:
        for _ in trials:
            while True:
                try:
                    outcome = done.get(timeout=HEARTBEAT_S)
                except queue.Empty:
                    yield None
                else:
                    break
            if not isinstance(outcome, Finished):
                raise failure(*outcome) from outcome[1]
            yield outcome
    finally:
        stop.set()
