"""The command that runs a benchmark suite against a device between testers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ethermeter import json_values
from ethermeter.api.find.benchmark import Benchmarked, BenchmarkOptions, benchmark
from ethermeter.cli.command import Command, Values
from ethermeter.cli.guard import FAILED, say
from ethermeter.faults import InputError

if TYPE_CHECKING:
    from ethermeter.analysis.benchmark import BenchmarkAnswer
    from ethermeter.api.runs import Found

EXAMPLES = """\
  ethermeter find benchmark
  ethermeter find benchmark rfc2544 network=benchmark/switch
  ethermeter find benchmark rfc2544 network=dut.toml frames=64,512,1518 bidirectional=yes
  ethermeter find benchmark rfc2544 network=dut.toml --on testbed
  ethermeter find benchmark rfc2544 rate='1 Gb/s' standard=yes --on lab.toml
  ethermeter find benchmark rfc2889 network=dut.toml --csv > results.csv
  ethermeter find benchmark y1564 network=dut.toml \
service='voice: cir=2 Mb/s, frame=200 B, ftd=20 ms, fdv=5 ms, flr=0.1%'
  ethermeter compare runs/release-1 runs/release-2 --fail-below 2%"""


def blocks(found: Benchmarked, _: BenchmarkOptions) -> Iterator[object]:
    """Yield the suites, or the tests of one and where its run is."""
    from ethermeter.present import benchmark as layout
    from ethermeter.present import suites
    from ethermeter.present.runs import files

    if isinstance(found, tuple):
        yield from suites.suites(found)
        return
    yield from layout.benchmark(found.answer)
    yield from files(found.run)


def plain(found: Benchmarked) -> object:
    """Return the suites, or the answer of one and where its run is, as JSON values."""
    import msgspec

    if isinstance(found, tuple):
        return json_values.plain(found)
    run = found.run
    about = {
        "run": str(run.path),
        "failed": run.failed,
        "files": {name: str(path) for name, path in run.files.items()},
    }
    return json_values.plain(about | msgspec.to_builtins(found.answer))


def rows(found: Benchmarked) -> Iterable[Mapping[str, object]]:
    """Return a row for each suite, or for each value of one."""
    from ethermeter.analysis.benchmark import csv_rows

    if isinstance(found, tuple):
        return ({"name": each.name, "tests": each.tests} for each in found)
    return csv_rows(found.answer)


def end(found: Benchmarked, options: object) -> int:
    """Say which trials failed, and if the testers lose frames; return the exit code."""
    return 0 if isinstance(found, tuple) else _end(found)


def _end(found: "Found[BenchmarkAnswer]") -> int:
    failed, culprit = found.run.failed, found.answer.culprit
    for name, why in failed.items():
        say(f"ethermeter: trial {name}: {why}; it has no values")
    if culprit:
        say(f"ethermeter: the testers lose frames without the device: {culprit}")
    return FAILED if failed or culprit else 0


def _names(options: BenchmarkOptions) -> tuple[str, ...]:
    """Refuse a list of suites, which has no values; those of a suite are known with its answer."""
    if options.suite is None:
        raise InputError.of_argument("fail_if", "given without a suite", "one with a suite")
    return ()


_SETTINGS = ("network", "rate", "testers", "frames", "streams", "search", "width", "trial", "port")
COMMAND = Command(
    benchmark,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    end=end,
    values=Values(
        rows,
        ("test", "point"),
        names=_names,
        folder=lambda found, _: None if isinstance(found, tuple) else found.run.path,
    ),
    former={
        "--bidirectional": "bidirectional=yes",
        "--no-report": "none: a report is written",
        "--seed": "seed=N",
        "--service": "service=SERVICE",
        "--standard": "standard=yes",
        "--wires": "--on testbed,shaped",
        **{f"--{name}": f"{name}=VALUE" for name in _SETTINGS},
    },
)
