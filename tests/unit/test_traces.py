"""Traces: files of recorded messages, their replay by the simulator, and theory of them."""

import json
import math
import pickle
import re
import struct
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path

import captures
import ethermeter as em
import numpy as np
import pytest
from ethermeter import plan
from ethermeter.engines.answer import answer
from ethermeter.engines.cluster import _run_task
from ethermeter.execution import Execution, execute
from ethermeter.experiment import load
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.experiment.trace_files import read_trace
from ethermeter.faults import InputError
from ethermeter.store import RunDirectory
from ethermeter.store.columns import FLOWS
from ethermeter.theory.bounds.sources import arrivals_of
from ethermeter.theory.queueing.sources import source_of
from ethermeter.traces import Trace
from hypothesis import given, settings
from hypothesis import strategies as st
from program import invoke
from result_values import values_in


def segment(*, count: int = 1, **traffic: object) -> ExperimentTables:
    return em.segment(
        "ieee-10",
        title="A trace on a segment",
        length="100 m",
        stations=em.stations("host", count=count, **traffic),
        phases={"transmit": "100 ms", "measure": "all"},
    )


def flow(**traffic: object) -> ExperimentTables:
    return em.network(
        title="A trace over a wire",
        rate="10 Mb/s",
        hosts=["a", "b"],
        links=[("a", "b")],
        flows=em.flow("f", "a", "b", **traffic),
        phases={"transmit": "10 ms", "measure": "all", "drain": "10 ms"},
    )


def refused(make: Callable[[], object], said: str) -> str:
    """What is said of an input that is refused, in which quotes are left out."""
    with pytest.raises(InputError) as error:
        make()
    message = str(error.value).replace('"', "")
    assert re.search(said, message), message
    return message


def planned(folder: Path, experiment: ExperimentTables, **files: str) -> plan.Plan:
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    return plan.expand([load(experiment.save(folder / "x.toml"))])


def values(trial) -> dict[tuple[int, str], float]:
    result = answer(trial.line, traces=trial.traces)
    found = values_in(trial.scenario, result, engine=trial.engine)
    return {(at, metric.value): value for (at, metric), value in found.items()}


def trace_of(text: str, folder: Path) -> Trace:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return read_trace(folder / "t.csv", name="t.csv")


@pytest.mark.parametrize(
    ("text", "times_ps", "octets"),
    [
        ("time_s\n0\n1.5\n", [0, 15 * 10**11], None),
        ("time_ms\n0.25\n1e-3\n2.5E0\n", None, None),
        ("time_us,length_B\n0.1,64\n0.1,1518\n7,64\n", [10**5, 10**5, 7 * 10**6], [64, 1518, 64]),
        ("length_B, time_ns\n64, 3\n65, 4\n", [3000, 4000], [64, 65]),
        ("\ufefftime_ps\r\n1\r\n\r\n2\r\n", [1, 2], None),
        # Ten digits of seconds and twelve decimal places, which no floating-point number has.
        (
            "epoch_s\n1700000000.000000000001\n1700000000.000000000004\n1700000001\n",
            [0, 3, 999999999999],
            None,
        ),
        ("time_s\n0\n0.30000000000000004\n", [0, 3 * 10**11], None),
    ],
)
def test_a_csv_file_is_read_exactly(tmp_path, text, times_ps, octets):
    if times_ps is None:
        refused(lambda: trace_of(text, tmp_path), r"line 3, time_ms = 1e-3: .* must not decrease")
        return
    trace = trace_of(text, tmp_path)
    assert trace.times_ps.tolist() == times_ps
    assert (trace.octets is None) == (octets is None)
    assert octets is None or trace.octets.tolist() == octets


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"t.csv: \(file\) = empty: expected a header with a column of times"),
        ("time_S\n1\n2\n", r"line 1 = time_S: .* did you mean time_s\?"),
        ("time_us,lenght_B\n1,64\n", r"line 1 = lenght_B: .* did you mean length_B\?"),
        ("length_B\n64\n", r"line 1 = length_B: expected a header with a column of times"),
        ("time_s,epoch_s\n1,2\n", r"line 1 = time_s,epoch_s: expected a header"),
        ("1\n2\n", r"line 1 = 1: expected a header"),
        ("time_s\n", r"0 messages: expected from 2 to 1000000"),
        ("time_s\n1\n", r"1 messages: expected from 2 to 1000000"),
        ("time_s\n1\n1\n", r"all messages at one time: expected messages at different times"),
        ("time_s\n1\n2,3\n", r"line 3 = 2,3: expected 1 column$"),
        ("time_s,length_B\n1,64\n2\n", r"line 3 = 2: expected 2 columns"),
        ("time_s\n1\ntwo\n", r"line 3, time_s = two: expected a number, 0 or above"),
        ("time_s\n1\n-2\n", r"line 3, time_s = -2: expected a number, 0 or above"),
        (
            "time_s\n1\n2 s\n",
            r"line 3, time_s = 2 s: expected a number, 0 or above, without a unit",
        ),
        ("time_s\n1\nnan\n3\n", r"line 3, time_s = nan: expected a number"),
        ("time_s\n2\n1\n", r"line 3, time_s = 1: .* times must not decrease"),
        ("time_s,length_B\n1,64\n2,18\n", r"line 3, length_B = 18: .* from 19 to 65507"),
        ("time_s\n1_000\n", r"line 2, time_s = 1_000"),
        ("time_s\n١٢\n", r"line 2, time_s = "),
        ("time_s,length_B\n1,64\n2,64.5\n", r"line 3, length_B = 64.5: .* whole number of octets"),
        (
            "time_s\n1\n9001\n",
            r"line 3, time_s = 9001: expected at most 9000 s from the begin of the source",
        ),
        (
            "time_s\n1700000000\n1700000001\n",
            r"line 2, time_s = 1700000000: .* columns epoch_… count from the first",
        ),
        ("time_s\n1\n1e19\n", r"line 3, time_s = 1e19: expected at most"),
        ('time_s\n1\n"2\n', r"\(file\) = unexpected end of data: expected a CSV file"),
    ],
)
def test_a_fault_of_a_csv_file_names_file_line_column_and_value(tmp_path, text, said):
    refused(lambda: trace_of(text, tmp_path), said)


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    for name, said in (("none.csv", "missing"), (".", "a directory")):
        with pytest.raises(InputError, match=f"x: .file. = {said}: expected a CSV file of times"):
            read_trace(tmp_path / name, name="x")
    (tmp_path / "x").write_bytes(b"time_s\n\xff\n")
    with pytest.raises(InputError, match="byte 0xff in line 2: expected UTF-8 text, or a capture"):
        read_trace(tmp_path / "x", name="x")


def ipv4(source: int, destination: int, octets: int) -> bytes:
    """An Ethernet frame of an IP packet with so many octets in all, check sequence apart."""
    ends = (10, 0, 0, source, 10, 0, 0, destination)
    header = struct.pack(">BBHHHBBH4B4B", 0x45, 0, octets - 14, 1, 0, 64, 17, 0, *ends)
    udp = struct.pack(">HHHH", 1, 2, octets - 34, 0)
    return bytes(12) + b"\x08\x00" + header + udp + bytes(octets - 42)


def capture(path: Path, frames: list[tuple[int, bytes]]) -> Path:
    """A pcap with times in us; all but 60 octets of each frame are cut off."""
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 60, 1)
    for time_us, frame in frames:
        kept = frame[:60]
        head = struct.pack(
            "<IIII", 10**9 + time_us // 10**6, time_us % 10**6, len(kept), len(frame)
        )
        data += head + kept
    path.write_bytes(data)
    return path


def test_frames_of_a_capture_count_with_their_check_sequence_from_the_first_on(tmp_path):
    frames = [
        (50, ipv4(1, 2, 1514)),
        (7, ipv4(2, 1, 42)),
        (57, ipv4(1, 2, 100)),
        (90, ipv4(3, 2, 80)),
    ]
    path = capture(tmp_path / "x.pcap", frames)
    trace = read_trace(path, name="x.pcap")
    # In the order of time; a frame of 42 octets is padded to the shortest one.
    assert trace.times_ps.tolist() == [0, 43 * 10**6, 50 * 10**6, 83 * 10**6]
    assert trace.octets.tolist() == [64, 1518, 104, 84]
    one = read_trace(path, name="x.pcap", ends=("10.0.0.1", "10.0.0.2"))
    assert (one.times_ps.tolist(), one.octets.tolist()) == ([0, 7 * 10**6], [1518, 104])
    for ends, said in (
        (("10.0.0.9", None), r"no frames between these addresses: expected at least 2"),
        ((None, "somewhere"), r"x.pcap: to = somewhere: expected an IP address"),
    ):
        refused(partial(read_trace, path, name="x.pcap", ends=ends), said)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match=r"ends at octet .* expected a complete capture"):
        read_trace(path, name="x.pcap")
    trace_of("time_s\n1\n2\n", tmp_path)
    with pytest.raises(InputError, match="no capture: expected a capture with from or to"):
        read_trace(tmp_path / "t.csv", name="t.csv", ends=("10.0.0.1", None))


def test_collisions_in_the_capture_of_a_segment_are_no_messages(tmp_path):
    wrong_check_and_short = 1 << 24 | 1 << 26  # draft-ietf-opsawg-pcapng, section 4.3.1
    packets = (
        captures.packet("<", time_us, frame, struct.pack("<HHIHH", 2, 4, flags, 0, 0))
        for time_us, frame, flags in (
            (10, ipv4(1, 2, 1514)[:40], wrong_check_and_short),
            (70, ipv4(1, 2, 1514), 0),
            (90, ipv4(1, 2, 80), 2),
        )
    )
    path = tmp_path / "segment.pcapng"
    path.write_bytes(captures.pcapng("<", captures.interface("<"), *packets))
    trace = read_trace(path, name="segment.pcapng")
    assert trace.times_ps.tolist() == [0, 20 * 10**6]
    assert trace.octets.tolist() == [1518, 84]


FOUR = "time_us,length_B\n0,64\n0,1518\n2000,500\n9000,64\n"


def test_messages_of_a_trace_come_at_its_times_with_its_lengths(tmp_path):
    trial = planned(tmp_path, flow(arrivals={"trace": "four.csv"}), four=FOUR).trials[0]
    found = values(trial)
    # 10 Mb/s, preamble of 8 octets; the second waits for 84 octets of the first.
    own_s = [(octets + 8) * 8e-7 for octets in (64, 1518, 500, 64)]
    assert found[0, "one_way_delay"] == pytest.approx((sum(own_s) + 84 * 8e-7) / 4, rel=1e-9)
    assert found[0, "goodput"] * 0.01 == pytest.approx(8 * (64 + 1518 + 500 + 64), rel=1e-9)


@pytest.mark.parametrize("place", ["segment", "network"])
def test_a_trace_of_the_draws_of_a_poisson_source_does_the_same(tmp_path, place):
    make = segment if place == "segment" else flow

    def experiment(**arrivals: str) -> ExperimentTables:
        return make(frames="500 B", arrivals=arrivals, queue=3)

    (drawn,) = planned(tmp_path, experiment(poisson="1500 /s")).trials
    times_ps = poisson_ps(drawn.seed, 1e12 / 1500, until_ps=2 * 10**11)
    rows = "".join([f"{time}\n" for time in times_ps])
    (replayed,) = planned(tmp_path, experiment(trace="p.csv"), p="time_ps\n" + rows).trials
    assert replayed.seed == drawn.seed
    one, other = values(drawn), values(replayed)
    differing = {key for key in one if one[key] != other[key] and not math.isnan(one[key])}
    # The mean rate of what was drawn is not the one it was drawn with.
    assert {metric for _, metric in differing} <= {"offered_load", "offered_load_g"}


def poisson_ps(seed: int, mean_ps: float, *, until_ps: int) -> list[int]:
    """Times of the Poisson source of station 0 (crates/traffic/src/random.rs)."""
    golden, mask = 0x9E3779B97F4A7C15, 2**64 - 1

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    state = mix(mix(seed + golden & mask) ^ mix((2 * golden + golden) & mask))
    times = [0]
    while times[-1] < until_ps:
        state = state + golden & mask
        unit = ((mix(state) >> 11) + 1) / 2**53
        times.append(times[-1] + int(-math.log(unit) * mean_ps + 0.5))
    return times[1:]


@settings(max_examples=20, deadline=None)
@given(
    period_us=st.integers(300, 5000),
    octets=st.integers(64, 1518),
    speed=st.sampled_from([0.5, 1.0, 4.0]),
    is_repeated=st.booleans(),
)
def test_a_trace_of_equal_times_does_what_a_regular_source_does(
    tmp_path_factory, period_us, octets, speed, is_repeated
):
    folder = tmp_path_factory.mktemp("regular")
    count = 3 if is_repeated else 400
    rows = "".join([f"{at * period_us * speed},{octets}\n" for at in range(count)])
    trace = {"trace": "t.csv", "speed": speed, "repeat": is_repeated}
    regular = {"regular": f"{period_us} us", "phase": "0 s"}
    (one,) = planned(folder, segment(arrivals=trace), t="time_us,length_B\n" + rows).trials
    (other,) = planned(folder, segment(frames=f"{octets} B", arrivals=regular)).trials
    np.testing.assert_equal(values(one), values(other))


def test_a_random_offset_is_drawn_for_each_station(tmp_path):
    rows = "".join([f"{at * at / 4}\n" for at in range(1, 60)])
    spread = []
    for offset in ("0 s", "random"):
        arrivals = {"trace": "t.csv", "repeat": True, "offset": offset}
        experiment = segment(count=10, frames="64 B", arrivals=arrivals)
        (trial,) = planned(tmp_path, experiment, t="time_ms\n" + rows).trials
        found = values(trial)
        spread.append(found[-1, "collisions_per_frame"])
    # All at once from the beginning of the trace, or each for itself.
    assert spread[1] < spread[0] / 2, spread


def test_the_identity_of_a_plan_has_the_contents_of_a_trace(tmp_path):
    experiment = flow(arrivals={"trace": "t.csv"})
    one = planned(tmp_path, experiment, t=FOUR)
    same = planned(tmp_path, experiment, t=FOUR.replace("2000,", "2.0e3,").replace("\n", "\r\n"))
    other = planned(tmp_path, experiment, t=FOUR.replace("2000,", "2001,"))
    assert one.hash == same.hash != other.hash
    assert "9000000000" not in one.to_jsonl(), "the plan has no copy of its messages"


def test_a_run_has_its_traces_and_is_verified_and_continued_with_them(tmp_path):
    drawn = flow(arrivals={"trace": "t.csv", "offset": "random"})
    made = planned(tmp_path, drawn.changed({"run.replications": 4}), t=FOUR)
    experiment = load(tmp_path / "x.toml")
    out = tmp_path / "run"
    run = execute(made, [experiment], directory=out, options=Execution(jobs=1))
    (kept,) = (out / "traces").iterdir()
    assert kept.stem == made.trials[0].scenario.flows[0].arrivals.sha256
    (tmp_path / "t.csv").unlink()
    stored = RunDirectory(out).trials()
    assert len(stored) == 4
    np.testing.assert_equal(
        [values(trial) for trial in stored], [values(trial) for trial in made.trials]
    )
    assert read_trace(kept, name="kept").sha256 == kept.stem, "a trace of a run is one itself"
    run.verify_results()
    kept.write_text(kept.read_text().replace("2000", "2001"), encoding="utf-8")
    with pytest.raises(InputError, match="damaged: its SHA-256 differs"):
        run.verify_results()
    found = plan.read(out / "plan.jsonl").trials[0]
    with pytest.raises(InputError, match="damaged: its SHA-256 differs from its name"):
        found.traces[kept.stem]
    kept.unlink()
    with pytest.raises(InputError, match="expected the file as the run wrote it"):
        plan.read(out / "plan.jsonl").trials[0].traces[kept.stem]


def test_a_worker_of_a_cluster_gets_the_trace_that_a_line_names(tmp_path):
    made = planned(tmp_path, flow(arrivals={"trace": "t.csv"}), t=FOUR)
    traces = pickle.loads(pickle.dumps(dict(made.traces)))
    (result,) = _run_task(answer, [made.trials[0].line], traces)
    here = answer(made.trials[0].line, traces=made.traces)
    np.testing.assert_equal(result.tables[FLOWS], here.tables[FLOWS])
    with pytest.raises(ValueError, match=r"must replay a trace that is given"):
        answer(made.trials[0].line)


@pytest.mark.parametrize(
    ("arrivals", "said"),
    [
        (
            {"trace": "t.csv", "frames": "64 B"},
            r"frames \(\w+\) = given: expected lengths once: arrivals.trace, t.csv, has those",
        ),
        (
            {"trace": "bare.csv"},
            r"frames \(\w+\) = \(missing\): required: arrivals.trace, bare.csv, has no lengths",
        ),
        ({"poisson": "1 /s"}, r"frames"),
        (
            {"trace": "t.csv", "repeat": "1 ms"},
            r"arrivals.repeat \(\w+\) = 1000000000 ps: expected true, or at least .* 9000 us",
        ),
        (
            {"trace": "t.csv", "offset": "10 ms"},
            r"arrivals.offset \(\w+\) = 10000000000 ps: expected at most the time of .* 9000 us",
        ),
        ({"trace": "t.csv", "speed": 0}, r"arrivals.speed \(\w+\) = 0: .* from 0.001 to 1000"),
        ({"trace": "t.csv", "repeat": 3}, r"arrivals.repeat \(\w+\) = 3: .* true, or false"),
        ({"trace": "t.csv", "sped": 2}, r"arrivals.sped \(\w+\) = 2: unknown key"),
        ({"trace": "no.csv"}, r"no.csv: \(file\) = missing"),
        ({"trace": "t.csv", "from": "10.0.0.1"}, r"no capture: expected a capture"),
    ],
)
@pytest.mark.parametrize("place", [segment, flow])
def test_keys_that_contradict_a_trace_are_named(tmp_path, place, arrivals, said):
    arrivals = dict(arrivals)
    experiment = place(frames=arrivals.pop("frames", None), arrivals=arrivals)
    refused(lambda: planned(tmp_path, experiment, t=FOUR, bare="time_s\n1\n2\n"), said)


def test_the_command_says_what_is_wrong_with_a_trace_in_a_line(tmp_path):
    (tmp_path / "t.csv").write_text("time_us\n1\n0.5\n", encoding="utf-8")
    path = segment(arrivals={"trace": "t.csv"}).save(tmp_path / "x.toml")
    done = invoke("run", path, "--out", tmp_path / "out")
    assert done.returncode != 0
    assert 't.csv: line 3, time_us = "0.5": expected a time no earlier' in done.stderr
    assert "Traceback" not in done.stderr


GAPS = st.lists(st.integers(0, 1000), min_size=2, max_size=30).filter(lambda gaps: any(gaps[1:]))


@settings(deadline=None)
@given(gaps=GAPS, after=st.integers(0, 500) | st.none(), speed=st.sampled_from([0.5, 1.0, 3.0]))
def test_no_window_has_more_messages_than_the_envelope_of_a_trace(gaps, after, speed):
    trace = Trace(np.cumsum(np.array(gaps, np.int64)))
    repeat_ps = None if after is None else trace.span_ps + after
    arrivals = trace.arrivals(repeat_ps=repeat_ps, offset_ps=0, speed=speed)
    cycles = 1 if repeat_ps is None else 4
    times = np.concatenate([trace.times_ps + cycle * (repeat_ps or 0) for cycle in range(cycles)])
    at = np.floor(times / speed)
    n = len(at)
    counts = np.arange(n)[None, :] - np.arange(n)[:, None] + 1
    spans = at[None, :] - at[:, None]
    upper = np.triu(np.ones((n, n), bool))
    for bound in arrivals.envelope:
        allowed = bound.burst + bound.rate_per_s / 1e12 * spans
        assert (counts[upper] <= allowed[upper]).all()
    last = arrivals.envelope[-1]
    assert last.rate_per_s == pytest.approx(1e12 / arrivals.mean_ps)
    # Tight: no burst is larger than needed by more than a picosecond's worth of messages.
    excess = (counts - last.rate_per_s / 1e12 * spans)[upper].max()
    assert last.burst <= excess + 2 * last.rate_per_s / 1e12 + 1e-5


def test_theory_takes_the_rate_the_variation_and_the_bursts_of_a_trace(tmp_path):
    arrivals = {"trace": "t.csv", "repeat": "10 ms", "speed": 2}
    (trial,) = planned(tmp_path, flow(arrivals=arrivals), t=FOUR).trials
    (sent,), (link,) = trial.scenario.flows, trial.scenario.links
    found = source_of(sent, link)
    # Gaps of 0, 2, 7 and 1 ms, at twice the speed: a mean of 1.25 ms.
    assert 1 / found.rate == pytest.approx(1.25e9)
    assert found.scv == pytest.approx(np.var([0, 2, 7, 1]) / 2.5**2)
    assert found.shares == (0.5, 0.25, 0.25)
    bounds = arrivals_of(sent, around_octets=20)
    assert bounds.buckets[-1][0] == pytest.approx(1 / 1.25e9)
    # Four messages within 1.5 ms, the last of one cycle and three of the next.
    assert bounds.buckets[-1][1] == pytest.approx(4 - 1.5 / 1.25, rel=1e-5)


def test_bounds_hold_for_a_simulated_trace_and_the_mean_wait_is_near(tmp_path):
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.exponential(2000.0, 400))
    rows = "".join(
        [f"{at:.3f},{of}\n" for at, of in zip(times, rng.integers(64, 1519, 400), strict=True)]
    )
    drawn = flow(arrivals={"trace": "t.csv", "repeat": True, "offset": "random"}).changed(
        phases={"transmit": "3 s", "measure": "all", "drain": "3 s"},
        run={"engines": ["theory", "simulation"]},
    )
    made = planned(tmp_path, drawn, t="time_us,length_B\n" + rows)
    by_engine = {trial.engine: values(trial) for trial in made.trials}
    simulated = by_engine["simulation"]
    (bound,) = [found for engine, found in by_engine.items() if "network-calculus" in engine]
    assert 0 < simulated[0, "one_way_delay_max"] <= bound[0, "one_way_delay_max"]
    (mean,) = [found for engine, found in by_engine.items() if "queueing" in engine]
    assert mean[0, "one_way_delay"] == pytest.approx(simulated[0, "one_way_delay"], rel=0.15)


def test_the_schema_of_an_experiment_file_has_traces():
    from ethermeter.experiment.document import json_schema

    text = json.dumps(json_schema())
    assert "TraceSource" in text
    assert "length_B" in text


HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "use-a-trace.md"


def test_the_page_on_traces_works_as_written(tmp_path):
    text = textwrap.dedent(HOW_TO.read_text(encoding="utf-8").replace("\n    ", "\n"))
    (rows,) = re.findall(r"```csv title=\"times.csv\"\n(.*?)```", text, re.DOTALL)
    (experiment,) = re.findall(r"```toml title=\"trace.toml\"\n(.*?)```", text, re.DOTALL)
    (tmp_path / "times.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "trace.toml").write_text(experiment, encoding="utf-8")
    command = re.findall(r"```sh\nethermeter (.*?)\n```", text)[0].split()
    done = invoke(*command, "--no-report", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = RunDirectory(tmp_path / "run").trials()
    simulated = next(values(trial) for trial in made if trial.engine == "simulation")
    # Two clients, four messages each 2.667 ms.
    assert simulated[-1, "message_rate"] == pytest.approx(2 * 4 / 2.6667e-3, rel=0.01)
