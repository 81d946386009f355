"""Priorities and traffic classes as they are measured: what is in frames, which frame a relayed
wire sends first, and what is refused.
"""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ethermeter.captures import explain
from networks import network
from program import invoke, real

pytestmark = pytest.mark.root

PRIORITIES = """\
[[flows]]
name = "raw"
from = "a"
to = "c"
frames = "100 B"
arrivals = { regular = "5 ms" }
priority = 6
port = "packet"
[[flows]]
name = "bypass"
from = "c"
to = "b"
frames = "1518 B"
arrivals = { regular = "5 ms" }
priority = 3
port = "xdp"
[[flows]]
name = "datagrams"
from = "a"
to = "c"
data = "200 B"
arrivals = { regular = "5 ms" }
priority = 5
[[flows]]
name = "questions"
from = "a"
to = "c"
data = "300 B"
arrivals = { regular = "5 ms" }
response = { data = "400 B" }
priority = 4
port = "tcp"
[[flows]]
name = "raw-questions"
from = "a"
to = "c"
frames = "120 B"
arrivals = { regular = "5 ms" }
response = { frames = "1518 B" }
priority = 2
port = "packet"
[[flows]]
name = "untagged"
from = "a"
to = "c"
frames = "500 B"
arrivals = { regular = "5 ms" }
port = "packet"
[phases]
transmit = "0.5 s"
measure = "all"
[run]
engines = ["live"]
replications = 1
"""
TAGGED = """\
[[flows]]
name = "questions"
from = "a"
to = "b"
frames = "1518 B"
arrivals = { regular = "5 ms" }
response = { frames = "64 B" }
priority = 5
port = "packet"
[phases]
transmit = "0.5 s"
measure = "all"
[run]
engines = ["simulation", "live"]
replications = 1
"""
HIGHEST = """\
[[flows]]
name = "highest"
from = "a"
to = "b"
data = "100 B"
arrivals = { regular = "5 ms" }
priority = 7
[phases]
transmit = "0.1 s"
measure = "all"
[run]
engines = ["live"]
replications = 1
"""
STREAM, REQUEST, RESPONSE = 0, 1, 2  # kinds of marks (docs/reference/test-frames.md)
FIELDS = ("frame.len", "vlan.priority", "vlan.id", "tcp.len", "eth.src")
CLASS_OF_PACKETS = {4: "ip.dsfield.dscp", 6: "ipv6.tclass.dscp"}
IP_HEADER_OCTETS = {4: 20, 6: 40}
OVERLOAD = """\
[[flows]]
name = "control"
from = "a"
to = "c"
frames = "64 B"
arrivals = { regular = "3 ms" }
priority = 6
port = "packet"
[[flows]]
name = "bulk"
from = "b"
to = "c"
frames = "1518 B"
arrivals = { regular = "2 ms" }
port = "packet"
[[flows]]
name = "more"
from = "d"
to = "c"
frames = "1518 B"
arrivals = { regular = "2 ms" }
port = "packet"
[phases]
transmit = "1 s"
measure = "all"
drain = "0.5 s"
[run]
engines = ["theory", "simulation", "live"]
replications = 1
"""
CLASSES = """classes = [
  { priorities = [6, 7] },
  { priorities = [0, 1, 2, 3, 4, 5], queue = 20 },
]"""
TOLERATED_STALL_S = 0.02


def measured(folder: Path, text: str, *options: str) -> Path:
    """Measure an experiment between namespaces, on relayed wires; returns the run's folder."""
    (folder / "x.toml").write_text(text, encoding="utf-8")
    out = folder / "run"
    words = ("--testbed", "--wires", "relay", "--no-report", "--out", out)
    done = invoke("measure", folder / "x.toml", *words, *options)
    assert done.returncode == 0, done.stderr
    return out


def result(run: Path) -> Any:
    (path,) = (run / "live").glob("*/*.json")
    return json.loads(path.read_text())


def wire_of(found: Any, *ends: str) -> Any:
    """The direction of a wire between two nodes in a result."""
    (wire,) = [wire for wire in found["wires"] if (wire["from"], wire["towards"]) == ends]
    return wire


@pytest.mark.parametrize("ip", [4, 6])
def test_priorities_are_in_tags_of_raw_frames_and_in_the_class_of_packets(tmp_path, ip):
    text = network(
        PRIORITIES,
        title="priorities",
        hosts=("a", "b", "c"),
        switch="classes = 8",
        rate="100 Mb/s",
    )
    run = measured(tmp_path, text, "--capture", "--ip", str(ip))
    (path,) = run.glob("captures/*/*-c.pcapng")
    fields = (*FIELDS, CLASS_OF_PACKETS[ip])
    command = ["tshark", "-n", "-r", str(path), "-T", "fields"]
    command += [word for name in fields for word in ("-e", name)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [dict(zip((*FIELDS, "dscp"), line.split("\t"), strict=True)) for line in lines]
    flows = result(run)["flows"]
    sent = {name: flow["sending"]["counted"].get("frames") for name, flow in flows.items()}
    tagged = Counter(
        (int(row["frame.len"]), row["vlan.priority"], row["vlan.id"])
        for row in rows
        if row["vlan.priority"]
    )
    # A capture has no check sequence: 100 octets and a tag are 104 with it. Answers have the tag of
    # the questions.
    asked = flows["raw-questions"]["sending"]["counted"]["answered"]
    assert asked == flows["raw-questions"]["sending"]["counted"]["requests"]
    assert tagged == {
        (100, "6", "0"): sent["raw"],
        (120, "2", "0"): asked,
        (1518, "2", "0"): asked,
    }
    # What goes through XDP sockets no tap hears. The wire has read it as of the class of priority
    # 3, the fifth of eight, in frames of 1518 octets and a tag: the MTU does not count it.
    of_bypass = wire_of(result(run), "s", "b")["classes"][4]
    assert (of_bypass["frames"], of_bypass["octets"]) == (sent["bypass"], 1522 * sent["bypass"])
    # The class selector is the priority in the highest three of the six bits.
    length = str(14 + IP_HEADER_OCTETS[ip] + 8 + 200)
    udp = [row for row in rows if row["frame.len"] == length and not row["tcp.len"]]
    assert Counter(row["dscp"] for row in udp) == {"40": sent["datagrams"]}
    # Both ways: questions and acknowledgements of the one, answers of the other.
    tcp = [row for row in rows if row["tcp.len"]]
    assert {row["dscp"] for row in tcp} == {"32"}
    assert len({row["eth.src"] for row in tcp}) == 2
    assert Counter(row["frame.len"] for row in rows)["496"] == sent["untagged"]
    received = flows["bypass"]["receiving"]["counted"]["streams"][0]["received"]
    assert received == sent["bypass"] == sent["raw"]
    explained = {
        (flow.kind, flow.mark.kind, flow.priority): flow.packets
        for flow in explain(path).flows
        if flow.mark is not None
    }
    assert {key: count for key, count in explained.items() if key[0] == "raw"} == {
        ("raw", STREAM, 6): sent["raw"],
        ("raw", REQUEST, 2): asked,
        ("raw", RESPONSE, 2): asked,
        ("raw", STREAM, None): sent["untagged"],
    }


@pytest.mark.parametrize("port", ["packet", "xdp"])
def test_tagged_requests_and_responses_have_the_octets_of_their_simulation(tmp_path, port):
    text = network(TAGGED, title="tagged", switch="classes = 8", rate="100 Mb/s")
    run = measured(tmp_path, text, "--set", f'flows.questions.port="{port}"')
    points = json.loads((run / "estimates.json").read_text())["points"]
    octets = {
        point["engine"]: point["estimates"]["goodput"]["value"]
        / point["estimates"]["frame_rate"]["value"]
        / 8
        for point in points
    }
    # Goodput is that of requests: 1518 octets and a tag.
    assert octets == pytest.approx(dict.fromkeys(("simulation", "live"), 1522))
    found = result(run)
    counted = found["flows"]["questions"]["sending"]["counted"]
    assert counted["answered"] == counted["requests"] > 0
    # Wires read priority 5 in both directions: the third of eight classes, the highest first.
    for end, length in (("b", 1522), ("a", 68)):
        of_class = wire_of(found, "s", end)["classes"][2]
        expected = (counted["requests"], length * counted["requests"])
        assert (of_class["frames"], of_class["octets"]) == expected


def test_priority_7_without_the_right_to_it_is_refused_in_a_line(tmp_path):
    text = network(HIGHEST, title="highest", switch="classes = 8")
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    command = ("measure", tmp_path / "x.toml", "--loopback", "--no-report", "--out", tmp_path / "o")
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-net_admin,-net_raw", *real(*command)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert "giving a socket a priority (7 needs CAP_NET_ADMIN or CAP_NET_RAW)" in line


def test_a_full_wire_loses_only_of_the_lower_class(tmp_path):
    text = network(OVERLOAD, title="overload", hosts=("a", "b", "c", "d"), switch=CLASSES)
    found = result(measured(tmp_path, text))
    wire = wire_of(found, "s", "c")
    high, low = wire["classes"]
    streams = {
        name: flow["receiving"]["counted"]["streams"][0] for name, flow in found["flows"].items()
    }
    assert (high["arrived"], high["dropped"]) == (high["frames"], 0)
    assert low["arrived"] == low["frames"] + low["dropped"]
    assert low["queue_most"] == 20
    assert wire["dropped"]["queue"] == low["dropped"] > 0
    assert streams["control"]["received"] == high["frames"]
    assert streams["bulk"]["received"] + streams["more"]["received"] == low["frames"]


SHARES = """classes = [
  { priorities = [7], idle_slope = "2 Mb/s", queue = 4 },
  { priorities = [4, 5, 6], quantum = "6152 B", queue = 30 },
  { priorities = [0, 1, 2, 3], quantum = "3076 B", queue = 30 },
]"""
SHARING = "".join(
    f"""\
[[flows]]
name = "{name}"
from = "{name}"
to = "sink"
frames = "{octets} B"
arrivals = {{ regular = "{period}" }}
priority = {priority}
port = "packet"
"""
    for name, octets, period, priority in (
        ("shaped", 300, "0.5 ms", 7),
        ("large", 1518, "1.4 ms", 4),
        ("small", 600, "0.6 ms", 0),
    )
)


def test_idle_slopes_and_quanta_share_a_full_wire(new_path, in_quiet_window):
    text = network(
        SHARING + '[phases]\ntransmit = "2 s"\nmeasure = "last 1.8 s"\ndrain = "0.2 s"\n'
        '[run]\nengines = ["live"]\nreplications = 1\n',
        title="shares",
        hosts=("shaped", "large", "small", "sink"),
        switch=SHARES,
    )
    found = in_quiet_window(
        lambda: result(measured(new_path(), text)), tolerated_stall_s=TOLERATED_STALL_S
    )
    wire = wire_of(found, "s", "sink")
    of_wire = dict(zip(("shaped", "large", "small"), wire["classes"], strict=True))
    assert all(of["dropped"] > 0 for of in of_wire.values()), "no test at all"
    # What each class sent of the wire in 2 s and what waited then: volumes with tag, preamble, gap.
    mbps = {
        name: of["frames"] * (octets + 24) * 8 / 2e6
        for (name, of), octets in zip(of_wire.items(), (300, 1518, 600), strict=True)
    }
    # The shaper gives 2 Mb/s, the rest of 8 Mb/s goes two to one; queues that empty after the last
    # frame came, 30 of 1542 octets at most, are 0.2 Mb/s of 2 s, and a stall is 1% of it.
    assert mbps["shaped"] == pytest.approx(2.0, abs=0.1)
    assert mbps["large"] == pytest.approx(8 * 2 / 3, abs=0.35)
    assert mbps["small"] == pytest.approx(8 / 3, abs=0.25)


def test_shaped_wires_and_hosts_that_nothing_holds_back_are_refused_in_a_line(tmp_path):
    hosts = ("a", "b", "c", "d")
    text = network(OVERLOAD, title="overload", hosts=hosts, switch=CLASSES)
    saturated = network(
        OVERLOAD.replace('{ regular = "3 ms" }', '"saturated"'),
        title="overload",
        hosts=hosts,
        switch="",
        rate='10 Mb/s"\nclasses = 2 # "',
    )
    for made, wires, fault in (
        (text, "shaped", "s.classes = 2 classes: expected none with shaped wires"),
        (saturated, "relay", "flows.control.arrivals = saturated: expected arrivals at a rate"),
    ):
        (tmp_path / "x.toml").write_text(made, encoding="utf-8")
        words = ("--testbed", "--wires", wires, "--out", tmp_path / "run")
        done = invoke("measure", tmp_path / "x.toml", *words)
        assert (done.returncode, fault in done.stderr) == (2, True), done.stderr
