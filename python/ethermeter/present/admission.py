"""Admission: what becomes of calls by each rule."""

from collections.abc import Sequence

from ethermeter.blocks import Table, Text
from ethermeter.calls.admission import BOUND_THAT_MATTERS, ByCalls, Outcome, Thresholds
from ethermeter.metrics import Caution
from ethermeter.quantities import number

_DIGITS = 4


def admission(
    by_calls: ByCalls,
    thresholds: Thresholds,
    found: Sequence[Outcome],
    *,
    listen_s: float,
    pattern: str,
) -> list[Text | Table]:
    """Lay out what became of the calls, and what the rules decide by.

    Parameters
    ----------
    by_calls
        Results of the run by number of calls.
    thresholds
        What the rules decide by.
    found
        What becomes of the calls.
    listen_s
        How long a host listens that counts calls.
    pattern
        Name of the pattern of talk spurts.

    """
    lines = [
        f"{by_calls.series}: {by_calls.simulated[0]} to {by_calls.largest} calls simulated",
        *(
            [
                "the run measures from before all stations have begun, with empty buffers: in the "
                "long run more is lost"
            ]
            if by_calls.is_from_the_start
            else []
        ),
        f"beyond limit: share of call time with a loss above {100 * thresholds.limit:g}%; from "
        "and to, with every loss at the lower and at the upper end of its 95% interval",
        *_rules(by_calls, thresholds, listen_s, pattern),
    ]
    if any(each.is_bounded for each in found):
        lines.append(
            f"{Caution.OUTSIDE_MODEL_RANGE}: more than {BOUND_THAT_MATTERS:.1%} of the calls come "
            f"with {by_calls.largest} active, all that the run has, where the rule would still "
            "admit some; a run of more stations tells what would become of them"
        )
    return [_outcomes(found, thresholds), *map(Text, lines)]


def _outcomes(found: Sequence[Outcome], thresholds: Thresholds) -> Table:
    head = [
        "offered erlang",
        "rule",
        "blocking %",
        "mean calls",
        "beyond limit %",
        "from %",
        "to %",
    ]
    head += ["mean loss %", f"over {thresholds.most} %"]
    rows = [
        [
            number(each.offered_erlangs, digits=_DIGITS),
            each.rule,
            _share(each.blocking),
            number(each.mean_calls, digits=_DIGITS),
            *map(_share, (each.beyond, each.beyond_low, each.beyond_high)),
            *map(_share, (each.mean_loss, each.crowded)),
        ]
        for each in found
    ]
    if any(each.is_bounded for each in found):
        head.append("caution")
        rows = [
            [*row, Caution.OUTSIDE_MODEL_RANGE if each.is_bounded else ""]
            for each, row in zip(found, rows, strict=True)
        ]
    return Table(head, rows, "Calls offered, and what becomes of them")


def _share(share: float) -> str:
    return number(100 * share, digits=_DIGITS)


def _rules(
    by_calls: ByCalls, thresholds: Thresholds, listen_s: float, pattern: str
) -> tuple[str, str, str]:
    """Say what each rule does."""
    most = thresholds.most
    last = "" if most < by_calls.largest else ", which is all that the run has"
    return (
        f"central: a server admits calls while fewer than {most} are active{last}",
        f"count: a host listens for {listen_s:g} s, hears each call with probability "
        f"{thresholds.heard:.4g} ({pattern}), and begins its own if fewer than {most} are heard",
        f"load: a host measures the load for {by_calls.window_s:g} s, and begins its call if it "
        f"is below {thresholds.load:.4g}; with {most} calls it is {by_calls.load[most]:.4g}, "
        f"standard deviation {by_calls.deviation[most]:.2g}",
    )
