"""Testbeds: hosts on this machine, as network namespaces, that stay until they are taken down."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ethermeter.api.arguments import Overrides
from ethermeter.faults import InputError, choices, nearest
from ethermeter.operation import Argument, Display, operation
from ethermeter.testbed.elements import KeptTestbed

if TYPE_CHECKING:
    from ethermeter.live_reports import RelayResult
    from ethermeter.testbed import NetworkBed, Wire

MOST_NAMES = 6
"""Names that a message lists in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTestbed(KeptTestbed):
    """A testbed and its name."""

    name: str


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of `up`."""

    experiment: Annotated[
        str | Path | None,
        Argument(
            "Experiment file, or name of a shipped one. Its first point becomes hosts on an "
            "emulated segment, or a network of hosts, switches and emulated media.",
            "EXPERIMENT",
            "experiments",
        ),
    ] = None
    _: KW_ONLY
    overrides: Overrides = ()
    hosts: Annotated[int, Argument("Number of hosts.", "N", is_setting=True)] = 2
    layout: Annotated[
        Literal["pair", "switch"] | None,
        Argument(
            "Layout of the hosts: a pair, or all at a switch. Unless given, two hosts are a pair "
            "and more are at a switch.",
            "pair|switch",
            is_setting=True,
        ),
    ] = None
    rate: Annotated[
        str | None,
        Argument("Line rate of each wire; unlimited unless given.", "RATE", is_setting=True),
    ] = None
    wire: Annotated[
        Literal["shaped", "relay"],
        Argument(
            "What limits the rate: a token bucket (shaped), or a process that also delays single "
            "frames (relay).",
            "shaped|relay",
            is_setting=True,
        ),
    ] = "shaped"
    delay: Annotated[
        str, Argument("Propagation delay of each wire; with wire=relay.", "TIME", is_setting=True)
    ] = "0 s"
    loss: Annotated[
        float,
        Argument("Probability that a wire loses a frame; with wire=relay.", "P", is_setting=True),
    ] = 0.0
    lose_every: Annotated[
        int | None,
        Argument("Instead of loss: lose every N-th frame; with wire=relay.", "N", is_setting=True),
    ] = None
    seed: Annotated[int, Argument("Seed of the random losses.", "N", is_setting=True)] = 1
    queue: Annotated[
        str,
        Argument("Size of the queue before each wire that has a rate.", "SIZE", is_setting=True),
    ] = "150 kB"
    mtu: Annotated[int, Argument("Longest IP packet.", "OCTETS", is_setting=True)] = 1500


@operation(UpOptions)
def up(options: UpOptions, display: Display) -> NamedTestbed:
    """Make a testbed that exists until it is taken down.

    Raises
    ------
    InputError
        With every number out of range, and every fault of the experiment.
    TestbedError
        If this machine cannot make it.

    """
    from ethermeter import testbed

    if options.experiment is not None:
        given = (options.hosts, options.layout, options.rate, options.wire)
        if given != (2, None, None, "shaped"):
            allowed = "given without settings of hosts and wires"
            raise InputError.of_argument("experiment", str(options.experiment), allowed)
        made = _network_of(options.experiment, options).name
    else:
        layout = options.layout or ("pair" if options.hosts == 2 else "switch")
        wire = _wire(options)
        made = testbed.keep_testbed(options.hosts, layout=layout, wires=wire, mtu=options.mtu).name
    return named(made, testbed.kept()[made])


def _wire(options: UpOptions) -> "Wire | None":
    """Return the wire of every host; None if it has no rate."""
    from ethermeter import testbed

    if options.rate is None:
        if options.wire == "relay":
            raise InputError.of_argument("rate", "not given", "a rate for relayed wires")
        return None
    return testbed.Wire(
        read("rate", options.rate, "rate"),
        read("queue", options.queue, "size"),
        kind=options.wire,
        delay_ns=read("delay", options.delay, "time"),
        loss=options.loss,
        lose_every=options.lose_every,
        seed=options.seed,
    )


def _network_of(experiment: str | Path, options: UpOptions) -> "NetworkBed":
    """Make the hosts of the first point of an experiment, on its segment or in its network."""
    from ethermeter import testbed
    from ethermeter.api.experiments import load
    from ethermeter.engines.live import agents, segments
    from ethermeter.entities import flows_in

    loaded = load(experiment, overrides=options.overrides)
    trial = loaded.plan(replications=1).trials[0]
    if flows_in(trial.scenario):
        return agents.keep(trial, mtu=options.mtu)
    segments.check(trial)
    segment = segments.standing(trial.scenario)
    network = testbed.Network(
        segment.stations, segments=[segment], layout="segment", mtu=options.mtu
    )
    return testbed.keep_network(network)


def named(name: str, kept: KeptTestbed) -> NamedTestbed:
    """Return a testbed with its name."""
    return NamedTestbed(name=name, **{of.name: getattr(kept, of.name) for of in fields(kept)})


Name = Annotated[str, Argument("Name of the testbed; `testbed show` lists them.", "NAME")]


@dataclass(frozen=True, slots=True)
class ExecuteOptions:
    """Options of `execute`."""

    name: Name
    host: Annotated[
        str,
        Argument(
            "Host of the testbed: its number from 1, its name, or its namespace.",
            "HOST",
        ),
    ]
    command: Annotated[Sequence[str], Argument("Program to run, and its arguments.", "COMMAND")]


@operation(ExecuteOptions)
def execute(options: ExecuteOptions, display: Display) -> int:
    """Run a program on a host of a testbed, with its output; return its exit code.

    Raises
    ------
    InputError
        If there is no such testbed or host.
    TestbedError
        If this machine cannot run it.

    """
    from ethermeter.testbed import TestbedError

    words = words_of(options)
    try:
        return subprocess.run(words, check=False).returncode
    except OSError as error:
        raise TestbedError(f"{words[0]}: {error.strerror}") from None


def words_of(options: ExecuteOptions) -> list[str]:
    """Return the command line that runs a program on a host of a testbed."""
    kept, host = testbed_of(options.name), str(options.host)
    hosts = {str(number): of for number, of in enumerate(kept.hosts, 1)}
    hosts |= {of.namespace: of for of in kept.hosts}
    # A host may have a number as its name: then that is what is meant.
    hosts |= dict(zip(kept.names, kept.hosts, strict=False))
    if host not in hosts:
        names = f", a name ({_listed(kept.names)})" if kept.names else ""
        allowed = f"a number from 1 to {len(kept.hosts)}{names}, or a namespace of {options.name}"
        near = nearest(host, list(hosts))
        text = f"did you mean {near[0]}? Allowed: {allowed}" if near else allowed
        raise InputError.of_argument("host", host, text)
    return hosts[host].command(*options.command)


def testbed_of(name: str) -> KeptTestbed:
    """Return a testbed by its name; `InputError` if there is none."""
    from ethermeter import testbed

    there = testbed.kept()
    if name not in there:
        raise InputError.of_argument("name", name, _expected(name, there))
    return there[name]


def _expected(name: str, there: Iterable[str]) -> str:
    """Say which testbed may be named."""
    names = list(there)
    return choices(name, names) if names else "a testbed; there is none"


def _listed(names: tuple[str, ...]) -> str:
    """Return names for a message, the middle ones of many left out."""
    return ", ".join(names if len(names) <= MOST_NAMES else (*names[:2], "…", names[-1]))


@dataclass(frozen=True, slots=True)
class DownOptions:
    """Options of `down`."""

    names: Annotated[
        Sequence[str], Argument("Names of testbeds; `testbed show` lists them.", "NAME")
    ] = ()
    _: KW_ONLY
    all: Annotated[bool, Argument("Remove all testbeds, those of killed processes included.")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class Removed:
    """Testbeds that were removed.

    Parameters
    ----------
    removed
        Their names.
    wires
        What happened on relayed wires, by testbed.
    faults
        Why others could not be.

    """

    removed: Sequence[str]
    wires: "Mapping[str, RelayResult]"
    faults: Sequence[str]


@operation(DownOptions)
def down(options: DownOptions, display: Display) -> Removed:
    """Remove testbeds, and end the programs that run there.

    Those of running measurements are not listed; they end by themselves. Exit code 1 if a program
    could not be ended.

    The results of relayed wires are printed with --json.

    Raises
    ------
    InputError
        If there is no such testbed, or none is named.

    """
    from ethermeter import testbed
    from ethermeter.testbed import TestbedError

    names = [options.names] if isinstance(options.names, str) else list(options.names)
    there = [*testbed.kept(), *testbed.unfinished()]
    if bool(names) == options.all:
        value = "given together with all of them" if options.all else "not given"
        raise InputError.of_argument("names", value, "names of testbeds, or all of them")
    for name in names:
        if name not in there:
            raise InputError.of_argument("names", name, _expected(name, there))
    removed: list[str] = []
    wires: dict[str, RelayResult] = {}
    faults = []
    for name in dict.fromkeys(names or testbed.kept()):
        try:
            if name in testbed.kept():
                if (result := testbed.remove_kept(name)) is not None:
                    wires[name] = result
                removed.append(name)
            else:
                removed += testbed.remove_leftovers(names=[name])
        except TestbedError as error:
            faults.append(str(error))
    try:
        removed += testbed.remove_leftovers() if options.all else []
    except TestbedError as error:
        faults.append(str(error))
    return Removed(removed, wires, faults)


def read(argument: str, text: str, what: Literal["rate", "size", "time"]) -> int:
    """Read a rate in bit/s, a size in octets, or a time in ns."""
    from ethermeter import units

    try:
        if what == "rate":
            return round(units.rate_bps(text))
        if what == "time":
            return units.time_ps(text) // 1000
        return units.size_bits(text, positive=True) // 8
    except units.UnitError as error:
        raise InputError.of_argument(argument, text, str(error)) from None
