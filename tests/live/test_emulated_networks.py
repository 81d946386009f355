"""Networks with shared media: real hosts and bridges, media of the simulator's MAC between them."""

import json
import re
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ethermeter as em
import numpy as np
import pyarrow.parquet as pq
import pytest
from ethermeter import _core
from ethermeter.engines.live.media import segments_of
from ethermeter.testbed import Network, Segment, make_network
from ethermeter.trial import core_trial
from live_runs import measure, refusal
from msgspec import structs
from prediction import prediction
from program import call, eventually, invoke, real

pytestmark = pytest.mark.root

RAW: dict[str, Any] = {"frames": "512 B", "port": "packet", "arrivals": {"poisson": "400 /s"}}
SHORT: dict[str, Any] = {"frames": "256 B", "port": "packet", "arrivals": {"poisson": "500 /s"}}
NETWORK = em.network(
    title="A hub, half-duplex links and a bus behind a switch",
    rate="10 Mb/s",
    hosts=[em.host("h", count=6)],
    hubs=[em.hub("hub", delay="2 us")],
    switches=[em.switch("switch", queue=100)],
    segments=[{"name": "bus", "standard": "10base-t1s", "length": "25 m"}],
    links=[
        *(("h1", "hub"), ("h2", "hub"), ("hub", "switch")),
        em.link("h3", "switch", half_duplex=True),
        em.link("h4", "switch", rate="100 Mb/s"),
        *(("switch", "bus"), ("h5", "bus"), ("h6", "bus")),
    ],
    flows=[
        em.flow("within-the-hub", "h1", "h2", **RAW),
        em.flow("fragments", "h2", "h4", data="5000 B", arrivals={"poisson": "40 /s"}),
        em.flow("to-half-duplex", "h4", "h3", **RAW),
        em.flow("from-half-duplex", "h3", "h1", **RAW),
        em.flow("to-the-bus", "h4", "h5", **SHORT),
        em.flow("within-the-bus", "h5", "h6", **SHORT),
    ],
    phases={"settle": "10 ms", "transmit": "2 s", "measure": "last 1900 ms"},
    run={"engines": ["simulation", "live"]},
)
NEXT = {f"h{number}": f"h{number + 1}" for number in range(3, 10)} | {"h10": "h3"}
"""Saturated hosts, and to whom each sends."""
TEN = em.network(
    title="A transfer beside eight saturated hosts",
    rate="10 Mb/s",
    hosts=[em.host("h", count=10, model="behind")],
    models={"behind": {"receive": [{"name": "offset", "delay": "1 ms"}]}},
    segments=[{"name": "cable", "standard": "ieee-10", "length": "200 m"}],
    links=[("h", "cable")],
    flows=[
        em.flow(
            "bulk",
            "h1",
            "h2",
            transfer={"stream": {}, "tcp": {"window": "64 kB", "options": "12 B"}},
        ),
        *(
            em.flow(f"load{one[1:]}", one, other, frames="256 B", arrivals="saturated")
            for one, other in NEXT.items()
        ),
    ],
    phases={"settle": "0 s", "transmit": "7 s", "measure": "last 6 s"},
    run={"engines": ["simulation"]},
)
"""The model of its hosts has the declared offset of an emulated medium (`OFFSET_NS`)."""
STALLS_S = 1.0
"""Stalls in a window: what happens on the medium follows from stamps, not from when it is decided.
"""
REPLICATIONS = 30
CONFIDENCE = 0.999


def simulated(path: Path) -> list:
    """Return the counts of simulations with different seeds."""
    trials = em.load(str(path)).plan(replications=REPLICATIONS).trials
    lines = [core_trial(t.scenario, seed=t.seed) for t in trials if t.engine == "simulation"]
    return [_core.simulate_trial(line) for line in lines]


def ports_of(run: Path, trial: str) -> dict[int, dict]:
    """Return what was counted at the ports of a trial that were counted, by their numbers."""
    rows = pq.read_table(run / "ports.parquet").to_pylist()
    return {row["port"]: row for row in rows if row["trial"] == trial and row["frames"] is not None}


def test_media_of_a_network_carry_and_delay_as_simulated_ones(new_path, in_quiet_window):
    def of_window():
        path = NETWORK.save(new_path() / "network.toml")
        measured = measure(path, path.parent, "--on", "testbed", "--json")
        result = measured.result()
        # Laws: nothing is lost, and every frame that came to a card has left it.
        assert set(result["media"]) == {"bus", "hub", "h3 - switch"}
        for medium in result["media"].values():
            assert not any(medium["dropped"].values())
            for station in medium["stations"]:
                left = station["frames"] + station["discarded"] + station["dropped"]
                assert station["arrived"] == left
        discarded = sum(
            station["discarded"]
            for medium in result["media"].values()
            for station in medium["stations"]
        )
        missing = sum(flow["losses"]["missing"] for flow in result["flows"].values())
        assert missing <= discarded
        return path, measured

    path, measured = in_quiet_window(of_window, tolerated_stall_s=STALLS_S / 4)
    run, result, estimates = measured.run, measured.result(), measured.estimates()
    live, simulation = estimates["live"], estimates["simulation"]
    # The same draws of the same sources: messages at the window's edges differ.
    assert live["message_rate"]["value"] == pytest.approx(
        simulation["message_rate"]["value"], rel=0.005
    )
    ports, expected = (ports_of(run, trial) for trial in trials(run))
    for number, port in ports.items():
        assert port["frames"] == pytest.approx(expected[number]["frames"], rel=0.01, abs=10), number
    # Collisions and one-way delays are those of another run of the same chance.
    counts = simulated(path)
    hub = [0, 2, 5]
    collisions, half_width = prediction(
        np.array([each.ports.collisions[hub].sum() for each in counts], float), CONFIDENCE
    )
    assert abs(sum(ports[port]["collisions"] for port in hub) - collisions) <= half_width
    one_way = [each.flows.one_way for each in counts]
    delays_s = np.array([each.sum_ps.sum() / each.count.sum() / 1e12 for each in one_way])
    # Delays are skewed: by simulations, 3 of 100 lie outside of an interval of 99%, but the
    # logarithms of only 3 of 1000 outside of one of 99.9%.
    middle, half_width = prediction(np.log(delays_s), CONFIDENCE)
    least_s, most_s = np.exp([middle - half_width, middle + half_width])
    # Bridges and hosts take some tens of microseconds, shaped wires less than a frame's time.
    assert least_s - 100e-6 <= live["one_way_delay"]["value"] <= most_s + 100e-6
    assert result["media"]["bus"]["violations"] == 0


def trials(run: Path) -> list[str]:
    """Names of the trials of a run: of the measurement, and of the simulation."""
    lines = [json.loads(line) for line in (run / "plan.jsonl").read_text().splitlines()]
    named = {line["engine"]: line["id"] for line in lines if "engine" in line}
    return [named["live"], named["simulation"]]


def with_room(segment: Segment) -> Segment:
    """Return a segment whose cards do not run empty while one station after the other captures it.

    Sources of 1200 frames a second before cards of 64 carry 8.3 Mb/s in a simulation, before those
    of 1000 frames 9.0, as saturated ones do.
    """
    scenario = segment.medium.trial.scenario
    flows = tuple(structs.replace(flow, queue_frames=1000) for flow in scenario.flows)
    trial = structs.replace(segment.medium.trial, scenario=structs.replace(scenario, flows=flows))
    return replace(segment, medium=structs.replace(segment.medium, trial=trial))


@contextmanager
def ten_hosts(folder: Path):
    """Make ten hosts on a cable, of which the last eight send more than it carries."""
    path = TEN.save(folder / "network.toml")
    (trial, *_) = em.load(str(path)).plan(replications=1).trials
    segments = [with_room(each) for each in segments_of(trial.scenario, has_shapers=True)]
    with make_network(Network(list(segments[0].stations), segments=segments)) as bed:
        yield path, bed


BLAST = """\
import signal, socket, sys, time
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("", 9000))  # nothing reads it: datagrams are taken, and dropped at the full socket
source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
signals = []
signal.signal(signal.SIGTERM, lambda *signalled: signals.append(signalled))
print("ready", flush=True)
sys.stdin.readline()  # until all are: a host without a receiver answers by ICMP
while not signals:
    for _ in range(12):  # frames of 256 octets, more than twice a ninth of what the cable carries
        source.sendto(bytes(210), (sys.argv[1], 9000))
    time.sleep(0.01)
time.sleep(60)  # its port stays open for what waits in cards
"""
FETCH = """\
import sys, urllib.request
page = urllib.request.urlopen(sys.argv[1], timeout=300).read()
print(page == bytes(range(256)) * 200)
"""


@pytest.mark.long
def test_programs_share_a_cable_with_eight_saturated_hosts(new_path, in_quiet_window):
    def of_window():
        folder = new_path()
        (folder / "page").write_bytes(bytes(range(256)) * 200)
        with ten_hosts(folder) as (path, bed), ExitStack() as stack:
            one, other, *eight = bed.hosts.values()

            def start(host, *command):
                process = subprocess.Popen(
                    host.command(*command),
                    cwd=folder,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
                stack.enter_context(process)
                stack.callback(process.kill)
                return process

            blasts = [
                start(host, "python3", "-c", BLAST, to.ipv4)
                for host, to in zip(eight, [*eight[1:], eight[0]], strict=True)
            ]
            assert all(blast.stdout.readline() for blast in blasts)
            for blast in blasts:
                blast.stdin.close()
            start(other, "iperf3", "-s", "-1")
            server = ["python3", "-m", "http.server", "8000", "--bind", other.ipv4]
            start(other, *server)
            time.sleep(1.5)  # cards fill
            words = ["-c", other.ipv4, "-t", "6", "-O", "1", "-w", "64K", "-C", "cubic", "-J"]
            before = bed.relay.count().segments[0]
            done = subprocess.run(
                one.command("iperf3", *words), capture_output=True, text=True, check=True
            )
            after = bed.relay.count().segments[0]
            transfer = json.loads(done.stdout)["end"]
            ping = ["ping", "-q", "-f", "-c", "30", "-W", "5", other.ipv4]
            pinged = subprocess.run(one.command(*ping), capture_output=True, text=True, check=True)
            command = one.command("python3", "-c", FETCH, f"http://{other.ipv4}:8000/page")
            fetched = subprocess.run(command, capture_output=True, text=True, check=True)
            for blast in blasts:
                blast.terminate()
            counted = of_empty_cards(bed.relay)
            received = [frames_of(host) for host in bed.hosts.values()]
        # What the MAC of a host delivered came to the one host that it sends to, frame by frame.
        assert not any(counted.dropped.values())
        sent = [station.frames for station in counted.stations]
        assert received == [sent[1], sent[0], sent[9], *sent[2:9]]
        for station in counted.stations[2:]:
            # Its card was full again and again: the host is saturated.
            assert station.dropped > station.frames / 10
        assert fetched.stdout == "True\n"
        (came,) = re.findall(r"(\d+) received", pinged.stdout)
        given_up = sum(of.discarded + of.dropped for of in counted.stations[:2])
        assert 30 - int(came) <= given_up
        rates_bps = transfer["sum_received"]["bits_per_second"], carried_bps(before, after)
        return path, rates_bps, counted

    path, measured_bps, counted = in_quiet_window(of_window, tolerated_stall_s=STALLS_S)
    counts = simulated(path)
    simulated_bps = [
        [each.flows.transfer.octets[0] * 8 / each.window_ps * 1e12 for each in counts],
        [each.ports.octets.sum() * 8 / each.window_ps * 1e12 for each in counts],
    ]
    # Of the transfer, and of all that the cable carries: one more run of the same chance. Before
    # and after the transfer there is a station less for some tenths of a second, a percent at most.
    for one_bps, each_bps in zip(measured_bps, simulated_bps, strict=True):
        mean_bps, half_width_bps = prediction(np.array(each_bps), CONFIDENCE)
        assert abs(one_bps - mean_bps) <= half_width_bps + 0.01 * mean_bps, one_bps
    assert counted.violations <= 1e-4 * sum(station.arrived for station in counted.stations)


def carried_bps(before, after) -> float:
    """Return the bit rate of all frames on a segment between two readings."""
    octets = [sum(station.octets for station in of.stations) for of in (before, after)]
    return (octets[1] - octets[0]) * 8 / (after.over_ns - before.over_ns) * 1e9


def of_empty_cards(relay):
    """Wait until all that came to the cards of a segment has left them; return what was counted."""

    def settled():
        counted = relay.count().segments[0]
        left = [of.frames + of.discarded + of.dropped for of in counted.stations]
        return counted if left == [of.arrived for of in counted.stations] else None

    return eventually(settled)


def frames_of(host) -> int:
    """Return the frames that came to a host."""
    command = host.command("cat", f"/sys/class/net/{host.interface}/statistics/rx_packets")
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_a_network_stays_for_programs_until_it_is_removed(tmp_path, up):
    found = up(NETWORK.save(tmp_path / "network.toml"))
    assert (found["layout"], len(found["hosts"])) == ("network", 6)
    ping = ["ping", "-q", "-c", "3", "-i", "0.2", "10.77.0.6"]
    done = call(real("testbed", "exec", found["name"], "1", "--", *ping))
    assert "3 packets transmitted, 3 received" in done.stdout
    shown = json.loads(invoke("testbed", "show", found["name"], "--json").stdout)
    # Over the bus and the hub; not to the half-duplex link, for the switch knows all addresses.
    frames = [[station["frames"] for station in of["stations"]] for of in shown["segments"]]
    assert frames == [[3, 0, 3], [3, 0, 3], [0, 0]]
    assert invoke("testbed", "down", found["name"]).returncode == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"flows.1.arrivals": "saturated", "flows.1.cast": "multicast"},
            "flows.fragments.arrivals = saturated, multicast by udp: expected one receiver",
        ),
        (
            {
                "flows.1.data": {"samples": {"least": "160 B", "most": "160 B", "overhead": "0 B"}},
                "flows.1.arrivals": {"coder": {"sample": "8 bit", "every": "125 us"}},
            },
            "flows.fragments.arrivals = a coder: expected no coder at a shared medium",
        ),
    ],
)
def test_flows_that_a_medium_cannot_hold_back_are_refused_in_one_line(tmp_path, changes, words):
    assert words in refusal(NETWORK.changed(changes), tmp_path, "--on", "testbed")
