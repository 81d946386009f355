"""What serves until it is stopped: by Ctrl-C, SIGTERM, or who started it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def until_signalled() -> Iterator[Callable[[], bool]]:
    """Catch Ctrl-C and SIGTERM while the block lasts; the function tells whether one came.

    In another thread than the main one signals cannot be caught, and nothing is.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in _SIGNALS}
    try:
        yield lambda: bool(came)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
