"""Searching how many calls of a given quality fit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from ethermeter.api.arguments import Force, Jobs, Out, Overrides
from ethermeter.faults import ARGUMENTS, InputError, choices
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.analysis.call_search import CallsAnswer
    from ethermeter.api.runs import Found
    from ethermeter.calls import BetweenHosts, OnSegment, Question, Wanted
    from ethermeter.experiment import Experiment
    from ethermeter.experiment.key_paths import Sweep

Number = str | float
STANDARD = "ieee-10"
"""Whose longest segment the calls are on unless another one, or a network, is given."""


@dataclass(frozen=True, slots=True)
class CallsOptions:
    """Options of `calls`."""

    experiment: Annotated[
        str | Path,
        Argument(
            "Experiment with a segment or a network, or a standard, which stands for its longest "
            "half-duplex segment.",
            "EXPERIMENT",
            "calls_venues",
        ),
    ] = STANDARD
    _: KW_ONLY
    source: Annotated[
        str | None,
        Argument(
            "Of a network: the host that calls, or a group of hosts.",
            "HOST",
            "hosts",
            is_setting=True,
        ),
    ] = None
    to: Annotated[
        str | None,
        Argument(
            "Of a network: the host that is called, or a group of hosts.",
            "HOST",
            "hosts",
            is_setting=True,
        ),
    ] = None
    codec: Annotated[
        str,
        Argument("Codec; `ethermeter model codecs` lists them.", "NAME", "codecs", is_setting=True),
    ] = "g711"
    packet: Annotated[
        Number, Argument("Duration of the speech in a packet.", "TIME", is_setting=True)
    ] = "20 ms"
    bit_rate: Annotated[
        Number | None,
        Argument("Bit rate of a codec that has several.", "RATE", is_setting=True),
    ] = None
    ip: Annotated[
        Literal["ipv4", "ipv6", "none"],
        Argument(
            "Headers between speech and frame: RTP, UDP and IPv4 or IPv6, or none.",
            "ipv4|ipv6|none",
            is_setting=True,
        ),
    ] = "ipv4"
    pattern: Annotated[
        str | None,
        Argument(
            "Pattern of talk spurts: brady-1968 or p59. Speech is continuous unless given.",
            "NAME",
            "patterns",
            is_setting=True,
        ),
    ] = None
    talkers: Annotated[
        int,
        Argument(
            "Talkers of a call: 2, or 1 for a stream that goes one way.",
            "1|2",
            least=1,
            most=2,
            is_setting=True,
        ),
    ] = 2
    mos: Annotated[
        Number | None,
        Argument("Lowest mean opinion score; 4.0 unless given.", "SCORE", is_setting=True),
    ] = None
    loss: Annotated[
        Number | None,
        Argument(
            "Instead of a score: largest share of packets that are lost or late.",
            "SHARE",
            is_setting=True,
        ),
    ] = None
    delay: Annotated[
        Number | None,
        Argument("Instead of a score: largest mouth-to-ear delay.", "TIME", is_setting=True),
    ] = None
    buffer: Annotated[
        Number | None,
        Argument(
            "Time from a packet's readiness to its playout: network and jitter buffer. The best in "
            "hindsight unless given.",
            "TIME",
            is_setting=True,
        ),
    ] = None
    beyond: Annotated[
        Number,
        Argument("Additional delay outside the segment or network.", "TIME", is_setting=True),
    ] = "0 s"
    duration: Annotated[Number, Argument("Measured time of a trial.", "TIME", is_setting=True)] = (
        "20 s"
    )
    replications: Annotated[
        int,
        Argument("Trials of each number of calls.", "N", least=1, most=1000, is_setting=True),
    ] = 3
    seed: Annotated[
        int, Argument("Seed of every draw.", "N", least=0, most=2**63 - 1, is_setting=True)
    ] = 1
    write: Annotated[
        Path | None,
        Argument("Write the experiment with the found number of calls to this file.", "FILE"),
    ] = None
    overrides: Overrides = ()
    jobs: Jobs = None
    out: Out = None
    force: Force = False


@operation(CallsOptions)
def calls(options: CallsOptions, display: Display) -> "Found[CallsAnswer]":
    """Find by simulation how many calls of a given quality a segment or network can carry.

    A segment is one shared half-duplex medium and carries nothing but the calls. In a network,
    calls pass the switches and links between two hosts beside the flows of the file; the worse
    direction counts.

    Raises
    ------
    InputError
        With faults of the question, or if the directory has something else in it.
    RunError, TrialError
        If results cannot be written, or a trial broke off.

    """
    from ethermeter.analysis.call_search import CallsAnswer
    from ethermeter.api.runs import found_by
    from ethermeter.calls.reading import numbers
    from ethermeter.execution import Execution
    from ethermeter.strategies.calls import CallSearch
    from ethermeter.voice import CODECS

    _check_name("codec", options.codec, CODECS)
    names = ("packet", "bit_rate", "buffer", "beyond", "mos", "loss", "delay")
    read = numbers({name: getattr(options, name) for name in names})
    wanted = _wanted(options, read)
    _check_room(options.write)
    question = _question(options, read)
    execution = Execution(
        jobs=options.jobs, force=options.force, command=display.command, seed=question.seed
    )
    found = found_by(
        CallSearch(question, wanted, buffer_s=read.get("buffer"), beyond_s=read["beyond"]),
        CallsAnswer,
        execution,
        out=options.out,
        display=display,
    )
    if options.write is not None and found.answer.calls:
        options.write.write_text(question.text(found.answer.calls), encoding="utf-8")
    return found


def _wanted(options: CallsOptions, read: Mapping[str, float]) -> "Wanted":
    """Return what is good enough; `read`: the numbers of the question."""
    from ethermeter.calls import Wanted
    from ethermeter.voice import CODECS

    limits = {
        name: read[key] for name, key in (("loss", "loss"), ("delay_s", "delay")) if key in read
    }
    if limits:
        if options.mos is not None:
            _refuse("mos", str(options.mos), "a score, or loss and delay, not both")
        return Wanted(**limits)
    if not CODECS[options.codec].is_rated:
        allowed = f"loss and delay instead: the E-model has no numbers for {options.codec}"
        _refuse("mos", str(options.mos or "4.0"), allowed)
    return Wanted(mos=read.get("mos", 4.0))


def _question(options: CallsOptions, read: Mapping[str, float]) -> "Question":
    """Return which calls are wanted, and where."""
    from ethermeter.calls import Question
    from ethermeter.voice import PATTERNS

    venue = _venue(options)
    pattern = options.pattern
    if pattern is not None:
        _check_name("pattern", pattern, PATTERNS)
    question = Question(
        venue,
        options.codec,
        read["packet"],
        ip=options.ip,
        bit_rate_bps=read.get("bit_rate"),
        pattern=None if pattern is None else PATTERNS[pattern],
        talkers=options.talkers,
        duration_s=_duration_s(options.duration),
        replications=options.replications,
        seed=options.seed,
    )
    try:
        question.packets  # raises for a codec that cannot be cut like this  # noqa: B018
    except InputError as error:
        named = {"packet_s": "packet", "bit_rate_bps": "bit_rate"}
        raise InputError(
            replace(fault, file=ARGUMENTS, key=named.get(fault.key, fault.key))
            for fault in error.faults
        ) from None
    return question


def _venue(options: CallsOptions) -> "OnSegment | BetweenHosts":
    """Return where the calls are: on the segment of a standard or of a file, or in a network."""
    from ethermeter.api.experiments import override_texts
    from ethermeter.experiment.document import required_table
    from ethermeter.experiment.segment import standards

    name, overrides = str(options.experiment), override_texts(options.overrides)
    known = standards()
    if name in known:
        if overrides:
            _refuse("overrides", overrides[0], "with an experiment only: a standard has no keys")
        return _on_segment(options, _longest(name, known[name]))
    found = _experiment(name, overrides, standards=known)
    if "network" in found.document:
        return _between_hosts(options, found)
    for sweep in found.sweeps:
        if sweep.key.startswith("segment."):
            _refuse_varied(name, sweep)
    why = "a segment to call on, or a network"
    return _on_segment(options, required_table(found.document, "segment", file=name, why=why))


def _on_segment(options: CallsOptions, table: Mapping[str, object]) -> "OnSegment":
    """Return a segment, by the table of an experiment file."""
    from ethermeter.calls import OnSegment

    for field in ("source", "to"):
        if (host := getattr(options, field)) is not None:
            _refuse(field, host, "with a network only: stations of a segment are all alike")
    return OnSegment(dict(table))


def _between_hosts(options: CallsOptions, found: "Experiment") -> "BetweenHosts":
    """Return pairs of hosts of the network of an experiment."""
    from ethermeter.calls import BetweenHosts, pairs_of

    name, table = str(options.experiment), found.document["network"]
    for sweep in found.sweeps:
        _refuse_varied(name, sweep)
    if options.source is None or options.to is None:
        hosts = ", ".join(host["name"] for host in table["hosts"])
        _refuse(
            "source" if options.source is None else "to",
            "(missing)",
            f"a host or a group of hosts of {name}: {hosts}",
        )
    pairs = pairs_of(found.document, found.path, callers=options.source, called=options.to)
    return BetweenHosts(found.document, found.path, pairs)


def _longest(name: str, standard: Mapping[str, int]) -> dict[str, object]:
    """Return the longest segment of a standard, with 8 clusters, as the table of a file."""
    from ethermeter.units import decimal_text

    round_trip_ps = standard["max_round_trip_bits"] * standard["bit_ps"]
    return {
        "standard": name,
        "round_trip": f"{decimal_text(Fraction(round_trip_ps, 10**6))} us",
        "clusters": 8,
    }


def _experiment(name: str, overrides: Sequence[str], *, standards: Iterable[str]) -> "Experiment":
    """Return an experiment by file or name."""
    from ethermeter.api.experiments import load
    from ethermeter.experiment import shipped

    if name not in shipped() and not Path(name).exists() and not name.endswith(".toml"):
        _refuse("experiment", name, choices(name, [*standards, *shipped()], "a file, or one of "))
    (found,) = load(name, overrides=overrides).experiments
    return found


def _refuse_varied(name: str, sweep: "Sweep") -> NoReturn:
    _refuse(
        "experiment",
        f"{name} with {sweep.key} varied",
        f"one point: set {sweep.key} to one of {', '.join(sweep.texts)}",
    )


def _duration_s(written: Number) -> float:
    """Return the measured time of a trial [s], of a number of seconds or a text with a unit."""
    from ethermeter.units import LONGEST_TRIAL_PS, PS_PER_S, UnitError, time_ps

    text = written if isinstance(written, str) else f"{written!r} s"
    try:
        ps = time_ps(text, positive=True, most_ps=LONGEST_TRIAL_PS // 2)
    except UnitError as error:
        _refuse("duration", str(written), str(error))
    return ps / PS_PER_S


def _check_name(field: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known."""
    if name not in (names := list(known)):
        _refuse(field, name, choices(name, names))


def _check_room(file: Path | None) -> None:
    """Refuse a file that is there, or whose directory is not."""
    if file is not None and file.exists():
        _refuse("write", str(file), "a file that is not there yet")
    if file is not None and not file.parent.is_dir():
        _refuse("write", str(file), "a file in a directory that is there")


def _refuse(field: str, value: str, allowed: str) -> NoReturn:
    raise InputError.of_argument(field, value, allowed)
