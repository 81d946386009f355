"""What flows between agents on hosts of their own can be: raw frames, groups, long datagrams,
connections.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agents
from ethermeter.testbed import Wire, make_testbed

pytestmark = pytest.mark.root

HOSTS = 3
MS = 10**6
RATE_BPS = 10_000_000
FRAMES = 300
"""One a millisecond."""


CEILINGS = 'addresses = ["10.77.0.0/24"]\nduration_s = 10\ngroups = ["multicast", "broadcast"]'


class Laboratory:
    """Three hosts around a switch with an agent on each; the coordinator is on the first."""

    def __init__(self, agents: Agents, entries: list[dict[str, str]]) -> None:
        self.agents, self.entries = agents, entries

    def measure(self, flows: list[dict[str, Any]], *, transmit_ms: int = FRAMES) -> dict[str, Any]:
        """Run one test, and return what came of it."""
        phases = {
            "settle_ns": 100 * MS,
            "transmit_ns": transmit_ms * MS,
            "measure_from_ns": 0,
            "measure_to_ns": transmit_ms * MS,
            "drain_ns": 200 * MS,
        }
        test = {"agents": self.entries, "phases": phases, "flows": flows}
        return self.agents.measure(self.agents.hosts[0], test)


@contextlib.contextmanager
def made_laboratory(agent: str, folder: Path, wires: Wire | None = None) -> Iterator[Laboratory]:
    with make_testbed(HOSTS, layout="switch", wires=wires) as bed:
        agents = Agents(agent, list(bed.hosts), folder, CEILINGS)
        with agents.running() as entries:
            yield Laboratory(agents, entries)


@pytest.fixture
def laboratory(agent: str, tmp_path: Path) -> Iterator[Laboratory]:
    """Three hosts with agents."""
    with made_laboratory(agent, tmp_path) as made:
        yield made


def flow(name: str, port: str, to: str | list[str], **more: object) -> dict[str, Any]:
    """Describe a flow from the first host: of 64 octets each millisecond unless said otherwise."""
    stream = {
        "kind": "stream",
        "source": {
            "frames": {"kind": "fixed", "bits": 512},
            "arrivals": {"kind": "regular", "period_ps": 10**9},
        },
    }
    base = {
        "name": name,
        "from": "h1",
        "to": to,
        "port": port,
        "most_bps": RATE_BPS,
        "most_frames_per_s": 20_000,
        "traffic": stream,
    }
    return base | more


EXCHANGE = {
    "kind": "exchange",
    "source": {
        "frames": {"kind": "fixed", "bits": 8 * 76},
        "arrivals": {"kind": "regular", "period_ps": 2 * 10**9},
    },
    "timeout_ns": 100 * MS,
}
LONG_ANSWERS = EXCHANGE | {"response": {"frames": {"kind": "fixed", "bits": 8 * 1518}}}


def test_raw_frames_and_groups_reach_those_who_granted_them_and_all_of_them(laboratory):
    many = ["h2", "h3"]
    flows = [
        flow("packet", "packet", "h2"),
        flow("packet-ask", "packet", "h3", traffic=EXCHANGE),
        flow("packet-many", "packet", many, cast="multicast"),
        flow("packet-all", "packet", many, cast="broadcast"),
        flow("udp-many", "udp", many, cast="multicast"),
        flow("udp-all", "udp", many, cast="broadcast"),
        flow("ask-many", "udp", many, cast="multicast", traffic=EXCHANGE),
        flow("packet-ask-many", "packet", many, cast="multicast", traffic=EXCHANGE),
    ]
    measured = laboratory.measure(flows)
    result = measured["flows"]
    assert (result["packet"]["sent"], result["packet"]["received"]) == (FRAMES, FRAMES)
    assert result["packet-ask"]["sending"]["counted"]["answered"] > 0
    for name in ("packet-many", "packet-all", "udp-many", "udp-all"):
        for host in many:
            receiver = result[name]["receivers"][host]
            # What no one else's frames push out of a socket's room comes: there is room for seconds
            # of them.
            assert (receiver["sent"], receiver["received"]) == (FRAMES, FRAMES), (name, host)
    for name in ("ask-many", "packet-ask-many"):
        asked = result[name]["sending"]["counted"]
        assert asked["answered"] + asked["lost"] == 2 * asked["requests"]
        assert asked["complete"] > 0
        assert all(station["answered"] >= asked["complete"] for station in asked["by_station"])
    # As the testbed has made it.
    facts = measured["agents"]["h2"]["result"]["provenance"]["interfaces"]["em0"]
    assert (facts["driver"], facts["mtu"]) == ("veth", 1500)
    assert {name: facts["offloads"][name] for name in ("tso", "gso", "gro")} == {
        "tso": False,
        "gso": False,
        "gro": False,
    }


def received_octets(measured: dict[str, Any], host: str) -> int:
    """Octets that have come to a host by its interface during a test, without check sequences."""
    samples = measured["agents"][host]["result"]["host"]
    first, last = (
        next(row["received_octets"] for row in sample["interfaces"] if row["name"] == "em0")
        for sample in (samples[0], samples[-1])
    )
    return int(last - first)


@pytest.mark.parametrize(
    ("port", "to", "cast"),
    [("packet", "h2", "unicast"), ("xdp", "h2", "unicast"), ("packet", ["h2", "h3"], "multicast")],
)
def test_short_raw_requests_are_answered_with_the_longest_frames(laboratory, port, to, cast):
    measured = laboratory.measure([flow("ask", port, to, cast=cast, traffic=LONG_ANSWERS)])
    asked = measured["flows"]["ask"]["sending"]["counted"]
    answers = asked["answered"]
    assert asked["complete"] > 0
    # An interface counts neither the check sequence nor, at times, what its host was told last.
    assert received_octets(measured, "h1") >= 1514 * (answers - 1)
    assert received_octets(measured, "h2") < 1000 * asked["requests"]


def test_xdp_ports_send_receive_ask_and_answer(laboratory):
    result = laboratory.measure([flow("stream", "xdp", "h2")])["flows"]["stream"]
    assert (result["sent"], result["received"]) == (FRAMES, FRAMES)
    assert result["receiving"]["counted"]["mode"]["attachment"] in ("native", "generic")
    asked = laboratory.measure([flow("ask", "xdp", "h3", traffic=EXCHANGE)])["flows"]["ask"][
        "sending"
    ]["counted"]
    assert asked["answered"] > 0
    assert asked["answered"] + asked["lost"] == asked["requests"]


def test_datagrams_longer_than_a_frame_are_counted_whole_and_charged_in_pieces(laboratory):
    data_octets, pieces, datagrams = 5000, 4, 100
    # Four IP packets with 5008 octets of UDP between them, each in a frame.
    wire_bits = 8 * (data_octets + 8 + pieces * (14 + 20 + 4))
    stream = {
        "kind": "stream",
        "source": {
            "frames": {"kind": "fixed", "bits": 8 * (data_octets + 46)},
            "arrivals": {"kind": "regular", "period_ps": 3 * 10**9},
        },
    }
    # Enough for all of them as they are on the wire, and then for half of them.
    rate_bps = wire_bits * 1000
    whole = laboratory.measure(
        [flow("long", "udp", "h2", traffic=stream, most_bps=rate_bps)], transmit_ms=3 * datagrams
    )
    assert (whole["flows"]["long"]["sent"], whole["flows"]["long"]["received"]) == (
        datagrams,
        datagrams,
    )
    host = whole["agents"]["h1"]["result"]["host"]
    sent = [
        next(row["sent_frames"] for row in sample["interfaces"] if row["name"] == "em0")
        for sample in (host[0], host[-1])
    ]
    # Other frames, of the coordinator, come on top.
    assert sent[1] - sent[0] >= pieces * datagrams
    saturated = stream | {"source": stream["source"] | {"arrivals": {"kind": "saturated"}}}
    for key, most in (("most_bps", wire_bits * 100), ("most_frames_per_s", pieces * 100)):
        result = laboratory.measure([flow("held", "udp", "h2", traffic=saturated) | {key: most}])[
            "flows"
        ]["held"]
        # 100 datagrams a second for the 0.6 s that were permitted, one saved up, and one for
        # rounding.
        assert 0 < result["sent"] <= 100 * 0.6 + 2
        assert "consent-limited" in result["cautions"]


def test_connections_in_both_directions_tell_of_themselves(agent, tmp_path):
    with made_laboratory(agent, tmp_path, Wire(RATE_BPS)) as laboratory:
        there = flow("there", "tcp", "h3", most_bps=2 * RATE_BPS, traffic={"kind": "transfer"}) | {
            "from": "h2"
        }
        back = there | {"name": "back", "from": "h3", "to": "h2"}
        flows = laboratory.measure([there, back], transmit_ms=1500)["flows"]
    for name in ("there", "back"):
        given, taken = (flows[name][side]["counted"] for side in ("sending", "receiving"))
        assert 0 < taken["octets"] <= given["octets"]
        assert taken["measured"]["data_rate_bps"] > 0
        columns = given["tcp"]["columns"]
        assert max(columns["congestion_window"]) > 2
        assert columns["busy_us"] == sorted(columns["busy_us"])
        assert columns["busy_us"][-1] > 0
