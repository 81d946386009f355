"""Experiments, results and figures from Python."""

import json
import typing
from importlib.resources import files

import ethermeter as em
import numpy as np
import pyarrow as pa
import pytest

HUB = em.segment(
    "ieee-10",
    length="100 m",
    stations=em.stations(count=2, frames="512 B", arrivals="saturated"),
    vary={"stations.count": [2, 5], "stations.frames": ["64 B", "1 kB"]},
    phases={"transmit": "20 ms", "measure": "last 15 ms"},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return em.load(HUB).run(out=tmp_path_factory.mktemp("run"), replications=3, jobs=1)


def test_tables_text_and_file_are_the_same_experiment(tmp_path):
    path = HUB.save(tmp_path / "experiment.toml")
    plans = [em.load(source).plan(seed=1) for source in (HUB, HUB.text(), path)]
    assert plans[0].hash == plans[1].hash == plans[2].hash
    changed = em.load(HUB, overrides=["stations.count=7"]).plan(seed=1).trials
    assert {trial.scenario.flows[0].name for trial in changed}
    assert len(changed) == 2
    assert em.load(HUB.text(), overrides=["stations.count=7"]).plan(seed=1).trials == changed


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"segment.standard": "ieee-1"}, "experiment: segment.standard"),
        ({"stations": [{"counts": 2}]}, "did you mean count?"),
        ({"seed": object()}, "text, numbers, booleans, lists and tables"),
        ({"title": {1, 2}}, "text, numbers, booleans, lists and tables"),
        ({}, None),
    ],
)
def test_tables_are_checked_like_a_file(change, line):
    if line is None:
        assert em.load(HUB.changed(change))
        return
    with pytest.raises(em.InputError) as caught:
        em.load(HUB.changed(change))
    assert line in str(caught.value)


def test_a_text_without_lines_is_a_name():
    with pytest.raises(em.InputError, match=r"did you mean poisson-load\?"):
        em.load("poison-load")


def test_estimates_are_typed_columns_with_units(run):
    frame = run.frame("utilisation", "access_delay")
    assert list(frame.columns) == [
        *("series", "engine", "stations.count", "stations.frames", "replications"),
        *("metric", "value", "low", "high", "unit", "cautions"),
    ]
    assert frame["stations.count"].tolist() == [2, 2, 2, 2, 5, 5, 5, 5]
    assert frame["stations.frames"].tolist() == [64, 64, 1000, 1000] * 2
    assert frame.attrs["units"] == {"stations.frames": "B"}
    assert frame["replications"].tolist() == [3] * 8
    assert set(zip(frame["metric"], frame["unit"], strict=True)) == {
        ("utilisation", ""),
        ("access_delay", "s"),
    }
    assert (frame["low"] <= frame["value"]).all()
    assert (frame["value"] <= frame["high"]).all()
    written = json.loads((run.path / "estimates.json").read_text(encoding="utf-8"))
    values = [point["estimates"]["utilisation"]["value"] for point in written["points"]]
    assert frame[frame["metric"] == "utilisation"]["value"].tolist() == values


def test_values_of_trials_and_stations_hold_what_was_varied(run):
    frame = run.frame("frames", by="trial")
    assert len(frame) == 12
    assert frame["replication"].tolist() == [0, 1, 2] * 4
    each = run.frame("frames", by="entity")
    assert len(each) == 3 * 2 * (2 + 5)
    assert set(each[each["stations.count"] == 2]["entity"]) < set(run.entities)
    both = each.groupby("trial", observed=True)["value"].sum()
    assert np.array_equal(both.to_numpy(), frame["value"].to_numpy())
    counts = run.histograms().groupby(["trial", "time"], observed=True)["count"].sum()
    delays = counts.xs("transmission_delay", level="time")
    assert np.array_equal(delays.to_numpy(), frame["value"].to_numpy())


def test_tables_come_as_arrow_and_units_stay(run):
    table = run.frame(library="arrow")
    assert isinstance(table, pa.Table)
    assert table.schema.field("stations.frames").metadata == {b"unit": b"B"}
    assert table.num_rows == len(run.frame())
    with pytest.raises(em.InputError, match="did you mean pandas"):
        run.frame(library="panda")


def test_tables_come_as_polars(run):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table = run.frame("utilisation", library="polars")
    assert table.attrs["units"] == {"stations.frames": "B"}
    assert table["stations.count"].dtype == polars.Int64
    assert table.height == 4


def test_the_package_has_types_and_frames_those_of_their_library():
    assert (files("ethermeter") / "py.typed").is_file()
    for method in (em.Run.frame, em.Run.histograms, em.Run.ports):
        found = {
            str(each.__annotations__["library"]): each.__annotations__["return"]
            for each in typing.get_overloads(method)
        }
        assert found == {
            "typing.Literal['pandas']": "pd.DataFrame",
            "typing.Literal['polars']": "pl.DataFrame",
            "typing.Literal['arrow']": "pa.Table",
        }


def test_a_segment_has_no_ports(run):
    with pytest.raises(em.InputError, match="a run of a network"):
        run.ports()


def test_names_that_are_unknown_are_answered_with_near_ones(run):
    for call in (
        lambda: run.frame("utilization"),
        lambda: run.frame("utilization", by="entity"),
        lambda: run.frame("utilisation", by="entitty"),
        lambda: run.plot("utilization"),
        lambda: run.plot("utilisation", style="one-colunm"),
        lambda: run.plot("utilisation", widht=3),
        lambda: run.frame(series="experimen"),
    ):
        with pytest.raises(em.InputError, match="did you mean"):
            call()


def test_values_show_themselves_in_a_line(run):
    assert repr(em.load(HUB)) == "Loaded('experiment': 4 points, 4 trials)"
    assert repr(em.load(HUB).plan()) == "Plan('experiment': 4 trials; simulation)"
    assert repr(run) == f"Run('{run.path}': 12 trials)"
    for shown in (run, run.trials()[0], run.estimated[0].estimates["utilisation"]):
        assert "\n" not in repr(shown)
        assert len(repr(shown)) < 250


def test_values_show_themselves_as_tables_in_a_notebook(run):
    for shown in (em.load(HUB), em.load(HUB).plan(), run):
        html = shown._repr_html_()
        assert html.startswith("<table>")
        assert "simulation" in html
    hostile = em.load({**HUB, "title": "<script>alert(1)</script>"})
    assert "<script>" not in hostile._repr_html_()


def test_names_of_the_package_are_listed():
    assert {"load", "open", "explore", "theory"} <= set(dir(em))
    assert all(hasattr(em, name) for name in dir(em))


def test_a_figure_has_the_size_and_the_scales_that_are_wanted(run):
    narrow = run.plot("access_delay", style="one-column", log_y=True, title="Delays").vega_lite()
    assert narrow["width"] == 150
    assert narrow["title"] == "Delays"
    scale = narrow["encoding"]["y"]["scale"]
    assert scale["type"] == "log"
    assert scale["domain"][0] > 0
    dark = run.plot("access_delay", theme="dark", width=300).vega_lite()
    assert dark["config"]["background"] != narrow["config"]["background"]
    with pytest.raises(em.InputError, match="from 60 to 4000"):
        run.plot("access_delay", width=3)


def test_a_figure_of_zeros_has_no_logarithm(run):
    # Nothing is late on a segment of legal length: all values are zero.
    zeros = run.plot("late_collisions", log_y=True)
    assert zeros.svg().startswith("<svg")


def test_the_fonts_of_a_pdf_are_in_it(run, tmp_path):
    written = run.plot("utilisation", style="one-column").save(tmp_path / "f.pdf").read_bytes()
    assert b"/FontFile" in written


def test_a_chart_can_be_changed(run):
    altair = pytest.importorskip("altair", reason="altair is not installed")
    chart = run.chart("utilisation").properties(title="Changed")
    assert isinstance(chart, altair.TopLevelMixin)
    assert chart.to_dict(validate=False)["title"] == "Changed"


def test_sliders_simulate_the_point_they_choose(tmp_path):
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    shown = em.explore(HUB, "stations.count", "stations.frames")
    first = shown.values["utilisation"][0]
    shown.sliders["stations.frames"].value = "1 kB"
    assert shown.values["utilisation"][0] != first
    chosen = ["vary={}", "stations.count=2", "stations.frames=1 kB"]
    alone = em.simulate(HUB, overrides=chosen, replications=1)
    assert shown.values["utilisation"][0] == alone.value("utilisation")
    with pytest.raises(em.InputError, match="a key that the experiment varies"):
        em.explore(HUB, "stations.service")
