"""Preload of a Dask worker: the stand-in core, slow enough to be killed while it simulates."""

import functools
from pathlib import Path

import fake_core
from ethermeter import _core


def dask_setup(worker):
    _core.simulate_trial = functools.partial(fake_core.simulate, sleep_s=0.3)
    (Path(worker.local_directory).parents[1] / "ready").touch()
