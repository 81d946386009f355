"""Live claims: a study's published numbers against what its live tests measured.

A number is judged where the limit of the study is the limit of the measurement: a link of the
study's rate. What the study's hosts or its shared medium limited is shown and not judged.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from ethermeter.analysis.claims import NOT_COMPARED, Claim
from ethermeter.results.query import MissingError, Results
from ethermeter.scenario import Scenario
from ethermeter.studies.judging import (
    Entry,
    Rule,
    convert,
    file_of,
    judged,
    published,
    tables,
)

NEAR = 0.08
"""Relative deviation within which a measured number is met: that of predictions."""
WITHOUT_WIRES = ("plain", "loopback")
"""Testbeds, as the provenance names them, whose links do not have the rates of the file."""


class Measured(msgspec.Struct, frozen=True):
    """A published number that the live tests measure, as the study's `published.toml` has it.

    `of`: the claim whose number it is. `series`, `flows`, `at`: where the live tests measure it.
    `apart`: why it is not judged; empty where it is. `wire`: rate of the slowest link of the
    study's hosts, in Mb/s, where that was the limit.
    """

    of: str
    series: str
    flows: list[str]
    at: dict[str, str] = {}
    apart: str = ""
    wire: float = math.nan


_MBPS_OF_PS = 8e6
"""Mb/s times picoseconds of an octet."""
_TOLERANCE = 1e-6


def claims(package: str, rules: Mapping[str, Rule], results: Results) -> tuple[Claim, ...]:
    """Judge a run of a study's live tests, in the order of `measured` in its `published.toml`.

    `package`: of the study. `rules`: by which its claims are judged, by name. `results`: of a run
    of its live tests, or of some of them.
    Returns claims of the basis `measured`: `met` or `missed` where they are judged, `not-compared`
    where they are not, with the reason as the note, and `not-run` where the run does not hold their
    points.
    """
    testbed = str(results.provenance.get("measured", ""))
    by_id = {entry.id: entry for entry in published(package)}
    found = []
    for table in tables(package, "measured"):
        each = convert(table, Measured, file=file_of(package), key=f"measured.{table.get('of')}")
        entry = _entry(by_id[each.of], each)
        (claim,) = judged([entry], rules, results)
        reason = _reason(each, testbed, results)
        if reason and claim.verdict != "not-run":
            claim = replace(claim, verdict=NOT_COMPARED, note=reason, rounding=None)
        found.append(claim)
    return tuple(found)


def _entry(published: Entry, each: Measured) -> Entry:
    """Return what was published, at the points and flows of the live tests."""
    return msgspec.structs.replace(
        published,
        basis="measured",
        near=NEAR,
        within=None,
        cause="",
        measure="data of whole datagrams, measured"
        + ("" if math.isnan(each.wire) else f"; met within {NEAR:.0%}"),
        series=each.series,
        keys={"at": each.at, "flows": each.flows},
    )


def _reason(each: Measured, testbed: str, results: Results) -> str:
    """Return why a number is not judged; empty where it is."""
    if each.apart:
        return each.apart
    if testbed.partition(",")[0] in WITHOUT_WIRES:
        return f"measured with {testbed}: there are no wires of the study's rates"
    try:
        scenario = results.at(each.series, each.at).scenario
    except MissingError:
        return ""
    wire = _slowest_mbps(scenario, each.flows)
    if abs(wire / each.wire - 1) > _TOLERANCE:
        return (
            f"the slowest wire of this run carries {wire:g} Mb/s, that of the study {each.wire:g}"
        )
    return ""


def _slowest_mbps(scenario: Scenario, flows: list[str]) -> float:
    """Rate of the slowest link of any host that takes part in the flows."""
    hosts = {
        host for flow in scenario.flows if flow.name in flows for host in (flow.from_, *flow.to)
    }
    return min(
        _MBPS_OF_PS / link.ps_per_octet
        for link in scenario.links
        if hosts & {end.node for end in link.ends}
    )
