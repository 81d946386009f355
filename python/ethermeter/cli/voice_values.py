"""What is written after the commands on calls, and what is found for all combinations of it."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

import numpy as np

from ethermeter.arguments import Array, Flags, Range
from ethermeter.arguments import Range as TheoryRange
from ethermeter.cli.theory_values import value as read_value
from ethermeter.faults import Fault, InputError, choices
from ethermeter.theory.entry import Symbol
from ethermeter.units import UnitError
from ethermeter.voice import Connection, Medium, arguments
from ethermeter.voice.connection import QUANTITIES
from ethermeter.voice.grid import Grid

MOST_POINTS = 10_000
"""Combinations that are evaluated at once."""

_KINDS: Mapping[str, tuple[str, Range]] = {
    "delay": ("s", arguments.DELAY_S),
    "loss": ("", arguments.SHARE),
    "burst_ratio": ("", arguments.BURST_RATIO),
    "ie": ("", arguments.IMPAIRMENT),
    "bpl": ("", arguments.ROBUSTNESS),
    "advantage": ("", arguments.ADVANTAGE),
    "wanted": ("", arguments.MOS),
    "packet": ("s", arguments.PACKET_S),
    "bit_rate": ("bit/s", arguments.BIT_RATE_BPS),
    "network": ("s", arguments.DELAY_S),
    "jitter_buffer": ("s", arguments.DELAY_S),
    "talkers": ("", arguments.TALKERS),
    "room": ("", arguments.CIRCUITS),
    "exceeding": ("", arguments.PROBABILITY),
    "activity": ("", arguments.ACTIVITY),
    "offered": ("", arguments.ERLANGS),
    "circuits": ("", arguments.CIRCUITS),
    "blocking": ("", arguments.BLOCKING),
    "listen": ("s", arguments.LISTEN_S),
}
"""What can be given: its unit, and its range."""

_UNITS = {
    "largest_delay": "s",
    "mouth_to_ear": "s",
    "payload_octets": "octet",
    "frame_octets": "octet",
    "charged_bits": "bit",
}
_UNITS |= {"packets_per_s": "1/s", "frame_bps": "bit/s", "offered": "erlang", "carried": "erlang"}
_PERCENT = re.compile(r"([0-9.]+)\s*%", re.ASCII)
_ARGUMENTS = {
    "delay_s": "delay",
    "packet_s": "packet",
    "network_s": "network",
    "jitter_buffer_s": "jitter_buffer",
}
_ARGUMENTS |= {
    "bit_rate_bps": "bit_rate",
    "offered_erlangs": "offered",
    "mos": "wanted",
    "codec": "--codec",
}


Columns = Mapping[str, Array | Flags]
"""Arrays of one length, by name."""


def evaluated(texts: Mapping[str, str | None], function: Callable[[Columns], Columns]) -> Grid:
    """Evaluate a function at all combinations of what was written.

    Parameters
    ----------
    texts
        What was written, by the name of its option with underscores; none where it was not given.
    function
        Takes an array of points for each that was given; gives an array for each that it finds,
        `outside_range` apart.

    Raises
    ------
    InputError
        If something written is not what its option takes, every fault at once, or the function
        refuses it.

    """
    given = _read({name: text for name, text in texts.items() if text is not None})
    points = math.prod(len(values) for values in given.values())
    if points > MOST_POINTS:
        refuse("values", f"{points} combinations", f"at most {MOST_POINTS}")
    grids = np.meshgrid(*(np.array(values) for values in given.values()), indexing="ij")
    flat = {name: grid.reshape(-1) for name, grid in zip(given, grids, strict=True)}
    try:
        found = dict(function(flat))
    except InputError as error:
        keys = [_option(_ARGUMENTS.get(fault.key, fault.key)) for fault in error.faults]
        raise InputError(
            Fault("command line", key, f.value, f.allowed)
            for key, f in zip(keys, error.faults, strict=True)
        ) from None
    outside = np.broadcast_to(found.pop("outside_range", False), points)
    lists = {
        name: np.broadcast_to(values, points).astype(float).tolist()
        for name, values in found.items()
    }
    return Grid(
        {name: values.tolist() for name, values in flat.items()},
        lists,
        {name: _unit(name) for name in (*flat, *lists)},
        outside.tolist(),
    )


def numbers_of(texts: Mapping[str, tuple[str, str | None]]) -> dict[str, float]:
    """Read options that take one number each; otherwise as `lists_of`.

    Raises
    ------
    InputError
        With every fault found.

    """
    return {option: values[0] for option, values in _listed(texts, single=True).items()}


def lists_of(texts: Mapping[str, tuple[str, str | None]]) -> dict[str, list[float]]:
    """Read options that take lists of numbers.

    Parameters
    ----------
    texts
        By the name of the option: the kind of quantity it takes, and what was written, None where
        it was not given.

    Returns
    -------
    :
        The numbers in SI units, of the options that were given.

    Raises
    ------
    InputError
        With every fault found.

    """
    return _listed(texts, single=False)


def _listed(texts: Mapping[str, tuple[str, str | None]], *, single: bool) -> dict[str, list[float]]:
    faults: list[Fault] = []
    found: dict[str, list[float]] = {}
    for option, (kind, text) in texts.items():
        if text is None:
            continue
        values = _parsed(option, text, *_KINDS[kind], faults)
        if len(values) > (1 if single else MOST_POINTS):
            faults.append(
                Fault(
                    "command line",
                    option,
                    text,
                    "one value" if single else f"at most {MOST_POINTS} values",
                )
            )
        found[option] = values
    if faults:
        raise InputError(faults)
    return found


def connection_from(words: Sequence[str]) -> Connection:
    """Return the connection of texts NAME=VALUE, by names or symbols of its parameters.

    Raises
    ------
    InputError
        With every fault found.

    """
    known = {quantity.field: quantity for quantity in QUANTITIES} | {
        quantity.symbol: quantity for quantity in QUANTITIES
    }
    faults: list[Fault] = []
    found: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        quantity = known.get(name)
        if not equals or quantity is None:
            faults.append(
                Fault(
                    "command line",
                    "--connection",
                    word,
                    f"NAME=VALUE of {', '.join(q.symbol for q in QUANTITIES)}",
                )
            )
            continue
        if quantity.field in found:
            faults.append(Fault("command line", "--connection", word, f"{name} once"))
            continue
        unit = "s" if quantity.unit == "s" else ""
        values = _parsed(name, text, unit, quantity.allowed, faults)
        if len(values) > 1:
            faults.append(Fault("command line", name, text, "one number"))
        found[quantity.field] = values[0] if values else math.nan
    if faults:
        raise InputError(faults)
    return Connection(**found)


def medium_named(standard: str) -> Medium:
    """Return the medium of a standard.

    Raises
    ------
    InputError
        If there is none of that name.

    """
    from ethermeter.experiment.segment import standards

    return Medium.of(one_of("--standard", standard, standards()), standards()[standard])


def one_of(option: str, name: str, known: Iterable[str]) -> str:
    """Return the name if it is known.

    Raises
    ------
    InputError
        If it is not.

    """
    if name not in (names := list(known)):
        refuse(option, name, choices(name, names))
    return name


def two_of(given: Mapping[str, str | None]) -> None:
    """Check that all but one of the options are given.

    Raises
    ------
    InputError
        If they are not.

    """
    there = [name for name, text in given.items() if text is not None]
    if len(there) != len(given) - 1:
        refuse("options", ", ".join(there) or "none", f"two of {', '.join(given)}")


def refuse(option: str, value: str, allowed: str) -> NoReturn:
    """Say that something on the command line cannot be used.

    Raises
    ------
    InputError
        Always.

    """
    raise InputError.of("command line", option, value, allowed)


def _read(texts: Mapping[str, str]) -> dict[str, list[float]]:
    faults: list[Fault] = []
    found = {
        name: _parsed(_option(name), text, *_KINDS[name], faults) for name, text in texts.items()
    }
    if faults:
        raise InputError(faults)
    return found


def _parsed(option: str, text: str, unit: str, allowed: Range, faults: list[Fault]) -> list[float]:
    """Return the numbers of a text, all within the range; faults are added to the list."""
    symbol = Symbol(
        "", "", TheoryRange(allowed.low, allowed.high, allowed.whole), unit, argument=option
    )
    try:
        # A fraction may be written in percent; what is no number is left for the reader to refuse.
        plain = text if unit else _PERCENT.sub(_of_percent, text)
        numbers: list[float] = read_value(symbol, plain.strip())
        bad = [each for each in numbers if not allowed.holds(np.asarray(each))]
        if bad:
            raise UnitError(str(allowed))
    except UnitError as error:
        faults.append(Fault("command line", option, text, str(error)))
        return []
    return numbers


def _of_percent(match: re.Match[str]) -> str:
    try:
        return repr(float(match[1]) / 100)
    except ValueError:
        return match[0]


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}" if name in _KINDS else name


def _unit(name: str) -> str:
    return _UNITS.get(name) or (_KINDS[name][0] if name in _KINDS else "")
