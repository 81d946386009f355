"""Small experiments, and ways to run them with the stand-in core."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

SUPPORT = Path(__file__).parent
PROGRAM = [sys.executable, "-m", "ethermeter"]
TABLES = ("observations.parquet", "batches.parquet", "histograms.parquet")

EXPERIMENT = """\
title = "A small segment"
seed = 7

[segment]
standard = "dix-10"
round_trip = "12 us"
clusters = 4

[[stations]]
name = "host"
count = 4
frames = "64 B"
frames_include_fcs = false
arrivals = "saturated"
service = { uniform = ["60 us", "90 us"] }
after_attempt_limit = "resume"

[vary]
"stations.count" = [1, 2, 5]
"stations.frames" = ["64 B", "1536 B"]

[phases]
settle = "10 ms"
transmit = "100 ms"
measure = "middle 50 ms"
drain = "0 s"

[run]
replications = 5
"""


def write_experiment(directory, *, text=EXPERIMENT):
    path = directory / "small.toml"
    path.write_text(text)
    return path


def fake(*arguments, seconds_a_trial=0.0):
    """Command line of `ethermeter` with the stand-in core."""
    return [
        sys.executable,
        str(SUPPORT / "fake_ethermeter.py"),
        str(seconds_a_trial),
        *map(str, arguments),
    ]


def real(*arguments):
    return [*PROGRAM, *map(str, arguments)]


def call(command, *, cwd=None, env=None):
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        env={**os.environ, **(env or {})},
        check=False,
    )


@contextmanager
def started(command, *, env=None):
    """A process under way; killed and awaited at the end of the block, so that a test that fails
    leaves nothing to others.
    """
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def contents(directory):
    return {name: (directory / name).read_bytes() for name in TABLES}
