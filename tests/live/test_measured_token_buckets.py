"""Flows of token buckets and shapers between agents send no more than these let pass."""

import json
from pathlib import Path

import pytest
from networks import network
from program import invoke

FILE = network(
    """\
[[flows]]
name = "greedy"
from = "a"
to = "b"
data = "1184 B"
arrivals = { token_bucket = { rate = "2 Mb/s", burst = "5000 B" } }
[[flows]]
name = "shaped"
from = "b"
to = "a"
data = "1184 B"
arrivals = { poisson = "1000 /s" }
shaper = { rate = "1 Mb/s", burst = "2500 B" }
[phases]
transmit = "1 s"
measure = "all"
drain = "0.2 s"
[run]
engines = ["live"]
""",
    title="token buckets",
    rate="100 Mb/s",
)
# A message has 1184 + 8 + 20 + 18 = 1230 octets in a frame and 1250 on the wire: buckets of 4 and 2
# messages, then one each 5 ms and each 10 ms, of which 199 and 99 are within the second. Messages
# that arrived within it go on during the drain and the quarter of a second after it.
LEAST = {"greedy": 4 + 199 - 4, "shaped": 2 + 99 - 4}
MOST = {"greedy": 4 + 199, "shaped": 2 + 145}
TOLERATED_STALL_S = 0.02


def frames_of(folder: Path, place: str) -> dict[str, int]:
    (folder / "x.toml").write_text(FILE, encoding="utf-8")
    out = folder / "run"
    done = invoke("measure", folder / "x.toml", place, "--out", out, "--no-report")
    assert done.returncode == 0, done.stderr
    (path,) = (out / "live").glob("*/*.json")
    flows = json.loads(path.read_text())["flows"]
    frames = {name: flow["sending"]["counted"]["frames"] for name, flow in flows.items()}
    assert all(0 < frames[name] <= most for name, most in MOST.items()), frames
    return frames


@pytest.mark.root
def test_senders_send_no_more_than_their_token_buckets_let_pass(tmp_path):
    frames_of(tmp_path, "--testbed")


def test_senders_use_what_their_token_buckets_let_pass(new_path, in_quiet_window):
    frames = in_quiet_window(
        lambda: frames_of(new_path(), "--loopback"), tolerated_stall_s=TOLERATED_STALL_S
    )
    # A bucket makes up for lateness, but for what it holds at the end; 1000 messages a second keep
    # one of 100 a second empty.
    assert all(frames[name] >= least for name, least in LEAST.items()), frames
