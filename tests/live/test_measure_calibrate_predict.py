"""Measure, calibrate, predict, measure: on two hosts, and then on four senders into one."""

import json
from pathlib import Path

import pytest
from program import invoke, settings

EXAMPLES = Path(__file__).parents[2] / "examples" / "calibration"
SHORT = settings("phases.settle=100 ms", "phases.transmit=500 ms", "phases.measure=last 400 ms")
RATE_BPS = 10e6
TOLERATED_STALL_S = 0.1
"""Of a command that takes some seconds, in which windows of 400 ms are measured."""


@pytest.mark.root
def test_a_network_calibrated_on_two_hosts_tells_the_rate_of_four_into_one(
    tmp_path, new_path, in_quiet_window
):
    def call(*words: str | Path) -> None:
        done = invoke(*words)
        assert done.returncode == 0, done.output

    bed = ("--on", "testbed,relay", "--set", "run.replications=1")
    sizes = """--set=vary."flows.load.data"=["18 B", "700 B", "1472 B"]"""

    def two_hosts() -> Path:
        run = new_path() / "two"
        call("measure", EXAMPLES / "two-hosts.toml", *bed, *SHORT, sizes, "--out", run)
        return run

    # Medians: in a window this short, one message that found the processor taken would move a mean
    # by more than is looked for.
    model = tmp_path / "model.toml"
    model.write_text(
        (EXAMPLES / "model.toml")
        .read_text(encoding="utf-8")
        .replace('"one_way_delay"', '"one_way_delay_p50"'),
        encoding="utf-8",
    )
    two = in_quiet_window(two_hosts, tolerated_stall_s=TOLERATED_STALL_S)
    call("fit", two, "--experiment", model, "--out", tmp_path / "calibrated")
    answer = json.loads((tmp_path / "calibrated" / "answer.json").read_text(encoding="utf-8"))
    unknowns = answer["unknowns"]
    print(unknowns, answer["data"])
    # As exact as the slope of latency on relayed wires is, 3% (test_relay.py), and as buckets of
    # histograms are at either end of it, 0.8%.
    assert unknowns[0]["value"] * 1e6 == pytest.approx(RATE_BPS, rel=0.046)

    network = tmp_path / "calibrated" / "network.toml"
    four = tmp_path / "four.toml"
    # Only the overload: what comes is then what the wire carries, whatever was drawn.
    text = (EXAMPLES / "four-senders.toml").read_text(encoding="utf-8")
    four.write_text(
        text.replace('{ poisson = "150 /s" }, { poisson = "230 /s" }, ', ""), encoding="utf-8"
    )
    call("predict", four, "--network", network, "--out", tmp_path / "predicted", "--draws", "8")

    def four_hosts() -> Path:
        run = new_path() / "four"
        call("measure", tmp_path / "predicted" / "scenario.toml", *bed, *SHORT, "--out", run)
        return run

    measured = in_quiet_window(four_hosts, tolerated_stall_s=TOLERATED_STALL_S)
    call(
        "predict",
        four,
        "--network",
        network,
        "--out",
        tmp_path / "judged",
        "--draws",
        "8",
        "--against",
        measured,
    )
    judged = json.loads((tmp_path / "judged" / "prediction.json").read_text(encoding="utf-8"))[
        "judged"
    ]
    (rate,) = [row for row in judged if row["metric"] == "message_rate"]
    # A frame at either end of a window of 400 ms, of 1066 octets with all around them, and what the
    # calibration may be off. While the machine stalls, the wire may be idle.
    assert rate["relative_error"] == pytest.approx(
        0, abs=0.046 + 2 * 8 * 1066 / RATE_BPS / 0.4 + in_quiet_window.stalled_s / 0.4
    )
