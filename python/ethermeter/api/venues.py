"""Where is measured: hosts of a laboratory, a testbed, or the loopback interface."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ethermeter.faults import InputError, choices

if TYPE_CHECKING:
    from ethermeter.api.experiments import Loaded
    from ethermeter.engines.live import Captures, Hosts, Local

IPS = (4, 6)
SHORTER = (
    "what is simulated has headers of IPv4: of one length of data, frames are 20 octets shorter"
    " than those measured"
)
"""What to know of a simulation beside a measurement over IPv6."""
KINDS = ("testbed", "testbed,relay", "testbed,plain", "testbed,plain,N", "loopback")
"""What stands for no file of hosts."""
FEWEST_HOSTS, MOST_HOSTS = 2, 64


@dataclass(frozen=True, slots=True)
class Venue:
    """Where is measured, as a person writes it.

    Parameters
    ----------
    kind
        Hosts of a file, hosts made on this machine, or its loopback interface.
    file
        The file of hosts.
    wires
        Of a testbed: what gives links their rate; None if it is not said.
    is_plain
        Of a testbed: all hosts at one switch, as fast as the machine allows.
    host_count
        Of a plain testbed: its hosts, in place of those that the experiment names.

    """

    kind: Literal["hosts", "testbed", "loopback"]
    file: Path | None = None
    wires: Literal["shaped", "relay"] | None = None
    is_plain: bool = False
    host_count: int | None = None


def venue_of(text: str) -> Venue:
    """Read where is measured: a file of hosts, or one of `KINDS`.

    Raises
    ------
    InputError
        If it is none of them.

    """
    kind, *words = (word.strip() for word in text.split(","))
    if kind == "loopback" and not words:
        return Venue("loopback")
    if kind != "testbed":
        if not Path(text).exists() and Path(text).suffix == "":
            raise _refusal(text)
        return Venue("hosts", Path(text))
    counts = [word for word in words if word.isascii() and word.isdigit()]
    kinds = [word for word in words if word not in counts]
    is_known = set(kinds) <= {"relay", "shaped", "plain"} and len(kinds) < 2 and len(counts) < 2
    if not is_known or (counts and kinds != ["plain"]):
        raise _refusal(text)
    count = int(counts[0]) if counts else None
    if count is not None and not FEWEST_HOSTS <= count <= MOST_HOSTS:
        allowed = f"from {FEWEST_HOSTS} to {MOST_HOSTS} hosts"
        raise InputError.of_argument("on", text, allowed)
    return Venue(
        "testbed",
        wires="relay" if "relay" in kinds else "shaped" if "shaped" in kinds else None,
        is_plain="plain" in kinds,
        host_count=count,
    )


def _refusal(text: str) -> InputError:
    return InputError.of_argument("on", text, choices(text, KINDS, "a file of hosts, or one of "))


def wires_for(loaded: "Loaded") -> Literal["shaped", "relay"]:
    """Return what wires a testbed needs: only relayed ones have traffic classes."""
    from ethermeter.nodes import classes_of

    trials = loaded.plan().trials
    has_classes = any(classes_of(node) for trial in trials for node in trial.scenario.nodes)
    return "relay" if has_classes else "shaped"


def place_of(
    venue: Venue,
    *,
    wires: Literal["shaped", "relay"] = "shaped",
    captures: "Captures | None" = None,
    ip: int = 4,
) -> "Hosts | Local":
    """Return where is measured; `wires` hold unless the venue has others.

    Raises
    ------
    InputError
        If the file of hosts cannot be read, programs that make a testbed are missing, or IPv6 is
        wanted where addresses are not chosen.

    """
    from ethermeter import hosts_file
    from ethermeter.engines.live import Hosts, Local

    if ip not in IPS:
        raise InputError.of_argument("ip", str(ip), "4 or 6")
    if ip != IPS[0] and venue.kind != "testbed":
        why = (
            "the file of hosts says each host's address"
            if venue.kind == "hosts"
            else "the loopback interface has one address of IPv6, ::1, for all hosts"
        )
        raise InputError.of_argument("ip", str(ip), f"4 except on a testbed: {why}")
    if venue.file is not None:
        return Hosts(hosts_file.read(venue.file).laboratory())
    if venue.kind == "loopback":
        return Local("loopback", captures=captures)
    from ethermeter.testbed.commands import require

    require("ip", "tc", "ethtool")
    kind: Literal["plain", "testbed"] = "plain" if venue.is_plain else "testbed"
    return Local(kind, venue.wires or wires, captures, ip, venue.host_count or 0)
