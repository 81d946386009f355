"""Admission: what becomes of calls by each rule."""

from ethermeter.blocks import Table, Text
from ethermeter.calls.admission import BOUND_THAT_MATTERS
from ethermeter.metrics import Caution
from ethermeter.models.admission import Admission
from ethermeter.quantities import number

_DIGITS = 4


def admission(found: Admission) -> list[Text | Table]:
    """Lay out what became of the calls, and what the rules decide by."""
    lines = [
        f"{found.series}: {found.simulated[0]} to {found.largest} calls simulated",
        *(
            [
                "the run measures from before all stations have begun, with empty buffers: in the "
                "long run more is lost"
            ]
            if found.from_the_start
            else []
        ),
        f"beyond limit: share of call time with a loss above {100 * found.limit:g}%; from "
        "and to, with every loss at the lower and at the upper end of its 95% interval",
        *_rules(found),
    ]
    if any(each.is_bounded for each in found.outcomes):
        lines.append(
            f"{Caution.OUTSIDE_MODEL_RANGE}: more than {BOUND_THAT_MATTERS:.1%} of the calls come "
            f"with {found.largest} active, all that the run has, where the rule would still "
            "admit some; a run of more stations tells what would become of them"
        )
    return [_outcomes(found), *map(Text, lines)]


def _outcomes(found: Admission) -> Table:
    head = [
        "offered erlang",
        "rule",
        "blocking %",
        "mean calls",
        "beyond limit %",
        "from %",
        "to %",
    ]
    head += ["mean loss %", f"over {found.most} %"]
    rows = [
        [
            number(each.offered, digits=_DIGITS),
            each.rule,
            _share(each.blocking),
            number(each.mean_calls, digits=_DIGITS),
            *map(_share, (each.beyond_limit.value, each.beyond_limit.low, each.beyond_limit.high)),
            *map(_share, (each.mean_loss, each.over_most)),
        ]
        for each in found.outcomes
    ]
    if any(each.is_bounded for each in found.outcomes):
        head.append("caution")
        rows = [
            [*row, *(each.cautions or [""])] for each, row in zip(found.outcomes, rows, strict=True)
        ]
    return Table(head, rows, "Calls offered, and what becomes of them")


def _share(share: float) -> str:
    return number(100 * share, digits=_DIGITS)


def _rules(found: Admission) -> tuple[str, str, str]:
    """Say what each rule does."""
    most = found.most
    last = "" if most < found.largest else ", which is all that the run has"
    at_most = found.calls[most]
    return (
        f"central: a server admits calls while fewer than {most} are active{last}",
        f"count: a host listens for {found.count.listen_s:g} s, hears each call with probability "
        f"{found.count.heard:.4g} ({found.count.pattern}), and begins its own if fewer than {most} "
        "are heard",
        f"load: a host measures the load for {found.load.listen_s:g} s, and begins its call if it "
        f"is below {found.load.threshold:.4g}; with {most} calls it is {at_most.load:.4g}, "
        f"standard deviation {at_most.deviation:.2g}",
    )
