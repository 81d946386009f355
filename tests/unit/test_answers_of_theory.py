"""Theories of networks: their trials, their rows, and how they stand beside simulations."""

import math
from collections.abc import Sequence
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter import plan
from ethermeter.analysis import agreement, bounds, pacing
from ethermeter.analysis.bounds_file import BoundsFile
from ethermeter.cli.output import show
from ethermeter.faults import InputError
from ethermeter.metrics import Caution, Metric
from ethermeter.present import bounds as present
from ethermeter.results import estimates
from ethermeter.results.query import Results
from ethermeter.results.values import values_of_each
from ethermeter.scenario import Class, Kind, RegularArrivals
from ethermeter.store import RunDirectory
from ethermeter.store.columns import FACTS
from ethermeter.store.trial_result import Fact
from ethermeter.trial import Trial, planned, read_trial
from measured_trials import result_of
from msgspec.structs import replace
from theory_runs import BOUNDED, MEAN, TWO_FLOWS, experiment, recorded, result_of_theory


def test_each_theory_makes_one_trial_a_point_that_is_read_back(tmp_path):
    made = plan.expand([experiment(tmp_path, "theory", "simulation")])
    assert [trial.engine for trial in made.trials] == [
        "theory/network-calculus",
        "theory/queueing",
        *["simulation"] * 3,
    ]
    for trial in made.trials:
        assert trial.theory is None
        assert read_trial(trial.line) == trial
        assert '"theory":' not in trial.line
    only = plan.expand([experiment(tmp_path, "theory", models=("queueing",))])
    assert [trial.engine for trial in only.trials] == ["theory/queueing"]


def test_models_without_the_engine_are_refused_with_the_cure(tmp_path):
    with pytest.raises(InputError) as caught:
        plan.expand([experiment(tmp_path, "live", models=("queueing",))])
    (fault,) = caught.value.faults
    assert (fault.key, fault.value) == ("theory.models", "queueing")
    assert '"theory" among run.engines' in fault.allowed


def test_what_a_theory_does_not_know_of_a_port_is_null_and_its_words_have_a_table(tmp_path):
    source = experiment(tmp_path, "theory")
    bounded, mean = plan.expand([source]).trials
    facts = (
        Fact("flow", 1, reason="arrivals are Poisson: no burst is the largest"),
        Fact("flow", 0, method="TFA"),
    )
    rows = {
        BOUNDED: result_of_theory(bounded, {}, queues={(1, "queue_most"): 3}, facts=facts),
        MEAN: result_of_theory(mean, {}),
    }
    run = recorded(source, tmp_path / "run", rows)
    table = run.ports()
    assert table is not None
    assert table["queue_most"].to_pylist() == [None, 3, None, None, None, None] + [None] * 6
    assert table["frames"].null_count == len(table)
    assert list(run.facts()) == [("x/00000", fact) for fact in facts]
    assert run.port_classes() is None


def test_a_run_without_theories_has_no_table_of_their_words(tmp_path):
    assert em.load(TWO_FLOWS).run(out=tmp_path / "run", jobs=1).directory.table(FACTS) is None


US = 1e-6
REASON = "arrivals are Poisson: no burst is the largest"


def results(run: RunDirectory) -> Results:
    return Results.of_run(run.path)


def beside(
    folder: Path, *, bound_s: float, mean_s: Sequence[float] = (20 * US, 130 * US), queue: int = 4
) -> RunDirectory:
    """Run the simulations beside theories of these values; only the first flow has a bound."""
    source = experiment(folder, "theory", "simulation")
    bounded, mean, *_ = plan.expand([source]).trials
    # Link 2 joins the sink to the switch, so that port 5 is the switch's towards the sink.
    queues = {(5, "queue_most"): queue}
    facts = [Fact("flow", 0, method="TFA"), Fact("flow", 1, reason=REASON)]
    rows = {
        BOUNDED: result_of_theory(
            bounded,
            {Metric.ONE_WAY_DELAY_MAX: (bound_s, math.nan)},
            cautions=[Caution.UPPER_BOUND],
            queues=queues,
            facts=facts,
        ),
        MEAN: result_of_theory(mean, {Metric.ONE_WAY_DELAY: mean_s}),
    }
    return recorded(source, folder / f"run-{bound_s}-{queue}-{mean_s[0]}", rows)


def largest_s(run: RunDirectory, flow: int) -> float:
    """Largest simulated delay of a flow over all replications, from the table of observations."""
    trials = [trial for trial in run.trials() if trial.engine == "simulation"]
    found = values_of_each(run, trials, [Metric.ONE_WAY_DELAY_MAX])
    return max(float(of[Metric.ONE_WAY_DELAY_MAX][flow]) for of in found)


def test_a_largest_delay_may_reach_its_bound_and_not_a_picosecond_more(tmp_path):
    most_s = largest_s(beside(tmp_path, bound_s=1.0), 0)
    reached, passed = (beside(tmp_path, bound_s=most_s - less) for less in (0.0, 1e-12))
    control, copy = bounds.read(results(reached)).times
    assert (control.flow, control.bound_s, control.method) == ("control", most_s, "TFA")
    assert control.observed[0].verdict == "holds"
    assert control.observed[0].largest_s == most_s
    assert (copy.flow, copy.method, copy.observed[0].verdict) == ("copy", REASON, "unknown")
    assert math.isnan(copy.bound_s)
    assert bounds.read(results(reached)).warnings == []
    (text,) = bounds.read(results(passed)).warnings
    assert text.startswith("x: flow control: the largest simulated one way delay, ")
    found = BoundsFile.of(bounds.read(results(passed)))
    # The delay of one flow and the queue of one port have a bound.
    assert (found.compared, found.exceeded, found.warnings) == (2, 1, [text])


def test_what_was_compared_with_a_bound_and_what_has_none_is_said(tmp_path, capsys):
    answers = bounds.read(results(beside(tmp_path, bound_s=1.0)))
    delays, queues = answers.coverage
    # Of two flows one has a bound; of the ports one, that of the switch towards the sink.
    assert (delays.compared, delays.exceeded) == (1, 0)
    assert (delays.bounded, delays.unbounded, delays.reasons) == (1, 1, ((REASON, 1),))
    assert queues.compared == 1
    show(present.bounds(answers))
    lines = " ".join(capsys.readouterr().out.split())
    assert "bounds: 1 delay of a flow and 1 queue of a port compared, none above" in lines
    assert f"no bound for 1 of 2 delays of flows: {REASON}" in lines
    assert BoundsFile.of(answers).unbounded == 1 + queues.unbounded


def test_a_queue_is_compared_with_its_bound_and_the_bound_with_the_room(tmp_path):
    run = beside(tmp_path, bound_s=1.0)
    ports = run.ports()
    assert ports is not None
    frame = ports.to_pandas()
    most = int(frame[(frame["port"] == 5) & ~frame["trial"].isin(["x/00000"])]["queue_most"].max())
    # A copy waits while another is sent.
    assert 1 < most < 20
    for queue, verdict, is_lossless in (
        (most, "holds", True),
        (most - 1, "exceeded", True),
        (21, "holds", False),
    ):
        of = beside(tmp_path, bound_s=2.0, queue=queue)
        queues = bounds.read(results(of)).queues
        port = next(each for each in queues if each.port == 5)
        assert (port.node, port.peer, port.room.frames) == ("s", "sink", 20)
        assert (port.bound.frames, port.simulated.frames) == (queue, most)
        assert (port.verdict, port.is_lossless) == (verdict, is_lossless)
    assert next(each for each in queues if each.port == 0).is_lossless is None


def test_means_of_flows_are_compared_with_their_simulation(tmp_path):
    run = beside(tmp_path, bound_s=1.0)
    times = bounds.read(results(run)).times
    simulated = [time.observed[0].mean for time in times]
    assert all(mean.half_width > 0 for mean in simulated)
    near = simulated[0].value + simulated[0].half_width / 2
    far = simulated[1].value + 50 * simulated[1].half_width
    other = beside(tmp_path, bound_s=1.0, mean_s=(near, far))
    of_flows = [each for each in agreement.read(results(other)) if "flow" in each.point]
    assert [(each.point["flow"], each.model, each.verdict) for each in of_flows] == [
        ("control", "queueing", "agrees"),
        ("copy", "queueing", "differs"),
    ]


def test_a_measured_time_may_be_late_by_the_relays_of_its_path_and_wrong_by_the_clocks():
    wires = [("a", "s", 3), ("s", "a", 7), ("s", "b", 4), ("b", "s", 1), ("c", "s", 90)]
    clock = {"shared": False, "offset_ns": 5.0, "delay_uncertainty_ns": 2500.0}
    result = result_of(
        {
            "wires": [
                {"dropped": {}, "from": one, "towards": other, "latest_ns": 1000 * us}
                for one, other, us in wires
            ],
            "flows": {"control": {"from": "a", "to": "b", "clock": clock}},
        }
    )
    lateness_s = pacing.relay_lateness_s(result)
    assert lateness_s["control"] == pytest.approx((7e-6, 8e-6))
    # The same clock adds nothing; another one its bound.
    assert bounds.allowances(result)["control"] == pytest.approx((9.5e-6, 15e-6))
    shared = replace(result.flows["control"].clock, shared=True, offset_ns=None)
    of_one = replace(result, flows={"control": replace(result.flows["control"], clock=shared)})
    assert bounds.allowances(of_one)["control"] == pytest.approx((7e-6, 15e-6))


def test_a_bound_has_no_interval_and_a_mean_by_theory_no_width(tmp_path):
    run = beside(tmp_path, bound_s=3e-4)
    points = {point.engine: point.estimates for point in estimates.compute(run.path)}
    # Without a bound of one flow there is none of all.
    assert math.isnan(points[BOUNDED][Metric.ONE_WAY_DELAY_MAX].value)
    assert points[MEAN][Metric.ONE_WAY_DELAY].half_width == 0
    source = experiment(tmp_path, "theory")
    bounded, mean = plan.expand([source]).trials
    values = {Metric.ONE_WAY_DELAY_MAX: (3e-4, 5e-4)}
    rows = {
        BOUNDED: result_of_theory(bounded, values, cautions=[Caution.UPPER_BOUND]),
        MEAN: result_of_theory(mean, {}),
    }
    run = recorded(source, tmp_path / "both", rows)
    points = {point.engine: point.estimates for point in estimates.compute(run.path)}
    found = points[BOUNDED][Metric.ONE_WAY_DELAY_MAX]
    assert (found.value, found.cautions) == (5e-4, ("upper-bound",))
    assert not found.has_interval


def with_classes(trial: Trial) -> Trial:
    """Return a trial whose switch serves the first flow before all others, with room for 5."""
    urgent = Class(priorities=(7,), queue_frames=5)
    others = Class(priorities=tuple(range(7)))
    nodes = [
        node
        if node.kind.switch is None
        else replace(node, kind=Kind(switch=replace(node.kind.switch, classes=(urgent, others))))
        for node in trial.scenario.nodes
    ]
    first, second = trial.scenario.flows
    regular = replace(second, arrivals=RegularArrivals(period_ps=500_000_000))
    flows = (replace(first, priority=7), regular)
    scenario = replace(trial.scenario, nodes=tuple(nodes), flows=flows)
    return planned(
        id=trial.id,
        series=trial.series,
        replication=trial.replication,
        seed=trial.seed,
        engine=trial.engine,
        point=trial.point,
        scenario=scenario,
    )


def test_each_traffic_class_of_a_port_has_its_queue_its_bound_and_its_room(tmp_path):
    source = experiment(tmp_path, "theory", "simulation", models=("network-calculus",))
    trials = tuple(with_classes(trial) for trial in plan.expand([source]).trials)
    run = recorded(source, tmp_path / "run", {}, trials=trials)
    table = run.port_classes()
    assert table is not None
    simulated = table.to_pandas()
    simulated = simulated[(simulated["trial"] != "x/00000") & (simulated["port"] == 5)]
    # Nothing is lost and nothing left: what came was sent, class by class.
    assert simulated["class"].tolist() == [0, 1] * 3
    assert simulated["arrived"].tolist() == simulated["frames"].tolist()
    assert set(simulated["octets"] / simulated["frames"]) == {68.0, 1518.0}
    urgent, others = (queue for queue in bounds.read(results(run)).queues if queue.port == 5)
    assert (urgent.traffic_class, urgent.room.frames) == (0, 5)
    assert (others.traffic_class, others.room.frames) == (1, 20)
    # By hand: one frame of the class each, as the next comes a period later.
    assert (urgent.bound, urgent.verdict) == ((1, 68), "holds")
    assert (others.bound, others.verdict) == ((1, 1518), "holds")
    control = bounds.read(results(run)).times[0]
    # The tagged frame over its link; then behind one of the other class that has just begun, and
    # its gap: 76, 1526 + 12 and 76 octets of 80 ns.
    assert control.bound_s == pytest.approx((76 + 1526 + 12 + 76) * 80e-9, abs=1e-12)
    assert control.observed[0].verdict == "holds"
