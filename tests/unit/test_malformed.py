"""Malformed experiment files: each fault is found, named by its key, and says what was allowed."""

from pathlib import Path

import pytest
from ethermeter.experiment import load
from ethermeter.plan import expand
from faults_at import expect_fault, faults_of
from files import CLUSTERS, HEAD, SEGMENT, STATIONS, VALID, host, segment, traffic

MALFORMED = {
    # the file itself
    "not TOML": (HEAD + "seed = = 1\n", "line 2", "valid TOML"),
    "unclosed text": ('title = "t\n', "line 1", "valid TOML"),
    "key twice": ("title = 'a'\ntitle = 'b'\n", "line 2", "valid TOML"),
    "only a comment": ("# nothing\n", "title", "required"),
    "deep list": ("title = " + "[" * 30 + "]" * 30 + "\n", "(file)", "at most 24"),
    "very deep list": ("title = " + "[" * 100_000, "(file)", "at most 24"),
    "key of many parts": ("a." * 100 + "b = 1\n", "line 1", "at most 24 parts"),
    "integer of ten thousand digits": ("seed = " + "9" * 10_000 + "\n", "(file)", "4300 digits"),
    "impossible date": ("title = 2000-02-31\n", "line 1", "valid TOML"),
    # the top
    "no title": (SEGMENT + STATIONS, "title", "required: title of the experiment"),
    "title a number": ("title = 3\n" + SEGMENT + STATIONS, "title", "expected a text"),
    "title empty": ('title = ""\n' + SEGMENT + STATIONS, "title", "at least 1 characters"),
    "title of 10 MB": (
        'title = "' + "x" * 10_000_000 + '"\n' + SEGMENT + STATIONS,
        "title",
        "at most 200 characters",
    ),
    "unknown key": (
        HEAD + "colour = 1\n" + SEGMENT + STATIONS,
        "colour",
        "unknown key; allowed: title, seed",
    ),
    "unknown key with a line break": (
        HEAD + '"a\\nb" = 1\n' + SEGMENT + STATIONS,
        r'"a\nb"',
        "unknown key",
    ),
    "seed negative": (HEAD + "seed = -1\n" + SEGMENT + STATIONS, "seed", "at least 0"),
    "seed too large": (
        HEAD + "seed = 9223372036854775808\n" + SEGMENT + STATIONS,
        "seed",
        "at most 9223372036854775807",
    ),
    "seed huge": (HEAD + "seed = 0x" + "f" * 9000 + "\n" + SEGMENT + STATIONS, "seed", "at most"),
    "seed a decimal": (HEAD + "seed = 1.0\n" + SEGMENT + STATIONS, "seed", "an integer"),
    "seed true": (HEAD + "seed = true\n" + SEGMENT + STATIONS, "seed", "an integer"),
    "no segment": (HEAD + STATIONS, "segment", "required"),
    "segment a text": (HEAD + 'segment = "x"\n' + STATIONS, "segment", "expected a table"),
    "no stations": (HEAD + SEGMENT, "stations", "required"),
    "stations a table": (HEAD + SEGMENT + "[stations]\ncount = 1\n", "stations", "expected a list"),
    "stations empty": (HEAD + "stations = []\n" + SEGMENT, "stations", "at least 1 of them"),
    # phases, run, sources
    "phase without unit": (
        VALID + "[phases]\ntransmit = 5\n",
        "phases.transmit",
        "the unit is missing",
    ),
    "measure more than is sent": (
        VALID + '[phases]\ntransmit = "5 s"\n',
        "phases.measure",
        "inside the transmit phase, which lasts 5 s",
    ),
    "measure too short": (
        VALID + '[phases]\nmeasure = "last 0.5 ms"\n',
        "phases.measure",
        "at least 1 ms",
    ),
    "measure without a time": (
        VALID + '[phases]\nmeasure = "middle"\n',
        "phases.measure",
        '"middle 10 s"',
    ),
    "measure the first": (
        VALID + '[phases]\nmeasure = "first 5 s"\n',
        "phases.measure",
        '"middle" or "last"',
    ),
    "spread beyond the phase": (
        VALID + '[phases]\nspread = "13 s"\n',
        "phases.spread",
        "at most the transmit phase",
    ),
    "longer than allowed": (VALID + '[phases]\nsettle = "9990 s"\n', "phases", "10000 s together"),
    "engine unknown": (VALID + '[run]\nengines = ["lab"]\n', "run.engines.0", '"simulation"'),
    "no engine": (VALID + "[run]\nengines = []\n", "run.engines", "at least 1"),
    "replications zero": (VALID + "[run]\nreplications = 0\n", "run.replications", "at least 1"),
    "batches one": (VALID + "[run]\nbatches = 1\n", "run.batches", "at least 2"),
    "source without kind": (
        VALID + '[sources]\n"segment.length" = "my guess"\n',
        'sources."segment.length"',
        "kind: text",
    ),
    "source of unknown kind": (
        VALID + '[sources]\n"segment.length" = "rumour: x"\n',
        'sources."segment.length"',
        "standard, study, fit or",
    ),
    "source unquoted": (
        VALID + '[sources]\nsegment.length = "fit: x"\n',
        "sources.segment",
        "in quotes",
    ),
    "source of nothing": (
        VALID + '[sources]\n"segment.colour" = "fit: x"\n',
        'sources."segment.colour"',
        "keys of segment",
    ),
}


@pytest.mark.parametrize(("text", "key", "allowed"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_file_is_refused_with_key_and_what_was_allowed(tmp_path, text, key, allowed):
    expect_fault(tmp_path, text, key=key, allowed=allowed)


def test_the_file_that_these_are_made_from_is_sound(tmp_path):
    for number, text in enumerate(
        (
            VALID,
            segment('length = "1 m"'),
            host(""),
            traffic('arrivals = "saturated"'),
            host("", segment_text=CLUSTERS),
        )
    ):
        path = tmp_path / f"{number}.toml"
        path.write_text(text, encoding="utf-8")
        assert load(path).trials == 1


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"title = '\xff'", "byte 0xff in line 1"),
        (b"\n\n\xc3(", "line 3"),
        (b"\x00\x01", r"\x00"),
    ],
)
def test_bytes_that_are_no_text_are_refused(tmp_path, data, value):
    path = tmp_path / "x.toml"
    path.write_bytes(data)
    (fault,) = faults_of(lambda: load(path))
    assert value in fault.value


def test_a_file_larger_than_any_experiment_is_not_read(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"#" * 16_000_001)
    (fault,) = faults_of(lambda: load(path))
    assert (fault.value, fault.allowed) == ("too large", "expected at most 16000000 bytes")


def test_missing_files_and_directories_are_refused(tmp_path):
    assert faults_of(lambda: load(tmp_path / "none.toml"))[0].value == "missing"
    assert faults_of(lambda: load(tmp_path))[0].value == "a directory"
    assert faults_of(lambda: load(tmp_path / ("x" * 300)))[0].key == "(file)"
    assert faults_of(lambda: load(Path("a\0b")))[0].key == "(file)"


def test_every_fault_is_reported_at_once(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        (
            'seed = -1\n[segment]\nstandard = 5\nlength = "1 s"\n[[stations]]\ncount = '
            '0\n[vary]\n"stations.x" = [1]\n'
        ),
        encoding="utf-8",
    )
    keys = {fault.key for fault in faults_of(lambda: load(path))}
    assert keys == {
        "title",
        "seed",
        "segment.standard",
        "segment.length",
        "stations.0.count",
        "stations.0.frames",
        "stations.0.arrivals",
        'vary."stations.x"',
    }


def test_a_combination_that_only_the_plan_meets_is_refused_there(tmp_path):
    # With the first value of each sweep, and each value beside the first of the other, all is well;
    # only the last corner is not.
    path = tmp_path / "x.toml"
    path.write_text(
        host('position = "1 m"')
        + '[vary]\n"segment.length" = ["9 m", "5 m"]\n"stations.position" = ["1 m", "8 m"]\n',
        encoding="utf-8",
    )
    experiment = load(path)
    (fault,) = faults_of(lambda: expand([experiment]))
    assert fault.key == "stations.0.position"
    assert "(with segment.length = 5 m, stations.position = 8 m)" in fault.allowed
