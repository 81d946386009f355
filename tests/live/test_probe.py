"""Probes from the command line: agents, STAMP and iperf3 on loopback, and Ctrl-C."""

import csv
import io
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from ethermeter.metrics import Metric
from program import LIMIT_S

PROGRAM = (sys.executable, "-m", "ethermeter")


def test_agents_on_loopback_give_delays_and_rates_of_both_directions() -> None:
    command = [*PROGRAM, "probe", "127.0.0.1", "--by", "agent", "--for", "8 s", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["by"] == ["agent"]
    values = {(each["flow"], each["metric"]): each["value"] for each in found["values"]}
    for flow in ("tcp-up", "tcp-down", "udp-up", "udp-down"):
        assert values[flow, "data_rate"] > 0
        assert flow in found["limits"]
    for flow in ("there", "back"):
        assert values[flow, "one_way_delay"] > 0
    assert values["round-trip", "round_trip_p50"] > 0


def test_stamp_and_iperf3_are_both_used_and_written_as_csv(tmp_path: Path) -> None:
    reflecting = [*PROGRAM, "reflector", "--listen", "127.0.0.78:862"]
    serving = ["iperf3", "--server", "--bind", "127.0.0.78", "--forceflush"]
    with (
        subprocess.Popen(reflecting, stdout=subprocess.PIPE, text=True) as reflector,
        subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert reflector.stdout is not None
        assert server.stdout is not None
        try:
            assert "listening" in reflector.stdout.readline()
            while "listening" not in server.stdout.readline():
                pass
            series = tmp_path / "series"
            words = ["--every", "6 s", "--until", "6 s", "--out", series, "--csv", "--for", "4 s"]
            command = [*PROGRAM, "probe", "127.0.0.78", *words]
            ended = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=LIMIT_S
            )
        finally:
            reflector.send_signal(signal.SIGINT)
            server.terminate()
        counts, _ = reflector.communicate(timeout=LIMIT_S)
        server.communicate(timeout=LIMIT_S)
    assert ended.returncode == 0, ended.stderr
    rows = list(csv.DictReader(io.StringIO(ended.stdout)))
    kept = (series / "measurements.jsonl").read_text()
    notes = json.loads(kept)["notes"]
    assert {row["by"] for row in rows} == {"stamp", "iperf3"}, notes
    assert all(row["metric"] in set(Metric) for row in rows)
    flows = {row["flow"] for row in rows}
    wanted = {"round-trip", "there", "back", "tcp-up", "udp-down", "light-up"}
    assert flows >= wanted, notes
    assert "answered: 1" in counts
    assert (series / "report.html").exists()
    assert len(kept.splitlines()) == 1


def test_a_server_that_hangs_ends_with_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        port = hanging.getsockname()[1]
        command = [*PROGRAM, "probe", f"127.0.0.1:{port}", "--by", "iperf3"]
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    assert ended.returncode == 1
    assert (
        ended.stderr.strip()
        .splitlines()[-1]
        .endswith("the server sent nothing for 3000 ms, not the state ParameterExchange")
    )
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("by", ["iperf3", "stamp"])
def test_an_interrupt_ends_a_measurement_at_once(by: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as hanging,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent,
    ):
        silent.bind(hanging.getsockname())
        to = f"127.0.0.1:{hanging.getsockname()[1]}"
        command = [*PROGRAM, "probe", to, "--by", by]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            # It has begun when its packet or its connection is there.
            if by == "iperf3":
                connection, _ = hanging.accept()
            else:
                silent.recv(100)
                connection = socket.socket()
            with connection:
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, said
    assert "Traceback" not in said
