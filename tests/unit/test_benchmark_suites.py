"""Benchmark suites against devices whose capacity, buffer and behaviour are known."""

from collections.abc import Callable
from dataclasses import replace

import ethermeter as em
import numpy as np
import pytest
from benchmark_runs import (
    BACKPLANE_FIXED_PS,
    BACKPLANE_FRAMES,
    BACKPLANE_PS_PER_OCTET,
    SWITCH,
    answer,
    device,
    number_of,
    results_by,
    rows_of,
)
from ethermeter.analysis.benchmark import BenchmarkAnswer
from ethermeter.benchmark import load
from ethermeter.benchmark.bench import FRAMES, Settings, Stimulus, network_of
from ethermeter.benchmark.rates import key_of
from ethermeter.benchmark.rfc2544 import buffer_times, recovery_s
from ethermeter.benchmark.services import service_of
from ethermeter.benchmark.y1564 import availability
from ethermeter.engines.answer import answer as run_trial
from ethermeter.engines.work import TrialError
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.faults import InputError
from ethermeter.results.query import Results
from ethermeter.store.trial_result import failed
from ethermeter.strategies.benchmark import Benchmark
from ethermeter.strategies.strategy import Finished, Observed
from ethermeter.trial import LIVE
from ethermeter.units import PS_PER_S

WIDTH = 0.005
PAUSE = {"size": "64 kB", "pause": {"high": "32 kB", "low": "16 kB", "quanta": 65535}}
GIGABIT_OCTET_PS = 8_000
"""Time of an octet at 1 Gb/s."""


def plain(**switch: object) -> ExperimentTables:
    """Four testers around a switch, which is ideal but for this."""
    return em.network(
        rate="100 Mb/s",
        hosts=[em.host("t", count=4)],
        switches=[em.switch("s", **switch)],
        links=[("t", "s")],
    ).changed(flows=None)


def line_ps(octets: int) -> int:
    """Return the time of a frame with preamble and gap at 1 Gb/s."""
    return (octets + 20) * GIGABIT_OCTET_PS


def service_ps(octets: int) -> int:
    return BACKPLANE_FIXED_PS + octets * BACKPLANE_PS_PER_OCTET


def longest_burst(octets: int) -> int:
    """Return the longest burst at line rate that the backplane takes, by hand.

    Frame k comes at k times the time of the line; until then the backplane has completed as many
    frames as its times fit in.
    """
    frames = 0
    while frames - frames * line_ps(octets) // service_ps(octets) < BACKPLANE_FRAMES:
        frames += 1
    return frames


@pytest.fixture(scope="module")
def switch():
    """Return the answer of RFC 2544 on the shipped switch, at all lengths of frames."""
    bench = network_of(SWITCH, testers=(), settings=Settings(width=WIDTH, latency_s=0.1))
    return answer("rfc2544", bench)


@pytest.mark.parametrize("at", range(len(FRAMES)), ids=map(str, FRAMES))
def test_throughput_of_a_known_switch_is_found_within_the_width(switch, at):
    octets, row = FRAMES[at], rows_of(switch, "throughput")[at]
    capacity = 1e12 / service_ps(octets)
    rate = number_of(row, "rate")
    # Although in a trial of one second the buffer takes as many frames as it holds.
    assert capacity * (1 - WIDTH) <= rate <= capacity
    assert number_of(row, "line_rate") == pytest.approx(1e12 / line_ps(octets), rel=1e-12)
    assert number_of(row, "above") * (1 - WIDTH) <= rate * (1 + 1e-9)


@pytest.mark.parametrize("at", range(len(FRAMES)), ids=map(str, FRAMES))
def test_the_buffer_of_a_known_switch_is_found_within_one_frame(switch, at):
    octets, row = FRAMES[at], rows_of(switch, "back-to-back")[at]
    burst = longest_burst(octets)
    assert number_of(row, "burst") == burst
    # The burst is whole frames, and the throughput is known within the width and the buffer.
    capacity, line = 1e12 / service_ps(octets), 1e12 / line_ps(octets)
    of_throughput = burst * max(WIDTH * capacity, BACKPLANE_FRAMES) / line
    assert number_of(row, "buffer") == pytest.approx(BACKPLANE_FRAMES, abs=1 + of_throughput)
    implied_s, corrected_s = buffer_times(burst, capacity, line)
    assert implied_s == pytest.approx(burst / line)
    # With the capacity itself it is within one frame, without any allowance.
    assert abs(corrected_s * line - BACKPLANE_FRAMES) <= 1


def test_a_queue_before_a_slow_link_does_not_count_as_rate():
    # 1538 octets at 10 Mb/s: 812.74 frames a second. In a trial of 1 s the queue takes 100 more.
    path = em.network(
        hosts=["one", "other"],
        switches=[em.switch("device", queue=100)],
        links=[
            em.link("one", "device", rate="100 Mb/s"),
            em.link("other", "device", rate="10 Mb/s"),
        ],
    ).changed(flows=None)
    capacity = 10e6 / (1538 * 8)
    found = answer("rfc2544", device(path, frames=(1518,)))
    rate = number_of(rows_of(found, "throughput")[0], "rate")
    assert capacity * (1 - WIDTH) <= rate <= capacity
    # At the line rate 8127.4 are offered, of which the tenth that the slow link carries arrives; a
    # frame may be under way at the end.
    worst = rows_of(found, "frame-loss")[0]
    assert number_of(worst, "loss") == pytest.approx(90, abs=0.02)
    for row in rows_of(found, "losses"):
        assert row.values["lost_device"] == row.values["lost"]
    # TCP has at most 1460 octets of each 1538; its time ratio is below 1 by no more than the width.
    (*_, last) = rows_of(answer("rfc6349", device(path)), "tcp")
    assert number_of(last, "expected") <= 10 * 1460 / 1538
    assert number_of(last, "time_ratio") >= 1 - WIDTH
    assert number_of(last, "rate") <= 10 * 1460 / 1538


def test_a_slow_backplane_with_room_for_all_is_a_limit_too():
    # 512 octets take 56.32 us of the backplane and 42.56 us of the wire. The ports have rooms of
    # 50, the backplane is unlimited and empties itself after each trial.
    slow = plain(queue=50, fabric={"shared": {"name": "backplane", "per_byte": "110 ns"}})
    found = answer("rfc2544", device(slow, frames=(512,)))
    (row,) = rows_of(found, "throughput")
    capacity = 1e6 / 56.32
    assert capacity * (1 - WIDTH) <= number_of(row, "rate") <= capacity
    assert number_of(row, "share") == pytest.approx(100 * 42.56 / 56.32, rel=WIDTH)
    # At that rate no frame waits: 43.2 us into the device, the backplane, and the preamble out.
    (latency,) = rows_of(found, "latency")
    assert number_of(latency, "latency") == pytest.approx(56.32 + 8 * 0.08, rel=1e-6)
    assert number_of(latency, "variation") == 0
    assert number_of(latency, "most") == number_of(latency, "least")


def test_latency_of_a_lone_frame_is_that_of_the_stages():
    bench = network_of(SWITCH, testers=(), settings=Settings(frames=(64,), latency_s=0.1))
    (row,) = rows_of(answer("rfc2544", bench), "latency")
    # The backplane, and the preamble on the wire out, which comes before the first bit.
    assert number_of(row, "least") == pytest.approx(
        (line_ps(64) - 12 * 8000 + service_ps(64) + (64 + 8) * 8000) / 1e6, rel=0.01
    )
    assert number_of(row, "latency") == pytest.approx(
        number_of(row, "delay") - (72 + 64) * 8000 / 1e6, abs=1e-9
    )


@pytest.mark.parametrize("suite", ["rfc2544", "rfc3918"])
@pytest.mark.parametrize(
    ("lost", "text"),
    [
        ({}, None),
        (
            {"generator": 185},
            "(generator 185), and the delays are of the others; the testers did not offer the "
            "throughput",
        ),
        ({"device": 185}, "(device 185), and the delays are of the others"),
    ],
)
def test_delays_of_trials_that_lost_frames_carry_a_caution_with_the_place(suite, lost, text):
    latency_s = 0.125
    bench = device(plain(), frames=(64,), latency_trials=1, latency_s=latency_s)
    transmit_ps = round(latency_s * PS_PER_S)
    results, _ = results_by(
        suite, bench, lambda each: lost if each.transmit_ps == transmit_ps else {}
    )
    (found,) = (each for each in load(suite, bench).tables(results) if each.name == "latency")
    ((outcome,),) = (results[key_of("latency", 64)],)
    if text is None:
        assert found.cautions == ()
    else:
        assert found.cautions == (f"64 B: 185 of {outcome.intended} frames were lost {text}",)
    assert number_of(found.rows[0], "lost_frames") == (0 if text is None else 185)


def test_loss_falls_with_the_load_until_two_loads_lose_nothing(switch):
    rows = rows_of(switch, "frame-loss")
    for octets in FRAMES:
        mine = [row for row in rows if row.point["frame"] == f"{octets} B"]
        losses = [number_of(row, "loss") for row in mine]
        assert losses[-2:] == [0.0, 0.0]
        assert all(losses[:-2])
        for row, loss in zip(mine[:-2], losses, strict=False):
            offered = number_of(row, "rate")
            capacity = 1e12 / service_ps(octets)
            # All but what the buffer keeps, and a frame at either end.
            expected = 100 * (offered - capacity) / offered
            assert loss == pytest.approx(expected, abs=100 * (BACKPLANE_FRAMES + 2) / offered)


def test_recovery_takes_no_longer_than_the_buffer_and_the_resolution(switch):
    for octets, row in zip(FRAMES, rows_of(switch, "recovery"), strict=True):
        # Frames that the tester holds back behind its ring of 256 are under way, too.
        ring_ms = 256 * line_ps(octets) / 1e9
        buffer_ms = BACKPLANE_FRAMES * service_ps(octets) / 1e9
        limit = buffer_ms + ring_ms + 3 * number_of(row, "resolution")
        assert number_of(row, "recovery") <= limit


def test_every_lost_frame_is_lost_at_the_device(switch):
    for row in rows_of(switch, "losses"):
        assert row.values["lost_device"] == row.values["lost"]
    assert not switch.culprit


def test_recovery_ends_with_the_last_batch_that_misses_frames():
    arrived = np.array([10, 8, 8, 8, 8, 8, 10, 10, 10, 10])
    # The overload ends after four batches; the two after it miss frames too.
    assert recovery_s(arrived, 10, 1.0, 4.0) == pytest.approx(2.0)
    assert recovery_s(np.array([10, 8, 10, 10, 10]), 10, 1.0, 2.0) == pytest.approx(0.0)
    assert recovery_s(np.array([8] * 10), 10, 1.0, 4.0) is None


def faulty(bench, share: float):
    """Return results of a generator that does not send a share of the frames."""

    def losing(stimulus: Stimulus) -> dict[str, int]:
        intended = sum(stream.intended or 0 for stream in stimulus.streams)
        return {"generator": round(share * intended)}

    return results_by("rfc2544", bench, losing)


def test_a_generator_that_drops_a_thousandth_is_named_as_the_culprit():
    bench = device(plain(), frames=(64, 1518))
    results, culprit = faulty(bench, 0.001)
    assert culprit == "generator"
    for octets in (64, 1518):
        throughput = results[key_of("throughput", octets)]
        assert throughput.rate is None
        assert throughput.remark.startswith("generator: loses 0.")
        assert throughput.remark.endswith("of the frames without the device; nothing is searched")
        assert results[key_of("frame-loss", octets)] == ()


@pytest.mark.parametrize("limit", [0.9, 0.5, 0.3, 0.04])
def test_a_generator_with_a_limit_is_not_searched_beyond_it(limit):
    bench = device(plain(), frames=(64,))
    line = 1e8 / (84 * 8)
    seen = []

    def losing(stimulus: Stimulus) -> dict[str, int]:
        intended = sum(stream.intended or 0 for stream in stimulus.streams)
        seconds = stimulus.transmit_ps / 1e12
        if stimulus.network is None:
            seen.append(intended / seconds)
        return {"generator": max(0, intended - round(limit * line * seconds))}

    results, culprit = results_by("rfc2544", bench, losing)
    ceiling = results[key_of("generator", 64)]
    assert not culprit
    assert limit * line * 0.97 <= ceiling.rate <= limit * line * (1 + 1e-3)
    assert max(seen) <= ceiling.rate * (1 + 1e-3)
    assert "the limit of the testers" in results[key_of("throughput", 64)].remark


def test_bursts_beyond_the_testers_are_refused():
    bench = device(plain(), frames=(64,))

    def losing(stimulus: Stimulus) -> dict[str, int]:
        intended = sum(stream.intended or 0 for stream in stimulus.streams)
        return {"generator": max(0, intended - round(70_000 * stimulus.transmit_ps / 1e12))}

    results, _ = results_by("rfc2544", bench, losing)
    assert "beyond the testers" in results[key_of("back-to-back", 64)].why_not


def test_an_ideal_switch_has_full_meshes_and_no_blocking():
    found = answer("rfc2889", device(plain(), frames=(64,), trial_s=0.1))
    for test in ("full-mesh", "partial-mesh", "broadcast"):
        (row,) = rows_of(found, test)
        assert number_of(row, "share") == pytest.approx(100)
    (row,) = rows_of(found, "forward-pressure")
    assert row.values["pressure"] == "no"
    # A gap of 11 octets instead of 12 comes in, and one of 12 goes out.
    assert number_of(row, "offered") == pytest.approx(1e8 / (83 * 8), rel=1e-3)
    assert number_of(row, "rate") == pytest.approx(1e8 / (84 * 8), rel=1e-3)


@pytest.mark.parametrize(
    ("switch", "blocking", "pressure", "lost"),
    [
        # Of 150% that come to a port, a third is lost but for the queue; no frame waits for others.
        ({"queue": 20}, "no", "no", 100 / 3),
        # PAUSE holds the second sender back; the first one never fills its memory.
        ({"buffer": PAUSE}, "no", "yes", 0.0),
        # A backplane at 80% of a line carries two senders at best by halves, for whatever port.
        (
            {"fabric": {"shared": {"name": "b", "per_byte": "100 ns", "queue": 8}}},
            *("yes", "no", None),
        ),
    ],
)
def test_congestion_control_is_what_the_switch_has(switch, blocking, pressure, lost):
    bench = device(plain(**switch), frames=(1518,), trial_s=0.1)
    (row,) = rows_of(answer("rfc2889", bench), "congestion")
    assert row.values["blocking"] == blocking
    assert row.values["pressure"] == pressure
    if lost is not None:
        assert number_of(row, "congested") == pytest.approx(lost, abs=100 * (20 + 2) / 1219)


@pytest.mark.parametrize("addresses", [1, 40, 93])
def test_the_number_of_cached_addresses_is_found(addresses):
    learning = {"learns": {"age": "300 s", "addresses": addresses}}
    bench = device(plain(learning=learning), frames=(64,), trial_s=0.05)
    (row,) = rows_of(answer("rfc2889", bench), "address-cache")
    assert number_of(row, "capacity") == addresses
    # A simulated switch learns at once.
    assert number_of(row, "rate") == pytest.approx(1e8 / (84 * 8))


def test_multicast_is_limited_by_the_copies_that_a_switch_makes():
    bench = network_of(SWITCH, testers=(), settings=Settings(frames=(64, 1518)))
    found = answer("rfc3918", bench)
    ideal = answer("rfc3918", device(plain(), frames=(64,), trial_s=0.1))
    (row,) = rows_of(ideal, "throughput")
    assert number_of(row, "share") == pytest.approx(100)
    for octets, row in zip((64, 1518), rows_of(found, "throughput"), strict=True):
        # Each of three copies passes the backplane, three of which it holds for a frame.
        capacity = 1e12 / (3 * service_ps(octets))
        rate = number_of(row, "rate")
        assert capacity * (1 - WIDTH) <= rate <= capacity


SERVICES = ("voice: cir=2 Mb/s, frame=200 B, ftd=1 ms, fdv=1 ms, flr=0.1%", "bulk: cir=90 Mb/s")


def test_services_pass_below_the_rate_of_a_wire_and_fail_beyond():
    services = tuple(map(service_of, SERVICES))
    slow = plain(queue=20).changed({"network.rate": "50 Mb/s"})
    fast = answer("y1564", device(plain(), services=services))
    verdicts = {row.point["service"]: row.values["verdict"] for row in rows_of(fast, "performance")}
    assert verdicts == {"voice": "pass", "bulk": "pass"}
    (voice, bulk) = rows_of(fast, "performance")
    assert number_of(voice, "ir") == pytest.approx(2, rel=1e-3)
    assert number_of(bulk, "ir") == pytest.approx(90, rel=1e-3)
    beyond = rows_of(answer("y1564", device(slow, services=services)), "configuration")
    assert [row.values["verdict"] for row in beyond if row.point["service"] == "bulk"] == [
        "pass",  # 22.5 and 45 Mb/s
        "pass",
        *["refused"] * 3,  # beyond the line rate of the testers
    ]


def test_where_all_delays_are_equal_there_is_no_variation():
    services = (service_of("voice: cir=2 Mb/s, frame=200 B"),)
    found = answer("y1564", device(plain(), services=services))
    # Preamble and frame on both wires: 2 x 208 octets of 80 ns.
    for row in (*rows_of(found, "configuration")[:4], *rows_of(found, "performance")):
        assert (number_of(row, "ftd"), number_of(row, "fdv")) == (pytest.approx(33.28), 0)


def test_the_idle_round_trip_is_exact():
    # Frames of 1518 octets there and 64 back, with preambles, on two wires of 80 ns an octet each.
    found = answer("rfc6349", device(plain(), trial_s=0.2))
    (row,) = rows_of(found, "baseline")
    assert pytest.approx(255.68) == 2 * (1526 + 72) * 0.08
    assert number_of(row, "round_trip") == pytest.approx(255.68, abs=1e-6)


def test_a_second_without_half_of_its_frames_is_unavailable():
    assert availability(np.array([10, 10, 4, 0]), 40) == pytest.approx(0.5)
    assert availability(np.array([10, 10, 10, 10]), 40) == pytest.approx(1.0)


def test_tcp_is_limited_by_its_window_and_then_by_the_path():
    path = em.network(
        rate="100 Mb/s",
        hosts=["one", "other"],
        switches=[em.switch("s", queue=300)],
        links=[("one", "s"), em.link("s", "other", rate="50 Mb/s", delay="10 ms")],
    ).changed(flows=None)
    found = answer("rfc6349", device(path, trial_s=8.0))
    rows = rows_of(found, "tcp")
    assert number_of(rows_of(found, "baseline")[0], "round_trip") == pytest.approx(20_000, rel=0.05)
    for row in rows:
        share = number_of(row, "share")
        expected = number_of(row, "expected")
        # A window is whole segments, acknowledged by two; slow start takes some round trips of
        # 20 ms of the eight seconds.
        window = float(row.point["window"].removesuffix(" B"))
        assert number_of(row, "rate") == pytest.approx(expected, rel=2 * 1460 / window + 0.04)
        assert number_of(row, "efficiency") == pytest.approx(100)
        # Beyond the product of bandwidth and delay the window waits in the queue, once it is open:
        # the mean includes the time before.
        waits = 100 * max(0.0, share - 1)
        assert number_of(row, "buffer_delay") == pytest.approx(waits, abs=12 + 0.08 * waits)


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("voice", "services", "NAME"),
        ("voice: rate=1", "services voice", "keys: cir"),
        ("voice: frame=64 B", "services voice", "required: cir"),
        ("voice: cir=fast", "services voice", "a bit rate"),
        ("voice: cir=1 Mb/s, flr=2", "services voice flr", "a share"),
        ("voice: cir=1 Mb/s, frame=9 B", "services voice frame", "64 B"),
    ],
)
def test_a_service_that_cannot_be_read_is_refused(text, key, allowed):
    with pytest.raises(InputError) as error:
        service_of(text)
    (fault,) = error.value.faults
    assert fault.key == key
    assert allowed in fault.allowed


def test_a_suite_proposes_the_same_trials_again():
    bench = network_of(SWITCH, testers=(), settings=Settings(frames=(64, 512)))
    one, other = (Benchmark(load("rfc2544", bench), venue="simulation") for _ in range(2))
    assert one.question == other.question
    first, again = one.propose(()), other.propose(())
    assert isinstance(first, tuple)
    assert isinstance(again, tuple)
    assert [trial.line for trial in first] == [trial.line for trial in again]
    # Both lengths of frames begin with the testers alone.
    assert [trial.point["test"] for trial in first] == ["generator", "generator"]


def with_failures(fails: Callable[[int], bool]) -> BenchmarkAnswer:
    """Return the answer of a suite of which the trials of some numbers are measured and fail."""
    bench = device(plain(), frames=(64,), trial_s=0.01, latency_s=0.01)
    strategy = Benchmark(load("rfc2544", bench), venue="simulation")
    observed: list[Observed] = []
    while not isinstance(proposed := strategy.propose(observed), Finished):
        for trial in proposed:
            lost = b'{"outcome": "agent-lost", "agents": {}, "flows": {}}'
            if fails(len(observed)):
                measured = replace(trial, engine=LIVE)
                observed.append(Observed(measured, Results.of_trial(measured, failed()), lost))
            else:
                observed.append(Observed(trial, Results.of_trial(trial, run_trial(trial.line))))
    return proposed.answer


def test_a_trial_that_fails_is_repeated_and_counts_as_no_loss():
    whole = with_failures(lambda number: False)
    # The first, and two in a row; steps propose several trials at once.
    assert with_failures(lambda number: number in (0, 5, 6)) == whole


def test_a_suite_whose_trials_fail_one_after_the_other_ends_with_the_reason():
    said = r"trial benchmark/00006 and 2 before: an agent was lost"
    with pytest.raises(TrialError, match=said):
        with_failures(lambda number: number >= 4)


def test_losses_that_no_counter_saw_are_those_of_the_testers():
    bench = device(plain(), frames=(64,))

    def losing(stimulus: Stimulus) -> dict[str, int]:
        return {"unexplained": sum(stream.intended or 0 for stream in stimulus.streams) // 100}

    _, culprit = results_by("rfc2544", bench, losing)
    assert culprit == "generator or receiver"
