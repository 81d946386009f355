"""What the simulation engine makes of the core's counts of samples, against hand calculation, and
that no sample is ever missing.
"""

import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import ethermeter as em
import numpy as np
import pytest
from counted import buckets, changed, integers, of_segment
from ethermeter.counts import Counts, MediumCounts, StationCounts, StationVoice, zeros
from ethermeter.engines.simulation import result_of
from ethermeter.execution import effort_of
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.metrics import Caution, EntityKind, Metric, metrics_of
from ethermeter.results import estimates
from ethermeter.store.columns import STATIONS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from result_values import cautions_in, values_in
from segments import segment

WINDOW_PS = 10**12
FRAMES = {"kind": "samples", "overhead_bits": 48, "min_bits": 512, "max_bits": 8192}
CODER = {"kind": "coder", "sample_bits": 16, "sample_ps": 152_320_000, "spurts": None}
CODED = {"sample": "16 bit", "every": "152.32 us"}
METRICS = metrics_of(EntityKind.STATION)
VOICE = list(metrics_of(EntityKind.TALKER))


SCENARIO = segment(
    {"points": [0], "arrivals": {"kind": "saturated"}, "frames": {"kind": "fixed", "bits": 4096}},
    {"points": [0, 0], "arrivals": CODER, "frames": FRAMES},
    {
        "points": [0],
        "arrivals": CODER
        | {"sample_bits": 8, "spurts": {"talk_mean_ps": 1e12, "silence_mean_ps": 3e12}},
        "frames": FRAMES | {"overhead_bits": 112},
    },
    bit_ps=340_000,
    preamble_bits=1,
    gap_bits=1,
)
"""A data station, two voice stations, and one of half the rate that talks a quarter of the time."""


def result() -> Counts:
    """A second in which the first voice station sent 100 frames, the second 50 of twice the length,
    the third 10 of 512 bit.
    """
    histogram = ((10**9, 2 * 10**9), (8 * 10**9, 9 * 10**9))
    voice = StationVoice(
        samples=integers(0, 6565, 6565, 500),
        samples_delivered=integers(0, 3000, 2990, 490),
        samples_lost=integers(0, 3560, 3500, 0),
        samples_buffered=integers(0, 5, 75, 10),
        voice_frames=integers(0, 100, 50, 10),
        voice_delay_ps=np.array([0, 100 * 4e9, 50 * 8e9, 10 * 6e9]),
        samples_sent=integers(0, 3000, 3000, 500),
        sample_delay_ps=np.array([0, 3000 * 5e9, 3000 * 9e9, 500 * 6e9]),
        voice_delay=buckets((*histogram[0], 120), (*histogram[1], 40)),
        sample_delay=buckets((*histogram[0], 3000), (*histogram[1], 3500)),
    )
    stations = replace(
        zeros(StationCounts, 4),
        frames=integers(200, 100, 50, 10),
        bits=integers(200 * 4096, 100 * 528, 50 * 1008, 10 * 512),
        voice=voice,
    )
    medium = replace(
        zeros(MediumCounts),
        time_ps=integers(0, 0, 0, 0, WINDOW_PS),
        transmission_delay=buckets((10**6, 2 * 10**6, 360)),
    )
    return of_segment(stations, medium, window_ps=WINDOW_PS)


def test_the_values_of_all_voice_are_those_of_a_hand_calculation():
    found = values_in(SCENARIO, result_of(SCENARIO, result(), core_s=0))
    payload = (100 * 480, 50 * 960, 10 * 400)
    samples = (3000, 3000, 500)
    load = (16 / 152.32e-6 * 0.34e-6, 8 / 152.32e-6 * 0.34e-6 / 4)
    expected = {
        Metric.SAMPLES_OFFERED: 13630,
        Metric.SAMPLES_DELIVERED: 6480,
        Metric.SAMPLES_LOST: 7060,
        Metric.SAMPLES_BUFFERED: 90,
        Metric.SAMPLE_LOSS: 7060 / (7060 + 6480),
        Metric.VOICE_DELAY: (100 * 4e-3 + 50 * 8e-3 + 10 * 6e-3) / 160,
        # Rank 80 of 160 is two thirds through the first bucket of 120; rank 144 is 24 of 40 into
        # the second.
        Metric.VOICE_DELAY_P50: 1e-3 + 80 / 120 * 1e-3,
        Metric.VOICE_DELAY_P90: 8e-3 + 24 / 40 * 1e-3,
        Metric.VOICE_DELAY_P99: 8e-3 + 38.4 / 40 * 1e-3,
        Metric.VOICE_DELAY_P999: 8e-3 + 39.84 / 40 * 1e-3,
        Metric.VOICE_DELAY_MAX: 9e-3,
        Metric.VOICE_DELAY_RATIO_MIN: 4 / 6,
        Metric.VOICE_DELAY_RATIO_MAX: 8 / 6,
        Metric.SAMPLE_DELAY: (samples[0] * 5e-3 + samples[1] * 9e-3 + samples[2] * 6e-3)
        / sum(samples),
        Metric.SAMPLE_DELAY_P50: 8e-3 + 250 / 3500 * 1e-3,
        Metric.SAMPLE_DELAY_P90: 8e-3 + 2850 / 3500 * 1e-3,
        Metric.SAMPLE_DELAY_P99: 8e-3 + 3435 / 3500 * 1e-3,
        Metric.SAMPLE_DELAY_P999: 8e-3 + 3493.5 / 3500 * 1e-3,
        Metric.SAMPLE_DELAY_MAX: 9e-3,
        Metric.VOICE_LOAD: 2 * load[0] + load[1],
        Metric.VOICE_UTILISATION: sum(payload) * 0.34e-6,
    }
    assert set(expected) == set(VOICE)
    assert {metric: found[-1, metric] for metric in VOICE} == pytest.approx(expected, rel=1e-12)


def test_a_station_without_a_coder_has_no_samples_and_no_delay_of_any():
    rows = result_of(SCENARIO, result(), core_s=0)
    found, words = values_in(SCENARIO, rows), cautions_in(SCENARIO, rows)
    assert (
        found[0, Metric.SAMPLES_OFFERED]
        == found[0, Metric.VOICE_LOAD]
        == found[0, Metric.VOICE_UTILISATION]
        == 0
    )
    for metric in (Metric.VOICE_DELAY, Metric.SAMPLE_DELAY, Metric.SAMPLE_LOSS):
        assert math.isnan(found[0, metric])
        assert words[0, metric] == Caution.NO_SAMPLES
    assert found[2, Metric.SAMPLE_LOSS] == pytest.approx(3500 / 6490)
    assert found[3, Metric.VOICE_UTILISATION] == pytest.approx(4000 * 0.34e-6)


def test_few_frames_of_voice_are_cautioned_however_many_of_data_there_are():
    few = changed(
        result(), frames=integers(200, 19, 0, 10), bits=integers(200 * 4096, 19 * 528, 0, 10 * 512)
    )
    words = cautions_in(SCENARIO, result_of(SCENARIO, few, core_s=0))
    assert words[-1, Metric.VOICE_DELAY] == words[1, Metric.SAMPLE_DELAY] == Caution.FEW_SAMPLES
    assert (
        words[-1, Metric.UTILISATION]
        == words[-1, Metric.SAMPLES_LOST]
        == words[1, Metric.VOICE_LOAD]
        == ""
    )
    words = cautions_in(SCENARIO, result_of(SCENARIO, result(), core_s=0))
    assert words[-1, Metric.VOICE_DELAY] == words[1, Metric.VOICE_DELAY] == ""
    assert words[3, Metric.VOICE_DELAY] == Caution.FEW_SAMPLES


def test_where_nothing_was_delivered_nothing_is_known():
    counts = result()
    silent = changed(
        replace(counts, media=(replace(counts.media[0], transmission_delay=buckets()),)),
        frames=integers(200, 0, 0, 0),
        bits=integers(200 * 4096, 0, 0, 0),
        voice=replace(zeros(StationVoice, 4), samples=integers(0, 6565, 6565, 500)),
    )
    found = values_in(SCENARIO, result_of(SCENARIO, silent, core_s=0))
    undefined = {metric for metric in VOICE if math.isnan(found[-1, metric])}
    counted = {metric for metric in VOICE if metric.value.startswith("samples_")}
    assert undefined == set(VOICE) - counted - {Metric.VOICE_LOAD, Metric.VOICE_UTILISATION}


def data(arrivals: object) -> dict[str, object]:
    return em.stations("data", count=2, frames="512 B", arrivals=arrivals)


def net(
    *stations: Mapping[str, object], series: str = "x", measure: str = "all", drain_ms: int = 0
) -> ExperimentTables:
    phases = {
        "transmit": "300 ms",
        "measure": measure,
        "drain": f"{drain_ms} ms",
        "spread": "10 ms",
    }
    return em.segment(
        "experimental-3", length="550 m", series=series, stations=stations, phases=phases
    )


def voice(
    coder: object = CODED, *, count: int = 3, least: int = 64, most: int = 1024, **keys: object
) -> dict[str, object]:
    samples = {"least": f"{least} B", "most": f"{most} B", "overhead": "6 B"}
    talk = {"frames": {"samples": samples}, "arrivals": {"coder": coder}}
    return em.stations("voice", count=count, **talk, **keys)


coders = st.builds(
    lambda sample, every, spurts: {"sample": f"{sample} bit", "every": f"{every} us", **spurts},
    st.sampled_from([8, 16, 64]),
    st.sampled_from([40, 152.32, 1000]),
    st.sampled_from(
        [{}, {"talk": "20 ms", "silence": "30 ms"}, {"talk": "1 ms", "silence": "1 ms"}]
    ),
)
hosts = st.sampled_from(
    [
        {},
        {"backoff": {"load_register": {"bits": 8, "clock": "38.08 us", "ticks": True}}},
        {"attempt_limit": 2},
        {"service": {"uniform": ["0 us", "500 us"]}},
    ]
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    coders,
    st.integers(1, 20),
    st.sampled_from([(32, 64), (64, 1024), (512, 1024)]),
    hosts,
    st.sampled_from([(), (data("saturated"),), (data({"poisson": "50 /s"}),)]),
    st.sampled_from(["all", "middle 100 ms", "last 7 ms"]),
    st.sampled_from([0, 50]),
)
def test_from_file_to_observations_no_sample_is_ever_missing(
    coder, count, lengths, host, others, measure, drain
):
    speakers = voice(coder, count=count, least=lengths[0], most=lengths[1], **host)
    experiment = net(speakers, *others, measure=measure, drain_ms=drain)
    with tempfile.TemporaryDirectory() as folder:
        run = em.load(experiment).run(out=Path(folder) / "run", jobs=1)
        together, each = run.frame(by="trial"), run.frame(by="entity")
        names = run.entities
    whole = dict(zip(together["metric"], together["value"], strict=True))
    table = each.pivot_table(index="entity", columns="metric", values="value", observed=True)
    table = table.loc[names]
    fates = table["samples_delivered"] + table["samples_lost"] + table["samples_buffered"]
    assert (table["samples_offered"] == fates).all()
    assert whole["samples_offered"] == table["samples_offered"].sum()
    assert (table["samples_offered"].iloc[count:] == 0).all()


def test_a_point_without_voice_has_no_row_and_no_estimate_of_it(tmp_path):
    saturated = net(em.stations(count=3, frames="64 B", arrivals="saturated"), series="a")
    run = em.load(saturated, net(voice(), series="b")).run(out=tmp_path / "both", jobs=1)
    alone = em.load(saturated).run(out=tmp_path / "alone", jobs=1)
    assert set(alone.frame(by="trial")["metric"]) == set(METRICS)
    columns = alone.directory.table(STATIONS).column_names
    assert not any(name.startswith("voice.") for name in columns)
    kept = run.frame(by="trial")
    assert set(kept[kept["series"] == "a"]["metric"]) == set(METRICS)
    assert set(kept[kept["series"] == "b"]["metric"]) == {*METRICS, *VOICE}
    of = {point.series: set(point.estimates) for point in estimates.read(run.path)}
    assert of == {"a": set(METRICS), "b": {*METRICS, *VOICE}}
    kinds = {
        trial: set(part["time"])
        for trial, part in run.directory.histograms().to_pandas().groupby("trial", observed=True)
    }
    assert {"voice_delay", "sample_delay"} <= kinds["b/00000"]
    assert not {"voice_delay", "sample_delay"} & kinds["a/00000"]


def test_what_remains_to_be_done_can_be_told_of_voice_too():
    (trial,) = em.load(net(voice())).plan().trials
    # Frames of 64 B, a bit of preamble and one of gap, in 300 ms and for three stations and the
    # segment; and one for the trial itself.
    assert effort_of(trial) == pytest.approx(1 + 0.3 / (514 * 0.34e-6) * 4)


def test_every_metric_of_voice_says_what_it_counts():
    assert all(metric.meaning() for metric in VOICE)
    assert not set(VOICE) & {*METRICS}
