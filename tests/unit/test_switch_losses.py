"""Whose messages are missing for what switches and wires dropped: by hand, by conservation, and
where nothing can be read.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from ethermeter.analysis import losses
from ethermeter.analysis.losses import Drops
from ethermeter.cli.output import show
from ethermeter.engines.live import switches
from ethermeter.engines.live.switches import PLACES, Around, rows
from ethermeter.engines.live.switches import attributed as attributed_text
from ethermeter.present.measurement import drops
from ethermeter.store.result import PortDrops, WireDrops
from ethermeter.testbed import NetworkBed, TestbedError, counters
from ethermeter.testbed.counters import Port, Reading, added
from hypothesis import given
from hypothesis import strategies as st
from measured_trials import result_of
from msgspec import convert

HOSTS = {"a": "s1", "b": "s1", "c": "s2", "d": "s2"}
"""Two switches with a trunk between them, two hosts at each."""


def lost(missing: int, seen: list[list[Any]] | None = None) -> dict[str, Any]:
    """Losses as agents tell them."""
    dropped = sum(count for _, count in seen or [])
    counted = {
        "missing": missing,
        "seen": seen or [],
        "unexplained": max(missing - dropped, 0),
        "excess": max(dropped - missing, 0),
    }
    return {"sent": 1000, "received": 1000 - missing, "losses": counted}


def flow(one: str, other: str, missing: int, seen: list[list[Any]] | None = None) -> dict[str, Any]:
    return {"from": one, "to": other, **lost(missing, seen)}


def port(switch: str, towards: str, queue: int = 0, interface: int = 0) -> dict[str, Any]:
    return {
        "switch": switch,
        "towards": towards,
        "is_before_host": towards in HOSTS,
        "dropped": {"queue": queue, "interface": interface},
    }


def network(*dropped: dict[str, Any]) -> list[dict[str, Any]]:
    """All ports of the two switches, those that dropped among them."""
    hops = [(switch, host) for host, switch in HOSTS.items()] + [("s1", "s2"), ("s2", "s1")]
    said = {(row["switch"], row["towards"]): row for row in dropped}
    assert set(said) <= set(hops)
    return [said.get(hop, port(*hop)) for hop in hops]


def attributed(result: dict[str, Any]) -> dict[str, Any]:
    """Attribute the losses of a result to what its switches and wires dropped."""
    of_agents = {key: result[key] for key in result if key not in ("switches", "wires")}
    switches = convert(result["switches"], list[PortDrops])
    wires = convert(result.get("wires", []), list[WireDrops])
    text = attributed_text(json.dumps(of_agents).encode(), switches, wires)
    return dict(json.loads(text))


def test_a_port_on_the_way_explains_what_is_missing_in_the_order_of_the_way():
    result = {
        "flows": {"load": flow("a", "c", 30, [["sender-queue", 2], ["socket", 3]])},
        "switches": network(port("s1", "s2", queue=20)),
    }
    found = attributed(result)["flows"]["load"]["losses"]
    assert found["seen"] == [["sender-queue", 2], ["switch", 20], ["socket", 3]]
    assert (found["missing"], found["unexplained"], found["excess"]) == (30, 5, 0)
    assert found["between"] == [{"place": "switch", "at": "s1", "towards": "s2", "dropped": 20}]
    # What was handed in is as it was.
    assert result["flows"]["load"]["losses"]["unexplained"] == 25


def test_flows_that_share_a_port_are_all_told_its_drops_and_others_none():
    flows = {
        "one": flow("a", "c", 30),
        "other": flow("b", "c", 20),
        "beside": flow("c", "d", 4),
        "back": flow("c", "a", 0),
        "here": flow("a", "b", 0),
    }
    found = attributed({"flows": flows, "switches": network(port("s2", "c", queue=50))})["flows"]
    assert [
        (found[name]["losses"]["unexplained"], found[name]["losses"]["excess"]) for name in flows
    ] == [(0, 20), (0, 30), (4, 0), (0, 0), (0, 0)]
    assert all("between" not in found[name]["losses"] for name in ("beside", "back", "here"))


def test_of_a_group_each_receiver_has_the_ports_on_its_own_way():
    receivers = {"b": lost(0), "c": lost(7), "d": lost(9)}
    flows = {"group": {"from": "a", "to": ["b", "c", "d"], "receivers": receivers}}
    dropped = network(port("s1", "s2", queue=7), port("s2", "d", queue=2), port("s1", "a", queue=5))
    found = attributed({"flows": flows, "switches": dropped})["flows"]["group"]["receivers"]
    assert {name: said["losses"]["seen"] for name, said in found.items()} == {
        "b": [],
        "c": [["switch", 7]],
        "d": [["switch", 9]],
    }
    assert all(
        said["losses"]["unexplained"] == said["losses"]["excess"] == 0 for said in found.values()
    )


def test_what_a_host_counts_too_is_not_counted_twice():
    flows = {"load": flow("a", "c", 9, [["receiver-interface", 4]])}
    dropped = network(port("s2", "c", interface=4), port("s1", "s2", interface=5))
    found = attributed({"flows": flows, "switches": dropped})["flows"]["load"]["losses"]
    assert found["seen"] == [["switch", 5], ["receiver-interface", 4]]
    assert (found["unexplained"], found["excess"]) == (0, 0)


def test_wires_count_in_their_direction_and_join_hosts_without_a_switch():
    wires = [
        {"from": "x", "towards": "y", "dropped": {"queue": 1, "lost": 2, "ring": 3}},
        {"from": "y", "towards": "x", "dropped": {"queue": 100}},
    ]
    result = {"flows": {"load": flow("x", "y", 8)}, "switches": [], "wires": wires}
    found = attributed(result)["flows"]["load"]["losses"]
    assert found["seen"] == [["network", 6]]
    assert found["unexplained"] == 2
    assert found["between"] == [{"place": "network", "at": "x", "towards": "y", "dropped": 6}]


def test_flows_without_losses_and_hosts_that_nothing_joins_are_as_they_were():
    flows = {"ping": {"from": "a", "to": "b", "receiving": None}, "direct": flow("y", "z", 3)}
    assert (
        attributed({"flows": flows, "switches": network(port("s1", "b", queue=5))})["flows"]
        == flows
    )


@given(
    st.lists(st.integers(0, 1000), min_size=6, max_size=6),
    st.lists(st.integers(0, 1000), min_size=6, max_size=6),
    st.integers(0, 3000),
    st.lists(st.integers(0, 500), min_size=4, max_size=4),
    st.sampled_from([(one, other) for one in HOSTS for other in HOSTS if one != other]),
)
def test_what_is_missing_is_seen_or_unexplained_but_for_the_excess(
    queues, interfaces, missing, at_hosts, ends
):
    places = ("sender-queue", "sender-interface", "receiver-interface", "socket")
    seen = [[place, count] for place, count in zip(places, at_hosts, strict=True) if count]
    dropped = [
        {**row, "dropped": {"queue": queue, "interface": interface}}
        for row, queue, interface in zip(network(), queues, interfaces, strict=True)
    ]
    result = attributed({"flows": {"load": flow(*ends, missing, seen)}, "switches": dropped})
    counted = result["flows"]["load"]["losses"]
    assert (
        missing + counted["excess"]
        == sum(count for _, count in counted["seen"]) + counted["unexplained"]
    )
    assert counted["excess"] == 0 or counted["unexplained"] == 0
    assert [place for place, _ in counted["seen"]] == [
        place for place in PLACES if place in dict(counted["seen"])
    ]
    (loss,) = losses.losses(result_of(result))
    assert loss.places.get("switch", 0) == sum(loss.between.values())
    assert set(loss.places) <= set(losses.PLACES)


def test_ports_are_told_with_what_the_streams_that_pass_them_miss():
    flows = {"one": flow("a", "c", 30), "other": flow("b", "c", 20), "beside": flow("a", "b", 4)}
    result = attributed({"flows": flows, "switches": network(port("s2", "c", queue=50))})
    found = losses.losses(result_of(result))
    (said,) = losses.drops(result_of(result), found)
    assert (said.place, said.at, said.towards, said.frames, said.missing) == (
        "switch",
        "s2",
        "c",
        50,
        50,
    )
    both = losses.drops_together([said, said])
    assert (both.frames, both.missing) == (100, 100)
    assert losses.total(found, flow="", receiver="").between == {("switch", "s2", "c"): 100}


def test_a_dropped_frame_of_a_group_is_missed_by_all_behind_the_port_and_counted_once():
    flows = {
        "group": {
            "from": "a",
            "to": ["b", "c", "d"],
            "receivers": {"b": lost(0), "c": lost(7), "d": lost(7)},
        }
    }
    result = attributed({"flows": flows, "switches": network(port("s1", "s2", queue=7))})
    (said,) = losses.drops(result_of(result), losses.losses(result_of(result)))
    assert (said.frames, said.missing) == (7, 7)


@pytest.mark.parametrize(
    ("dropped", "missing", "known"),
    [
        # One port and two streams; one more is missing than it dropped, or one less.
        ({("s2", "c"): 50}, {"one": 30, "other": 20}, {"one": 30, "other": 20}),
        ({("s2", "c"): 50}, {"one": 31, "other": 20}, {}),
        ({("s2", "c"): 50}, {"one": 29, "other": 20}, {}),
        # A chain of streams and ports that is looked at as one, and a stream by itself.
        (
            {("s2", "c"): 40, ("s1", "s2"): 15},
            {"one": 30, "other": 20, "trunk": 5},
            {"one": 30, "other": 20, "trunk": 5},
        ),
        (
            {("s2", "c"): 50, ("s1", "b"): 3},
            {"one": 30, "other": 20, "near": 3},
            {"one": 30, "other": 20, "near": 3},
        ),
        (
            {("s2", "c"): 50, ("s1", "b"): 3},
            {"one": 30, "other": 20, "near": 2},
            {"one": 30, "other": 20},
        ),
        # What did not pass there is missing for something else.
        ({("s2", "c"): 50}, {"one": 30, "other": 20, "near": 1}, {"one": 30, "other": 20}),
    ],
)
def test_streams_that_miss_exactly_what_their_ports_dropped_lost_it_there(dropped, missing, known):
    ends = {"one": ("a", "c"), "other": ("b", "c"), "trunk": ("a", "d"), "near": ("a", "b")}
    flows = {name: flow(*ends[name], count) for name, count in missing.items()}
    result = attributed(
        {
            "flows": flows,
            "switches": network(*(port(*hop, queue=count) for hop, count in dropped.items())),
        }
    )
    assert {
        loss.flow: loss.at_switches for loss in losses.losses(result_of(result)) if loss.at_switches
    } == known


def test_losses_of_receivers_that_differ_or_of_wires_are_not_attributed_to_switches():
    group = {"from": "a", "to": ["c", "d"], "receivers": {"c": lost(7), "d": lost(7)}}
    other = {**group, "receivers": {"c": lost(7), "d": lost(0)}}
    switched = network(port("s1", "s2", queue=7))
    known = [
        losses.losses(result_of(attributed({"flows": {"group": of}, "switches": switched})))
        for of in (group, other)
    ]
    assert [[loss.at_switches for loss in found] for found in known] == [[7, 7], [0, 0]]
    wires = [{"from": "a", "towards": "s1", "dropped": {"lost": 2}}]
    result = attributed(
        {"flows": {"load": flow("a", "c", 9)}, "switches": switched, "wires": wires}
    )
    (loss,) = losses.losses(result_of(result))
    assert (loss.at_switches, loss.places) == (0, {"network": 2, "switch": 7})


def test_the_terminal_has_the_places_that_dropped_most_all_trials_together(capsys):
    def drop(towards: str, count: float) -> Drops:
        return Drops("switch", "s", towards, {"queue": count}, count - 1)

    wire = Drops("network", "a", "s", {"lost": 2.0, "ring": 1.0}, 4.0)
    show(drops([drop("b", 2.0), wire, drop("b", 5.0), *(drop(f"c{at}", 1.0) for at in range(5))]))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "port of s towards b: dropped 7 frames; streams that pass miss 5 messages",
        "wire from a towards s: dropped 3 frames; streams that pass miss 4 messages",
    ]
    assert len(lines) == 6
    assert lines[-1] == "… 2 more places in the report"


def bed() -> NetworkBed:
    ports = {
        (switch, host): Port("of " + switch, f"em{host}", is_before_host=True)
        for host, switch in HOSTS.items()
    }
    return NetworkBed("em-1-0000", {}, {}, Path("/nowhere"), ports)


def reading(queue: int) -> Reading:
    return Reading({hop: {"queue": queue, "interface": 1} for hop in bed().ports}, {}, {})


def test_drops_are_those_of_the_test_also_where_the_counter_came_round():
    dropped = added(reading((1 << 32) - 3), reading(4))
    assert all(counts == {"queue": 7, "interface": 0} for counts in dropped.ports.values())
    switches, wires = rows(bed(), dropped)
    assert [row.towards for row in switches] == list(HOSTS)
    assert not wires


@pytest.mark.parametrize("failing", [1, 2])
def test_a_reading_that_fails_is_said_and_what_agents_told_is_kept(monkeypatch, failing):
    times = 0

    def read(of: NetworkBed) -> Reading:
        nonlocal times
        times += 1
        if times == failing:
            raise TestbedError("the switch is gone")
        return reading(times)

    monkeypatch.setattr(switches, "read", read)
    result = {"flows": {"load": flow("a", "c", 30)}}
    told = Around(bed()).extended(json.dumps(result).encode())
    assert json.loads(told) == {**result, "unread": "the switch is gone"}


@pytest.mark.parametrize("answer", ["", "[{}]", '[{"root": true, "dev": "ema"}]', "{}", "[]", "7"])
def test_an_answer_that_cannot_be_read_is_an_error_of_the_testbed(monkeypatch, answer):
    monkeypatch.setattr(counters, "run", lambda command: answer)
    with pytest.raises(TestbedError, match="counters of switches"):
        counters.read(bed())
