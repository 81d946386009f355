"""Ports of a network: how busy they and their media were, against what their counts say."""

import ethermeter as em
import numpy as np
import pyarrow as pa
import pytest
from ethermeter.analysis import ports
from ethermeter.store.columns import PORTS
from made_results import Made

HUB = em.network(
    title="Two pairs on a hub, and one on a wire",
    rate="10 Mb/s",
    hosts=[em.host("a", count=4), em.host("b", count=2)],
    hubs=["h"],
    links=[("a", "h"), ("b1", "b2")],
    flows=[
        em.flow(
            "shared",
            "a",
            ["a2", "a3", "a4", "a1"],
            pairs="in order",
            frames="512 B",
            arrivals={"poisson": "200 /s"},
        ),
        em.flow("alone", "b1", "b2", frames="512 B", arrivals="saturated"),
    ],
    phases={"transmit": "110 ms", "measure": "last 100 ms"},
    run={"replications": 3},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> em.Run:
    return em.load(HUB).run(out=tmp_path_factory.mktemp("hub") / "run", jobs=1)


def test_a_medium_is_as_busy_as_all_that_share_it_and_a_saturated_wire_wholly(run):
    (point,) = ports.estimate(run.trials(), run.directory)
    assert [(port.node, port.peer) for port in point.ports[:2]] == [("a1", "h"), ("h", "a1")]
    frame = run.directory.ports().to_pandas()
    # Preamble, frame and gap of 532 octets at 800 ns.
    for port in point.ports:
        of = frame[frame["port"] == port.number]
        assert port.share.value == pytest.approx(
            of["frames"].mean() * 532 * 8e-7 / 0.1, abs=532 * 8e-7 / 0.1
        )
    shared = [port for port in point.ports if "h" in (port.node, port.peer)]
    assert all(
        port.medium.value == pytest.approx(sum(other.share.value for other in shared), rel=1e-12)
        for port in shared
    )
    alone = [port for port in point.ports if "h" not in (port.node, port.peer)]
    assert [port.medium.value for port in alone] == [port.share.value for port in alone]
    assert point.busiest.node == "b1"
    # A saturated wire rests for no longer than the edges of the window.
    assert point.busiest.share.value == pytest.approx(1, abs=2 * 532 * 8e-7 / 0.1)


def test_intervals_are_over_replications_and_mosts_over_all(run):
    (point,) = ports.estimate(run.trials(), run.directory)
    busy = (
        run.directory.ports()
        .to_pandas()
        .pivot(index="trial", columns="port", values=["busy_ps", "frames"])
    )
    first = (busy["busy_ps"][0] + busy["frames"][0] * 12 * 800_000) / 1e11
    assert point.ports[0].share.value == pytest.approx(first.mean(), rel=1e-12)
    assert point.ports[0].share.error == pytest.approx(first.std() / np.sqrt(3), rel=1e-9)
    assert point.ports[0].share.degrees == 2


def test_trials_without_ports_are_left_out(run):
    assert ports.estimate(run.trials(), Made({})) == ()


def test_ports_that_a_measurement_did_not_count_are_left_out(run):
    table = run.directory.ports()
    is_counted = np.array(table["port"]) != 2
    hidden = {
        name: pa.array(column.to_pylist(), mask=~is_counted)
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name not in ("trial", "port")
    }
    some = pa.table({"trial": table["trial"], "port": table["port"], **hidden})
    trials = run.trials()
    ((every,), (fewer,)) = (ports.estimate(trials, Made({PORTS: each})) for each in (table, some))
    assert [port.number for port in fewer.ports] == [0, 1, *range(3, 10)]
    # The medium of the hub is then that of the others together.
    hidden_share = next(port.share.value for port in every.ports if port.number == 2)
    assert fewer.ports[0].medium.value == pytest.approx(
        every.ports[0].medium.value - hidden_share, rel=1e-12
    )
    none = pa.table(
        {
            name: column if name in ("trial", "port") else pa.nulls(len(table), column.type)
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
    assert ports.estimate(trials, Made({PORTS: none})) == ()
