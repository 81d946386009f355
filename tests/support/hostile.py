"""A coordinator that keeps to no rule, and an account of what arrives at an interface.

It speaks the agents' protocol (`crates/agent/src/protocol.rs`) by itself, with genuine
certificates. All hosts of a testbed share the clock of this machine, so the times of agents
are those of `time.monotonic_ns`.
"""

import contextlib
import ctypes
import itertools
import json
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import grpc
from ethermeter.testbed import Host
from stalls import inconclusive

PROTOCOL = 9
_CONTROL = frozenset(range(4988, 5000))
"""Ports of agents."""
CALL_S = 30
"""Time for a call: a machine that stalls answers within it, an agent that has ended never."""
LEASE_S = 0.7
"""How long an agent keeps an experiment without a lease."""
S = 10**9
MS = 10**6
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
T = TypeVar("T")


def on_host(host: Host, act: Callable[[], T]) -> T:
    """Do something in a host's network, on a thread of its own."""
    outcome: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with Path("/run/netns", host.namespace).open() as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NEW_NETWORK) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            outcome.append(act())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return outcome[0]


@contextlib.contextmanager
def forwarded(host: Host, address: str, port: int, path: Path) -> Iterator[None]:
    """Forward connections to a Unix socket to an agent, as from `host`."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while octets := source.recv(1 << 16):
                target.sendall(octets)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def join(near: socket.socket) -> None:
        try:
            far = on_host(host, lambda: socket.create_connection((address, port), timeout=CALL_S))
        except OSError:
            near.close()
            return
        far.settimeout(None)
        with near, far:
            back = threading.Thread(target=pump, args=(far, near))
            back.start()
            pump(near, far)
            back.join()

    joined: list[threading.Thread] = []

    def serve() -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            joined.append(threading.Thread(target=join, args=(near,)))
            joined[-1].start()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for one in (thread, *joined):
            one.join()


class Reached:
    """An agent, as the coordinator reaches it."""

    def __init__(self, target: str, name: str, certificates: Path) -> None:
        read = [
            (certificates / file).read_bytes()
            for file in ("authority.pem", "coordinator.key", "coordinator.pem")
        ]
        options = [
            ("grpc.ssl_target_name_override", name),
            ("grpc.enable_retries", 0),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        self._channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(*read), options)
        self._counter = 0
        self._last_s: dict[int, float] = {}
        self._lock = threading.Lock()
        self.address = name
        hello = self._call("Hello", {"protocol": PROTOCOL}, CALL_S, wait_for_ready=True)
        self.session = hello["session"]

    def _call(self, name: str, body: Any, timeout_s: float, *, wait_for_ready: bool = False) -> Any:
        call = self._channel.unary_unary(f"/ethermeter.Agent/{name}")
        text = json.dumps(body).encode()
        return json.loads(call(text, timeout=timeout_s, wait_for_ready=wait_for_ready))

    def call(self, name: str, experiment: int, *, timeout_s: float = CALL_S, **fields: Any) -> Any:
        """Make a stamped call; calls arrive in the order of their numbers.

        A test that was held up for longer than a lease before it prepares is inconclusive.
        """
        if name == "Lease":
            fields = {"challenges": [], "renewals": []} | fields
        with self._lock:
            self._counter += 1
            stamp = {
                "session": self.session,
                "experiment": experiment,
                "counter": self._counter,
                "made_ns": time.monotonic_ns(),
            }
            last_s = self._last_s.get(experiment, time.monotonic())
            self._last_s[experiment] = time.monotonic()
            try:
                return self._call(name, {"stamp": stamp, "request": fields}, timeout_s)
            except grpc.RpcError as error:
                waited_s = time.monotonic() - last_s
                is_over = (error.details() or "").startswith("rule ended: ")
                if name == "Prepare" and is_over and waited_s >= LEASE_S:
                    inconclusive(f"a lease ended in the {waited_s:.1f} s from call to call")
                raise

    def close(self) -> None:
        """End the connection."""
        self._channel.close()


def rule(call: Callable[[], Any]) -> str | None:
    """The rule by which a call is refused; `None` if it is not."""
    try:
        call()
    except grpc.RpcError as error:
        found = re.match(r"rule ([a-z-]+): ", error.details() or "")
        if error.code() != grpc.StatusCode.PERMISSION_DENIED or not found:
            raise
        return found[1]
    return None


def carry(agents: Iterable[Reached], experiment: int) -> dict[str, Any]:
    """Renew leases, and carry challenges to receivers and renewals back; returns the last reply of
    each agent that knows the experiment.
    """
    replies: dict[int, Any] = {}
    known = {agent.session: agent for agent in agents}

    def lease(agent: Reached, **fields: Any) -> Any | None:
        try:
            reply = agent.call("Lease", experiment, **fields)
        except grpc.RpcError:
            return None
        replies[id(agent)] = reply
        return reply

    asked = [
        (agent, challenge)
        for agent in known.values()
        for challenge in (lease(agent) or {}).get("challenges", ())
    ]
    for session, receiver in known.items():
        mine = [
            (sender, challenge) for sender, challenge in asked if challenge["session"] == session
        ]
        answer = lease(receiver, challenges=[challenge for _, challenge in mine]) if mine else None
        if answer is not None and answer["renewal"] is not None:
            for sender in {id(sender): sender for sender, _ in mine}.values():
                lease(sender, renewals=[answer["renewal"]])
    return {agent.address: replies.get(id(agent)) for agent in known.values()}


@contextlib.contextmanager
def leased(
    agents: list[Reached], experiments: list[int], *, every_s: float = 0.15
) -> Iterator[None]:
    """Keep leases of experiments, whatever is refused."""
    is_over = threading.Event()

    def keep() -> None:
        while not is_over.wait(every_s):
            for experiment in experiments:
                carry(agents, experiment)

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class Arrived:
    """Frames of one sender that arrive at a host's interface, or leave it, but those of control
    connections.

    Bits are those from destination address to FCS.
    """

    def __init__(self, at: Host, sender: Host, *, leaving: bool = False) -> None:
        self.frames = 0
        self.bits = 0
        self.last_ns = 0
        self._source = bytes.fromhex(sender.mac.replace(":", ""))
        self._leaving = leaving
        self._socket = on_host(
            at, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        )  # ETH_P_ALL
        self._socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self._socket.bind((at.interface, 3))
        self._socket.settimeout(0.05)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._count)

    def __enter__(self) -> "Arrived":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.1)
        self._is_over.set()
        self._thread.join()
        dropped = struct.unpack("II", self._socket.getsockopt(263, 6, 8))[
            1
        ]  # SOL_PACKET, PACKET_STATISTICS
        self._socket.close()
        assert dropped == 0, f"the account missed {dropped} frames"

    def _count(self) -> None:
        while not self._is_over.is_set():
            try:
                frame, (_, _, kind, *_) = self._socket.recvfrom(1 << 16)
            except TimeoutError:
                continue
            if (
                frame[6:12] == self._source
                and (kind == socket.PACKET_OUTGOING) == self._leaving
                and not _is_control(frame)
            ):
                self.frames += 1
                self.bits += 8 * (max(len(frame), 60) + 4)
                self.last_ns = time.monotonic_ns()


def _is_control(frame: bytes) -> bool:
    """Whether a frame is of a control connection, or of the kernel's own neighbour discovery."""
    kind = int.from_bytes(frame[12:14], "big")
    if kind == 0x0800:
        protocol, at = frame[23], 14 + 4 * (frame[14] & 15)
    elif kind == 0x86DD:
        protocol, at = frame[20], 54
    else:
        return kind == 0x0806
    if protocol in (0, 1, 2, 58):  # IPv6 hop-by-hop options before MLD, ICMP, IGMP, ICMPv6
        return True
    return protocol == 6 and not _CONTROL.isdisjoint(struct.unpack("!HH", frame[at : at + 4]))


def announce(host: Host, address: str) -> None:
    """Tell all stations of a network that a host has an address: a gratuitous ARP request (RFC
    5227), or an unsolicited neighbour advertisement (RFC 4861, section 7.2.6).
    """
    own = bytes.fromhex(host.mac.replace(":", ""))
    if ":" in address:
        octets = socket.inet_pton(socket.AF_INET6, address)
        everybody = socket.inet_pton(socket.AF_INET6, "ff02::1")
        # Override, target, and the option of the target's link-layer address.
        message = bytes([136, 0, 0, 0, 0x20, 0, 0, 0]) + octets + bytes([2, 1]) + own
        covered = octets + everybody + struct.pack("!II", len(message), 58) + message
        total = sum(struct.unpack(f"!{len(covered) // 2}H", covered))
        total = (total & 0xFFFF) + (total >> 16)
        total = (total & 0xFFFF) + (total >> 16)
        message = message[:2] + struct.pack("!H", 0xFFFF - total) + message[4:]
        head = struct.pack("!IHBB", 6 << 28, len(message), 58, 255) + octets + everybody
        frame = bytes.fromhex("333300000001") + own + b"\x86\xdd" + head + message
    else:
        octets = socket.inet_pton(socket.AF_INET, address)
        head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)
        arp = head + own + octets + bytes(6) + octets
        frame = b"\xff" * 6 + own + b"\x08\x06" + arp
    with on_host(host, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)) as sending:
        sending.bind((host.interface, 0))
        sending.send(frame)


def strangers(
    host: Host, address: str, port: int, number: int, sources: Sequence[str] = ("0.0.0.0",)
) -> list[socket.socket]:
    """Open connections on which nothing is said, from each of the sources in turn."""

    def connect() -> list[socket.socket]:
        made = []
        for source in itertools.islice(itertools.cycle(sources), number):
            one = socket.socket(socket.AF_INET)
            one.settimeout(0)
            one.bind((source, 0))
            with contextlib.suppress(BlockingIOError):
                one.connect((address, port))
            made.append(one)
        return made

    return on_host(host, connect)


def random_number() -> int:
    """A number that nobody else has."""
    return int.from_bytes(os.urandom(8), "big")
