"""Running a benchmark suite against a device between testers."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, TypeAlias

from ethermeter.api.arguments import Force, Jobs, Out
from ethermeter.faults import InputError, choices
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from pathlib import Path

    from ethermeter.analysis.benchmark import BenchmarkAnswer
    from ethermeter.api.runs import Found
    from ethermeter.api.venues import Venue
    from ethermeter.benchmark import Bench, Settings
    from ethermeter.engines.live import Place

NETWORK = "benchmark/switch"
"""Network of a suite unless another is given."""
LONGEST_FRAME = 9018
LEAST_TRIAL_S = 0.01
Number = str | float
Where = Literal["simulation", "testbed", "hosts"]


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """Options of `benchmark`."""

    suite: Annotated[
        str | None, Argument("Name of a suite; unless given, all are listed.", "SUITE", "suites")
    ] = None
    _: KW_ONLY
    network: Annotated[
        str | None,
        Argument(
            "Experiment file, or name of a shipped one, with the device between testers; "
            "benchmark/switch unless given. The flows of the suite replace those of the file.",
            "FILE",
            "experiments",
            is_setting=True,
        ),
    ] = None
    rate: Annotated[
        Number | None,
        Argument(
            "Line rate of the hosts, of a file of hosts without a network.",
            "RATE",
            is_setting=True,
        ),
    ] = None
    testers: Annotated[
        Sequence[str],
        Argument(
            "Hosts that send and receive; all hosts of the network unless given.",
            "HOST,HOST",
            is_setting=True,
        ),
    ] = ()
    frames: Annotated[
        Sequence[int | str],
        Argument(
            "Frame lengths in octets; 64,128,256,512,1024,1280,1518 unless given.",
            "OCTETS",
            is_setting=True,
        ),
    ] = ()
    bidirectional: Annotated[
        bool, Argument("Send in both directions at once.", "yes|no", is_setting=True)
    ] = False
    streams: Annotated[
        int,
        Argument(
            "Number of streams from one tester to another.", "N", least=1, most=64, is_setting=True
        ),
    ] = 1
    search: Annotated[
        Literal["mlr", "binary"],
        Argument(
            "Search method: MLRsearch, or bisection as in RFC 2544.", "mlr|binary", is_setting=True
        ),
    ] = "mlr"
    width: Annotated[
        str,
        Argument(
            "Largest relative difference between a found rate and a rate that loses frames.",
            "SHARE",
            is_setting=True,
        ),
    ] = "0.5%"
    standard: Annotated[
        bool,
        Argument(
            "Durations of the standards: trials of 60 s; latency over 120 s, 20 times.",
            "yes|no",
            is_setting=True,
        ),
    ] = False
    trial: Annotated[
        Number | None,
        Argument("Duration of a trial; 1 s unless given.", "TIME", is_setting=True),
    ] = None
    port: Annotated[
        Literal["udp", "packet", "xdp"],
        Argument("Socket type with which hosts send.", "udp|packet|xdp", is_setting=True),
    ] = "udp"
    services: Annotated[
        Sequence[str],
        Argument(
            "Service of y1564: 'NAME: cir=RATE, eir=RATE, frame=SIZE, ftd=TIME, fdv=TIME, "
            "flr=SHARE'; can be given several times.",
            "SERVICE",
            is_setting=True,
        ),
    ] = ()
    seed: Annotated[
        int | None,
        Argument(
            "Seed that replaces that of the network file.",
            "N",
            least=0,
            most=2**63 - 1,
            is_setting=True,
        ),
    ] = None
    on: Annotated[
        str | None,
        Argument(
            "Where to measure: a file of hosts, which are all testers without a network; or "
            "testbed, which makes the network on this machine and needs root. testbed,shaped: "
            "links get their rate from the system, not from a process. Simulated unless given.",
            "FILE|testbed",
            "venues",
        ),
    ] = None
    jobs: Jobs = None
    out: Out = None
    force: Force = False


@dataclass(frozen=True, slots=True)
class ListedSuite:
    """A suite, and its tests in words."""

    name: str
    tests: str


Benchmarked: TypeAlias = "Found[BenchmarkAnswer] | tuple[ListedSuite, ...]"


@operation(BenchmarkOptions)
def benchmark(options: BenchmarkOptions, display: Display) -> Benchmarked:
    """Run a benchmark suite: simulated, on a testbed, or between hosts of a laboratory.

    Without a suite, the suites are listed. Exit code 1 if the testers lose frames without the
    device, so that no search is possible, or if an agent was lost; 2 for invalid input.

    Raises
    ------
    InputError
        If a setting or the network has faults, or the directory has something else in it.
    RunError, TrialError
        If results cannot be written, or a trial broke off.

    """
    from ethermeter.analysis.benchmark import BenchmarkAnswer
    from ethermeter.api.runs import found_by
    from ethermeter.benchmark import SUITES, load
    from ethermeter.execution import Execution
    from ethermeter.strategies.benchmark import Benchmark

    suite = options.suite
    if suite is None and options == BenchmarkOptions():
        return _listed()
    if suite is None or suite not in SUITES:
        _refuse("suite", suite or "(missing)", choices(suite or "", SUITES))
    venue = _venue(options)
    settings = _settings(options, "simulation" if venue is None else _kind(venue))
    bench = _bench(options, None if venue is None else venue.file, settings)
    with ExitStack() as stack:
        place, where = _place(venue, stack)
        execution = Execution(
            jobs=options.jobs, force=options.force, command=display.command, seed=options.seed
        )
        return found_by(
            Benchmark(load(suite, bench), venue=where),
            BenchmarkAnswer,
            execution,
            out=options.out,
            place=place,
            display=display,
        )


def _listed() -> tuple[ListedSuite, ...]:
    from ethermeter.benchmark.suites import ABOUT

    return tuple(ListedSuite(name, tests) for name, tests in ABOUT.items())


def _venue(options: BenchmarkOptions) -> "Venue | None":
    """Return where is measured; None of a simulation."""
    from ethermeter.api.venues import venue_of

    if options.on is None:
        return None
    venue = venue_of(options.on)
    if venue.kind == "loopback" or venue.is_plain:
        allowed = "a file of hosts, testbed or testbed,shaped: a device is between the testers"
        _refuse("on", options.on, allowed)
    return venue


def _kind(venue: "Venue") -> Where:
    return "hosts" if venue.file is not None else "testbed"


def _place(venue: "Venue | None", stack: ExitStack) -> "tuple[Place | None, str]":
    """Return where is measured, and its name; a testbed stays until the stack ends."""
    from ethermeter.api.venues import place_of
    from ethermeter.engines.live import Kept, Local

    if venue is None:
        return None, "simulation"
    place = place_of(venue, wires="relay")
    if isinstance(place, Local):
        kept = stack.enter_context(Kept(place))
        return kept, kept.name
    return place, f"hosts of {venue.file}"


def _settings(options: BenchmarkOptions, venue: Where) -> "Settings":
    from ethermeter.benchmark.bench import FRAMES, Settings, durations
    from ethermeter.benchmark.services import service_of
    from ethermeter.units import UnitError, share

    times = durations(venue, is_standard=options.standard)
    if options.trial is not None:
        seconds = _trial_s(options.trial, is_standard=options.standard)
        times |= {"trial_s": seconds, "latency_s": seconds}
    lengths = _lengths(_several(options.frames))
    try:
        width = share(options.width, most=0.5)
    except UnitError as error:
        _refuse("width", str(options.width), str(error))
    return Settings(
        frames=lengths or FRAMES,
        width=width,
        search=options.search,
        is_bidirectional=options.bidirectional,
        streams=options.streams,
        port=options.port,
        venue=venue,
        is_standard=options.standard,
        services=tuple(map(service_of, _several(options.services))),
        **times,
    )


def _trial_s(written: Number, *, is_standard: bool) -> float:
    """Return the duration of a trial [s], of a number of seconds or a text with a unit."""
    from ethermeter.units import LONGEST_TRIAL_PS, PS_PER_S, UnitError, time_ps

    if is_standard:
        allowed = "expected without those of the standard, which has its own durations"
        _refuse("trial", str(written), allowed)
    text = written if isinstance(written, str) else f"{written!r} s"
    try:
        seconds = time_ps(text, positive=True, most_ps=LONGEST_TRIAL_PS) / PS_PER_S
    except UnitError as error:
        _refuse("trial", str(written), str(error))
    if seconds < LEAST_TRIAL_S:
        _refuse("trial", str(written), "expected at least 10 ms")
    return seconds


def _several(given: Sequence[str | int]) -> tuple[str, ...]:
    """Return what is given, of which a text alone is one."""
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def _lengths(given: Sequence[str]) -> tuple[int, ...]:
    """Read lengths of frames [octets], each text several with commas between them."""
    text = ",".join(given)
    allowed = f"expected lengths from 64 to {LONGEST_FRAME} with commas between them, each once"
    words = [word.strip() for each in given for word in each.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
        _refuse("frames", text, allowed)
    found = tuple(int(word) for word in words)
    if len(set(found)) < len(found) or not all(64 <= each <= LONGEST_FRAME for each in found):
        _refuse("frames", text, allowed)
    return found


def _bench(options: BenchmarkOptions, hosts: "Path | None", settings: "Settings") -> "Bench":
    """Return the device between testers, from a network file or from hosts at one device."""
    from ethermeter.api.experiments import locate
    from ethermeter.benchmark.bench import bench_of, network_of

    chosen = tuple(name.strip() for each in _several(options.testers) for name in each.split(","))
    network, rate, seed = options.network, options.rate, options.seed
    if hosts is None or network is not None:
        if rate is not None:
            _refuse("rate", str(rate), "expected with a file of hosts and without a network only")
        path = locate(network or NETWORK, argument="network")
        return network_of(path, testers=chosen, settings=settings, seed=seed)
    from ethermeter import hosts_file

    if rate is None:
        allowed = "required with a file of hosts without a network: the line rate"
        _refuse("rate", "(missing)", allowed)
    names = list(hosts_file.read(hosts).stations)
    document: dict[str, object] = {
        "title": f"Hosts of {hosts} at a device",
        "network": {
            "rate": rate if isinstance(rate, str) else f"{rate!r} bit/s",
            "hosts": [{"name": name} for name in names],
            "switches": [{"name": "device-under-test"}],
            "links": [{"ends": [name, "device-under-test"]} for name in names],
        },
    }
    seeded = document if seed is None else {**document, "seed": seed}
    return bench_of(seeded, hosts, testers=chosen, settings=settings)


def _refuse(field: str, value: str, allowed: str) -> NoReturn:
    raise InputError.of_argument(field, value, allowed)
