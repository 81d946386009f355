"""What agents told in the report: a run measured on loopback, and one whose agents told of losses,
clocks and several machines.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import ethermeter as em
import pytest
from ethermeter.store.integrity import read_provenance, write_provenance
from ethermeter.studies import pages
from markup import by_id, parse, rows, table, text_of
from visiting import Visit

EXPERIMENT = em.network(
    rate="1 Gb/s",
    hosts=[em.host("client", count=2), "server"],
    switches=["s"],
    links=[("client", "s"), ("s", "server")],
    flows=[
        em.flow("copy", "server", "client1", transfer={"stream": {}, "tcp": {"window": "64 kB"}}),
        em.flow("load", "client", "server", frames="500 B", arrivals={"regular": "2 ms"}),
    ],
    vary={"flows.load.arrivals.regular": ["2 ms", "5 ms"]},
    phases={
        "settle": "50 ms",
        "transmit": "500 ms",
        "measure": "last 300 ms",
        "drain": "50 ms",
    },
    run={"engines": ["live"], "replications": 1},
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run on loopback, and what the command printed of it."""
    folder = tmp_path_factory.mktemp("live")
    EXPERIMENT.save(folder / "mixed.toml")
    command = [
        sys.executable,
        "-m",
        "ethermeter",
        "measure",
        str(folder / "mixed.toml"),
        "--on",
        "loopback",
        "--json",
        "--out",
        str(folder / "run"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "run", json.loads(done.stdout)


@pytest.fixture(scope="module")
def troubled(
    measured: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The same run, with hosts of their own, losses and clocks that were compared."""
    run = tmp_path_factory.mktemp("troubled") / "run"
    shutil.copytree(measured[0], run)
    for path in (run / "live").glob("*/*.json"):
        result = json.loads(path.read_text())
        for name, agent in result["agents"].items():
            agent["boot"] = f"of {name}"
        one, other = result["flows"]["load client1"], result["flows"]["load client2"]
        one["sent"], one["received"] = 100, 90
        between = [{"place": "switch", "at": "s", "towards": "server", "dropped": 2}]
        one["losses"] = {
            "missing": 10,
            "seen": [["sender-queue", 4], ["switch", 2], ["socket", 3]],
            "unexplained": 1,
            "excess": 0,
            "between": between,
        }
        result["switches"] = [
            {
                "switch": "s",
                "towards": towards,
                "is_before_host": True,
                "dropped": {"queue": dropped, "interface": 0},
            }
            for towards, dropped in (("server", 2), ("client1", 0))
        ]
        other["sent"], other["received"] = 100, 99
        other["losses"] = {
            "missing": 1,
            "seen": [["sender-queue", 6]],
            "unexplained": 0,
            "excess": 5,
        }
        one["clock"] = {
            "offset_ns": 2_500_000,
            "uncertainty_ns": 1500,
            "drift": 2e-5,
            "drift_uncertainty": 1e-6,
            "delay_uncertainty_ns": None,
            "contradictions": 1,
        }
        path.write_text(json.dumps(result))
    write_provenance(
        run, {key: value for key, value in read_provenance(run).items() if key != "sha256"}
    )
    pages.write_report(run)
    return run


def section(run: Path, name: str) -> Element:
    return by_id(parse(run / "report.html"), name)


def test_programs_are_told_what_the_page_shows(measured):
    _, said = measured
    for trial in said["live_accounts"]["trials"]:
        (machine,) = trial["machines"]
        assert set(machine["hosts"]) == {"client1", "client2", "server"}
        for processor in machine["processors"]:
            assert 0 <= sum(processor.values()) <= 1 + 1e-9  # of rounded shares
        (connection,) = trial["connections"]
        assert connection["data_rate_bps"] > 0
        assert (
            connection["round_trip_least_s"]
            <= connection["round_trip_s"]
            <= connection["round_trip_most_s"]
        )
        for loss in trial["losses"]:
            assert loss["missing"] == loss["sent"] - loss["received"]
        assert {of["flow"] for of in trial["pacing"]} == {"load client1", "load client2"}
        assert all(clock["is_shared"] for clock in trial["clocks"])
    assert {each["flows"] for each in said["flows"]["fairness"]} == {"load"}


def test_the_page_has_every_section(measured, troubled):
    for run in (measured[0], troubled):
        for name in ("tcp", "losses", "pacing", "hosts"):
            assert text_of(section(run, name))
    pacing = text_of(section(measured[0], "pacing"))
    assert "Sender and receiver of every stream have one clock" in pacing


def test_losses_stand_by_their_places(troubled):
    found = {tuple(row[1:]) for row in rows(table(section(troubled, "losses"), "Losses"))}
    # Sent, missing, of sent, the six places, unexplained, excess.
    assert found == {
        ("load client1 to server", "100", "10", "10.0%", *"400203", "1", "0"),
        ("load client2 to server", "100", "1", "1.0%", *"600000", "0", "5"),
    }


def test_ports_that_dropped_stand_in_a_table_of_their_own(measured, troubled):
    losses = section(troubled, "losses")
    found = rows(table(losses, "Drops between hosts"))
    # One port of two, at each of two points.
    assert [row[-4:] for row in found] == [["server", "2", "queue 2", "10"]] * 2
    assert "a testbed’s switches" in text_of(losses)
    unknown = "Drops of switches between the hosts are not known"
    assert unknown in text_of(section(measured[0], "losses"))


def test_clocks_that_were_compared_have_their_bounds(troubled):
    found = rows(table(section(troubled, "pacing"), "Clocks"))
    assert {tuple(row[1:]) for row in found} == {
        ("load client1 to server", "2500", "1.5", "20", "1", "–", "1")
    }


def test_hosts_that_are_machines_of_their_own_have_a_row_each(troubled):
    body = next(section(troubled, "hosts").iter("tbody"))
    assert len(body.findall("tr")) == 2 * 3


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_figure_is_drawn_within_its_box(browser, troubled, width, scheme):
    with Visit(browser, (troubled / "report.html").resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.unfold()
        visit.expect_drawn("tcp", 6)
        visit.expect_drawn("losses", 2)
        visit.expect_drawn("pacing", 1)
        # Two of three machines, four figures each.
        visit.expect_drawn("hosts", 8)
        for name in ("tcp", "losses", "pacing", "hosts"):
            visit.expect_within_boxes(name)
        assert "excess" not in visit.page.locator("#losses .plot").last.inner_text()
        assert "unknown" in visit.page.locator("#losses .plot").last.inner_text()


@pytest.mark.browser
def test_figures_say_what_is_pointed_at(browser, measured):
    with Visit(browser, (measured[0] / "report.html").resolve().as_uri(), 1280) as visit:
        visit.unfold()
        visit.expect_tip(visit.page.locator("#tcp .plot").first, "Throughput", "Mb/s", "time (s)")
        fairness = visit.page.locator(".group:has(h3:text-is('Fairness')) .plot").first
        assert fairness.locator("svg").count() == 1
