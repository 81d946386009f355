"""What the simulation engine makes of voice in networks: rows against hand calculation, and that no
sample is ever missing.
"""

import math
from typing import Any

import ethermeter as em
import msgspec
import numpy as np
import pytest
from ethermeter.counts import Buckets
from ethermeter.engines import simulation
from ethermeter.execution import effort_of
from ethermeter.metrics import Caution, EntityKind, Metric, caution_text, metrics_of
from ethermeter.metrics.formulas import rated
from ethermeter.results.query import Results
from ethermeter.scenario import Scenario
from ethermeter.trial import Trial, planned
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from result_values import results_of
from scenarios import phases

FLOW_METRICS, FLOW_VOICE_METRICS = (
    metrics_of(group) for group in (EntityKind.FLOW, EntityKind.CALL)
)
OF_FLOWS = (*FLOW_METRICS, *FLOW_VOICE_METRICS)
S = 10**12
CODER = {"kind": "coder", "sample_bits": 8, "sample_ps": 125_000_000, "spurts": None}
SAMPLES = {
    "kind": "samples",
    "overhead_bits": 96,
    "min_bits": 96 + 8 * 160,
    "max_bits": 96 + 8 * 960,
}
UDP = {"udp": {"mtu_octets": 1500}}
OF_SAMPLES = (
    *(Metric.SAMPLES_OFFERED, Metric.SAMPLES_DELIVERED, Metric.SAMPLES_LOST),
    *(Metric.SAMPLES_LOST_HOST, Metric.SAMPLES_BUFFERED),
)


def call(source: str, **more: Any) -> dict[str, Any]:
    return {
        "name": source,
        "from": source,
        "to": ["z"],
        "frames": SAMPLES,
        "framing": UDP,
        "arrivals": CODER,
        **more,
    }


def data(source: str) -> dict[str, Any]:
    return {
        "name": f"data {source}",
        "from": source,
        "to": ["z"],
        "frames": {"kind": "fixed", "bits": 12144},
        "arrivals": {"kind": "regular", "period_ps": S // 20},
    }


def scenario(
    *flows: dict[str, Any], last_ps: int = 800_000, own_ps: int = 800_000, queue: int | None = None
) -> Scenario:
    """Hosts at a switch, whose wire to host z has `last_ps` an octet."""
    hosts = sorted({flow["from"] for flow in flows} | {"z"})
    switch: dict[str, Any] = {"learning": "known"} | (
        {} if queue is None else {"queue_frames": queue}
    )
    tables = {
        "nodes": [
            *({"name": name, "kind": {"host": {}}} for name in hosts),
            {"name": "s", "kind": {"switch": switch}},
        ],
        "links": [
            {
                "ends": [{"node": name}, {"node": "s"}],
                "ps_per_octet": last_ps if name == "z" else own_ps,
                "delay_ps": 0,
            }
            for name in hosts
        ],
        "flows": list(flows),
        "phases": phases(6 * S, measure_from_ps=S, measure_to_ps=5 * S, end_ps=8 * S),
    }
    return msgspec.convert(tables, Scenario)


def run(of: Scenario, seed: int = 1) -> Results:
    trial = planned(
        id="x/00000",
        series="",
        replication=0,
        seed=seed,
        engine="simulation",
        point={},
        scenario=of,
    )
    return results_of(of, simulation.run_trial(trial.line, of))


def values(results: Results) -> dict[tuple[int, Metric], float]:
    found = {(-1, metric): results.all(metric) for metric in OF_FLOWS}
    for metric in OF_FLOWS:
        found |= {(at, metric): of for at, of in enumerate(results.each(metric).tolist())}
    return found


def cautions(results: Results) -> dict[tuple[int, Metric], str]:
    masks = {(-1, metric): results.all_cautions(metric) for metric in OF_FLOWS}
    for metric in OF_FLOWS:
        masks |= {(at, metric): of for at, of in enumerate(results.each_cautions(metric))}
    return {key: caution_text(int(mask)) for key, mask in masks.items()}


def test_values_of_voice_are_there_only_with_voice():
    without, with_voice = scenario(data("a")), scenario(data("a"), call("b", codec="g711"))
    assert run(without).metrics == FLOW_METRICS
    assert set(run(with_voice).metrics) == set(OF_FLOWS)


def test_one_call_alone_is_what_the_hand_says():
    found = values(run(scenario(call("a", codec="g711"))))
    # 160 samples, 159 of 125 us after the oldest; then twice preamble and a frame of 218 octets at
    # 10 Mb/s.
    delay_s = 159 * 125e-6 + 2 * (8 + 218) * 0.8e-6
    for at in (-1, 0):
        assert found[at, Metric.VOICE_DELAY] == pytest.approx(delay_s, rel=1e-12)
        assert found[at, Metric.SAMPLE_DELAY] == pytest.approx(delay_s, rel=1e-12)
        assert found[at, Metric.SAMPLES_OFFERED] == found[at, Metric.SAMPLES_DELIVERED] == 32_000
        assert found[at, Metric.SAMPLE_LOSS] == 0
        assert found[at, Metric.VOICE_LOAD] == pytest.approx(64e3 / 10e6)
        # Played as soon as it is there: the upper edge of the delay's bucket, at most 0.8% above
        # it; a sample more from mouth to ear.
        played_s = found[at, Metric.MOUTH_TO_EAR] - 125e-6
        assert delay_s <= played_s <= delay_s * 1.008
        rated = em.voice.e_model(found[at, Metric.MOUTH_TO_EAR], 0.0, codec="g711")
        assert found[at, Metric.RATING] == pytest.approx(float(rated.r))
        assert found[at, Metric.MOS] == pytest.approx(float(rated.mos))
        assert found[at, Metric.SPEECH_LOSS] == 0


def test_loads_are_those_of_the_slowest_wire_and_of_the_fullest():
    # Own wires carry 100 kb/s, the last one 160 kb/s: each call alone is slowest at its own, both
    # together fill most of the last.
    found = values(run(scenario(call("a"), call("b"), own_ps=80_000_000, last_ps=50_000_000)))
    assert found[0, Metric.VOICE_LOAD] == pytest.approx(0.64)
    assert found[-1, Metric.VOICE_LOAD] == pytest.approx(0.8)


def test_without_a_name_of_a_codec_nothing_is_rated_and_with_two_not_all_together():
    found = values(
        run(scenario(call("a"), call("b", codec="g711"), call("c", codec="g711-plc"), data("d")))
    )
    assert math.isnan(found[0, Metric.RATING])
    assert found[1, Metric.RATING] < 93.2
    assert math.isnan(found[-1, Metric.MOS])
    for metric in FLOW_VOICE_METRICS:
        nothing = found[3, metric]
        assert nothing == 0 or math.isnan(nothing), metric


def test_the_same_delays_sound_later_through_a_decoder_that_conceals():
    bare, concealing = (
        values(run(scenario(call("a", codec=name))))[0, Metric.MOUTH_TO_EAR]
        for name in ("g711", "g711-plc")
    )
    assert concealing - bare == pytest.approx(3.75e-3)  # docs/reference/codecs.md


def test_few_packets_are_cautioned_but_counts_and_loads_are_what_they_are():
    of = scenario(call("a", codec="g711"))
    # Twelve packets of 20 ms.
    of = replace(of, phases=replace(of.phases, measure_to_ps=S + S // 4))
    found = cautions(run(of))
    few, none = Caution.FEW_SAMPLES.value, ""
    assert found[0, Metric.SAMPLE_DELAY] == found[-1, Metric.RATING] == few
    assert found[0, Metric.SAMPLES_OFFERED] == found[-1, Metric.VOICE_LOAD] == none


def test_a_switch_that_is_offered_too_much_is_cautioned_and_a_host_never_is():
    # 95.2 kb/s of packets and gaps, over a wire of 80: the packets grow at the host, and wait at
    # the switch without limit.
    at_host = cautions(run(scenario(call("a"), own_ps=100_000_000)))
    at_switch = cautions(run(scenario(call("a"), last_ps=100_000_000)))
    assert Caution.UNBOUNDED_QUEUE.value not in at_host[0, Metric.SAMPLE_DELAY]
    assert Caution.UNBOUNDED_QUEUE.value in at_switch[0, Metric.SAMPLE_DELAY]


def test_the_best_playout_gives_up_what_comes_late():
    # 990 samples come after 20 ms and 10 after 2 s: to wait for those costs more than their loss.
    delays = Buckets(
        np.zeros(2, np.int64),
        np.array([19_900, 1_990_000]) * 10**6,
        np.array([20_000, 2_000_000]) * 10**6,
        np.array([990, 10]),
    )
    delay_s, loss, rating, mos = rated("g711-plc", 125e-6, delays, 0.0)
    assert loss == pytest.approx(0.01)
    assert delay_s == pytest.approx(20e-3 + 125e-6 + 3.75e-3)
    found = em.voice.e_model(delay_s, loss, codec="g711-plc")
    assert (rating, mos) == (pytest.approx(float(found.r)), pytest.approx(float(found.mos)))
    # Lost samples are lost whatever the playout.
    assert rated("g711-plc", 125e-6, delays, 1000.0)[1] == pytest.approx(0.505)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**63),
    talkers=st.integers(1, 5),
    own=st.sampled_from([800_000, 60_000_000, 110_000_000, 250_000_000]),
    last=st.sampled_from([800_000, 20_000_000, 60_000_000, 250_000_000]),
    queue=st.sampled_from([None, 1, 5]),
    spurts=st.sampled_from([None, {"talk_mean_ps": 4e11, "silence_mean_ps": 6e11}]),
)
# Of one talker no packet has its oldest sample in the window.
@example(58, 2, 250_000_000, 250_000_000, 1, {"talk_mean_ps": 4e11, "silence_mean_ps": 6e11})
def test_every_sample_is_delivered_lost_or_buffered_and_histograms_have_those_that_came(
    seed, talkers, own, last, queue, spurts
):
    flows = [
        call("abcde"[at], arrivals={**CODER, "spurts": spurts}, codec="g711")
        for at in range(talkers)
    ]
    rows = run(scenario(*flows, data("f"), own_ps=own, last_ps=last, queue=queue), seed)
    found = values(rows)
    for at in range(-1, talkers + 1):
        offered, delivered, lost, lost_host, buffered = (found[at, metric] for metric in OF_SAMPLES)
        assert offered == delivered + lost + buffered
        assert lost_host <= lost
        if delivered:
            assert found[at, Metric.SAMPLE_DELAY_P50] <= found[at, Metric.SAMPLE_DELAY_MAX]
            assert 0 <= found[at, Metric.SAMPLE_LOSS] <= found[at, Metric.SPEECH_LOSS] + 1e-12
        # The delay of a packet is that of its oldest sample, which may be older than the window.
        median, longest = found[at, Metric.VOICE_DELAY_P50], found[at, Metric.VOICE_DELAY_MAX]
        assert median <= longest or (math.isnan(median) and math.isnan(longest))
        assert delivered or math.isnan(longest)
    assert rows.buckets("sample_delay").count.sum() == found[-1, Metric.SAMPLES_DELIVERED]
    assert found[talkers, Metric.SAMPLES_OFFERED] == 0  # data


def test_what_remains_to_be_done_can_be_told_of_voice_too():
    of = scenario(call("a"))
    trial = Trial(
        id="x/0",
        series="",
        replication=0,
        seed=1,
        engine="simulation",
        point={},
        scenario=of,
        line="",
    )
    # 8 s of packets of 20 ms, and one.
    assert effort_of(trial) == pytest.approx(401)


def test_every_metric_of_voice_says_what_it_counts():
    for metric in FLOW_VOICE_METRICS:
        (definition,) = (of for of in metric.definitions if of.kind is EntityKind.CALL)
        assert definition.is_of_each
        assert metric.meaning("flow") == definition.meaning
        assert len(definition.meaning) > 20
