"""Search: the question of a strategy, its answer, and the trials on the way.

A question is JSON whose keys the strategy chose; it is shown unchanged, as is the answer of a
strategy that is not known here.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from markupsafe import Markup

from ethermeter.analysis import benchmark
from ethermeter.analysis.bottleneck import BottleneckAnswer
from ethermeter.analysis.call_search import CallsAnswer
from ethermeter.analysis.value_search import SearchAnswer
from ethermeter.document import Block, Heading, Section, Table, Text, large_first, number, plain
from ethermeter.present import bottleneck as of_bottlenecks
from ethermeter.present import calls as of_calls
from ethermeter.present import rooflines as of_rooflines
from ethermeter.present import search as of_values
from ethermeter.report import roofline
from ethermeter.report.data import ReportData, Search
from ethermeter.report.labels import key_title
from ethermeter.report.sections import search_points
from ethermeter.report.tables import code, small

OPEN_ROWS = 16
"""Rows that are shown at once; a longer table is folded away."""
MOST_LISTED = 8
"""Values of a list that are written out."""
INTERVAL = {"value", "low", "high"}
UNITS = {
    **{"_per_s": "/s", "_bps": " (bit/s)", "_s": " (s)", "_ns": " (ns)"},
    "_octets": " (octets)",
}
"""How a unit at the end of a key is written."""
ON_THE_WAY = (
    "In the order in which they were run. Each proposal follows from the results before it."
)


def build(data: ReportData) -> Section | None:
    """Tabulate the answer, the question and the trials; None if there are none."""
    found = data.search
    if found is None:
        return None
    # The tests of a benchmark are a section of their own.
    result = [] if isinstance(found.answer, benchmark.BenchmarkAnswer) else _result(found.answer)
    blocks: list[Block] = [
        *([Heading("Result"), *result] if result else []),
        Heading("Question"),
        *_blocks(found.question, "Question", "question.json"),
        Heading("Trials on the way"),
        Text(ON_THE_WAY, "lead"),
        _trials(found),
    ]
    return Section("search", "Search", "Search", blocks)


def _result(answer: object) -> list[Block]:
    """Lay out an answer; one of a strategy that is not known here by its keys."""
    match answer:
        case SearchAnswer():
            figures = search_points.figures(answer)
            said = (Text(f"{large_first(each.text)}.") for each in of_values.answer(answer))
            return [*said, *figures, *of_values.tried(answer)]
        case CallsAnswer():
            return list(of_calls.calls(answer))
        case BottleneckAnswer():
            verdict = Text(large_first(of_bottlenecks.verdict(answer)) + ".")
            path = roofline.figure(answer.path())
            return [verdict, Text(answer.rule, "lead"), *of_bottlenecks.evidence(answer), path]
        case _:
            return list(_blocks(answer, "Answer", "answer.json"))


def findings(data: ReportData) -> list[str]:
    """Return the answer of a search in sentences; nothing of other runs and of benchmarks."""
    answer = data.search.answer if data.search is not None else None
    match answer:
        case SearchAnswer():
            return [plain(f"The {answer.sentence}."), *map(plain, answer.cautions)]
        case CallsAnswer():
            return _calls(answer)
        case BottleneckAnswer():
            path = of_rooflines.nearest(answer.path())
            return [large_first(of_bottlenecks.verdict(answer)) + ".", path]
        case _:
            return []


def _calls(answer: CallsAnswer) -> list[str]:
    """Say how many calls fit, and how far that is certain."""
    found: list[str] = [
        Markup("<strong>{} calls</strong> of {} are good enough: {}.").format(
            answer.calls, answer.codec, answer.subject
        )
    ]
    if answer.is_limited_by_stations:
        return [*found, "This is the largest number for which there is room."]
    sure, possible = answer.sure, answer.possible
    return [*found, f"By the 95% intervals {sure} are good enough for certain, {possible} perhaps."]


def _blocks(value: object, name: str, file: str) -> Iterator[Block]:
    """Yield a table of single values, and one of each list of tables."""
    rows = [[_title(key), text] for key, text in _leaves(value, file)]
    if rows:
        yield Table(("Key", "Value"), rows, name, "plain")
    for key, members in _lists(value):
        yield Heading(_title(key) or name, 4)
        cells = [dict(_leaves(member, file)) for member in members]
        keys = list(dict.fromkeys(key for row in cells for key in row))
        head = [_title(each) for each in keys]
        table = [[row.get(each, "") for each in keys] for row in cells]
        yield Table(head, table, _title(key) or name, "plain", open_rows=OPEN_ROWS)


def _leaves(value: object, file: str, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield key and text of every value, in the order of the file; lists of tables are left out."""
    if isinstance(value, Mapping):
        has_interval = value.keys() >= INTERVAL
        for name, each in value.items():
            if has_interval and name in INTERVAL:
                if name == "value":
                    yield key or name, _interval(value)
            else:
                yield from _leaves(each, file, f"{key} {name}" if key else str(name))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if not value or not isinstance(value[0], Mapping):
            yield key, _listed(value, file)
    else:
        yield key, _text(value, file)


def _lists(value: object, key: str = "") -> Iterator[tuple[str, Sequence[object]]]:
    """Yield key and members of every list of tables."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _lists(each, f"{key} {name}" if key else str(name))
    elif isinstance(value, Sequence) and value and isinstance(value[0], Mapping):
        yield key, value


def _listed(values: Sequence[object], file: str) -> str:
    is_short = len(values) <= MOST_LISTED and not any(isinstance(each, list) for each in values)
    if is_short:
        return ", ".join(_text(each, file) for each in values) or "none"
    return f"{len(values)} values, in {file}"


def _text(value: object, file: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    text = str(value)
    return f"{text.count(chr(10))} lines, in {file}" if "\n" in text else text


def _interval(value: Mapping[object, object]) -> str:
    """Write a value with the ends of its interval."""
    middle, low, high = (
        float(end) if isinstance(end, int | float) else float("nan")
        for end in (value["value"], value["low"], value["high"])
    )
    half = (high - low) / 2
    if not half > 0:
        return number(middle)
    ends = f"{number(low, half)} to {number(high, half)}"
    return Markup("{} {}").format(number(middle, half), small(ends, is_unbroken=True))


def _title(key: str) -> str:
    """Write a key for people, with its unit.

    Examples
    --------
    >>> _title("delay_s"), _title("achieved bit_per_s"), _title("is_evidence_only")
    ('Delay (s)', 'Achieved bit/s', 'Is evidence only')
    """
    for end, unit in UNITS.items():
        if key.endswith(end):
            key = key.removesuffix(end) + unit
            break
    return large_first(key).replace("_", " ")


def _trials(found: Search) -> Table:
    """Tabulate the trials; those of one point that follow each other are in one row."""
    keys = list(dict.fromkeys(key for trial in found.trials for key in trial.point))
    rows = []
    for _, group in groupby(found.trials, key=lambda trial: trial.point):
        members = list(group)
        first, last = members[0], members[-1]
        ids = code(first.id) if first is last else code(first.id) + " to " + code(last.id)
        rows.append([ids, *(plain(first.point.get(key, "")) for key in keys)])
    return Table(
        ["Trial", *map(key_title, keys)], rows, "Trials on the way", "plain", open_rows=OPEN_ROWS
    )
