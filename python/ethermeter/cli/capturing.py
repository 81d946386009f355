"""Captures of a measurement: what is recorded, by options, and what was."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter.cli.guard import say
from ethermeter.cli.output import print_text

if TYPE_CHECKING:
    from ethermeter.engines.live import Captures


def captures_of(
    *,
    capture: bool,
    at: Sequence[str],
    octets: int | None,
    megabytes: int | None,
    hosts: Path | None,
) -> "Captures | None":
    """Return what is recorded of a measurement, by its options; None if nothing.

    Raises InputError if they contradict each other or `hosts`, or recording is not permitted.
    """
    from ethermeter.engines.live import MOST_OCTETS, SNAP_OCTETS, Captures
    from ethermeter.engines.live.recording import check_allowed
    from ethermeter.faults import Fault, InputError

    if not capture and not at:
        for option, value in (("--capture-octets", octets), ("--capture-size", megabytes)):
            if value is not None:
                raise InputError(
                    [
                        Fault(
                            "command line",
                            option,
                            str(value),
                            "expected with --capture or --capture-at only",
                        )
                    ]
                )
        return None
    if hosts is not None:
        allowed = (
            "expected with --testbed or --loopback: a capture is taken where the agent runs, and "
            "agents take none; record there "
            "while it is measured (dumpcap -i INTERFACE -s 128 -w FILE.pcapng, or tcpdump), then "
            "ethermeter explain FILE.pcapng"
        )
        raise InputError([Fault("command line", "--capture", "given with --hosts", allowed)])
    check_allowed()
    return Captures(
        tuple(at),
        octets or SNAP_OCTETS,
        MOST_OCTETS if megabytes is None else megabytes * 1_000_000,
    )


def tell_captures(run: Path, *, as_json: bool) -> list[dict[str, object]]:
    """Print where the captures of a run are and whether they are complete, and return them."""
    from ethermeter.store.captures import read

    found = read(run)
    if not found:
        say(f"{run}: has no captures; --force measures it again, with captures")
        return []
    if not as_json:
        size_mb = sum(each.octets for each in found) / 1e6
        print_text(
            f"{len(found)} captures, {size_mb:.1f} MB, {sum(each.dropped for each in found)} "
            "frames dropped"
        )
        print_text(f"to explain one: ethermeter explain {shlex.quote(str(run / found[0].file))}")
    if beyond := sum(each.beyond_size for each in found):
        say(
            f"ethermeter: {beyond} frames arrived after a capture had reached its largest size and "
            "are counted only; --capture-size allows more"
        )
    return [asdict(each) for each in found]
