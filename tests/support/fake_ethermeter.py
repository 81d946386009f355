"""`ethermeter` with the stand-in core, as a process of its own: `python fake_ethermeter.py
SECONDS_A_TRIAL ARGUMENTS...`. A cluster must answer it in the seconds of `ANSWER_S`, if set.
"""

import functools
import os
import sys

import fake_core
from ethermeter import _core
from ethermeter.cli import main
from ethermeter.engines import cluster

if __name__ == "__main__":
    _core.simulate_trial = functools.partial(fake_core.simulate, sleep_s=float(sys.argv.pop(1)))
    if (answer_s := os.environ.get("ANSWER_S")) is not None:
        cluster.ANSWER_S = cluster.CONNECT_S = int(answer_s)
    sys.argv[0] = "ethermeter"
    main()
