"""A capture file, explained."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ethermeter._core import explain_capture
from ethermeter.captures.backoff import StationBackoff, backoffs
from ethermeter.captures.connection import Connection
from ethermeter.captures.counts import NS, FileCounts, FlowCounts
from ethermeter.captures.paths import Path as NetworkPath
from ethermeter.captures.paths import control_connections, shared_links, summaries
from ethermeter.captures.text import rate_text
from ethermeter.faults import InputError

STANDARD_INPUT = Path("-")
"""Name of standard input as a file."""
_LINKS = (
    "Ethernet, IP, Linux cooked capture, BSD loopback, PPP, PPPoE, Cisco HDLC, frame relay, MPLS, "
    "802.2, FDDI or token ring"
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Connections and flows of a capture file.

    `name`: the file as the user named it. `of`: counts of the core.
    """

    name: str
    of: FileCounts

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Connections, the one with most payload first."""
        is_lossy = bool(self.dropped)
        alone = [Connection(each, is_lossy=is_lossy) for each in self.of.connections]
        control = control_connections(alone)
        beside = [replace(each, is_control=each.number in control) for each in alone]
        links = shared_links(self.of.paths, beside)
        return tuple(replace(each, shared_link=links.get(each.number)) for each in beside)

    @property
    def paths(self) -> list[NetworkPath]:
        """Paths of two connections or more, the one with most payload first."""
        return summaries(self.connections)

    @property
    def flows(self) -> tuple[FlowCounts, ...]:
        """Flows of UDP and raw frames, the one with most payload first."""
        return tuple(self.of.flows)

    @property
    def duration_s(self) -> float:
        """From the first packet to the last, in s."""
        first, last = self.of.first_ns, self.of.last_ns
        return 0.0 if first is None or last is None else (last - first) * NS

    @property
    def load(self) -> str | None:
        """The mean load, that of the busiest second and that of the busiest minute, in words.

        Shares of the link's rate where the file has it, as pcapng may; else rates. Octets as
        captured: without preamble and gap, and mostly without check sequence. None of a capture
        shorter than a second.
        """
        of = self.of
        spans = ((of.busiest_second_octets, 1, "1 s"), (of.busiest_minute_octets, 60, "1 min"))
        peaks = [
            f"{self._load_text(octets * 8 / seconds)} over {name}"
            for octets, seconds, name in spans
            if octets is not None
        ]
        if not peaks:
            return None
        mean = self._load_text(of.wire_octets * 8 / self.duration_s)
        link = "" if of.link_bps is None else f" of a link of {rate_text(of.link_bps)}"
        return f"load{link}: {mean} over all {self.duration_s:.4g} s, at most {', '.join(peaks)}"

    def _load_text(self, bps: float) -> str:
        link_bps = self.of.link_bps
        return rate_text(bps) if link_bps is None else f"{100 * bps / link_bps:.3g}%"

    @property
    def backoffs(self) -> list[StationBackoff]:
        """The backoff of each station, if it is the capture of an emulated segment."""
        segment = self.of.segment
        return [] if segment is None else backoffs(segment, is_complete=not self.dropped)

    @property
    def dropped(self) -> int | None:
        """Packets that the capture itself dropped; None if the file does not report them."""
        dropped = self.of.dropped
        counts = [count for count in (dropped.by_interface, dropped.by_system) if count is not None]
        return sum(counts) if counts else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Defects of the file in spite of which it is explained, a line each."""
        of = self.of
        found = []
        if of.ended_by is not None:
            found.append(f"{of.ended_by}; these are explained")
        if self.dropped:
            found.append(
                f"the capture itself dropped {self.dropped} packets: holes, and octets that were "
                "never captured, may be these, not what "
                "the network lost"
            )
        if of.timeless:
            found.append(
                f"{of.timeless} packets have no time; each is taken as captured with the one "
                "before it"
            )
        if of.backward:
            found.append(
                f"{of.backward} packets are earlier than one before them; delays across them "
                "are taken as 0"
            )
        if of.kinds["unread"]:
            found.append(
                f"{of.kinds['unread']} packets are of link type {of.unread_link} and not "
                f"read; expected {_LINKS}"
            )
        if of.encapsulations:
            which = ", ".join(f"{count} in {name}" for name, count in of.encapsulations.items())
            found.append(
                f"{of.kinds['encapsulated']} packets are in encapsulations that are not read: "
                f"{which}"
            )
        if of.kinds["copied"]:
            found.append(
                f"{of.kinds['copied']} packets are in the capture once more, as from two "
                "interfaces or a mirror port: each counts once"
            )
        if of.incomplete:
            found.append(
                f"{of.incomplete} IP packets lack fragments in the capture: they count nowhere"
            )
        for name, sums in (("connections", of.connection_sums), ("flows", of.flow_sums)):
            if sums.evicted:
                found.append(
                    f"{sums.evicted} {name} were let go before their end, since too many went "
                    "on at the same time"
                )
            if sums.unlisted.count:
                found.append(f"{sums.unlisted.count} small {name} are in the sums only")
        return tuple(found)

    def connection(self, number: int) -> Connection:
        """Return a connection by its number.

        Raises InputError if it is not listed.
        """
        for each in self.connections:
            if each.number == number:
                return each
        most = self.of.connection_sums.count
        allowed = (
            f"the number of a connection that is listed, from 1 to {most}"
            if most
            else "nothing: the capture has no connection"
        )
        raise InputError.of_argument("connection", str(number), allowed)


def explain(path: Path, follow: Callable[[int, int], object] | None = None) -> Explanation:
    """Explain a capture file: pcap or pcapng, compressed with gzip or not.

    `path`: the file, or `STANDARD_INPUT`; of any size, since memory does not grow with it.
    `follow`: called now and then with octets read and octets of the file, 0 of standard input.
    Returns the explanation. A file that ends within a packet is explained up to there, with a
    warning.
    Raises InputError if it cannot be read, is no capture, has no packet, is corrupt, or holds
    nothing but packets of a link that is not read.
    """
    is_standard = path == STANDARD_INPUT
    name = "standard input" if is_standard else str(path)
    try:
        if is_standard and os.isatty(0):
            raise InputError.of(name, "file", "a terminal", "a capture, pcap or pcapng")
        if not is_standard and not path.is_file():
            raise InputError.of(
                name,
                "file",
                "not a file" if path.exists() else "not there",
                "a capture file, pcap or pcapng",
            )
        if not is_standard and path.stat().st_size == 0:
            raise InputError.of(name, "file", "empty", "a capture file, pcap or pcapng")
        text = explain_capture(None if is_standard else os.fspath(path), follow)
    except OSError as error:
        raise InputError.of(
            name, "file", error.strerror or str(error), "a file that can be read"
        ) from None
    except InputError:
        raise
    except ValueError as error:
        what, _, allowed = str(error).partition("; expected ")
        raise InputError.of(
            name,
            "file",
            what,
            f"expected {allowed}" if allowed else "a capture file, pcap or pcapng",
        ) from None
    of = msgspec.json.decode(text, type=FileCounts)
    if of.ended_by is not None and not of.is_truncated:
        what, _, allowed = of.ended_by.partition("; expected ")
        raise InputError.of(
            name, "file", what, f"expected {allowed}" if allowed else "a file that can be read"
        )
    if not of.packets:
        raise InputError.of(name, "packets", "0", of.ended_by or "at least one packet")
    if of.kinds["unread"] == of.packets:
        raise InputError.of(name, "link type", str(of.unread_link), _LINKS)
    return Explanation(name, of)
