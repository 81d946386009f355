"""Transfers: what a file says of them reaches the core, their rows by hand, and their faults."""

import json
import re
from pathlib import Path
from typing import Any

import ethermeter as em
import msgspec
import numpy as np
import pytest
from documents import page
from ethermeter import scenario as schema
from ethermeter.experiment import load, shipped
from ethermeter.experiment.transfers import Acknowledge, Copy, Octets, Tcp, Transfer
from faults_at import expect_fault
from networks import network
from program import invoke

COPY = network(
    """\
[[flows]]
name = "copy"
from = "client"
to = "server"
[flows.transfer.file]
direction = "read"
size = "7000 B"
block = "1000 B"
request = "60 B"
answer = "40 B"
client = "70 us"
server = "50 us"
[flows.transfer.tcp]
window = "8760 B"
[phases]
transmit = "1 s"
measure = "all"
""",
    title="A file",
    hosts=("client", "server"),
    rate="100 Mb/s",
)


def scenario(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    experiment = load(path)
    at = experiment.scenarios.at([0] * len(experiment.sweeps))
    found: dict[str, Any] = json.loads(msgspec.json.encode(at))
    return found


def test_everything_that_can_be_said_of_a_transfer_reaches_the_core(tmp_path):
    (flow,) = scenario(tmp_path, COPY)["flows"]
    file = {
        "direction": "read",
        "octets": 7000,
        "block_octets": 1000,
        "request_octets": 60,
        "answer_octets": 40,
        "client": {"kind": "constant", "ps": 70_000_000},
        "server": {"kind": "constant", "ps": 50_000_000},
        "ahead": 1,
    }
    assert msgspec.convert(flow["transfer"]["job"]["file"], schema.File) == msgspec.convert(
        file, schema.File
    )
    begin, end = COPY.index("[flows.transfer.file]"), COPY.index("[phases]")
    said = """\
[flows.transfer]
stream = { size = "36 MB" }
[flows.transfer.tcp]
window = "60 kB"
send_buffer = "20 kB"
mtu = "9000 B"
options = "12 B"
stack = "rfc-2581"
congestion = "cubic"
hystart = true
byte_counting = true
sack = true
prr = true
limited_transmit = true
initial_segments = 3
recovery = "new-reno"
nagle = false
acknowledge = { segments = 1, time = "100 ms", quick = 4 }
least_timeout = "100 ms"
timeout_margin = "50 ms"
first_timeout = "3 s"
read_per_byte = "100 ns"
"""
    (flow,) = scenario(tmp_path, COPY[:begin] + said + COPY[end:])["flows"]
    transfer = {
        "job": {"stream": {"octets": 36_000_000}},
        "tcp": {
            "window_octets": 60_000,
            "send_buffer_octets": 20_000,
            "mtu_octets": 9000,
            "option_octets": 12,
            "initial_segments": 3,
            "congestion": "cubic",
            "hystart": True,
            "byte_counting": True,
            "sack": True,
            "prr": True,
            "limited_transmit": True,
            "recovery": "new_reno",
            "nagle": False,
            "acknowledge": {"segments": 1, "ps": 100_000_000_000, "quick": 4},
            "least_timeout_ps": 100_000_000_000,
            "timeout_margin_ps": 50_000_000_000,
            "first_timeout_ps": 3_000_000_000_000,
            "read_ps_per_octet": 100_000,
        },
    }
    assert msgspec.convert(flow["transfer"], schema.Transfer) == msgspec.convert(
        transfer, schema.Transfer
    )


LINUX = {
    "initial_segments": 10,
    "congestion": "cubic",
    "hystart": True,
    "byte_counting": True,
    "sack": True,
    "recovery": "new_reno",
    "prr": True,
    "limited_transmit": True,
    "acknowledge": {"segments": 2, "ps": 40_000_000_000, "quick": 16},
    "least_timeout_ps": 200_000_000_000,
    "timeout_margin_ps": 200_000_000_000,
}
RFC_2581 = {
    "initial_segments": 2,
    "congestion": "reno",
    "hystart": False,
    "byte_counting": False,
    "sack": False,
    "recovery": "reno",
    "prr": False,
    "limited_transmit": False,
    "acknowledge": {"segments": 2, "ps": 200_000_000_000, "quick": 0},
    "least_timeout_ps": 1_000_000_000_000,
    "timeout_margin_ps": 0,
}


@pytest.mark.parametrize(
    ("stack", "expected"),
    [("", LINUX), ('stack = "linux"', LINUX), ('stack = "rfc-2581"', RFC_2581)],
)
def test_what_a_file_does_not_say_is_as_in_its_stack(tmp_path, stack, expected):
    text = COPY.replace('window = "8760 B"', f'window = "8760 B"\n{stack}')
    (flow,) = scenario(tmp_path, text)["flows"]
    tcp = flow["transfer"]["tcp"]
    assert msgspec.convert(tcp, schema.Tcp) == msgspec.convert({**tcp, **expected}, schema.Tcp)


def test_files_of_1999_name_the_congestion_control_of_their_hosts():
    files = [path for name, path in shipped().items() if name.startswith("fritz1999/")]
    assert files
    for path in files:
        experiment = load(path)
        for flow in experiment.scenarios.at([0] * len(experiment.sweeps)).flows:
            tcp = msgspec.to_builtins(flow.transfer.tcp)
            assert flow.transfer.tcp == msgspec.convert({**tcp, **RFC_2581}, schema.Tcp), path.name
        assert "flows.transfer.tcp.congestion" in path.read_text(encoding="utf-8")


def test_rows_of_a_file_are_those_of_a_hand_calculation(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        COPY.replace('window = "8760 B"', 'window = "8760 B"\nstack = "rfc-2581"'), encoding="utf-8"
    )
    table = em.load(path).run(out=tmp_path / "run", jobs=1).observations()
    values = dict(table[table["station"] == 0].set_index("metric")["value"])
    # A frame has 58 octets around its data, 8 before it, and 80 ns an octet; seven blocks, and six
    # times the client's 70 us between them.
    request_s, answer_s = (60 + 66) * 80e-9, (1040 + 66) * 80e-9
    block_s = request_s + 50e-6 + answer_s
    assert values["round_trip"] == pytest.approx(block_s, rel=1e-9)
    assert values["transfer_rate"] == pytest.approx(8 * 7000 / (7 * block_s + 6 * 70e-6), rel=1e-9)
    assert values["data_rate"] == 8 * 7000
    # Six answers are acknowledged by the next request: their own 1098 octets, 70 us, and a
    # preamble. The last one by the timer.
    began_s = 1098 * 80e-9
    delays = [began_s + 70e-6 + 8 * 80e-9] * 6 + [began_s + 200e-3 + 8 * 80e-9]
    assert values["acknowledgement_delay"] == pytest.approx(np.mean(delays), rel=1e-9)
    assert values["retransmitted"] == values["timeouts"] == 0
    assert np.isnan(values["loss"])


@pytest.mark.parametrize(
    ("change", "key", "allowed"),
    [
        (
            (
                '[flows.transfer.file]\ndirection = "read"',
                '[flows.transfer.file]\ndirection = "up"',
            ),
            "flows.0.transfer.file.direction",
            "read",
        ),
        (
            ('window = "8760 B"', 'window = "8760 B"\ncongestion = "cubik"'),
            "flows.0.transfer.tcp.congestion",
            '"reno" or "cubic"',
        ),
        (
            ('window = "8760 B"', 'window = "8760 B"\nstack = "bsd"'),
            "flows.0.transfer.tcp.stack",
            '"linux" or "rfc-2581"',
        ),
        (
            ('window = "8760 B"', 'window = "8760 B"\nsack = 1'),
            "flows.0.transfer.tcp.sack",
            "true or false",
        ),
        (('window = "8760 B"', 'windw = "1 B"'), "flows.0.transfer.tcp.windw", "stack, window, "),
        (('window = "8760 B"', 'window = "0 B"'), "flows.0.transfer.tcp.window", "from 1 B"),
        (('window = "8760 B"', 'window = "1000 B"'), "flows.0.transfer.tcp", "1460"),
        (
            ('name = "copy"', 'name = "copy"\nframes = "64 B"'),
            "flows.0.frames",
            "not allowed with transfer",
        ),
        (('name = "copy"', 'name = "copy"\nport = "udp"'), "flows.0.port", "tcp"),
        (('size = "7000 B"', 'size = "0 B"'), "flows.0.transfer.file.size", "from 1 B"),
        (
            ("[flows.transfer.file]", "[flows.transfer.stream]\n[flows.transfer.file]"),
            "flows.0.transfer",
            "exactly one",
        ),
    ],
)
def test_a_fault_is_named_with_its_key_and_what_is_allowed(tmp_path, change, key, allowed):
    expect_fault(tmp_path, COPY.replace(*change), key=key, allowed=allowed)


def test_a_flow_of_messages_still_needs_arrivals(tmp_path):
    begin, end = COPY.index("[flows.transfer.file]"), COPY.index("[phases]")
    expect_fault(
        tmp_path,
        COPY[:begin] + 'frames = "64 B"\n' + COPY[end:],
        key="flows.0.arrivals",
        allowed="required",
    )


def test_every_key_is_documented_and_the_example_is_sound(tmp_path):
    text = page("docs/reference/transfers.md")
    for table in (Transfer, Octets, Copy, Tcp, Acknowledge):
        for key in table.model_fields:
            assert re.search(rf"[`{{,] ?{key}\b", text), f"{table.__name__}.{key}"
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "x.toml").write_text(example, encoding="utf-8")
    assert load(tmp_path / "x.toml").trials == 2


def test_a_run_prints_and_shows_what_a_transfer_did(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(COPY, encoding="utf-8")
    result = invoke("run", path, "--out", tmp_path / "run")
    assert result.returncode == 0, result.output
    assert "transfer_rate" in result.stdout
    assert "b/s" in result.stdout
    assert "Rate of a transfer" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
