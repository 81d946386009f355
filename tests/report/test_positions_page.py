"""Stations along the cable: the right numbers at the right place, where there is something to
compare.
"""

import json
import math
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest
import synthetic_run
from ethermeter.analysis import positions
from ethermeter.report import theme
from ethermeter.studies import pages, registry
from markup import by_id, group, headings, parse, rows, text_of, titles

TWO = {"[1, 3]": [0, 2, 2, 2], "[2, 2]": [0, 0, 2, 2]}
THREE = {"3": [0, 1, 2], "2": [0, 2, 2]}
COORDINATES_US = (0.0, 4.0, 10.0)


def page_of(run: Path) -> Element:
    return parse(pages.write_report(run))


def along(page: Element) -> Element:
    return group(page, "Along the cable")


def drawn(page: Element) -> list[dict[str, Any]]:
    """Specifications of the figures along the cable; several may have one title."""
    names = [figure.get("id") for figure in along(page).iter("figure")]
    return [json.loads(by_id(page, f"{name}-spec").text or "") for name in names]


def test_figures_have_each_place_s_mean_and_interval_against_its_position(tmp_path, vega_lite):
    page = page_of(synthetic_run.located(tmp_path / "run", TWO, COORDINATES_US))
    rate, delay = drawn(page)[:2]
    for spec in drawn(page):
        vega_lite.validate({**spec, "config": theme.config("light", font="sans-serif")})
    # Mean of 0.9, 1 and 1.1 times 0.1 Mb/s and 0.2 Mb/s; in kb/s; half width t(2) x 0.1 / sqrt(3).
    half = 4.302653 * 0.1 / math.sqrt(3)
    expected = {
        ("1 + 3", 0.0): 100.0,
        ("1 + 3", 10.0): 200.0,
        ("2 + 2", 0.0): 100.0,
        ("2 + 2", 10.0): 200.0,
    }
    assert {(row["c"], row["x"]): row["y"] for row in rate["data"]["values"]} == pytest.approx(
        expected
    )
    for row in rate["data"]["values"]:
        assert (row["l"], row["h"]) == (
            pytest.approx(row["y"] * (1 - half), rel=1e-4),
            pytest.approx(row["y"] * (1 + half), rel=1e-4),
        )
    delays = {(row["c"], row["x"]): row["y"] for row in delay["data"]["values"]}
    assert delays == pytest.approx(
        {key: value / 100 for key, value in expected.items()}
    )  # 1 ms and 2 ms
    assert rate["encoding"]["x"]["title"] == "Position along the cable (µs)"
    assert rate["encoding"]["y"]["title"] == "Bit rate of a station (kb/s)"
    assert ["10", "200 ± 50", "200 ± 50"] in rows(along(page))


def test_stations_by_themselves_are_named_evenly_and_there_is_a_figure_for_every_frame_length(
    tmp_path,
):
    run = synthetic_run.located(
        tmp_path / "run", THREE, COORDINATES_US, frames=("64 B", "512 B"), key="segment.clusters"
    )
    page = page_of(run)
    assert titles(along(page))[:4] == ["Frame length: 64 B", "Frame length: 512 B"] * 2
    assert {row["c"] for row in drawn(page)[0]["data"]["values"]} == {"evenly", "2 clusters"}


def test_more_panels_than_fit_stay_at_the_last_value_and_say_so(tmp_path):
    run = synthetic_run.located(
        tmp_path / "run",
        TWO,
        COORDINATES_US,
        frames=tuple(f"{octets} B" for octets in (64, 128, 256, 512, 1024)),
    )
    page = page_of(run)
    assert "Frame length: 1024 B." in text_of(along(page))
    assert len(drawn(page)) == 2


@pytest.mark.parametrize("places", [[0, 0, 0], [0, 0, 2]])
def test_nothing_is_drawn_where_there_is_nothing_to_compare(tmp_path, places):
    run = synthetic_run.located(tmp_path / "run", {"x": places}, COORDINATES_US)
    assert "Along the cable" not in headings(page_of(run))


def test_one_distribution_over_many_places_is_one_curve(tmp_path):
    page = page_of(synthetic_run.located(tmp_path / "run", {"x": [0, 1, 2]}, COORDINATES_US))
    assert [row["x"] for row in drawn(page)[0]["data"]["values"]] == list(COORDINATES_US)


def test_the_study_takes_its_positions_from_their_file(tmp_path):
    run = synthetic_run.located(tmp_path / "run", TWO, COORDINATES_US, study="gonsalves-tobagi1986")
    study = registry.find("gonsalves-tobagi1986")
    study.write_claims(run)
    assert "Along the cable" not in headings(page_of(run))
    positions.write(run)
    page = page_of(run)
    assert "Along the cable" in headings(page)
    assert "The paper is not at hand" in text_of(page)
    assert len(page.findall(".//span[@class='tag not-run']")) == len(study.published())
