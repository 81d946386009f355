"""Commands on testbeds: hosts on this machine, as network namespaces."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from ethermeter.cli import options, output
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.help import Entry, group
from ethermeter.cli.output import print_json
from ethermeter.faults import choices, nearest

if TYPE_CHECKING:
    from ethermeter.live_reports import RelayResult
    from ethermeter.testbed import KeptTestbed, NetworkBed, Testbed

UP_EXAMPLES = """\
  ethermeter testbed up
  ethermeter testbed up --hosts 4 --layout switch --rate "10 Mb/s" --json
  ethermeter testbed up --wire relay --rate "10 Mb/s" --delay "50 us" --loss 0.01
  ethermeter testbed up poisson-load --set 'stations.count=4'
  ethermeter testbed exec em-1234-abcd 1 -- ping 10.77.0.2"""
EXEC_EXAMPLES = """\
  ethermeter testbed exec em-1234-abcd 1 -- ping 10.77.0.2
  ethermeter testbed exec em-1234-abcd station-2 -- iperf3 -s"""
MOST_NAMES = 6
"""Names that a message lists in full."""
DOWN_EXAMPLES = "  ethermeter testbed down em-1234-abcd\n  ethermeter testbed down --all --json"
SHOW_EXAMPLES = (
    "  ethermeter testbed show\n  ethermeter testbed show --json\n"
    "  ethermeter testbed show em-1234-abcd --live"
)
CAPTURE_EXAMPLES = """\
  ethermeter testbed capture em-1234-abcd --out segment.pcapng --for 10s
  ethermeter testbed capture em-1234-abcd --out segment.pcapng --frames 1000 --json
  ethermeter testbed capture em-1234-abcd --out - | wireshark -k -i -"""

app = group(
    "testbed",
    "Make virtual hosts on this machine, joined by virtual Ethernet, and remove them. Needs root.",
    {
        "Commands": {
            "up": Entry(
                "Make a testbed that exists until it is taken down.", "testbed", "up", "UP_EXAMPLES"
            ),
            "exec": Entry(
                "Run a program on a host of a testbed.", "testbed", "execute", "EXEC_EXAMPLES"
            ),
            "down": Entry("Remove testbeds.", "testbed", "down", "DOWN_EXAMPLES"),
            "show": Entry(
                "List testbeds, or watch the segment of one.", "testbed", "show", "SHOW_EXAMPLES"
            ),
            "capture": Entry(
                "Capture a segment of a testbed, with its collisions.",
                "testbed",
                "capture",
                "CAPTURE_EXAMPLES",
            ),
        }
    },
    examples=UP_EXAMPLES + "\n  ethermeter testbed show",
)


def up(
    experiment: Annotated[
        str | None,
        typer.Argument(
            metavar="[EXPERIMENT]",
            show_default=False,
            help="Experiment file, or name of a shipped one. Its first point becomes hosts on an "
            "emulated segment, or a network of hosts, switches and emulated media.",
        ),
    ] = None,
    *,
    overrides: options.Overrides = None,
    hosts: Annotated[int, typer.Option("--hosts", metavar="N", help="Number of hosts.")] = 2,
    layout: Annotated[
        Literal["pair", "switch"] | None,
        typer.Option(
            "--layout",
            help="Layout of the hosts: a pair, or all at a switch. Unless given, two hosts are a "
            "pair and more are at a switch.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help="Line rate of each wire; unlimited unless given.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        Literal["shaped", "relay"],
        typer.Option(
            "--wire",
            help="What limits the rate: a token bucket (shaped), or a process that also delays "
            "single frames (relay).",
        ),
    ] = "shaped",
    delay: Annotated[
        str,
        typer.Option(
            "--delay", metavar="TIME", help="Propagation delay of each wire; with --wire relay."
        ),
    ] = "0 s",
    loss: Annotated[
        float,
        typer.Option(
            "--loss", metavar="P", help="Probability that a wire loses a frame; with --wire relay."
        ),
    ] = 0.0,
    lose_every: Annotated[
        int | None,
        typer.Option(
            "--lose-every",
            metavar="N",
            help="Instead of --loss: lose every N-th frame; with --wire relay.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the random losses.")
    ] = 1,
    queue: Annotated[
        str,
        typer.Option(
            "--queue", metavar="SIZE", help="Size of the queue before each wire that has a rate."
        ),
    ] = "150 kB",
    mtu: Annotated[int, typer.Option("--mtu", metavar="OCTETS", help="Longest IP packet.")] = 1500,
    as_json: options.Json = False,
) -> None:
    """Make a testbed that exists until it is taken down."""
    from ethermeter import testbed
    from ethermeter.cli.voice_values import refuse

    if experiment is not None:
        if (hosts, layout, rate, kind) != (2, None, None, "shaped"):
            refuse("EXPERIMENT", experiment, "given without options of hosts and wires")
        _tell_made(_network_of(experiment, overrides, mtu), as_json=as_json)
        return
    wire = None
    if rate is not None:
        wire = testbed.Wire(
            _read("--rate", rate, "rate"),
            _read("--queue", queue, "size"),
            kind=kind,
            delay_ns=_read("--delay", delay, "time"),
            loss=loss,
            lose_every=lose_every,
            seed=seed,
        )
    elif kind == "relay":
        refuse("--rate", "not given", "a rate for relayed wires")
    of = layout or ("pair" if hosts == 2 else "switch")
    made = testbed.keep_testbed(hosts, layout=of, wires=wire, mtu=mtu)
    _tell_made(made, as_json=as_json)


def _network_of(experiment: str, overrides: list[str] | None, mtu: int) -> "NetworkBed":
    """Make the hosts of the first point of an experiment, on its segment or in its network."""
    from ethermeter import api, testbed
    from ethermeter.engines.live import agents, segments
    from ethermeter.entities import flows_in

    loaded = api.load(experiment, overrides=overrides or ())
    trial = loaded.plan(replications=1).trials[0]
    if flows_in(trial.scenario):
        return agents.keep(trial, mtu=mtu)
    segments.check(trial)
    segment = segments.standing(trial.scenario)
    network = testbed.Network(segment.stations, segments=[segment], layout="segment", mtu=mtu)
    return testbed.keep_network(network)


def _tell_made(made: "Testbed | NetworkBed", *, as_json: bool) -> None:
    from ethermeter import testbed
    from ethermeter.present import testbeds

    kept = testbed.kept()[made.name]
    if as_json:
        print_json({"name": made.name, **msgspec.to_builtins(kept)})
        return
    output.show(testbeds.made(made.name, kept))


def execute(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the testbed; `testbed show` lists them.")
    ],
    host: Annotated[
        str,
        typer.Argument(
            metavar="HOST",
            help="Host of the testbed: its number from 1, its name, or its namespace.",
        ),
    ],
    command_line: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="Program to run, and its arguments.")
    ],
) -> None:
    """Run a program on a host of a testbed, with its output and its exit code."""
    from ethermeter.cli.voice_values import refuse
    from ethermeter.testbed import TestbedError

    kept = _named(name)
    hosts = {str(number): of for number, of in enumerate(kept.hosts, 1)}
    hosts |= {of.namespace: of for of in kept.hosts}
    # A host may have a number as its name: then that is what is meant.
    hosts |= dict(zip(kept.names, kept.hosts, strict=False))
    if host not in hosts:
        names = f", a name ({_listed(kept.names)})" if kept.names else ""
        allowed = f"a number from 1 to {len(kept.hosts)}{names}, or a namespace of {name}"
        near = nearest(host, list(hosts))
        refuse("HOST", host, f"did you mean {near[0]}? Allowed: {allowed}" if near else allowed)
    words = hosts[host].command(*command_line)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise TestbedError(f"{words[0]}: {error.strerror}") from None


def _named(name: str) -> "KeptTestbed":
    """Return a testbed by its name."""
    from ethermeter import testbed
    from ethermeter.cli.voice_values import refuse

    there = testbed.kept()
    if name not in there:
        refuse("NAME", name, _expected(name, there))
    return there[name]


def _expected(name: str, there: Iterable[str]) -> str:
    """Say which testbed may be named."""
    names = list(there)
    return choices(name, names) if names else "a testbed; there is none"


def _listed(names: tuple[str, ...]) -> str:
    """Return names for a message, the middle ones of many left out."""
    return ", ".join(names if len(names) <= MOST_NAMES else (*names[:2], "…", names[-1]))


def down(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...]",
            show_default=False,
            help="Names of testbeds; `testbed show` lists them.",
        ),
    ] = None,
    *,
    every: Annotated[
        bool,
        typer.Option("--all", help="Remove all testbeds, those of killed processes included."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Remove testbeds, and end the programs that run there.

    Those of running measurements are not listed; they end by themselves. Exit code 1 if a program
    could not be ended.

    The results of relayed wires are printed with --json.
    """
    from ethermeter import testbed
    from ethermeter.cli.voice_values import refuse
    from ethermeter.testbed import TestbedError

    there = [*testbed.kept(), *testbed.unfinished()]
    if bool(names) == every:
        refuse("NAME", "given with --all" if every else "not given", "names of testbeds, or --all")
    for name in names or ():
        if name not in there:
            refuse("NAME", name, _expected(name, there))
    removed: list[str] = []
    results: dict[str, RelayResult | None] = {}
    faults: list[TestbedError] = []
    for name in dict.fromkeys(names or testbed.kept()):
        try:
            if name in testbed.kept():
                results[name] = testbed.remove_kept(name)
                removed.append(name)
            else:
                removed += testbed.remove_leftovers(names=[name])
        except TestbedError as error:
            faults.append(error)
    try:
        removed += testbed.remove_leftovers() if every else []
    except TestbedError as error:
        faults.append(error)
    if as_json or removed or not faults:
        _tell_removed(removed, results, as_json=as_json)
    for fault in faults:
        say(f"ethermeter: {fault}")
    if faults:
        raise typer.Exit(FAILED)


def _tell_removed(
    removed: list[str], results: "dict[str, RelayResult | None]", *, as_json: bool
) -> None:
    from ethermeter.present import testbeds

    if as_json:
        wires = {name: result for name, result in results.items() if result is not None}
        found = {"removed": removed, **({"wires": wires} if wires else {})}
        print_json(msgspec.to_builtins(found))
        return
    output.show(testbeds.removed(removed))


def show(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            show_default=False,
            help="Name of a testbed; only this one is shown, with the counters of its segment.",
        ),
    ] = None,
    *,
    live: Annotated[
        bool,
        typer.Option("--live", help="Watch the segment of the testbed, second by second."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """List testbeds, or watch the segment of one."""
    from ethermeter import testbed
    from ethermeter.cli.voice_values import refuse
    from ethermeter.present import testbeds

    if name is not None:
        from ethermeter.blocks import Text
        from ethermeter.cli import segment_view

        kept = _named(name)
        control = _control_of(name)
        if live:
            if as_json:
                refuse("--json", "given with --live", "one of the two")
            if not kept.segments:
                refuse("NAME", name, "a testbed with a segment")
            segment_view.watch(name, control, kept.segments)
            return
        with testbed.Control(control) as connection:
            counted = connection.count()
        if as_json:
            print_json(msgspec.to_builtins(counted))
            return
        output.show(
            Text(line) for line in segment_view.lines(counted.segments, None, kept.segments)
        )
        return
    if live:
        refuse("--live", "given without NAME", "the name of a testbed with a segment")
    there, unfinished = testbed.kept(), testbed.unfinished()
    if as_json:
        listed = [{"name": name, **msgspec.to_builtins(kept)} for name, kept in there.items()]
        print_json([*listed, *({"name": name, "unfinished": True} for name in unfinished)])
        return
    output.show(testbeds.existing(there, unfinished))


def _control_of(name: str) -> Path:
    """Return where the relay of a testbed listens."""
    from ethermeter import testbed
    from ethermeter.cli.voice_values import refuse

    control = testbed.control_of(name)
    if control is None:
        refuse("NAME", name, "a testbed with a segment or relayed wires")
    return control


def capture(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the testbed; `testbed show` lists them.")
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="Capture file in pcapng format; - for standard output."
        ),
    ],
    duration: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            show_default=False,
            help="Duration of the capture; until Ctrl-C unless given.",
        ),
    ] = None,
    frames: Annotated[
        int | None,
        typer.Option(
            "--frames",
            min=1,
            metavar="N",
            show_default=False,
            help="End after N frames, those in collisions included.",
        ),
    ] = None,
    segment: Annotated[
        int,
        typer.Option("--segment", min=1, metavar="N", help="Number of the segment in the testbed."),
    ] = 1,
    octets: Annotated[
        int,
        typer.Option(
            "--capture-octets",
            min=64,
            max=65_536,
            metavar="N",
            help="Octets that are kept of each frame.",
        ),
    ] = 65_536,
    size: Annotated[
        int,
        typer.Option(
            "--capture-size",
            min=1,
            max=1_000_000,
            metavar="MB",
            help="Largest size of the file; later frames are only counted.",
        ),
    ] = 256,
    as_json: options.Json = False,
) -> None:
    """Capture a segment: every frame on it with its start, and every collision as a mark.

    Ctrl-C ends it: the file is then complete, and the exit code 130.
    """
    from ethermeter.cli import segment_capture
    from ethermeter.cli.voice_values import refuse
    from ethermeter.relay_plan import CaptureOptions

    kept = _named(name)
    if not kept.segments:
        refuse("NAME", name, "a testbed with a segment")
    if segment > len(kept.segments):
        refuse("--segment", str(segment), f"from 1 to {len(kept.segments)}")
    for_s = None if duration is None else _read("--for", duration, "time") / 1e9
    wanted = CaptureOptions(
        segment=segment - 1,
        names=kept.segments[segment - 1],
        snap_octets=octets,
        most_octets=size * 1_000_000,
        most_frames=frames,
    )
    segment_capture.run(name, _control_of(name), out, wanted, for_s=for_s, as_json=as_json)


def _read(option: str, text: str, what: Literal["rate", "size", "time"]) -> int:
    """Read a rate in bit/s, a size in octets, or a time in ns."""
    from ethermeter import units
    from ethermeter.cli.voice_values import refuse

    try:
        if what == "rate":
            return round(units.rate_bps(text))
        if what == "time":
            return units.time_ps(text) // 1000
        bits = units.size_bits(text, positive=True)
    except units.UnitError as error:
        refuse(option, text, str(error))
    return bits // 8
