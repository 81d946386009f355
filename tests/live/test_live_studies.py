"""Live tests of studies: one short run of each kind, against what wires and rules allow."""

import json
from pathlib import Path
from typing import Any

import pytest
from live_runs import Measurement, measure, results_of
from program import invoke, settings

ONE_QUICK = ("--on", "loopback", "--quick", "--no-report", "--set", "run.replications=1")
SHORT = settings('phases.transmit="0.6 s"', 'phases.measure="last 0.4 s"')

TOLERATED_STALL_S = 0.1
"""Of a command that takes some seconds, in which windows of half a second and more are measured."""


def measured(name: str, folder: Path, *words: str, wires: str = "shaped") -> list[dict[str, Any]]:
    """Measure a shipped live test in a testbed, and return the points that were measured."""
    found = measure(f"live/{name}", folder, "--on", f"testbed,{wires}", "--no-report", *words)
    points = json.loads((found.run / "estimates.json").read_text())["points"]
    return [point for point in points if point["engine"] == "live"]


def value(point: dict[str, Any], metric: str) -> float:
    return float(point["estimates"][metric]["value"])


def phases_of(found: Measurement) -> dict[str, int]:
    """Return the phases of the only trial."""
    (trial,) = map(json.loads, (found.run / "plan.jsonl").read_text("utf-8").splitlines())
    phases: dict[str, int] = trial["scenario"]["phases"]
    return phases


def flows_of(folder: Path) -> list[dict[str, Any]]:
    """Return what was counted of the flows of every trial."""
    return [result["flows"] for result in results_of(folder / "run")]


@pytest.mark.root
def test_each_step_of_the_load_comes_through_below_the_wire(tmp_path):
    steps = settings(
        'vary."flows.load.arrivals.regular"=["16.768 ms", "8.384 ms"]', 'phases.drain="0.2 s"'
    )
    points = measured("erg/steps", tmp_path, *steps, *SHORT)
    for point, flows, period_s in zip(
        points, flows_of(tmp_path), (16.768e-3, 8.384e-3), strict=True
    ):
        assert value(point, "loss") == 0
        # Their phase is random: one more or less in the transmission of 0.6 s.
        assert flows["load"]["received"] == pytest.approx(0.6 / period_s, abs=1)


@pytest.mark.root
def test_on_wires_that_hold_frames_a_round_trip_grows_by_what_the_wires_take_for_an_octet(tmp_path):
    sizes = settings(
        'vary."flows.ping.frames"=["82 B", "530 B", "1042 B", "1518 B"]', 'network.rate="10 Mb/s"'
    )
    points = measured("hughesjones2000/latency-direct", tmp_path, *sizes, *SHORT, wires="relay")
    octets = [82, 530, 1042, 1518]
    for point, length in zip(points, octets, strict=True):
        # There and back, preamble and frame, 0.8 us an octet: no round trip is shorter. Wires may
        # be late, never early; the median is of buckets narrower than 0.8%.
        assert value(point, "round_trip_p50") > 0.992 * 2 * (length + 8) * 0.8e-6
        assert value(point, "timed_out") == 0


@pytest.mark.root
def test_what_is_for_a_host_that_the_switch_never_heard_crowds_out_what_others_get(tmp_path):
    silent, heard = sorted(
        measured(
            "hughesjones2000/unlearned",
            tmp_path,
            *settings('phases.transmit="1 s"', 'phases.measure="last 0.8 s"'),
        ),
        key=lambda point: point["point"]["flows.greeting.arrivals.regular"],
    )
    assert silent["point"]["flows.greeting.arrivals.regular"] == "1000 s"
    assert value(heard, "loss") == 0
    assert value(silent, "loss") > 0
    for flows in flows_of(tmp_path):
        bystander, receiver = flows["to-bystander"], flows["to-receiver"]
        assert receiver["received"] == receiver["sent"]
        if flows["greeting"]["sent"] == 0:
            assert bystander["received"] < bystander["sent"]


@pytest.mark.root
def test_a_request_to_a_group_is_answered_by_all_of_it(tmp_path):
    sizes = settings("network.hosts.answerer.count=3", 'flows.ping.frames="82 B"')
    (point,) = measured("hughesjones2000/multicast-request", tmp_path, *sizes, *SHORT)
    assert value(point, "round_trip") > 0
    (flows,) = flows_of(tmp_path)
    asked = flows["ping"]["sending"]["counted"]
    assert 0 < asked["complete"] <= asked["requests"]
    assert all(station["answered"] >= asked["complete"] for station in asked["by_station"])


@pytest.mark.root
def test_everybody_gets_the_answers_to_everybody(tmp_path):
    words = settings('flows.ping.frames="82 B"')
    (point,) = measured("hughesjones2000/broadcast-ping-pong", tmp_path, *words, *SHORT)
    assert value(point, "round_trip") > 0
    (flows,) = flows_of(tmp_path)
    asked = flows["ping"]["sending"]["counted"]
    answered = flows["ping"]["receivers"]["answerer"]["receiving"]["counted"]
    assert 0 < asked["complete"] <= answered["answered"]
    # Nobody else of the flow answers, so nothing is heard.
    assert answered["heard"] == answered["not_allowed"] == 0


@pytest.mark.root
@pytest.mark.parametrize("wires", ["shaped", "relay"])
def test_octets_over_tcp_are_those_that_were_sent_and_no_more_than_a_wire_carries(tmp_path, wires):
    words = settings('network.rate="10 Mb/s"', 'phases.transmit="1.5 s"')
    (point,) = measured("fritz1999/one-way", tmp_path, *words, wires=wires)
    # Segments of 1448 octets in 1538 of the wire. Octets are told when they are read: what waited
    # for a segment that was sent again, at most what the queue before the wire held (150 kB, and
    # what its shaper lets go ahead of time), may come in one read.
    assert 0 < value(point, "data_rate") <= 10e6 * 1448 / 1538 + 8 * 160_000
    (flows,) = flows_of(tmp_path)
    assert flows["copy"]["received_octets"] == flows["copy"]["sent_octets"] > 0


@pytest.mark.root
def test_talkers_who_have_room_lose_nothing(tmp_path):
    words = settings(
        "network.hosts.talker.count=2", 'phases.transmit="1.5 s"', 'phases.measure="last 1.4 s"'
    )
    (point,) = measured("gonsalves1982/talkers", tmp_path, *words)
    (flows,) = flows_of(tmp_path)
    for flow in flows.values():
        # One each 20 ms at the most, and whoever talks has room.
        assert flow["received"] == flow["sent"] <= 1.5 / 0.02 + 1
    assert value(point, "timed_out") == 0


@pytest.mark.root
def test_conversations_lose_what_a_wire_does_not_carry_with_their_longest_packets(
    new_path, in_quiet_window
):
    words = settings(
        "network.hosts.listener.count=3", 'network.links.0.rate="160 kb/s"', "run.replications=1"
    )
    made = 3 * 4 / 125e-6

    def sample_loss() -> float:
        folder = new_path()
        (point,) = measured(
            "gonsalves1982/conversations",
            folder,
            *words,
            *settings('phases.transmit="6 s"', 'phases.measure="last 4 s"'),
        )
        assert value(point, "samples_offered") == pytest.approx(made, abs=3)
        assert value(point, "samples_lost_host") == value(point, "samples_lost")
        (flows,) = flows_of(folder)
        for flow in flows.values():
            said = flow["sending"]["counted"]["voice"]["measured"]
            assert said["made"] == said["sent"] + said["lost"] + said["left"]
            assert (
                said["sent"]
                == flow["receiving"]["counted"]["streams"][0]["voice"]["measured"]["samples"]
            )
        return value(point, "sample_loss")

    # 1006 samples of 125 us go in a packet that takes 1044 octets of the wire, 52.2 ms.
    carried = 1006 * 125e-6 / (8 * 1044 / 160e3)
    loss = in_quiet_window(sample_loss, tolerated_stall_s=2 * TOLERATED_STALL_S)
    # Of each conversation a packet more or less may go in the window. While the machine stalls, the
    # wire is idle.
    assert loss == pytest.approx(
        1 - carried / 3, abs=3 * 1006 / made + carried / 3 * in_quiet_window.stalled_s / 4
    )


@pytest.mark.root
def test_a_study_is_one_run(tmp_path):
    done = invoke(
        "study",
        "fritz1999",
        "--on",
        "testbed",
        "--quick",
        "--set",
        'network.rate="10 Mb/s"',
        "--json",
        "--out",
        str(tmp_path / "run"),
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["plan"] == "live-fritz1999"
    assert {point["series"] for point in said["estimates"]["points"]} == {
        "one-way",
        "both-ways",
        "files",
    }
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "<h1>Gigabit choke points (Fritz, 1999), measured live</h1>" in page
    # Nobody counts messages of octets over TCP.
    assert ">nan" not in page


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("measure",), "Missing argument 'EXPERIMENT'"),
        (("measure", "wire-live", "--study", "erg"), "now ethermeter study STUDY --on"),
        (("study", "metcalfe1976"), "one of boggs1988"),
        (
            ("measure", "wire-live", "--quick", "--set", 'vary."phases.transmit"=["1 s", "2 s"]'),
            "--quick = given with phases.transmit varied",
        ),
    ],
)
def test_what_is_to_be_measured_is_asked_for_in_a_line(words, fault):
    done = invoke(*words, "--on", "loopback")
    assert done.returncode == 2
    assert fault in done.stderr
    assert "Traceback" not in done.stderr


def test_a_single_test_is_quick_too_and_only_the_numbers_that_it_measured_are_printed(tmp_path):
    found = measure("live/erg/simplex-100", tmp_path, *ONE_QUICK, *settings('run.engines=["live"]'))
    phases = phases_of(found)
    assert phases["stop_ps"] - phases["begin_ps"] == 600 * 10**9
    assert phases["measure_to_ps"] - phases["measure_from_ps"] == 400 * 10**9
    lines = found.printed.stdout.splitlines()
    (head,) = [at for at, line in enumerate(lines) if line.startswith("claim ")]
    assert [line.split()[0] for line in lines[head + 1 : head + 2]] == ["1-switch"]
    every = json.loads((found.run / "live-claims.json").read_text(encoding="utf-8"))["claims"]
    assert sum(claim["verdict"] == "not-run" for claim in every) == len(every) - 1 > 0
    assert lines[head + 2].startswith(
        f"{len(every) - 1} published numbers of erg are of tests or points that were not measured"
    )
    assert "not-run" not in found.printed.stdout


def test_an_experiment_that_is_as_short_as_a_quick_one_stays_as_it_is(tmp_path):
    short = settings('run.engines=["live"]', "phases.transmit=300 ms", "phases.measure=last 200 ms")
    found = measure("live/erg/simplex-100", tmp_path, *ONE_QUICK, *short)
    assert "quick changes nothing" in found.printed.stderr
    phases = phases_of(found)
    assert phases["stop_ps"] - phases["begin_ps"] == 300 * 10**9


@pytest.mark.root
def test_what_erg_published_stands_beside_what_was_measured(new_path, in_quiet_window):
    path = [
        f'vary."flows.load.{key}"=["{host}"]' for key, host in (("from", "sparc"), ("to", "sink10"))
    ]
    words = settings(*path, 'run.engines=["live"]', 'phases.transmit="1.2 s"')
    words += [*settings('phases.measure="last 1 s"'), "--set", "run.replications=1", "--json"]

    def claims() -> dict[str, dict[str, Any]]:
        folder = new_path()
        said = json.loads(
            measure("live/erg/simplex", folder, "--on", "testbed", *words).printed.stdout
        )
        assert [value(point, "loss") for point in said["estimates"]["points"]] == [0, 0]
        for flows in flows_of(folder):
            # Of 40000 bits each 4192 us; their phase is random: one more or less.
            sent = flows["load"]["sending"]["counted"]["frames"]
            assert sent == pytest.approx(1.2 / 4192e-6, abs=1)
        found = {claim["id"]: claim for claim in said["live_claims"]["claims"]}
        assert found["3-10-10-hub"]["verdict"] == "not-run"
        assert '<section id="study">' in (folder / "run" / "report.html").read_text("utf-8")
        return found

    # A measured number is met within 8%.
    found = in_quiet_window(claims, tolerated_stall_s=0.05)
    for name in ("2-unicast-10-10", "2-multicast-10-10"):
        # A wire of 10 Mb/s has room for 9.542; one datagram more or less in the window of a second
        # is 0.04. What a stall holds up comes later, into the window or after it.
        assert found[name]["ours"] == pytest.approx(
            9.542, abs=0.04 + 9.542 * in_quiet_window.stalled_s
        )
        assert found[name]["verdict"] == "met"
