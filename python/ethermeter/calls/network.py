"""Calls between hosts of a network, beside the traffic of its file: the question, and the
experiment that answers it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethermeter import plan
from ethermeter.analysis.roofline import links_between
from ethermeter.calls.quality import Heard, of_flows
from ethermeter.calls.question import PS_PER_S, SETTLE_S, arrivals_of, time_text
from ethermeter.experiment import toml
from ethermeter.experiment.document import validated
from ethermeter.experiment.flows import MOST_FLOWS
from ethermeter.experiment.network import Network, expanded_network
from ethermeter.experiment.reading import of_document
from ethermeter.experiment.segment import standards
from ethermeter.faults import Fault, InputError, shown
from ethermeter.plan import Trial
from ethermeter.store.rows import TrialRows
from ethermeter.voice import Medium, TalkPattern, packets
from ethermeter.voice.packets import Packets

CALLS_THERE, CALLS_BACK = "call{}", "call{}-back"
"""Names of the flows of a call."""
DRAIN_S = 1.0
"""Time after the last packet was sent in which packets still arrive [s]; later ones are lost."""


@dataclass(frozen=True, slots=True)
class NetworkQuestion:
    """Which calls, between which hosts of a network.

    Calls go round the pairs of hosts: the first between the first caller and the first called, and
    so on. They are added to the flows of the file. A number of calls is judged by its worst pair
    and direction, each rated by all of its packets together.

    Parameters
    ----------
    document
        An experiment file of a network, as tables; nothing of it may be varied.
    path
        The file, for faults and for other files that it names.
    pairs
        Caller and called host of each pair.
    codec, packet_s, ip, bit_rate_bps, pattern, duration_s, replications, seed
        As of `Question`.
    talkers
        Directions of a call: 2, or 1 for streams from callers to called hosts.

    """

    document: Mapping[str, Any]
    path: Path
    pairs: tuple[tuple[str, str], ...]
    codec: str
    packet_s: float
    ip: str = "ipv4"
    bit_rate_bps: float | None = None
    pattern: TalkPattern | None = None
    talkers: int = 2
    duration_s: float = 20.0
    replications: int = 3
    seed: int = 1

    @property
    def packets(self) -> Packets:
        """What one direction puts on an Ethernet link while its talker talks; its loads are of 10
        Mb/s.

        Raises
        ------
        ArgumentError
            If the codec cannot be cut like this, or a packet does not fit into a frame.

        """
        medium = replace(Medium.of("ieee-10", standards()["ieee-10"]), name="network")
        return packets(
            self.codec,
            packet_s=self.packet_s,
            medium=medium,
            ip=self.ip,
            bit_rate_bps=self.bit_rate_bps,
        )

    @property
    def activity(self) -> float:
        """Share of time in which a talker sends."""
        return 1.0 if self.pattern is None else self.pattern.activity

    @property
    def most(self) -> int:
        """Calls that the bits of the links, or the number of flows of an experiment, leave room
        for.
        """
        links = self.network["links"]
        bounds = []
        for caller, called in self.pairs:
            for _, link, _ in links_between(links, caller, called):
                octets = (
                    int(self.packets.frame_octets)
                    + link.get("preamble_octets", 8)
                    + link.get("gap_octets", 12)
                )
                directions = self.talkers if link.get("half_duplex") else 1
                load = (
                    octets
                    * link["ps_per_octet"]
                    * directions
                    * self.activity
                    / (self.packet_s * PS_PER_S)
                )
                bounds.append(int(1 / load))
        calls = len(self.pairs) * (min(bounds) + 1) - 1
        return max(
            1, min(calls, (MOST_FLOWS - len(self.document.get("flows", ()))) // self.talkers)
        )

    @property
    def network(self) -> Mapping[str, Any]:
        """The network of the file as engines read it."""
        scenario: Mapping[str, Any] = self.trials(1)[0].scenario
        return dict(scenario["network"])

    def document_of(self, calls: int) -> dict[str, Any]:
        """Return the experiment file with so many calls, as a tree."""
        period = time_text(self.packet_s)
        directions = "both ways" if self.talkers == 2 else "one way"
        shape = {
            "port": "udp",
            "frames": f"{int(self.packets.frame_octets)} B",
            "arrivals": arrivals_of(period, self.pattern),
        }
        flows = list(self.document.get("flows", ()))
        for call in range(calls):
            caller, called = self.pairs[call % len(self.pairs)]
            flows.append(
                {"name": CALLS_THERE.format(call + 1), "from": caller, "to": called, **shape}
            )
            if self.talkers == 2:
                flows.append(
                    {"name": CALLS_BACK.format(call + 1), "from": called, "to": caller, **shape}
                )
        kept = {
            key: value
            for key, value in self.document.items()
            if key not in ("vary", "sources", "theory", "notes")
        }
        return {
            **kept,
            "title": f"{calls} calls of {self.codec}, {1e3 * self.packet_s:g} ms a packet, {directions}",
            "seed": self.seed,
            "series": "calls",
            "flows": flows,
            "phases": {
                "transmit": time_text(SETTLE_S + self.duration_s),
                "measure": f"last {time_text(self.duration_s)}",
                "drain": time_text(DRAIN_S),
            },
            "run": {"replications": self.replications, "batches": 10},
        }

    def text(self, calls: int) -> str:
        """Return the experiment file with so many calls."""
        return toml.document(self.document_of(calls))

    def trials(self, calls: int) -> tuple[Trial, ...]:
        """Return the trials that answer for so many calls.

        Raises
        ------
        InputError
            If the network or its flows have faults.

        """
        return tuple(plan.expand([of_document(self.document_of(calls), self.path)]).trials)

    def heard(self, rows: TrialRows, trial: Trial, calls: int) -> tuple[Heard, ...]:
        """Return what arrived in each direction between each pair of hosts."""
        flows = trial.scenario["flows"]
        members: dict[tuple[str, str], list[int]] = {}
        for number in range(len(flows) - calls * self.talkers, len(flows)):
            members.setdefault((flows[number]["from"], flows[number]["to"][0]), []).append(number)
        return tuple(of_flows(rows, trial.scenario, numbers) for numbers in members.values())

    @property
    def subject(self) -> str:
        """What an answer is about: the hosts, the links between them, and the other traffic."""
        links = self.network["links"]
        paths = []
        for caller, called in self.pairs[:MOST_PATHS]:
            steps = [
                f"{before}–{node} {_rate_text(link)} {_duplex(link)}"
                for before, link, node in links_between(links, caller, called)
            ]
            paths.append(f"{caller} to {called} over {', '.join(steps)}")
        more = len(self.pairs) - MOST_PATHS
        others = len(self.trials(1)[0].scenario["flows"]) - self.talkers
        beside = (
            f"beside {others} other flow{'s' if others > 1 else ''}"
            if others
            else "without other traffic"
        )
        return (
            f"{'; '.join(paths)}{f' and {more} more pairs of hosts' if more > 0 else ''}; {beside}"
        )


MOST_PATHS = 3
"""Pairs of hosts whose paths are written out."""


def _rate_text(link: Mapping[str, Any]) -> str:
    mbps = 8e6 / link["ps_per_octet"]
    return f"{mbps / 1000:g} Gb/s" if mbps >= 1000 else f"{mbps:g} Mb/s"


def _duplex(link: Mapping[str, Any]) -> str:
    return "half duplex" if link.get("half_duplex") else "full duplex"


def pairs_of(
    document: Mapping[str, Any], path: Path, *, callers: str, called: str
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of hosts between which calls go: each host of the one with one of the other,
    in rotation.

    Parameters
    ----------
    document, path
        An experiment file of a network, as tables, and the file.
    callers, called
        Names of hosts, or of groups of hosts.

    Raises
    ------
    InputError
        If a name is not that of a host or of a group, or no two different hosts can be paired, or
        no links lead from one to the other.

    """
    wired = expanded_network(
        validated(Network, document["network"], file=str(path), within=("network",)), file=str(path)
    )
    hosts = [node["name"] for node in wired.nodes if "host" in node["kind"]]
    sides = []
    for option, name in (("--from", callers), ("--to", called)):
        members = wired.members.get(name) or ([name] if name in hosts else [])
        if not members:
            known = ", ".join(dict.fromkeys([*wired.members, *hosts]))
            raise InputError(
                [
                    Fault(
                        "command line",
                        option,
                        shown(name),
                        f"expected a host or a group of hosts of {path}: {known}",
                    )
                ]
            )
        sides.append(members)
    first, second = sides
    if callers == called:
        second = [*first[1:], first[0]]
    pairs = tuple(
        (first[at % len(first)], second[at % len(second)])
        for at in range(max(len(first), len(second)))
    )
    for one, other in pairs:
        if one == other:
            raise InputError(
                [
                    Fault(
                        "command line",
                        "--to",
                        shown(called),
                        f"expected another host than {one}, which --from gives",
                    )
                ]
            )
        if wired.tree[one] != wired.tree[other]:
            raise InputError(
                [
                    Fault(
                        "command line",
                        "--to",
                        shown(called),
                        f"expected a host to which links lead from {one}",
                    )
                ]
            )
    return pairs
