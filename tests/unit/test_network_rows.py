"""Rows of networks: against hand calculations, and the same bytes however they came about."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import ethermeter as em
import numpy as np
import pytest
from ethermeter.execution import Execution, execute
from ethermeter.framing import frame_octets
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.scenario import (
    ConstantTimes,
    ExponentialTimes,
    FixedLengths,
    FramingTable,
    Response,
    SaturatedArrivals,
    Scenario,
    Udp,
)
from ethermeter.theory.load import loads_of
from msgspec.structs import replace
from run_values import cautions, values
from scenarios import scenario_of
from shared_experiments import SEGMENT

FLOW_METRICS = metrics_of(EntityKind.FLOW)
PING = em.network(
    title="Two PCs",
    rate="1 Gb/s",
    hosts=[em.host("a", model="hughes-jones-saka-pc"), em.host("b", model="hughes-jones-saka-pc")],
    links=[("a", "b")],
    flows=em.flow(
        "ping", "a", "b", frames="82 B", arrivals="saturated", response={"frames": "82 B"}
    ),
    phases={"transmit": "20 ms", "measure": "all"},
)

UDP = PING.changed(
    {
        "network.hosts": [em.host("a"), em.host("b")],
        "flows.0": em.flow("ping", "a", "b", data="5000 B", arrivals={"regular": "100 us"}),
    }
)
"""Datagrams between ideal hosts, without an answer."""
SATURATED = em.network(
    title="Several into one",
    rate="100 Mb/s",
    hosts=[em.host("sender", count=3), "sink"],
    switches=[em.switch("s", queue=20)],
    links=[("sender", "s"), ("sink", "s")],
    flows=em.flow("load", "sender", "sink", frames="64 B", arrivals={"poisson": "50000 /s"}),
    vary={"network.hosts.sender.count": [1, 3]},
    phases={"transmit": "40 ms", "measure": "last 30 ms", "drain": "10 ms"},
    run={"replications": 3},
)


@pytest.fixture(scope="module")
def saturated(tmp_path_factory: pytest.TempPathFactory) -> em.Run:
    return ran(tmp_path_factory.mktemp("saturated"), SATURATED)


def ran(folder: Path, experiment: Mapping[str, object]) -> em.Run:
    return em.load(experiment).run(out=folder / "run", jobs=1)


@pytest.mark.parametrize("user", [64, 512, 1500])
def test_two_pcs_give_equation_2_1_of_hughes_jones_and_saka(tmp_path, user):
    # T(b) = 26.32 + 0.0235 b us, b octets of user data in a frame of b + 18; the simulator's times
    # are exact, means are rounded once.
    frames = {"flows.0.frames": f"{user + 18} B", "flows.0.response.frames": f"{user + 18} B"}
    run = ran(tmp_path, PING.changed(frames))
    one_way_s = (26.32 + 0.0235 * user) * 1e-6
    for flow in (-1, 0):
        found = values(run, flow=flow)
        assert found["one_way_delay"] == pytest.approx(one_way_s, rel=1e-12)
        assert found["round_trip"] == pytest.approx(2 * one_way_s, rel=1e-12)
        assert found["inter_arrival"] == pytest.approx(2 * one_way_s, rel=1e-12)
        # As many whole round trips as fit, give or take the one under way.
        assert found["messages"] == pytest.approx(0.02 / (2 * one_way_s), abs=1)
        assert found["message_rate"] == pytest.approx(found["messages"] / 0.02, rel=1e-12)
        assert found["goodput"] == pytest.approx(8 * (user + 18) * found["message_rate"], rel=1e-12)
        assert found["data_rate"] == pytest.approx(8 * user * found["message_rate"], rel=1e-12)
        assert found["loss"] == 0
        assert (
            found["timed_out"] == found["dropped"] == found["reordered"] == found["duplicates"] == 0
        )


def test_a_datagram_in_fragments_counts_once_and_its_frames_and_data_as_they_are(tmp_path):
    found = values(ran(tmp_path, UDP))
    assert frame_octets(FramingTable(udp=Udp(mtu_octets=1500)), 5000) == [1518, 1518, 1518, 606]
    assert found["frame_rate"] == 4 * found["message_rate"]
    assert found["goodput"] == pytest.approx(
        8 * (3 * 1518 + 606) * found["message_rate"], rel=1e-12
    )
    assert found["data_rate"] == pytest.approx(8 * 5000 * found["message_rate"], rel=1e-12)
    # 3 x 1518 + 606 octets, four preambles and three gaps at 8 ns each.
    assert found["one_way_delay"] == pytest.approx(
        (3 * 1518 + 606 + 4 * 8 + 3 * 12) * 8e-9, rel=1e-12
    )


def test_the_data_of_a_padded_datagram_is_its_data(tmp_path):
    found = values(ran(tmp_path, UDP.changed({"flows.0.data": "1 B"})))
    assert found["goodput"] == pytest.approx(8 * 64 * found["message_rate"], rel=1e-12)
    assert found["data_rate"] == pytest.approx(8 * found["message_rate"], rel=1e-12)


def test_what_a_full_port_loses_is_what_did_not_come(saturated):
    alone, together = values(saturated, trial=0), values(saturated, trial=3)
    assert alone["loss"] == 0
    # Three times 50000 frames of 84 octets a second are 1.008 of 100 Mb/s each third; the wire
    # takes 148809.5 in all.
    line_rate = 1e8 / (84 * 8)
    offered = together["offered_rate"]
    assert offered == pytest.approx(150_000, abs=4 * np.sqrt(150_000 / 0.03))
    assert together["message_rate"] <= line_rate * (1 + 1 / (line_rate * 0.03))
    assert together["lost_queue"] > 0
    assert together["loss"] >= 1 - (line_rate * 0.03 + 20) / (offered * 0.03)
    each = [values(saturated, trial=3, flow=flow) for flow in range(3)]
    assert sum(found["messages"] for found in each) == together["messages"]
    lost = sum(found["loss"] * found["offered_rate"] for found in each)
    assert together["loss"] == pytest.approx(lost / offered, rel=1e-12)


def test_every_flow_and_all_flows_have_every_metric_in_the_order_of_the_list(saturated):
    together, each = saturated.frame(by="trial"), saturated.frame(by="entity")
    for trial in saturated.trials():
        rows = together[together["trial"] == trial.id]
        assert list(rows["metric"].astype(str)) == list(FLOW_METRICS)
        rows, names = each[each["trial"] == trial.id], [flow.name for flow in trial.scenario.flows]
        assert list(rows["metric"].astype(str)) == [m.value for m in FLOW_METRICS for _ in names]
        assert list(rows["entity"]) == names * len(FLOW_METRICS)
    assert set(FLOW_METRICS) == {m for m in Metric if m.kind is EntityKind.FLOW} | {
        Metric.GOODPUT,
        Metric.LOSS,
        Metric.DROPPED,
    }


def test_ports_balance_with_what_came(saturated):
    ports = saturated.directory.ports()
    assert ports is not None
    frame = ports.to_pandas()
    last = frame[frame["trial"] == saturated.trials()[3].id]
    links = saturated.trials()[3].scenario.links
    assert list(last["port"]) == list(range(2 * len(links)))
    (bottleneck,) = [2 * at + 1 for at, link in enumerate(links) if link.ends[0].node == "sink"]
    out = last[last["port"] == bottleneck].iloc[0]
    # Frames that left by the window's end came to the sink a propagation time of 0 later.
    assert out["frames"] == values(saturated, trial=3)["messages"]
    assert out["octets"] == 64 * out["frames"]
    assert out["busy_ps"] == pytest.approx(out["frames"] * 72 * 80_000, abs=72 * 80_000)
    assert out["queue_most"] == 20
    assert out["dropped"] > 0


def test_histograms_are_of_each_flow(saturated):
    trial = saturated.trials()[3].id
    table = saturated.directory.histograms().to_pandas()
    for flow in range(3):
        of = table[
            (table["trial"] == trial)
            & (table["entity"] == flow)
            & (table["time"] == "one_way_delay")
        ]
        assert of["count"].sum() == values(saturated, trial=3, flow=flow)["messages"]


def test_threads_and_resumption_change_no_byte(tmp_path):
    clocks = {"network.clocks": "synchronised", "network.hosts.0.clock.drift_spread": "20 ppm"}
    experiment = SATURATED.changed(clocks)
    loaded = em.load(experiment)
    plan = loaded.plan()
    assert plan.to_jsonl() == em.load(experiment).plan().to_jsonl()

    def digest(folder: Path) -> dict[str, str]:
        names = (
            "flows.parquet",
            "histograms.parquet",
            "ports.parquet",
            "flow-batches.parquet",
            "estimates.json",
        )
        return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}

    whole = digest(loaded.run(out=tmp_path / "one", jobs=1).path)
    assert digest(loaded.run(out=tmp_path / "two", jobs=3).path) == whole

    class StopError(Exception):
        pass

    def follow(progress: object) -> None:
        if getattr(progress, "done", 0) >= 3:
            raise StopError

    with pytest.raises(StopError):
        execute(
            plan,
            loaded.experiments,
            directory=tmp_path / "three",
            options=Execution(jobs=1),
            follow=follow,
        )
    assert not (tmp_path / "three" / "flows.parquet").exists()
    assert digest(loaded.run(out=tmp_path / "three", jobs=2).path) == whole


def test_segments_and_networks_can_be_run_as_one_plan(tmp_path):
    short = {"transmit": "20 ms", "measure": "all"}
    SEGMENT.changed(phases=short).save(tmp_path / "s.toml")
    PING.save(tmp_path / "n.toml")
    run = em.load(tmp_path / "s.toml", tmp_path / "n.toml").run(out=tmp_path / "run", jobs=1)
    table = run.directory.histograms().to_pandas()
    assert set(table[table["trial"] == "s/00000"]["time"]) == {
        "transmission_delay",
        "access_delay",
    }
    assert set(table[table["trial"] == "n/00000"]["entity"]) == {0}
    points = {point.series: set(point.estimates) for point in run.estimated}
    assert "utilisation" in points["s"]
    assert points["n"] == {m.value for m in FLOW_METRICS}
    assert run.directory.provenance()["implementations"] == ["fast"]


def test_a_flow_is_overloaded_only_where_it_may_wait_without_limit():
    def scenario(queue: int | None, mean_ps: float) -> Scenario:
        nodes = [{"name": "a", "kind": {"host": {}}}, {"name": "b", "kind": {"host": {}}}]
        nodes.append(
            {
                "name": "s",
                "kind": {
                    "switch": {"learning": "known", **({"queue_frames": queue} if queue else {})}
                },
            }
        )
        links = [
            {"ends": [{"node": "a"}, {"node": "s"}], "ps_per_octet": 8000},
            {"ends": [{"node": "b"}, {"node": "s"}], "ps_per_octet": 80000},
        ]
        flow = {
            "name": "f",
            "from": "a",
            "to": ["b"],
            "frames": {"kind": "fixed", "bits": 512},
            "arrivals": {"kind": "poisson", "mean_ps": mean_ps},
        }
        return scenario_of(nodes=nodes, links=links, flows=[flow])

    def overloaded(of: Scenario) -> list[bool]:
        return [any(each.is_endless for each in each_of) for each_of in loads_of(of).overloads]

    def with_source(**changes: object) -> Scenario:
        (flow,) = full.flows
        return replace(full, flows=(replace(flow, **changes),))

    # A frame of 64 octets takes 84 octets of the slower link: 6.72 us.
    assert overloaded(scenario(None, 6.71e6)) == [True]
    assert overloaded(scenario(None, 6.73e6)) == [False]
    assert overloaded(scenario(50, 6.71e6)) == [False]
    # A saturated source fills its own, faster link and so the slower one; a thinking or an answered
    # one need not.
    full = scenario(None, 1.0)
    full = with_source(arrivals=SaturatedArrivals())
    assert overloaded(full) == [True]
    full = with_source(service=ExponentialTimes(offset_ps=0, mean_ps=6.1e6))
    assert overloaded(full) == [False]
    full = with_source(service=ExponentialTimes(offset_ps=0, mean_ps=6.0e6))
    assert overloaded(full) == [True]
    full = with_source(response=Response(frames=FixedLengths(bits=512), think=ConstantTimes(ps=0)))
    assert overloaded(full) == [False]


def test_cautions_say_why_a_value_should_be_looked_at(tmp_path):
    def of(changes: Mapping[str, object], name: str) -> em.Run:
        frames = {"flows.0.data": None, "flows.0.frames": "82 B"}
        return ran(tmp_path / name, UDP.changed({**frames, **changes}))

    sound = of({}, "sound")
    assert cautions(sound, "one_way_delay") == set()
    # There is no answer, so no round trip.
    assert cautions(sound, "round_trip") == {"no-samples"}
    few = of({"flows.0.arrivals": {"regular": "1 ms"}}, "few")
    assert cautions(few, "one_way_delay") == {"few-samples"}
    assert cautions(few, "one_way_delay_p99", flow=0) == {"few-samples"}
    assert cautions(few, "offered_rate") == set()
    short = {"flows.0.frames": "40 B", "flows.0.arrivals": "saturated"}
    assert cautions(of(short, "short"), "goodput") == {"illegal-frame-length"}
    over = of({"flows.0.arrivals": {"poisson_load": 1.5}}, "over")
    assert cautions(over, "one_way_delay") == {"unbounded-queue"}
    # Nothing was lost: what did not come waits.
    assert values(over)["loss"] == 0
    cut = {"phases.drain": "0 s", "vary": {"network.hosts.sender.count": [3]}}
    full = ran(tmp_path / "full", SATURATED.changed(cut))
    assert cautions(full, "loss", flow=0) == {"under-way"}
    assert cautions(full, "loss") == {"under-way"}


def test_a_queue_that_is_not_full_yet_is_cautioned_and_one_that_is_is_not(tmp_path):
    # 1000 octets take 0.816 ms of the slow link, and come each 0.8 ms: 2% too many, 24.5 a second.
    slow = em.network(
        rate="100 Mb/s",
        hosts=["a", "b"],
        switches=[em.switch("s", queue=10)],
        links=[("a", "s"), em.link("b", "s", rate="10 Mb/s")],
        flows=em.flow("f", "a", "b", frames="1000 B", arrivals={"regular": "0.8 ms"}),
        phases={"transmit": "3 s", "measure": "last 2 s", "drain": "1 s"},
    )

    def delay_cautions(queue: object) -> set[str]:
        changed = slow.changed({"network.switches.0.queue": queue})
        return cautions(ran(tmp_path / str(queue), changed), "one_way_delay")

    # Ten frames are too many after 0.41 s, before the window; 100 after 4.1 s.
    assert delay_cautions(10) == set()
    assert delay_cautions(100) == {"growing-queue"}
    assert delay_cautions("unlimited") == {"unbounded-queue"}


def test_slow_stages_are_overloaded_and_rooms_of_classes_are_rooms(tmp_path):
    backplane = {"name": "backplane", "per_byte": "110 ns"}
    slow = em.network(
        rate="100 Mb/s",
        hosts=["a", "b"],
        switches=[em.switch("device", queue=50, fabric={"shared": backplane})],
        links=[("a", "device"), ("b", "device")],
        flows=em.flow("f", "a", "b", frames="512 B", arrivals="saturated"),
        phases={"transmit": "0.1 s", "measure": "all", "drain": "0.2 s"},
    )
    assert cautions(ran(tmp_path / "slow", slow), "one_way_delay") == {"unbounded-queue"}
    # The medium network with credit-based shapers of INET: more is offered than a port carries,
    # and every class has a room of 4 frames.
    shapers = [
        {"priorities": [6], "idle_slope": "21.952 Mb/s", "queue": 4},
        {"priorities": [5], "idle_slope": "10.976 Mb/s", "queue": 4},
        {"priorities": [0, 1, 2, 3, 4, 7], "queue": 4},
    ]
    talkers = {
        "best": ("1514 B", 0, "125 us"),
        "medium": ("318 B", 5, "250 us"),
        "high": ("318 B", 6, "125 us"),
        "critical": ("1518 B", 7, "300 us"),
    }
    inet = em.network(
        rate="100 Mb/s",
        hosts=[*talkers, "sink"],
        switches=[em.switch("sw", model="bridge", classes=shapers)],
        models={"bridge": {"ingress": {"name": "bridging", "delay": "8 us"}}},
        links=[em.link(name, "sw", delay="50 ns") for name in (*talkers, "sink")],
        flows=[
            em.flow(f"f-{name}", name, "sink", frames=frames, priority=priority,
                    arrivals={"regular": every})
            for name, (frames, priority, every) in talkers.items()
        ],
        phases={"transmit": "0.1 s", "measure": "all", "drain": "10 ms"},
    )  # fmt: skip
    run = ran(tmp_path / "inet", inet)
    assert cautions(run, "one_way_delay") == set()
    assert values(run)["loss"] > 0.1


def test_a_backlog_that_grows_where_no_capacity_is_known_is_cautioned(tmp_path):
    # Contention on a medium with a round trip of 40 us takes more than a load of 0.98 leaves.
    hub = em.network(
        rate="10 Mb/s",
        hosts=[em.host("a", count=10), "b"],
        hubs=["hub"],
        links=[
            em.link("a", "hub", half_duplex=True, delay="10 us"),
            em.link("b", "hub", half_duplex=True, delay="10 us"),
        ],
        flows=em.flow("f", "a", "b", frames="64 B", arrivals={"poisson_load": 0.098}),
        phases={"transmit": "2 s", "measure": "last 1 s", "drain": "1 s"},
    )
    assert cautions(ran(tmp_path / "full", hub), "one_way_delay") == {"growing-queue"}
    light = hub.changed({"flows.0.arrivals.poisson_load": 0.03})
    assert cautions(ran(tmp_path / "light", light), "one_way_delay") == set()


def test_a_measured_plan_is_not_simulated(tmp_path):
    with pytest.raises(em.InputError, match=r'run\.engines = "live"'):
        ran(tmp_path, PING.changed({"run.engines": ["live"]}))
    assert not (tmp_path / "run").exists()
