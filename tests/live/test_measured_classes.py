"""Priorities and traffic classes as they are measured: what is in frames, which frame a relayed
wire sends first, and what is refused.
"""

import subprocess
from collections import Counter
from typing import Any

import ethermeter as em
import pytest
from ethermeter.captures import explain
from live_runs import measure, refusal
from program import call, real
from shared_experiments import star

pytestmark = pytest.mark.root

LIVE = {"engines": ["live"], "replications": 1}
OFTEN = {"regular": "5 ms"}
RAW: dict[str, Any] = {"arrivals": OFTEN, "port": "packet"}
PRIORITIES = star(
    ["a", "b", "c"],
    [
        em.flow("raw", "a", "c", frames="100 B", priority=6, **RAW),
        em.flow("bypass", "c", "b", frames="1518 B", arrivals=OFTEN, priority=3, port="xdp"),
        em.flow("datagrams", "a", "c", data="200 B", arrivals=OFTEN, priority=5),
        em.flow(
            "questions",
            "a",
            "c",
            data="300 B",
            arrivals=OFTEN,
            response={"data": "400 B"},
            priority=4,
            port="tcp",
        ),
        em.flow(
            "raw-questions",
            "a",
            "c",
            frames="120 B",
            response={"frames": "1518 B"},
            priority=2,
            **RAW,
        ),
        em.flow("untagged", "a", "c", frames="500 B", **RAW),
    ],
    switch={"classes": 8},
    rate="100 Mb/s",
    phases={"transmit": "0.5 s", "measure": "all"},
    run=LIVE,
)
TAGGED = star(
    ["a", "b"],
    em.flow("questions", "a", "b", frames="1518 B", response={"frames": "64 B"}, priority=5, **RAW),
    switch={"classes": 8},
    rate="100 Mb/s",
    phases={"transmit": "0.5 s", "measure": "all"},
    run={"engines": ["simulation", "live"], "replications": 1},
)
HIGHEST = star(
    ["a", "b"],
    em.flow("highest", "a", "b", data="100 B", arrivals=OFTEN, priority=7),
    switch={"classes": 8},
    phases={"transmit": "0.1 s", "measure": "all"},
    run=LIVE,
)
STREAM, REQUEST, RESPONSE = 0, 1, 2  # kinds of marks (docs/reference/test-frames.md)
FIELDS = ("frame.len", "vlan.priority", "vlan.id", "tcp.len", "eth.src")
CLASS_OF_PACKETS = {4: "ip.dsfield.dscp", 6: "ipv6.tclass.dscp"}
IP_HEADER_OCTETS = {4: 20, 6: 40}
CONTROL: dict[str, Any] = {"frames": "64 B", "arrivals": {"regular": "3 ms"}, "port": "packet"}
BULK: dict[str, Any] = {"frames": "1518 B", "arrivals": {"regular": "2 ms"}, "port": "packet"}
OVERLOAD = star(
    ["a", "b", "c", "d"],
    [
        em.flow("control", "a", "c", priority=6, **CONTROL),
        em.flow("bulk", "b", "c", **BULK),
        em.flow("more", "d", "c", **BULK),
    ],
    switch={"classes": [{"priorities": [6, 7]}, {"priorities": [0, 1, 2, 3, 4, 5], "queue": 20}]},
    phases={"transmit": "1 s", "measure": "all", "drain": "0.5 s"},
    run={"engines": ["theory", "simulation", "live"], "replications": 1},
)
SHARED = {"shaped": (300, "0.5 ms", 7), "large": (1518, "1.4 ms", 4), "small": (600, "0.6 ms", 0)}
"""Octets of frames, their period and their priority, by the name of a sender."""
SHARES = star(
    [*SHARED, "sink"],
    [
        em.flow(
            name,
            name,
            "sink",
            frames=f"{octets} B",
            arrivals={"regular": period},
            priority=priority,
            port="packet",
        )
        for name, (octets, period, priority) in SHARED.items()
    ],
    switch={
        "classes": [
            {"priorities": [7], "idle_slope": "2 Mb/s", "queue": 4},
            {"priorities": [4, 5, 6], "quantum": "6152 B", "queue": 30},
            {"priorities": [0, 1, 2, 3], "quantum": "3076 B", "queue": 30},
        ]
    },
    phases={"transmit": "2 s", "measure": "last 1.8 s", "drain": "0.2 s"},
    run=LIVE,
)
RELAYED = ("--on", "testbed,relay", "--no-report")
TOLERATED_STALL_S = 0.2


def wire_of(found: Any, *ends: str) -> Any:
    """The direction of a wire between two nodes in a result."""
    (wire,) = [wire for wire in found["wires"] if (wire["from"], wire["towards"]) == ends]
    return wire


@pytest.mark.parametrize("ip", [4, 6])
def test_priorities_are_in_tags_of_raw_frames_and_in_the_class_of_packets(tmp_path, ip):
    measured = measure(PRIORITIES, tmp_path, *RELAYED, "--capture", "--ip", ip)
    result = measured.result()
    (path,) = measured.run.glob("captures/*/*-c.pcapng")
    fields = (*FIELDS, CLASS_OF_PACKETS[ip])
    command = ["tshark", "-n", "-r", str(path), "-T", "fields"]
    command += [word for name in fields for word in ("-e", name)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [dict(zip((*FIELDS, "dscp"), line.split("\t"), strict=True)) for line in lines]
    flows = result["flows"]
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
    of_bypass = wire_of(result, "s", "b")["classes"][4]
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
    measured = measure(TAGGED.changed({"flows.0.port": port}), tmp_path, *RELAYED)
    octets = {
        engine: of["goodput"]["value"] / of["frame_rate"]["value"] / 8
        for engine, of in measured.estimates().items()
    }
    # Goodput is that of requests: 1518 octets and a tag.
    assert octets == pytest.approx(dict.fromkeys(("simulation", "live"), 1522))
    found = measured.result()
    counted = found["flows"]["questions"]["sending"]["counted"]
    assert counted["answered"] == counted["requests"] > 0
    # Wires read priority 5 in both directions: the third of eight classes, the highest first.
    for end, length in (("b", 1522), ("a", 68)):
        of_class = wire_of(found, "s", end)["classes"][2]
        expected = (counted["requests"], length * counted["requests"])
        assert (of_class["frames"], of_class["octets"]) == expected


def test_priority_7_without_the_right_to_it_is_refused_in_a_line(tmp_path):
    path = HIGHEST.save(tmp_path / "x.toml")
    command = real("measure", path, "--on", "loopback", "--no-report", "--out", tmp_path / "o")
    done = call(["setpriv", "--bounding-set", "-net_admin,-net_raw", *command])
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert "giving a socket a priority (7 needs CAP_NET_ADMIN or CAP_NET_RAW)" in line


def test_a_full_wire_loses_only_of_the_lower_class(tmp_path):
    found = measure(OVERLOAD, tmp_path, *RELAYED).result()
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


def test_idle_slopes_and_quanta_share_a_full_wire(new_path, in_quiet_window):
    found = in_quiet_window(
        lambda: measure(SHARES, new_path(), *RELAYED).result(), tolerated_stall_s=TOLERATED_STALL_S
    )
    wire = wire_of(found, "s", "sink")
    of_wire = dict(zip(SHARED, wire["classes"], strict=True))
    assert all(of["dropped"] > 0 for of in of_wire.values()), "no test at all"
    # What each class sent of the wire in 2 s and what waited then: volumes with tag, preamble, gap.
    mbps = {name: of["frames"] * (SHARED[name][0] + 24) * 8 / 2e6 for name, of in of_wire.items()}
    # The shaper gives 2 Mb/s, the rest of 8 Mb/s goes two to one; queues that empty after the last
    # frame came, 30 of 1542 octets at most, are 0.2 Mb/s of 2 s, and stalls their share of it.
    stalled = in_quiet_window.stalled_s / 2
    assert mbps["shaped"] == pytest.approx(2.0, abs=0.1 + 2.0 * stalled)
    assert mbps["large"] == pytest.approx(8 * 2 / 3, abs=0.3 + 8 * 2 / 3 * stalled)
    assert mbps["small"] == pytest.approx(8 / 3, abs=0.25 + 8 / 3 * stalled)


def test_shaped_wires_and_hosts_that_nothing_holds_back_are_refused_in_a_line(tmp_path):
    saturated = OVERLOAD.changed(
        {"flows.0.arrivals": "saturated", "network.classes": 2, "network.switches.0.classes": None}
    )
    for refused, wires, fault in (
        (OVERLOAD, "shaped", "s.classes = 2 classes: expected none with shaped wires"),
        (saturated, "relay", "flows.control.arrivals = saturated: expected arrivals at a rate"),
    ):
        assert fault in refusal(refused, tmp_path, "--on", f"testbed,{wires}")
