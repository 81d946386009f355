"""Functions in Python by which simulated stations wait and offer frames, registered by name.

An experiment names one as `backoff = { python = "name" }` or `arrivals = { python = "name" }`. A
trial calls it from the reference implementation, in this process only: the names are not known to
any other.
"""

import ctypes
import hashlib
import inspect
import math
import re
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

from ethermeter.faults import InputError, choices, shown
from ethermeter.scenario import PythonArrivals, PythonBackoff, PythonFunction, Scenario

if TYPE_CHECKING:
    from ethermeter._core import Draws

Kind = Literal["backoff", "source"]
"""What a function is for: how long a station waits, or when it offers which frames."""

MOST_SLOTS = 2**30
"""Slots that a station may wait, as in the widest range of the built-in backoff."""
LONGEST_WAIT_S = 1000
"""Time between two frames of a source, at most."""
MOST_AT_ONCE = 1_000_000
"""Frames that a source may offer at one instant."""

_PS_PER_S = 10**12
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)


class FunctionError(ValueError):
    """A registered function that raised, or returned what is not allowed."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A function under its name."""

    kind: Kind
    name: str
    function: Callable[..., Any]
    sha256: str
    """SHA-256 of its source, in hexadecimal digits."""


_registered: dict[tuple[Kind, str], Registered] = {}


def register_backoff(name: str, function: Callable[..., Any]) -> None:
    """Register a backoff for `backoff = { python = "name" }` of stations on a segment.

    Another function under the same name replaces it.

    Parameters
    ----------
    name
        A letter, then letters, digits, - or _; at most 64.
    function
        `function(collisions, draws)`, called after each collision of a frame but the last that the
        attempt limit allows. `collisions` of the frame so far are 1 or more. `draws` are those of
        the station (`ethermeter.Draws`). It returns the slots to wait from the end of the jam, from
        0 to 2**30; a fraction of a slot is rounded to the picosecond. Of a class, each station has
        an instance of its own, made without arguments, which is called.

    Raises
    ------
    InputError
        If the name is not allowed, the function does not take two arguments, or Python cannot read
        its source.

    Examples
    --------
    >>> def patient(collisions, draws):
    ...     return draws.below(2 ** min(collisions + 2, 10))
    >>> em.register_backoff("patient", patient)  # doctest: +SKIP

    """
    _register("backoff", name, function, takes="(collisions, draws)")


def register_source(name: str, function: Callable[..., Any]) -> None:
    """Register a source for `arrivals = { python = "name" }` of stations on a segment.

    Another function under the same name replaces it.

    Parameters
    ----------
    name
        As of `register_backoff`.
    function
        A generator function of one argument, the station's `draws` (`ethermeter.Draws`). Each
        station has a generator of its own. It yields, for each frame, `(wait_s, octets)`: the time
        since the frame before, or since the begin of the source, from 0 to 1000 s, rounded to the
        picosecond; and the length, destination address to FCS, within the shortest and the longest
        of the station's `frames`. It may yield `wait_s` alone; the length is then drawn from
        `frames`. A generator that returns offers no more frames.

    Raises
    ------
    InputError
        As of `register_backoff`.

    Examples
    --------
    >>> def pairs(draws):
    ...     while True:
    ...         yield draws.exponential(1e-3), 64
    ...         yield 0, 1518
    >>> em.register_source("pairs", pairs)  # doctest: +SKIP

    """
    _register("source", name, function, takes="(draws)")


def _register(kind: Kind, name: str, function: Callable[..., Any], *, takes: str) -> None:
    where = f"register_{kind}"
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        allowed = "expected a letter, then letters, digits, - or _, at most 64 in all"
        raise InputError.of(where, "name", shown(name), allowed)
    if not callable(function):
        allowed = f"expected a function, or a class, called as {takes}"
        raise InputError.of(where, name, shown(function), allowed)
    _check_call(kind, name, function, takes)
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        allowed = (
            "expected a function whose source Python can read: define it in a file or a notebook"
        )
        raise InputError.of(where, name, repr(function), allowed) from None
    digest = hashlib.sha256(source.encode()).hexdigest()
    _registered[kind, name] = Registered(kind, name, function, digest)


def _check_call(kind: Kind, name: str, function: Callable[..., Any], takes: str) -> None:
    """Refuse a function that cannot be called with as many arguments as it will be."""
    arguments = [None] * (takes.count(",") + 1)
    made = ""
    try:
        if kind == "backoff" and isinstance(function, type):
            made = "made without arguments and "
            _check_instances(function, arguments)
        else:
            inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError) as error:
        allowed = f"expected what can be {made}called as {takes}: {error}"
        raise InputError.of(f"register_{kind}", name, repr(function), allowed) from None


def _check_instances(of: type, arguments: Sequence[object]) -> None:
    """Raise TypeError unless a class makes instances without arguments that can be called."""
    inspect.signature(of).bind()
    calls = [vars(base)["__call__"] for base in inspect.getmro(of) if "__call__" in vars(base)]
    if not calls:
        raise TypeError("its instances have no __call__")
    inspect.signature(calls[0]).bind(None, *arguments)


def unknown(kind: Kind, name: str) -> str:
    """Return what is allowed in place of a name, or "" if a function has it."""
    if (kind, name) in _registered:
        return ""
    known = [each for of, each in _registered if of == kind]
    lead = f"the name of a function that this process has registered (register_{kind}): "
    return f"expected {lead}none" if not known else f"expected {choices(name, known, lead)}"


def planned(kind: Kind, name: str) -> PythonFunction:
    """Return the function of that name as in a plan; KeyError if there is none."""
    return PythonFunction(name=name, sha256=_registered[kind, name].sha256)


Key = tuple[Kind, str, str]
"""Kind, name and SHA-256 of a function that a scenario names."""


def named_in(scenarios: Iterable[Scenario]) -> list[Key]:
    """Return the functions that scenarios name, each once, in order."""
    found: set[Key] = set()
    for scenario in scenarios:
        for medium in scenario.media:
            for group in medium.stations:
                if isinstance(group.backoff, PythonBackoff):
                    of = group.backoff.function
                    found.add(("backoff", of.name, of.sha256))
        for flow in scenario.flows:
            if isinstance(flow.arrivals, PythonArrivals):
                of = flow.arrivals.function
                found.add(("source", of.name, of.sha256))
    return sorted(found)


def fault_of(kind: Kind, name: str, sha256: str) -> str:
    """Return why the function of a run cannot be called in this process; "" if it can."""
    of = _registered.get((kind, name))
    if of is None:
        return f'{kind} "{name}" is not registered in this process (register_{kind})'
    if of.sha256 != sha256:
        return (
            f'{kind} "{name}" has another source, SHA-256 {of.sha256[:12]}, than that of the run,'
            f" {sha256[:12]}"
        )
    return ""


def written(keys: Iterable[Key]) -> list[dict[str, str]]:
    """Return functions as a run directory records them."""
    return [{"kind": kind, "name": name, "sha256": sha256} for kind, name, sha256 in keys]


def read(found: object) -> list[Key]:
    """Return functions from what a run directory records."""
    entries = found if isinstance(found, list) else []
    return [
        (kind, str(of.get("name")), str(of.get("sha256")))
        for of in entries
        if isinstance(of, dict)
        for kind in get_args(Kind)
        if of.get("kind") == kind
    ]


def listed(keys: Iterable[Key]) -> str:
    """Return functions as a message names them."""
    return ", ".join(f'{kind} "{name}"' for kind, name, _ in keys)


_calling: set[int] = set()
"""Threads, by their identifiers, in which a registered function runs."""


def interrupt(threads: Iterable[int | None]) -> None:
    """Raise `KeyboardInterrupt` in those of these threads in which a registered function runs.

    A function that waits outside Python, as in `time.sleep`, goes on until it is back.
    """
    for thread in threads:
        if thread in _calling:
            raised = ctypes.py_object(KeyboardInterrupt)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


class Makers:
    """Makes the functions of the stations of a trial: what the core calls."""

    def backoff(self, name: str, sha256: str, station: int) -> Callable[[int, "Draws"], float]:
        """Return the backoff of one station, which returns slots and raises `FunctionError`."""
        of = _called("backoff", name, sha256)
        calls = _Calls(of, station)
        function = calls.made() if inspect.isclass(of.function) else of.function

        def slots(collisions: int, draws: "Draws") -> float:
            calls.number += 1
            with calls:
                found = function(collisions, draws)
            if not _is_number(found) or not 0 <= found <= MOST_SLOTS:
                raise calls.refused(found, f"slots from 0 to {MOST_SLOTS}")
            return float(found)

        return slots

    def source(
        self, name: str, sha256: str, station: int, range_bits: tuple[int, int], draws: "Draws"
    ) -> Iterator[tuple[int, int | None]]:
        """Yield the waiting time in ps and the length in bits of each frame of one station.

        The length is None where the station draws it.
        """
        of = _called("source", name, sha256)
        calls = _Calls(of, station)
        with calls:
            frames = iter(of.function(draws))
        at_once = 0
        while True:
            calls.number += 1
            with calls:
                try:
                    found = next(frames)
                except StopIteration:
                    return
            wait_ps, bits = _frame(found, calls, range_bits)
            at_once = 0 if wait_ps else at_once + 1
            if at_once > MOST_AT_ONCE:
                raise calls.refused(found, f"at most {MOST_AT_ONCE} frames at one instant")
            yield wait_ps, bits


def _called(kind: Kind, name: str, sha256: str) -> Registered:
    if fault := fault_of(kind, name, sha256):
        raise FunctionError(fault)
    return _registered[kind, name]


def _frame(found: object, calls: "_Calls", range_bits: tuple[int, int]) -> tuple[int, int | None]:
    """Return the waiting time in ps and the length in bits of what a source yielded."""
    wait_s: object = found
    octets: object = None
    if isinstance(found, tuple) and len(found) == 2:
        wait_s, octets = found
    if not _is_number(wait_s) or not 0 <= wait_s <= LONGEST_WAIT_S:
        allowed = f"(wait_s, octets) or wait_s, wait_s from 0 to {LONGEST_WAIT_S}"
        raise calls.refused(found, allowed)
    if octets is None:
        return round(wait_s * _PS_PER_S), None
    shortest, longest = range_bits
    if not (_is_number(octets) and octets == int(octets) and shortest <= 8 * octets <= longest):
        allowed = (
            f"whole octets from {shortest / 8:g} to {longest / 8:g}, the shortest and the longest"
            " of the station's frames"
        )
        raise calls.refused(found, allowed)
    return round(wait_s * _PS_PER_S), 8 * int(octets)


def _is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number; those of NumPy are."""
    if isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


@dataclass(slots=True)
class _Calls:
    """The calls of one function for one station; as a context, one of them."""

    of: Registered
    station: int
    number: int = 0

    def made(self) -> Callable[..., Any]:
        """Return an instance of a class."""
        with self:
            instance: Callable[..., Any] = self.of.function()
        return instance

    def __enter__(self) -> None:
        _calling.add(threading.get_ident())

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        _calling.discard(threading.get_ident())
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            raise self._error(f"{type(error).__name__}: {error}{_place(error)}") from error

    def refused(self, found: object, allowed: str) -> FunctionError:
        """Return the error of a value that is not allowed."""
        what = "yielded" if self.of.kind == "source" else "returned"
        return self._error(f"{what} {shown(found)[:80]}; expected {allowed}")

    def _error(self, what: str) -> FunctionError:
        call = f"call {self.number}" if self.number else "its begin"
        where = f'{self.of.kind} "{self.of.name}" at station {self.station}, {call}'
        return FunctionError(f"{where}: {what}")


def _place(error: BaseException) -> str:
    """Return file and line where a function raised: the innermost of its own frames."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename == __file__:
        return ""
    return f" ({trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno})"
