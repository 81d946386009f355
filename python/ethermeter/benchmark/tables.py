"""Tables that several suites have: throughput, the testers alone, and where frames were lost."""

from collections.abc import Mapping, Sequence

from ethermeter.analysis.benchmark import LOCATIONS, Column, Row, Test
from ethermeter.benchmark.outcome import OWN, Outcome
from ethermeter.benchmark.rates import Ceiling, Throughput, frame_text

FRAMES_PER_S = "frames/s"


def throughput_table(
    found: Sequence[Throughput], *, clause: str, name: str = "throughput", title: str = "Throughput"
) -> Test:
    """Return the table of throughputs by length of frames."""
    rows = []
    for each in found:
        rate, line = each.rate, each.ceiling.line_rate
        rows.append(
            Row(
                {"frame": frame_text(each.octets)},
                {
                    "rate": rate,
                    "share": None if rate is None else 100 * rate / line,
                    "bit_rate": None if rate is None else rate * each.octets * 8 / 1e6,
                    "conditional": each.found.conditional_rate,
                    "above": each.found.above,
                    "line_rate": line,
                    "trials": each.found.trials,
                },
            )
        )
    return Test(
        name,
        title,
        clause,
        (
            Column("rate", "throughput", FRAMES_PER_S, "higher"),
            Column("share", "of line", "%"),
            Column("bit_rate", "frames", "Mb/s"),
            Column("conditional", "conditional", FRAMES_PER_S, is_detail=True),
            Column("above", "loses at", FRAMES_PER_S),
            Column("line_rate", "line rate", FRAMES_PER_S),
            Column("trials", "trials"),
        ),
        tuple(rows),
        remarks(found),
    )


def remarks(found: Sequence[Throughput]) -> tuple[str, ...]:
    """Return what is to be said of throughputs, one line for each length of frames."""
    return tuple(f"{frame_text(each.octets)}: {each.remark}" for each in found if each.remark)


def generator_table(found: Mapping[int, Ceiling]) -> Test:
    """Return the table of the testers without the device, by length of frames."""
    rows = [
        Row(
            {"frame": frame_text(octets)},
            {
                "rate": ceiling.rate,
                "line_rate": ceiling.line_rate,
                "loss": 100 * ceiling.outcome.loss,
                **_locations(ceiling.outcome.lost),
            },
        )
        for octets, ceiling in found.items()
    ]
    return Test(
        "generator",
        "Testers without the device",
        "RFC 2544 section 6: the tester must be able to do what it is asked for",
        (
            Column("rate", "limit", FRAMES_PER_S, "higher"),
            Column("line_rate", "line rate", FRAMES_PER_S),
            Column("loss", "lost", "%"),
            *_LOCATION_COLUMNS,
        ),
        tuple(rows),
        tuple(
            f"{frame_text(octets)}: {ceiling.remark}"
            for octets, ceiling in found.items()
            if ceiling.remark
        ),
    )


_LOCATION_COLUMNS = tuple(Column(f"lost_{name}", name, "frames") for name in LOCATIONS)


def _locations(lost: Mapping[str, int]) -> dict[str, float | str | None]:
    return {f"lost_{name}": lost.get(name, 0) for name in LOCATIONS}


def losses_table(found: Mapping[str, Sequence[Outcome]]) -> Test:
    """Return the table of all frames that the trials of tests lost, by location."""
    rows = []
    for name, outcomes in found.items():
        lost = lost_together(outcomes)
        rows.append(
            Row(
                {"test": name},
                {
                    "trials": len(outcomes),
                    "late": sum(outcome.is_late for outcome in outcomes),
                    "sent": sum(max(of.intended, of.sent) for of in outcomes),
                    "lost": sum(lost.values()),
                    **_locations(lost),
                },
            )
        )
    return Test(
        "losses",
        "Lost frames by location",
        "every trial of a test together, those above the throughput included",
        (
            Column("trials", "trials"),
            Column("late", "late"),
            Column("sent", "sent", "frames"),
            Column("lost", "lost", "frames"),
            *_LOCATION_COLUMNS,
        ),
        tuple(rows),
        ("Late are trials in which a sender fell behind its times; those of rates are repeated.",),
    )


def lost_together(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Return the lost frames of several trials, by location."""
    return {
        name: total
        for name in LOCATIONS
        if (total := sum(outcome.lost.get(name, 0) for outcome in outcomes))
    }


LOST = Column("lost_frames", "lost", "frames")
"""Column of a table of delays, shown where frames were lost."""


def lost_of_delays(outcomes: Sequence[Outcome]) -> dict[str, float | str | None]:
    """Return the value of the column `LOST` of trials of a delay."""
    return {LOST.key: sum(lost_together(outcomes).values())}


def delay_cautions(found: Mapping[int, Sequence[Outcome]]) -> tuple[str, ...]:
    """Return the cautions of delays, by length of frames: trials that lost frames.

    Delays at a throughput are of trials without loss. With some they are those of the frames that
    arrived; where the testers lost them, the device did not get the throughput.
    """
    texts = []
    for octets, outcomes in found.items():
        lost = lost_together(outcomes)
        if not lost:
            continue
        whole = sum(max(outcome.intended, outcome.sent) for outcome in outcomes)
        where = ", ".join(f"{location} {count}" for location, count in lost.items())
        own = "; the testers did not offer the throughput" if set(lost) & set(OWN) else ""
        texts.append(
            f"{frame_text(octets)}: {sum(lost.values())} of {whole} frames were lost ({where}), and"
            f" the delays are of the others{own}"
        )
    return tuple(texts)


def seconds(value_s: float) -> float | None:
    """Return a time in µs; None if it is undefined."""
    return None if value_s != value_s else value_s * 1e6
