"""Files of checks for other programs: JUnit XML, OpenMetrics text, Markdown."""

import math
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from ethermeter.analysis.checks import Check


def text(suffix: str, name: str, found: Sequence[Check]) -> str:
    """Return checks in the form of a file's ending: .xml, .prom or .md."""
    match suffix:
        case ".xml":
            return junit(name, found)
        case ".prom":
            return open_metrics(found)
        case _:
            return markdown(name, found)


def junit(name: str, found: Sequence[Check]) -> str:
    """Return checks as a test suite in JUnit's XML; what is undecided is skipped."""
    counts = [sum(each.verdict == verdict for each in found) for verdict in ("fails", "undecided")]
    suite = ElementTree.Element(
        "testsuite",
        {"name": name, "tests": str(len(found)), "failures": str(counts[0]), "errors": "0"}
        | {"skipped": str(counts[1])},
    )
    for each in found:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": f"{name}.{each.engine}".removesuffix("."), "name": title(each)},
        )
        if each.verdict != "passes":
            kind = "failure" if each.verdict == "fails" else "skipped"
            ElementTree.SubElement(case, kind, {"message": each.reason or _value(each)})
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def open_metrics(found: Sequence[Check]) -> str:
    """Return values and verdicts as text of OpenMetrics 1.0, in the units of the metrics."""
    lines = []
    for name, text, of in (
        ("ethermeter_value", "Value of a checked metric, in its SI unit.", _number),
        ("ethermeter_check_failed", "1 if the check fails, 0.5 undecided, 0 passes.", _failed),
    ):
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {text}"]
        for each in found:
            labels = {"condition": each.condition, "of": each.name, "series": each.series}
            labels |= {"engine": each.engine, "point": _point(each.point)}
            inner = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
            lines.append(f"{name}{{{inner}}} {of(each)}")
    return "\n".join([*lines, "# EOF", ""])


def markdown(name: str, found: Sequence[Check]) -> str:
    """Return checks as Markdown, as the summary of a job on GitHub: those that do not pass."""
    named = [each for each in found if each.verdict != "passes"]
    passed = len(found) - len(named)
    lines = [f"### ethermeter: {name}", "", f"{passed} of {len(found)} checks passed.", ""]
    if named:
        lines += ["| verdict | check | value |", "|---|---|---|"]
        lines += [
            f"| {each.verdict} | {_cell(title(each))} | {_cell(each.reason or _value(each))} |"
            for each in named
        ]
        lines.append("")
    return "\n".join(lines)


def title(each: Check) -> str:
    """Return the name of a check: its condition, of what, and where."""
    of = f" of {each.name}" if each.name else ""
    at = f" at {_point(each.point)}" if each.point else ""
    return f"{each.condition}{of}{at}"


def _point(point: Mapping[str, str]) -> str:
    return ", ".join(f"{key} = {text}" for key, text in point.items())


def _value(each: Check) -> str:
    value = each.value
    ends = f" ({value.low:.6g} to {value.high:.6g})" if value.has_interval else ""
    return f"{each.metric or 'change'} is {value.value:.6g}{ends}"


def _number(each: Check) -> str:
    return "NaN" if math.isnan(each.value.value) else repr(each.value.value)


def _failed(each: Check) -> str:
    return {"fails": "1", "undecided": "0.5", "passes": "0"}[each.verdict]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
