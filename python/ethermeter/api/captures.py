"""Captures of a measurement: what is recorded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ethermeter.faults import InputError

if TYPE_CHECKING:
    from ethermeter.engines.live import Captures


def captures_of(
    *,
    capture: bool,
    capture_at: Sequence[str],
    capture_octets: int | None,
    capture_size: int | None,
    is_local: bool,
) -> "Captures | None":
    """Return what is recorded of a measurement; None if nothing.

    Parameters
    ----------
    capture, capture_at
        Whether all hosts record, or which do.
    capture_octets
        Octets that are kept of each frame.
    capture_size
        Largest size of a capture [MB].
    is_local
        Whether agents run on this machine, where captures are taken.

    Raises
    ------
    InputError
        If these contradict each other, or recording is not permitted.

    """
    from ethermeter.engines.live import MOST_OCTETS, SNAP_OCTETS, Captures
    from ethermeter.engines.live.recording import check_allowed

    if not capture and not capture_at:
        sizes = {"capture_octets": capture_octets, "capture_size": capture_size}
        given = {name: value for name, value in sizes.items() if value is not None}
        if given:
            allowed = "expected with capture, or with hosts to record at, only"
            raise InputError(
                fault
                for name, value in given.items()
                for fault in InputError.of_argument(name, str(value), allowed).faults
            )
        return None
    if not is_local:
        allowed = (
            "expected on a testbed or the loopback interface: a capture is taken where the agent "
            "runs, and agents take none; record there while it is measured (dumpcap -i INTERFACE "
            "-s 128 -w FILE.pcapng, or tcpdump), then ethermeter explain FILE.pcapng"
        )
        raise InputError.of_argument("capture", "given with a file of hosts", allowed)
    check_allowed()
    return Captures(
        tuple(capture_at),
        capture_octets or SNAP_OCTETS,
        MOST_OCTETS if capture_size is None else capture_size * 1_000_000,
    )
