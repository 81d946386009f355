"""Malformed stations and sweeps: each fault has its key and says what is allowed."""

import pytest
from ethermeter.experiment import load
from faults_at import expect_fault, faults_of
from files import STATIONS, VALID, host, traffic

MALFORMED = {
    # stations
    "count zero": (VALID.replace("count = 2", "count = 0"), "stations.0.count", "at least 1"),
    "count a text": (VALID.replace("count = 2", 'count = "2"'), "stations.0.count", "an integer"),
    "count missing": (
        VALID.replace("count = 2\n", ""),
        "stations.0.count",
        "required: number of stations",
    ),
    "name with a space": (
        VALID.replace('"host"', '"my host"'),
        "stations.0.name",
        "expected a letter",
    ),
    "name that is a key": (
        VALID.replace('"host"', '"count"'),
        "stations.0.name",
        "no key of stations",
    ),
    "name twice": (VALID + STATIONS, "stations.1.name", "no group before has"),
    "frames without unit": (
        VALID.replace('"64 B"', "64"),
        "stations.0.frames",
        "expected a length such as",
    ),
    "frames empty": (VALID.replace('"64 B"', '"0 B"'), "stations.0.frames", "above zero"),
    "frames no more than the check sequence": (
        VALID.replace('"64 B"', '"4 B"'),
        "stations.0.frames",
        "frame check sequence",
    ),
    "mix without weight": (
        VALID.replace('"64 B"', '"64 B x 1 + 100 B"'),
        "stations.0.frames",
        "a whole weight",
    ),
    "mix of nothing": (
        VALID.replace('"64 B"', '"64 B x 0"'),
        "stations.0.frames",
        "weight above zero",
    ),
    "mix table of nothing": (
        VALID.replace('"64 B"', '{ mix = [{ length = "64 B", weight = 0 }] }'),
        "stations.0.frames",
        "weight above zero",
    ),
    "mix with a negative weight": (
        VALID.replace('"64 B"', '{ mix = [{ length = "64 B", weight = -1 }] }'),
        "stations.0.frames.mix.0.weight",
        "from 0 to",
    ),
    "mix with an unknown key": (
        VALID.replace('"64 B"', '{ mix = [{ length = "64 B", weight = 1, x = 2 }] }'),
        "stations.0.frames.mix.0.x",
        "allowed: length, weight",
    ),
    "measured file missing": (
        VALID.replace('"64 B"', '{ measured = "no.csv" }'),
        "(file)",
        "length_bytes, weight",
    ),
    "arrivals unknown": (traffic('arrivals = "sometimes"'), "stations.0.arrivals", '"saturated"'),
    "arrivals unknown table": (
        traffic("arrivals = { bursts = 1 }"),
        "stations.0.arrivals",
        "{ poisson =",
    ),
    "arrivals two kinds": (
        traffic('arrivals = { poisson = "1 /s", regular = "1 s" }'),
        "stations.0.arrivals.regular",
        "allowed: poisson",
    ),
    "poisson as a time": (
        traffic('arrivals = { poisson = "1 s" }'),
        "stations.0.arrivals.poisson",
        "not a time",
    ),
    "poisson zero": (
        traffic('arrivals = { poisson = "0 /s" }'),
        "stations.0.arrivals.poisson",
        "above zero",
    ),
    "load zero": (
        traffic("arrivals = { poisson_load = 0 }"),
        "stations.0.arrivals.poisson_load",
        "above 0",
    ),
    "load infinite": (
        traffic("arrivals = { poisson_load = inf }"),
        "stations.0.arrivals.poisson_load",
        "above 0",
    ),
    "load too small": (
        traffic("arrivals = { poisson_load = 1e-12 }"),
        "stations.0.arrivals.poisson_load",
        "every 1000 s",
    ),
    "regular zero": (
        traffic('arrivals = { regular = "0 s" }'),
        "stations.0.arrivals.regular",
        "above zero",
    ),
    "phase of a period": (
        traffic('arrivals = { regular = "1.5 ms", phase = "1.5 ms" }'),
        "stations.0.arrivals.phase",
        'expected "random", or a time from 0 s to below regular, 1500 us',
    ),
    "phase negative": (
        traffic('arrivals = { regular = "1 ms", phase = "-1 us" }'),
        "stations.0.arrivals.phase",
        "must not be negative",
    ),
    "phase unknown": (
        traffic('arrivals = { regular = "1 ms", phase = "first" }'),
        "stations.0.arrivals.phase",
        'or "random"',
    ),
    "phase a number": (
        traffic('arrivals = { regular = "1 ms", phase = 0 }'),
        "stations.0.arrivals.phase",
        'or "random"',
    ),
    "phase of poisson": (
        traffic('arrivals = { poisson = "1 /s", phase = "0 s" }'),
        "stations.0.arrivals.phase",
        "allowed: poisson",
    ),
    "regular with an unknown key": (
        traffic('arrivals = { regular = "1 s", faze = 1 }'),
        "stations.0.arrivals.faze",
        "allowed: regular, phase",
    ),
    "on-off without off": (
        traffic('arrivals = { on_off = { period = "1 ms", on = "1 s" } }'),
        "stations.0.arrivals.on_off.off",
        "required",
    ),
    "priority wait a number": (
        host("priority_wait = 51"),
        "stations.0.priority_wait",
        "the unit is missing",
    ),
    "priority wait negative": (
        host('priority_wait = "-1 us"'),
        "stations.0.priority_wait",
        "must not be negative",
    ),
    "priority wait too long": (
        host('priority_wait = "0.2 s"'),
        "stations.0.priority_wait",
        "at most 0.1 s",
    ),
    "priority wait a length": (host('priority_wait = "1 m"'), "stations.0.priority_wait", "a time"),
    "service negative": (host('service = "-1 us"'), "stations.0.service", "must not be negative"),
    "service a number": (host("service = 5"), "stations.0.service", "{ uniform = [low, high] }"),
    "uniform backwards": (
        host('service = { uniform = ["2 us", "1 us"] }'),
        "stations.0.service",
        "lower bound first",
    ),
    "uniform of three": (
        host('service = { uniform = ["1 us", "2 us", "3 us"] }'),
        "stations.0.service.uniform",
        "at most 2",
    ),
    "exponential without mean": (
        host('service = { exponential = { offset = "1 us" } }'),
        "stations.0.service.exponential.mean",
        "required",
    ),
    "measured unequal": (
        host('service = { measured = { values = ["1 us"], weights = [1, 2] } }'),
        "stations.0.service.measured",
        "as many weights as values",
    ),
    "generator without buffers": (
        host('generator = { time = "1 us" }'),
        "stations.0.generator.buffers",
        "required",
    ),
    "generator unsaturated": (
        traffic('arrivals = { regular = "1 ms" }\ngenerator = { buffers = 15, time = "40 us" }'),
        "stations.0.generator",
        '"saturated" only',
    ),
    "queue saturated": (host("queue = 4"), "stations.0.queue", "not allowed with saturated"),
    "queue zero": (host("queue = 0"), "stations.0.queue", '"unlimited"'),
    "backoff unknown": (
        host('backoff = "quadratic"'),
        "stations.0.backoff",
        "{ linear = { limit = 10 } }",
    ),
    "backoff without slots": (
        host("backoff = { constant = {} }"),
        "stations.0.backoff.constant.slots",
        "required",
    ),
    "backoff limit too large": (
        host("backoff = { exponential = { limit = 31 } }"),
        "stations.0.backoff.exponential.limit",
        "at most 30",
    ),
    "attempt limit zero": (host("attempt_limit = 0"), "stations.0.attempt_limit", "at least 1"),
    "after the limit unknown": (
        host('after_attempt_limit = "retry"'),
        "stations.0.after_attempt_limit",
        '"discard" or "resume"',
    ),
    "late collision unknown": (
        host('after_late_collision = "panic"'),
        "stations.0.after_late_collision",
        '"backoff" or "discard"',
    ),
    # vary
    "vary unquoted": (
        VALID + "[vary]\nstations.count = { from = 1, to = 2 }\n",
        "vary.stations",
        "in quotes",
    ),
    "vary unknown key": (
        VALID + '[vary]\n"stations.colour" = [1]\n',
        'vary."stations.colour"',
        "keys are name, count",
    ),
    "vary the run": (
        VALID + '[vary]\n"run.batches" = [2, 3]\n',
        'vary."run.batches"',
        "begins with segment., stations., phases.",
    ),
    "vary one value": (
        VALID + '[vary]\n"stations.count" = 3\n',
        'vary."stations.count"',
        "a list of values or",
    ),
    "vary nothing": (
        VALID + '[vary]\n"stations.count" = []\n',
        'vary."stations.count"',
        "from 1 to 100000 values",
    ),
    "vary backwards": (
        VALID + '[vary]\n"stations.count" = { from = 3, to = 1 }\n',
        'vary."stations.count"',
        "to at or above from",
    ),
    "vary step zero": (
        VALID + '[vary]\n"stations.count" = { from = 1, to = 3, step = 0 }\n',
        'vary."stations.count"',
        "step above zero",
    ),
    "vary tiny step": (
        VALID + '[vary]\n"segment.length" = { from = "1 m", to = "2 m", step = "1e-30 m" }\n',
        'vary."segment.length"',
        "at most 100000 values",
    ),
    "vary without step": (
        VALID + '[vary]\n"segment.length" = { from = "1 m", to = "2 m" }\n',
        'vary."segment.length"',
        "expected a step",
    ),
    "vary mixed units": (
        VALID + '[vary]\n"segment.length" = { from = "1 m", to = "2 km", step = "1 m" }\n',
        'vary."segment.length"',
        "the same unit",
    ),
    "vary a huge integer": (
        VALID + '[vary]\n"stations.count" = [1, 0x' + "f" * 9000 + "]\n",
        'vary."stations.count".1',
        "at most 1024",
    ),
    "vary a huge number": (
        VALID + '[vary]\n"segment.velocity" = [0x' + "f" * 9000 + "]\n",
        'vary."segment.velocity".0',
        "from 0.01 to 1",
    ),
    "vary to a huge end": (
        VALID + '[vary]\n"stations.count" = { from = 1, to = 0x' + "f" * 9000 + " }\n",
        'vary."stations.count"',
        "up to 1e15",
    ),
    "vary NaN": (
        VALID + '[vary]\n"segment.velocity" = { from = nan, to = 1.0, step = 0.1 }\n',
        'vary."segment.velocity"',
        "finite",
    ),
    "vary a wrong value": (
        VALID + '[vary]\n"stations.count" = [1, 0]\n',
        'vary."stations.count".1',
        "at least 1",
    ),
    "vary a value twice": (
        VALID + '[vary]\n"stations.frames" = ["64 B", "64  B"]\n',
        'vary."stations.frames".1',
        "different values",
    ),
    "vary a key twice": (
        VALID + '[vary]\n"stations.count" = [1]\n"stations.0.count" = [2]\n',
        'vary."stations.0.count"',
        "each key once",
    ),
    "vary below a text": (
        VALID + '[vary]\n"stations.arrivals.poisson_load" = [0.5]\n',
        'vary."stations.arrivals.poisson_load"',
        "expected a table",
    ),
    "vary too much": (
        VALID
        + (
            '[vary]\n"stations.count" = { from = 1, to = 1000 }\n"segment.length" = { '
            'from = "1 m", to = "101 m", step = "1 m" }\n'
        ),
        "vary",
        "at most 100000 trials",
    ),
    "a combination that contradicts itself": (
        host('position = "90 m"') + '[vary]\n"segment.length" = ["100 m", "80 m"]\n',
        "stations.0.position",
        "(with segment.length = 80 m)",
    ),
}


@pytest.mark.parametrize(("text", "key", "allowed"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_file_is_refused_with_key_and_what_was_allowed(tmp_path, text, key, allowed):
    expect_fault(tmp_path, text, key=key, allowed=allowed)


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("", "line 1", "header length_bytes,weight"),
        ("length_bytes,weight\n", "(file)", "from 1 to 2000 rows"),
        ("length_bytes,weight\n64\n", "line 2", "2 columns"),
        ("length_bytes,weight\n64.5,1\n", "line 2, length_bytes", "whole number of bytes"),
        ("length_bytes,weight\n64,nan\n", "line 2, weight", "zero or above"),
        ("length_bytes,weight\n64,-1\n1e999,2\n", "line 3, length_bytes", "whole number of bytes"),
        ("length_bytes,weight\n64,0\n", "(file)", "weight above zero"),
        ('length_bytes,weight\n"64,1\n' + "x" * 200_000, "(file)", "expected a CSV file"),
    ],
)
def test_malformed_measured_lengths_are_refused(tmp_path, text, key, allowed):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    path = tmp_path / "x.toml"
    path.write_text(VALID.replace('"64 B"', '{ measured = "x.csv" }'), encoding="utf-8")
    faults = faults_of(lambda: load(path))
    assert any(
        fault.file == "x.csv" and fault.key == key and allowed in fault.allowed for fault in faults
    ), [str(fault) for fault in faults]
