"""`python -m ethermeter.testbed.wire PLAN`: the process that plays wires, started by a testbed
inside the namespace of its wires.

Says `ready` on standard error when frames are forwarded, and what happened as one line of JSON on
standard output when it ends: by SIGTERM, when its maker is no more, or when an interface of it is.
Meanwhile SIGUSR1 asks it for a line with the frames so far. With `--stay` it goes on without its
maker, and nobody asks.
"""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Play the wires of a plan to their end.

    Parameters
    ----------
    arguments
        The plan as JSON (`crates/relay/src/plan.rs`), and `--stay` before it or nothing.

    Returns
    -------
    :
        0 if they were played, 2 if they could not be.

    """
    *flags, plan = arguments
    stays = flags == ["--stay"]
    # Before anything else is loaded, so that nothing but this thread exists.
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
        # Nobody reads on, and a write would end it.
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 2)
        os.close(nowhere)
    print(relay.run(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
