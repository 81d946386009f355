"""`python -m ethermeter.testbed.wire PLAN`: the relay process of a testbed's wires and segments.

A testbed starts it inside the namespace of its wires. It writes `ready` to standard error when it
forwards frames, and its result as one line of JSON to standard output when it ends: after SIGTERM,
with its maker, or with one of its interfaces. With `--stay` it outlives its maker.
"""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Relay the frames of a plan, given as JSON (`relay.RelayPlan`) after `--stay` if wanted.

    Returns the exit code: 0, or 2 if the relay could not start.
    """
    *flags, plan = arguments
    stays = flags == ["--stay"]
    # Before any other import, while this is the only thread.
    if stays and os.fork():
        os._exit(0)
    if stays:
        os.setsid()
    from ethermeter._core import Relay

    try:
        relay = Relay(plan)
    except (OSError, ValueError) as error:
        print(f"wire: {error}", file=sys.stderr)
        return 2
    print("ready", file=sys.stderr, flush=True)
    if stays:
        # Standard error has no reader any more: a write would end the process.
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 2)
        os.close(nowhere)
    print(relay.run(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
