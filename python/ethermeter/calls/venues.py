"""Venues of calls: a segment that carries nothing else, or hosts of a network, with its traffic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ethermeter.analysis.roofline import links_between
from ethermeter.calls.quality import Heard, heard_by_stations, heard_of_flows
from ethermeter.calls.question import PS_PER_S, Facts, Question, time_text
from ethermeter.experiment.flows import MOST_FLOWS
from ethermeter.experiment.network import network_in
from ethermeter.experiment.segment import standards
from ethermeter.faults import InputError, shown
from ethermeter.results.query import Results
from ethermeter.scenario import Link
from ethermeter.trial import Trial
from ethermeter.voice import Medium

_SIZES = ("length", "round_trip", "star", "delays")
"""Keys of a segment, one of which has its size."""


@dataclass(frozen=True, slots=True)
class OnSegment:
    """A shared segment on which every talker is a station."""

    table: Mapping[str, object]  # The table `segment` of an experiment file
    path: Path = Path("calls.toml")  # The file, for faults

    @property
    def medium(self) -> Medium:
        """The segment's standard."""
        return Medium.of(self._standard, standards()[self._standard])

    @property
    def _standard(self) -> str:
        return str(self.table["standard"])

    def load_of_a_call(self, question: Question) -> float:
        """Return the share of the line rate that a call needs on the mean: preamble, frame, gap."""
        return float(question.packets.offered_load) * question.talkers * question.activity

    def most(self, question: Question) -> int:
        """Return how many calls fit by the bits of the segment and its stations."""
        stations = int(standards()[self._standard]["max_stations"])
        of_bits = int(1 / self.load_of_a_call(question))
        return max(1, min(of_bits, stations // question.talkers))

    def tables(self, question: Question, calls: int) -> Mapping[str, object]:
        """Return the segment, its stations, and when they begin."""
        stations = {
            "name": "talker",
            "count": calls * question.talkers,
            "frames": f"{int(question.packets.frame_octets)} B",
            "arrivals": question.arrivals,
        }
        return {"segment": dict(self.table), "stations": [stations]}

    def phases(self, question: Question) -> Mapping[str, str]:
        """Return the spread of the starts over a packet."""
        return {"spread": time_text(question.packet_s)}

    def heard(
        self, results: Results, trial: Trial, *, calls: int, talkers: int
    ) -> tuple[Heard, ...]:
        """Return what all stations heard together: they share one medium, so all are alike."""
        del trial, calls, talkers
        return (heard_by_stations(results),)

    def subject(self, question: Question) -> str:
        """Return medium, rate, duplex and size of the segment."""
        del question
        name = self._standard
        mbps = 1e6 / standards()[name]["bit_ps"]
        sizes = (
            f", {key.replace('_', ' ')} {self.table[key]}"
            for key in _SIZES
            if isinstance(self.table.get(key), str)
        )
        size = next(sizes, "")
        return (
            f"one shared segment of {mbps:g} Mb/s, half duplex (CSMA/CD): {name}{size}; without"
            " other traffic"
        )

    def facts(self, question: Question) -> Facts:
        """Return load of a call, and the segment."""
        return Facts(load_of_a_call=self.load_of_a_call(question), segment=dict(self.table))


CALLS_THERE, CALLS_BACK = "call{}", "call{}-back"
"""Names of the flows of a call."""
MOST_PATHS = 3
"""Pairs of hosts whose paths are written out."""
_REPLACED = ("title", "seed", "series", "phases", "run", "vary", "sources", "theory", "notes")
"""Keys of the file that the question sets anew, or that have no meaning with calls."""
DRAIN_S = 1.0
"""Time after the last packet was sent in which packets still arrive [s]; later ones are lost."""


@dataclass(frozen=True, slots=True)
class BetweenHosts:
    """Pairs of hosts of a network, between which calls are added to the flows of the file.

    Calls go round the pairs: the first between the first caller and the first called, and so on. A
    number of calls is judged by its worst pair and direction, each rated by all of its packets
    together.
    """

    # An experiment file of a network, as tables; nothing of it may be varied
    document: Mapping[str, object]
    path: Path  # The file, for faults and for other files that it names
    pairs: tuple[tuple[str, str], ...]  # Caller and called host of each pair

    @property
    def medium(self) -> Medium:
        """An Ethernet link; loads are of 10 Mb/s."""
        return replace(Medium.of("ieee-10", standards()["ieee-10"]), name="network")

    def most(self, question: Question) -> int:
        """Return how many calls fit by the bits of the links and the number of flows."""
        links = _links(question)
        frame_octets = int(question.packets.frame_octets)
        bounds = []
        for caller, called in self.pairs:
            for _, link, _ in links_between(links, caller, called):
                octets = frame_octets + link.preamble_octets + link.gap_octets
                directions = question.talkers if link.half_duplex else 1
                sent_ps = octets * link.ps_per_octet * directions * question.activity
                bounds.append(int(1 / (sent_ps / (question.packet_s * PS_PER_S))))
        calls = len(self.pairs) * (min(bounds) + 1) - 1
        flows = MOST_FLOWS - len(self._flows)
        return max(1, min(calls, flows // question.talkers))

    def tables(self, question: Question, calls: int) -> Mapping[str, object]:
        """Return the tables of the file with the flows of the calls, and the drain."""
        shape = {
            "port": "udp",
            "frames": f"{int(question.packets.frame_octets)} B",
            "arrivals": question.arrivals,
        }
        flows = list(self._flows)
        for call in range(calls):
            caller, called = self.pairs[call % len(self.pairs)]
            ends = ((CALLS_THERE, caller, called), (CALLS_BACK, called, caller))
            flows += [
                {"name": name.format(call + 1), "from": source, "to": sink, **shape}
                for name, source, sink in ends[: question.talkers]
            ]
        kept = {key: value for key, value in self.document.items() if key not in _REPLACED}
        return {**kept, "flows": flows}

    @property
    def _flows(self) -> list[object]:
        """Flows of the file."""
        flows = self.document.get("flows")
        return flows if isinstance(flows, list) else []

    def phases(self, question: Question) -> Mapping[str, str]:
        """Return the drain."""
        del question
        return {"drain": time_text(DRAIN_S)}

    def heard(
        self, results: Results, trial: Trial, *, calls: int, talkers: int
    ) -> tuple[Heard, ...]:
        """Return what arrived in each direction between each pair of hosts."""
        flows = trial.scenario.flows
        members: dict[tuple[str, str], list[int]] = {}
        for number in range(len(flows) - calls * talkers, len(flows)):
            members.setdefault((flows[number].from_, flows[number].to[0]), []).append(number)
        return tuple(
            heard_of_flows(results, trial.scenario, numbers) for numbers in members.values()
        )

    def subject(self, question: Question) -> str:
        """Return the hosts, the links between them, and the other traffic."""
        links = _links(question)
        paths = []
        for caller, called in self.pairs[:MOST_PATHS]:
            steps = [
                f"{before}–{node} {_text(link)}"
                for before, link, node in links_between(links, caller, called)
            ]
            paths.append(f"{caller} to {called} over {', '.join(steps)}")
        more = len(self.pairs) - MOST_PATHS
        others = len(question.trials(1)[0].scenario.flows) - question.talkers
        plural = "s" if others > 1 else ""
        beside = f"beside {others} other flow{plural}" if others else "without other traffic"
        further = f" and {more} more pairs of hosts" if more > 0 else ""
        return f"{'; '.join(paths)}{further}; {beside}"

    def facts(self, question: Question) -> Facts:
        """Return the file and the pairs of hosts."""
        del question
        return Facts(network=str(self.path), pairs=self.pairs)


def _links(question: Question) -> Sequence[Link]:
    """Return the links of the network as engines read it."""
    return question.trials(1)[0].scenario.links


def _text(link: Link) -> str:
    mbps = 8e6 / link.ps_per_octet
    rate = f"{mbps / 1000:g} Gb/s" if mbps >= 1000 else f"{mbps:g} Mb/s"
    return f"{rate} {'half duplex' if link.half_duplex else 'full duplex'}"


def pairs_of(
    document: Mapping[str, object], path: Path, *, callers: str, called: str
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of hosts between which calls go, by names of hosts or of groups of hosts.

    Each host of the one side is paired with one of the other, in rotation. `document` has the
    tables of the experiment file of the network.

    Raises
    ------
    InputError
        If a name is not that of a host or of a group, or no two different hosts can be paired, or
        no links lead from one to the other.

    """
    wired = network_in(document["network"], file=str(path))
    hosts = [name for name, kind in wired.kinds.items() if kind == "host"]
    sides = []
    for side, name in (("source", callers), ("to", called)):
        members = wired.members.get(name) or ([name] if name in hosts else [])
        if not members:
            known = ", ".join(dict.fromkeys([*wired.members, *hosts]))
            allowed = f"expected a host or a group of hosts of {path}: {known}"
            raise InputError.of_argument(side, shown(name), allowed)
        sides.append(members)
    first, second = sides
    if callers == called:
        second = [*first[1:], first[0]]
    pairs = tuple(
        (first[at % len(first)], second[at % len(second)])
        for at in range(max(len(first), len(second)))
    )
    for one, other in pairs:
        allowed = (
            f"expected another host than {one}, which calls"
            if one == other
            else f"expected a host to which links lead from {one}"
        )
        if one == other or wired.tree[one] != wired.tree[other]:
            raise InputError.of_argument("to", shown(called), allowed)
    return pairs
