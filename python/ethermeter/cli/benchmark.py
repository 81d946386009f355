"""The command that runs a benchmark suite against a device between testers."""

import csv
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.output import print_json, show
from ethermeter.cli.summary import print_files, search_and_sum_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ethermeter.benchmark import Bench, Settings
    from ethermeter.engines.live import Place

EXAMPLES = """\
  ethermeter benchmark --list
  ethermeter benchmark rfc2544 --network benchmark/switch
  ethermeter benchmark rfc2544 --network dut.toml --frames 64,512,1518 --bidirectional
  ethermeter benchmark rfc2544 --network dut.toml --testbed
  ethermeter benchmark rfc2544 --hosts lab.toml --rate '1 Gb/s' --standard
  ethermeter benchmark rfc2889 --network dut.toml --csv results.csv --json
  ethermeter benchmark y1564 --network dut.toml \
--service 'voice: cir=2 Mb/s, frame=200 B, ftd=20 ms, fdv=5 ms, flr=0.1%'
  ethermeter compare runs/release-1 runs/release-2 --fail-below 2%"""
NETWORK = "benchmark/switch"
"""Network of a suite unless another is given."""
LONGEST_FRAME = 9018


def benchmark(
    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUITE]",
            show_default=False,
            help="Name of a suite; --list shows them.",
            autocompletion=completion.suites,
        ),
    ] = None,
    *,
    listed: Annotated[
        bool, typer.Option("--list", help="List the suites and their tests.")
    ] = False,
    network: Annotated[
        str | None,
        typer.Option(
            "--network",
            metavar="FILE",
            show_default=False,
            help="Experiment file, or name of a shipped one, with the device between testers; "
            "benchmark/switch unless given. The flows of the suite replace those of the file.",
        ),
    ] = None,
    testbed: Annotated[
        bool,
        typer.Option("--testbed", help="Measure on a testbed of that network. Needs root."),
    ] = False,
    hosts: Annotated[
        Path | None,
        typer.Option(
            "--hosts",
            metavar="FILE",
            show_default=False,
            help="Measure between the agents of these hosts; without --network all are testers.",
        ),
    ] = None,
    wires: Annotated[
        Literal["relay", "shaped"],
        typer.Option(
            "--wires", help="With --testbed: how links get their rate, as for ethermeter measure."
        ),
    ] = "relay",
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            show_default=False,
            help="Line rate of the hosts, with --hosts and without --network.",
        ),
    ] = None,
    testers: Annotated[
        str | None,
        typer.Option(
            "--testers",
            metavar="HOST,HOST",
            show_default=False,
            help="Hosts that send and receive; all hosts of the network unless given.",
        ),
    ] = None,
    frames: Annotated[
        str | None,
        typer.Option(
            "--frames",
            metavar="OCTETS",
            show_default=False,
            help="Frame lengths in octets; 64,128,256,512,1024,1280,1518 unless given.",
        ),
    ] = None,
    bidirectional: Annotated[
        bool, typer.Option("--bidirectional", help="Send in both directions at once.")
    ] = False,
    streams: Annotated[
        int,
        typer.Option(
            "--streams", min=1, max=64, help="Number of streams from one tester to another."
        ),
    ] = 1,
    search: Annotated[
        Literal["mlr", "binary"],
        typer.Option("--search", help="Search method: MLRsearch, or bisection as in RFC 2544."),
    ] = "mlr",
    width: Annotated[
        str,
        typer.Option(
            "--width",
            metavar="SHARE",
            help="Largest relative difference between a found rate and a rate that loses frames.",
        ),
    ] = "0.5%",
    standard: Annotated[
        bool,
        typer.Option(
            "--standard",
            help="Durations of the standards: trials of 60 s; latency over 120 s, 20 times.",
        ),
    ] = False,
    trial: Annotated[
        str | None,
        typer.Option(
            "--trial",
            metavar="TIME",
            show_default=False,
            help="Duration of a trial; 1 s unless given.",
        ),
    ] = None,
    port: Annotated[
        Literal["udp", "packet", "xdp"],
        typer.Option("--port", help="Socket type with which hosts send."),
    ] = "udp",
    services: Annotated[
        list[str] | None,
        typer.Option(
            "--service",
            metavar="SERVICE",
            show_default=False,
            help="Service of y1564: 'NAME: cir=RATE, eir=RATE, frame=SIZE, ftd=TIME, fdv=TIME, "
            "flr=SHARE'; can be given several times.",
        ),
    ] = None,
    csv_file: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            show_default=False,
            help="Also write every value to this CSV file.",
        ),
    ] = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
) -> None:
    """Run a benchmark suite: simulated, on a testbed, or between hosts of a laboratory.

    Exit code 1 if the testers lose frames without the device, so that no search is possible, or if
    an agent was lost; 2 for invalid input; 130 after Ctrl-C: continue with --resume.
    """
    from ethermeter.benchmark import SUITES, load
    from ethermeter.cli.voice_values import refuse
    from ethermeter.faults import choices

    if listed:
        _list(as_json=as_json)
        return
    if suite is None or suite not in SUITES:
        refuse("SUITE", suite or "(missing)", choices(suite or "", SUITES))
    from ethermeter.analysis.benchmark import csv_rows, read
    from ethermeter.present import benchmark as layout
    from ethermeter.run import RunOptions
    from ethermeter.strategies.benchmark import Benchmark

    if testbed and hosts is not None:
        refuse("--testbed", "given with --hosts", "expected one of them")
    venue: Literal["simulation", "testbed", "hosts"] = (
        "testbed" if testbed else "hosts" if hosts is not None else "simulation"
    )
    settings = _settings(
        venue=venue,
        frames=frames,
        standard=standard,
        trial=trial,
        width=width,
        search=search,
        bidirectional=bidirectional,
        streams=streams,
        port=port,
        services=services or (),
    )
    bench = _bench(network, hosts, rate, testers, settings, seed)
    with ExitStack() as stack:
        place: Place | None = None
        where = "simulation"
        if hosts is not None:
            from ethermeter import hosts_file
            from ethermeter.engines.live import Hosts

            place = Hosts(hosts_file.read(hosts).laboratory())
            where = f"hosts of {hosts}"
        elif testbed:
            from ethermeter.engines.live import Kept, Local
            from ethermeter.testbed.commands import require

            require("ip", "tc", "ethtool")
            place = stack.enter_context(Kept(Local("testbed", wires)))
            where = place.name
        strategy = Benchmark(load(suite, bench), venue=where)
        run_options = RunOptions(
            jobs=jobs, resume=resume, force=force, command=tuple(sys.argv), seed=seed
        )
        run, summary = search_and_sum_up(
            strategy, run_options, out=out, report=not no_report, place=place
        )
    text = run.answer()
    answer = read(text, file=str(run.path))
    if csv_file is not None:
        with csv_file.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(csv_rows(answer))
    if as_json:
        import json

        print_json(
            {
                "run": str(run.path),
                "failed": summary.failed,
                "files": {name: str(path) for name, path in summary.written.items()},
                **json.loads(text),
            }
        )
    else:
        show(layout.benchmark(answer, file=csv_file))
        print_files(summary)
    for name, why in summary.failed.items():
        say(f"ethermeter: trial {name}: {why}; it has no values")
    if answer.culprit:
        say(f"ethermeter: the testers lose frames without the device: {answer.culprit}")
    if summary.failed or answer.culprit:
        raise typer.Exit(FAILED)


def _list(*, as_json: bool) -> None:
    from ethermeter.benchmark.suites import ABOUT
    from ethermeter.present import benchmark as layout

    if as_json:
        print_json([{"name": name, "tests": tests} for name, tests in ABOUT.items()])
        return
    show(layout.suites(ABOUT))


def _settings(
    *,
    venue: Literal["simulation", "testbed", "hosts"],
    frames: str | None,
    standard: bool,
    trial: str | None,
    width: str,
    search: Literal["mlr", "binary"],
    bidirectional: bool,
    streams: int,
    port: str,
    services: "Sequence[str]",
) -> "Settings":
    from ethermeter import units
    from ethermeter.benchmark.bench import FRAMES, Settings, durations
    from ethermeter.benchmark.services import service_of
    from ethermeter.cli.voice_values import refuse

    times = durations(venue, is_standard=standard)
    if trial is not None:
        if standard:
            refuse("--trial", trial, "expected without --standard, which has its own durations")
        try:
            seconds = units.time_ps(trial, positive=True, most_ps=units.LONGEST_TRIAL_PS) / 1e12
        except units.UnitError as error:
            refuse("--trial", trial, str(error))
        if seconds < LEAST_TRIAL_S:
            refuse("--trial", trial, "expected at least 10 ms")
        times |= {"trial_s": seconds, "latency_s": seconds}
    return Settings(
        frames=FRAMES if frames is None else _lengths(frames),
        width=share_of("--width", width, most=0.5),
        search=search,
        is_bidirectional=bidirectional,
        streams=streams,
        port=port,
        venue=venue,
        is_standard=standard,
        services=tuple(service_of(text) for text in services),
        **times,
    )


LEAST_TRIAL_S = 0.01


def share_of(option: str, text: str, *, most: float) -> float:
    """Read a share such as 0.5%; refuses others than above 0 and up to `most`."""
    from ethermeter.cli.voice_values import refuse

    allowed = f'expected a share above 0% and up to {100 * most:g}%, such as "0.5%"'
    try:
        value = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        refuse(option, text, allowed)
    if not text.strip().endswith("%") or not 0 < value <= most:
        refuse(option, text, allowed)
    return value


def _lengths(text: str) -> tuple[int, ...]:
    from ethermeter.cli.voice_values import refuse

    allowed = f"expected lengths from 64 to {LONGEST_FRAME} with commas between them, each once"
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
        refuse("--frames", text, allowed)
    found = tuple(int(word) for word in words)
    if len(set(found)) < len(found) or not all(64 <= each <= LONGEST_FRAME for each in found):
        refuse("--frames", text, allowed)
    return found


def _bench(
    network: str | None,
    hosts: Path | None,
    rate: str | None,
    testers: str | None,
    settings: "Settings",
    seed: int | None,
) -> "Bench":
    """Return the device between testers, from a network file or from hosts at one device."""
    from ethermeter import api
    from ethermeter.benchmark.bench import bench_of, network_of
    from ethermeter.cli.voice_values import refuse

    chosen = () if testers is None else tuple(name.strip() for name in testers.split(","))
    if hosts is not None and network is None:
        from ethermeter import hosts_file

        if rate is None:
            refuse("--rate", "(missing)", "required with --hosts without --network: the line rate")
        names = list(hosts_file.read(hosts).stations)
        document: dict[str, object] = {
            "title": f"Hosts of {hosts} at a device",
            "network": {
                "rate": rate,
                "hosts": [{"name": name} for name in names],
                "switches": [{"name": "device-under-test"}],
                "links": [{"ends": [name, "device-under-test"]} for name in names],
            },
        }
        return bench_of(_seeded(document, seed), hosts, testers=chosen, settings=settings)
    if rate is not None:
        refuse("--rate", rate, "expected with --hosts and without --network only")
    return network_of(api.locate(network or NETWORK), testers=chosen, settings=settings, seed=seed)


def _seeded(document: dict[str, object], seed: int | None) -> dict[str, object]:
    return document if seed is None else {**document, "seed": seed}


def is_benchmark(directory: Path) -> bool:
    """Whether a directory has the finished run of a benchmark."""
    from ethermeter.analysis.benchmark import read
    from ethermeter.faults import InputError
    from ethermeter.store import RunDirectory

    run = RunDirectory(directory)
    try:
        if not run.is_search() or not run.is_finished():
            return False
        read(run.answer(), file=str(directory))
    except (InputError, OSError):
        return False
    return True


TOLERANCE = "2%"
"""Relative change up to which values count as the same unless another one is given."""


def compare(first: Path, second: Path, *, fail_below: str | None, as_json: bool) -> None:
    """Compare two benchmarks, and exit with 1 if the second is worse by more than `fail_below`."""
    import msgspec

    from ethermeter import api
    from ethermeter.analysis import benchmark as results
    from ethermeter.cli.voice_values import refuse
    from ethermeter.present import benchmark as layout

    tolerance = share_of("--fail-below", fail_below or TOLERANCE, most=1.0)
    answers = []
    for directory in (first, second):
        run = api.open(directory).directory
        if not run.is_search():
            allowed = "expected the runs of two benchmarks (ethermeter benchmark)"
            refuse("RUN", str(directory), allowed)
        answers.append(results.read(run.answer(), file=str(directory)))
    found = results.compare(answers[0], answers[1], tolerance=tolerance)
    is_regression = results.is_regression(found)
    if as_json:
        print_json(
            {
                "suite": answers[0].suite,
                "tolerance": tolerance,
                "regression": is_regression,
                "differences": msgspec.to_builtins(found),
            }
        )
    else:
        show(layout.comparison(found, tolerance=tolerance))
    if is_regression and fail_below is not None:
        raise typer.Exit(FAILED)
