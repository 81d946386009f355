"""Delays of flows that differ: shown by table of flows, never as a mean over all of them."""

from pathlib import Path

import ethermeter as em
import pytest
from comparing import compare
from ethermeter.analysis.flows import OF_MESSAGES, with_tables
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.metrics import Metric
from ethermeter.results import estimates
from markup import parse, table, text_of
from program import invoke


def network(**changes: object) -> ExperimentTables:
    """A short and a long flow over one uplink, half a period apart, so that neither waits.

    A frame of 64 octets and one of 1518 take 72 and 1526 octets of 80 ns on each of two links:
    11.52 and 244.16 us. Nine short ones for each long one have the mean 34.784 us, the delay of
    neither.
    """
    return em.network(
        title="Unlike flows",
        series="unlike",
        rate="100 Mb/s",
        hosts=["a", "b", "z"],
        switches=["s"],
        links=[(name, "s") for name in "abz"],
        flows=[
            em.flow("short", "a", "z", frames="64 B", arrivals={"regular": "1 ms", "phase": "0 s"}),
            em.flow(
                "long", "b", "z", frames="1518 B", arrivals={"regular": "9 ms", "phase": "500 us"}
            ),
        ],
        phases={"settle": "0 s", "transmit": "90 ms", "measure": "all", "drain": "1 ms"},
        **changes,
    )


MEAN_US = (9 * 11.52 + 244.16) / 10


@pytest.fixture
def run(tmp_path: Path) -> Path:
    file = network().save(tmp_path / "unlike.toml")
    done = invoke("run", file, "--out", tmp_path / "run", "--set", "run.replications=3")
    assert done.returncode == 0, done.output
    (tmp_path / "printed").write_text(done.stdout, encoding="utf-8")
    return tmp_path / "run"


def test_a_run_prints_the_delay_of_each_table_and_no_mean_of_all(run):
    printed = (run.parent / "printed").read_text(encoding="utf-8")
    (whole, by_table) = printed.split("by table of flows")
    assert "one_way_delay" not in whole
    assert "message_rate" in whole
    lines = {line.split()[0]: line for line in by_table.splitlines() if line.strip()}
    assert "11.52" in lines["short"]
    assert "244.2" in lines["long"]
    assert f"{MEAN_US:.2f}"[:4] not in printed


def test_the_page_has_no_mean_delay_of_all(run):
    page = parse(run / "report.html")
    (title, *_) = [text_of(cell) for cell in table(page, "Flows").iter("th")]
    assert title == "Flow"
    flows = text_of(table(page, "Flows"))
    assert "11.52" in flows
    assert "244.2" in flows
    head = [text_of(cell) for cell in table(page, "Estimates of unlike").iter("th")]
    assert any(text.startswith("Messages received") for text in head), head
    assert not any(text.startswith("One-way delay") for text in head)


def test_flows_of_one_table_have_one_mean(tmp_path):
    alike = em.network(
        rate="100 Mb/s",
        hosts=[em.host("a", count=2), "z"],
        switches=["s"],
        links=[("a", "s"), ("z", "s")],
        flows=em.flow("short", "a", "z", frames="64 B", arrivals={"regular": "1 ms"}),
        phases={"settle": "0 s", "transmit": "90 ms", "measure": "all", "drain": "1 ms"},
    )
    done = invoke("run", alike.save(tmp_path / "x.toml"), "--out", tmp_path / "run", "--no-report")
    assert done.returncode == 0, done.output
    assert "one_way_delay" in done.stdout
    assert "by table of flows" not in done.stdout


def test_a_comparison_is_of_tables_of_flows(run, tmp_path):
    slow = network(run={"replications": 3}).changed({"network.links.1.length": "20 km"})
    other = em.load(slow).run(out=tmp_path / "slow").path
    points = with_tables(run, estimates.read(run))
    assert [point.point.get("flow") for point in points] == [None, "short", "long"]
    assert not OF_MESSAGES & set(points[0].estimates)
    verdicts = {
        (row["point"].get("flow"), row["metric"]): row["verdict"] for row in compare(run, other)
    }
    assert verdicts["short", Metric.ONE_WAY_DELAY] == "same"
    assert verdicts["long", Metric.ONE_WAY_DELAY] == "higher"
    assert (None, Metric.ONE_WAY_DELAY) not in verdicts
