"""Voice in files of networks: what they say, and every fault of it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ethermeter.experiment import load
from faults_at import expect_fault, faults_of

NETWORK = """\
title = "t"
[network]
rate = "1 Mb/s"
[[network.hosts]]
name = "talker"
count = 2
[[network.hosts]]
name = "listener"
[[network.switches]]
name = "s"
[[network.links]]
ends = ["talker", "s"]
[[network.links]]
ends = ["listener", "s"]
"""
SAMPLES = 'data = { samples = { least = "172 B", most = "972 B", overhead = "12 B" } }'
CODER = 'arrivals = { coder = { codec = "g711" } }'


def flow(*lines: str) -> str:
    return "\n".join(
        [NETWORK, "[[flows]]", 'name = "call"', 'from = "talker"', 'to = "listener"', *lines, ""]
    )


def flows(folder: Path, text: str) -> list[dict[str, Any]]:
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    experiment = load(path)
    found: list[dict[str, Any]] = json.loads(
        msgspec.json.encode(experiment.scenarios.at([0] * len(experiment.sweeps)))
    )["flows"]
    return found


def test_a_codec_says_its_samples_and_how_it_is_rated(tmp_path):
    first, second = flows(tmp_path, flow(SAMPLES, CODER))
    assert first == {
        "name": "call talker1",
        "from": "talker1",
        "to": ["listener"],
        "frames": {"kind": "samples", "overhead_bits": 96, "min_bits": 1376, "max_bits": 7776},
        "framing": {"udp": {"mtu_octets": 1500}},
        "arrivals": {"kind": "coder", "sample_bits": 8, "sample_ps": 125_000_000},
        "codec": "g711",
    }
    assert second["from"] == "talker2"


def test_a_coder_without_a_name_has_frames_spurts_and_host_time(tmp_path):
    frames = 'frames = { samples = { least = "64 B", most = "1024 B", overhead = "18 B" } }'
    coder = (
        'arrivals = { coder = { sample = "16 bit", rate = "64 kb/s", talk = "1.2 '
        's", silence = "1.8 s" } }'
    )
    found = flows(tmp_path, flow(frames, coder, 'service = "1 ms"'))[0]
    assert found["frames"] == {
        "kind": "samples",
        "overhead_bits": 144,
        "min_bits": 512,
        "max_bits": 8192,
    }
    assert found["arrivals"] == {
        "kind": "coder",
        "sample_bits": 16,
        "sample_ps": 250_000_000,
        "spurts": {"talk_mean_ps": 1.2e12, "silence_mean_ps": 1.8e12},
    }
    assert found["service"] == {"kind": "constant", "ps": 10**9}
    assert not {"framing", "codec"} & set(found)


def test_frames_of_a_codec_are_its_samples(tmp_path):
    # G.729A: ten octets of 10 ms; RFC 3551 section 4.5.6.
    found = flows(
        tmp_path,
        flow(
            'data = { samples = { least = "32 B", most = "132 B", overhead = "12 B" } }',
            CODER.replace("g711", "g729a"),
        ),
    )
    assert {(each["arrivals"]["sample_bits"], each["arrivals"]["sample_ps"]) for each in found} == {
        (80, 10**10)
    }


def grown(least: str, most: str, overhead: str, of: str = "data") -> str:
    return (
        f'{of} = {{ samples = {{ least = "{least}", most = "{most}", overhead = "{overhead}" }} }}'
    )


def coder(said: str) -> str:
    return f"arrivals = {{ coder = {{ {said} }} }}"


MALFORMED = {
    "fixed lengths": (('data = "172 B"', CODER), "flows.0.data", "because arrivals are of a coder"),
    "no coder": (
        (SAMPLES, 'arrivals = "saturated"'),
        "flows.0.arrivals",
        "because frames are samples",
    ),
    "a queue": ((SAMPLES, CODER, "queue = 3"), "flows.0.queue", "one packet on its way"),
    "an answer": ((SAMPLES, CODER, "response = {}"), "flows.0.response", "one packet on its way"),
    "samples in an answer": (
        ('data = "64 B"', 'arrivals = "saturated"', f"response = {{ {SAMPLES} }}"),
        "flows.0.response.data",
        "only a coder's",
    ),
    "a group's address": (
        (SAMPLES, CODER, 'cast = "multicast"'),
        "flows.0.cast",
        'expected "unicast"',
    ),
    "by TCP": ((SAMPLES, CODER, 'port = "tcp"'), "flows.0.port", 'expected "udp" or "packet"'),
    "more than a frame": (
        (grown("172 B", "1473 B", "12 B"), CODER),
        "flows.0.data.samples.most",
        "at most 1472 B beside",
    ),
    "more than a small packet": (
        (grown("172 B", "973 B", "12 B"), CODER, 'mtu = "1000 B"'),
        "flows.0.data.samples.most",
        "at most 972 B",
    ),
    "frames without their own": (
        (grown("64 B", "972 B", "17 B", "frames"), CODER),
        "flows.0.frames.samples.overhead",
        "at least 18 B",
    ),
    "no room for the least": (
        (grown("172 B", "171 B", "12 B"), CODER),
        "flows.0.data.samples.most",
        "at least 172 B",
    ),
    "half an octet": (
        (grown("172 B", "972 B", "100 bit"), CODER),
        "flows.0.data.samples.overhead",
        "whole octets",
    ),
    "samples of bits": (
        (SAMPLES, coder('sample = "4 bit", every = "125 us"')),
        "flows.0.arrivals.coder.sample",
        "whole octets",
    ),
    "no sample": (
        (SAMPLES, coder('every = "125 us"')),
        "flows.0.arrivals.coder.sample",
        "or codec",
    ),
    "a codec and more": (
        (SAMPLES, coder('codec = "g711", sample = "8 bit"')),
        "flows.0.arrivals.coder",
        "expected either codec",
    ),
    "a codec of many frames": (
        (SAMPLES, coder('codec = "opus"')),
        "flows.0.arrivals.coder.codec",
        "whose frames are all alike: g711",
    ),
    "a rate that is not whole": (
        (SAMPLES, coder('sample = "8 bit", rate = "63.7 kb/s"')),
        "flows.0.arrivals.coder.rate",
        "whole number of picoseconds",
    ),
    "a codec beside a transfer": (
        ('transfer = { stream = {}, tcp = { window = "64 kB" } }', CODER),
        "flows.0.arrivals",
        "not allowed with transfer",
    ),
}


@pytest.mark.parametrize(("lines", "key", "allowed"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_flow_is_refused_with_key_and_what_was_allowed(tmp_path, lines, key, allowed):
    expect_fault(tmp_path, flow(*lines), key=key, allowed=allowed)


def test_every_fault_of_a_flow_is_said_at_once(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        flow(grown("172 B", "1600 B", "12 B"), CODER, "queue = 3", 'cast = "broadcast"'),
        encoding="utf-8",
    )
    keys = {fault.key for fault in faults_of(lambda: load(path))}
    assert keys == {"flows.0.data.samples.most", "flows.0.queue", "flows.0.cast"}
