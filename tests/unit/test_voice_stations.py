"""What the simulator's core gives back of voice stations, and what it refuses."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from ethermeter import _core
from ethermeter.counts import StationVoice
from scenarios import phases
from segments import segment, table_of

CODER = {"kind": "coder", "sample_bits": 16, "sample_ps": 152_320_000}
SAMPLES = {"kind": "samples", "overhead_bits": 48, "min_bits": 512, "max_bits": 8192}


def group(count: int, **change: Any) -> dict[str, Any]:
    """A group of voice stations of 105 kb/s with the experimental Ethernet's backoff, changed as
    told.
    """
    return {
        "points": [0] * count,
        "frames": SAMPLES,
        "arrivals": CODER,
        "backoff": {"rule": "load-register", "bits": 8, "clock_ps": 38_080_000, "ticks": True},
        "after_attempt_limit": "resume",
    } | change


def trial(*groups: dict[str, Any], implementation: str = "fast", **constants: int) -> str:
    """A trial of half a second on the experimental Ethernet; its last 300 ms are measured."""
    usual = {
        "slot_bits": 112,
        "gap_bits": 0,
        "gap_part1_bits": 0,
        "preamble_bits": 1,
        "jam_bits": 8,
        "turnaround_ps": 15_000_000,
    }
    ms = phases(500, measure_from_ps=200, spread_ps=20)
    scenario = segment(
        *groups,
        bit_ps=340_000,
        delay_ps=[[1_000_000]],
        phases={key: each * 10**9 for key, each in ms.items()},
        batches=2,
        **{**usual, **constants},
    )
    settings = {"implementation": implementation}
    return json.dumps({"id": "x", "seed": 3, "scenario": table_of(scenario), "settings": settings})


DATA = group(2, frames={"kind": "fixed", "bits": 4096}, arrivals={"kind": "saturated"})


def test_every_sample_of_voice_among_data_is_accounted_for():
    result = _core.simulate_trial(trial(group(24), DATA))
    voice = result.stations.voice
    assert voice is not None
    made = voice.samples
    assert made.dtype == np.int64
    assert made.shape == (26,)
    assert np.array_equal(
        made, voice.samples_delivered + voice.samples_lost + voice.samples_buffered
    )
    # 300 ms of samples, to one; none of the data stations.
    assert np.all(np.abs(made[:24].astype(float) - 0.3 / 152.32e-6) <= 1)
    assert not made[24:].any()
    for count, sum_ps in (
        (voice.voice_frames, voice.voice_delay_ps),
        (voice.samples_sent, voice.sample_delay_ps),
    ):
        assert not count[24:].any()
        assert not sum_ps[24:].any()
        assert count[:24].all()
        assert sum_ps[:24].all()
    assert voice.voice_delay.count.sum() == result.stations.frames[:24].sum()


def test_both_implementations_count_the_same_of_voice():
    fast, reference = (
        _core.simulate_trial(trial(group(24), DATA, implementation=implementation))
        for implementation in ("fast", "reference")
    )
    one, other = fast.stations.voice, reference.stations.voice
    assert one is not None
    assert other is not None
    for of in fields(StationVoice):
        if not of.name.endswith("_delay"):
            assert np.array_equal(getattr(one, of.name), getattr(other, of.name))
    assert np.array_equal(fast.media[0].time_ps, reference.media[0].time_ps)


def test_without_voice_nothing_is_counted_of_it():
    result = _core.simulate_trial(trial(DATA))
    assert result.stations.voice is None
    assert result.media[0].response_time is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (trial(group(1, frames={"kind": "fixed", "bits": 544})), "flows[0].frames"),
        (trial(group(1, arrivals={"kind": "saturated"})), "flows[0].arrivals"),
        (trial(group(1, frames=SAMPLES | {"max_bits": 500})), "flows[0].frames"),
        (trial(group(1, arrivals=CODER | {"sample_ps": 5_440_000})), "flows[0].arrivals.sample_ps"),
        (
            trial(group(1, after_attempt_limit="discard")),
            "media[0].stations[0].after_attempt_limit",
        ),
        (
            trial(
                group(
                    1, backoff={"rule": "load-register", "bits": 17, "clock_ps": 1, "ticks": False}
                )
            ),
            "media[0].stations[0].backoff.bits",
        ),
        (trial(group(1), turnaround_ps=0), "media[0].mac.csma_cd.gap_bits"),
    ],
)
def test_a_trial_that_contradicts_itself_is_refused_with_its_key(text, key):
    with pytest.raises(ValueError, match="must") as refusal:
        _core.simulate_trial(text)
    assert str(refusal.value).startswith(key + ":")
