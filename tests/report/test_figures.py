"""Figures: valid Vega-Lite, labels that do not overlap, exports that open."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import synthetic_run
from ethermeter.analysis.distribution import Distribution
from ethermeter.chart import Box
from ethermeter.metrics import Metric
from ethermeter.report import axes, figures, theme
from ethermeter.report.charts import files
from ethermeter.report.charts.bars import bars
from ethermeter.report.charts.curves import MOST_MARKERS, curves
from ethermeter.report.plots import against
from ethermeter.report.sections import channel, distribution
from ethermeter.report.style import Style
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from ethermeter.studies import pages, registry
from hypothesis import example, given
from hypothesis import strategies as st
from markup import parse


def test_every_figure_of_a_series_is_valid_vega_lite(study_run, vega_lite):
    members = [point for point in estimates.compute(study_run) if point.series == "I-5"]
    chosen = axes.choose(members)
    drawn = [
        curves(against(panel, metric, chosen))
        for metric in registry.find("boggs1988").presentation.graphs
        for panel in axes.panels(members, chosen, metric, are_apart=False)
    ]
    most = [p for p in members if p.point["stations.count"] == "24"]
    drawn.append(bars(channel.breakdown(most, "stations.frames")))
    assert len(drawn) == 9
    for spec in drawn:
        vega_lite.validate({**spec, "config": theme.config("dark", font="sans-serif")})


def test_figures_of_parts_and_distributions_are_valid_vega_lite(tmp_path, vega_lite):
    keys = {
        "stations.odd.backoff": ("exponential", "{ linear = { limit = 10 } }"),
        "a.load": ("0.1", "0.2", "0.3", "0.4", "0.5"),
    }
    run = synthetic_run.parted(tmp_path / "run", keys, {"odd": [0], "others": [1, 1, 2, 2]})
    page = parse(pages.write_report(run))
    drawn = [
        json.loads(each.text or "")
        for each in page.iter("script")
        if re.fullmatch(r"figure-\d+-spec", each.get("id", ""))
    ]
    assert len(drawn) > 15
    for spec in drawn:
        vega_lite.validate({**spec, "config": theme.config("light", font="sans-serif")})


def test_a_time_of_nothing_has_no_place_on_a_logarithmic_axis():
    of = Distribution(np.array([0.0, 1e-9, 2e-9, 3e-9]), np.array([1.0, 0.9, 0.2, 0.0]), 10)
    assert distribution._thinned(of) == [(1e-9, 0.9), (2e-9, 0.2)]
    assert (
        distribution._thinned(Distribution(np.array([0.0, 1e-9]), np.array([1.0, 0.0]), 10)) == []
    )


def test_a_thinned_distribution_stays_within_a_pixel():
    value_s = np.geomspace(1e-5, 1.0, 3000)
    share = np.where(value_s < 0.01, 1.0, (0.01 / value_s) ** 2)
    kept = distribution._thinned(Distribution(value_s, share, 100))
    assert kept[0] == (value_s[0], 1.0)
    assert kept[-1] == (value_s[-1], share[-1])
    assert len(kept) < 1500
    between = np.exp(
        np.interp(np.log(value_s), np.log([x for x, _ in kept]), np.log([y for _, y in kept]))
    )
    assert np.abs(np.log(between / share)).max() < 2 * distribution.STEP


@pytest.mark.parametrize("series", ["I-2", None])
def test_exported_specification_is_valid(study_run, vega_lite, series):
    vega_lite.validate(figures.spec(study_run, "utilisation", series))


@pytest.mark.parametrize(
    ("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")]
)
def test_export_writes_what_the_suffix_says(study_run, tmp_path, suffix, start):
    out = figures.export(study_run, "bit_rate", tmp_path / f"figure{suffix}", "I-2")
    assert out.read_bytes().startswith(start)


def test_exported_figure_names_units_and_curves(study_run, tmp_path):
    text = figures.export(study_run, "transmission_delay", tmp_path / "figure.svg").read_text(
        encoding="utf-8"
    )
    for expected in ("Transmission delay (ms)", "Number of hosts", "1536 B", "7/1", "I-5"):
        assert expected in text


@pytest.mark.parametrize(
    ("metric", "series", "name", "message"),
    [
        ("speed", None, "a.png", "metric = speed: expected one of .*time_preamble"),
        ("utilisation", "I-9", "a.png", "series = I-9: expected one of I-1, I-2"),
        ("utilisation", None, "a.gif", r"suffix = \.gif: expected one of \.png, \.pdf, \.svg"),
    ],
)
def test_export_refuses(study_run, tmp_path, metric, series, name, message):
    with pytest.raises(ValueError, match=message):
        figures.export(study_run, metric, tmp_path / name, series)
    assert not (tmp_path / name).exists()


def test_axes_of_the_study_are_hosts_and_lengths(study_run):
    members = [point for point in estimates.compute(study_run) if point.series == "I-2"]
    assert axes.choose(members) == axes.Axes("stations.count", "", "stations.frames", ())
    panel = axes.panels(members, axes.choose(members), Metric.BIT_RATE)[0]
    assert [curve.name for curve in panel.curves] == list(synthetic_run.FIXED)
    assert [x for x, _ in panel.curves[0].points] == list(range(1, 25))


def test_mixes_are_named_as_the_study_names_them():
    assert list(axes.curve_names(synthetic_run.BIMODAL[::-1]).values()) == [
        "8/0",
        "7/1",
        "6/2",
        "5/3",
        "4/4",
        "3/5",
        "2/6",
        "1/7",
        "0/8",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("24", (24.0, "")),
        ("64 B", (64.0, "B")),
        ("1.5 us", (1.5e-6, "s")),
        ("910 m", (910.0, "m")),
        ("2 km", (2000.0, "m")),
        ("10 Mb/s", (1e7, "b/s")),
        ("50%", (0.5, "")),
        ("-3 ms", (-0.003, "s")),
        ("64 B x 7 + 1536 B x 1", None),
        ("poisson", None),
    ],
)
def test_quantity(text, found):
    assert (
        axes.quantity(text) == (pytest.approx(found[0]), found[1])
        if found
        else axes.quantity(text) is None
    )


@given(st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=12), st.floats(0, 1))
@example([1.0], 1.0)
@example([0.0, 0.0], 0.0)
@example([0.6], 1.0)
def test_labels_keep_their_order_and_distance_within_the_figure(values, zero):
    from ethermeter.results.interval import exact

    named = tuple(
        axes.Curve(f"c{at}", ((0.0, exact(zero)), (1.0, exact(value))))
        for at, value in enumerate(values)
    )
    panel = axes.Panel("", named, is_ordered=False)
    spec = curves(against(panel, Metric.JAIN_INDEX, axes.Axes("x", "", "c", ())))
    low, high = spec["encoding"]["y"]["scale"]["domain"]
    placed = sorted(
        (row["y"] - low) / (high - low) * Box().height
        for row in spec["layer"][-1]["data"]["values"]
    )
    assert low <= min([*values, zero]) <= max([*values, zero]) <= high
    assert placed[0] >= -1e-6
    assert placed[-1] <= Box().height + 1e-6
    assert all(above - below >= 11.4 for below, above in pairwise(placed))


@pytest.mark.parametrize("ground", ["light", "dark"])
@pytest.mark.parametrize(("count", "is_ordered"), [(1, True), (9, True), (24, True), (12, False)])
def test_curves_stand_out_from_the_ground(ground, count, is_ordered):
    # WCAG 2.1, 1.4.11: graphical objects need a contrast of 3:1.
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    paper = luminance({"light": "#ffffff", "dark": "#171d23"}[ground])
    found = theme.colours(count, ground=ground, is_ordered=is_ordered)
    assert len(set(found)) == count
    for colour in found:
        bright, dim = sorted((luminance(colour), paper), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 3, colour


def point(engine="simulation", value=0.5, error=0.001, metric=Metric.UTILISATION, **varied):
    """A point with one value; keys of its experiment have "__" instead of points."""
    keys = {key.replace("__", "."): text for key, text in varied.items()}
    return Point("s", keys, engine, 3, {metric: Estimate(value, error, 2)})


def test_a_few_whole_numbers_that_are_no_amount_are_categories(vega_lite):
    of = [point(network__classes=text, value=at / 4) for at, text in enumerate(("1", "8"), 1)]
    spec = figures.draw(of, "utilisation", None, name="run")
    vega_lite.validate(spec)
    assert spec["encoding"]["x"]["type"] == "ordinal"
    assert spec["encoding"]["x"]["scale"]["domain"] == ["1", "8"]
    assert spec["layer"][0]["mark"]["type"] == "bar"
    amounts = [
        replace(each, point={"stations.count": each.point["network.classes"]}) for each in of
    ]
    counted = figures.draw(amounts, "utilisation", None, name="run")
    assert counted["encoding"]["x"]["type"] == "quantitative"


@pytest.mark.parametrize(
    ("key", "texts", "unit"),
    [
        ("network.classes", ("1", "8"), None),
        ("network.classes", ("1", "2", "4", "8"), ""),
        ("stations.count", ("1", "8"), ""),
        ("segment.plca.burst-cnt", ("0", "1"), ""),
        ("flows.a.arrivals.poisson_load", ("0.1", "1"), ""),
        ("flows.a.transfer.tcp.sack", ("false", "true"), None),
        ("network.switches.s.queue", ("unlimited", "24", "23"), None),
        ("network.links.0.rate", ("10 Mb/s", "1 Gb/s"), "b/s"),
        ("a", ("1 s", "1 m"), None),
    ],
)
def test_what_is_a_category(key, texts, unit):
    assert axes.unit_of(key, texts) == unit


def test_values_at_one_place_are_bars_not_dots(vega_lite):
    # By theory there are two loads, measured is one: of delays only what was measured is drawn.
    of = [
        point(load="0.1", engine="theory/a"),
        point(load="0.2", engine="theory/a"),
        point(load="0.2", metric=Metric.LOSS),
        point(load="0.2", engine="live", metric=Metric.LOSS),
    ]
    chosen = axes.choose(of)
    (panel,) = axes.panels(of, chosen, Metric.LOSS)
    spec = bars(against(panel, Metric.LOSS, chosen))
    vega_lite.validate({**spec, "config": theme.config("light", font="sans-serif")})
    assert [(row["x"], row["c"]) for row in spec["data"]["values"]] == [
        ("0.2", "simulation"),
        ("0.2", "live"),
    ]


def test_a_dense_curve_has_a_few_markers_and_all_its_points():
    of = [point(stations__count=str(at), value=at / 200) for at in range(1, 121)]
    chosen = axes.choose(of)
    (panel,) = axes.panels(of, chosen, Metric.UTILISATION)
    spec = curves(against(panel, Metric.UTILISATION, chosen))
    shown = [row["x"] for row in spec["data"]["values"] if "q" not in row]
    assert len(spec["data"]["values"]) == 120
    assert 20 <= len(shown) <= MOST_MARKERS + 1
    assert (shown[0], shown[-1]) == (1, 120)
    (markers,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "point"]
    assert markers["encoding"]["opacity"]["condition"][0]["value"] == 0
    few = axes.panels(of[:25], chosen, Metric.UTILISATION)[0]
    assert not any(
        "q" in row for row in curves(against(few, Metric.UTILISATION, chosen))["data"]["values"]
    )


def test_ten_bands_over_one_another_are_ten_panels_with_the_same_axes(vega_lite):
    of = [
        point(
            stations__count=str(count), b=f"name {name}", value=0.1 * count + name / 100, error=0.05
        )
        for name in range(10)
        for count in range(1, 6)
    ]
    spec = figures.draw(of, "utilisation", None, name="run")
    vega_lite.validate(spec)
    assert [part["title"] for part in spec["concat"]] == [f"b: name {name}" for name in range(10)]
    assert len({tuple(part["encoding"]["y"]["scale"]["domain"]) for part in spec["concat"]}) == 1
    narrow = [
        replace(each, estimates={key: replace(e, error=1e-4) for key, e in each.estimates.items()})
        for each in of
    ]
    assert "concat" not in figures.draw(narrow, "utilisation", None, name="run")


def test_bands_end_where_shares_and_delays_do():
    of = [
        point(stations__count=str(count), metric=metric, value=value, error=0.1)
        for metric, value in ((Metric.UTILISATION, 0.98), (Metric.ACCESS_DELAY, 0.05))
        for count in (1, 2)
    ]
    for metric, ends in ((Metric.UTILISATION, (0.54973, 1.0)), (Metric.ACCESS_DELAY, (0, 480.265))):
        (panel,) = axes.panels(of, axes.choose(of), metric)
        rows = curves(against(panel, metric, axes.choose(of)))["data"]["values"]
        # t(2) x 0.1 = 0.430265 either way; delays in ms.
        assert [(row["l"], row["h"]) for row in rows] == [pytest.approx(ends, abs=1e-4)] * 2


def test_axes_are_in_the_units_that_suit_them():
    of = [
        point(stations__service=text, metric=Metric.ONE_WAY_DELAY, value=0.0654 * at)
        for at, text in enumerate(("0 us", "10 us", "100 us"), 1)
    ]
    low = [replace(of[0], estimates={Metric.ONE_WAY_DELAY: Estimate(8e-5, 0, 2)}), of[1]]
    low[1] = replace(of[1], estimates={Metric.ONE_WAY_DELAY: Estimate(9.5e-3, 0, 2)})
    ends = figures.draw(low, "one_way_delay", None, name="run")
    assert ends["encoding"]["y"]["title"] == "One-way delay (ms)", "9.5 ms, not 9,500 µs"
    spec = figures.draw(of, "one_way_delay", None, name="run")
    assert spec["encoding"]["x"]["title"] == "Service time (µs)"
    assert spec["encoding"]["y"]["title"] == "One-way delay (ms)"
    assert [(row["x"], row["y"]) for row in spec["data"]["values"]] == [
        (0, 65.4),
        (10, 130.8),
        (100, 196.2),
    ]


def test_panels_beside_each_other_have_one_legend_each_in_words(tmp_path):
    engines = ("simulation", "theory/a-1976", "idealised/a-1976", "ablation/a-1976/slotted")
    of = [
        point(engine, stations__count=str(count), stations__frames=length)
        for engine in engines
        for count in (1, 2)
        for length in ("64 B", "1518 B")
    ]
    drawn = files.save(
        figures.draw(of, "utilisation", None, name="run"), tmp_path / "figure.svg"
    ).read_text(encoding="utf-8")
    # Ablations are drawn where theories and simulations are compared.
    assert "slotted" not in drawn
    assert drawn.count(">a-1976, assumptions simulated<") == 2


def test_a_style_marks_a_value_and_begins_at_zero():
    of = [point(stations__count=str(count), value=0.9) for count in (1, 2, 3)]
    style = Style(from_zero=True, across={"37%": 0.37})
    spec = figures.draw(of, "utilisation", None, name="run", style=style)
    assert spec["encoding"]["y"]["scale"]["domain"][0] == 0
    assert [layer["data"]["values"] for layer in spec["layer"][-2:]] == [
        [{"y": 0.37, "t": "37%"}]
    ] * 2
