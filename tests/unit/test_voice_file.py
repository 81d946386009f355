"""Voice in experiments: what the core is told."""

import pytest
from shared_experiments import CALLS, SEGMENT, VOICE, lowered, trials


def test_a_codec_says_its_samples_and_how_it_is_rated():
    first, second = lowered(CALLS)["flows"]
    assert first == {
        "name": "call talker1",
        "from": "talker1",
        "to": ["listener"],
        "frames": {"kind": "samples", "overhead_bits": 96, "min_bits": 1376, "max_bits": 7776},
        "framing": {"udp": {"mtu_octets": 1500}},
        "arrivals": {"kind": "coder", "sample_bits": 8, "sample_ps": 125_000_000},
        "codec": "g711",
    }
    assert second["from"] == "talker2"


def test_a_coder_without_a_name_has_frames_spurts_and_host_time():
    coder = {"sample": "16 bit", "rate": "64 kb/s", "talk": "1.2 s", "silence": "1.8 s"}
    samples = {"least": "64 B", "most": "1024 B", "overhead": "18 B"}
    frames = {"flows.0.data": None, "flows.0.frames.samples": samples}
    spurts = {"flows.0.arrivals.coder": coder, "flows.0.service": "1 ms"}
    found = lowered(CALLS.changed({**frames, **spurts}))["flows"][0]
    assert found["frames"] == {
        "kind": "samples",
        "overhead_bits": 144,
        "min_bits": 512,
        "max_bits": 8192,
    }
    assert found["arrivals"] == {
        "kind": "coder",
        "sample_bits": 16,
        "sample_ps": 250_000_000,
        "spurts": {"talk_mean_ps": 1.2e12, "silence_mean_ps": 1.8e12},
    }
    assert found["service"] == {"kind": "constant", "ps": 10**9}
    assert not {"framing", "codec"} & set(found)


def test_frames_of_a_codec_are_its_samples():
    # G.729A: ten octets of 10 ms; RFC 3551 section 4.5.6.
    samples = {"least": "32 B", "most": "132 B", "overhead": "12 B"}
    changes = {"flows.0.data.samples": samples, "flows.0.arrivals.coder.codec": "g729a"}
    for flow in lowered(CALLS.changed(changes))["flows"]:
        assert (flow["arrivals"]["sample_bits"], flow["arrivals"]["sample_ps"]) == (80, 10**10)


FASTEST = {"stations.0.arrivals.coder.every": "5.5 us"}
REGISTER = {"load_register": {"bits": 8, "clock": "1 us", "ticks": True}}


@pytest.mark.parametrize(
    ("experiment", "error", "ppb"),
    [
        (VOICE, "50 ppm", 50_000),
        (VOICE, "0.001 ppm", 1),
        (VOICE, "7 ppb", 7),
        (VOICE, "50000 ppb", 50_000),
        (VOICE.changed(FASTEST), "10000 ppm", 10_000_000),
        (VOICE, "1e4 ppm", 10_000_000),
        (SEGMENT.changed({"stations.0.backoff": REGISTER}), "1.5 ppm", 1500),
    ],
)
def test_the_error_of_a_clock_is_passed_on_in_parts_of_a_billion(experiment, error, ppb):
    (trial,) = trials(experiment.changed({"stations.0.clock_error": error}))
    assert trial.scenario.media[0].stations[0].clock_error_ppb == ppb


def test_a_plan_without_an_error_of_clocks_is_what_it_was():
    # No key in the scenario: the seed and the hash of plans from before the key was there stay the
    # same.
    (bare,), (zero,) = trials(VOICE), trials(VOICE.changed({"stations.0.clock_error": "0 ppm"}))
    assert "clock_error" not in bare.line
    assert bare.line == zero.line


@pytest.mark.parametrize("octets", [0, 2])
def test_a_frame_may_be_all_samples_or_have_a_check_sequence(octets):
    growing = VOICE.changed({"stations.0.frames.samples.overhead": f"{octets} B"})
    assert lowered(growing)["flows"][0]["frames"] == {
        "kind": "samples",
        "overhead_bits": 8 * octets,
        "min_bits": 512,
        "max_bits": 8192,
    }
