"""The command that finds how many calls fit on a segment, or between hosts."""

import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.output import print_json, show
from ethermeter.cli.summary import print_files, search_and_sum_up

if TYPE_CHECKING:
    from ethermeter.calls import BetweenHosts, OnSegment
    from ethermeter.experiment import Experiment
    from ethermeter.experiment.key_paths import Sweep

EXAMPLES = """\
  ethermeter calls --codec g711 --mos 4.0
  ethermeter calls --segment my-network.toml --codec g729a --mos 3.6 --pattern brady-1968
  ethermeter calls --segment ieee-100 --codec opus --bit-rate "32 kb/s" --loss 1% --delay "150 ms"
  ethermeter calls --segment schools-hub --codec g711 --one-way --buffer "20 ms" --json
  ethermeter calls --network my-network.toml --from phones --to gateway --codec g711 --mos 4.0
  ethermeter calls --network my-network.toml --from a --to b \
--set 'flows.load.arrivals.poisson_load=0.5' --json
  ethermeter calls --codec g711 --mos 4.0 --write forty.toml
  ethermeter calls --codec g711 --mos 4.0 --out runs/telephones --resume"""


def calls(
    *,
    segment: Annotated[
        str | None,
        typer.Option(
            "--segment",
            metavar="FILE|NAME",
            show_default=False,
            help=(
                "Experiment with the segment, or a standard, which stands for its longest "
                "half-duplex segment; ieee-10 unless given."
            ),
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            "--network",
            metavar="FILE|NAME",
            show_default=False,
            help=(
                "Instead of --segment: experiment with a network, to whose flows calls between "
                "--from and --to are added."
            ),
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="HOST",
            show_default=False,
            help="With --network: the host that calls, or a group of hosts.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="HOST",
            show_default=False,
            help="With --network: the host that is called, or a group of hosts.",
        ),
    ] = None,
    overrides: options.Overrides = None,
    codec: Annotated[
        str,
        typer.Option(
            "--codec",
            metavar="NAME",
            help="Name of a codec; `ethermeter voice codecs` lists them.",
            autocompletion=completion.codecs,
        ),
    ] = "g711",
    packet: Annotated[
        str, typer.Option("--packet", metavar="TIME", help="Duration of the speech in a packet.")
    ] = "20 ms",
    bit_rate: Annotated[
        str | None,
        typer.Option(
            "--bit-rate",
            metavar="RATE",
            help="Bit rate of a codec that has several.",
            show_default=False,
        ),
    ] = None,
    ip: Annotated[
        str,
        typer.Option(
            "--ip",
            metavar="ipv4|ipv6|none",
            help="Headers between speech and frame: RTP, UDP and IPv4 or IPv6, or none.",
        ),
    ] = "ipv4",
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="NAME",
            help="Pattern of talk spurts: brady-1968 or p59. Speech is continuous unless given.",
            show_default=False,
        ),
    ] = None,
    one_way: Annotated[
        bool,
        typer.Option(
            "--one-way", help="One-way streams from --from to --to instead of calls of two talkers."
        ),
    ] = False,
    mos: Annotated[
        str | None,
        typer.Option(
            "--mos",
            metavar="SCORE",
            help="Lowest mean opinion score; 4.0 unless given.",
            show_default=False,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="SHARE",
            help="Instead of a score: largest share of packets that are lost or late.",
            show_default=False,
        ),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            "--delay",
            metavar="TIME",
            help="Instead of a score: largest mouth-to-ear delay.",
            show_default=False,
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            "--buffer",
            metavar="TIME",
            help=(
                "Time from a packet's readiness to its playout: network and jitter buffer. The "
                "best in hindsight unless given."
            ),
            show_default=False,
        ),
    ] = None,
    beyond: Annotated[
        str,
        typer.Option(
            "--beyond", metavar="TIME", help="Additional delay outside the segment or network."
        ),
    ] = "0 s",
    duration: Annotated[
        str, typer.Option("--duration", metavar="TIME", help="Measured time of a trial.")
    ] = "20 s",
    replications: options.Replications = None,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    cluster: options.Cluster = None,
    no_report: options.NoReport = False,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="FILE",
            help="Write the experiment with the found number of calls to this file.",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Find by simulation how many calls of a given quality a segment or network can carry.

    A segment is one shared half-duplex medium and carries nothing but the calls. In a network,
    calls pass the switches and links between two hosts beside the flows of the file; the worse
    direction counts.
    """
    import msgspec

    from ethermeter.calls import Question, Wanted
    from ethermeter.cli import next_steps
    from ethermeter.cli.voice_values import numbers_of, one_of, refuse
    from ethermeter.faults import Fault, InputError
    from ethermeter.present import calls as layout
    from ethermeter.run import RunOptions
    from ethermeter.strategies.calls import Answer, CallSearch
    from ethermeter.voice import CODECS, PATTERNS

    one_of("--codec", codec, CODECS)
    read = numbers_of(
        {
            "--packet": ("packet", packet),
            "--bit-rate": ("bit_rate", bit_rate),
            "--buffer": ("delay", buffer),
            "--beyond": ("delay", beyond),
            "--mos": ("wanted", mos),
            "--loss": ("loss", loss),
            "--delay": ("delay", delay),
        }
    )
    if mos is not None and (loss is not None or delay is not None):
        refuse("--mos", mos, "a score, or --loss and --delay, not both")
    if not CODECS[codec].is_rated and loss is None and delay is None:
        refuse(
            "--mos",
            mos or "4.0",
            f"--loss and --delay instead: the E-model has no numbers for {codec}",
        )
    if write is not None and write.exists():
        refuse("--write", str(write), "a file that is not there yet")
    limits = {
        name: read[key] for name, key in (("loss", "--loss"), ("delay_s", "--delay")) if key in read
    }
    wanted = Wanted(**limits) if limits else Wanted(mos=read.get("--mos", 4.0))
    question = Question(
        _venue(segment, network, source, to, overrides or ()),
        codec,
        read["--packet"],
        ip=ip,
        bit_rate_bps=read.get("--bit-rate"),
        pattern=None if pattern is None else PATTERNS[one_of("--pattern", pattern, PATTERNS)],
        talkers=1 if one_way else 2,
        duration_s=_duration_s(duration),
        replications=3 if replications is None else replications,
        seed=1 if seed is None else seed,
    )
    try:
        question.packets  # raises for a codec that cannot be cut like this  # noqa: B018
    except InputError as error:
        named = {"packet_s": "--packet", "bit_rate_bps": "--bit-rate", "ip": "--ip"}
        raise InputError(
            Fault("command line", named.get(f.key, f.key), f.value, f.allowed) for f in error.faults
        ) from None
    strategy = CallSearch(
        question, wanted, buffer_s=read.get("--buffer"), beyond_s=read["--beyond"]
    )
    run_options = RunOptions(
        jobs=jobs,
        cluster=cluster,
        resume=resume,
        force=force,
        command=tuple(sys.argv),
        seed=question.seed,
    )
    run, summary = search_and_sum_up(strategy, run_options, out=out, report=not no_report)
    found = msgspec.json.decode(run.answer(), type=Answer)
    if write is not None and found.calls:
        write.write_text(question.text(found.calls), encoding="utf-8")
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    show(layout.calls(question, wanted, found, file=write))
    print_files(summary)
    if write is None:
        next_steps.print_steps(next_steps.of_calls(found, sys.argv[1:]))


def _venue(
    segment: str | None,
    network: str | None,
    source: str | None,
    to: str | None,
    overrides: Sequence[str],
) -> "OnSegment | BetweenHosts":
    """Return where the calls are, as the options say: on a segment, or in a network."""
    from ethermeter.calls import BetweenHosts, OnSegment, pairs_of
    from ethermeter.cli.voice_values import refuse
    from ethermeter.experiment.document import required_table

    if network is None:
        for option, value in (("--from", source), ("--to", to)):
            if value is not None:
                refuse(
                    option, value, "with --network FILE only: stations of a segment are all alike"
                )
        return OnSegment(_segment(segment or "ieee-10", overrides))
    if segment is not None:
        refuse("--segment", segment, "one of --segment and --network, not both")
    found = _experiment("--network", network, overrides)
    why = f"hosts that call each other; for stations of a segment: --segment {network}"
    table = required_table(found.document, "network", file=network, why=why)
    for sweep in found.sweeps:
        _refuse_varied("--network", network, sweep)
    if source is None or to is None:
        hosts = ", ".join(host["name"] for host in table["hosts"])
        refuse(
            "--from" if source is None else "--to",
            "(missing)",
            f"a host or a group of hosts of {network}: {hosts}",
        )
    pairs = pairs_of(found.document, found.path, callers=source, called=to)
    return BetweenHosts(found.document, found.path, pairs)


def _experiment(
    option: str, name: str, overrides: Sequence[str], *, standards: Iterable[str] = ()
) -> "Experiment":
    """Return an experiment by file or name."""
    from ethermeter import api
    from ethermeter.cli.voice_values import refuse
    from ethermeter.experiment import load, shipped
    from ethermeter.faults import choices

    if name not in shipped() and not Path(name).exists() and not name.endswith(".toml"):
        names = choices(name, [*standards, *shipped()], "a file, or one of ")
        refuse(option, name, names)
    return load(api.locate(name), overrides=overrides)


def _refuse_varied(option: str, name: str, sweep: "Sweep") -> NoReturn:
    from ethermeter.cli.voice_values import refuse

    refuse(
        option,
        f"{name} with {sweep.key} varied",
        f"one point: --set {sweep.key}=… with one of {', '.join(sweep.texts)}",
    )


def _segment(name: str, overrides: Sequence[str]) -> dict[str, object]:
    """Return the segment of an experiment, or the longest of a standard with 8 clusters."""
    from ethermeter.cli.voice_values import refuse
    from ethermeter.experiment.document import required_table
    from ethermeter.experiment.segment import standards
    from ethermeter.units import decimal_text

    known = standards()
    if name in known:
        if overrides:
            refuse("--set", overrides[0], "with an experiment only: a standard has no keys")
        round_trip_ps = known[name]["max_round_trip_bits"] * known[name]["bit_ps"]
        return {
            "standard": name,
            "round_trip": f"{decimal_text(Fraction(round_trip_ps, 10**6))} us",
            "clusters": 8,
        }
    found = _experiment("--segment", name, overrides, standards=known)
    why = f"a segment to call on; for hosts of a network: --network {name} --from HOST --to HOST"
    table = required_table(found.document, "segment", file=name, why=why)
    for sweep in found.sweeps:
        if sweep.key.startswith("segment."):
            _refuse_varied("--segment", name, sweep)
    return dict(table)


def _duration_s(text: str) -> float:
    from ethermeter.cli.voice_values import refuse
    from ethermeter.units import LONGEST_TRIAL_PS, PS_PER_S, UnitError, time_ps

    try:
        ps = time_ps(text, positive=True, most_ps=LONGEST_TRIAL_PS // 2)
    except UnitError as error:
        refuse("--duration", text, str(error))
    return ps / PS_PER_S
