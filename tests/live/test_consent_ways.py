"""A hostile coordinator with genuine grants: no frame arrives anywhere but at the receiver that
granted it, whichever interface, address or group it asks for, and whatever moves meanwhile.
"""

import contextlib
import dataclasses
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ethermeter.testbed import Host, Testbed, make_testbed
from hostile import Arrived as Account
from hostile import S, announce, carry, leased, random_number, rule
from program import LIMIT_S
from stalls import Contention
from test_consent_attacks import (
    LASTING_NS,
    Laboratory,
    Way,
    grant,
    phases,
    sending,
    sinking,
    start,
)

pytestmark = pytest.mark.root
SECOND = "10.77.0.200"
"""A second address of the receiver: agents are asked at the first one, which thus cannot move."""
ELSEWHERE = "other0"
"""Interfaces of a network between the sender and a stranger that nobody granted anything on."""


def ip(namespace: str, *words: str) -> None:
    """Change a host's network."""
    subprocess.run(["ip", "-n", namespace, *words], check=True, timeout=LIMIT_S)


@pytest.fixture
def bed() -> Iterator[Testbed]:
    """Four hosts at a switch, the first and the last of which share another network, too."""
    with make_testbed(4, layout="switch") as made:
        sender, stranger = made.hosts[0], made.hosts[-1]
        far = ("peer", "name", ELSEWHERE, "netns", stranger.namespace)
        ip(sender.namespace, "link", "add", ELSEWHERE, "type", "veth", *far)
        for number, host in enumerate((sender, stranger), 1):
            ip(host.namespace, "addr", "add", f"10.99.0.{number}/24", "dev", ELSEWHERE)
            ip(host.namespace, "link", "set", ELSEWHERE, "up")
        yield made


@pytest.fixture
def lab(agent: str, bed: Testbed, tmp_path: Path) -> Laboratory:
    return Laboratory(agent, bed, tmp_path, SECOND)


class Strangers:
    """Frames of the sender that arrive at every interface of all hosts but the receiver's."""

    def __init__(self, lab: Laboratory, bed: Testbed) -> None:
        others = [host for host in bed.hosts if host not in (lab.sender, lab.receiver)]
        places = [
            *others,
            dataclasses.replace(lab.stranger, interface=ELSEWHERE),
            dataclasses.replace(lab.receiver, interface="lo"),
        ]
        elsewhere = dataclasses.replace(lab.sender, interface=ELSEWHERE, mac=mac_of(lab.sender))
        self._accounts = [Account(at, lab.sender) for at in places]
        self._accounts.append(Account(places[len(others)], elsewhere))

    def __enter__(self) -> "Strangers":
        self._stack = contextlib.ExitStack()
        for account in self._accounts:
            self._stack.enter_context(account)
        return self

    def __exit__(self, *of: object) -> None:
        self._stack.close()

    @property
    def frames(self) -> int:
        """All of them."""
        return sum(account.frames for account in self._accounts)


def mac_of(host: Host) -> str:
    """The Ethernet address of a host's interface to the other network."""
    command = ["ip", "-n", host.namespace, "-j", "link", "show", ELSEWHERE]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    address: str = json.loads(shown.stdout)[0]["address"]
    return address


def attempt(
    lab: Laboratory,
    bed: Testbed,
    way: Way,
    *,
    asked: dict[str, Any] | None = None,
    role: Callable[[Any], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
    running: Callable[[], None] | None = None,
) -> tuple[list[str | None], int, str]:
    """Have an experiment granted, prepared and started, with something changed on the way; returns
    the rules that refused a step, the frames that arrived at strangers, and how it ended.
    """
    experiment, refused, ended = random_number(), [], ""
    with lab.running() as (sender, receiver), Strangers(lab, bed) as strangers:

        def step(act: Callable[[], Any]) -> bool:
            refused.append(rule(act))
            return refused[-1] is None

        given: list[Any] = []
        if step(lambda: given.append(grant(lab, receiver, experiment, way, **(asked or {})))):
            receiver.call("Prepare", experiment, phases=phases(), roles=[sinking(lab, way)])
            plan = sending(lab, way, given)
            if role:
                role(plan)
            prepared = {"phases": phases(), "roles": [plan]}
            if step(lambda: sender.call("Prepare", experiment, **prepared)):
                carry([sender, receiver], experiment)
                if meanwhile:
                    meanwhile()
                with leased([sender, receiver], [experiment]):
                    refused += start([receiver, sender], experiment)
                    time.sleep(0.6)
                    if running:
                        running()
                    time.sleep(LASTING_NS / S)
                if refused[-1] is None:
                    ended = sender.call("Collect", experiment)["ended"]
    return refused, strangers.frames, ended


RAW, XDP = Way("packet"), Way("xdp")
BROADCAST = Way("packet", cast="broadcast")
GROUPS = (Way("udp", cast="multicast"), Way("udp", cast="broadcast"), BROADCAST)


@pytest.mark.parametrize(
    "way", [Way("udp"), RAW, XDP, *GROUPS], ids=lambda way: way.kind + way.cast
)
def test_what_was_granted_arrives_at_its_receiver_and_what_is_no_group_at_nobody_else(
    lab, bed, way
):
    refused, strangers, ended = attempt(lab, bed, way)
    assert (refused, ended) == ([None] * 4, "complete")
    # Strangers at the receiver's switch hear groups, those on another network nothing.
    assert way.cast != "unicast" or strangers == 0


@pytest.mark.parametrize("interface", ["lo", ELSEWHERE, "none9"])
def test_a_receiver_grants_on_the_interface_of_its_address_only(lab, bed, interface):
    receiver, other = lab.receiver, ELSEWHERE
    ip(receiver.namespace, "link", "add", other, "type", "veth", "peer", "name", "other1")
    ip(receiver.namespace, "link", "set", other, "up")
    for way in (RAW, Way("udp"), *GROUPS):
        refused, strangers, _ = attempt(lab, bed, way, asked={"interface": interface})
        assert (refused, strangers) == (["interface"], 0)


@pytest.mark.parametrize(
    "way", [Way("udp"), RAW, XDP, *GROUPS], ids=lambda way: way.kind + way.cast
)
def test_a_sender_sends_by_the_interface_of_the_route_only(lab, bed, way):
    def elsewhere(plan: Any) -> None:
        plan["interface"] = ELSEWHERE

    def anywhere(plan: Any) -> None:
        plan["interface"] = None

    for change, sender, expected in (
        (elsewhere, lab.sender.ipv4, "interface"),
        (anywhere, "10.99.0.1", "address"),
        (anywhere, lab.coordinator.ipv4, "interface"),
    ):
        refused, strangers, _ = attempt(lab, bed, way, asked={"sender": sender}, role=change)
        assert (refused[-1], strangers) == (expected, 0), sender


@pytest.mark.parametrize("way", [RAW, XDP, BROADCAST], ids=lambda way: way.kind + way.cast)
def test_neither_a_bridge_nor_its_port_is_an_interface_to_send_by(lab, bed, way):
    namespace = lab.sender.namespace
    ip(namespace, "link", "add", "bridge9", "type", "bridge")
    ip(namespace, "link", "set", ELSEWHERE, "master", "bridge9")
    ip(namespace, "link", "set", "bridge9", "up")
    for interface in ("bridge9", ELSEWHERE):

        def change(plan: Any, interface: str = interface) -> None:
            plan["interface"] = interface

        refused, strangers, _ = attempt(lab, bed, way, role=change)
        assert (refused[-1], strangers) == ("interface", 0)


@pytest.mark.parametrize("way", [RAW, XDP, BROADCAST], ids=lambda way: way.kind + way.cast)
def test_interfaces_whose_names_are_swapped_are_not_taken_for_each_other(lab, bed, way):
    namespace, own = lab.sender.namespace, lab.sender.interface

    def swap() -> None:
        for old, new in ((own, "swap9"), (ELSEWHERE, own), ("swap9", ELSEWHERE)):
            ip(namespace, "link", "set", old, "down")
            ip(namespace, "link", "set", old, "name", new)
        for name in (own, ELSEWHERE):
            ip(namespace, "link", "set", name, "up")
        time.sleep(0.1)

    refused, strangers, _ = attempt(lab, bed, way, meanwhile=swap)
    assert (refused[-1], strangers) == ("route", 0)


@pytest.fixture(params=[4, 6])
def moving(lab: Laboratory, request: pytest.FixtureRequest) -> tuple[Way, str, Callable[[], None]]:
    """A way to an address of the receiver, this address, and what gives it to a stranger, who tells
    all.
    """
    way = Way("udp", ip=request.param)
    address, bits = (SECOND, 24) if request.param == 4 else (lab.receiver.ipv6, 64)
    words = ("nodad",) if request.param == 6 else ()

    def change(host: Host, act: str) -> None:
        ip(host.namespace, "addr", act, f"{address}/{bits}", "dev", host.interface, *words)

    def move() -> None:
        change(lab.receiver, "del")
        change(lab.stranger, "add")
        announce(lab.stranger, address)

    if request.param == 4:
        change(lab.receiver, "add")
    return way, address, move


def test_an_address_that_has_moved_before_the_start_gets_nothing(lab, bed, moving):
    way, address, move = moving
    refused, strangers, ended = attempt(lab, bed, way, asked={"address": address}, meanwhile=move)
    assert strangers == 0
    assert refused[-1] in {"route", "consent-renewal"} or ended in {"route", "receiver"}


def test_an_address_that_moves_while_frames_are_sent_ends_them_at_once(
    lab, bed, moving, unless_held_up: Contention
):
    way, address, move = moving
    refused, strangers, ended = attempt(lab, bed, way, asked={"address": address}, running=move)
    assert refused == [None] * 4
    assert ended in {"route", "receiver"}
    # One frame is sent each 4 ms.
    unless_held_up(strangers <= 2, f"{strangers} frames before the sender knew")


def test_a_route_that_changes_while_frames_are_sent_ends_them(lab, bed, unless_held_up):
    def divert() -> None:
        route = ("route", "add", f"{lab.receiver.ipv4}/32", "dev", ELSEWHERE)
        ip(lab.sender.namespace, *route)

    refused, strangers, ended = attempt(lab, bed, Way("udp"), running=divert)
    assert (refused, strangers, ended) == ([None] * 4, 0, "route")


def test_no_number_of_an_experiment_gives_the_group_of_another_protocol(lab, bed, monkeypatch):
    way = Way("udp", cast="multicast")
    number = random_number() & ~0xFFFF | 0xFFFA
    monkeypatch.setattr("test_consent_ways.random_number", lambda: number)
    refused, _, _ = attempt(lab, bed, way, asked={"port": 1900})
    assert refused == ["port"]
    refused, _, ended = attempt(lab, bed, way)
    assert (refused, ended) == ([None] * 4, "complete")
