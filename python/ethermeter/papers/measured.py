"""Measured: a study's published numbers beside what its live tests measured, judged where the
comparison makes sense.

It makes sense where what is measured now is what limited then: a wire of the study's rate. What the
study's hosts or its shared medium limited is shown, and not judged.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from ethermeter.papers import erg
from ethermeter.papers.claims import Claim, Entry, Finding, judged, to_json
from ethermeter.papers.evidence import MissingError
from ethermeter.papers.paths import Paths, paths_of

FILE = "live-claims.json"
STUDIES = {erg.STUDY: "erg-live.toml"}
"""File with what is measured of a study, by the study's name."""
APART = "not-compared"
"""Verdict of a number that is shown and not judged."""
NEAR = 0.08
"""Relative deviation within which a measured number is met: that of predictions."""
WITHOUT_WIRES = ("plain", "loopback")
"""Places, as the provenance calls them, whose wires are not those of the experiment's file."""
_MBPS_OF_PS = 8e6
"""Mb/s times picoseconds of an octet."""
_TOLERANCE = 1e-6


def claims(study: str, run_dir: Path) -> tuple[Claim, ...]:
    """Hold what a run measured against a study, number by number in the order of the study's live
    file.

    Parameters
    ----------
    study
        One of `STUDIES`.
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
    place = str(RunDirectory(run_dir).provenance().get("measured", ""))
    published = {entry["id"]: entry for entry in erg.published()}
    text = files("ethermeter.papers").joinpath(STUDIES[study]).read_text(encoding="utf-8")
    found = []
    for each in tomllib.loads(text)["measured"]:
        entry = _entry(published[each["of"]], each)
        (claim,) = judged([entry], lambda of: _found(of, paths))
        reason = _reason(each, place, paths)
        if reason and claim.verdict != "not-run":
            claim = replace(claim, verdict=APART, note=reason, rounding=None)
        found.append(claim)
    return tuple(found)


def write(study: str, run_dir: Path) -> Path:
    """Hold a run against a study and write `live-claims.json` into its directory; the path of the
    file.
    """
    from ethermeter.store import RunDirectory

    return RunDirectory(run_dir).keep(FILE, to_json(study, claims(study, run_dir)))


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


def _found(entry: Entry, paths: Paths) -> Finding:
    return erg.RULES[entry["rule"]](entry, paths)


def _reason(each: Mapping[str, Any], place: str, paths: Paths) -> str:
    """Say why a number is not judged; empty where it is."""
    if "apart" in each:
        return str(each["apart"])
    if place.partition(",")[0] in WITHOUT_WIRES:
        return f"measured with {place}: there are no wires of the study's rates"
    try:
        scenario = paths.scenario(each["series"], each.get("at", {}))
    except MissingError:
        return ""
    wire = _slowest_mbps(scenario, each["flows"])
    if abs(wire / each["wire"] - 1) > _TOLERANCE:
        return f"the slowest wire of this run carries {wire:g} Mb/s, that of the study {each['wire']:g}"
    return ""


def _slowest_mbps(scenario: Mapping[str, Any], flows: list[str]) -> float:
    """Rate of the slowest link of any host that takes part in the flows."""
    hosts = {
        host
        for flow in scenario["flows"]
        if flow["name"] in flows
        for host in (flow["from"], *flow["to"])
    }
    links = scenario["network"]["links"]
    return min(
        _MBPS_OF_PS / float(link["ps_per_octet"])
        for link in links
        if hosts & {end["node"] for end in link["ends"]}
    )
