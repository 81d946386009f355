"""`python -m benches.sweep`: a large sweep on a Dask cluster, killed half-way and continued.

Reports points per second by workers, the memory of the coordinating process, and the report's size.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from ethermeter.quantities import number

from benches import machine
from benches.children import ChildError
from benches.tables import print_table

POINTS = 50_000
POINTS_A_LENGTH = 100
"""Ten numbers of stations on ten lengths of the segment, for each frame length."""
MOST_POINTS = 72_800
"""Up to frames of 1518 octets."""
SAMPLE_S = 0.2
LIMIT_S = 3600.0
MB = 1e6
TARGET_REPORT_MB = 10.0
TARGET_GROWTH = 1.1
"""Most memory at the end of the trials of a session over that after a tenth of them."""
FILE = """\
title = "Saturated segments by stations, frame length and length"
seed = 1

[segment]
standard = "ieee-10"
length = "250 m"

[[stations]]
count = 1
frames = "64 B"
arrivals = "saturated"

[vary]
"stations.count" = {{ from = 1, to = 10 }}
"stations.frames" = {{ from = "64 B", to = "{longest} B", step = "2 B" }}
"segment.length" = {{ from = "250 m", to = "2500 m", step = "250 m" }}

[phases]
settle = "10 ms"
transmit = "60 ms"
measure = "last 50 ms"
"""


def experiment(points: int) -> str:
    """Return an experiment file of so many points, a multiple of `POINTS_A_LENGTH`."""
    return FILE.format(longest=64 + 2 * (points // POINTS_A_LENGTH - 1))


@contextmanager
def cluster(workers: int, folder: Path) -> Iterator[str]:
    """Run a scheduler and workers of one thread each on this machine; the address for `--jobs`.

    Raises ChildError if they do not start.
    """
    file = folder / "scheduler.json"
    common = ("--no-dashboard", "--scheduler-file", str(file))
    local = ("--host", "127.0.0.1", "--port", "0")
    processes = [_daemon("scheduler", *local, *common)]
    try:
        _wait(lambda: bool(_address(file)), "the scheduler did not start")
        for number in range(workers):
            own = ("--no-nanny", "--nthreads", "1", "--local-directory", str(folder / f"{number}"))
            processes.append(_daemon("worker", *own, *common))
        address = _address(file)
        _wait_for_workers(address, workers)
        yield address
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _daemon(kind: str, *words: str) -> "subprocess.Popen[bytes]":
    # No pipes: nothing reads them.
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _address(file: Path) -> str:
    """Return the address in a scheduler's file; empty until it is written."""
    with suppress(FileNotFoundError, json.JSONDecodeError):
        return str(json.loads(file.read_text(encoding="utf-8"))["address"])
    return ""


def _wait(is_ready: Callable[[], bool], failure: str, *, limit_s: float = 60.0) -> None:
    end_s = time.monotonic() + limit_s
    while not is_ready():
        if time.monotonic() > end_s:
            raise ChildError(failure)
        time.sleep(0.05)


def _wait_for_workers(address: str, workers: int) -> None:
    distributed: Any = import_module("distributed")
    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=60)


@dataclass(slots=True)
class Session:
    """One process of `ethermeter run`, as seen from outside."""

    wall_s: float = 0.0
    points: int = 0
    """Points in part files that it wrote."""
    per_s: float | None = None
    """Points per second from its first part file to its last."""
    resident: list[tuple[float, int, float]] = field(default_factory=list)
    """Time since its start in s, points in part files, and its resident memory in MB."""
    peak_mb: float = 0.0
    """Most resident memory, estimates and report included."""

    def during_trials_mb(self) -> tuple[float, float] | None:
        """Resident memory after a tenth of its trials and at their end; None if not seen."""
        if not self.resident:
            return None
        first, last = self.resident[0][1], self.resident[-1][1]
        begun = [mb for _, points, mb in self.resident if points >= first + (last - first) / 10]
        ended = [mb for _, points, mb in self.resident if points < last]
        return (begun[0], ended[-1]) if begun and ended else None


class Parts:
    """Part files of a run, each read once."""

    def __init__(self, run: Path) -> None:
        self.folder = run / "parts"
        self.rows: dict[str, int] = {}
        self.times_s: list[tuple[float, int]] = []
        """When a part was there first, and its rows."""

    def count(self) -> int:
        """Return the points in all parts that are or were there."""
        for path in sorted(self.folder.glob("[0-9]*.parquet")):
            if path.name not in self.rows:
                # The recorder removes them at the end, maybe now.
                with suppress(FileNotFoundError):
                    self.rows[path.name] = pq.read_metadata(path).num_rows
                    self.times_s.append((time.monotonic(), self.rows[path.name]))
        return sum(self.rows.values())


def follow_run(words: Sequence[str], parts: Parts, *, kill_at: int | None) -> Session:
    """Run `ethermeter` with these words and watch it; kill it once so many points are on disk.

    Raises ChildError if it fails, or ends before it was to be killed.
    """
    before, begun_s, found = parts.count(), time.monotonic(), Session()
    seen = len(parts.times_s)
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "ethermeter", *words],
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            while process.poll() is None:
                points, at_s = parts.count(), time.monotonic() - begun_s
                if memory := _memory_mb(process.pid):
                    found.resident.append((at_s, points, memory["VmRSS"]))
                    found.peak_mb = memory["VmHWM"]
                if kill_at is not None and points >= kill_at:
                    process.send_signal(signal.SIGKILL)
                    break
                if at_s > LIMIT_S:
                    raise ChildError(f"ethermeter {words[0]}: not finished after {LIMIT_S:.0f} s")
                time.sleep(SAMPLE_S)
        finally:
            process.kill()
            process.wait()
        errors.seek(0)
        last = (errors.read().decode(errors="replace").strip().splitlines() or [""])[-1]
    if kill_at is not None and process.returncode == 0:
        # Parts are written once a second, and removed at the end.
        raise ChildError(f"ended before {kill_at} points were seen; --points: more")
    if process.returncode != (0 if kill_at is None else -signal.SIGKILL):
        raise ChildError(f"ethermeter {words[0]}: ended with {process.returncode}: {last}")
    found.wall_s = time.monotonic() - begun_s
    found.points = parts.count() - before
    times = parts.times_s[seen:]
    if len(times) > 1:
        found.per_s = sum(rows for _, rows in times[1:]) / (times[-1][0] - times[0][0])
    return found


def _memory_mb(pid: int) -> dict[str, float]:
    """Return `VmRSS` and `VmHWM` of a process: its resident memory now and at most, in MB.

    Empty if the process has ended.
    """
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    found = re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", text, re.MULTILINE)
    return {name: int(kibibytes) * 1024 / MB for name, kibibytes in found}


def measure(
    points: int, *, workers: Sequence[int], follow: Callable[[str], None]
) -> dict[str, Any]:
    """Run the sweep once for each number of workers; the last run is killed half-way and resumed.

    Returns the machine, and a row a session of `ethermeter run`; `report_mb` of a run that ended.
    Raises ChildError if a run fails, or the killed one does not end as the others.
    """
    here, rows, sums = machine.describe(), [], []
    with tempfile.TemporaryDirectory(prefix="ethermeter-bench-") as folder:
        file = Path(folder) / "sweep.toml"
        file.write_text(experiment(points), encoding="utf-8")
        for count in workers:
            run, scratch = Path(folder) / f"run-{count}", Path(folder) / f"cluster-{count}"
            scratch.mkdir()
            parts = Parts(run)
            with cluster(count, scratch) as address:
                what = "whole"
                words = ["run", str(file), "--out", str(run), "--jobs", address]
                if count == workers[-1]:
                    follow(f"{points} points, workers: {count}, to be killed half-way")
                    killed = follow_run(words, parts, kill_at=points // 2)
                    rows.append(_row("killed", count, killed))
                    what = "resumed"
                follow(f"{points} points, workers: {count}, to the end")
                ended = follow_run(words, parts, kill_at=None)
            report_mb = (run / "report.html").stat().st_size / MB
            rows.append({**_row(what, count, ended), "report_mb": report_mb})
            provenance = json.loads((run / "provenance.json").read_text(encoding="utf-8"))
            # The page has times.
            sums.append({**provenance["sha256"], "report.html": ""})
    if different := {name for of in sums for name in of if of[name] != sums[0].get(name)}:
        raise ChildError(f"these files of the runs differ: {', '.join(sorted(different))}")
    return {
        "machine": {**here, "load_at_end": machine.load()},
        "points": points,
        "sessions": rows,
    }


def _row(what: str, workers: int, session: Session) -> dict[str, Any]:
    begun_mb, ended_mb = session.during_trials_mb() or (None, None)
    return {
        "what": what,
        "workers": workers,
        "points": session.points,
        "points_per_s": session.per_s,
        "wall_s": session.wall_s,
        "begun_mb": begun_mb,
        "ended_mb": ended_mb,
        "peak_mb": session.peak_mb,
        "report_mb": None,
    }


def print_results(results: dict[str, Any]) -> None:
    """Print the results as text."""
    print(machine.line(results["machine"]))
    print(f"{results['points']} points on a Dask cluster of this machine; equal tables of all runs")
    heads = ["workers", "run", "points", "points/s", "wall s", "memory MB: first trials"]
    heads += ["last trials", "peak", "report MB", ""]
    print_table(
        heads,
        [
            [
                str(row["workers"]),
                row["what"],
                str(row["points"]),
                number(row["points_per_s"], digits=3),
                f"{row['wall_s']:.0f}",
                *(number(row[name], digits=3) for name in ("begun_mb", "ended_mb", "peak_mb")),
                number(row["report_mb"], digits=3),
                _verdict(row),
            ]
            for row in results["sessions"]
        ],
    )


def _verdict(row: dict[str, Any]) -> str:
    if row["begun_mb"] is None:
        return ""
    is_flat = row["ended_mb"] <= TARGET_GROWTH * row["begun_mb"]
    is_small = (row["report_mb"] or 0.0) <= TARGET_REPORT_MB
    return "PASS" if is_flat and is_small else "MISS"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 1 if a run failed, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.sweep",
        description="A large sweep on a Dask cluster of this machine, killed and resumed.",
    )
    parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON only")
    parser.add_argument(
        "--points",
        type=int,
        default=POINTS,
        metavar="N",
        help=f"points, a multiple of {POINTS_A_LENGTH} ({POINTS})",
    )
    parser.add_argument(
        "--workers",
        type=int,
        nargs="+",
        default=[1, 2],
        metavar="N",
        help="workers of each run; the last is the one that is killed (1 2)",
    )
    options = parser.parse_args(arguments)
    if options.points % POINTS_A_LENGTH or not 0 < options.points <= MOST_POINTS:
        allowed = f"a multiple of {POINTS_A_LENGTH} up to {MOST_POINTS}"
        parser.error(f"--points: must be {allowed}, got {options.points}")
    if min(options.workers) < 1:
        parser.error(f"--workers: must be at least 1, got {min(options.workers)}")
    try:
        results = measure(
            options.points,
            workers=options.workers,
            follow=lambda step: print(f"benches: {step}", file=sys.stderr, flush=True),
        )
    except ChildError as error:
        print(f"benches.sweep: {error}", file=sys.stderr)
        return 1
    if options.as_json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        print_results(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
