"""Other simulators on one scenario: saturated stations, 10 Mb/s, 6 us between any two.

Each station sends to the next.
"""

import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.children import ChildError, run_child
from benches.scenario import LENGTHS, PEERS_NET, Length, trial_for_peers
from benches.speed import Effort, Timing, time_trial

FILES = Path(__file__).parent / "peer_scenarios"
STATIONS = (2, 24)
DELAY_NS = PEERS_NET.round_trip_us * 1000 // 2
SEED = 1988
LIMIT_S = 120.0
BUILD_LIMIT_S = 300.0
NS3_LIBRARIES = ("-lns3-csma", "-lns3-network", "-lns3-core")
OURS_RUNS = 3
FIRST_SIMULATED_S = 5
SMALLEST_CPU_S = 0.01
NS2_NOTE = (
    "Mac/802_3: no preamble; the jam is waited for, not sent; frames are dropped after 16"
    " attempts, as in ours"
)
NS3_NOTE = (
    "CsmaHelper: no collisions, the medium is seen busy everywhere at once; a station that finds"
    " it busy backs off; no preamble"
)


class NotInstalledError(Exception):
    """The peer is not installed; the message names what is missing."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A simulator that is ready to run."""

    name: str
    version: str | None
    note: str
    command: Callable[[int, Length, int], list[str]]
    """Command line for stations, length and time to simulate, in s."""


@contextmanager
def ns2(manner: str) -> Iterator[Peer]:
    """Find ns-2.

    Parameters
    ----------
    manner
        `shipped`, or `lean`: with every advantage that ns-2 offers.

    Raises
    ------
    NotInstalledError
        If there is no command `ns`.

    """
    program = shutil.which("ns")
    if program is None:
        raise NotInstalledError("no command ns (Debian package ns2)")

    def command(stations: int, length: Length, simulated_s: int) -> list[str]:
        script = str(FILES / "segment.tcl")
        return [
            program,
            script,
            str(stations),
            str(length.frame_octets),
            str(simulated_s),
            f"{DELAY_NS}e-9",
            str(SEED),
            manner,
        ]

    version = re.search(
        r"^version (\S+)$", run_child(command(2, LENGTHS[0], 0), limit_s=LIMIT_S).out, re.MULTILINE
    )
    notes = {"shipped": NS2_NOTE, "lean": f"{NS2_NOTE}; fewer headers, shared packets, splay tree"}
    yield Peer(f"ns-2 {manner}", version[1] if version else None, notes[manner], command)


@contextmanager
def ns3() -> Iterator[Peer]:
    """Find ns-3 and build our scenario against it, in a folder that is removed at the end.

    Raises
    ------
    NotInstalledError
        If there is no C++ compiler, or it does not find the headers of ns-3.
    ChildError
        If the scenario cannot be built.

    """
    with ns3_program("segment", "csma", libraries=NS3_LIBRARIES) as program:

        def command(stations: int, length: Length, simulated_s: int) -> list[str]:
            return [
                program,
                str(stations),
                str(length.frame_octets),
                str(simulated_s),
                str(DELAY_NS),
                str(SEED),
            ]

        yield Peer("ns-3", ns3_version(), NS3_NOTE, command)


@contextmanager
def ns3_program(scenario: str, module: str, *, libraries: Sequence[str]) -> Iterator[str]:
    """Build a scenario against ns-3.

    Parameters
    ----------
    scenario
        Name of its source, without the ending.
    module
        The module of ns-3 without which it cannot be built.
    libraries
        Options for the linker.

    Yields
    ------
    :
        The program, in a folder that is removed at the end.

    Raises
    ------
    NotInstalledError
        If there is no C++ compiler, or it does not find the header of the module.
    ChildError
        If the scenario cannot be built.

    """
    compiler = shutil.which("c++")
    if compiler is None:
        raise NotInstalledError("no command c++")
    with tempfile.TemporaryDirectory(prefix="ethermeter-bench-") as folder:
        header = f"ns3/{module}-module.h"
        probe = Path(folder) / "probe.cc"
        probe.write_text(
            f"#if !__has_include(<{header}>)\n#error no ns-3\n#endif\n", encoding="utf-8"
        )
        try:
            run_child([compiler, "-std=c++17", "-fsyntax-only", str(probe)], limit_s=LIMIT_S)
        except ChildError:
            raise NotInstalledError(f"no header {header} (Debian package libns3-dev)") from None
        program = str(Path(folder) / scenario)
        source = str(FILES / f"{scenario}.cc")
        run_child(
            [compiler, "-std=c++17", "-O2", "-o", program, source, *libraries],
            limit_s=BUILD_LIMIT_S,
        )
        yield program


PEERS: dict[str, Callable[[], Any]] = {
    "ns-2 shipped": lambda: ns2("shipped"),
    "ns-2 lean": lambda: ns2("lean"),
    "ns-3": ns3,
}


def measure_peers(effort: Effort, *, follow: Callable[[str], None]) -> list[dict[str, Any]]:
    """Time every peer and ourselves, in turn, on the same trials.

    Parameters
    ----------
    effort
        How long to measure.
    follow
        Told what is measured next.

    Returns
    -------
    :
        A row a peer and trial; `ratio` is our frames per CPU-second over the peer's. A peer that
        could not be run has rows too: their `status` says why, and they have no numbers.

    """
    rows = []
    with ExitStack() as ready:
        found: dict[str, Peer | str] = {}
        for name, find in PEERS.items():
            follow(f"peers: looking for {name}")
            try:
                found[name] = ready.enter_context(find())
            except NotInstalledError as error:
                found[name] = f"not installed: {error}"
            except ChildError as error:
                found[name] = f"failed: {error}"
        for stations in STATIONS:
            for length in LENGTHS:
                trial = trial_for_peers(
                    stations=stations, length=length, simulated_s=effort.simulated_s[length]
                )
                ours = time_trial(trial, runs=min(effort.runs, OURS_RUNS))
                for name, peer in found.items():
                    follow(f"peers: {name}, {stations} stations, {length.name}")
                    rows.append(
                        row_of(name, peer, ours, stations=stations, length=length, effort=effort)
                    )
    return rows


def row_of(
    name: str, peer: Peer | str, ours: Timing, *, stations: int, length: Length, effort: Effort
) -> dict[str, Any]:
    """Time a peer on one trial.

    Parameters
    ----------
    name
        Of the peer.
    peer
        The peer, or why there is none.
    ours
        What we took for the same trial.
    stations, length
        The trial.
    effort
        How long to measure.

    Returns
    -------
    :
        A row of `measure_peers`.

    """
    row: dict[str, Any] = {
        "peer": name,
        "version": peer.version if isinstance(peer, Peer) else None,
        "note": peer.note if isinstance(peer, Peer) else None,
        "status": "measured" if isinstance(peer, Peer) else peer,
        "stations": stations,
        "length": length.name,
        "simulated_s": None,
        "frames": None,
        "cpu_s": None,
        "frames_per_cpu_s": None,
        "frames_per_simulated_s": None,
        "ours_frames_per_cpu_s": ours.best,
        "ours_frames_per_simulated_s": ours.frames_per_simulated_s,
        "ratio": None,
    }
    if isinstance(peer, Peer):
        try:
            row.update(_run(peer, stations=stations, length=length, wanted_s=effort.peers_cpu_s))
            row["ratio"] = ours.best / row["frames_per_cpu_s"]
        except ChildError as error:
            row["status"] = f"failed: {error}"
    return row


def _run(peer: Peer, *, stations: int, length: Length, wanted_s: float) -> dict[str, Any]:
    def command(simulated_s: int) -> list[str]:
        return peer.command(stations, length, simulated_s)

    run = run_long_enough(peer.name, command, first=FIRST_SIMULATED_S, unit="s", wanted_s=wanted_s)
    return {
        "simulated_s": run.simulated,
        "frames": run.frames,
        "cpu_s": run.cpu_s,
        "frames_per_cpu_s": run.frames / run.cpu_s,
        "frames_per_simulated_s": run.frames / run.simulated,
    }


@dataclass(frozen=True, slots=True)
class Run:
    """A peer's run that was long enough."""

    simulated: int
    """In the unit of the peer's command line."""
    frames: int
    cpu_s: float
    """Start-up apart."""
    out: str


def run_long_enough(
    name: str,
    command: Callable[[int], list[str]],
    *,
    first: int,
    unit: str,
    wanted_s: float,
    runs: int = 1,
) -> Run:
    """Run a peer for longer and longer times, until its start-up does not matter.

    Parameters
    ----------
    name
        Of the peer.
    command
        Command line for a time to simulate, in whatever unit it takes.
    first
        Time to begin with, in that unit.
    unit
        The unit's name.
    wanted_s
        CPU time, start-up apart, that the run takes at least, in s.
    runs
        How often that run is made, at least 1.

    Returns
    -------
    :
        Of the runs that were long enough, the one that took least: other load on the machine can
        only lengthen it.

    Raises
    ------
    ChildError
        If a run fails, takes too long or delivers nothing.

    """
    # What a run that simulates nothing takes is start-up, which is not what is compared: our own is
    # not counted either.
    start_up = run_child(command(0), limit_s=LIMIT_S)
    simulated = first
    while True:
        done = run_child(command(simulated), limit_s=LIMIT_S)
        printed = re.search(r"^frames ([1-9]\d*)$", done.out, re.MULTILINE)
        if printed is None:
            raise ChildError(f"{name}: delivered nothing in {simulated} {unit}")
        cpu_s = done.cpu_s - start_up.cpu_s
        if cpu_s >= wanted_s:
            again = [
                run_child(command(simulated), limit_s=LIMIT_S).cpu_s - start_up.cpu_s
                for _ in range(runs - 1)
            ]
            return Run(simulated, int(printed[1]), min([cpu_s, *again]), done.out)
        # Too short to distinguish from start-up. Aim a little beyond the wanted time, in steps that
        # survive a bad guess.
        simulated = math.ceil(simulated * min(10.0, 1.2 * wanted_s / max(cpu_s, SMALLEST_CPU_S)))


def ns3_version() -> str | None:
    """Return the version of ns-3 by pkg-config, or None; it is only printed."""
    try:
        return (
            run_child(["pkg-config", "--modversion", "ns3-core"], limit_s=LIMIT_S).out.strip()
            or None
        )
    except ChildError:
        return None
