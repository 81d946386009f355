"""Stations of a measurement on hosts of a testbed, and what a wire of Ethernet carries."""

import contextlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

ENDS = ("linger=300", "seconds=120")
"""Words of a station that listens until those that speak have ended, and a little longer."""
AROUND_OCTETS = 8 + 12
"""Preamble and gap of a frame (802.3-2022, 3.1.1 and 4.4.2)."""
TOLERANCE = 0.005
"""The promise for a wire: within half a percent of what the framing allows."""
TOLERATED_STALL_S = 0.05
"""Stalls in a window of a second. While the machine stalls, a wire may be idle."""


@contextlib.contextmanager
def listening(command: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """Run a station from when it listens; with `ENDS` it goes on until its input is closed."""
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    with subprocess.Popen(command, text=True, **pipes) as station:
        assert station.stderr is not None
        assert station.stderr.readline() == "ready\n"
        yield station


def play(listener: Sequence[str], *speakers: Sequence[str]) -> tuple[Any, list[Any]]:
    """Run a station that listens, and some that speak at once; return what it and they say."""
    with listening(listener) as heard:
        speaking = [
            subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for each in speakers
        ]
        spoken = [json.loads(each.communicate()[0]) for each in speaking]
        return json.loads(heard.communicate()[0]), spoken


def framing_bps(rate_bps: int, payload_octets: int) -> float:
    """UDP over IPv4 back to back, in frames of 64 to 1518 octets (802.3-2022, 4.4.2; RFC 791)."""
    pieces, rest = divmod(8 + payload_octets, 1480)
    on_wire = pieces * (1500 + 18 + AROUND_OCTETS)
    if rest:
        on_wire += max(64, rest + 20 + 18) + AROUND_OCTETS
    return rate_bps * payload_octets / on_wire


def judge(goodput_bps: float, expected_bps: float, stalled_s: float) -> None:
    """A wire is never faster than its rate, and is idle only while the machine stalls."""
    least_bps = expected_bps * (1 - TOLERANCE - stalled_s)
    assert least_bps <= goodput_bps <= expected_bps * (1 + TOLERANCE)
