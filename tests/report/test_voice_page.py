"""The shipped experiment with voice, run whole: what must hold whatever is fitted, and what its
report shows of it.
"""

from pathlib import Path
from xml.etree.ElementTree import Element

import ethermeter as em
import pytest
from ethermeter.metrics import Metric
from ethermeter.report import figures
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from markup import headings, parse, rows, text_of, titles

US = 1e-6
SAMPLE_S, BIT_S, WINDOW_S = 152.32 * US, 0.34 * US, 5.0
MOST_SAMPLES = (1024 - 6) * 8 // 16


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return (
        em.load("voice-experimental")
        .run(out=tmp_path_factory.mktemp("voice") / "run", report=True)
        .path
    )


@pytest.fixture(scope="module")
def points(run: Path) -> dict[int, Point]:
    return {int(point.point["stations.count"]): point for point in estimates.read(run)}


@pytest.fixture(scope="module")
def page(run: Path) -> Element:
    return parse(run / "report.html")


def test_a_host_alone_waits_for_its_frame_to_fill_and_to_be_sent(points):
    # Wanted with the 29th sample, the first that fills 58 B beside 6 of overhead. One more is made
    # while the sync bit and 528 bits leave.
    delay_s = 28 * SAMPLE_S + 529 * BIT_S
    for metric in (Metric.VOICE_DELAY, Metric.SAMPLE_DELAY):
        assert points[1].estimates[metric].value == pytest.approx(delay_s, rel=1e-9)


def test_offered_load_is_what_coders_make(points):
    for count, point in points.items():
        assert point.estimates[Metric.VOICE_LOAD].value == pytest.approx(
            count * 16 * BIT_S / SAMPLE_S, rel=1e-12
        )
        # Each of the hosts to one sample, by where the window begins.
        assert (
            abs(point.estimates[Metric.SAMPLES_OFFERED].value - count * WINDOW_S / SAMPLE_S)
            <= count
        )


def test_what_is_offered_and_not_lost_is_carried(points):
    for count, point in points.items():
        load, loss = (
            point.estimates[Metric.VOICE_LOAD].value,
            point.estimates[Metric.SAMPLES_LOST].value,
        )
        expected = load - loss * 16 * BIT_S / WINDOW_S
        # What is in a buffer at either end of the window belongs to it or does not: at most a full
        # one for each host.
        slack = count * (MOST_SAMPLES + 1) * 16 * BIT_S / WINDOW_S
        assert abs(point.estimates[Metric.VOICE_UTILISATION].value - expected) <= slack


def test_no_frame_is_older_than_its_buffer_is_long(points):
    for point in points.values():
        delay, of_samples = (
            point.estimates[Metric.VOICE_DELAY].value,
            point.estimates[Metric.SAMPLE_DELAY].value,
        )
        # Old frames are long ones, so that samples wait at least as long as frames do.
        assert delay <= of_samples * (1 + 1e-12) <= MOST_SAMPLES * SAMPLE_S
        least, most = (
            point.estimates[Metric.VOICE_DELAY_RATIO_MIN].value,
            point.estimates[Metric.VOICE_DELAY_RATIO_MAX].value,
        )
        assert least <= 1 <= most


def test_beyond_the_line_rate_samples_must_be_lost(points):
    # 32 hosts make 8/7 of the line rate: at least an eighth of it has no room.
    assert points[32].estimates[Metric.SAMPLE_LOSS].value > 1 / 8
    assert points[1].estimates[Metric.SAMPLE_LOSS].value == 0


def test_voice_has_intervals_like_all_else(points):
    for metric in (
        Metric.VOICE_DELAY,
        Metric.SAMPLE_LOSS,
        Metric.VOICE_UTILISATION,
        Metric.SAMPLE_DELAY_P99,
    ):
        assert points[30].estimates[metric].has_interval
        assert points[30].estimates[metric].degrees == 2


def test_the_page_shows_voice_against_hosts_and_against_load(page):
    found = titles(page)
    for title in ("Voice delay", "Delay of a sample", "Loss of samples", "Voice utilisation"):
        assert found.count(title) == 2
    assert found.count("Delay of a sample, 99th percentile") == 1
    assert "Response time" not in found  # the voice delay under another name
    shown = {"Against offered voice load", "How long frames take", "Channel time"}
    assert shown <= {*headings(page)}


def test_the_page_shows_three_distributions_and_what_each_counts(page):
    found = [title for title in titles(page) if title.startswith("Distribution")]
    assert found == [
        f"Distribution of the {delay} by number of hosts"
        for delay in ("transmission delay", "voice delay", "delay of samples")
    ]
    assert "Share of samples whose delay is larger" in text_of(page)
    assert {"99.9% (ms)", "Samples"} <= {text_of(head) for head in page.iter("th")}


def test_the_page_says_what_was_run(page):
    for text in (
        "a coder, 16 bit every 152.32 µs",
        "samples, from 64 B to 1024 B, 6 B of these overhead",
        "load-register, bits 8, clock 38.08 µs, ticks yes",
        "none: the buffer is the frame",
        "16, then resume",
    ):
        assert text in text_of(page)
    assert "turnaround time" not in {cell for row in rows(page) for cell in row}


def test_a_figure_of_voice_can_be_had_alone(run):
    drawn = figures.spec(run, "sample_loss")
    assert "Loss of samples (%)" in str(drawn)
