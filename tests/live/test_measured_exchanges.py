"""Exchanges and files that are measured: lengths, times and rates against what was asked for, and
against their simulation.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from networks import network
from program import invoke

FILE = network(
    """\
[[flows]]
name = "ask"
from = "a"
to = "b"
FLOW
[phases]
transmit = "1 s"
measure = "all"
drain = "0.1 s"
[run]
engines = ["simulation", "live"]
""",
    title="exchanges",
    rate="1 Gb/s",
)


def measured(
    folder: Path, flow: str, *words: str, place: str = "--testbed"
) -> dict[str, dict[str, Any]]:
    """Measure and simulate a flow, and return its only point by engine."""
    path = folder / "experiment.toml"
    path.write_text(FILE.replace("FLOW", flow), encoding="utf-8")
    done = invoke("measure", path, place, "--no-report", "--out", folder / "run", *words)
    assert done.returncode == 0, done.stderr
    points = json.loads((folder / "run" / "estimates.json").read_text())["points"]
    return {point["engine"]: point["estimates"] for point in points}


def counted(folder: Path, side: str) -> dict[str, Any]:
    """Return what one side of the flow has counted."""
    (path,) = (folder / "run" / "live").glob("*/*.json")
    found: dict[str, Any] = json.loads(path.read_text())["flows"]["ask"][side]["counted"]
    return found


def value(estimates: dict[str, Any], metric: str) -> float:
    return float(estimates[metric]["value"])


@pytest.mark.root
def test_requests_at_random_wait_for_each_other_as_they_do_in_a_simulation(tmp_path):
    # An answer takes 4 ms and a request comes each 8 ms on average: half of the time there is one
    # before it.
    flow = (
        'data = "40 B x 1 + 400 B x 1"\narrivals = { poisson = "125 /s" }\n'
        'response = { data = "1000 B", think = "4 ms" }'
    )
    found = measured(tmp_path, flow)
    simulated, live = found["simulation"], found["live"]
    asker = counted(tmp_path, "sending")
    # The same messages are offered to both; of those that come last, some are not answered in time
    # to be counted.
    assert value(live, "offered_rate") == pytest.approx(value(simulated, "offered_rate"), abs=1)
    assert value(live, "exchanges") == asker["complete"] == asker["requests"]
    # Without waiting for each other all would be 4 ms. Draws and thinking are the same, and the
    # wire takes 10 µs: hosts can only be slower, but for the buckets' 0.8%.
    assert value(simulated, "round_trip_p90") > 6e-3
    for metric in ("round_trip_p50", "round_trip_p90"):
        assert value(live, metric) > 0.98 * value(simulated, metric)


@pytest.mark.root
def test_no_round_trip_on_held_wires_is_shorter_than_what_request_and_answer_take(
    tmp_path, unless_held_up
):
    flow = (
        'port = "packet"\nframes = "82 B"\narrivals = "saturated"\nresponse = { '
        'frames = "1518 B", exchanges = 50 }'
    )
    rate = ["--wires", "relay", "--set", 'network.rate="10 Mb/s"']
    # There 82 + 8 octets of 0.8 µs each, back 1518 + 8.
    least_s = (90 + 1526) * 0.8e-6
    found = measured(tmp_path, flow, *rate)
    assert value(found["simulation"], "round_trip_p50") == pytest.approx(least_s, rel=0.01)
    # Nothing is faster, but for the buckets' 0.8%.
    assert value(found["live"], "round_trip_p50") > 0.992 * least_s
    unless_held_up(value(found["live"], "exchanges") >= 50, "fewer than 50 exchanges in a second")
    assert "few-samples" not in found["live"]["round_trip"].get("cautions", ())


@pytest.mark.root
def test_fewer_exchanges_than_were_wanted_are_told(tmp_path):
    flow = 'data = "100 B"\narrivals = { regular = "10 ms" }\nresponse = { exchanges = 1000 }'
    live = measured(tmp_path, flow)["live"]
    assert 0 < value(live, "exchanges") <= 100
    assert "few-samples" in live["exchanges"]["cautions"]
    assert "few-samples" in live["round_trip"]["cautions"]
    assert "few-samples" not in live["message_rate"].get("cautions", ())


def test_answers_over_a_connection_are_thought_about_too(tmp_path):
    flow = (
        'port = "tcp"\nframes = "100 B"\narrivals = "saturated"\nresponse = { '
        'frames = "5000 B", think = "2 ms" }'
    )
    live = measured(tmp_path, flow, "--set", 'run.engines=["live"]', place="--loopback")["live"]
    assert value(live, "round_trip_p50") >= 0.992 * 2e-3
    assert 0 < value(live, "exchanges") <= 500


@pytest.mark.root
@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_file_takes_no_less_than_its_blocks_do(tmp_path, direction, unless_held_up):
    job = (
        f'direction = "{direction}", size = "400 kB", block = "4000 B", request = '
        '"64 B", answer = "64 B", client = "1 ms", server = "2 ms"'
    )
    # 100 times 2 ms at the server and 1 ms between blocks; the wire of 1 Gb/s adds 35 µs to each in
    # the simulation.
    expected_bps = 8 * 400_000 / (100 * 2e-3 + 99 * 1e-3 + 100 * 40e-6)
    found = measured(
        tmp_path, f'transfer.file = {{ {job} }}\ntransfer.tcp = {{ window = "64 kB" }}'
    )
    simulated, live = found["simulation"], found["live"]
    assert value(simulated, "exchanges") == 100
    assert value(simulated, "transfer_rate") == pytest.approx(expected_bps, rel=0.02)
    # No block is sooner than its server.
    assert value(live, "round_trip_p50") >= 0.992 * 2e-3
    client, server = counted(tmp_path, "sending"), counted(tmp_path, "receiving")
    assert (server["read_octets"], server["written_octets"]) == (
        client["written_octets"],
        client["read_octets"],
    )
    blocks = value(live, "exchanges")
    assert 0 < blocks <= 100
    unless_held_up(blocks == 100, f"{blocks} of 100 blocks in a second")
    assert value(live, "transfer_rate") < 1.02 * expected_bps
    long, short = 100 * 4064, 100 * 64
    assert (client["written_octets"], client["read_octets"]) == (
        (short, long) if direction == "read" else (long, short)
    )


@pytest.mark.parametrize(
    ("flow", "fault"),
    [
        (
            'data = "100 B"\narrivals = "saturated"\nresponse = { data = "17 B" }',
            "response.data = 17 B: expected at least 18 B",
        ),
        (
            (
                'frames = "100 B"\nport = "packet"\narrivals = "saturated"\nresponse = { '
                'frames = "9019 B" }'
            ),
            "of 64 to 9018 octets",
        ),
        ('data = "100 B"\narrivals = "saturated"\nresponse = { exchanges = 0 }', "exchanges = 0"),
    ],
)
@pytest.mark.root
def test_answers_that_cannot_be_measured_are_refused_in_a_line(tmp_path, flow, fault):
    path = tmp_path / "experiment.toml"
    path.write_text(FILE.replace("FLOW", flow).replace('"simulation", ', ""), encoding="utf-8")
    done = invoke("measure", path, "--testbed", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert fault in done.stderr
    assert "Traceback" not in done.stderr
