"""How far a run is, for a person: a bar on a terminal, a line every few seconds elsewhere.

Always on stderr.
"""

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ethermeter.cli.guard import say
from ethermeter.cli.output import terminal_width

if TYPE_CHECKING:
    from ethermeter.execution import Progress

LINE_EVERY_S = 5.0
SHOWN_AFTER_S = 1.0
BAR = 28
"""Characters of a bar."""


class ProgressDisplay:
    """Shows progress while the block lasts.

    Parameters
    ----------
    title
        What is run.
    pieces
        What is counted.

    """

    def __init__(self, title: str, *, pieces: str = "trials") -> None:
        self._title = title
        self._pieces = pieces
        self._is_terminal = sys.stderr.isatty()
        self._begin_s = self._last_line_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_terminal:
            _replace_line("")

    def __call__(self, progress: "Progress") -> None:
        """Show how far it is."""
        phase = f", {progress.phase}" if progress.phase else ""
        self.show(
            progress.share_of_all,
            f"{progress.done} of {progress.trials} {self._pieces}{phase}",
            progress.remaining_s,
        )

    def count(self, done: int, of: int, *, text: str = "") -> None:
        """Show that `done` of `of` steps of equal duration are done; `text` replaces the counts."""
        share = done / of if of else 0.0
        spent_s = time.monotonic() - self._begin_s
        self.show(
            share,
            text or f"{done} of {of} {self._pieces}",
            spent_s * (1 / share - 1) if share > 0 else None,
        )

    def show(self, share: float, done: str, remaining_s: float | None) -> None:
        """Show how far it is: the share that is done, in words, and the time that is left."""
        detail = f"{done}{_left(remaining_s)}"
        if self._is_terminal:
            filled = "━" * round(BAR * min(max(share, 0.0), 1.0))
            _replace_line(f"{self._title} {filled:╌<{BAR}} {share:4.0%} {detail}")
        elif time.monotonic() - self._last_line_s >= LINE_EVERY_S:
            self._last_line_s = time.monotonic()
            say(f"{self._title}: {detail}")


class ActivityDisplay:
    """Shows an activity of unknown duration while the block lasts; a short one is not shown.

    Parameters
    ----------
    title
        What it is done for.

    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._what = ""
        self._begin_s = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="activity", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def __call__(self, what: str) -> None:
        """Show another activity."""
        self._what = what

    def _tell(self) -> None:
        is_terminal = sys.stderr.isatty()
        shown = False
        while not self._ended.wait(SHOWN_AFTER_S if is_terminal else LINE_EVERY_S):
            text = f"{self._title}: {self._what}, {time.monotonic() - self._begin_s:.0f} s"
            if is_terminal:
                _replace_line(text)
                shown = True
            else:
                say(text)
        if shown:
            _replace_line("")


def _replace_line(text: str) -> None:
    """Write a text over the last line of the terminal, no longer than that."""
    sys.stderr.write(f"\r\x1b[K{text[: terminal_width() - 1]}")
    sys.stderr.flush()


def _left(remaining_s: float | None) -> str:
    if remaining_s is None:
        return ""
    seconds = round(remaining_s)
    hours, minutes = divmod(seconds // 60, 60)
    return (
        f", {hours} h {minutes:02d} min left"
        if hours
        else f", {minutes} min {seconds % 60:02d} s left"
        if minutes
        else f", {seconds} s left"
    )
