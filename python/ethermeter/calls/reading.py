"""Reading what is written of calls: numbers with units, within ranges."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import Range
from ethermeter.faults import ARGUMENTS, Fault, InputError
from ethermeter.units import PS_PER_S, Dimension, UnitError, parse
from ethermeter.voice import arguments

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_PERCENT = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*%", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a number measures, and which there may be.

    Parameters
    ----------
    allowed
        In SI units.
    dimension
        None of a share or a score, which has no unit.

    """

    allowed: Range
    dimension: Dimension | None = None

    def read(self, written: str | float) -> float:
        """Return the number in SI units; a text has its unit, or is of the SI unit.

        Raises
        ------
        UnitError
            If it is no such number.

        """
        number = float(written) if isinstance(written, int | float) else self._number(written)
        if not self.allowed.holds(np.asarray(number)):
            raise UnitError(str(self.allowed))
        return number

    def _number(self, text: str) -> float:
        written = text.strip()
        if _NUMBER.fullmatch(written):
            return float(written)
        if self.dimension is None:
            if found := _PERCENT.fullmatch(written):
                return float(found[1]) / 100
            raise UnitError(f"expected {self.allowed}")
        try:
            base = parse(written, self.dimension)
        except UnitError as error:
            unit = "s" if self.dimension is Dimension.TIME else "bit/s"
            raise UnitError(f"{error}, or a number of {unit}") from None
        return float(base / PS_PER_S) if self.dimension is Dimension.TIME else float(base)


DELAY = Kind(arguments.DELAY_S, Dimension.TIME)
KINDS: Mapping[str, Kind] = {
    "packet": Kind(arguments.PACKET_S, Dimension.TIME),
    "bit_rate": Kind(arguments.BIT_RATE_BPS, Dimension.RATE),
    "buffer": DELAY,
    "beyond": DELAY,
    "mos": Kind(arguments.MOS),
    "loss": Kind(arguments.SHARE),
    "delay": DELAY,
}
"""What the numbers of a question measure, by the names of the arguments."""


def numbers(written: Mapping[str, str | float | None]) -> dict[str, float]:
    """Return numbers in SI units by the names of `KINDS`, without those that are None.

    Raises
    ------
    InputError
        With every number that is none, or out of its range.

    """
    found: dict[str, float] = {}
    faults = []
    for name, each in written.items():
        if each is None:
            continue
        try:
            found[name] = KINDS[name].read(each)
        except UnitError as error:
            faults.append(Fault(ARGUMENTS, name, str(each), str(error)))
    if faults:
        raise InputError(faults)
    return found
