"""Ceilings of a host: what is worked out, what is read, what is left out, and what the command
says.
"""

import csv
import json
import os
from pathlib import Path

import pytest
from ethermeter import find
from ethermeter.ceilings import Survey, constants, interfaces
from ethermeter.faults import InputError
from program import Ended, invoke


def run(*words: str) -> Ended:
    return invoke("find", "ceilings", *words)


def test_framing_leaves_what_the_wire_was_measured_to_carry():
    # docs/explanation/emulation.md, Testbeds: 10 Mb/s carries UDP data of 1472 octets at 9.57 Mb/s
    # and of 18 octets
    # at 2.14 Mb/s, to the printed digits.
    assert 10 * constants.data_share(1472 + 46, "udp") == pytest.approx(9.57, abs=0.005)
    assert 10 * constants.data_share(18 + 46, "udp") == pytest.approx(2.14, abs=0.005)


def test_a_frame_without_room_for_data_carries_none_and_a_runt_is_refused():
    assert constants.data_share(64, "tcp") == 0
    with pytest.raises(ValueError, match="at least 64, got 63"):
        constants.data_share(63, "raw")


def test_the_old_bus_takes_as_long_for_an_octet_as_its_users_reckoned():
    # Hughes-Jones and Saka 2000, section 3.1.1: 0.00758 us/byte at 33 MHz; the printed 33 stands
    # for 32.5 to 33.5.
    ns_per_octet = 8e9 / constants.pci_33().estimate.value
    assert 0.00758e3 * 33 / 33.5 <= ns_per_octet <= 0.00758e3 * 33 / 32.5


def test_a_window_passes_once_in_each_round_trip():
    assert constants.window(65_536, 0.008).estimate.value == 65_536_000


def device(folder: Path, **texts: str) -> Path:
    (folder / "eth9" / "device").mkdir(parents=True)
    for name, text in texts.items():
        place = folder / "eth9" / ("speed" if name == "speed" else f"device/{name}")
        place.write_text(text + "\n")
    return folder


def test_bus_and_line_rate_of_a_device_are_read(tmp_path):
    survey = Survey()
    interfaces.look(
        survey,
        device(tmp_path, speed="1000", current_link_speed="2.5 GT/s PCIe", current_link_width="1"),
    )
    # PCIe 1.x: a lane of 2.5 GT/s with 8b/10b carries 2 Gb/s.
    assert {each.name: each.estimate.value for each in survey.ceilings} == {
        "bus-eth9": 2e9,
        "nic-eth9": 1e9,
    }


def test_what_a_virtual_device_does_not_tell_is_left_out_with_the_reason(tmp_path):
    survey = Survey()
    interfaces.look(survey, device(tmp_path, speed="-1"))
    assert survey.ceilings == []
    assert [each.name for each in survey.left_out] == ["bus-eth9", "nic-eth9"]
    assert "virtual" in survey.left_out[1].why


def test_a_host_without_interfaces_says_so(tmp_path):
    survey = Survey()
    interfaces.look(survey, tmp_path)
    assert [each.name for each in survey.left_out] == ["nic"]


def test_rings_are_those_in_use_and_not_the_largest():
    most = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nTX:\t\t4096\n"
    text = most + "Current hardware settings:\nRX:\t\t512\nRX Mini:\tn/a\nTX:\t\t256\n"
    assert interfaces.rings_of(text) == {"rx": 512, "tx": 256}


def test_offloads_are_read_without_their_parts():
    text = (
        "Features for eth0:\nrx-checksumming: on [fixed]\ntx-checksumming: off\n"
        "\ttx-checksum-ipv4: on\ntcp-segmentation-offload: on\n"
    )
    assert interfaces.offloads_of(text) == {
        "rx-checksumming": True,
        "tx-checksumming": False,
        "tcp-segmentation-offload": True,
    }


def test_every_stage_is_measured_told_computed_or_left_out_with_its_reason():
    found = json.loads(
        run("quick=yes", "rate=100 Mb/s", "round-trip=10 ms", "window=64 kB", "--json").stdout
    )
    by_name = {each["name"]: each for each in found["ceilings"]}
    left = {each["name"]: each["why"] for each in found["left_out"]}
    for name in (
        "disk-read-cached",
        "memory-copy",
        "checksum",
        "system-call",
        "udp-stack-18",
        "tcp-loopback",
        "disk-write-synced",
    ):
        each = by_name[name]
        assert each["basis"] == "measured"
        assert each["low_bit_per_s"] <= each["bit_per_s"] <= each["high_bit_per_s"]
        assert each["repetitions"] == 5
    assert by_name["window"]["bit_per_s"] == 64_000 * 8 / 0.010
    assert by_name["framing-udp-1518"]["bit_per_s"] == pytest.approx(1e8 * 1472 / 1538)
    assert ("softirq-64" in by_name) != ("softirq" in left)
    assert all(why for why in left.values())


def test_without_root_only_the_virtual_wire_is_left_out(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = json.loads(run("quick=yes", "--json").stdout)
    left = {each["name"]: each["why"] for each in found["left_out"]}
    assert "needs root" in left["softirq"]
    assert not any(name.startswith(("memory", "checksum", "udp", "tcp")) for name in left)


def test_in_python_it_is_a_function_and_the_command_prints_a_row_for_each_stage():
    found = find.ceilings(quick=True, rate=1e8, round_trip=0.01, window=64_000)
    by_name = {each.name: each for each in found.ceilings}
    assert by_name["window"].bit_per_s == 64_000 * 8 / 0.010
    copied = by_name["memory-copy"].estimate
    assert copied.low == pytest.approx(by_name["memory-copy"].low_bit_per_s, rel=1e-12)
    assert copied.high == pytest.approx(by_name["memory-copy"].high_bit_per_s, rel=1e-12)
    rows = list(csv.DictReader(run("quick=yes", "rate=100 Mb/s", "--csv").stdout.splitlines()))
    assert {row["name"] for row in rows} == {*by_name} - {"window"}


def test_faults_name_arguments_of_the_function(tmp_path):
    for given, key in (
        ({"rate": "fast"}, "rate"),
        ({"round_trip": 0}, "round_trip"),
        ({"window": 1}, "window"),
        ({"directory": tmp_path / "none"}, "directory"),
        ({"roofline": tmp_path, "quick": True}, "quick"),
        ({"figure": tmp_path / "a.gif"}, "figure"),
    ):
        with pytest.raises(InputError) as caught:
            find.ceilings(**given)
        assert [fault.key for fault in caught.value.faults] == [key]
