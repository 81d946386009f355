"""The bench: two hosts at a switch of a testbed, on which transfers run one after the other.

Each transfer has its own setup.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from ethermeter.analysis.bottleneck import Outcome
from ethermeter.bottleneck.quota import Means, Quota, quota_on
from ethermeter.bottleneck.setup import LONGEST_NS, MTU_OCTETS, Setup
from ethermeter.framing import AROUND_DATA_OCTETS
from ethermeter.relay_plan import DirectionProperties, RelayPlan, WirePlan
from ethermeter.testbed import Relay, Testbed, Wire, make_testbed, reshape
from ethermeter.testbed.commands import batch, run
from ethermeter.testbed.record import RECORDS
from ethermeter.testbed.worker import Worker

_FIRST_PORT, _PORTS = 20_000, 30_000
_WITHIN_S = 30.0


class Bench:
    """Runs transfers; made by `make_bench`."""

    def __init__(
        self, testbed: Testbed, sender: Worker, receiver: Worker, quotas: tuple[Quota, Quota]
    ) -> None:
        self._testbed = testbed
        self._sender, self._receiver = sender, receiver
        self._quotas = quotas
        self._wires: dict[tuple[str, str], Wire | None] = {}
        self._relay: Relay | None = None
        self._relayed: DirectionProperties | None = None
        self._port = 0

    @property
    def means(self) -> Means:
        """How processors are limited here."""
        return self._quotas[0].means

    def run(self, setup: Setup) -> Outcome:
        """Run one transfer.

        Raises TestbedError if the system refuses something of it.
        """
        self._prepare(setup)
        self._port = self._port % _PORTS + 1
        address = f"{self._testbed.hosts[1].ipv4}:{_FIRST_PORT + self._port}"
        self._receiver.ask(setup.receiving(address))
        self._sender.ask(setup.sending(address))
        within_s = (
            _WITHIN_S
            + (LONGEST_NS if setup.window_ns is None else setup.window_ns + setup.settle_ns) * 1e-9
        )
        received = self._receiver.answer(_Received, within_s=within_s)
        sent = self._sender.answer(_Sent, within_s=within_s)
        return _outcome(received, sent)

    def _prepare(self, setup: Setup) -> None:
        """Apply the setup; what it already has stays."""
        assert self._testbed.switch is not None
        first, last = self._testbed.hosts
        switch = self._testbed.switch
        own_bps = setup.sender_wire_bps or setup.wire_bps
        self._shape(first.namespace, first.interface, own_bps, setup.queue_octets)
        self._shape(switch, "em1", own_bps, setup.queue_octets)
        self._shape(switch, "em2", setup.wire_bps, setup.queue_octets)
        self._shape(last.namespace, last.interface, setup.wire_bps, setup.queue_octets)
        self._join(switch, setup)
        for quota, end in zip(self._quotas, (setup.sender, setup.receiver), strict=True):
            quota.limit(end.processor)

    def _shape(
        self, namespace: str, interface: str, rate_bps: int | None, queue_octets: int
    ) -> None:
        wire = None if rate_bps is None else Wire(rate_bps, queue_octets)
        if self._wires.get((namespace, interface), wire if wire is None else 0) != wire:
            reshape(namespace, interface, wire, mtu=MTU_OCTETS)
        self._wires[(namespace, interface)] = wire

    def _join(self, switch: str, setup: Setup) -> None:
        """Join the wires by a long wire or a device of the setup, or else by the bridge."""
        wanted = _direction(setup) if setup.has_line else None
        if wanted == self._relayed:
            return
        self.close()
        ends = "em1", "em2"
        joined = "master bridge" if wanted is None else "nomaster"
        batch(switch, [f"link set {interface} {joined}" for interface in ends])
        if wanted is not None:
            plan = RelayPlan(
                wires=(WirePlan(ends=ends, directions=(wanted, wanted)),),
                longest_octets=MTU_OCTETS + AROUND_DATA_OCTETS,
            )
            control = RECORDS / f"{self._testbed.name}.control"
            self._relay = Relay.start(switch, plan, control)
        self._relayed = wanted

    def close(self) -> None:
        """End what runs; the testbed is removed by its own maker."""
        relay, self._relay, self._relayed = self._relay, None, None
        if relay is not None:
            relay.stop()


def _direction(setup: Setup) -> DirectionProperties:
    """Return either direction between the hosts; the rates are those of the shaped wires."""
    return DirectionProperties(
        rate_bps=None,
        delay_ns=setup.delay_ns,
        queue_octets=0,
        frame_ns=setup.frame_ns,
        room_frames=setup.room_frames,
    )


class _Received(msgspec.Struct, frozen=True):
    """Result of a `receive` task (docs/reference/transfer-file.md)."""

    octets: int
    window_ns: int
    lasted_ns: int
    worked_ns: int


class _Connection(msgspec.Struct, frozen=True):
    sent_again: int
    round_trip_us: float


class _Sent(msgspec.Struct, frozen=True):
    """Result of a `send` task."""

    lasted_ns: int
    worked_ns: int
    connections: tuple[_Connection, ...]


def _outcome(received: _Received, sent: _Sent) -> Outcome:
    window_s, lasted_s = received.window_ns * 1e-9, max(received.lasted_ns, 1) * 1e-9
    return Outcome(
        throughput_bps=8 * received.octets / window_s if window_s > 0 else 0.0,
        sent_again=sum(each.sent_again for each in sent.connections),
        round_trip_s=sent.connections[0].round_trip_us * 1e-6,
        sender_processor=sent.worked_ns * 1e-9 / max(sent.lasted_ns * 1e-9, 1e-9),
        receiver_processor=received.worked_ns * 1e-9 / lasted_s,
    )


@contextmanager
def make_bench() -> Iterator[Bench]:
    """Make a bench, and remove it at the end whatever happens."""
    with ExitStack() as stack:
        testbed = stack.enter_context(make_testbed(2, layout="switch"))
        for host in testbed.hosts:
            # What the kernel has learnt of a path in one transfer would be the next one's
            # beginning.
            run(host.command("sysctl", "-q", "-w", "net.ipv4.tcp_no_metrics_save=1"))
        sender, receiver = (stack.enter_context(Worker.on(host)) for host in testbed.hosts)
        # Ended before the workers are: an empty control group can be removed.
        quotas = [stack.enter_context(quota_on(worker.pid)) for worker in (sender, receiver)]
        bench = Bench(testbed, sender, receiver, (quotas[0], quotas[1]))
        stack.callback(bench.close)
        yield bench
