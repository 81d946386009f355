"""Voice over a network: a flow whose messages are packets of a coder's samples, as the engines read
it; and what of it cannot be.
"""

from typing import Any

from ethermeter.experiment.coder import Coded
from ethermeter.experiment.complaints import Part
from ethermeter.experiment.flows import Flow
from ethermeter.experiment.frames import Samples
from ethermeter.experiment.voice import NO_CODER, NO_SAMPLES, Problems, arrivals_plan, check_coder
from ethermeter.faults import Fault
from ethermeter.framing import AROUND_DATA_OCTETS, IP_HEADER_OCTETS, UDP_HEADER_OCTETS

_ONE_PACKET = "not allowed with a coder, whose host has one packet on its way to the wire at a time"


def talks(flow: Flow) -> bool:
    """Whether a flow is voice, or would be if all of it were there."""
    return (
        isinstance(flow.arrivals, Coded)
        or isinstance(flow.frames, Samples)
        or isinstance(flow.data, Samples)
    )


def contradictions(
    flow: Flow, place: tuple[Part, ...], *, mtu_octets: int, most_octets: int, file: str
) -> list[Fault]:
    """Return what a flow says of its voice that cannot be; nothing of one without voice.

    Parameters
    ----------
    flow, place
        The flow, with exactly one of frames and data, and its table in the file.
    mtu_octets
        Longest IP packet of a flow with data.
    most_octets
        Longest frame, and longest data of UDP.
    file
        What faults call the file.

    """
    if not talks(flow):
        return []
    problems = Problems(file, place)
    key, lengths = ("data", flow.data) if flow.data is not None else ("frames", flow.frames)
    if not isinstance(flow.arrivals, Coded):
        if flow.arrivals is not None:
            problems.add(("arrivals",), "no coder", NO_CODER)
        return problems.faults
    if not isinstance(lengths, Samples):
        problems.add((key,), "no samples", NO_SAMPLES)
    for other in ("generator", "queue", "response"):
        if getattr(flow, other) is not None:
            problems.add((other,), "given", _ONE_PACKET)
    if flow.cast != "unicast":
        problems.add(("cast",), f'"{flow.cast}"', 'expected "unicast" with a coder')
    if flow.port in ("tcp", "xdp") and "port" in flow.model_fields_set:
        problems.add(("port",), f'"{flow.port}"', 'expected "udp" or "packet" with a coder')
    coder = flow.arrivals.coder
    check_coder(coder, problems)
    if coder.codec is None and coder.sample is None:
        return problems.faults
    if coder.sample_bits % 8:
        problems.add(
            ("arrivals", "coder", "sample"),
            f"{coder.sample_bits} bit",
            "expected whole octets in a network",
        )
    if isinstance(lengths, Samples):
        _check_lengths(
            lengths,
            key,
            coder.sample_bits,
            mtu_octets=mtu_octets,
            most_octets=most_octets,
            problems=problems,
        )
    return problems.faults


def _check_lengths(
    lengths: Samples,
    key: str,
    sample_bits: int,
    *,
    mtu_octets: int,
    most_octets: int,
    problems: Problems,
) -> None:
    growth = lengths.samples
    for name in ("least", "most", "overhead"):
        if (bits := getattr(growth, name)) % 8:
            problems.add(
                (key, "samples", name), f"{bits} bit", "expected whole octets in a network"
            )
    is_data = key == "data"
    least_overhead = 0 if is_data else AROUND_DATA_OCTETS
    if growth.overhead < 8 * least_overhead:
        allowed = f"expected at least {least_overhead} B: addresses, type and check sequence"
        problems.add((key, "samples", "overhead"), _size(growth.overhead), allowed)
    samples = max(1, -(-(growth.least - growth.overhead) // sample_bits))
    if growth.overhead + samples * sample_bits > growth.most:
        allowed = (
            f"expected room for what least asks for, {samples} of {sample_bits} bit beside {_size(growth.overhead)} of overhead: "
            f"at least {_size(growth.overhead + samples * sample_bits)}"
        )
        problems.add((key, "samples", "most"), _size(growth.most), allowed)
    most = (
        min(most_octets, mtu_octets - IP_HEADER_OCTETS - UDP_HEADER_OCTETS)
        if is_data
        else most_octets
    )
    if growth.most > 8 * most:
        where = (
            f" beside the headers of IP and UDP in a packet of {mtu_octets} B" if is_data else ""
        )
        problems.add(
            (key, "samples", "most"),
            _size(growth.most),
            f"expected at most {most} B{where}: a packet of voice goes in one frame",
        )


def _size(bits: int) -> str:
    return f"{bits} bit" if bits % 8 else f"{bits // 8} B"


def voice_plan(flow: Flow) -> dict[str, Any]:
    """Return the frames, the arrivals and the codec, if it has a name, of a voice flow without
    contradictions, as the engines read them.
    """
    lengths = flow.data if flow.data is not None else flow.frames
    assert isinstance(lengths, Samples)
    assert isinstance(flow.arrivals, Coded)
    growth, coder = lengths.samples, flow.arrivals.coder
    plan: dict[str, Any] = {
        "frames": {
            "kind": "samples",
            "overhead_bits": growth.overhead,
            "min_bits": growth.least,
            "max_bits": growth.most,
        },
        "arrivals": arrivals_plan(coder),
    }
    return plan if coder.codec is None else {**plan, "codec": coder.codec}
