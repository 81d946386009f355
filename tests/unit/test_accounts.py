"""What agents told of a test beside the metrics, by hand."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from ethermeter.analysis import accounts, connections, hosts, losses, pacing
from ethermeter.analysis.accounts_file import AccountsFile
from ethermeter.faults import InputError
from ethermeter.json_values import plain
from measured_trials import counted, result_of

S = 1_000_000_000
IDLE = {"user": 0, "system": 0, "interrupts": 0, "soft_interrupts": 0, "steal": 0, "idle": 0}


def sample(
    at_ns: int, *processors: dict[str, int], switches: int = 0, memory: int = 4_000_000_000
) -> dict[str, Any]:
    host = {
        "processors": [{**IDLE, **of} for of in processors],
        "context_switches": switches,
        "interrupts": 2 * switches,
        "soft_interrupts": 3 * switches,
        "backlog_dropped": switches // 100,
        "memory_available_octets": memory,
    }
    return {"taken_ns": at_ns, "host": host}


def agent(boot: str) -> dict[str, Any]:
    edges = [
        {"at": "begin", **sample(0, {}, {})},
        {"at": "measure_from", **sample(S, {"user": 10, "idle": 90}, {"idle": 100}, switches=1000)},
        {
            "at": "measure_to",
            **sample(
                3 * S,
                {"user": 60, "system": 20, "soft_interrupts": 30, "idle": 190},
                {"idle": 300},
                switches=5000,
            ),
        },
    ]
    columns = {
        "user": [[0, 5, 10], [0, 0, 0]],
        "system": [[0, 5, 10], [0, 0, 0]],
        "interrupts_time": [[0, 0, 0], [0, 0, 0]],
        "soft_interrupts_time": [[0, 0, 0], [0, 0, 10]],
        "steal": [[0, 0, 0], [0, 0, 0]],
        "idle": [[0, 0, 0], [0, 10, 10]],
        "context_switches": [0, 100, 400],
        "interrupts": [0, 10, 20],
        "memory_available_octets": [5_000_000_000, 3_000_000_000, 3_500_000_000],
    }
    series = {
        "at_ns": [-100_000_000, 0, 100_000_000],
        "columns": columns,
        "cost": {"processor_ns": 2_000_000},
    }
    return {"boot": boot, "result": {"host": edges, "host_series": series}}


def test_shares_of_processors_are_those_of_the_ticks_between_the_edges_of_the_window():
    (machine,) = hosts.machines(result_of({"agents": {"a": agent("x"), "b": agent("x")}}))
    assert machine.hosts == ("a", "b")
    # 50 + 20 + 30 of 200 ticks, and 0 of 200.
    assert machine.processors[0] == {
        "user": 0.25,
        "system": 0.1,
        "interrupts": 0.0,
        "soft_interrupts": 0.15,
        "steal": 0.0,
    }
    assert machine.busiest == (0, 0.5)
    assert machine.shares["user"] == 0.125
    assert (machine.context_switches, machine.interrupts, machine.soft_interrupts) == (
        2000,
        4000,
        6000,
    )
    assert machine.memory_least_octets == 3_000_000_000
    assert machine.backlog_dropped == 40
    # Two agents looked, each for 2 of 200 ms.
    assert machine.looking == pytest.approx(0.02)


def test_hosts_of_several_kernels_are_several_machines():
    found = hosts.machines(
        result_of({"agents": {"a": agent("x"), "b": agent("y"), "c": agent("x")}})
    )
    assert [machine.hosts for machine in found] == [("a", "c"), ("b",)]


def test_a_machine_that_told_no_edges_is_left_out():
    assert (
        hosts.machines(
            result_of(
                {"agents": {"a": {"boot": "x", "result": None}, "b": {"result": {"host": []}}}}
            )
        )
        == ()
    )


def test_the_course_of_a_machine_is_what_grew_in_each_step():
    course = hosts.course(result_of({"agents": {"a": agent("x")}}), "a")
    assert course is not None
    assert course.at_s.tolist() == [0.0, 0.1]
    # First step: 5 + 5 + 10 ticks in all; second: 5 + 5 + 10.
    assert course.shares["user"].tolist() == [0.25, 0.25]
    assert course.shares["soft_interrupts"].tolist() == [0.0, 0.5]
    assert course.context_switches.tolist() == [1000, 3000]
    assert hosts.course(result_of({"agents": {"a": {"result": {}}}}), "a") is None


def tcp_flow() -> dict[str, Any]:
    columns = {
        "round_trip_us": [100, 300, 500],
        "least_round_trip_us": [0, 90, 80],
        "congestion_window": [10, 20, 10],
        "segment_octets": [1000, 1000, 1000],
        "sent_again": [0, 1, 3],
        "sent_again_octets": [0, 1000, 3000],
        "sent_octets": [10_000, 20_000, 30_000],
        "busy_us": [0, 500, 2000],
        "receiver_limited_us": [0, 100, 500],
        "buffer_limited_us": [0, 0, 1000],
    }
    # The first value stood for 1 s, the second for 3 s; the last had no time to stand.
    tcp = {"at_ns": [0, S, 4 * S], "columns": columns}
    progress = {"at_ns": [0, 2 * S, 4 * S], "columns": {"octets": [0, 1_000_000, 3_000_000]}}
    measured = {"data_rate_bps": 8e6}
    return {
        "from": "a",
        "to": "b",
        "port": "tcp",
        "sending": counted("bulk-sender", tcp=tcp, congestion="cubic", sack=False),
        "receiving": counted(
            "bulk-receiver", octets=3_000_000, last_ns=None, measured=measured, progress=progress
        ),
    }


def test_means_of_a_connection_weigh_each_value_by_how_long_it_stood():
    (found,) = connections.connections(
        result_of(
            {"flows": {"copy": tcp_flow(), "load": {"from": "a", "to": "b", "sending": None}}}
        )
    )
    assert found.round_trip_s == pytest.approx((100 * 1 + 300 * 3) / 4 * 1e-6)
    assert found.round_trip_most_s == pytest.approx(500e-6)
    # TCP says 0 before it knows.
    assert found.round_trip_least_s == pytest.approx(80e-6)
    assert found.window_octets == pytest.approx((10_000 + 60_000) / 4)
    assert (found.sent_again, found.sent_again_octets, found.sent_octets) == (3, 3000, 30_000)
    assert (found.receiver_limited, found.buffer_limited) == (0.25, 0.5)
    assert (found.congestion, found.sack) == ("cubic", False)


def test_what_a_receiver_read_is_conserved_over_even_steps():
    course = connections.course(result_of({"flows": {"copy": tcp_flow()}}), "copy")
    assert course is not None
    steps_s = 4 / course.read_s.size
    assert float((course.read_bps * steps_s).sum()) == pytest.approx(8 * 3_000_000)
    assert connections.course(result_of({"flows": {}}), "copy") is None


def test_of_a_file_the_end_that_sent_the_data_speaks():
    flow = tcp_flow()
    tcp = flow["sending"]["counted"]["tcp"]
    tcp["columns"]["acknowledged_octets"] = [0, 10_000, 27_000]
    few = {key: [0, 0, 0] for key in tcp["columns"]}
    asked = {"at_ns": [0, S, 2 * S], "columns": few}
    measured = {"octets": 25_000, "blocks": 5, "round_trip": {}}
    file = {
        "from": "a",
        "to": "b",
        "port": "tcp",
        "sending": counted("client", tcp=asked, completion_ns=None, measured=measured),
        "receiving": counted("server", tcp=tcp),
    }
    result = {"flows": {"copy": file}, "phases": {"measure_from_ns": S, "measure_to_ns": 3 * S}}
    (found,) = connections.connections(result_of(result))
    assert (found.sender, found.receiver, found.sent_octets) == ("b", "a", 30_000)
    assert found.data_rate_bps == pytest.approx(8 * 25_000 / 2)
    course = connections.course(result_of(result), "copy")
    assert course is not None
    assert float((course.read_bps * 4 / course.read_s.size).sum()) == pytest.approx(8 * 27_000)


def stream(
    sent: int, received: int, seen: list[list[Any]], unexplained: int, excess: int
) -> dict[str, Any]:
    counted = {
        "missing": sent - received,
        "seen": seen,
        "unexplained": unexplained,
        "excess": excess,
    }
    return {"sent": sent, "received": received, "losses": counted, "clock": {"shared": True}}


def test_missing_messages_are_the_places_and_the_unexplained_less_the_excess():
    flows = {
        "one": {
            "from": "a",
            "to": "b",
            **stream(100, 80, [["sender-queue", 12], ["socket", 5]], 3, 0),
        },
        "group": {
            "from": "a",
            "to": ["b", "c"],
            "receivers": {"b": stream(10, 10, [], 0, 0), "c": stream(10, 6, [["socket", 7]], 0, 3)},
        },
        "ping": {"from": "a", "to": "b"},
    }
    found = losses.losses(result_of({"flows": flows}))
    assert [(loss.flow, loss.receiver) for loss in found] == [
        ("one", "b"),
        ("group", "b"),
        ("group", "c"),
    ]
    for loss in (*found, losses.total(found, flow="", receiver="")):
        assert loss.missing == sum(loss.places.values()) + loss.unexplained - loss.excess
    assert losses.total(found, flow="", receiver="").places == {"sender-queue": 12, "socket": 12}


def paced(buckets: list[list[int]], worst_ns: int, share: float) -> dict[str, Any]:
    frames = sum(count for _, _, count in buckets)
    said = {
        "frames": frames,
        "share_on_time": share,
        "worst_ns": worst_ns,
        "forced_sleeps": 1,
        "real_time": None,
        "lateness": {"buckets": buckets},
    }
    sending = counted("sender", frames=frames, unsent=0, pacing=said)
    return {"from": "a", "to": "b", "sending": sending}


def test_lateness_of_replications_together_is_that_of_all_their_messages():
    one = pacing.pacings(
        result_of(
            {
                "flows": {
                    "load": paced([[0, 1_000_000, 99], [9_000_000, 10_000_000, 1]], 9_500, 0.99)
                }
            }
        )
    )
    other = pacing.pacings(
        result_of(
            {
                "flows": {
                    "load": paced([[0, 1_000_000, 50], [20_000_000, 21_000_000, 50]], 20_100, 0.5)
                }
            }
        )
    )
    both = pacing.together([*one, *other])
    assert both.messages == 200
    assert both.on_time == pytest.approx((99 + 50) / 200)
    assert both.quantile_s(0.5) == pytest.approx(1e-6)
    assert both.quantile_s(0.75) == pytest.approx(10e-6)
    # The end of the bucket is beyond the latest message.
    assert both.quantile_s(0.999) == pytest.approx(20.1e-6)
    assert (both.worst_s, both.forced_sleeps) == (pytest.approx(20.1e-6), 2)


def test_saturated_senders_have_no_pacing_and_exchanges_no_clocks():
    flows = {
        "load": {
            "from": "a",
            "to": "b",
            "sending": counted("sender", frames=9, unsent=0, pacing={"frames": 0}),
        },
        "ping": {"from": "a", "to": "b"},
    }
    assert pacing.pacings(result_of({"flows": flows})) == ()
    assert pacing.clocks(result_of({"flows": flows})) == ()


def test_clocks_are_shared_compared_or_unknown():
    relation = {
        "offset_ns": -5e8,
        "uncertainty_ns": 2000,
        "drift": 1e-5,
        "drift_uncertainty": 1e-7,
        "contradictions": 0,
    }
    flows = {
        "shared": {"from": "a", "to": "b", "clock": {"shared": True}},
        "compared": {"from": "a", "to": "b", "clock": {**relation, "delay_uncertainty_ns": None}},
        "unknown": {"from": "a", "to": "b", "clock": {"shared": False}},
    }
    shared, compared, unknown = pacing.clocks(result_of({"flows": flows}))
    assert shared.is_shared
    assert (compared.ahead_s, compared.ahead_bound_s, compared.drift) == (
        pytest.approx(-0.5),
        pytest.approx(2e-6),
        1e-5,
    )
    assert math.isnan(compared.delay_bound_s)
    assert not unknown.is_shared
    assert math.isnan(unknown.ahead_s)


def run_directory(folder: Path, result: str) -> Path:
    """A directory with a plan of one measured trial, and what came of it."""
    import ethermeter as em

    plan = em.load(
        "wire-live",
        overrides=["run.replications=1", 'run.engines=["live"]', 'vary."flows.load.data"=["18 B"]'],
    ).plan()
    (folder / "plan.jsonl").write_text(plan.to_jsonl())
    path = folder / "live" / f"{plan.trials[0].id}.json"
    path.parent.mkdir(parents=True)
    path.write_text(result)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"agents": {}}',
        '{"outcome": "complete", "agents": {"a": {"result": {"host": {}}}}, "flows": {}}',
    ],
)
def test_a_file_that_is_no_result_is_named(tmp_path, text):
    path = run_directory(tmp_path, text)
    with pytest.raises(InputError) as raised:
        accounts.read(tmp_path)
    (fault,) = raised.value.faults
    assert fault.file == str(path)
    assert "the result of a test" in fault.allowed


def test_a_course_that_cannot_be_drawn_is_a_fault_of_its_file(tmp_path):
    broken = agent("x")
    broken["result"]["host_series"]["columns"]["user"] = [[1], [1, 2]]
    path = run_directory(
        tmp_path, json.dumps({"outcome": "complete", "agents": {"a": broken}, "flows": {}})
    )
    with pytest.raises(InputError, match="the result of a test") as raised:
        accounts.read(tmp_path)
    assert raised.value.faults[0].file == str(path)


def test_a_trial_in_vain_or_without_its_file_has_no_account(tmp_path):
    path = run_directory(tmp_path, '{"outcome": "agent-lost", "agents": {"a": {}}, "flows": {}}')
    assert accounts.read(tmp_path) == ()
    path.unlink()
    assert accounts.read(tmp_path) == ()


def test_undefined_numbers_are_null(tmp_path):
    clock = {"shared": False}
    result = {
        "outcome": "complete",
        "agents": {"a": agent("x")},
        "flows": {"load": {"from": "a", "to": "b", "clock": clock}},
    }
    run_directory(tmp_path, json.dumps(result))
    (told,) = json.loads(
        json.dumps(plain(AccountsFile.of(accounts.read(tmp_path))), allow_nan=False)
    )["trials"]
    assert told["clocks"][0]["ahead_s"] is None
    assert told["machines"][0]["processors"][0]["user"] == 0.25
