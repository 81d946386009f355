"""Bench: a device under test between testers, and the trials that are run on it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

from ethermeter import plan
from ethermeter.benchmark.services import Service
from ethermeter.experiment import Experiment, toml
from ethermeter.experiment.document import required_table
from ethermeter.experiment.network import network_in
from ethermeter.experiment.reading import of_document
from ethermeter.experiment.toml import Tables
from ethermeter.faults import InputError, choices, shown
from ethermeter.scenario import Host, Link, Node
from ethermeter.trial import LIVE, SIMULATION, Trial, renumbered
from ethermeter.units import PS_PER_S

FRAMES = (64, 128, 256, 512, 1024, 1280, 1518)
"""Lengths of frames on Ethernet, RFC 2544 section 9.1."""
TEST, FRAME, STIMULUS, TRIAL = "test", "frame", "stimulus", "trial"
"""Keys of the point of every trial: its test, length of frames, what else it does, and its number
in the step.
"""
_REPLACED = ("series", "notes", "flows", "phases", "run", "vary", "sources", "theory")
"""Keys of the file that a suite sets anew, or that have no meaning here."""
_BATCHES = 20
Venue = Literal["simulation", "testbed", "hosts"]
"""Where trials are run."""


class Durations(TypedDict, total=False):
    """Durations of a suite and numbers of its trials, as of `Settings`."""

    settle_s: float
    drain_s: float
    trial_s: float
    latency_s: float
    latency_trials: int
    burst_searches: int


def durations(venue: Venue, *, is_standard: bool) -> Durations:
    """Return the durations of a suite, as of `Settings`.

    Those of the documents are RFC 2544 sections 24 and 26; in a simulation, trials with equal
    seeds are equal, so that one of each is enough.
    """
    is_live = venue != "simulation"
    times: Durations = {
        "settle_s": 0.25 if is_live else 0.0,
        "drain_s": 0.5 if is_live else 2.0,
    }
    if is_standard:
        times |= {"trial_s": 60.0, "latency_s": 120.0, "drain_s": 2.0}
    if is_live:
        times["latency_trials"] = 20 if is_standard else 3
        times["burst_searches"] = 50 if is_standard else 3
    return times


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a suite.

    Parameters
    ----------
    frames
        Lengths of frames, destination address to FCS.
    trial_s, latency_s
        Duration of a trial, and of one of latency, in s.
    settle_s, drain_s
        Time before the frames, and time after the last one until counters are read, in s.
    latency_trials, burst_searches
        How often latency is measured, and how often the longest burst is searched.
    width
        Relative width of a search: the found rate is at most this far below one that loses frames.
    search
        How rates are searched: MLRsearch, or by halving as in RFC 2544.
    is_bidirectional
        Whether testers send to each other at the same time.
    streams
        Streams from a tester to another.
    port
        Port by which frames are sent in a measurement.
    venue
        Whether trials are simulated, or measured on a testbed or between hosts of a laboratory.
    is_standard
        Whether durations are those of the documents.
    services
        Services of Y.1564.

    """

    frames: tuple[int, ...] = FRAMES
    trial_s: float = 1.0
    latency_s: float = 1.0
    settle_s: float = 0.0
    drain_s: float = 2.0
    latency_trials: int = 1
    burst_searches: int = 1
    width: float = 0.005
    search: Literal["mlr", "binary"] = "mlr"
    is_bidirectional: bool = False
    streams: int = 1
    port: str = "udp"
    venue: Venue = "simulation"
    is_standard: bool = False
    services: tuple[Service, ...] = ()

    @property
    def is_live(self) -> bool:
        """Whether trials are measured."""
        return self.venue != "simulation"

    def conditions(self) -> dict[str, str]:
        """Return the settings in words, for reports."""
        search = "MLRsearch 1.2.1" if self.search == "mlr" else "halving, RFC 2544 section 24"
        directions = "both directions at once" if self.is_bidirectional else "one direction"
        return {
            "durations": "of the documents" if self.is_standard else "quick",
            "trial": f"{self.trial_s:g} s",
            "latency trials": f"{self.latency_trials} of {self.latency_s:g} s",
            "settling": f"{self.settle_s:g} s",
            "counters read after": f"{self.drain_s:g} s of silence",
            "search": f"{search}, width {100 * self.width:g}%",
            "traffic": f"{directions}, {self.streams} stream{'s' if self.streams > 1 else ''} each",
            "frames by": f"port {self.port}" if self.is_live else "simulated testers",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Frames from one tester to others.

    `intended` is the number of frames that it should send; None if it follows from the device, as
    of a saturated stream.
    """

    sender: str
    receivers: tuple[str, ...]
    octets: int
    arrivals: Mapping[str, object] | str
    intended: int | None
    cast: str = "unicast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stimulus:
    """What a trial does to the device: streams, for how long, and on which network.

    Parameters
    ----------
    label
        Its place in the test, such as frame and load, by name.
    flows
        Tables `[[flows]]` in place of those of `streams`, for connections.
    drain_s
        Time until counters are read in place of that of the settings; then frames that queues took
        of an overload count as received.
    network
        Table `[network]` in place of that of the file; None for the device as it is.
    batches
        Equal parts of the transmission that are counted separately.

    """

    label: Mapping[str, str]
    transmit_ps: int
    streams: tuple[Stream, ...] = ()
    flows: tuple[Mapping[str, object], ...] = ()
    drain_s: float | None = None
    network: Mapping[str, object] | None = None
    batches: int = _BATCHES


@dataclass(frozen=True, slots=True)
class Bench:
    """A device between testers.

    Parameters
    ----------
    document, path
        Experiment file of the network, as tables; and its path, for faults.
    testers
        Hosts that send and receive, in order.
    settings
        Of the suite.
    links, nodes
        Of the network.

    """

    document: Mapping[str, object]
    path: Path
    testers: tuple[str, ...]
    settings: Settings
    links: tuple[Link, ...] = field(default=(), repr=False)
    nodes: tuple[Node, ...] = field(default=(), repr=False)

    def link_of(self, tester: str) -> Link:
        """Return the link of a tester."""
        return next(link for link in self.links if tester in (end.node for end in link.ends))

    def frame_ps(self, tester: str, octets: int) -> int:
        """Return the time of a frame with preamble and gap on the link of a tester, in ps."""
        link = self.link_of(tester)
        return (link.preamble_octets + octets + link.gap_octets) * link.ps_per_octet

    def line_rate(self, tester: str, octets: int) -> float:
        """Return the highest theoretical frame rate of a tester's link, in frames/s."""
        return PS_PER_S / self.frame_ps(tester, octets)

    def serialisation_s(self, sender: str, receiver: str, octets: int) -> float:
        """Return the time that the links of two testers take for a frame without the device.

        Preamble, frame and propagation of the first link, frame and propagation of the last: the
        rest of a one-way delay is from the last bit into the device to the first bit out of it.
        """
        first, last = self.link_of(sender), self.link_of(receiver)
        first_ps = (first.preamble_octets + octets) * first.ps_per_octet + first.delay_ps
        return (first_ps + octets * last.ps_per_octet + last.delay_ps) / PS_PER_S

    def rate_streams(
        self,
        pairs: Iterable[tuple[str, Sequence[str]]],
        octets: int,
        load: float,
        *,
        transmit_ps: int,
        cast: str = "unicast",
    ) -> tuple[Stream, ...]:
        """Return streams at a rate.

        Parameters
        ----------
        pairs
            Each sender with its receivers; with a `cast` other than unicast, each frame goes to all
            of them.
        octets
            Length of frames.
        load
            Frames/s of each sender, shared by its streams.
        transmit_ps
            Duration of the transmission, in ps.

        """
        count = self.settings.streams
        ends = [
            (sender, (tuple(receivers),) if cast != "unicast" else tuple((r,) for r in receivers))
            for sender, receivers in pairs
        ]
        found = []
        for sender, groups in ends:
            every = [group for group in groups for _ in range(count)]
            period_ps = self.period_ps(sender, octets, load) * len(every)
            for at, group in enumerate(every):
                phase_ps = at * period_ps // len(every)
                found.append(
                    Stream(
                        sender=sender,
                        receivers=group,
                        octets=octets,
                        arrivals={"regular": f"{period_ps} ps", "phase": f"{phase_ps} ps"},
                        intended=max(0, math.ceil((transmit_ps - phase_ps) / period_ps)),
                        cast=cast,
                    )
                )
        return tuple(found)

    def period_ps(self, sender: str, octets: int, load: float) -> int:
        """Return the time between frames at a rate, at least that of the line rate, in ps."""
        # A load that came from this very period must not be rounded up by a picosecond.
        return max(self.frame_ps(sender, octets), math.ceil(PS_PER_S / load * (1 - 1e-9)))

    def back_to_back(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, object]:
        """Return a network of testers without the device: each pair joined by one link."""
        table = self.document["network"]
        assert isinstance(table, Mapping), "a network file has a table `network`"
        hosts, links = [], []
        for one, other in pairs:
            link = self.link_of(one)
            links.append(
                {
                    "ends": [one, other],
                    "rate": f"{link.ps_per_octet} ps/B",
                    "preamble": f"{link.preamble_octets} B",
                    "gap": f"{link.gap_octets} B",
                }
            )
            hosts += [self._host_table(name) for name in (one, other)]
        kept = {key: table[key] for key in ("models",) if key in table}
        return {**kept, "hosts": hosts, "links": links}

    def _host_table(self, name: str) -> Mapping[str, object]:
        """Return the table of a host of its own, with the model of its group."""
        table = self.document["network"]
        assert isinstance(table, Mapping), "a network file has a table `network`"
        for of in table["hosts"]:
            members = [of["name"]]
            if "count" in of:
                members = [f"{of['name']}{at}" for at in range(1, of["count"] + 1)]
            if name in members:
                return {"name": name, **({"model": of["model"]} if "model" in of else {})}
        raise AssertionError("a tester is a host of the file")

    @property
    def network(self) -> Mapping[str, object]:
        """Return the table of the network; in a simulation, its switches know all addresses.

        Documents have frames sent before each trial from which a device learns them. In a
        measurement, exchanges between the hosts' clocks are such frames.
        """
        table = self.document["network"]
        assert isinstance(table, dict), "a network file has a table `network`"
        return table if self.settings.is_live else informed(table)

    def experiment(self, stimulus: Stimulus) -> Experiment:
        """Return the experiment of a stimulus; InputError if the network does not permit it."""
        return of_document(self._document(stimulus), self.path)

    def trial(self, stimulus: Stimulus, number: int, point: Mapping[str, str]) -> Trial:
        """Return the trial of a stimulus."""
        (trial,) = plan.expand([self.experiment(stimulus)]).trials
        return renumbered(trial, number, point=point)

    def _document(self, stimulus: Stimulus) -> dict[str, object]:
        settings = self.settings
        drain_s = settings.drain_s if stimulus.drain_s is None else stimulus.drain_s
        kept = {key: value for key, value in self.document.items() if key not in _REPLACED}
        flows = list(stimulus.flows) or [
            {
                "name": f"stream{at}",
                "from": stream.sender,
                "to": list(stream.receivers) if len(stream.receivers) > 1 else stream.receivers[0],
                "frames": f"{stream.octets} B",
                "arrivals": stream.arrivals,
                "port": settings.port,
                **({"cast": stream.cast} if stream.cast != "unicast" else {}),
            }
            for at, stream in enumerate(stimulus.streams)
        ]
        return {
            **kept,
            "network": self.network if stimulus.network is None else stimulus.network,
            "series": "benchmark",
            "flows": flows,
            "phases": {
                "settle": _time_text(settings.settle_s),
                "transmit": f"{stimulus.transmit_ps} ps",
                "measure": "all",
                "drain": _time_text(drain_s),
            },
            "run": {
                "engines": [LIVE if settings.is_live else SIMULATION],
                "batches": stimulus.batches,
            },
        }

    def text(self) -> str:
        """Return the network as text, the same for equal networks."""
        return toml.document({k: v for k, v in self.document.items() if k not in _REPLACED})


def _time_text(seconds: float) -> str:
    return f"{round(seconds * PS_PER_S)} ps"


def network_of(
    path: Path, *, testers: Sequence[str], settings: Settings, seed: int | None = None
) -> Bench:
    """Read the file of a network with the device under test.

    Parameters
    ----------
    path
        Experiment file; its flows are replaced by those of the suite.
    testers
        Hosts that send and receive; all of the file if empty.
    settings
        Of the suite.
    seed
        In place of that of the file.

    Raises
    ------
    InputError
        If the file has faults, or fewer than two testers.

    """
    file = str(path)
    document = toml.parsed(toml.text_of(path, file=file), file=file)
    if seed is not None:
        document["seed"] = seed
    return bench_of(document, path, testers=testers, settings=settings)


def bench_of(
    document: Mapping[str, object], path: Path, *, testers: Sequence[str], settings: Settings
) -> Bench:
    """Return the bench of a network file's tables; as `network_of`."""
    file = str(path)
    why = "the device under test between testers (docs/reference/networks.md)"
    wired = network_in(required_table(dict(document), "network", file=file, why=why), file=file)
    hosts = [name for name, kind in wired.kinds.items() if kind == "host"]
    for name in testers:
        if name not in hosts:
            allowed = choices(name, hosts, f"expected hosts of {file}: ")
            raise InputError.of_argument("testers", shown(name), allowed)
    chosen = tuple(dict.fromkeys(testers)) or tuple(hosts)
    if len(chosen) < 2:
        allowed = "expected at least two hosts that send and receive"
        raise InputError.of(file, "network.hosts", ", ".join(chosen) or "(none)", allowed)
    bench = Bench(document, path, chosen, settings)
    probe = Stream(
        sender=chosen[0],
        receivers=(chosen[1],),
        octets=FRAMES[-1],
        arrivals={"regular": "1 s"},
        intended=1,
    )
    first = bench.trial(Stimulus(label={}, transmit_ps=PS_PER_S, streams=(probe,)), 0, {})
    scenario = first.scenario
    return Bench(document, path, chosen, settings, scenario.links, scenario.nodes)


def informed(network: Tables) -> Tables:
    """Return the table of a network whose switches know all addresses from the start."""
    switches = [{**switch, "learning": "known"} for switch in network.get("switches", ())]
    return {**network, "switches": switches} if switches else network


def hosts_of(nodes: Iterable[Node]) -> Mapping[str, Host]:
    """Return the hosts among some nodes, by name."""
    return {node.name: node.kind.host for node in nodes if node.kind.host is not None}
