"""Flows of token buckets and shapers between agents send no more than these let pass."""

from pathlib import Path

import ethermeter as em
import pytest
from live_runs import measure
from shared_experiments import pair

BUCKETS = pair(
    [
        em.flow(
            "greedy",
            "a",
            "b",
            data="1184 B",
            arrivals={"token_bucket": {"rate": "2 Mb/s", "burst": "5000 B"}},
        ),
        em.flow(
            "shaped",
            "b",
            "a",
            data="1184 B",
            arrivals={"poisson": "1000 /s"},
            shaper={"rate": "1 Mb/s", "burst": "2500 B"},
        ),
    ],
    rate="100 Mb/s",
    phases={"transmit": "1 s", "measure": "all", "drain": "0.2 s"},
    run={"engines": ["live"]},
)
# A message has 1184 + 8 + 20 + 18 = 1230 octets in a frame and 1250 on the wire: buckets of 4 and 2
# messages, then one each 5 ms and each 10 ms, of which 199 and 99 are within the second. Messages
# that arrived within it go on during the drain and the quarter of a second after it.
LEAST = {"greedy": 4 + 199 - 4, "shaped": 2 + 99 - 4}
MOST = {"greedy": 4 + 199, "shaped": 2 + 145}
TOLERATED_STALL_S = 0.02


def frames_of(folder: Path, place: str) -> dict[str, int]:
    flows = measure(BUCKETS, folder, "--on", place, "--no-report").result()["flows"]
    frames = {name: flow["sending"]["counted"]["frames"] for name, flow in flows.items()}
    assert all(0 < frames[name] <= most for name, most in MOST.items()), frames
    return frames


@pytest.mark.root
def test_senders_send_no_more_than_their_token_buckets_let_pass(tmp_path):
    frames_of(tmp_path, "testbed")


def test_senders_use_what_their_token_buckets_let_pass(new_path, in_quiet_window):
    frames = in_quiet_window(
        lambda: frames_of(new_path(), "loopback"), tolerated_stall_s=TOLERATED_STALL_S
    )
    # A bucket makes up for lateness, but for what it holds at the end; 1000 messages a second keep
    # one of 100 a second empty.
    assert all(frames[name] >= least for name, least in LEAST.items()), frames
