"""Claims about packet voice by measured points: a world of the published numbers bears them out."""

import re
from collections.abc import Mapping

import numpy as np
import pytest
from ethermeter import plan
from ethermeter.experiment import load, shipped
from ethermeter.metrics import Metric
from ethermeter.studies import registry
from ethermeter.studies.gonsalves1982 import claims as paper
from ethermeter.trial import LIVE
from made_results import results_of, whole_of

STUDY = registry.find("gonsalves1982")
PUBLISHED = {entry.id: entry.published for entry in STUDY.published()}
WHOLE = (Metric.SAMPLE_LOSS, Metric.SAMPLE_DELAY, Metric.GOODPUT, Metric.PACKET_RATE)
BIT_S = 340e-9
PACKETS = 100.0
"""Packets a second, with 48 bits of header each."""


def value(series: str, point: Mapping[str, str], metric: Metric) -> float:
    """Value on lines through the published points; delays of table 4.2 are not published."""
    hosts = float(point["stations.count"])
    (octets,) = (text.removesuffix(" B") for key, text in point.items() if "samples" in key)
    table = "4.1b" if series == "minimum" else "4.2"

    def of(letter: str) -> list[float]:
        return [PUBLISHED[f"{table}-{letter}-{octets}-l{loss}"] for loss in (1, 5)]

    n, t = of("n"), of("t")
    n_knee, d_min, t_knee = n[0] - 1, 3.0, t[0] - 1
    d = [3.0, 3.0]
    if series == "minimum":
        d = of("d")
        d_min, t_knee = (PUBLISHED[f"4.1a-{name}-{octets}"] for name in ("dmin", "t-knee"))
        n_knee = min(PUBLISHED[f"4.1a-n-knee-{octets}"], n[0] - 1)
    match metric:
        case Metric.SAMPLE_LOSS:
            return float(np.interp(hosts, [n[0] - 1, *n, n[1] + 4], [0, 0.01, 0.05, 0.25]))
        case Metric.SAMPLE_DELAY:
            return float(np.interp(hosts, [n_knee, *n, 33], [d_min, *d, d[1] + 5])) / 1e3
        case Metric.GOODPUT:
            headers = 48 * PACKETS if series == "minimum" else 0
            return float(np.interp(hosts, [1, n_knee, *n], [3, t_knee, *t])) / 100 / BIT_S + headers
        case _:
            return PACKETS


@pytest.mark.parametrize("is_full", [True, False])
def test_live_tests_decide_the_numbers_that_they_measure_by_measured_points_alone(is_full):
    files = {name: shipped()[f"live/gonsalves1982/{name}"] for name in ("minimum", "maximum")}
    experiments = [
        load(file, overrides=() if is_full else STUDY.subset[name]) for name, file in files.items()
    ]
    trials = plan.expand(experiments, replications=1).trials
    rows = [
        [
            value(trial.series, trial.point, metric) if trial.engine == LIVE else np.nan
            for metric in WHOLE
        ]
        for trial in trials
    ]
    whole = whole_of(WHOLE, np.array(rows))
    found = {claim.id: claim for claim in paper.measured(results_of(trials, whole=whole).by(LIVE))}
    assert set(found) == {name for name in PUBLISHED if re.match(r"4\.(1[ab]|2)-.*\d$", name)}
    of_subset = re.compile(r"4\.1.-.*-64(-l.)?|4\.2-.-(64|512)-l.")
    decided = {name for name in found if is_full or of_subset.fullmatch(name)}
    assert {name for name, claim in found.items() if claim.verdict == "met"} == decided
    assert {claim.verdict for claim in found.values()} <= {"met", "not-run"}
    assert {claim.basis for claim in found.values()} == {"measured"}


def test_no_measured_point_decides_nothing():
    assert {claim.verdict for claim in paper.measured(results_of(()).by(LIVE))} == {"not-run"}
