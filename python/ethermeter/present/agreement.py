"""Agreement: theories beside the simulations of a run."""

from collections.abc import Iterator, Sequence

from ethermeter.analysis.agreement import Agreement, Unmet, Value
from ethermeter.analysis.bounds import FLOW
from ethermeter.blocks import Bullets, Heading, Table, Text
from ethermeter.document import large_first, plain
from ethermeter.metrics import Metric
from ethermeter.present.cells import judged
from ethermeter.present.marks import Marks, legend
from ethermeter.quantities import MOST_DIGITS, UNDEFINED, Scale, in_scale, number
from ethermeter.theory.idealised import has_scenario

Block = Bullets | Heading | Text | Table

OPEN_ROWS = 40
"""Rows of a page that are shown at once."""


def agreement(
    found: Sequence[Agreement], shown: Sequence[Agreement], unmet: Sequence[Unmet] = ()
) -> Iterator[Block]:
    """Lay out each theory: how often it agrees of all, and the comparisons that are shown.

    `unmet`: assumptions that may cause what differs.
    """
    for model in dict.fromkeys(each.model for each in found):
        yield Heading(model)
        if text := summary([each for each in found if each.model == model]):
            yield Text(f"{large_first(text)}.")
        yield from _causes([each for each in unmet if each.model == model])
        if rows := [each for each in shown if each.model == model]:
            yield from _comparisons(model, rows)


def _causes(unmet: Sequence[Unmet]) -> Iterator[Text | Bullets]:
    """Name the assumptions of a theory that may cause what differs; nothing of none."""
    if not unmet:
        return
    of_one = "Where they differ, the cause is the assumption that the simulation does not meet:"
    of_several = "Where they differ, the causes are among what is assumed and does not hold:"
    yield Text(of_one if len(unmet) == 1 else of_several)
    yield Bullets([f"{each.assumption}: {each.why}" for each in unmet])
    if len(unmet) > 1 and has_scenario(unmet[0].model):
        yield Text(
            "How much each changes, simulations with one after the other show: the engines "
            '"idealised" and "ablation".'
        )


def summary(found: Sequence[Agreement]) -> str:
    """Return how often a theory agrees, and why not; empty where nothing was judged."""
    sentences = []
    for name, verdicts in (
        ("the world it assumes", [each.idealised_verdict for each in found]),
        ("the simulation", [each.verdict for each in found]),
    ):
        count = sum(verdict in ("agrees", "differs") for verdict in verdicts)
        if count:
            agreed = verdicts.count("agrees")
            sentences.append(f"agrees with {name} in {agreed} of {count} comparisons")
    causes = [each.cause for each in found if each.cause]
    if causes:
        main = max(dict.fromkeys(causes), key=causes.count)
        sentences.append(
            f"where they differ, the cause is {main} in {causes.count(main)} of {len(causes)}"
        )
    return "; ".join(sentences)


def points(found: Sequence[Agreement]) -> tuple[list[str], list[list[str]]]:
    """Return the leading columns: what tells comparisons apart, their metric, and the theory."""
    keys = list(dict.fromkeys(key for each in found for key in each.point))
    has_series = len({each.series for each in found}) > 1
    cells = [
        [
            *([each.series] if has_series else []),
            *(plain(each.point.get(key, "all" if key == FLOW else "")) for key in keys),
            each.metric.label.axis,
            number(each.theory * each.metric.label.factor, digits=MOST_DIGITS),
        ]
        for each in found
    ]
    return [*(["series"] if has_series else []), *keys, "metric", "theory"], cells


def _comparisons(model: str, shown: Sequence[Agreement]) -> Iterator[Text | Table]:
    """Tabulate comparisons of a theory; columns without any value are left out."""
    head, rows = points(shown)
    marks = Marks(each.cautions for each in shown)
    for row, each in zip(rows, shown, strict=True):
        row[-1] = f"{row[-1]} {marks.at(each.cautions)}".rstrip()
    for title, cells in (
        (
            "world it assumes",
            [_judged(each, each.idealised, each.idealised_verdict) for each in shown],
        ),
        ("simulation", [_judged(each, each.simulation, each.verdict) for each in shown]),
        ("cause", [each.cause for each in shown]),
    ):
        if set(cells) - {"", UNDEFINED}:
            head.append(title)
            for row, cell in zip(rows, cells, strict=True):
                row.append(cell)
    headers = head.index("theory")
    yield Table(head, rows, f"Agreement of {model}", headers=headers, open_rows=OPEN_ROWS)
    yield from legend(marks.legend())


def _judged(each: Agreement, found: Value | None, verdict: str) -> str:
    return judged(value(found, each.metric), verdict)


def value(found: Value | None, metric: Metric) -> str:
    """Write a simulated value with its interval, in the unit of the label of its metric."""
    if found is None:
        return UNDEFINED
    return in_scale(found.value, found.half_width, Scale("", 1 / metric.label.factor))
