"""The tables of the results as text."""

from typing import Any

from benches import machine
from benches.live.pacing import ON_TIME_US, PACE_US
from benches.live.round_trips import WIRE_BPS
from benches.live.rows import TARGET


def print_results(results: dict[str, Any]) -> None:
    """Print the results as text."""
    print(machine.line(results["machine"]))
    print(
        "Medians of all rounds; ratios are of the two runs of a round: median [lowest to"
        f" highest]; PASS at a median of {TARGET:g} or more"
    )
    tables = {
        "frames": (
            "64-octet frames over virtual Ethernet, thousands per CPU-second: of the sender, of"
            " both ends",
            {"sender": 1e-3, "both": 1e-3},
            "k",
        ),
        "round_trips": (
            "Round trip of 64-octet frames, both ends spinning, us: median, 99%",
            {"p50": 1.0, "p99": 1.0},
            "",
        ),
        "pacing": (
            f"Intervals of {PACE_US} us: share within {ON_TIME_US} us",
            {"share": 100.0},
            "%",
        ),
        "wires": (
            f"Latency slope through two hops of {WIRE_BPS / 1e6:g} Mb/s ({2 * 8e6 / WIRE_BPS:g} us"
            " an octet): slope, intercept, us",
            {"slope_us": 1.0, "intercept_us": 1.0},
            "",
        ),
    }
    for name, (title, scales, unit) in tables.items():
        if name in results:
            print(f"\n{title}")
            for row in results[name]:
                print(line(row, scales, unit))


def line(row: dict[str, Any], scales: dict[str, float], unit: str) -> str:
    """Return a row as text: ours, the peer's, the ratio with its spread, PASS or MISS."""

    def shown(run: dict[str, float] | None) -> str:
        return (
            "–"
            if run is None
            else " ".join(
                f"{run[key] * scale:.{3 if key == 'slope_us' else 1}f}{unit}"
                for key, scale in scales.items()
                if key in run
            )
        )

    judged = {key: " PASS" if is_met else " MISS" for key, is_met in row["met"].items()}
    ratios = (
        {key: row["ratio"][key] for key in scales if key in row["ratio"]} if row["ratio"] else {}
    )
    ratio = ", ".join(
        f"{of['median']:.3f} [{of['low']:.3f} to {of['high']:.3f}]{judged.get(key, '')}"
        for key, of in ratios.items()
    )
    status = "" if row["status"] == "measured" else f"  ({row['status']})"
    return (
        f"  {row['what']:16} {shown(row['ours']):18} {row['peer']:14} {shown(row['theirs']):18}"
        f" ratio {ratio or '–'}{status}"
    )
