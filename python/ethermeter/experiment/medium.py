"""Medium: the constants of a segment, from its standard and what the experiment changes about it."""

from typing import Any

from ethermeter.experiment.complaints import dotted
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.standards import standards
from ethermeter.faults import Fault, InputError

CONSTANTS = ("bit_ps", "slot_bits", "gap_bits", "gap_part1_bits", "preamble_bits", "jam_bits")
"""The constants that an engine is told, in this order."""

MOST_BITS = 1 << 24
"""Bits that a slot, gap, preamble or jam may have.

No jam, or neither gap nor deaf time, would leave it open who heard whom first.
"""


def _unless(key: str, segment: Segment) -> str:
    return ", or a deaf time" if key == "gap" and not segment.deaf else ""


def medium(segment: Segment, *, file: str) -> dict[str, Any]:
    """Return the constants of a segment by their names in `_core.standards()`.

    Raises
    ------
    InputError
        If a time is no whole number of bits, or the gap contradicts itself.

    """
    constants = {
        name: value for name, value in standards()[segment.standard].items() if name != "sources"
    }
    if segment.rate is not None:
        constants["bit_ps"] = segment.rate
    faults = []
    for key in ("slot", "gap", "gap_part1", "preamble", "jam"):
        given = getattr(segment, key)
        if given is None:
            continue
        unit, number = given
        bits, rest = divmod(number, constants["bit_ps"]) if unit == "ps" else (number, 0)
        if rest:
            allowed = f"expected a whole number of bits, each {constants['bit_ps']} ps"
            faults.append(Fault(file, dotted(("segment", key)), f"{number} ps", allowed))
        constants[f"{key}_bits"] = bits
    constants["deaf_ps"] = segment.deaf
    # Without a gap and a deaf time, a station could start in the very instant in which it hears
    # silence and carrier at once.
    for key, least in (
        ("slot", 1),
        ("gap", 0 if segment.deaf else 1),
        ("gap_part1", 0),
        ("preamble", 0),
        ("jam", 1),
    ):
        bits = constants[f"{key}_bits"]
        if not least <= bits <= MOST_BITS:
            faults.append(
                Fault(
                    file,
                    dotted(("segment", key)),
                    f"{bits} bit",
                    f"expected from {least} to {MOST_BITS} bit" + _unless(key, segment),
                )
            )
    if constants["gap_part1_bits"] > constants["gap_bits"]:
        key = "gap" if segment.gap is not None else "gap_part1"
        value = f"{constants[f'{key}_bits']} bit"
        allowed = f"expected gap_part1, {constants['gap_part1_bits']} bit, to be at most gap, {constants['gap_bits']} bit"
        faults.append(Fault(file, dotted(("segment", key)), value, allowed))
    if faults:
        raise InputError(faults)
    return constants
