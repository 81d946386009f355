"""Real hosts on an emulated segment: real frames and programs, the medium of the simulator."""

import json
import re
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path

import ethermeter as em
import msgspec
import numpy as np
import pytest
from ethermeter import _core
from ethermeter.analysis.answers import answers
from ethermeter.counts import Counts
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.relay_plan import SegmentTrial
from ethermeter.scenario import Trial as CoreTrial
from ethermeter.store import RunDirectory
from ethermeter.testbed import (
    Network,
    Segment,
    TestbedError,
    kept,
    make_network,
)
from ethermeter.testbed.build import INTERFACE
from ethermeter.testbed.relay import Control
from ethermeter.trial import core_trial
from live_runs import measure, refusal
from prediction import prediction
from program import call, eventually, invoke, real
from stalls import inconclusive

from benches.emulation.points import Point
from benches.emulation.points import measure as measure_points

pytestmark = pytest.mark.root

HALF, SELDOM = {"poisson_load": 0.5}, {"poisson": "1 /s"}
STALLS_S = 1.0
"""Stalls in a window: what happens on the medium follows from stamps, not from when it is decided.
"""
SAMPLES = {"samples": {"least": "218 B", "most": "1018 B", "overhead": "58 B"}}
CODER = {"coder": {"sample": "4 bit", "every": "125 us"}}
MOST_AHEAD = 1024
"""Frames that a saturated sender has ahead at most, of the lengths below."""
ON_OFF = {"on_off": {"period": "2 ms", "on": "20 ms", "off": "20 ms"}}
"""Half of what the medium carries."""
REPLICATIONS = 30
CONFIDENCE = 0.999
PHASES = {"settle": "1 ms", "transmit": "1 s", "measure": "last 800 ms", "spread": "0 s"}
WINDOW_S = 0.8
RUN = {"engines": ["simulation", "live"]}


def coax(
    count: int, arrivals: object = "saturated", *, frames: str = "512 B", spread: str = "0 s"
) -> ExperimentTables:
    """Hosts on a coaxial cable."""
    return em.segment(
        "ieee-10",
        length="500 m",
        stations=em.stations("host", count=count, frames=frames, arrivals=arrivals),
        phases={**PHASES, "spread": spread},
        run=RUN,
    )


def bus(count: int, arrivals: object = "saturated", *, frames: str = "512 B") -> ExperimentTables:
    """Hosts on a bus whose turns PLCA gives."""
    line = {"standard": "10base-t1s", "length": "25 m", "plca": {"burst-cnt": 0}}
    return coax(count, arrivals, frames=frames).changed(segment=line)


def standing(experiment: ExperimentTables) -> SegmentTrial:
    """Return the medium of an experiment."""
    (trial, *_) = em.load(experiment).plan(replications=1).trials
    return SegmentTrial(trial=CoreTrial(id="x", seed=0, scenario=trial.scenario))


@contextmanager
def hosts(count: int, layout: Callable[..., ExperimentTables] = coax):
    """Make hosts on a segment."""
    names = tuple(f"h{number}" for number in range(1, count + 1))
    medium = standing(layout(count, SELDOM))
    with make_network(Network(names, segments=[Segment(names, medium)])) as bed:
        yield bed


def waiting(station) -> int:
    """Frames that came to a card and were not sent, given up or dropped."""
    return station.arrived - station.frames - station.discarded - station.dropped


def conserved(segment, most_waiting: int = 0) -> None:
    """Check that every frame that came to a card was sent, given up or dropped, or waits there."""
    for station in segment.stations:
        assert 0 <= waiting(station) <= most_waiting, station


@pytest.mark.parametrize("layout", [coax, bus])
def test_programs_run_over_a_segment_and_what_it_delivers_arrives(layout):
    with hosts(4, layout) as bed:
        one, other, *_ = bed.hosts.values()
        ping = ["ping", "-q", "-f", "-c", "100", "-s", "1000", other.ipv4]
        done = subprocess.run(one.command(*ping), check=True, capture_output=True, text=True)
        # It ends 10 ms after its last packet, whose answer a stall may delay for longer.
        assert re.search("100 packets transmitted, (100|99) received", done.stdout)
        frames = [100, 100, 0, 0]
        eventually(lambda: [of.frames for of in bed.relay.count().segments[0].stations] == frames)
        counted = bed.relay.count().segments[0]
        assert not any(counted.dropped.values())
        conserved(counted)
        # Two frames of 1042 octets, and the declared delay, there and back.
        shortest_ms = 2 * (1 + 1050 * 8 / 1e4)
        assert float(done.stdout.split("= ")[1].split("/")[0]) >= shortest_ms


FLOOD = """\
import socket
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("eth0", 0))
frame = bytes.fromhex("0200000000aa0200000000bb88b5") + bytes(46)
while True:
    try:
        port.send(frame)
    except OSError:
        pass
"""


def test_a_host_that_floods_its_card_does_not_stop_the_medium(unless_held_up):
    """Its ring always holds more than the relay takes at a time. All others get their turns."""
    with hosts(3, bus) as bed, ExitStack() as stack:
        flooding, one, other = bed.hosts.values()
        code = FLOOD.replace("eth0", INTERFACE)
        flood = stack.enter_context(subprocess.Popen(flooding.command("python3", "-c", code)))
        stack.callback(flood.kill)
        eventually(lambda: bed.relay.count().segments[0].stations[0].dropped)
        before = bed.relay.count().segments[0]
        ping = ["ping", "-q", "-c", "20", "-i", "0.1", "-W", "60", other.ipv4]
        done = subprocess.run(one.command(*ping), check=True, capture_output=True, text=True)
        after = bed.relay.count().segments[0]
        assert "20 packets transmitted, 20 received" in done.stdout
        sent = after.stations[0].frames - before.stations[0].frames
        # More than half a line of frames of 67.2 us; many more came, and found the card full.
        half = 0.5 * (after.over_ns - before.over_ns) / 67_200
        unless_held_up(sent > half, f"{sent} frames flooded")
        assert after.stations[0].dropped > before.stations[0].dropped


def test_a_file_over_http_comes_whole(tmp_path):
    page = bytes(range(256)) * 400
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "page").write_bytes(page)
    with hosts(3) as bed, ExitStack() as stack:
        one, other, *_ = bed.hosts.values()
        command = ["python3", "-m", "http.server", "8000", "--bind", other.ipv4]
        server = subprocess.Popen(
            other.command(*command),
            cwd=tmp_path / "www",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        fetch = (
            "import time, urllib.request\n"
            "for _ in range(1000):\n"
            "    try:\n"
            f"        page = urllib.request.urlopen('http://{other.ipv4}:8000/page').read()\n"
            "        break\n"
            "    except OSError:\n"
            "        time.sleep(0.1)\n"
            "print(page == bytes(range(256)) * 400)\n"
        )
        done = subprocess.run(
            one.command("python3", "-c", fetch), check=True, capture_output=True, text=True
        )
        assert done.stdout == "True\n"
        # Acknowledgements may wait in a card when the page is there.
        eventually(lambda: not any(map(waiting, bed.relay.count().segments[0].stations)))


def test_a_relay_refuses_what_it_cannot_do_and_goes_on():
    with hosts(2) as bed:
        three = standing(coax(3, SELDOM))
        with Control(bed.relay.control) as control:
            with pytest.raises(TestbedError, match=r"media\[0\].stations"):
                control.begin(time.monotonic_ns(), (three,))
            with pytest.raises(TestbedError, match="segments: must be 1, got 0"):
                control.begin(time.monotonic_ns(), ())
            with pytest.raises(TestbedError, match="unknown variant"):
                control._ask({"stop": {}}, type(None))
        assert bed.relay.count().segments[0].violations == 0


def test_several_programs_may_ask_a_relay_at_the_same_time():
    with hosts(2) as bed, Control(bed.relay.control) as first:
        assert first.count().segments[0].stations
        with Control(bed.relay.control) as second:
            assert second.count().segments[0].stations
            assert first.count().segments[0].stations
        assert first.count().segments[0].stations


def measured(path: Path) -> dict:
    """Measure an experiment, beside its file, and return the result of its test."""
    result = measure(path, path.parent, "--on", "testbed").result()
    # A saturated sender is some frames ahead when its source ends; these stay in its card.
    conserved(msgspec.convert(result["segment"], type=_Segment), most_waiting=MOST_AHEAD)
    return result


class _Station(msgspec.Struct):
    arrived: int
    frames: int
    discarded: int
    dropped: int


class _Segment(msgspec.Struct):
    stations: list[_Station]


def compared(run: Path) -> dict[str, tuple[float, float]]:
    """Return measured and simulated values of a run."""
    found = answers(RunDirectory(run))["live_agreement"]["comparisons"]
    return {each["metric"]: (each["live"], each["simulation"]) for each in found}


def replications(path: Path, number: int | None = REPLICATIONS) -> list[Counts]:
    """Return the counts of simulations of an experiment, each with its seed."""
    trials = em.load(str(path)).plan(replications=number).trials
    return [
        _core.simulate_trial(core_trial(trial.scenario, seed=trial.seed))
        for trial in trials
        if trial.engine == "simulation"
    ]


@pytest.mark.alone
@pytest.mark.parametrize(("count", "frames"), [(2, "64 B"), (10, "1518 B")])
def test_saturated_hosts_do_what_simulated_ones_do_with_the_same_draws(tmp_path, count, frames):
    path = coax(count, frames=frames).save(tmp_path / "segment.toml")
    result, (expected,) = measured(path), replications(path, None)
    segment = result["segment"]
    counts = _core.read_counts(segment["counts"])
    starved = sum(station["starved"] for station in segment["stations"])
    if starved or segment["violations"]:
        # From then on the run is another one of the same chance.
        inconclusive(f"hosts were held up: their cards ran empty {starved} times")
    for name in ("frames", "bits", "collisions", "discarded", "delay_ps", "access_ps"):
        of_both = [getattr(each.stations, name) for each in (counts, expected)]
        assert np.array_equal(*of_both), name
    for name in ("time_ps", "attempts_per_frame", "colliders"):
        of_both = [getattr(each.media[0], name) for each in (counts, expected)]
        assert np.array_equal(*of_both), name
    delays = [each.media[0].transmission_delay for each in (counts, expected)]
    for name in ("low_ps", "high_ps", "count"):
        assert np.array_equal(*(getattr(each, name) for each in delays)), name
    # Every frame that a station sent without collision came to its receiver.
    sent = sum(station["frames"] for station in segment["stations"])
    received = sum(
        flow["receiving"]["counted"]["streams"][0]["received"] for flow in result["flows"].values()
    )
    assert received == sent
    assert all("credit" in flow["sending"]["counted"] for flow in result["flows"].values())


def test_arrivals_meet_the_delays_of_the_simulation(new_path, in_quiet_window):
    for arrivals in (HALF, ON_OFF):
        experiment = coax(5, arrivals, spread="20 ms")

        def of_window(experiment=experiment):
            path = experiment.save(new_path() / "segment.toml")
            result = measured(path)
            live = _core.read_counts(result["segment"]["counts"]).stations
            return path, live, compared(path.parent / "run")

        path, live, found = in_quiet_window(of_window, tolerated_stall_s=STALLS_S / 4)
        # Sources draw the same times. Nothing is lost, so what is sent in the window is what comes
        # in it, but for what waits at its ends: frames leave hosts late by some microseconds, meet
        # other collisions, and frames of bursts wait.
        stations = [each.stations for each in replications(path)]
        more, half_width = prediction(
            np.array([of.frames.sum() - of.offered.sum() for of in stations]), CONFIDENCE
        )
        (same,) = replications(path, None)
        sent = live.frames.sum() - same.stations.offered.sum()
        assert abs(sent - more) <= half_width
        delays = np.array([of.delay_ps.sum() / of.frames.sum() for of in stations]) / 1e12
        delay_s, half_width_s = prediction(delays, CONFIDENCE)
        assert abs(found["transmission_delay"][0] - delay_s) <= half_width_s


def talking(folder: Path, count: int, **talk: str) -> tuple[dict, Counts, Path]:
    """Measure hosts of the experimental Ethernet that talk: the result, its counts and the run."""
    experiment = em.segment(
        "experimental-3",
        round_trip="5.5 us",
        clusters=8,
        gap="0 bit",
        turnaround="6 us",
        stations=em.stations(
            "host",
            count=count,
            frames={"samples": {"least": "32 B", "most": "512 B", "overhead": "0 B"}},
            arrivals={"coder": {"sample": "16 bit", "every": "152.32 us", **talk}},
            service={"uniform": ["0 us", "1 ms"]},
            clock_error="50 ppm",
            backoff={"load_register": {"bits": 8, "clock": "170 ns", "ticks": True}},
        ),
        phases={**PHASES, "settle": "100 ms", "spread": "100 ms"},
        run=RUN,
    )
    result = measured(experiment.save(folder / "segment.toml"))
    return result, _core.read_counts(result["segment"]["counts"]), folder / "run"


def check_samples(result: dict, counts: Counts) -> None:
    """Check that the samples that a medium delivers are those that hosts hear."""
    voice = counts.stations.voice
    assert (
        voice.samples == voice.samples_delivered + voice.samples_lost + voice.samples_buffered
    ).all()
    assert not any(result["segment"]["dropped"].values())
    for number, station in enumerate(result["segment"]["stations"], start=1):
        flow = result["flows"][f"station-{number}"]["receiving"]["counted"]
        assert (flow["unexpected"], flow["unmarked"]) == (0, 0)
        (stream,) = flow["streams"]
        assert stream["voice"]["packets"] == station["frames"] > 0
        assert stream["voice"]["samples"] == station["samples"]
        # Those in a buffer at the end of the window come after it, unless they make room.
        heard = stream["voice"]["measured"]["samples"]
        delivered = voice.samples_delivered[number - 1]
        assert delivered <= heard <= delivered + voice.samples_buffered[number - 1]


def test_the_samples_that_a_medium_delivers_are_those_that_hosts_hear(tmp_path):
    result, counts, _ = talking(tmp_path, 6, talk="0.2 s", silence="0.1 s")
    check_samples(result, counts)


def test_talkers_have_the_losses_and_delays_of_the_simulation(new_path, in_quiet_window):
    def of_window():
        result, counts, run = talking(new_path(), 20)
        check_samples(result, counts)
        return result, counts, compared(run)

    result, counts, found = in_quiet_window(of_window, tolerated_stall_s=STALLS_S)
    # A host that had its frames ready does what a simulated one does, draw by draw.
    assert not any(station["starved"] for station in result["segment"]["stations"])
    for metric in (
        "bit_rate",
        "collisions_per_frame",
        "sample_loss",
        "sample_delay",
        "voice_delay",
    ):
        live, simulated = found[metric]
        assert live == simulated, metric
    # Receivers measure by marks: the medium's delay, propagation, and the declared offset.
    heard = [
        flow["receiving"]["counted"]["streams"][0]["voice"]["measured"]["voice_delay"]
        for flow in result["flows"].values()
    ]
    total = sum(number for of in heard for _, _, number in of["buckets"])
    middles = sum((low + high) / 2 * number for of in heard for low, high, number in of["buckets"])
    voice = counts.stations.voice
    expected_ps = voice.voice_delay_ps.sum() / voice.voice_frames.sum()
    offset_ps = result["segment"]["offset_ns"] * 1000
    late_ps = middles / total - expected_ps - offset_ps
    # A bucket is narrower than 0.8%. Packets of the end of the window, which receivers count by
    # their samples and the medium by their ends, are one in a thousand here. A receiver that stalls
    # for a time reads the packets of that time late by half of it on average.
    tolerance_ps = 0.008 * expected_ps
    stalled_s = in_quiet_window.stalled_s
    stalls_ps = stalled_s**2 / 2 / WINDOW_S * 1e12
    assert -tolerance_ps <= late_ps <= tolerance_ps + 200e6 + stalls_ps, f"{stalled_s} s of stalls"


def test_a_station_that_is_alone_is_heard_by_a_listener(tmp_path):
    result = measured(coax(1).save(tmp_path / "segment.toml"))
    (flow,), (station,) = result["flows"].values(), result["segment"]["stations"]
    assert flow["to"] == "listener"
    received = flow["receiving"]["counted"]["streams"][0]["received"]
    assert received == station["frames"] > 0
    assert station["collisions"] == 0


def test_no_measured_access_to_a_bus_takes_longer_than_its_bound(tmp_path):
    bounded = bus(6, frames="64 B").changed({"run.engines": ["simulation", "theory", "live"]})
    result = measured(bounded.save(tmp_path / "segment.toml"))
    if result["segment"]["violations"]:
        inconclusive("the medium learnt of frames too late")
    found = json.loads((tmp_path / "run" / "estimates.json").read_text())
    of = {point["engine"]: point["estimates"] for point in found["points"]}
    bound = of["theory/plca-2019"]["access_delay_max"]["value"]
    assert 0 < of["live"]["access_delay_max"]["value"] <= bound


@pytest.mark.parametrize(
    ("place", "changes", "words"),
    [
        ("loopback", {}, "expected a testbed: the medium of a segment is emulated there"),
        (
            "testbed",
            {"stations.0.frames": SAMPLES, "stations.0.arrivals": CODER},
            "expected whole octets in a measurement",
        ),
        ("testbed", {"stations.0.count": 65}, "expected at most 64 on one machine"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(tmp_path, place, changes, words):
    assert words in refusal(coax(2).changed(changes), tmp_path, "--on", place)


def test_a_segment_stays_for_programs_until_it_is_removed(tmp_path, up):
    path = coax(3).save(tmp_path / "segment.toml")
    name = up(path)["name"]
    ping = ["ping", "-q", "-c", "3", "-i", "0.2", "10.77.0.3"]
    done = call(real("testbed", "exec", name, "1", "--", *ping))
    assert "3 packets transmitted, 3 received" in done.stdout
    assert call(real("testbed", "exec", name, "1", "--", "false")).returncode == 1
    shown = json.loads(invoke("testbed", "show", name, "--json").stdout)
    (segment,) = shown["segments"]
    assert [station["frames"] for station in segment["stations"]] == [3, 0, 3]
    for words, fault in [
        (("exec", name, "4", "--", "true"), "HOST = 4"),
        (("exec", "em-1-none", "1", "--", "true"), "NAME = em-1-none"),
        (("up", path, "hosts=3"), "EXPERIMENT"),
        (("show", "--live"), "--live"),
    ]:
        refused = invoke("testbed", *words)
        assert refused.returncode == 2, words
        assert fault in refused.stderr
    removed = invoke("testbed", "down", name, "--json")
    (result,) = json.loads(removed.stdout)["wires"].values()
    assert result["ended"] == "interface_gone"
    assert name not in kept()


def test_a_simulation_of_the_frames_as_they_came_is_what_the_medium_did(unless_held_up):
    # Hosts may be as late as they like: what the medium makes of their frames follows from stamps.
    points = [Point(5, 64, "poisson"), Point(10, 512, "poisson")]
    found = measure_points(points, measure_s=1, seed=17, follow=lambda _: None)
    same = [each.is_same_replayed for each in found]
    assert False not in same
    unless_held_up(None not in same, "a capture dropped frames")
    collisions = [each.counts.stations.collisions.sum() for each in found]
    unless_held_up(min(collisions) > 100, f"{collisions} collisions")
