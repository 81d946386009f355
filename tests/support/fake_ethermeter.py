"""`ethermeter` with the stand-in core, as a process of its own: `python fake_ethermeter.py
SECONDS_A_TRIAL ARGUMENTS...`.
"""

import functools
import sys

import fake_core
from ethermeter import _core
from ethermeter.cli import main

if __name__ == "__main__":
    _core.simulate_trial = functools.partial(fake_core.simulate, sleep_s=float(sys.argv.pop(1)))
    sys.argv[0] = "ethermeter"
    main()
