"""Agents with genuine certificates under a hostile coordinator: what arrives is what one grant permits, counted at the receiver's interface."""

import contextlib
import itertools
import json
import socket
import subprocess
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from ethermeter.testbed import Host, Testbed, Wire, make_testbed
from hostile import MS, Arrived, Reached, S, carry, compiled, forwarded, leased, on_host, random_number, rule, strangers

pytestmark = pytest.mark.root

RATE_BPS = 1_000_000
LASTING_NS = 3 * S // 2
GRANTED_BITS = RATE_BPS * LASTING_NS // S
"""What one grant permits."""
TOLERANCE = 0.02
CEILINGS = 'addresses = ["10.77.0.0/24", "fd77::/64"]\ntests_at_once = 16\ngroups = ["multicast", "broadcast"]'


class Laboratory:
    """Agents on hosts of their own, and a coordinator on a third."""

    def __init__(self, program: str, bed: Testbed, folder: Path, protocol: tuple[types.ModuleType, types.ModuleType], stack: contextlib.ExitStack) -> None:
        self.program, self.hosts, self.folder, self.protocol, self.stack = program, bed.hosts, folder, protocol, stack
        self.pb = protocol[0]
        self.sender, self.receiver, self.coordinator, self.stranger = bed.hosts
        self.certificates = folder / "certificates"
        names = ",".join(f"{host.ipv4}={host.ipv6}" for host in bed.hosts[:2])
        subprocess.run([program, "certificates", str(self.certificates), "--hosts", names], check=True)
        (folder / "ceilings.toml").write_text(CEILINGS)
        self._paths = itertools.count()

    def spawn(self, host: Host, port: int = 4988) -> subprocess.Popen[str]:
        """Start an agent and wait until it listens."""
        options = {"certificate": f"{host.ipv4}.pem", "key": f"{host.ipv4}.key", "authority": "authority.pem"}
        words = [word for name, file in options.items() for word in (f"--{name}", str(self.certificates / file))]
        command = host.command(self.program, "--listen", f"{host.ipv4}:{port}", *words, "--ceilings", str(self.folder / "ceilings.toml"))
        process = self.stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        self.stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("listening on ")
        return process

    def reach(self, host: Host, port: int = 4988, *, of: Host | None = None) -> Reached:
        """Connect to an agent, as from the coordinator's host or another one."""
        path = self.folder / f"to-{next(self._paths)}"
        self.stack.enter_context(forwarded(of or self.coordinator, host.ipv4, port, path))
        agent = Reached(self.protocol, f"unix:{path}", host.ipv4, self.certificates)
        self.stack.callback(agent.close)
        return agent


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    with make_testbed(4, layout="switch") as made:
        yield made


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> tuple[types.ModuleType, types.ModuleType]:
    return compiled(tmp_path_factory.mktemp("protocol"))


@pytest.fixture
def lab(agent: str, bed: Testbed, tmp_path: Path, protocol: tuple[types.ModuleType, types.ModuleType]) -> Iterator[Laboratory]:
    with contextlib.ExitStack() as stack:
        yield Laboratory(agent, bed, tmp_path, protocol, stack)


class Way:
    """How frames go, and how long they are."""

    def __init__(self, kind: str, *, ip: int = 4, cast: str = "unicast", octets: int = 512, bulk: bool = False, most_frames_per_s: int = 0) -> None:
        self.kind, self.ip, self.cast, self.octets, self.bulk = kind, ip, cast, octets, bulk
        self.rate_bps = 50_000_000 if most_frames_per_s else RATE_BPS
        self.most_frames_per_s = most_frames_per_s or 100_000

    def address(self, host: Host) -> str:
        return host.ipv4 if self.ip == 4 else host.ipv6

    def share(self, arrived: Arrived) -> float:
        """What arrived, as a share of what one grant permits: of bits or of frames, whichever is more."""
        seconds = LASTING_NS / S
        return max(arrived.bits / (self.rate_bps * seconds), arrived.frames / (self.most_frames_per_s * seconds))


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
    "multicast": Way("udp", cast="multicast"),
    "multicast-ipv6": Way("udp", ip=6, cast="multicast"),
    "broadcast": Way("udp", cast="broadcast"),
    "raw-broadcast": Way("packet", cast="broadcast"),
}


def grant(lab: Laboratory, receiver: Reached, experiment: int, way: Way, flow: str = "f", **changes: Any) -> Any:
    """Ask a receiver for a grant."""
    asked: dict[str, Any] = {
        "sender": way.address(lab.sender),
        "address": way.address(lab.receiver),
        "port": 25_000 if way.cast != "unicast" and way.kind == "udp" else 0,
        "rate_bps": way.rate_bps,
        "rate_frames_per_s": way.most_frames_per_s,
        "duration_ns": LASTING_NS,
        "flow": flow,
        "longest_frame_octets": 0 if way.bulk else way.octets,
        "kind": way.kind,
        "cast": way.cast,
        "interface": lab.receiver.interface,
    }
    reply = receiver.call("Grant", experiment, **(asked | changes))
    return lab.pb.SignedGrant(grant=reply.grant, signature=reply.signature, certificate=reply.certificate)


def phases(lab: Laboratory, lasting_ns: int = LASTING_NS) -> Any:
    return lab.pb.Phases(transmit_ns=lasting_ns, measure_from_ns=0, measure_to_ns=lasting_ns)


def sending(lab: Laboratory, way: Way, grants: list[Any], flow: str = "f", **changes: Any) -> Any:
    """The role of a sender that never has enough."""
    common: dict[str, Any] = {
        "grants": grants,
        "address": way.address(lab.sender),
        "rate_bps": way.rate_bps,
        "rate_frames_per_s": way.most_frames_per_s,
    } | changes
    at = {"flow": flow, "kind": way.kind, "cast": way.cast, "interface": lab.sender.interface}
    if way.bulk:
        return lab.pb.Role(give=lab.pb.Give(block_octets=1 << 16, **common), **at)
    source = {"frames": {"kind": "fixed", "bits": 8 * way.octets}, "arrivals": {"kind": "saturated"}}
    return lab.pb.Role(send=lab.pb.Send(source_json=json.dumps(source), **common), **at)


def sinking(lab: Laboratory, way: Way, flow: str = "f") -> Any:
    at = {"flow": flow, "kind": way.kind, "cast": way.cast, "interface": lab.receiver.interface}
    if way.bulk:
        return lab.pb.Role(take=lab.pb.Take(), **at)
    return lab.pb.Role(sink=lab.pb.Sink(attention="sleeping"), **at)


def start(agents: list[Reached], experiment: int, after_ns: int = 100 * MS) -> list[str | None]:
    """Start a run on all; by which rules they refuse."""
    begin_ns = time.monotonic_ns() + after_ns
    return [rule(lambda agent=agent: agent.call("Start", experiment, begin_ns=begin_ns)) for agent in agents]


def legitimate(lab: Laboratory, sender: Reached, receiver: Reached, way: Way) -> float:
    """Run what was granted, as it was granted; the share of it that arrived."""
    experiment = random_number()
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = grant(lab, receiver, experiment, way)
        # Receivers are there a little longer than their senders.
        longer = lab.pb.Phases(transmit_ns=LASTING_NS, measure_from_ns=0, measure_to_ns=LASTING_NS, drain_ns=500 * MS)
        receiver.call("Prepare", experiment, phases=longer, roles=[sinking(lab, way)])
        sender.call("Prepare", experiment, phases=phases(lab), roles=[sending(lab, way, [given])])
        carry([sender, receiver], experiment)
        with leased([sender, receiver], [experiment]):
            assert start([receiver, sender], experiment) == [None, None]
            time.sleep(LASTING_NS / S + 0.7)
            for agent in (sender, receiver):
                agent.call("Collect", experiment)
    return way.share(arrived)


def is_full(share: float) -> bool:
    """Whether a run got what it was granted: a machine that stands still costs a run that never has enough, and gives it nothing."""
    return 0.85 <= share <= 1 + TOLERANCE


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_one_grant_for_many_roles_brings_no_more_than_one_grant_permits(lab: Laboratory, way: Way) -> None:
    lab.spawn(lab.sender), lab.spawn(lab.receiver)
    sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
    share = legitimate(lab, sender, receiver, way)
    assert is_full(share), f"{share:.3f} of what was granted arrived"
    experiment = random_number()
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = grant(lab, receiver, experiment, way)
        receiver.call("Prepare", experiment, phases=phases(lab), roles=[sinking(lab, way)])
        roles = [sending(lab, way, [given]) for _ in range(60)]
        refused = rule(lambda: sender.call("Prepare", experiment, phases=phases(lab), roles=roles))
        again = rule(lambda: sender.call("Prepare", experiment, phases=phases(lab), roles=roles[:1]))
        carry([sender, receiver], experiment)
        with leased([sender, receiver], [experiment]):
            started = start([receiver, sender], experiment)
            time.sleep(LASTING_NS / S + 0.5)
    assert way.share(arrived) <= 1 + TOLERANCE, (refused, again, started)
    assert refused == "consent-spent", (refused, again, started)


def test_many_grants_of_one_flow_bring_what_they_permit_together_and_each_is_held(lab: Laboratory) -> None:
    way = WAYS["udp"]
    lab.spawn(lab.sender), lab.spawn(lab.receiver)
    sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
    experiment = random_number()
    flows = [f"f{number}" for number in range(5)]
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = {flow: grant(lab, receiver, experiment, way, flow) for flow in flows}
        receiver.call("Prepare", experiment, phases=phases(lab, LASTING_NS), roles=[sinking(lab, way, flow) for flow in flows])
        roles = [sending(lab, way, [given[flow]], flow) for flow in flows]
        # One of them asks for a bit more than was granted, and the Prepare is refused; then for exactly that.
        greedy = sending(lab, way, [given["f4"]], "f4", rate_bps=RATE_BPS + 1)
        assert rule(lambda: sender.call("Prepare", experiment, phases=phases(lab), roles=[greedy])) == "consent-rate"
        sender.call("Prepare", experiment, phases=phases(lab), roles=roles)
        carry([sender, receiver], experiment)
        with leased([sender, receiver], [experiment]):
            assert start([receiver, sender], experiment) == [None, None]
            time.sleep(LASTING_NS / S + 0.5)
    assert is_full(way.share(arrived) / len(flows)), way.share(arrived)


def test_a_grant_in_sequence_brings_no_more_than_once(lab: Laboratory) -> None:
    way = WAYS["udp"]
    lab.spawn(lab.sender), lab.spawn(lab.receiver)
    sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
    experiment = random_number()
    refused = []
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = grant(lab, receiver, experiment, way)
        receiver.call("Prepare", experiment, phases=phases(lab, 20 * S), roles=[sinking(lab, way)])
        carry([receiver], experiment)
        with leased([sender, receiver], [experiment]):
            start([receiver], experiment)
            for _ in range(3):
                refused.append(rule(lambda: sender.call("Prepare", experiment, phases=phases(lab), roles=[sending(lab, way, [given])])))
                carry([sender, receiver], experiment)
                start([sender], experiment)
                time.sleep(LASTING_NS / S + 0.2)
                with contextlib.suppress(grpc.RpcError):
                    sender.call("Collect", experiment)
                # Once the end of the experiment is forgotten, its number may begin again.
                time.sleep(6.2)
    assert is_full(way.share(arrived)), refused
    assert refused == [None, "consent-spent", "consent-spent"]


def test_a_grant_outlives_no_restart_of_its_sender(lab: Laboratory) -> None:
    way = WAYS["udp"]
    process = lab.spawn(lab.sender)
    lab.spawn(lab.receiver)
    receiver = lab.reach(lab.receiver)
    experiment = random_number()
    started = []
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = grant(lab, receiver, experiment, way)
        receiver.call("Prepare", experiment, phases=phases(lab, 20 * S), roles=[sinking(lab, way)])
        carry([receiver], experiment)
        assert start([receiver], experiment) == [None]
        for _ in range(3):
            sender = lab.reach(lab.sender)
            sender.call("Prepare", experiment, phases=phases(lab), roles=[sending(lab, way, [given])])
            carry([sender, receiver], experiment)
            with leased([sender, receiver], [experiment]):
                started += start([sender], experiment)
                time.sleep(LASTING_NS / S + 0.2)
            process.kill()
            process.wait()
            process = lab.spawn(lab.sender)
            carry([receiver], experiment)
    assert is_full(way.share(arrived)), started
    assert started == [None, "consent-renewal", "consent-renewal"]


def test_copies_of_a_grant_at_two_processes_bring_no_more_than_one(lab: Laboratory) -> None:
    way = WAYS["udp"]
    lab.spawn(lab.sender), lab.spawn(lab.sender, 4989), lab.spawn(lab.receiver)
    senders = [lab.reach(lab.sender), lab.reach(lab.sender, 4989)]
    receiver = lab.reach(lab.receiver)
    experiment = random_number()
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = grant(lab, receiver, experiment, way)
        receiver.call("Prepare", experiment, phases=phases(lab, 20 * S), roles=[sinking(lab, way)])
        for sender in senders:
            sender.call("Prepare", experiment, phases=phases(lab), roles=[sending(lab, way, [given])])
        agents = [*senders, receiver]
        carry(agents, experiment)
        carry(agents, experiment)
        with leased(agents, [experiment]):
            started = start(agents, experiment)
            time.sleep(LASTING_NS / S + 0.5)
    assert is_full(way.share(arrived)), started
    assert sorted(map(str, started)) == ["None", "None", "consent-renewal"]


@pytest.mark.parametrize("end", ["stop", "collect", "kill", "silence"])
@pytest.mark.parametrize("way", [WAYS["udp"], WAYS["tcp-bulk"], WAYS["raw"], WAYS["multicast"]], ids=["udp", "tcp", "raw", "multicast"])
def test_a_sender_is_silent_within_a_second_after_its_receiver(lab: Laboratory, way: Way, end: str) -> None:
    lab.spawn(lab.sender)
    process = lab.spawn(lab.receiver)
    sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
    experiment = random_number()
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = grant(lab, receiver, experiment, way, duration_ns=20 * S)
        receiver.call("Prepare", experiment, phases=phases(lab, 20 * S), roles=[sinking(lab, way)])
        sender.call("Prepare", experiment, phases=phases(lab, 20 * S), roles=[sending(lab, way, [given])])
        carry([sender, receiver], experiment)
        # A coordinator whose receiver says no more tells the sender the last that it has said, again and again.
        with leased([sender, receiver], [experiment]):
            assert start([receiver, sender], experiment) == [None, None]
            time.sleep(1.5)
            before = arrived.frames
            if end == "silence":
                ended_ns = time.monotonic_ns()
            elif end == "kill":
                process.kill()
                process.wait()
                ended_ns = time.monotonic_ns()
            else:
                receiver.call(end.capitalize(), experiment)
                ended_ns = time.monotonic_ns()
            if end != "silence":
                time.sleep(2.5)
        if end == "silence":
            # Nobody carries renewals any more, but the sender's own lease is kept.
            until_ns = time.monotonic_ns() + 5 * S // 2
            ended_ns = time.monotonic_ns()
            while time.monotonic_ns() < until_ns:
                sender.call("Lease", experiment)
                time.sleep(0.1)
    assert before > 50, f"{before} frames arrived before the end"
    after_s = (arrived.last_ns - ended_ns) / S
    assert after_s < 1, f"the last frame arrived {after_s:.3f} s after the receiver's end"


def test_old_renewals_and_those_of_others_renew_nothing(lab: Laboratory) -> None:
    way = WAYS["udp"]
    lab.spawn(lab.sender), lab.spawn(lab.receiver)
    sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
    experiment = random_number()
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = grant(lab, receiver, experiment, way, duration_ns=20 * S)
        receiver.call("Prepare", experiment, phases=phases(lab, 20 * S), roles=[sinking(lab, way)])
        sender.call("Prepare", experiment, phases=phases(lab, 20 * S), roles=[sending(lab, way, [given])])
        challenges = sender.call("Lease", experiment).challenges
        kept = receiver.call("Lease", experiment, challenges=challenges).renewal
        # What the coordinator would like to have been said, with the signature of something else.
        forged = json.loads(kept.renewal)
        forged["answers"][0]["valid_ns"] = 60 * S
        changed = lab.pb.SignedRenewal(renewal=json.dumps(forged).encode(), signature=kept.signature)
        assert rule(lambda: sender.call("Lease", experiment, renewals=[changed])) == "consent-unproven"
        as_grant = lab.pb.SignedRenewal(renewal=kept.renewal, signature=given.signature)
        assert rule(lambda: sender.call("Lease", experiment, renewals=[as_grant])) == "consent-unproven"
        sender.call("Lease", experiment, renewals=[kept])
        assert start([receiver, sender], experiment) == [None, None]
        renewed_ns = time.monotonic_ns()
        while time.monotonic_ns() < renewed_ns + 5 * S // 2:
            sender.call("Lease", experiment, renewals=[kept])
            receiver.call("Lease", experiment)
            time.sleep(0.1)
    assert arrived.frames > 50, "a renewal counts once"
    assert arrived.last_ns - renewed_ns < S


def test_a_receivers_rate_is_not_granted_anew_while_a_sender_may_still_use_it(lab: Laboratory) -> None:
    way = WAYS["udp"]
    (lab.folder / "ceilings.toml").write_text(f"{CEILINGS}\nrate_bps = {RATE_BPS}")
    lab.spawn(lab.sender), lab.spawn(lab.receiver)
    sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
    first, second = random_number(), random_number()
    given = grant(lab, receiver, first, way)
    receiver.call("Prepare", first, phases=phases(lab), roles=[sinking(lab, way)])
    sender.call("Prepare", first, phases=phases(lab), roles=[sending(lab, way, [given])])
    carry([sender, receiver], first)
    assert start([receiver, sender], first) == [None, None]
    collected = threading.Thread(target=lambda: receiver.call("Collect", first))
    other = lab.reach(lab.receiver)
    carry([sender, receiver], first)
    collected.start()
    time.sleep(0.1)
    assert rule(lambda: grant(lab, other, second, way)) == "rate-bits"
    collected.join()
    grant(lab, other, second, way)


@pytest.mark.long
def test_a_prepared_grant_does_not_outlive_its_minute(lab: Laboratory) -> None:
    way = WAYS["udp"]
    lab.spawn(lab.sender), lab.spawn(lab.receiver)
    sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
    waiting, begun = random_number(), random_number()
    with Arrived(lab.receiver, lab.sender) as arrived:
        for experiment in (waiting, begun):
            given = grant(lab, receiver, experiment, way)
            receiver.call("Prepare", experiment, phases=phases(lab), roles=[sinking(lab, way)])
            sender.call("Prepare", experiment, phases=phases(lab), roles=[sending(lab, way, [given])])
            carry([sender, receiver], experiment)
        with leased([sender, receiver], [waiting, begun]):
            time.sleep(58)
            # Ten seconds ahead is as far as a start may be, and beyond the minute of this grant.
            assert start([sender], waiting, 9 * S) == ["consent-expired"]
            time.sleep(4)
            # The receiver, too, has let it go: it renews no grant that was not begun within the minute.
            assert start([sender], begun) == ["consent-expired"]
            replies = carry([sender, receiver], begun)
            assert not replies[lab.sender.ipv4].is_renewed
            time.sleep(1)
    assert arrived.frames == 0


def test_answers_are_held_as_requests_are(lab: Laboratory) -> None:
    """One grant of the asker for many answerers: short requests, long answers."""
    lab.spawn(lab.sender), lab.spawn(lab.receiver)
    answerer, asker = lab.reach(lab.sender), lab.reach(lab.receiver)
    there, back = Way("udp", octets=100), Way("udp", octets=1500)

    def experiment_with(echoes: int) -> tuple[str | None, float]:
        experiment = random_number()
        flows = [f"f{number}" for number in range(echoes)]
        to_asker = [grant(lab, asker, experiment, back, flow, rate_bps=RATE_BPS // echoes) for flow in flows]
        own = {
            "sender": lab.receiver.ipv4,
            "address": lab.sender.ipv4,
            "interface": lab.sender.interface,
            "room_frame_octets": 1500,
            "rate_bps": 10 * RATE_BPS,
        }
        to_answerer = [grant(lab, answerer, experiment, there, flow, **own) for flow in flows]
        source = json.dumps({"frames": {"kind": "fixed", "bits": 800}, "arrivals": {"kind": "saturated"}})
        asks = [
            lab.pb.Role(
                flow=flow,
                kind="udp",
                cast="unicast",
                interface=lab.receiver.interface,
                ask=lab.pb.Ask(
                    grants=[given],
                    patience_ns=20 * MS,
                    rate_bps=10 * RATE_BPS,
                    rate_frames_per_s=100_000,
                    attention="sleeping",
                    source_json=source,
                ),
            )
            for flow, given in zip(flows, to_answerer, strict=True)
        ]

        def echo(flow: str, given: Any) -> Any:
            answers = json.dumps({"frames": {"kind": "fixed", "bits": 8 * 1500}})
            rates = {"rate_bps": RATE_BPS // echoes, "rate_frames_per_s": 100_000}
            at = {"flow": flow, "kind": "udp", "cast": "unicast", "interface": lab.sender.interface}
            return lab.pb.Role(echo=lab.pb.Echo(grant=given, attention="sleeping", answers_json=answers, **rates), **at)

        with Arrived(lab.receiver, lab.sender) as arrived:
            asker.call("Prepare", experiment, phases=phases(lab), roles=asks)
            shared = [echo(flow, to_asker[0]) for flow in flows]
            each = [echo(flow, given) for flow, given in zip(flows, to_asker, strict=True)]
            roles = shared if echoes > 1 else each
            refused = rule(lambda: answerer.call("Prepare", experiment, phases=phases(lab), roles=roles))
            carry([asker, answerer], experiment)
            with leased([asker, answerer], [experiment]):
                start([answerer, asker], experiment)
                time.sleep(LASTING_NS / S + 0.5)
                for agent in (asker, answerer):
                    with contextlib.suppress(grpc.RpcError):
                        agent.call("Collect", experiment)
        return refused, arrived.bits / GRANTED_BITS

    refused, share = experiment_with(1)
    # What the asker waits for in vain is lost to it, and not answered faster later.
    assert refused is None
    assert 0.3 < share <= 1 + TOLERANCE
    refused, share = experiment_with(4)
    assert share <= 1 + TOLERANCE
    assert refused in ("consent-spent", "consent-target")


def test_what_tcp_sends_again_is_within_the_grant(agent: str, tmp_path: Path, protocol: tuple[types.ModuleType, types.ModuleType]) -> None:
    way = WAYS["tcp-bulk"]
    lossy = Wire(10_000_000, kind="relay", loss=0.1)
    good = Wire(10_000_000, kind="relay")
    with make_testbed(4, layout="switch", wires=[lossy, good, good, good]) as bed, contextlib.ExitStack() as stack:
        lab = Laboratory(agent, bed, tmp_path, protocol, stack)
        lab.spawn(lab.sender), lab.spawn(lab.receiver)
        sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
        experiment = random_number()
        with Arrived(lab.sender, lab.sender, leaving=True) as sent:
            given = grant(lab, receiver, experiment, way)
            receiver.call("Prepare", experiment, phases=phases(lab, 2 * S), roles=[sinking(lab, way)])
            sender.call("Prepare", experiment, phases=phases(lab), roles=[sending(lab, way, [given])])
            while not carry([sender, receiver], experiment)[lab.sender.ipv4].is_renewed:
                pass
            with leased([sender, receiver], [experiment]):
                assert start([receiver, sender], experiment) == [None, None]
                time.sleep(LASTING_NS / S + 0.7)
                counted = json.loads(sender.call("Collect", experiment).result_json)["roles"][0]["counted"]
        again = counted["tcp"]["columns"]["sent_again"][-1]
        assert again > 0, "nothing was sent again"
        assert 0.1 < way.share(sent) <= 1 + TOLERANCE, f"{way.share(sent):.3f} with {again} segments sent again"


def _trickle(sockets: list[socket.socket], is_over: threading.Event) -> None:
    """Say an octet at a time of what could become a hello of TLS."""
    hello = bytes.fromhex("160301020001000001fc0303") + bytes(500)
    for octet in hello:
        for one in sockets:
            with contextlib.suppress(OSError):
                one.send(bytes([octet]))
        if is_over.wait(0.2):
            return


@pytest.mark.parametrize("where", ["elsewhere", "at the coordinator's address"])
@pytest.mark.parametrize(("number", "says"), [(1000, False), (60, True)], ids=["idle", "slow"])
def test_strangers_neither_keep_out_a_coordinator_nor_end_its_leases(lab: Laboratory, where: str, number: int, says: bool) -> None:  # noqa: FBT001
    way = WAYS["udp"]
    lab.spawn(lab.sender), lab.spawn(lab.receiver)
    sender, receiver = lab.reach(lab.sender), lab.reach(lab.receiver)
    experiment = random_number()
    is_over = threading.Event()
    host = lab.stranger if where == "elsewhere" else lab.coordinator
    crowds: list[socket.socket] = []

    def crowd() -> None:
        """Come back as soon as one is let go."""
        while not is_over.is_set():
            made = [one for agent in (lab.sender, lab.receiver) for one in strangers(host, agent.ipv4, 4988, number // 2)]
            crowds.extend(made)
            if says:
                _trickle(made, is_over)
            elif is_over.wait(1):
                return

    talkers = threading.Thread(target=crowd)
    with Arrived(lab.receiver, lab.sender) as arrived:
        given = grant(lab, receiver, experiment, way)
        receiver.call("Prepare", experiment, phases=phases(lab, 2 * S), roles=[sinking(lab, way)])
        sender.call("Prepare", experiment, phases=phases(lab), roles=[sending(lab, way, [given])])
        carry([sender, receiver], experiment)
        with leased([sender, receiver], [experiment]):
            talkers.start()
            time.sleep(0.5)
            try:
                assert start([receiver, sender], experiment) == [None, None]
                begun = time.monotonic()
                lab.reach(lab.sender)
                lab.reach(lab.receiver)
                took_s = time.monotonic() - begun
                time.sleep(LASTING_NS / S + 0.3)
                ended = json.loads(sender.call("Collect", experiment).result_json)["ended"]
            finally:
                is_over.set()
                talkers.join()
                for one in crowds:
                    one.close()
    assert ended == "complete"
    assert took_s < 3, f"two coordinators came in only after {took_s:.1f} s"
    assert is_full(way.share(arrived)), way.share(arrived)
