"""What was measured, as tables for a person."""

from collections.abc import Sequence
from typing import Any

from ethermeter.blocks import Table
from ethermeter.cli.output import show
from ethermeter.quantities import number

MILLION = 1e6


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, as wide as the terminal at most."""
    show([Table(head, rows, "")])


def print_results(results: dict[str, Any]) -> None:
    """Print all results, the targets last.

    Parameters
    ----------
    results
        As `--json` prints them.

    """
    machine = results["machine"]
    print(
        f"{machine['cpu']}, {machine['processors']} processors, {machine['system']}, Python"
        f" {machine['python']}"
    )
    print(
        f"load {machine['load']} before, {machine['load_at_end']} after; whatever else ran"
        " meanwhile has made all of this slower"
    )
    if results["quick"]:
        print("--quick: too short for numbers worth keeping")
    _print_speed(results["speed"])
    _print_reference(results["reference"])
    _print_buses(results["buses"])
    _print_switched(results["switched"])
    if results["peers"] is not None:
        _print_peers(results["peers"])
    _print_study(results["study"])
    _print_targets(results)


def _print_speed(rows: Sequence[dict[str, Any]]) -> None:
    print(
        "\nSimulator: delivered frames per CPU-second, in millions; all statistics on, one"
        " thread, hosts of 1988"
    )
    print_table(
        [
            "net",
            "round trip us",
            "stations",
            "length",
            "best",
            "median",
            "runs",
            "attempts/frame",
            "utilisation",
        ],
        [
            [
                row["net"],
                str(row["round_trip_us"]),
                str(row["stations"]),
                row["length"],
                _millions(row["best_frames_per_cpu_s"]),
                _millions(row["median_frames_per_cpu_s"]),
                str(row["runs"]),
                f"{row['attempts_per_frame']:.2f}",
                f"{row['utilisation']:.4f}",
            ]
            for row in rows
        ],
    )


def _print_reference(row: dict[str, Any]) -> None:
    print(
        f"\nThe same frames by both implementations ({row['net']} net, {row['stations']}"
        f" stations, {row['length']}): "
        f"fast {_millions(row['fast_frames_per_cpu_s'])} M, reference"
        f" {_millions(row['reference_frames_per_cpu_s'])} M "
        f"frames per CPU-second; ratio {row['ratio']:.0f}"
    )


def _print_buses(rows: Sequence[dict[str, Any]]) -> None:
    print(
        "\n10BASE-T1S with PLCA: delivered frames of 64 octets per CPU-second, in millions; fast"
        " and reference"
    )
    print_table(
        ["bus", "fast M/s", "reference M/s", "ratio"],
        [
            [
                row["bus"],
                _millions(row["fast_frames_per_cpu_s"]),
                _millions(row["reference_frames_per_cpu_s"]),
                f"{row['ratio']:.0f}",
            ]
            for row in rows
        ],
    )


def _print_switched(rows: Sequence[dict[str, Any]]) -> None:
    print(
        "\nSwitched: delivered frames per CPU-second, in millions; saturated hosts on a"
        " learning switch, 1 Gb/s full duplex"
    )
    print_table(
        [
            "peer",
            "hosts",
            "frame",
            "peer M/s",
            "ours M/s",
            "ratio",
            "peer delivered/offered",
            "ours",
            "status",
        ],
        [
            [
                f"{row['peer']} {row['version'] or ''}".strip(),
                str(row["hosts"]),
                f"{row['frame_octets']} B",
                _millions(row["frames_per_cpu_s"]),
                _millions(row["ours_frames_per_cpu_s"]),
                number(row["ratio"], digits=3),
                number(row["delivered_share"], digits=5),
                number(row["ours_delivered_share"], digits=5),
                row["status"],
            ]
            for row in rows
        ],
    )
    _print_notes(rows)


def _print_notes(rows: Sequence[dict[str, Any]]) -> None:
    for name, note in {row["peer"]: row["note"] for row in rows}.items():
        if note is not None:
            print(f"{name}: {note}")


def _print_peers(rows: Sequence[dict[str, Any]]) -> None:
    print(
        "\nPeers: delivered frames per CPU-second, in millions; equal delays of 6 us, no"
        " preamble, no time between frames but the gap"
    )
    print_table(
        [
            "peer",
            "stations",
            "length",
            "peer M/s",
            "ours M/s",
            "ratio",
            "peer frames/s simulated",
            "ours",
            "status",
        ],
        [
            [
                f"{row['peer']} {row['version'] or ''}".strip(),
                str(row["stations"]),
                row["length"],
                _millions(row["frames_per_cpu_s"]),
                _millions(row["ours_frames_per_cpu_s"]),
                number(row["ratio"], digits=3),
                number(row["frames_per_simulated_s"], digits=5),
                number(row["ours_frames_per_simulated_s"], digits=5),
                row["status"],
            ]
            for row in rows
        ],
    )
    _print_notes(rows)


def _print_study(rows: Sequence[dict[str, Any]]) -> None:
    print("\nStudy: ethermeter study boggs1988, times in s")
    print_table(
        [
            "what",
            "trials",
            "threads",
            "until last trial",
            "in the simulator",
            "whole command",
            "its CPU",
            "status",
        ],
        [
            [
                row["what"],
                *("–" if row[key] is None else str(row[key]) for key in ("trials", "jobs")),
                number(row["trials_wall_s"], digits=3),
                number(row["trials_thread_s"], digits=3),
                number(row["command_wall_s"], digits=3),
                number(row["command_cpu_s"], digits=3),
                row["status"],
            ]
            for row in rows
        ],
    )


def _print_targets(results: dict[str, Any]) -> None:
    rows = [
        [
            f"{row['net']} net, {row['stations']} stations, {row['length']}",
            f"at least {_millions(row['target_frames_per_cpu_s'])} M/CPU-s",
            f"{_millions(row['best_frames_per_cpu_s'])} M/CPU-s",
            _verdict(row),
        ]
        for row in results["speed"]
        if row["target_frames_per_cpu_s"] is not None
    ]
    rows += [_bus_target(row) for row in results["buses"] if row["met"] is not None]
    rows += [
        [
            row["what"],
            f"at most {row['target_s']:.0f} s",
            f"{number(row[row['judged']], digits=3)} s",
            _verdict(row),
        ]
        for row in results["study"]
        if row["target_s"] is not None
    ]
    print("\nTargets")
    print_table(["what", "target", "measured", "verdict"], rows)


def _bus_target(row: dict[str, Any]) -> list[str]:
    if row["target_ratio"] is not None:
        aim, found = (
            f"at least {row['target_ratio']:.0f} times the reference",
            f"{row['ratio']:.0f}",
        )
    else:
        aim = f"at least {_millions(row['target_frames_per_cpu_s'])} M/CPU-s"
        found = f"{_millions(row['fast_frames_per_cpu_s'])} M/CPU-s"
    return [row["bus"], aim, found, _verdict(row)]


def _millions(rate: float | None) -> str:
    return "–" if rate is None else number(rate / MILLION, digits=3)


def _verdict(row: dict[str, Any]) -> str:
    return "not judged" if row["met"] is None else "met" if row["met"] else "missed"
