"""TCP transfers with planted limits, captured and explained: the limit, the slow end, the losses,
and the change that is recommended.
"""

import itertools
import shutil
from pathlib import Path

import pytest
from ethermeter.captures import Limit, Vantage, explain
from planted_limits import JUDGED_ON, changed, transfer
from stalls import inconclusive

pytestmark = [pytest.mark.root, pytest.mark.long]
PLANTED = {
    "send buffer of 40 kB": ("sender host", 0),
    "iperf3 -w 80000": ("sender host", 0),
    "losses of 0.7%": ("path", None),
    "receive buffer of 40 kB": ("receiver host", 1),
    "30 kB are read every 15 ms": ("receiver application", 1),
    "60 kB are written every 80 ms": ("sender application", 0),
    "interface of 15 Mb/s": ("sender host", 0),
    "switch port of 15 Mb/s": ("path", None),
}
"""Transfers, what of them is slow, and the number of the slow host."""
UNSEEN = {"receive buffer of 40 kB", "send buffer of 40 kB", "iperf3 -w 80000"}
"""Transfers whose link may show nowhere: their window is smaller than what the path holds, so that
hardly a segment waits in a queue behind the capture."""
SELDOM_SEEN = {"losses of 0.7%", "30 kB are read every 15 ms", "60 kB are written every 80 ms"}
"""Transfers of which so few segments wait in a queue that hosts that are late hide their link."""
FACTOR = 1.25
"""An estimate is met by a goodput that is at most so much above or below it."""
STALL_S = 0.1
"""Stalls that a transfer of three seconds is allowed: they cost a few per cent of its goodput."""


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    for tool in ("dumpcap", "iperf3"):
        assert shutil.which(tool), f"{tool} is missing; scripts/install-system-packages installs it"


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_limit_is_named_and_the_estimate_is_met_by_the_change(
    name, tmp_path, in_quiet_window
):
    plant, (role, host) = JUDGED_ON[name], PLANTED[name]
    numbers = itertools.count()

    def measure() -> tuple[Path, int]:
        path = tmp_path / f"{next(numbers)}.pcap"
        return path, transfer(plant, path).lost

    path, lost = in_quiet_window(measure, tolerated_stall_s=STALL_S)
    connection = explain(path).connections[0]
    verdict = connection.verdict
    assert verdict is not None
    assert verdict.limit == plant.limit, connection.parts
    assert verdict.role == role
    assert verdict.end == (
        None if host is None else (connection.sender, connection.receiver)[host].name
    )
    assert connection.vantage is Vantage.SENDER
    # The relay does not see what the port of a switch drops.
    if plant.bottleneck_bps is None:
        assert connection.losses == lost
    if plant.loss:
        assert f"kept small by {lost} loss" in verdict.title
        assert verdict.limit is Limit.CONGESTION_WINDOW
    after, estimate = changed(plant, verdict), verdict.estimate
    assert after is not None
    if name in UNSEEN | SELDOM_SEEN and connection.link_bps is None:
        assert estimate is None
        if name in SELDOM_SEEN:
            inconclusive(f"no link shows, with stalls of {1e3 * in_quiet_window.stalled_s:.0f} ms")
        return
    assert estimate is not None
    goodput_bps = in_quiet_window(lambda: transfer(after).goodput_bps, tolerated_stall_s=STALL_S)
    assert estimate.goodput_bps / FACTOR <= goodput_bps <= estimate.most_bps * FACTOR


def test_captured_at_the_receiver_the_verdict_is_the_same(tmp_path):
    plant = JUDGED_ON["send buffer of 80 kB, at the receiver"]
    transfer(plant, tmp_path / "x.pcap")
    connection = explain(tmp_path / "x.pcap").connections[0]
    assert connection.limit is Limit.SEND_BUFFER, connection.parts
    assert connection.vantage is Vantage.RECEIVER
