"""The roofline of a transfer: what each stage of its path would allow if it were alone."""

from collections.abc import Sequence

import numpy as np

from ethermeter.analysis.bottleneck import STAGES, Outcome
from ethermeter.analysis.roofline import DATA, Roofline, Stage
from ethermeter.bottleneck.setup import Setup
from ethermeter.ceilings.constants import FRAME_OCTETS, HEADERS_OCTETS, data_share
from ethermeter.results.interval import Estimate, exact, student

_IP_TCP_OCTETS = 20 + 20
"""Headers of IPv4 and TCP without options; those of TCP are in the segment's own length."""


def roofline(title: str, setup: Setup, unchanged: Sequence[Outcome]) -> Roofline:
    """Return the ceilings along the path of a transfer, and what was achieved.

    `title`: what path. `setup`: the transfer. `unchanged`: outcomes of the unchanged transfer, at
    least one.
    """
    rates = np.asarray([outcome.throughput_bps for outcome in unchanged])
    return Roofline(title, DATA, _ceilings(setup, unchanged), student(rates))


def _ceilings(setup: Setup, unchanged: Sequence[Outcome]) -> tuple[Stage, ...]:
    """Return what each stage would allow if it were alone, in bit/s of the application's data."""
    stages: list[Stage] = []

    def add(name: str, ceiling: Estimate, source: str) -> None:
        if ceiling.value > 0:
            stages.append(Stage(STAGES.get(name, name), ceiling, source))

    if setup.source_bps is not None:
        add("source", exact(float(setup.source_bps)), "as set")
    if setup.turn_around_ns:
        allowed = 8e9 * setup.block_octets * setup.connections / setup.turn_around_ns
        add(
            "turn-around",
            exact(allowed),
            f"{setup.block_octets} octets in each {setup.turn_around_ns / 1e6:g} ms",
        )
    add(
        "sender-processor",
        *_processor(
            [each.sender_processor for each in unchanged], setup.sender.processor, unchanged
        ),
    )
    # Room at the sender allows more than its octets, by how the system counts what it keeps with
    # them: no ceiling follows from it.
    round_trip_s = float(np.mean([each.round_trip_s for each in unchanged]))
    if setup.receive_octets is not None and round_trip_s > 0:
        source = (
            f"{setup.receive_octets} octets for each round trip of {round_trip_s * 1e3:.3g} ms,"
            " as TCP measured it"
        )
        add("window", exact(8 * setup.receive_octets * setup.connections / round_trip_s), source)
    frame_octets = setup.segment_octets + _IP_TCP_OCTETS + FRAME_OCTETS
    data_octets = frame_octets - FRAME_OCTETS - HEADERS_OCTETS["tcp"]
    share = data_share(frame_octets, "tcp")
    framed = f"{data_octets} octets of data in frames of {frame_octets}, with preamble and gap"
    if setup.sender_wire_bps is not None:
        add("Sender's wire", exact(setup.sender_wire_bps * share), framed)
    if setup.frame_ns:
        add(
            "Device between",
            exact(8e9 * data_octets / setup.frame_ns),
            f"{data_octets} octets of data in each {setup.frame_ns / 1e3:g} us",
        )
    if setup.delay_ns:
        # A frame takes its room for as long as it is under way; what TCP leaves of it after a loss
        # is another matter.
        allowed = 8e9 * setup.room_frames * data_octets / (setup.delay_ns + setup.frame_ns)
        add(
            "queue",
            exact(allowed),
            f"{setup.room_frames} frames under way in each {setup.delay_ns / 1e6:g} ms",
        )
    if setup.wire_bps is not None:
        add("wire", exact(setup.wire_bps * share), framed)
    add(
        "receiver-processor",
        *_processor(
            [each.receiver_processor for each in unchanged], setup.receiver.processor, unchanged
        ),
    )
    return tuple(stages)


def _processor(
    shares: list[float], limit: float | None, unchanged: Sequence[Outcome]
) -> tuple[Estimate, str]:
    """Return what the processor allows, from the time that it took for each octet."""
    used = np.asarray(shares)
    rates = np.asarray([each.throughput_bps for each in unchanged])
    if not (used > 0).all():
        return exact(0.0), ""
    return student(
        rates * (limit or 1.0) / used
    ), f"processor time for each octet as measured, {limit or 1:g} of one processor"
