"""Malformed voice, turnaround time and load register: each fault is found, named by its key, with
what was allowed.
"""

import pytest
from ethermeter.experiment import load
from ethermeter.plan import expand
from faults_at import expect_fault, faults_of
from files import HEAD, host, segment
from segments import table_of

CODER = 'coder = { sample = "16 bit", every = "152.32 us" }'
FRAMES = 'frames = { samples = { least = "64 B", most = "1024 B", overhead = "6 B" } }\n'


def voice(
    text: str = "",
    *,
    frames: str = FRAMES,
    coder: str = CODER,
    segment_text: str = 'length = "550 m"\n',
) -> str:
    """A file with one group of voice stations that says this as well."""
    return (
        f'{HEAD}[segment]\nstandard = "experimental-3"\n{segment_text}'
        f'[[stations]]\nname = "host"\ncount = 2\n{frames}arrivals = {{ {coder} }}\n{text}'
    )


def coder(text: str) -> str:
    """The same with a coder that says this."""
    return voice(coder=f"coder = {{ {text} }}")


def growing(least: str, most: str, overhead: str) -> str:
    """The same with frames that grow from least to most."""
    return voice(
        frames=(
            f'frames = {{ samples = {{ least = "{least}", most = "{most}", overhead = '
            f'"{overhead}" }} }}\n'
        )
    )


SAMPLES, OF_CODER = "stations.0.frames.samples", "stations.0.arrivals.coder"
MALFORMED = {
    # the coder
    "no sample": (coder('every = "1 ms"'), f"{OF_CODER}.sample", "required: size of a sample"),
    "sample without a unit": (
        coder('sample = 16, every = "1 ms"'),
        f"{OF_CODER}.sample",
        "the unit is missing",
    ),
    "sample of nothing": (
        coder('sample = "0 bit", every = "1 ms"'),
        f"{OF_CODER}.sample",
        "above zero",
    ),
    "sample too large": (
        coder('sample = "4097 bit", every = "1 s"'),
        f"{OF_CODER}.sample",
        "at most 4096 bit",
    ),
    "neither every nor rate": (
        coder('sample = "16 bit"'),
        OF_CODER,
        "exactly one of every and rate",
    ),
    "every and rate": (
        coder('sample = "8 bit", every = "125 us", rate = "64 kb/s"'),
        OF_CODER,
        "exactly one of every and rate",
    ),
    "every of no time": (
        coder('sample = "8 bit", every = "0 us"'),
        f"{OF_CODER}.every",
        "above zero",
    ),
    "every too long": (
        coder('sample = "8 bit", every = "1.1 s"'),
        f"{OF_CODER}.every",
        "at most 1 s",
    ),
    "rate of nothing": (
        coder('sample = "8 bit", rate = "0 b/s"'),
        f"{OF_CODER}.rate",
        "above zero",
    ),
    "rate as a frequency": (
        coder('sample = "8 bit", rate = "8000 /s"'),
        f"{OF_CODER}.rate",
        "not a frequency",
    ),
    "rate of fractional times": (
        coder('sample = "16 bit", rate = "105 kb/s"'),
        f"{OF_CODER}.rate",
        'or every = "152380952 ps"',
    ),
    "rate too low": (
        coder('sample = "8 bit", rate = "5 b/s"'),
        f"{OF_CODER}.rate",
        "at least a sample a second",
    ),
    "talk without silence": (
        coder('sample = "8 bit", every = "125 us", talk = "1 s"'),
        OF_CODER,
        "talk and silence together",
    ),
    "talk shorter than a sample": (
        coder('sample = "8 bit", every = "125 us", talk = "124 us", silence = "1 s"'),
        f"{OF_CODER}.talk",
        "at least the time between two samples, 125000000 ps",
    ),
    "silence too long": (
        coder('sample = "8 bit", every = "125 us", talk = "1 s", silence = "1001 s"'),
        f"{OF_CODER}.silence",
        "at most 1000 s",
    ),
    "unknown key of a coder": (
        coder('sample = "8 bit", every = "125 us", mute = true'),
        f"{OF_CODER}.mute",
        "allowed: codec, sample, every, rate, talk, silence",
    ),
    "coder as fast as the segment": (
        coder('sample = "16 bit", every = "5.44 us"'),
        f"{OF_CODER}.every",
        "slower than the segment",
    ),
    "rate as fast as the segment": (
        voice(
            coder='coder = { sample = "16 bit", rate = "2 Mb/s" }',
            segment_text='length = "550 m"\nrate = "1 Mb/s"\n',
        ),
        f"{OF_CODER}.rate",
        "slower than the segment, which takes 16000000 ps",
    ),
    # its frames
    "coder with fixed frames": (
        voice(frames='frames = "64 B"\n'),
        "stations.0.frames",
        "because arrivals are of a coder",
    ),
    "samples without a coder": (
        voice(coder='regular = "1 ms"'),
        "stations.0.arrivals",
        "because frames are samples",
    ),
    "no overhead": (
        voice(frames='frames = { samples = { least = "64 B", most = "1024 B" } }\n'),
        f"{SAMPLES}.overhead",
        "required: part of the length that is not samples",
    ),
    "overhead without the check sequence": (
        growing("64 B", "1024 B", "1 B"),
        f"{SAMPLES}.overhead",
        "frame check sequence, 16 bit",
    ),
    "overhead of a part of the check sequence": (
        growing("64 B", "1024 B", "15 bit"),
        f"{SAMPLES}.overhead",
        'expected "0 B", at least',
    ),
    "most below least": (growing("64 B", "63 B", "6 B"), f"{SAMPLES}.most", "at least 512 bit"),
    "most all overhead": (
        growing("4 B", "6 B", "6 B"),
        f"{SAMPLES}.most",
        "1 of 16 bit beside 48 of overhead: at least 64 bit",
    ),
    "most too short for a sample that least asks for": (
        growing("65 B", "65 B", "6 B"),
        f"{SAMPLES}.most",
        "at least 528 bit",
    ),
    "most too long": (growing("64 B", "3 MB", "6 B"), f"{SAMPLES}.most", "at most 16777216 bit"),
    "most that lasts too long": (
        voice(
            frames='frames = { samples = { least = "64 B", most = "2 MB", overhead = "6 B" } }\n',
            coder='coder = { sample = "16 bit", every = "1 s" }',
            segment_text='length = "550 m"\nrate = "10 kb/s"\n',
        ),
        f"{SAMPLES}.most",
        "at most 1000 s",
    ),
    "samples with an unknown key": (
        voice(
            frames=(
                'frames = { samples = { least = "64 B", most = "1 kB", overhead = "6 B", x '
                "= 1 } }\n"
            )
        ),
        f"{SAMPLES}.x",
        "allowed: least, most, overhead",
    ),
    # its host
    "queue": (voice("queue = 4\n"), "stations.0.queue", "whose buffer is the frame"),
    "generator": (
        voice('generator = { buffers = 15, time = "40 us" }\n'),
        "stations.0.generator",
        '"saturated" only',
    ),
    "discard after the limit": (
        voice('after_attempt_limit = "discard"\n'),
        "stations.0.after_attempt_limit",
        'expected "resume"',
    ),
    "discard after a late collision": (
        voice('after_late_collision = "discard"\n'),
        "stations.0.after_late_collision",
        'expected "backoff"',
    ),
    # its clock
    "clock error without a unit": (
        voice("clock_error = 50\n"),
        "stations.0.clock_error",
        "the unit is missing",
    ),
    "clock error as a number in quotes": (
        voice('clock_error = "50"\n'),
        "stations.0.clock_error",
        "the unit is missing",
    ),
    "clock error as a time": (
        voice('clock_error = "50 us"\n'),
        "stations.0.clock_error",
        "an error of a clock",
    ),
    "clock error below zero": (
        voice('clock_error = "-50 ppm"\n'),
        "stations.0.clock_error",
        "must not be negative",
    ),
    "clock error finer than is kept": (
        voice('clock_error = "0.0005 ppm"\n'),
        "stations.0.clock_error",
        "a whole number of ppb",
    ),
    "clock error of more than a hundredth": (
        voice('clock_error = "10000.001 ppm"\n'),
        "stations.0.clock_error",
        "at most 10000 ppm",
    ),
    "clock error of nothing that has a clock": (
        host('clock_error = "50 ppm"'),
        "stations.0.clock_error",
        "with a coder or a load register only",
    ),
    "vary the clock error without a unit": (
        voice('[vary]\n"stations.clock_error" = ["10 ppm", 50]\n'),
        'vary."stations.clock_error".1',
        "the unit is missing",
    ),
    "vary the clock error to too large a one": (
        voice('[vary]\n"stations.clock_error" = ["10 ppm", "2e10 ppb"]\n'),
        'vary."stations.clock_error".1',
        "at most 10000 ppm",
    ),
    "coder that its clock may make as fast as the segment": (
        # 16 bit take 5.44 us; a clock that is 1% too fast takes a sample every 5.445 us at 5.5 us,
        # and 5.4351 us at 5.49 us.
        voice(
            'clock_error = "10000 ppm"\n', coder='coder = { sample = "16 bit", every = "5.49 us" }'
        ),
        f"{OF_CODER}.every",
        "slower than the segment",
    ),
    # the load register
    "register without bits": (
        host('backoff = { load_register = { clock = "1 us", ticks = true } }'),
        "stations.0.backoff.load_register.bits",
        "required",
    ),
    "register too wide": (
        host('backoff = { load_register = { bits = 17, clock = "1 us", ticks = true } }'),
        "stations.0.backoff.load_register.bits",
        "at most 16",
    ),
    "register without a clock": (
        host("backoff = { load_register = { bits = 8, ticks = true } }"),
        "stations.0.backoff.load_register.clock",
        "required",
    ),
    "clock that stands": (
        host('backoff = { load_register = { bits = 8, clock = "0 s", ticks = true } }'),
        "stations.0.backoff.load_register.clock",
        "above zero",
    ),
    "clock too slow": (
        host('backoff = { load_register = { bits = 8, clock = "0.2 s", ticks = true } }'),
        "stations.0.backoff.load_register.clock",
        "at most 0.1 s",
    ),
    "ticks a number": (
        host('backoff = { load_register = { bits = 8, clock = "1 us", ticks = 1 } }'),
        "stations.0.backoff.load_register.ticks",
        "true or false",
    ),
    # the turnaround time
    "turnaround without a unit": (
        segment('length = "1 m"\nturnaround = 15'),
        "segment.turnaround",
        "the unit is missing",
    ),
    "turnaround too long": (
        segment('length = "1 m"\nturnaround = "0.2 s"'),
        "segment.turnaround",
        "at most 0.1 s",
    ),
    "neither gap nor turnaround time": (
        segment('length = "1 m"\ngap = "0 bit"'),
        "segment.gap",
        "or a turnaround time",
    ),
    # what is varied
    "vary the rate beside every": (
        voice('[vary]\n"stations.arrivals.coder.rate" = ["64 kb/s"]\n'),
        OF_CODER,
        "exactly one of every and rate (with stations.arrivals.coder.rate = 64 kb/s)",
    ),
    "vary to too large a sample": (
        voice('[vary]\n"stations.arrivals.coder.sample" = ["8 bit", "5000 bit"]\n'),
        'vary."stations.arrivals.coder.sample".1',
        "at most 4096 bit",
    ),
    "vary least beyond most": (
        voice('[vary]\n"stations.frames.samples.least" = ["64 B", "1100 B"]\n'),
        f"{SAMPLES}.most",
        "(with stations.frames.samples.least = 1100 B)",
    ),
}


@pytest.mark.parametrize(("text", "key", "allowed"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_file_is_refused_with_key_and_what_was_allowed(tmp_path, text, key, allowed):
    expect_fault(tmp_path, text, key=key, allowed=allowed)


def test_every_fault_of_a_voice_group_is_found_at_once(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        voice('queue = 4\nafter_attempt_limit = "discard"\n', frames='frames = "64 B"\n'),
        encoding="utf-8",
    )
    keys = {fault.key for fault in faults_of(lambda: load(path))}
    assert keys == {"stations.0.frames", "stations.0.queue", "stations.0.after_attempt_limit"}


@pytest.mark.parametrize(
    "text",
    [
        voice(),
        voice('clock_error = "0 ppm"\n'),
        voice(
            'clock_error = "10000 ppm"\n', coder='coder = { sample = "16 bit", every = "5.5 us" }'
        ),
        voice('clock_error = "50000 ppb"\n'),
        host(
            'clock_error = "1.5 ppm"\nbackoff = { load_register = { bits = 8, clock = '
            '"1 us", ticks = true } }'
        ),
        growing("64 B", "1024 B", "0 B"),
        growing("64 B", "1024 B", "2 B"),
    ],
)
def test_a_sound_file_is_read(tmp_path, text):
    # What every malformed one is a change of.
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    assert load(path).trials == 1


@pytest.mark.parametrize(
    ("text", "ppb"), [("50 ppm", 50_000), ("0.001 ppm", 1), ("7 ppb", 7), ("1e4 ppm", 10_000_000)]
)
def test_the_error_of_a_clock_is_passed_on_in_parts_of_a_billion(tmp_path, text, ppb):
    path = tmp_path / "x.toml"
    path.write_text(voice(f'clock_error = "{text}"\n'), encoding="utf-8")
    (trial,) = expand([load(path)]).trials
    assert trial.scenario.media[0].stations[0].clock_error_ppb == ppb


def test_a_plan_without_an_error_of_clocks_is_what_it_was(tmp_path):
    # No key in the scenario: the seed and the hash of plans from before the key was there stay the
    # same.
    path = tmp_path / "x.toml"
    plans = []
    for text in ("", 'clock_error = "0 ppm"\n'):
        path.write_text(voice(text), encoding="utf-8")
        plans.append(expand([load(path)]))
        assert "clock_error" not in plans[-1].trials[0].line
    assert plans[0].trials[0].line == plans[1].trials[0].line


def test_a_frame_may_be_all_samples(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(growing("64 B", "1024 B", "0 B"), encoding="utf-8")
    (trial,) = expand([load(path)]).trials
    assert table_of(trial.scenario.flows[0].frames) == {
        "kind": "samples",
        "overhead_bits": 0,
        "min_bits": 512,
        "max_bits": 8192,
    }
