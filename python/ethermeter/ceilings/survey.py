"""The survey: the rate of every stage of this host alone, one after the other."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ethermeter.ceilings import constants, interfaces
from ethermeter.ceilings.value import Ceiling, LeftOut, Survey, computed, measured

CACHED_OCTETS, BEYOND_CACHE_OCTETS = 256 << 10, 64 << 20
PACKET_OCTETS = 1460
"""Data of a full TCP segment on Ethernet, without options."""


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of a survey.

    `is_quick`: a fifth of a second a stage instead of two, and wider intervals. `directory`:
    directory of the temporary file of the disk stages; the system's if None. `rate_bps`: line rate
    for the framing ceilings in bit/s; that of the fastest interface if None. `round_trip_s`:
    round-trip time for the window ceiling in s; left out if None. `window_octets`: TCP window for
    it; the kernel's largest receive buffer if None.
    """

    is_quick: bool = False
    directory: Path | None = None
    rate_bps: float | None = None
    round_trip_s: float | None = None
    window_octets: int | None = None

    @property
    def samples(self) -> int:
        """Repetitions of a stage."""
        return 5 if self.is_quick else 20

    @property
    def sample_ns(self) -> int:
        """Least duration of a sample in ns."""
        return 40_000_000 if self.is_quick else 100_000_000


@dataclass(frozen=True, slots=True)
class _Trial:
    name: str
    title: str
    stage: dict[str, object]
    how: str
    octets: int | None = None
    samples: int | None = None


class _Tried(msgspec.Struct, frozen=True):
    """Result of a `try` task, one entry for each sample."""

    bits_per_s: tuple[float, ...]
    taken_ns: tuple[int, ...]


def survey(options: Options, follow: Callable[[int, int], None] = lambda done, of: None) -> Survey:
    """Measure every stage of this host alone, in the order of a path from source to sink.

    `options`: settings. `follow`: called with the steps done and their number.
    """
    found = Survey()
    steps = list(_steps(options))
    before = _used_s()
    for done, step in enumerate(steps):
        follow(done, len(steps))
        step(found)
    follow(len(steps), len(steps))
    after = _used_s()
    if before is not None and after is not None:
        wall_s, others_s = (late - early for early, late in zip(before, after, strict=True))
        found.others = max(0.0, others_s) / wall_s if wall_s > 0 else None
    return found


def _used_s() -> tuple[float, float] | None:
    """Return the time and the CPU time of all processes but this one and its children, in s."""
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
        idle_and_waiting = (3, 4)
        # The last two are guests, which are in the first two already (proc(5)).
        busy_s = sum(
            int(ticks) for at, ticks in enumerate(fields[:8]) if at not in idle_and_waiting
        ) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None
    own = os.times()
    return own.elapsed, busy_s - (own.user + own.system + own.children_user + own.children_system)


def _steps(options: Options) -> Iterator[Callable[[Survey], None]]:
    for trial in _before(options):
        yield lambda found, trial=trial: _try(found, trial, options)  # type: ignore[misc]
    yield lambda found: _frames(found, options)
    yield interfaces.look
    yield lambda found: found.ceilings.append(constants.pci_33())
    yield lambda found: _framing(found, options)
    yield lambda found: _window(found, options)
    for trial in _after(options):
        yield lambda found, trial=trial: _try(found, trial, options)  # type: ignore[misc]


def _before(options: Options) -> Iterator[_Trial]:
    yield _disk(options, "read-direct", "Disk, read", "without the page cache (O_DIRECT)")
    title = "Disk, read from the page cache"
    yield _disk(options, "read-cached", title, "a file that was just written")
    copy = "memcpy into another buffer of the same size, already allocated"
    yield _Trial(
        "memory-copy",
        "Memory copy",
        {"stage": "copy", "octets": BEYOND_CACHE_OCTETS},
        f"{copy}; 64 MiB, beyond most caches",
    )
    yield _Trial(
        "memory-copy-cached",
        "Memory copy, in the cache",
        {"stage": "copy", "octets": CACHED_OCTETS},
        f"{copy}; 256 KiB",
    )
    yield _Trial(
        "checksum",
        "Internet checksum by software",
        {"stage": "checksum", "octets": PACKET_OCTETS},
        f"RFC 1071 over {PACKET_OCTETS} octets that are in the cache",
        PACKET_OCTETS,
    )
    yield _Trial(
        "system-call",
        "A system call for each packet",
        {"stage": "call", "octets": PACKET_OCTETS},
        f"write of {PACKET_OCTETS} octets to /dev/null: kernel entry and exit, no copy",
        PACKET_OCTETS,
    )
    for octets in (1472, 18):
        yield _Trial(
            f"udp-stack-{octets}",
            f"UDP stack, {octets} octets a datagram",
            {"stage": "datagram", "octets": octets},
            f"a datagram of {octets} octets to itself over loopback, two calls, one thread",
            octets,
        )
    yield _Trial(
        "tcp-loopback",
        "TCP over loopback",
        {"stage": "loopback"},
        "two threads, 128 KiB a call; with the system's offloads",
    )


def _after(options: Options) -> Iterator[_Trial]:
    title = "Disk, write to the page cache"
    yield _disk(options, "write-cached", title, "without waiting for the disk")
    yield _disk(options, "write-synced", "Disk, write", "until fsync has returned")
    title = "Disk, write without the page cache"
    yield _disk(options, "write-direct", title, "O_DIRECT, 1 MiB a call")


def _disk(options: Options, way: str, title: str, how: str) -> _Trial:
    octets = (16 if options.is_quick else 64) << 20
    directory = str(options.directory or tempfile.gettempdir())
    stage = {"stage": "disk", "directory": directory, "octets": octets, "access": way}
    text = (
        f"a temporary file of {octets >> 20} MiB in {directory}, {how}; "
        "the disk of a virtual machine may be in memory"
    )
    return _Trial(f"disk-{way}", title, stage, text, samples=5)


def _task(stage: Mapping[str, object], samples: int, options: Options) -> dict[str, object]:
    sampling = {"samples": samples, "sample_ns": options.sample_ns}
    return {"try": {"stage": stage, "sampling": sampling}}


def _try(found: Survey, trial: _Trial, options: Options) -> None:
    from ethermeter._core import host_task

    task = _task(trial.stage, trial.samples or options.samples, options)
    try:
        samples = msgspec.json.decode(host_task(json.dumps(task)), type=_Tried).bits_per_s
    except OSError as error:
        found.left_out.append(LeftOut(trial.name, str(error)))
        return
    found.ceilings.append(
        measured(trial.name, trial.title, samples, how=trial.how, octets=trial.octets)
    )


def _frames(found: Survey, options: Options) -> None:
    """Add the rate of frames over a virtual wire: one call a frame, and the receive path."""
    from ethermeter.testbed import TestbedError, make_testbed
    from ethermeter.testbed.commands import run
    from ethermeter.testbed.worker import Worker

    name = "softirq"
    if os.geteuid() != 0:
        found.left_out.append(LeftOut(name, "a virtual wire between network namespaces needs root"))
        return
    try:
        with make_testbed() as testbed, Worker.on(testbed.hosts[0]) as worker:
            sender, receiver = testbed.hosts

            counter = f"/sys/class/net/{receiver.interface}/statistics/rx_packets"

            def received() -> int:
                return int(run(receiver.command("cat", counter)))

            for octets in (60, 1514):
                samples = []
                stage = {"stage": "frames", "interface": sender.interface, "octets": octets}
                for _ in range(options.samples):
                    task = _task(stage, 1, options)
                    before = received()
                    (taken_ns,) = worker.do(task, _Tried, within_s=30.0).taken_ns
                    samples.append(8 * octets * (received() - before) / (taken_ns * 1e-9))
                how = (
                    f"raw frames of {octets + 4} octets (with the FCS, which a virtual wire has"
                    " not), a call each, over a virtual wire to a host without a receiver:"
                    " counted there"
                )
                title = f"Calls and receive interrupts, frames of {octets + 4} octets"
                found.ceilings.append(
                    measured(f"{name}-{octets + 4}", title, samples, how=how, octets=octets)
                )
    except TestbedError as error:
        found.left_out.append(LeftOut(name, str(error)))


def _framing(found: Survey, options: Options) -> None:
    rates: Mapping[str, float] = {
        each.name: each.estimate.value for each in found.ceilings if each.name.startswith("nic-")
    }
    rate_bps = options.rate_bps or max(rates.values(), default=None)
    if rate_bps is None:
        found.left_out.append(
            LeftOut("framing", "no line rate: none is given, and no interface reports one")
        )
        return
    if options.rate_bps is not None:
        found.ceilings.append(computed("wire", "Wire", options.rate_bps, how="as given"))
    found.ceilings += constants.framing(rate_bps)


def _window(found: Survey, options: Options) -> None:
    if options.round_trip_s is None:
        found.left_out.append(LeftOut("window", "no round-trip time of a path is given"))
        return
    octets = options.window_octets
    if octets is None:
        try:
            octets = int(Path("/proc/sys/net/ipv4/tcp_rmem").read_text(encoding="ascii").split()[2])
        except (OSError, ValueError, IndexError):
            found.left_out.append(
                LeftOut("window", "no window is given, and the kernel reports no receive buffer")
            )
            return
    ceiling: Ceiling = constants.window(octets, options.round_trip_s)
    found.ceilings.append(ceiling)
