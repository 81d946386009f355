"""Tables of what was compared, as text and as plain values."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benches.emulation.comparison import TOLERANCE, Compared, Difference

MARKS = {"met": "", "chance": "~", "missed": "!"}
HEAD = (
    "arrivals  octets hosts   frames same replayed   bit rate %      collisions %       delay %"
    "        distance     chance  violations  late us  sends us   late %  relay  starved lost"
)


def rows(found: Sequence[Compared]) -> list[dict[str, Any]]:
    """Return the comparisons as values for JSON, with the verdict of each."""
    return [
        asdict(each)
        | {name: asdict(of) | {"verdict": of.verdict} for name, of in _differences(each)}
        | {"is_met": each.is_met, "is_explained": each.is_explained}
        | {"distribution": each.distribution}
        for each in found
    ]


def print_results(found: Sequence[Compared]) -> None:
    """Print the comparisons as text."""
    limits = ", ".join(f"{name.replace('_', ' ')} {of:.0%}" for name, of in TOLERANCE.items())
    print(f"Measured over simulated - 1, with the 95% interval of one run's chance; {limits}.")
    print("Same: as the simulation of the file; replayed: as that of the frames as they came.")
    print("Marks: ~ beyond the limit by no more than chance, ! beyond it;")
    print("* distributions of delays differ, + by no more than the share of frames sent late.")
    print(HEAD)
    for each in found:
        cells = "  ".join(_cell(of) for _, of in _differences(each))
        differs = {"same": " ", "late": "+", "differs": "*"}[each.distribution]
        print(
            f"{each.point.arrivals:9} {each.point.octets:6} {each.point.stations:5} "
            f"{each.frames:8}  {_word(each.is_same):3}  {_word(each.is_same_replayed):8} {cells}  "
            f"{each.distance:.4f}/{each.usual_distance:.4f}"
            f"{differs} {each.chance:6.3f}  {each.violations:5}/{each.arrived:<7} "
            f"{each.late_p99_us:8.1f} "
            f"{each.late_sends_us[0]:5.0f}/{each.late_sends_us[1]:<5.0f} "
            f"{100 * each.late_share:5.1f}   {each.relay:.2f} "
            f"{each.starved:7} {each.lost:4}"
        )
    print(f"{sum(each.is_met for each in found)} of {len(found)} points meet every limit.")
    if late := sum(each.is_explained for each in found):
        print(
            f"{late} others are the simulation of the frames as they came: their hosts were late."
        )


def _word(answer: bool | None) -> str:  # noqa: FBT001
    return "–" if answer is None else "yes" if answer else "no"


def _differences(each: Compared) -> list[tuple[str, Difference]]:
    return [(name, getattr(each, name)) for name in TOLERANCE]


def _cell(of: Difference) -> str:
    return f"{100 * of.value:+7.2f} ±{100 * of.half_width:5.2f}{MARKS[of.verdict]:1}"
