"""The command line.

It only parses, calls and prints; everything it can do can be done from Python too.
"""

import gc
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from ethermeter.cli import guard, memory
from ethermeter.cli.guard import BROKEN_PIPE, INTERRUPTED, TERMINATED, Settings, Terminated


def main() -> NoReturn:
    """Run the command line and end the process.

    The exit code is 0 if all went well, 1 if a run failed, 2 for bad input, 130 after Ctrl-C, 143
    after SIGTERM.
    """
    # It gives memory back that tables took, of which the report of a large run needs half as much
    # then.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Of the objects of a plan hardly one is garbage: to look through them often takes a tenth of a
    # short run.
    gc.set_threshold(100_000)
    from ethermeter.cli.app import app

    code = 1
    try:
        _require_text(sys.argv[1:])
        memory.watch()
        app(prog_name="ethermeter")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt as interrupt:
        code = TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED
    except Exception as error:  # outside of commands, such as completion that cannot be installed
        if Settings.debug:
            raise
        # By its module: a command of this package has the same name.
        code = guard.explain(error)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
        sys.stdout = None  # or the interpreter would complain once more on its way out
    with suppress(OSError):
        sys.stderr.flush()
    if any(thread.daemon and thread.name.startswith("trials-") for thread in threading.enumerate()):
        # Trials under way cannot be interrupted, and an interpreter that is torn down under them
        # may crash.
        os._exit(code)
    gc.freeze()  # or the interpreter would look through them once more on its way out
    sys.exit(code)


def _require_text(words: Sequence[str]) -> None:
    """Refuse words that are no UTF-8, which the files of a run could not name."""
    from ethermeter.faults import InputError, is_text

    for word in words:
        if not is_text(word):
            raise InputError.of("command line", "argument", word, "expected text in UTF-8")
