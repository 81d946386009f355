"""Exchanges and files that are measured: lengths, times and rates against what was asked for, and
against their simulation.
"""

from typing import Any

import ethermeter as em
import pytest
from ethermeter.experiment.builder import ExperimentTables
from live_runs import Measurement, measure, refusal
from shared_experiments import pair

PLACE = ("--on", "testbed", "--no-report")


def asking(**keys: object) -> ExperimentTables:
    """An experiment with one flow, from a to b."""
    return pair(
        em.flow("ask", "a", "b", **keys),
        rate="1 Gb/s",
        phases={"transmit": "1 s", "measure": "all", "drain": "0.1 s"},
        run={"engines": ["simulation", "live"]},
    )


def counted(found: Measurement, side: str) -> dict[str, Any]:
    """Return what one side of the flow has counted."""
    counts: dict[str, Any] = found.result()["flows"]["ask"][side]["counted"]
    return counts


def value(estimates: dict[str, Any], metric: str) -> float:
    return float(estimates[metric]["value"])


@pytest.mark.root
def test_requests_at_random_wait_for_each_other_as_they_do_in_a_simulation(tmp_path):
    # An answer takes 4 ms and a request comes each 8 ms on average: half of the time there is one
    # before it.
    experiment = asking(
        data="40 B x 1 + 400 B x 1",
        arrivals={"poisson": "125 /s"},
        response={"data": "1000 B", "think": "4 ms"},
    )
    found = measure(experiment, tmp_path, *PLACE)
    simulated, live = found.estimates()["simulation"], found.estimates()["live"]
    asker = counted(found, "sending")
    # The same messages are offered to both; of those that come last, some are not answered in time
    # to be counted.
    assert value(live, "offered_rate") == pytest.approx(value(simulated, "offered_rate"), abs=1)
    assert value(live, "exchanges") == asker["complete"] == asker["requests"]
    # Without waiting for each other all would be 4 ms. Draws and thinking are the same, and the
    # wire takes 10 µs: hosts can only be slower, but for the buckets' 0.8%.
    assert value(simulated, "round_trip_p90") > 6e-3
    for metric in ("round_trip_p50", "round_trip_p90"):
        assert value(live, metric) > 0.98 * value(simulated, metric)


@pytest.mark.root
def test_no_round_trip_on_held_wires_is_shorter_than_what_request_and_answer_take(
    tmp_path, unless_held_up
):
    experiment = asking(
        port="packet",
        frames="82 B",
        arrivals="saturated",
        response={"frames": "1518 B", "exchanges": 50},
    ).changed({"network.rate": "10 Mb/s"})
    # There 82 + 8 octets of 0.8 µs each, back 1518 + 8.
    least_s = (90 + 1526) * 0.8e-6
    found = measure(experiment, tmp_path, "--on", "testbed,relay", "--no-report").estimates()
    assert value(found["simulation"], "round_trip_p50") == pytest.approx(least_s, rel=0.01)
    # Nothing is faster, but for the buckets' 0.8%.
    assert value(found["live"], "round_trip_p50") > 0.992 * least_s
    unless_held_up(value(found["live"], "exchanges") >= 50, "fewer than 50 exchanges in a second")
    assert "few-samples" not in found["live"]["round_trip"].get("cautions", ())


@pytest.mark.root
def test_fewer_exchanges_than_were_wanted_are_told(tmp_path):
    experiment = asking(data="100 B", arrivals={"regular": "10 ms"}, response={"exchanges": 1000})
    live = measure(experiment, tmp_path, *PLACE).estimates()["live"]
    assert 0 < value(live, "exchanges") <= 100
    assert "few-samples" in live["exchanges"]["cautions"]
    assert "few-samples" in live["round_trip"]["cautions"]
    assert "few-samples" not in live["message_rate"].get("cautions", ())


def test_answers_over_a_connection_are_thought_about_too(tmp_path):
    experiment = asking(
        port="tcp",
        frames="100 B",
        arrivals="saturated",
        response={"frames": "5000 B", "think": "2 ms"},
    ).changed({"run.engines": ["live"]})
    live = measure(experiment, tmp_path, "--on", "loopback", "--no-report").estimates()["live"]
    assert value(live, "round_trip_p50") >= 0.992 * 2e-3
    assert 0 < value(live, "exchanges") <= 500


@pytest.mark.root
@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_file_takes_no_less_than_its_blocks_do(tmp_path, direction, unless_held_up):
    job = {"direction": direction, "size": "400 kB", "block": "4000 B"}
    job |= {"request": "64 B", "answer": "64 B", "client": "1 ms", "server": "2 ms"}
    # 100 times 2 ms at the server and 1 ms between blocks; the wire of 1 Gb/s adds 35 µs to each in
    # the simulation.
    expected_bps = 8 * 400_000 / (100 * 2e-3 + 99 * 1e-3 + 100 * 40e-6)
    experiment = asking(transfer={"file": job, "tcp": {"window": "64 kB"}})
    found = measure(experiment, tmp_path, *PLACE)
    simulated, live = found.estimates()["simulation"], found.estimates()["live"]
    assert value(simulated, "exchanges") == 100
    assert value(simulated, "transfer_rate") == pytest.approx(expected_bps, rel=0.02)
    # No block is sooner than its server.
    assert value(live, "round_trip_p50") >= 0.992 * 2e-3
    client, server = counted(found, "sending"), counted(found, "receiving")
    assert (server["read_octets"], server["written_octets"]) == (
        client["written_octets"],
        client["read_octets"],
    )
    blocks = value(live, "exchanges")
    assert 0 < blocks <= 100
    unless_held_up(blocks == 100, f"{blocks} of 100 blocks in a second")
    assert value(live, "transfer_rate") < 1.02 * expected_bps
    long, short = 100 * 4064, 100 * 64
    assert (client["written_octets"], client["read_octets"]) == (
        (short, long) if direction == "read" else (long, short)
    )


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        (
            {"data": "100 B", "response": {"data": "17 B"}},
            "response.data = 17 B: expected at least 18 B",
        ),
        (
            {"frames": "100 B", "port": "packet", "response": {"frames": "9019 B"}},
            "of 64 to 9018 octets",
        ),
        ({"data": "100 B", "response": {"exchanges": 0}}, "exchanges (ask) = 0"),
    ],
)
@pytest.mark.root
def test_answers_that_cannot_be_measured_are_refused_in_a_line(tmp_path, keys, fault):
    experiment = asking(arrivals="saturated", **keys).changed({"run.engines": ["live"]})
    assert fault in refusal(experiment, tmp_path, "--on", "testbed")


@pytest.mark.root
@pytest.mark.parametrize(
    ("port", "cast"),
    [(port, cast) for port in ("packet", "udp") for cast in ("multicast", "broadcast")],
)
def test_answers_to_a_group_come_to_each_of_its_hosts(tmp_path, port, cast):
    length: dict[str, object]
    length = {"frames": "100 B"} if port == "packet" else {"data": "58 B"}
    hosts = ["a", "b", "c", "d", "bystander"]
    experiment = em.network(
        title="A request to three, and their answers to all four",
        rate="1 Gb/s",
        hosts=hosts,
        switches=["s"],
        links=[(host, "s") for host in hosts],
        flows=[
            em.flow(
                "ask",
                "a",
                ["b", "c", "d"],
                cast=cast,
                port=port,
                arrivals={"regular": "5 ms"},
                response={"cast": cast},
                **length,
            )
        ],
        phases={"settle": "0.1 s", "transmit": "1 s", "measure": "all", "drain": "0.2 s"},
        run={"engines": ["simulation", "live"]},
    )
    found = measure(experiment, tmp_path, *PLACE)
    flow = found.result()["flows"]["ask"]
    asker = flow["sending"]["counted"]
    assert 0 < asker["complete"] <= asker["requests"]
    counted = [flow["receivers"][name]["receiving"]["counted"] for name in "bcd"]
    answered = [each["answered"] for each in counted]
    for each, own in zip(counted, answered, strict=True):
        # The two others', as far as each role was still there when they came.
        assert own <= each["heard"] <= sum(answered) - own
        # A kernel gives who broadcasts by UDP its own datagrams.
        assert each["unexpected"] == (own if (port, cast) == ("udp", "broadcast") else 0)
        assert each["not_allowed"] == 0
    results = em.open(found.run)
    for name in "bcd":
        for engine in ("simulation", "live"):
            at = results.at(results.series, engine=engine)
            assert at.histogram("responder_round_trip", f"ask {name}").count.sum() > 0
