"""Trials on the threads of this machine."""

import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress

from ethermeter import functions
from ethermeter._core import Watch
from ethermeter.engines.answer import answer
from ethermeter.engines.work import Finished, UnderWay, Work, failure
from ethermeter.store.trial_result import TrialResult

HEARTBEAT_S = 0.1
STOP_S = 0.5
"""Time that trials under way are given to stop; simulations take milliseconds."""


def processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    trials: Sequence[Work], *, jobs: int, simulate: Callable[..., TrialResult] = answer
) -> Generator[Finished | UnderWay, None, None]:
    """Run trials on threads, in parallel: the compiled core releases the interpreter.

    Yields every trial as it finishes, in any order; and `UnderWay` at least every 0.1 s in between,
    so that the caller can keep house. `simulate` goes from a trial's line to its result, with the
    arguments of `answer`, and may be stopped through the watch.

    Raises TrialError if a trial breaks off. Those under way are then stopped, as they are when the
    caller closes the iterator or is interrupted.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    todo: queue.SimpleQueue[Work] = queue.SimpleQueue()
    for work in trials:
        todo.put(work)
    done: queue.SimpleQueue[Finished | tuple[Work, BaseException]] = queue.SimpleQueue()
    stop = threading.Event()
    watches: dict[int, Watch] = {}

    def labour() -> None:
        while not stop.is_set():
            try:
                work = todo.get_nowait()
            except queue.Empty:
                return
            watches[work.place] = watch = Watch()
            if stop.is_set():  # set before the watch was there to be seen
                return
            try:
                done.put(Finished(work.place, simulate(work.line, watch, work.traces)))
            except BaseException as error:
                done.put((work, error))
                return
            finally:
                del watches[work.place]

    # Daemons: an engine that cannot be stopped must not keep the process after Ctrl-C.
    threads = [
        threading.Thread(target=labour, name=f"trials-{number}", daemon=True)
        for number in range(min(jobs, len(trials)))
    ]
    for thread in threads:
        thread.start()
    next_yield_s = time.monotonic() + HEARTBEAT_S
    try:
        for _ in trials:
            while True:
                left_s = next_yield_s - time.monotonic()
                if left_s <= 0:
                    yield UnderWay({place: watch.share for place, watch in watches.copy().items()})
                    next_yield_s = time.monotonic() + HEARTBEAT_S
                    continue
                with suppress(queue.Empty):
                    outcome = done.get(timeout=left_s)
                    break
            if not isinstance(outcome, Finished):
                raise failure(*outcome) from outcome[1]
            yield outcome
    finally:
        stop.set()
        for watch in watches.copy().values():
            watch.stop()
        deadline_s = time.monotonic() + STOP_S
        for thread in threads:
            thread.join(timeout=max(0.0, deadline_s - time.monotonic()))
        if stuck := [thread for thread in threads if thread.is_alive()]:
            functions.interrupt([thread.ident for thread in stuck])
            for thread in stuck:
                thread.join(timeout=STOP_S / len(stuck))
