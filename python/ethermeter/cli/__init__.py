"""The command line.

It only parses, calls and prints; everything it can do can be done from Python too.
"""

import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from ethermeter.cli.guard import BROKEN_PIPE, INTERRUPTED, TERMINATED, Terminated


def main() -> NoReturn:
    """Run the command line and end the process.

    The exit code is 0 if all went well, 1 if a run failed, 2 for bad input, 130 after Ctrl-C, 143
    after SIGTERM.
    """
    # It gives memory back that tables took, of which the report of a large run needs half as much
    # then.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from ethermeter.cli.app import app

    code = 1
    try:
        app(prog_name="ethermeter")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt as interrupt:
        code = TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED
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
    sys.exit(code)
