"""Stations along the cable: the right numbers at the right place, where there is something to
compare.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import altair
import jsonschema
import pytest
import synthetic_run
from ethermeter.analysis import positions
from ethermeter.report import theme
from ethermeter.studies import pages, registry

TWO = {"[1, 3]": [0, 2, 2, 2], "[2, 2]": [0, 0, 2, 2]}
THREE = {"3": [0, 1, 2], "2": [0, 2, 2]}
COORDINATES_US = (0.0, 4.0, 10.0)


def section(page: str) -> str:
    """Return what stands under the heading, without what follows it."""
    return page.split("<h3>Along the cable</h3>")[1].split("<h3>")[0].split("Utilisation<span>")[0]


def specs(page: str) -> list[dict[str, Any]]:
    """Specifications of the figures under the heading."""
    numbers = re.findall(r'data-spec="figure-(\d+)-spec"', section(page))
    return [
        json.loads(
            re.findall(
                rf'<script type="application/json" id="figure-{number}-spec">(.*?)</script>', page
            )[0]
        )
        for number in numbers
    ]


def test_figures_have_each_place_s_mean_and_interval_against_its_position(tmp_path):
    page = pages.write_report(
        synthetic_run.located(tmp_path / "run", TWO, COORDINATES_US)
    ).read_text(encoding="utf-8")
    rate, delay = specs(page)[:2]
    # Mean of 0.9, 1 and 1.1 times 0.1 Mb/s and 0.2 Mb/s; half width t(2) x 0.1 / sqrt(3) of it.
    half = 4.302653 * 0.1 / math.sqrt(3)
    expected = {
        ("1 + 3", 0.0): 0.1,
        ("1 + 3", 10.0): 0.2,
        ("2 + 2", 0.0): 0.1,
        ("2 + 2", 10.0): 0.2,
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
        {key: 10 * value for key, value in expected.items()}
    )  # 1 ms and 2 ms
    assert rate["layer"][1]["encoding"]["x"]["title"] == "Position along the cable (µs)"
    assert rate["layer"][1]["encoding"]["y"]["title"] == "Bit rate of a station (Mb/s)"
    assert re.search(r"<th scope=\"row\">10</th><td>0\.20\d* <small>±0\.050</small>", section(page))


def test_stations_by_themselves_are_named_evenly_and_there_is_a_figure_for_every_frame_length(
    tmp_path,
):
    run = synthetic_run.located(
        tmp_path / "run", THREE, COORDINATES_US, frames=("64 B", "512 B"), key="segment.clusters"
    )
    page = pages.write_report(run).read_text(encoding="utf-8")
    assert (
        re.findall(r"<figcaption>(.*?)<span>", section(page))[:4]
        == ["Frame length: 64 B", "Frame length: 512 B"] * 2
    )
    assert {row["c"] for row in specs(page)[0]["data"]["values"]} == {"evenly", "2 clusters"}


def test_more_panels_than_fit_stay_at_the_last_value_and_say_so(tmp_path):
    run = synthetic_run.located(
        tmp_path / "run",
        TWO,
        COORDINATES_US,
        frames=tuple(f"{octets} B" for octets in (64, 128, 256, 512, 1024)),
    )
    page = pages.write_report(run).read_text(encoding="utf-8")
    assert "Frame length: 1024 B." in section(page)
    assert len(specs(page)) == 2


@pytest.mark.parametrize("places", [[0, 0, 0], [0, 0, 2]])
def test_nothing_is_drawn_where_there_is_nothing_to_compare(tmp_path, places):
    run = synthetic_run.located(tmp_path / "run", {"x": places}, COORDINATES_US)
    assert "Along the cable" not in pages.write_report(run).read_text(encoding="utf-8")


def test_one_distribution_over_many_places_is_one_curve(tmp_path):
    page = pages.write_report(
        synthetic_run.located(tmp_path / "run", {"x": [0, 1, 2]}, COORDINATES_US)
    ).read_text(encoding="utf-8")
    assert [row["x"] for row in specs(page)[0]["data"]["values"]] == list(COORDINATES_US)


def test_the_study_takes_its_positions_from_their_file(tmp_path):
    run = synthetic_run.located(tmp_path / "run", TWO, COORDINATES_US, study="gonsalves-tobagi1986")
    registry.find("gonsalves-tobagi1986").write_claims(run)
    assert "Along the cable" not in pages.write_report(run).read_text(encoding="utf-8")
    positions.write(run)
    page = pages.write_report(run).read_text(encoding="utf-8")
    assert "Along the cable" in page
    assert "Station location on an Ethernet (Gonsalves and Tobagi, 1986), simulated anew" in page
    assert "The paper is not at hand" in page
    assert page.count('class="tag not-run"') == len(
        registry.find("gonsalves-tobagi1986").published()
    )


def test_figures_along_the_cable_are_valid_vega_lite(tmp_path):
    schema = json.loads(
        (
            Path(altair.__file__).parent / "vegalite" / "v6" / "schema" / "vega-lite-schema.json"
        ).read_text(encoding="utf-8")
    )
    drawn = specs(
        pages.write_report(synthetic_run.located(tmp_path / "run", TWO, COORDINATES_US)).read_text(
            encoding="utf-8"
        )
    )
    assert len(drawn) >= 2
    for spec in drawn:
        jsonschema.Draft7Validator(schema).validate(
            {**spec, "config": theme.config("light", font="sans-serif")}
        )
