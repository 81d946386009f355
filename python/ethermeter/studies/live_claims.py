"""Live claims: a study's published numbers against what its live tests measured.

A number is judged where the limit of the study is the limit of the measurement: a link of the
study's rate. What the study's hosts or its shared medium limited is shown and not judged.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ethermeter.analysis.claims import NOT_COMPARED, Claim
from ethermeter.scenario import Scenario
from ethermeter.studies.judging import Entry, Finding, MissingError, judged, published
from ethermeter.studies.paths import Paths, paths_of

NEAR = 0.08
"""Relative deviation within which a measured number is met: that of predictions."""
WITHOUT_WIRES = ("plain", "loopback")
"""Testbeds, as the provenance names them, whose links do not have the rates of the file."""
Rule = Callable[[Entry, Paths], Finding]
_MBPS_OF_PS = 8e6
"""Mb/s times picoseconds of an octet."""
_TOLERANCE = 1e-6


def claims(package: str, rules: Mapping[str, Rule], run_dir: Path) -> tuple[Claim, ...]:
    """Judge a run of a study's live tests, in the order of `measured` in its `published.toml`.

    Parameters
    ----------
    package
        Of the study.
    rules
        By which its claims are judged, by name.
    run_dir
        Of a run of its live tests, or of some of them.

    Returns
    -------
    :
        Claims of the basis `measured`: `met` or `missed` where they are judged, `not-compared`
        where they are not, with the reason as the note, and `not-run` where the run does not hold
        their points.

    """
    from ethermeter.store import RunDirectory

    paths = paths_of(run_dir, engine="live")
    testbed = str(RunDirectory(run_dir).provenance().get("measured", ""))
    by_id = {entry["id"]: entry for entry in published(package)}
    found = []
    for each in published(package, "measured"):
        entry = _entry(by_id[each["of"]], each)
        (claim,) = judged([entry], lambda of: rules[of["rule"]](of, paths))
        reason = _reason(each, testbed, paths)
        if reason and claim.verdict != "not-run":
            claim = replace(claim, verdict=NOT_COMPARED, note=reason, rounding=None)
        found.append(claim)
    return tuple(found)


def _entry(published: Entry, each: Mapping[str, Any]) -> Entry:
    """Return what was published, at the points and flows of the live tests."""
    kept = {
        key: published[key]
        for key in ("id", "what", "where", "published", "rounding", "unit", "rule")
    }
    measure = "data of whole datagrams, measured" + (
        f"; met within {NEAR:.0%}" if "wire" in each else ""
    )
    return {
        **kept,
        "basis": "measured",
        "near": NEAR,
        "measure": measure,
        **{key: each[key] for key in ("series", "at", "flows") if key in each},
    }


def _reason(each: Mapping[str, Any], testbed: str, paths: Paths) -> str:
    """Say why a number is not judged; empty where it is."""
    if "apart" in each:
        return str(each["apart"])
    if testbed.partition(",")[0] in WITHOUT_WIRES:
        return f"measured with {testbed}: there are no wires of the study's rates"
    try:
        scenario = paths.scenario(each["series"], each.get("at", {}))
    except MissingError:
        return ""
    wire = _slowest_mbps(scenario, each["flows"])
    if abs(wire / each["wire"] - 1) > _TOLERANCE:
        return (
            f"the slowest wire of this run carries {wire:g} Mb/s, that of the study"
            f" {each['wire']:g}"
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
