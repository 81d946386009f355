"""How fairly flows share, and what a run says of its flows in a file, by hand and of a simulated
network.
"""

from dataclasses import replace
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter.analysis.answers import answers
from ethermeter.analysis.flows import sharing
from ethermeter.metrics import Metric
from ethermeter.metrics.statistics import jain_index
from ethermeter.trial import Trial
from made_results import Made, Value, made
from scenarios import scenario_of

NETWORK = em.network(
    title="Senders into one",
    rate="10 Mb/s",
    hosts=[em.host("sender", count=3), "sink"],
    switches=[em.switch("s", queue=100)],
    links=[("sender", "s"), ("s", "sink")],
    flows=em.flow("load", "sender", "sink", frames="512 B", arrivals={"poisson_load": 0.1}),
    vary={"flows.load.frames": ["64 B", "512 B", "1024 B", "1518 B"]},
    phases={"transmit": "200 ms", "measure": "last 180 ms", "drain": "20 ms"},
    run={"replications": 3},
)


TRANSFER = {"transfer": {"job": {"stream": {}}, "tcp": {"window_octets": 65_536}}}
RESPONSE = {
    "response": {"frames": {"kind": "fixed", "bits": 512}, "think": {"kind": "constant", "ps": 0}}
}


def trial(number: int, *names: str, transfer: bool = False, response: bool = False) -> Trial:
    flow: dict[str, Any] = TRANSFER if transfer else RESPONSE if response else {}
    flows = [{"name": name, "from": "a", "to": ["b"], **flow} for name in names]
    scenario = scenario_of(flows=flows)
    return Trial(f"t/{number}", "t", number, 1, "live", {}, scenario, "")


def table(rates: list[list[float]], metric: Metric = Metric.DATA_RATE) -> Made:
    return made(rows(rates, metric))


def rows(rates: list[list[float]], metric: Metric) -> list[Value]:
    return [
        (f"t/{at}", flow, metric, rate)
        for at, of in enumerate(rates)
        for flow, rate in enumerate(of)
    ]


def test_shares_are_of_the_rates_of_one_table_and_the_index_is_jains():
    trials = [trial(at, "load a", "load b", "greeting") for at in range(3)]
    (found,) = sharing(trials, table([[3.0, 1.0, 99.0], [2.0, 2.0, 99.0], [4.0, 0.0, 99.0]]))
    assert found.flows == "load"
    assert {name: share.value for name, share in found.shares.items()} == pytest.approx(
        {"load a": 0.75, "load b": 0.25}
    )
    # (3 + 1)² / 2 (9 + 1) = 0.8, 1, and 1/2.
    assert found.jain_index.value == pytest.approx((0.8 + 1 + 0.5) / 3)
    assert found.jain_index.has_interval


def test_flows_with_a_table_each_share_if_they_are_of_one_kind():
    rates = table([[3.0, 1.0]])
    assert sharing([trial(0, "there", "back", transfer=True)], rates)[0].flows == ""
    assert sharing([trial(0, "there", "back")], rates)[0].flows == ""
    assert sharing([trial(0, "there", "back", response=True)], rates) == ()
    assert sharing([trial(0, "alone")], table([[3.0]])) == ()
    flows = [
        {"name": "there", "from": "a", "to": ["b"], **TRANSFER},
        {"name": "back", "from": "a", "to": ["b"]},
    ]
    mixed = replace(trial(0, "there", "back"), scenario=scenario_of(flows=flows))
    assert sharing([mixed], rates) == ()


def test_messages_stand_for_data_whose_lengths_are_not_told_and_nothing_for_nothing():
    nan = float("nan")
    both = made([*rows([[nan, 1.0]], Metric.DATA_RATE), *rows([[1.0, 1.0]], Metric.MESSAGE_RATE)])
    (found,) = sharing([trial(0, "load a", "load b")], both)
    assert found.metric is Metric.MESSAGE_RATE
    assert found.jain_index.value == 1
    # With fewer than three replications nobody knows how sure that is.
    assert not found.jain_index.has_interval
    assert sharing([trial(0, "load a", "load b")], table([[0.0, 0.0]])) == ()


def test_a_run_of_a_network_has_lines_and_fairness_for_programs(tmp_path):
    run = em.load(NETWORK).run(out=tmp_path / "run", jobs=1)
    told = answers(run.directory)["flows"]
    one_way = [line for line in told["lines"] if line["metric"] == "one_way_delay"]
    assert {line["flow"] for line in one_way} == {"load sender1", "load sender2", "load sender3"}
    for line in one_way:
        assert line["octets"] == [64, 512, 1024, 1518]
        # Each length lies as far from the line as is told, and least squares leave a mean of
        # nothing.
        fitted = line["intercept_s"]["value"] + line["slope_s_per_octet"]["value"] * np.array(
            line["octets"]
        )
        assert np.array(line["times_s"]) - fitted == pytest.approx(line["residuals_s"], abs=1e-15)
        assert sum(line["residuals_s"]) == pytest.approx(0, abs=1e-12)
        # Two wires of 0.8 µs an octet, and queues besides.
        assert line["slope_s_per_octet"]["value"] > 1.6e-6
    assert len(told["fairness"]) == 4
    rows = run.frame("data_rate", by="entity")
    for each in told["fairness"]:
        length = int(each["point"]["flows.load.frames"].removesuffix(" B"))
        at = rows[rows["flows.load.frames"] == length]
        by_replication = [
            of.sort_values("entity")["value"].to_numpy() for _, of in at.groupby("replication")
        ]
        assert each["jain_index"]["value"] == pytest.approx(
            float(np.mean([jain_index(of) for of in by_replication]))
        )
        assert sum(share["value"] for share in each["shares"].values()) == pytest.approx(1)
