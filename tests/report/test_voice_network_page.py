"""The shipped experiment with voice in a network, run whole: what must hold, and what its report
shows of it.
"""

from pathlib import Path
from xml.etree.ElementTree import Element

import ethermeter as em
import pytest
from ethermeter.metrics import Metric
from ethermeter.report import figures
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from markup import parse, text_of, titles

AROUND = 8 + 18 + 28 + 12 + 12
"""Octets of a packet on the wire besides samples: preamble, Ethernet, IP and UDP, RTP, gap."""
WINDOW_S, RATE_BPS, OWN_BPS, CODER_BPS = 4.0, 512e3, 80e3, 64e3
MOST = 960
"""Samples of the longest packet."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return (
        em.load("voice-network").run(out=tmp_path_factory.mktemp("voice") / "run", report=True).path
    )


@pytest.fixture(scope="module")
def points(run: Path) -> dict[tuple[int, str], Point]:
    return {
        (int(point.point["network.hosts.talker.count"]), point.point["network.links.0.rate"]): point
        for point in estimates.read(run)
    }


@pytest.fixture(scope="module")
def page(run: Path) -> Element:
    return parse(run / "report.html")


def test_five_calls_fit_and_six_do_where_packets_grow(points):
    for (talkers, own), point in points.items():
        loss = point.estimates[Metric.SAMPLE_LOSS].value
        assert (loss > 0.01) == (talkers > (6 if own == "80 kb/s" else 5)), (talkers, own, loss)
        assert (point.estimates[Metric.MOS].value > 4) == (loss == 0)


def test_the_shared_wire_carries_no_more_than_its_rate(points):
    for (talkers, own), point in points.items():
        found = point.estimates
        # Frames, and 20 octets of preamble and gap each; at the window's edges a packet more.
        carried_bps = found[Metric.GOODPUT].value + found[Metric.MESSAGE_RATE].value * 160
        assert carried_bps <= RATE_BPS + (AROUND + MOST) * 8 / WINDOW_S
        if talkers == 8:
            assert carried_bps >= RATE_BPS * 0.99
        # Wires of talkers are never fuller than full, and samples then go in packets of so many as
        # leave room for headers.
        if own == "80 kb/s":
            samples = CODER_BPS / 8 * talkers / found[Metric.MESSAGE_RATE].value
            assert samples >= AROUND * CODER_BPS / (OWN_BPS - CODER_BPS) * 0.98 or talkers > 6


def test_every_sample_has_its_fate(points):
    for (talkers, _), point in points.items():
        offered, *fates = (
            point.estimates[metric].value
            for metric in (
                Metric.SAMPLES_OFFERED,
                Metric.SAMPLES_DELIVERED,
                Metric.SAMPLES_LOST,
                Metric.SAMPLES_BUFFERED,
            )
        )
        assert offered == pytest.approx(sum(fates))
        assert offered == talkers * WINDOW_S * CODER_BPS / 8
        assert (
            point.estimates[Metric.SAMPLES_LOST_HOST].value == 0
        )  # a wire of 80 kb/s carries packets short enough


def test_points_of_three_replications_have_intervals(points):
    found = points[7, "512 kb/s"]
    for metric in (Metric.SAMPLE_LOSS, Metric.SAMPLE_DELAY, Metric.RATING, Metric.MOS):
        assert 0 < found.estimates[metric].half_width < found.estimates[metric].value
    assert found.replications == 3


def test_the_report_shows_voice_first_and_each_call(page):
    first = ("Loss of samples", "Rating R", "Mean opinion score", "Messages received")
    found = [title for title in titles(page) if title in first]
    assert tuple(dict.fromkeys(found)) == first
    for text in (
        "the packet's arrival at the application",
        "playout delay that rates best in hindsight",
        "Distribution of the delay of samples",
        "samples, from 172 B to 972 B, 12 B of these overhead, a coder, 8 bit every 125 µs",
        "Each flow by itself",
    ):
        assert text in text_of(page).replace("’", "'"), text


def test_a_figure_of_voice_can_be_had_alone(run):
    assert "Mean opinion score" in str(figures.spec(run, "mos"))
