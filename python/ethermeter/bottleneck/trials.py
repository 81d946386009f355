"""Transfers as trials: a setup as a line of a plan, and the place that measures such trials."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import msgspec
import numpy as np

from ethermeter import plan
from ethermeter.analysis.bottleneck import Outcome
from ethermeter.bottleneck.bench import make_bench
from ethermeter.bottleneck.setup import LONGEST_NS, Setup
from ethermeter.counts import (
    NO_CLOCK_PAIRS,
    NO_NODES,
    NO_PORTS,
    NO_STATIONS,
    Counts,
    FlowBatch,
    FlowCounts,
    TransferCounts,
    unknown,
    zeros,
)
from ethermeter.engines.live.trials import Underway, trial_of
from ethermeter.engines.work import Finished, Work
from ethermeter.experiment import Experiment, toml
from ethermeter.experiment.reading import of_document
from ethermeter.store.columns import CAUTION, FLOWS
from ethermeter.store.files import write_whole
from ethermeter.store.measured import COMPLETE, result_file
from ethermeter.store.trial_result import TrialResult, counted
from ethermeter.trial import LIVE, Trial, planned

CHANGED = "changed"
"""Key of a trial's point that holds the stage that is changed, or `unchanged`."""
_UNSHAPED_BPS = 100_000_000_000
"""Rate in the plan of wires that are not shaped: it limits nothing."""
_OCTET_AT_1_BPS_PS = 8 * 10**12
_WINDOW_OCTETS = 6 << 20
"""Window in the plan where the system chooses: the largest of Linux, `net.ipv4.tcp_rmem`."""
PS_PER_S = 1e12
_HEADER_OCTETS = 20 + 20
"""Headers of IPv4 and TCP without options."""


class Bench(Protocol):
    """Runs transfers one after the other."""

    @property
    def means(self) -> str:
        """How processors are limited there."""

    def run(self, setup: Setup) -> Outcome:
        """Run one transfer."""


class Result(msgspec.Struct, frozen=True):
    """What one trial came to: the key `transfer` of its file in `live/`.

    `outcome`: of the transfer. `processors_limited_by`: how processors were limited.
    """

    outcome: Outcome
    processors_limited_by: str

    @classmethod
    def of(cls, text: bytes) -> "Result":
        """Read the file of a trial.

        Raises msgspec.DecodeError if it is not the file of a transfer.
        """
        return msgspec.json.decode(text, type=_File).transfer


class _File(msgspec.Struct, frozen=True):
    transfer: Result
    outcome: str = COMPLETE
    agents: dict[str, None] = {}
    flows: dict[str, None] = {}


def experiment(setup: Setup, *, title: str, seed: int) -> Experiment:
    """Return the network and the transfer of a setup as an experiment.

    It states what an experiment file can: wires, window, buffers, segments and times. All that the
    bench sets is in `live.setup` of each trial.
    """
    segment = setup.segment_octets
    window = _WINDOW_OCTETS if setup.receive_octets is None else setup.receive_octets
    tcp: dict[str, object] = {
        "window": _octets(max(segment, window)),
        "mtu": _octets(segment + _HEADER_OCTETS),
    }
    if setup.send_octets is not None:
        tcp["send_buffer"] = _octets(max(segment, setup.send_octets))
    if setup.congestion in ("reno", "cubic"):
        tcp["congestion"] = setup.congestion
    wires = (setup.sender_wire_bps or setup.wire_bps, setup.wire_bps)
    window_ns = LONGEST_NS if setup.window_ns is None else setup.window_ns
    document = {
        "title": title,
        "seed": seed,
        "series": "transfer",
        "network": {
            "hosts": [{"name": "sender"}, {"name": "receiver"}],
            "switches": [{"name": "switch", "queue_size": _octets(setup.queue_octets)}],
            "links": [
                {"ends": ["sender", "switch"], "rate": _rate(wires[0])},
                {
                    "ends": ["switch", "receiver"],
                    "rate": _rate(wires[1]),
                    "delay": f"{setup.delay_ns} ns",
                },
            ],
        },
        "flows": [
            {
                "name": "file",
                "from": "sender",
                "to": "receiver",
                "transfer": {
                    "stream": {} if setup.octets is None else {"size": _octets(setup.octets)},
                    "tcp": tcp,
                },
            }
        ],
        "phases": {
            "transmit": f"{setup.settle_ns + window_ns} ns",
            "measure": f"last {window_ns} ns",
        },
        "run": {"engines": [LIVE]},
    }
    return of_document(document, Path("transfer.toml"), text=toml.document(document))


def trial(base: Trial, setup: Setup, *, number: int, changed: str, replication: int) -> Trial:
    """Return the trial of a setup.

    `base`: the trial of the setup's `experiment`. `setup`: what the bench sets. `number`: place in
    the plan. `changed`: the stage that is changed, or `unchanged`. `replication`: round, from 0.
    """
    return planned(
        id=f"{base.id.partition('/')[0]}/{number:05d}",
        series=base.series,
        replication=replication,
        seed=base.seed,
        engine=LIVE,
        point={CHANGED: changed},
        scenario=base.scenario,
        live=msgspec.structs.replace(base.settings(), setup=asdict(setup)),
    )


def base_trial(setup: Setup, *, title: str, seed: int) -> Trial:
    """Return the trial of a setup's experiment, from which `trial` makes those of a plan."""
    (found,) = plan.expand([experiment(setup, title=title, seed=seed)]).trials
    return found


class Transfers:
    """Measures trials of transfers on one bench, which is made when it is first needed.

    The first transfer on a bench finds everything cold; it is run once more, and not counted.

    `make`: makes the bench.
    """

    name = "transfers on a testbed"

    def __init__(self, make: Callable[[], AbstractContextManager[Bench]] = make_bench) -> None:
        self._make = make
        self._stack = ExitStack()
        self._bench: Bench | None = None
        self._is_warm = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bench = None
        self._stack.close()

    def check(self, works: Sequence[Work]) -> None:
        """Make the bench.

        Raises TestbedError if it cannot be made: without root, for instance.
        """
        del works
        self._made()

    def _made(self) -> Bench:
        if self._bench is None:
            self._bench = self._stack.enter_context(self._make())
            self._is_warm = False
        return self._bench

    def run(
        self, works: Sequence[Work], directory: Path
    ) -> Generator[Finished | Underway, None, None]:
        """Measure trials one after the other; the outcome of each is kept in `live/`.

        Raises TestbedError if the system refuses something of a transfer.
        """
        bench = self._made()
        for work in works:
            yield Underway(work.place, "transfer", 0.0)
            trial = trial_of(work)
            setup = msgspec.convert(trial.settings().setup, Setup)
            if not self._is_warm:
                bench.run(setup)
                self._is_warm = True
            outcome = bench.run(setup)
            file = msgspec.json.encode(_File(Result(outcome, bench.means)))
            path = result_file(directory, work.id)
            write_whole(path, file.decode() + "\n", within=directory)
            yield Finished(work.place, _result(trial, outcome))


def _result(trial: Trial, outcome: Outcome) -> TrialResult:
    """Return what was counted of a transfer: its data and the segments that were sent again."""
    phases = trial.scenario.phases
    window_s = (phases.measure_to_ps - phases.measure_from_ps) / PS_PER_S
    of_transfer = unknown(TransferCounts, 1)
    again = np.array([[float(outcome.sent_again), 0.0]])
    transfer = replace(
        of_transfer,
        octets=np.array([outcome.throughput_bps / 8 * window_s]),
        ends=replace(of_transfer.ends, retransmitted=again),
    )
    flows = replace(
        unknown(FlowCounts, 1),
        received_ps=np.array([window_s * PS_PER_S]),
        batches=zeros(FlowBatch, 0, 1),
        transfer=transfer,
    )
    counts = Counts(
        window_ps=round(window_s * PS_PER_S),
        events=0,
        media=(),
        stations=NO_STATIONS,
        flows=flows,
        ports=NO_PORTS,
        nodes=NO_NODES,
        clock_pairs=NO_CLOCK_PAIRS,
        cautions=(),
    )
    cautions = {CAUTION: np.zeros(1, np.uint64)}
    return counted(trial.scenario, counts, cautions={FLOWS: cautions}, core_s=0.0)


def _octets(octets: int) -> str:
    return f"{octets} B"


def _rate(bps: int | None) -> str:
    """Return a rate as a file has it; the nearest whole time of an octet where it has none."""
    bps = _UNSHAPED_BPS if bps is None else bps
    octet_ps, rest = divmod(_OCTET_AT_1_BPS_PS, bps)
    return f"{octet_ps + (2 * rest >= bps)} ps/B" if rest else f"{bps} b/s"
