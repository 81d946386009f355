"""Transfers: what a file says of them reaches the core, and their rows by hand."""

import re

import ethermeter as em
import msgspec
import numpy as np
import pytest
from documents import page
from ethermeter import scenario as schema
from ethermeter.experiment import load, of_text, shipped
from ethermeter.experiment.tables import keys_of, table_reader
from ethermeter.experiment.transfers import Tcp, Transfer
from program import invoke
from shared_experiments import COPY, lowered


def test_everything_that_can_be_said_of_a_transfer_reaches_the_core():
    (flow,) = lowered(COPY)["flows"]
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
    said = {
        "stream": {"size": "36 MB"},
        "tcp": {
            "window": "60 kB",
            "send_buffer": "20 kB",
            "mtu": "9000 B",
            "options": "12 B",
            "stack": "rfc-2581",
            "congestion": "cubic",
            **dict.fromkeys(("hystart", "byte_counting", "sack", "prr", "limited_transmit"), True),
            "initial_segments": 3,
            "recovery": "new-reno",
            "nagle": False,
            "acknowledge": {"segments": 1, "time": "100 ms", "quick": 4},
            "least_timeout": "100 ms",
            "timeout_margin": "50 ms",
            "first_timeout": "3 s",
            "read_per_byte": "100 ns",
        },
    }
    (flow,) = lowered(COPY.changed({"flows.0.transfer": said}))["flows"]
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
            "recovery": "new-reno",
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
    "recovery": "new-reno",
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
    ("stack", "expected"), [(None, LINUX), ("linux", LINUX), ("rfc-2581", RFC_2581)]
)
def test_what_a_file_does_not_say_is_as_in_its_stack(stack, expected):
    (flow,) = lowered(COPY.changed({"flows.0.transfer.tcp.stack": stack}))["flows"]
    tcp = flow["transfer"]["tcp"]
    assert msgspec.convert(tcp, schema.Tcp) == msgspec.convert({**tcp, **expected}, schema.Tcp)


def test_files_of_1999_name_the_congestion_control_of_their_hosts():
    files = [path for name, path in shipped().items() if name.startswith("fritz1999/")]
    assert files
    for path in files:
        experiment = load(path)
        for flow in experiment.scenarios.at([0] * len(experiment.sweeps)).flows:
            if flow.transfer.ipx is not None:
                continue
            tcp = msgspec.to_builtins(flow.transfer.tcp)
            assert flow.transfer.tcp == msgspec.convert({**tcp, **RFC_2581}, schema.Tcp), path.name
        assert "flows.transfer.tcp.congestion" in path.read_text(encoding="utf-8")


def test_rows_of_a_file_are_those_of_a_hand_calculation(tmp_path):
    plain = COPY.changed({"flows.0.transfer.tcp.stack": "rfc-2581"})
    table = em.load(plain).run(out=tmp_path / "run", jobs=1).frame(by="entity")
    values = dict(table.set_index("metric")["value"])
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


def test_every_key_is_documented_and_the_example_is_sound():
    text = page("docs/reference/transfers.md")
    for table in (Transfer, schema.Stream, schema.File, Tcp, schema.Acknowledge):
        for key in keys_of(table_reader(table)):
            assert re.search(rf"[`{{,] ?{key}\b", text), f"{table.__name__}.{key}"
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert of_text(example).trials == 2


def test_a_run_prints_and_shows_what_a_transfer_did(tmp_path):
    path = COPY.save(tmp_path / "x.toml")
    result = invoke("run", path, "--out", tmp_path / "run")
    assert result.returncode == 0, result.output
    assert "transfer_rate" in result.stdout
    assert "b/s" in result.stdout
    assert "Rate of a transfer" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("burst", [1, 2, 3])
def test_a_block_over_ipx_takes_a_turn_for_each_burst(burst, tmp_path):
    ipx = {"mtu": "530 B", "burst": burst}
    plain = COPY.changed({"flows.0.transfer.ipx": ipx, "flows.0.transfer.tcp": None})
    table = em.load(plain).run(out=tmp_path / "run", jobs=1).frame(by="entity")
    values = dict(table.set_index("metric")["value"])
    # A frame has 48 octets around its data, at least 64 in all, 8 before it, 12 behind it, and 80
    # ns an octet. An answer of 1040 octets is packets of 500, 500 and 40.
    request, whole, last, bare = 60 + 56, 500 + 56, 40 + 56, 64 + 8
    octets = {
        1: request + whole + bare + whole + bare + last,
        2: request + whole + 12 + whole + bare + last,
        3: request + whole + 12 + whole + 12 + last,
    }
    block_s = octets[burst] * 80e-9 + 50e-6
    assert values["round_trip"] == pytest.approx(block_s, rel=1e-9)
    assert values["transfer_rate"] == pytest.approx(8 * 7000 / (7 * block_s + 6 * 70e-6), rel=1e-9)
    assert values["retransmitted"] == 0
