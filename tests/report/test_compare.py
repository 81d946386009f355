"""Two runs against each other."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from comparing import compare
from ethermeter.metrics import Caution, Metric
from ethermeter.present.comparison import comparison
from ethermeter.render.text import lines
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate


def render(rows):
    return "\n".join(lines(comparison(rows), 200))


def run(path: Path, value: float, error: float, *, counts: tuple[int, ...] = (2,)) -> Path:
    path.mkdir()
    found = {Metric.TRANSMISSION_DELAY: Estimate(value, error, 4)}
    points = [
        Point("A", {"stations.count": str(count)}, "simulation", 5, found) for count in counts
    ]
    (path / "estimates.json").write_text(estimates.text_of(points), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("second", "error", "verdict"),
    [
        (0.0112, 1e-4, "higher"),
        (0.0088, 1e-4, "lower"),
        (0.0101, 1e-4, "no difference"),
        (0.01, 1e-4, "same"),
        (0.0112, math.nan, "undecided"),
    ],
)
def test_verdicts(tmp_path, second, error, verdict):
    rows = compare(run(tmp_path / "a", 0.01, 1e-4), run(tmp_path / "b", second, error))
    assert [row["verdict"] for row in rows] == [verdict]
    assert rows[0]["difference"] == pytest.approx(second - 0.01)


def test_interval_of_the_difference_by_hand(tmp_path):
    row = compare(run(tmp_path / "a", 0.01, 3e-4), run(tmp_path / "b", 0.012, 4e-4))[0]
    # Errors 3 and 4 make 5; Welch: (9+16)^2 / (81/4 + 256/4) = 7.4184; t(7.4184) = 2.3378.
    assert row["high"] == pytest.approx(0.002 + 5e-4 * 2.3378, rel=1e-4)
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_points_of_one_run_only_are_listed(tmp_path):
    rows = compare(
        run(tmp_path / "a", 0.01, 1e-4, counts=(1, 2)),
        run(tmp_path / "b", 0.01, 1e-4, counts=(2, 3)),
    )
    assert [row["verdict"] for row in rows] == ["only in first", "same", "only in second"]


def test_runs_without_a_common_point_are_refused(tmp_path):
    with pytest.raises(ValueError, match="points = none in common"):
        compare(run(tmp_path / "a", 0.01, 1e-4), run(tmp_path / "b", 0.01, 1e-4, counts=(9,)))


def test_text_shows_what_differs_in_the_metrics_unit_and_counts_the_rest(tmp_path):
    rows = compare(run(tmp_path / "a", 0.01, 1e-4), run(tmp_path / "b", 0.0112, 1e-4))
    text = render([*rows, *[replace_verdict(rows[0]) for _ in range(30)]])
    assert "Transmission delay (ms)" in text
    assert "10.0 11.2 +1.2 ± 0.3" in " ".join(text.split())
    assert "31 comparisons: 30 no difference, 1 higher" in text
    assert "about 2 would miss zero by chance" in text
    assert render([]) == "0 comparisons:"


def test_a_value_with_a_caution_is_marked_and_explained_below(tmp_path):
    one = run(tmp_path / "a", 0.01, 1e-4, counts=(1, 2))
    (tmp_path / "b").mkdir()
    points = estimates.read(one)
    moved = {Metric.TRANSMISSION_DELAY: Estimate(0.0112, 1e-4, 4, ("few-samples", "no-samples"))}
    changed = [
        replace(points[0], estimates=moved),
        replace(points[1], estimates={Metric.TRANSMISSION_DELAY: Estimate(0.02, 1e-4, 4)}),
    ]
    (tmp_path / "b" / "estimates.json").write_text(estimates.text_of(changed), encoding="utf-8")
    rows = compare(one, tmp_path / "b")
    assert [row["cautions"] for row in rows] == [["no-samples", "few-samples"], []]
    shown = render(rows).splitlines()
    assert [line.endswith("higher [a]") for line in shown[2:4]] == [True, False]
    assert shown[3].endswith("higher")
    assert shown[4] == f"[a] few-samples: {Caution.FEW_SAMPLES.meaning}"
    assert shown[5].startswith("2 comparisons")


def replace_verdict(row: dict[str, object]) -> dict[str, object]:
    return {**row, "verdict": "no difference"}


def test_a_run_compared_with_itself_is_the_same(study_run):
    assert {row["verdict"] for row in compare(study_run, study_run)} == {"same"}


def test_a_missing_interval_is_null_in_the_file():
    point = Point(
        "A", {}, "theory", 1, {Metric.UTILISATION: replace(Estimate(0.5, 0.1, 3), error=math.nan)}
    )
    entry = json.loads(estimates.text_of([point]))["points"][0]["estimates"]["utilisation"]
    assert (entry["value"], entry["low"], entry["high"]) == (0.5, None, None)
