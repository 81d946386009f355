"""Where is measured: hosts of a laboratory, a testbed, or the loopback interface."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ethermeter.engines.live import Captures, Hosts, Local

IPS = (4, 6)
SHORTER = (
    "what is simulated has headers of IPv4: of one length of data, frames are 20 octets shorter"
    " than those measured"
)
"""What to know of a simulation beside a measurement over IPv6."""


def testbed_of(
    count: int | None,
    *,
    testbed: bool,
    plain: bool,
    loopback: bool,
    hosts: Path | None,
    study: str | None,
) -> tuple[bool, bool]:
    """Return whether a testbed is wanted, and whether unshaped; `--testbed-hosts` implies both."""
    from ethermeter.faults import InputError

    if count is None:
        return testbed, plain
    others = [
        ("--testbed", testbed),
        ("--plain", plain),
        ("--loopback", loopback),
        ("--hosts", hosts is not None),
        ("--study", bool(study)),
    ]
    if given := [name for name, there in others if there]:
        allowed = "expected without them: it is a testbed of its own, for one experiment"
        raise InputError.of(
            "command line", "--testbed-hosts", f"given with {' '.join(given)}", allowed
        )
    return True, True


def place_of(
    hosts: Path | None,
    *,
    testbed: bool,
    plain: bool,
    loopback: bool,
    wires: Literal["shaped", "relay"],
    captures: "Captures | None",
    ip: int,
    least: int,
) -> "Hosts | Local":
    """Return where is measured: hosts, a testbed or the loopback interface.

    Raises InputError unless exactly one of them is wanted, with options that go with it.
    """
    from ethermeter import hosts_file
    from ethermeter.engines.live import Hosts, Local
    from ethermeter.faults import InputError

    if (hosts is not None) + testbed + loopback != 1:
        given = [
            name
            for name, there in (
                ("--hosts", hosts is not None),
                ("--testbed", testbed),
                ("--loopback", loopback),
            )
            if there
        ]
        allowed = "expected one of --hosts FILE, --testbed and --loopback: where to measure"
        raise InputError.of("command line", "measure", " ".join(given) or "(none of them)", allowed)
    if plain and not testbed:
        raise InputError.of("command line", "--plain", "given", "expected with --testbed only")
    if ip not in IPS:
        raise InputError.of("command line", "--ip", str(ip), "expected 4 or 6")
    if ip != IPS[0] and not testbed:
        why = (
            "its file says each host's address"
            if hosts is not None
            else "the loopback interface has one address of IPv6, ::1, for all hosts"
        )
        raise InputError.of("command line", "--ip", str(ip), f"expected with --testbed only: {why}")
    if hosts is not None:
        return Hosts(hosts_file.read(hosts).laboratory())
    if testbed:
        from ethermeter.testbed.commands import require

        require("ip", "tc", "ethtool")
        return Local("plain" if plain else "testbed", wires, captures, ip, least)
    return Local("loopback", captures=captures)
