"""Agents under a hostile coordinator with genuine certificates: no more arrives at a receiver than
its grants permit.
"""

import contextlib
import copy
import dataclasses
import functools
import itertools
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from agents import Agents
from ethermeter.testbed import Host, Testbed, Wire, make_testbed
from hostile import (
    MS,
    Arrived,
    Reached,
    S,
    carry,
    forwarded,
    leased,
    random_number,
    rule,
    strangers,
)
from stalls import Contention, inconclusive

pytestmark = pytest.mark.root

RATE_BPS = 1_000_000
LASTING_NS = 3 * S // 2
GRANTED_BITS = RATE_BPS * LASTING_NS // S
"""What one grant permits."""
TOLERANCE = 0.02
SPARE_S = 0.2
"""Stalls that silence within 1 s allows for: a lease lasts 0.7 s, and 0.1 s is left for its end."""
CEILINGS = (
    'addresses = ["10.77.0.0/24", "fd77::/64"]\ntests_at_once = 16\ngroups = '
    '["multicast", "broadcast"]'
)


class Laboratory:
    """Agents on two hosts of a testbed, from number `at` on; the last two hosts are those of the
    coordinator and of a stranger.
    """

    def __init__(
        self,
        program: str,
        bed: Testbed,
        folder: Path,
        *others: str,
        at: int = 0,
    ) -> None:
        self.folder = folder
        self.stack = contextlib.ExitStack()
        self.sender, self.receiver = bed.hosts[at : at + 2]
        self.coordinator, self.stranger = bed.hosts[-2:]
        assert bed.switch is not None
        self._before_receiver = dataclasses.replace(
            self.receiver, namespace=bed.switch, interface=f"em{at + 2}"
        )
        self.agents = Agents(program, [self.sender, self.receiver], folder, CEILINGS, *others)
        self._paths = itertools.count()

    @contextlib.contextmanager
    def running(self) -> Iterator[tuple[Reached, Reached]]:
        """Run an agent that sends and one that receives, and all that is started meanwhile."""
        with contextlib.ExitStack() as self.stack:
            self.processes = [self.spawn(host) for host in (self.sender, self.receiver)]
            yield self.reach(self.sender), self.reach(self.receiver)

    def spawn(self, host: Host, port: int = 4988) -> subprocess.Popen[str]:
        """Start an agent and wait until it listens."""
        process, _ = self.stack.enter_context(self.agents.listening(host, port=port))
        return process

    def arrived(self, way: "Way") -> Arrived:
        """Count at the receiver's interface; what an XDP socket takes there before any other, where
        the switch sends it.
        """
        if way.kind == "xdp":
            return Arrived(self._before_receiver, self.sender, leaving=True)
        return Arrived(self.receiver, self.sender)

    def reach(self, host: Host, port: int = 4988, *, of: Host | None = None) -> Reached:
        """Connect to an agent, as from the coordinator's host or another one."""
        path = self.folder / f"to-{next(self._paths)}"
        self.stack.enter_context(forwarded(of or self.coordinator, host.ipv4, port, path))
        agent = Reached(f"unix:{path}", host.ipv4, self.folder / "certificates")
        self.stack.callback(agent.close)
        return agent


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    with make_testbed(4, layout="switch") as made:
        yield made


@pytest.fixture
def lab(agent: str, bed: Testbed, tmp_path: Path) -> Laboratory:
    return Laboratory(agent, bed, tmp_path)


class Way:
    """How frames go, and how long they are."""

    def __init__(
        self,
        kind: str,
        *,
        ip: int = 4,
        cast: str = "unicast",
        octets: int = 512,
        bulk: bool = False,
        most_frames_per_s: int = 0,
    ) -> None:
        self.kind, self.ip, self.cast, self.octets, self.bulk = kind, ip, cast, octets, bulk
        self.rate_bps = 50_000_000 if most_frames_per_s else RATE_BPS
        self.most_frames_per_s = most_frames_per_s or 10_000

    def address(self, host: Host) -> str:
        return host.ipv4 if self.ip == 4 else host.ipv6

    def share(self, arrived: Arrived) -> float:
        """What arrived, as a share of what one grant permits: of bits or of frames, whichever is
        more.
        """
        seconds = LASTING_NS / S
        return max(
            arrived.bits / (self.rate_bps * seconds),
            arrived.frames / (self.most_frames_per_s * seconds),
        )


WAYS = {
    "udp": Way("udp"),
    "udp-ipv6": Way("udp", ip=6),
    "frames-per-second": Way("udp", octets=64, most_frames_per_s=500),
    "fragments": Way("udp", octets=12_000),
    "fragments-ipv6": Way("udp", ip=6, octets=12_000),
    "tcp-messages": Way("tcp"),
    "tcp-bulk": Way("tcp", bulk=True),
    "tcp-bulk-ipv6": Way("tcp", ip=6, bulk=True),
    "raw": Way("packet"),
    "xdp": Way("xdp"),
    "multicast": Way("udp", cast="multicast"),
    "multicast-ipv6": Way("udp", ip=6, cast="multicast"),
    "broadcast": Way("udp", cast="broadcast"),
    "raw-broadcast": Way("packet", cast="broadcast"),
}


def grant(
    lab: Laboratory, receiver: Reached, experiment: int, way: Way, flow: str = "f", **changes: Any
) -> Any:
    """Ask a receiver for a grant."""
    asked: dict[str, Any] = {
        "flow": flow,
        "transport": {"kind": way.kind, "cast": way.cast},
        "sender": way.address(lab.sender),
        "address": way.address(lab.receiver),
        "interface": lab.receiver.interface,
        "port": 61_000 if way.cast != "unicast" and way.kind == "udp" else 0,
        "rate_bps": way.rate_bps,
        "rate_frames_per_s": way.most_frames_per_s,
        "longest_frame_octets": 0 if way.bulk else way.octets,
        "duration_ns": LASTING_NS,
    }
    return receiver.call("Grant", experiment, **(asked | changes))


def phases(lasting_ns: int = LASTING_NS, drain_ns: int = 0) -> Any:
    window = {"measure_from_ns": 0, "measure_to_ns": lasting_ns}
    return {"settle_ns": 0, "transmit_ns": lasting_ns, "drain_ns": drain_ns, **window}


def played(host: Host, flow: str, task: Any, grants: list[Any]) -> dict[str, Any]:
    """The role of a host in a flow."""
    return {
        "flow": flow,
        "stream": 0,
        "interface": host.interface,
        "congestion": None,
        "draws": {"seed": 0, "station": 0},
        "task": task,
        "grants": grants,
    }


def changed(signed: Any, **values: Any) -> Any:
    """A grant with other values, which nobody has signed."""
    return signed | {"grant": signed["grant"] | values}


def saturated(octets: int) -> Any:
    """A source of frames that never has enough."""
    return {"frames": {"kind": "fixed", "bits": 8 * octets}, "arrivals": {"kind": "saturated"}}


def sending(lab: Laboratory, way: Way, grants: list[Any], flow: str = "f") -> Any:
    """The role of a sender that never has enough."""
    task = {"send_bulk": {}} if way.bulk else {"send": {"source": saturated(way.octets)}}
    return played(lab.sender, flow, task, grants)


def sinking(lab: Laboratory, way: Way, flow: str = "f") -> Any:
    sink = {"sink": {"attention": "sleeping", "clock": None}}
    return played(lab.receiver, flow, "receive_bulk" if way.bulk else sink, [])


def start(agents: list[Reached], experiment: int, after_ns: int = 300 * MS) -> list[str | None]:
    """Start a run on all; by which rules they refuse.

    The calls wait for those that renew leases, and must arrive before the beginning.
    """
    begin_ns = time.monotonic_ns() + after_ns
    refused = [
        rule(lambda agent=agent: agent.call("Start", experiment, begin_ns=begin_ns))
        for agent in agents
    ]
    if "clock" in refused:
        inconclusive(f"an agent heard of a beginning {after_ns} ns ahead only after it")
    return refused


def legitimate(lab: Laboratory, sender: Reached, receiver: Reached, way: Way) -> float:
    """Run what was granted, as it was granted; the share of it that arrived."""
    experiment = random_number()
    with lab.arrived(way) as arrived:
        given = grant(lab, receiver, experiment, way)
        # Receivers are there a little longer than their senders.
        longer = phases(drain_ns=500 * MS)
        receiver.call("Prepare", experiment, phases=longer, roles=[sinking(lab, way)])
        sender.call("Prepare", experiment, phases=phases(), roles=[sending(lab, way, [given])])
        carry([sender, receiver], experiment)
        with leased([sender, receiver], [experiment]):
            assert start([receiver, sender], experiment) == [None, None]
            time.sleep(LASTING_NS / S + 0.9)
            for agent in (sender, receiver):
                agent.call("Collect", experiment)
    return way.share(arrived)


def judge(share: float, unless_held_up: Contention) -> None:
    """A grant has been used, and no more than it permits; how much of it depends on the processor
    time that a sender gets.
    """
    assert share <= 1 + TOLERANCE
    unless_held_up(share >= 0.4, f"{share:.2f} of a grant were used")


@pytest.fixture
def laboratories(agent: str, tmp_path: Path) -> Iterator[Callable[[int], list[Laboratory]]]:
    """Make laboratories, each between two hosts of its own."""
    with contextlib.ExitStack() as stack:

        def make(number: int) -> list[Laboratory]:
            bed = stack.enter_context(make_testbed(2 * number + 2, layout="switch"))
            folders = [Path(tempfile.mkdtemp(dir=tmp_path)) for _ in range(number)]
            return [Laboratory(agent, bed, folder, at=2 * at) for at, folder in enumerate(folders)]

        yield make


def at_once(
    labs: list[Laboratory], act: Callable[..., Any], cases: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """Make an experiment in each laboratory at once; return what came of them."""
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(labs)) as pool:
        agents = [stack.enter_context(lab.running()) for lab in labs]
        begun = [
            pool.submit(act, lab, *pair, *case)
            for lab, pair, case in zip(labs, agents, cases, strict=True)
        ]
        return [each.result() for each in begun]


FEW = [tuple(WAYS)[at::4] for at in range(4)]
"""Ways that are measured at once: so few that none waits for a processor."""


@pytest.mark.parametrize("names", FEW, ids=" ".join)
def test_runs_get_what_they_were_granted(laboratories, in_quiet_window, names):
    labs = laboratories(len(names))

    def run() -> list[float]:
        shares = at_once(labs, legitimate, [(WAYS[name],) for name in names])
        assert max(shares) <= 1 + TOLERANCE, shares
        return shares

    for name, share in zip(names, in_quiet_window(run), strict=True):
        # The last message may find no room any more.
        assert share >= 0.95 - 8 * WAYS[name].octets / GRANTED_BITS, name


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_one_grant_for_many_roles_brings_no_more_than_one_grant_permits(lab, way):
    experiment = random_number()
    with lab.running() as (sender, receiver), lab.arrived(way) as arrived:
        given = grant(lab, receiver, experiment, way)
        receiver.call("Prepare", experiment, phases=phases(), roles=[sinking(lab, way)])
        roles = [sending(lab, way, [given]) for _ in range(60)]
        refused = rule(lambda: sender.call("Prepare", experiment, phases=phases(), roles=roles))
        again = rule(lambda: sender.call("Prepare", experiment, phases=phases(), roles=roles[:1]))
        carry([sender, receiver], experiment)
        with leased([sender, receiver], [experiment]):
            started = start([receiver, sender], experiment)
            time.sleep(LASTING_NS / S + 0.5)
    assert way.share(arrived) <= 1 + TOLERANCE, (refused, again, started)
    assert (refused, again) == ("consent-spent", "consent-spent")


def test_many_grants_bring_what_they_permit_together_and_each_is_held(lab, unless_held_up):
    way, flows = WAYS["udp"], [f"f{number}" for number in range(5)]

    def run() -> float:
        experiment = random_number()
        with lab.running() as (sender, receiver), Arrived(lab.receiver, lab.sender) as arrived:
            given = {flow: grant(lab, receiver, experiment, way, flow) for flow in flows}
            receiver.call(
                "Prepare",
                experiment,
                phases=phases(),
                roles=[sinking(lab, way, flow) for flow in flows],
            )
            faster = changed(given["f4"], rate_bps=RATE_BPS + 1)
            greedy = sending(lab, way, [faster], "f4")
            assert (
                rule(lambda: sender.call("Prepare", experiment, phases=phases(), roles=[greedy]))
                == "consent-unproven"
            )
            sender.call(
                "Prepare",
                experiment,
                phases=phases(),
                roles=[sending(lab, way, [given[flow]], flow) for flow in flows],
            )
            carry([sender, receiver], experiment)
            with leased([sender, receiver], [experiment]):
                start([receiver, sender], experiment)
                time.sleep(LASTING_NS / S + 0.5)
        return way.share(arrived) / len(flows)

    judge(run(), unless_held_up)


def test_a_grant_in_sequence_brings_no_more_than_once(lab, unless_held_up):
    way = WAYS["udp"]

    def attack() -> tuple[float, list[str | None]]:
        experiment, refused = random_number(), []
        with lab.running() as (sender, receiver), Arrived(lab.receiver, lab.sender) as arrived:
            given = grant(lab, receiver, experiment, way, duration_ns=LASTING_NS)
            receiver.call("Prepare", experiment, phases=phases(20 * S), roles=[sinking(lab, way)])
            with leased([sender, receiver], [experiment]):
                start([receiver], experiment)
                for _ in range(2):
                    roles = [sending(lab, way, [given])]
                    refused.append(
                        rule(
                            lambda roles=roles: sender.call(
                                "Prepare", experiment, phases=phases(), roles=roles
                            )
                        )
                    )
                    carry([sender, receiver], experiment)
                    start([sender], experiment)
                    time.sleep(LASTING_NS / S + 0.4)
                    with contextlib.suppress(grpc.RpcError):
                        sender.call("Collect", experiment)
                    # Once the end of the experiment is forgotten, its number may begin again.
                    time.sleep(6.2)
        return way.share(arrived), refused

    share, refused = attack()
    judge(share, unless_held_up)
    assert refused == [None, "consent-spent"]


def test_a_grant_outlives_no_restart_of_its_sender(lab, unless_held_up):
    way = WAYS["udp"]

    def attack() -> tuple[float, list[str | None]]:
        experiment, started = random_number(), []
        with lab.running() as (sender, receiver), Arrived(lab.receiver, lab.sender) as arrived:
            process, _ = lab.processes
            given = grant(lab, receiver, experiment, way)
            receiver.call("Prepare", experiment, phases=phases(20 * S), roles=[sinking(lab, way)])
            with leased([receiver], [experiment]):
                start([receiver], experiment)
                for _ in range(3):
                    sender.call(
                        "Prepare",
                        experiment,
                        phases=phases(),
                        roles=[sending(lab, way, [given])],
                    )
                    carry([sender, receiver], experiment)
                    with leased([sender, receiver], [experiment]):
                        started += start([sender], experiment)
                        time.sleep(LASTING_NS / S + 0.4)
                    process.kill()
                    process.wait()
                    process = lab.spawn(lab.sender)
                    sender = lab.reach(lab.sender)
        return way.share(arrived), started

    share, started = attack()
    judge(share, unless_held_up)
    assert started == [None, "consent-renewal", "consent-renewal"]


def test_copies_of_a_grant_at_two_processes_bring_no_more_than_one(lab, unless_held_up):
    way = WAYS["udp"]

    def attack() -> tuple[float, list[str | None]]:
        experiment = random_number()
        with lab.running() as (sender, receiver), Arrived(lab.receiver, lab.sender) as arrived:
            lab.spawn(lab.sender, 4989)
            agents = [sender, lab.reach(lab.sender, 4989), receiver]
            given = grant(lab, receiver, experiment, way)
            receiver.call("Prepare", experiment, phases=phases(20 * S), roles=[sinking(lab, way)])
            for one in agents[:2]:
                one.call("Prepare", experiment, phases=phases(), roles=[sending(lab, way, [given])])
            carry(agents, experiment)
            with leased(agents, [experiment]):
                started = start(agents, experiment)
                time.sleep(LASTING_NS / S + 0.5)
        return way.share(arrived), started

    share, started = attack()
    judge(share, unless_held_up)
    assert started == [None, "consent-renewal", None]


def silence(
    lab: Laboratory, sender: Reached, receiver: Reached, way: Way, end: str
) -> tuple[int, float]:
    """End a receiver while its sender sends; frames that had arrived, and how many seconds later
    the last one did.
    """
    experiment = random_number()
    with lab.arrived(way) as arrived:
        given = grant(lab, receiver, experiment, way, duration_ns=20 * S)
        receiver.call("Prepare", experiment, phases=phases(20 * S), roles=[sinking(lab, way)])
        sender.call(
            "Prepare", experiment, phases=phases(20 * S), roles=[sending(lab, way, [given])]
        )
        carry([sender, receiver], experiment)
        with leased([sender, receiver], [experiment]):
            start([receiver, sender], experiment)
            time.sleep(1.5)
            before = arrived.frames
            ended_ns = time.monotonic_ns()
            if end == "kill":
                lab.processes[1].kill()
            elif end != "silence":
                receiver.call(end.title(), experiment)
            if end != "silence":
                time.sleep(2.5)
        # Renewals are carried no more; the sender's own lease is kept.
        until_ns = time.monotonic_ns() + (5 * S // 2 if end == "silence" else 0)
        while time.monotonic_ns() < until_ns:
            sender.call("Lease", experiment)
            time.sleep(0.1)
    return before, (arrived.last_ns - ended_ns) / S


ENDS = ("kill", "stop", "silence", "collect")


@pytest.mark.parametrize(
    "ends",
    # Every kind of port and every end of a receiver once; all others take longer than `make test`
    # should.
    [
        pytest.param(ENDS[at:] + ENDS[:at], marks=pytest.mark.long if at else ())
        for at in range(len(ENDS))
    ],
    ids=" ".join,
)
def test_a_sender_is_silent_within_a_second_after_its_receiver(laboratories, ends, in_quiet_window):
    cases = [
        (WAYS[way], end)
        for way, end in zip(("udp", "tcp-bulk", "raw", "multicast"), ends, strict=True)
    ]
    labs = laboratories(len(cases))
    found = in_quiet_window(lambda: at_once(labs, silence, cases), tolerated_stall_s=SPARE_S)
    for (way, end), (before, after_s) in zip(cases, found, strict=True):
        assert before > 50, f"{before} frames by {way.kind} before {end}"
        assert after_s < 1, f"the last frame by {way.kind} came {after_s:.3f} s after {end}"


def test_old_renewals_and_those_of_others_renew_nothing(lab, in_quiet_window):
    way = WAYS["udp"]

    def attack() -> tuple[int, float]:
        experiment = random_number()
        with lab.running() as (sender, receiver), Arrived(lab.receiver, lab.sender) as arrived:
            given = grant(lab, receiver, experiment, way, duration_ns=20 * S)
            receiver.call("Prepare", experiment, phases=phases(20 * S), roles=[sinking(lab, way)])
            sender.call(
                "Prepare",
                experiment,
                phases=phases(20 * S),
                roles=[sending(lab, way, [given])],
            )
            challenges = sender.call("Lease", experiment)["challenges"]
            kept = receiver.call("Lease", experiment, challenges=challenges)["renewal"]
            longer = copy.deepcopy(kept)
            longer["renewal"]["answers"][0]["valid_ns"] = 60 * S
            forged = [
                longer,
                kept | {"signature": given["signature"]},
                kept | {"signature": ""},
            ]
            refused = [
                rule(lambda one=one: sender.call("Lease", experiment, renewals=[one]))
                for one in forged
            ]
            assert refused == 3 * ["consent-unproven"]
            sender.call("Lease", experiment, renewals=[kept])
            start([receiver, sender], experiment)
            renewed_ns = time.monotonic_ns()
            while time.monotonic_ns() < renewed_ns + 5 * S // 2:
                sender.call("Lease", experiment, renewals=[kept])
                receiver.call("Lease", experiment)
                time.sleep(0.1)
        return arrived.frames, (arrived.last_ns - renewed_ns) / S

    frames, after_s = in_quiet_window(attack, tolerated_stall_s=SPARE_S)
    assert frames > 20, "a renewal counts once"
    assert after_s < 1


def test_a_receivers_rate_is_not_granted_anew_while_a_sender_may_still_use_it(lab):
    way = WAYS["udp"]
    (lab.folder / "ceilings.toml").write_text(f"{CEILINGS}\nrate_bps = {RATE_BPS}")
    first = random_number()
    with lab.running() as (sender, receiver):
        given = grant(lab, receiver, first, way)
        receiver.call("Prepare", first, phases=phases(), roles=[sinking(lab, way)])
        sender.call("Prepare", first, phases=phases(), roles=[sending(lab, way, [given])])
        other = lab.reach(lab.receiver)
        asked = sender.call("Lease", first)["challenges"]
        receiver.call("Lease", first, challenges=asked)
        renewed_ns = time.monotonic_ns()
        collecting = threading.Thread(target=lambda: receiver.call("Collect", first))
        collecting.start()
        refused = []
        while collecting.is_alive():
            refused.append(rule(lambda: grant(lab, other, random_number(), way)))
            time.sleep(0.1)
        assert time.monotonic_ns() - renewed_ns > 0.6 * S, "as long as the lease that was given"
        assert set(refused[:-1]) == {"rate-bits"}
        assert (
            refused[-1] is None or rule(lambda: grant(lab, other, random_number(), way)) is None
        ), "afterwards there is room"


@pytest.mark.long
def test_a_prepared_grant_does_not_outlive_its_minute(lab):
    way = WAYS["udp"]
    ahead, late = random_number(), random_number()
    with lab.running() as (sender, receiver), Arrived(lab.receiver, lab.sender) as arrived:
        for experiment in (ahead, late):
            given = grant(lab, receiver, experiment, way)
            receiver.call("Prepare", experiment, phases=phases(), roles=[sinking(lab, way)])
            sender.call("Prepare", experiment, phases=phases(), roles=[sending(lab, way, [given])])
            carry([sender, receiver], experiment)
        with leased([sender, receiver], [ahead, late]):
            time.sleep(57)
            # A start may be ten seconds ahead, and this one is beyond the grant's minute.
            assert start([sender], ahead, 9 * S) == ["consent-expired"]
            time.sleep(5)
            assert start([sender], late) == ["consent-expired"]
            # The receiver, too, has let it go: it renews no grant that was not begun within the
            # minute.
            assert not carry([sender, receiver], late)[lab.sender.ipv4]["is_renewed"]
            time.sleep(1)
    assert arrived.frames == 0


def test_answers_are_held_as_requests_are(lab, unless_held_up):
    """Short requests bring long answers, within one grant of the asker, whether one answers or
    several.
    """
    there, back = Way("udp", octets=100), Way("udp", octets=1500)
    most_bps = 10 * RATE_BPS

    def experiment_with(echoes: int) -> tuple[float, str | None]:
        experiment, flows = random_number(), [f"f{number}" for number in range(echoes)]
        own = {
            "sender": lab.receiver.ipv4,
            "address": lab.sender.ipv4,
            "interface": lab.sender.interface,
            "room_frame_octets": 1500,
            "rate_bps": most_bps,
        }
        responses = {"frames": {"kind": "fixed", "bits": 8 * 1500}}
        exchange = {"source": saturated(100), "timeout_ns": 20 * MS}

        def asking(flow: str, given: Any) -> Any:
            task = {"request": {"exchange": exchange, "attention": "sleeping"}}
            return played(lab.receiver, flow, task, [given])

        def echo(flow: str, given: Any) -> Any:
            task = {"respond": {"response": responses, "attention": "sleeping"}}
            return played(lab.sender, flow, task, [given])

        with lab.running() as (answerer, asker), Arrived(lab.receiver, lab.sender) as arrived:
            to_asker = [grant(lab, asker, experiment, back, flow) for flow in flows]
            to_answerer = [grant(lab, answerer, experiment, there, flow, **own) for flow in flows]
            asker.call(
                "Prepare",
                experiment,
                phases=phases(),
                roles=list(map(asking, flows, to_answerer)),
            )
            roles = [echo(flow, to_asker[0]) for flow in flows]
            refused = rule(
                lambda: answerer.call("Prepare", experiment, phases=phases(), roles=roles)
            )
            carry([asker, answerer], experiment)
            with leased([asker, answerer], [experiment]):
                start([answerer, asker], experiment)
                time.sleep(LASTING_NS / S + 0.5)
        assert arrived.bits <= (1 + TOLERANCE) * GRANTED_BITS, refused
        return arrived.bits / GRANTED_BITS, refused

    share, refused = experiment_with(1)
    # An asker waits 20 ms for what the answerer holds back, and asks again.
    assert refused is None
    unless_held_up(share > 0.3, f"{share:.2f} of the grant were used")
    _, refused = experiment_with(4)
    assert refused == "consent-spent"


def test_what_tcp_sends_again_is_within_the_grant(agent, tmp_path, unless_held_up):
    way = WAYS["tcp-bulk"]
    good, lossy = Wire(10_000_000, kind="relay"), Wire(10_000_000, kind="relay", loss=0.1)
    with make_testbed(4, layout="switch", wires=[lossy, good, good, good]) as bed:
        lab, experiment = Laboratory(agent, bed, tmp_path), random_number()
        with (
            lab.running() as (sender, receiver),
            Arrived(lab.sender, lab.sender, leaving=True) as sent,
        ):
            given = grant(lab, receiver, experiment, way)
            receiver.call("Prepare", experiment, phases=phases(2 * S), roles=[sinking(lab, way)])
            sender.call("Prepare", experiment, phases=phases(), roles=[sending(lab, way, [given])])
            while not carry([sender, receiver], experiment)[lab.sender.ipv4]["is_renewed"]:
                time.sleep(0.01)
            with leased([sender, receiver], [experiment]):
                start([receiver, sender], experiment)
                time.sleep(LASTING_NS / S + 0.7)
                (role,) = sender.call("Collect", experiment)["roles"]
    assert way.share(sent) <= 1 + TOLERANCE, f"{way.share(sent):.3f} of the grant"
    if "counted" not in role:
        # In a few runs the handshake is lost twice, and nothing can be sent again.
        assert "waiting for the other end" in role["error"], role
        inconclusive("no connection until the grant was over")
    again = role["counted"]["tcp"]["columns"]["sent_again"][-1]
    unless_held_up(again > 0, "nothing was sent again")
    share = way.share(sent)
    # A segment that is lost three times in a row is one of a thousand, and waits for 1.4 s.
    unless_held_up(share > 0.02, f"{share:.3f} with {again} segments sent again")


def _trickle(sockets: list[socket.socket], is_over: threading.Event) -> None:
    """Say an octet at a time of what could become a hello of TLS."""
    for octet in bytes.fromhex("160301020001000001fc0303") + bytes(20):
        for one in sockets:
            with contextlib.suppress(OSError):
                one.send(bytes([octet]))
        if is_over.wait(0.1):
            return


@contextlib.contextmanager
def _at_many_addresses(host: Host) -> Iterator[list[str]]:
    """Let a host answer at 239 addresses of its network, all above those of the other hosts."""
    networks = [f"10.77.0.{first}/{bits}" for first, bits in ((16, 28), (32, 27), (64, 26))]
    networks.append("10.77.0.128/25")
    command = ["ip", "-n", host.namespace, "route"]
    for network in networks:
        subprocess.run([*command, "add", "local", network, "dev", host.interface], check=True)
    try:
        yield [f"10.77.0.{last}" for last in range(16, 255)]
    finally:
        for network in networks:
            subprocess.run([*command, "del", "local", network], check=True)


@pytest.mark.parametrize(
    ("where", "crowd"),
    [
        ("elsewhere", "idle"),
        ("elsewhere", "slow"),
        ("elsewhere", "everywhere"),
        ("at-the-coordinators-address", "idle"),
        ("at-the-coordinators-address", "slow"),
    ],
)
def test_strangers_neither_keep_out_a_coordinator_nor_end_its_leases(
    lab, where, crowd, unless_held_up
):
    way = WAYS["udp"]
    host = lab.stranger if where == "elsewhere" else lab.coordinator
    number = {"idle": 1000, "slow": 60, "everywhere": 239}[crowd]

    def attack() -> tuple[float, str, float]:
        experiment, is_over = random_number(), threading.Event()
        held: list[socket.socket] = []

        def come_back() -> None:
            while not is_over.is_set():
                made = strangers(host, lab.sender.ipv4, 4988, number, sources)
                held.extend(made)
                if crowd == "everywhere":
                    # As fast as this host can, with about eight of each address at a time.
                    for one in held[: -8 * number]:
                        one.close()
                    del held[: -8 * number]
                elif crowd == "slow":
                    _trickle(made, is_over)
                else:
                    is_over.wait(1)

        thread = threading.Thread(target=come_back)
        with (
            _at_many_addresses(host)
            if crowd == "everywhere"
            else contextlib.nullcontext(("0.0.0.0",)) as sources,
            lab.running() as (sender, receiver),
            Arrived(lab.receiver, lab.sender) as arrived,
        ):
            given = grant(lab, receiver, experiment, way)
            receiver.call("Prepare", experiment, phases=phases(2 * S), roles=[sinking(lab, way)])
            sender.call("Prepare", experiment, phases=phases(), roles=[sending(lab, way, [given])])
            carry([sender, receiver], experiment)
            with leased([sender, receiver], [experiment]):
                thread.start()
                try:
                    time.sleep(0.5)
                    start([receiver, sender], experiment)
                    begun = time.monotonic()
                    lab.reach(lab.sender)
                    took_s = time.monotonic() - begun
                    time.sleep(LASTING_NS / S + 1)
                    ended = sender.call("Collect", experiment)["ended"]
                finally:
                    is_over.set()
                    thread.join()
                    for one in held:
                        one.close()
        return took_s, ended, way.share(arrived)

    took_s, ended, share = attack()
    assert share <= 1 + TOLERANCE
    unless_held_up(ended == "complete", ended)
    unless_held_up(took_s < 3, f"another coordinator came in only after {took_s:.1f} s")
    judge(share, unless_held_up)


@pytest.mark.parametrize("kind", ["udp", "tcp", "packet", "xdp"])
def test_a_priority_that_the_receiver_did_not_grant_is_refused_and_nothing_is_sent(lab, kind):
    way, experiment = Way(kind, bulk=kind == "tcp"), random_number()
    with lab.running() as (sender, receiver), lab.arrived(way) as arrived:
        # The ceilings of these hosts allow 5.
        transport = {"kind": way.kind, "cast": way.cast}
        asked = [{"transport": transport | {"priority": priority}} for priority in (6, 3)]
        above = rule(lambda: grant(lab, receiver, experiment, way, **asked[0]))
        given = grant(lab, receiver, experiment, way, **asked[1])
        receiver.call("Prepare", experiment, phases=phases(), roles=[sinking(lab, way)])
        others = [changed(given, priority=priority) for priority in (4, 0, None)]
        roles = [sending(lab, way, [other]) for other in others]
        refused = [
            rule(
                lambda role=role: sender.call("Prepare", experiment, phases=phases(), roles=[role])
            )
            for role in roles
        ]
        carry([sender, receiver], experiment)
        with leased([sender, receiver], [experiment]):
            start([receiver, sender], experiment)
            time.sleep(LASTING_NS / S)
    assert above == "priority"
    assert refused == ["consent-unproven"] * 3
    assert arrived.frames == 0


def given_up(call: Callable[..., Any]) -> str | None:
    """The rule by which a call is refused; `None` if it is given up before there is an answer."""
    try:
        return rule(lambda: call(timeout_s=0.05)) or "granted"
    except grpc.RpcError as error:
        # Either end may see first that the time is over.
        if error.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED):
            raise
        return None


def test_calls_that_wait_for_a_port_and_are_given_up_are_as_few_as_there_may_be_tests(lab):
    most, way = 16, Way("xdp")
    with lab.running() as (_, receiver):
        process = lab.processes[1]
        tasks, descriptors = (Path(f"/proc/{process.pid}/{name}") for name in ("task", "fd"))
        used = [sum(1 for _ in folder.iterdir()) for folder in (tasks, descriptors)]
        # Another agent of the host holds the queue, for which the attacked one waits two seconds.
        lab.spawn(lab.receiver, 4989)
        holder, holding = lab.reach(lab.receiver, 4989), random_number()
        grant(lab, holder, holding, way)
        with leased([holder], [holding]):
            waiting = [random_number() for _ in range(2 * most)]
            first, *_ = answers = [
                given_up(functools.partial(grant, lab, receiver, experiment, way))
                for experiment in waiting
            ]
            again = given_up(functools.partial(grant, lab, receiver, waiting[0], way, "g"))
            threads = sum(1 for _ in tasks.iterdir())
            # A collection does not make room for another before the port is no longer opened.
            with contextlib.suppress(grpc.RpcError):
                receiver.call("Collect", waiting[0], timeout_s=0.05)
            late = given_up(functools.partial(grant, lab, receiver, random_number(), way))
            time.sleep(4)
        left = [sum(1 for _ in folder.iterdir()) for folder in (tasks, descriptors)]
        # Nothing is left of them, so that there is room for a test.
        grant(lab, receiver, random_number(), Way("udp"))
    assert first is None
    if answers.count(None) < most or again is None:
        inconclusive("the machine was so slow that ports were no longer waited for")
    assert answers == [None] * most + ["tests-at-once"] * most
    assert (again, late) == ("order", "tests-at-once")
    assert threads <= used[0] + most + 1
    # The connection of the coordinator has a descriptor.
    assert left[0] <= used[0] + 1
    assert left[1] <= used[1] + 1
