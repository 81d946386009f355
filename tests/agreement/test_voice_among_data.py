"""Voice among bursts of data, as the shipped experiment has it: what priority and a short backoff
are good for.
"""

from collections.abc import Mapping
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.metrics import Metric
from ethermeter.results.estimates import read
from ethermeter.results.interval import Estimate

WAIT, BACKOFF = "stations.data.priority_wait", "stations.voice.backoff"
SHORT = "{ exponential = { limit = 5 } }"
Losses = Mapping[tuple[str, str], Estimate]


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> Losses:
    """Samples lost under an overload of data, by the wait of data hosts and the backoff of voice
    hosts.
    """
    overrides = (
        "stations.data.arrivals.on_off.off=270 ms",
        "phases.transmit=12 s",
        "phases.measure=last 10 s",
    )
    run = em.load("voice-and-data", overrides=overrides).run(
        out=tmp_path_factory.mktemp("voice") / "run"
    )
    return {
        (point.point[WAIT], point.point[BACKOFF]): point.estimates[Metric.SAMPLE_LOSS]
        for point in read(Path(run.path))
    }


def test_priority_keeps_most_samples_that_bursts_would_cost(losses):
    without, with_wait = losses["0 us", "exponential"], losses["51.2 us", "exponential"]
    assert with_wait.high < without.low / 2


def test_priority_is_not_strict_because_who_backs_off_leaves_room(losses):
    assert losses["51.2 us", "exponential"].low > 0


def test_voice_that_backs_off_shortly_loses_nothing_even_without_priority(losses):
    for wait in ("0 us", "51.2 us"):
        assert losses[wait, SHORT].value == 0
