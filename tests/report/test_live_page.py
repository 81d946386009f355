"""What agents told in the report: a run measured on loopback, and one whose agents told of losses,
clocks and several machines.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ethermeter.store.integrity import read_provenance, write_provenance
from ethermeter.studies import pages
from test_page import Elements
from visiting import Visit

EXPERIMENT = """
title = "A transfer and two streams"
[network]
rate = "1 Gb/s"
[[network.hosts]]
name = "client"
count = 2
[[network.hosts]]
name = "server"
[[network.switches]]
name = "s"
[[network.links]]
ends = ["client", "s"]
[[network.links]]
ends = ["s", "server"]
[[flows]]
name = "copy"
from = "server"
to = "client1"
transfer.stream = {}
transfer.tcp = { window = "64 kB" }
[[flows]]
name = "load"
from = "client"
to = "server"
frames = "500 B"
arrivals = { regular = "2 ms" }
[vary]
"flows.load.arrivals.regular" = ["2 ms", "5 ms"]
[phases]
settle = "50 ms"
transmit = "500 ms"
measure = "last 300 ms"
drain = "50 ms"
[run]
engines = ["live"]
replications = 1
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run on loopback, and what the command printed of it."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "mixed.toml").write_text(EXPERIMENT)
    command = [
        sys.executable,
        "-m",
        "ethermeter",
        "measure",
        str(folder / "mixed.toml"),
        "--loopback",
        "--json",
        "--out",
        str(folder / "run"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
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


def section(run: Path, name: str) -> str:
    text = (run / "report.html").read_text(encoding="utf-8")
    return text.split(f'<section id="{name}">')[1].split("</section>")[0]


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


def test_the_page_is_well_formed_and_has_every_section(measured, troubled):
    for run in (measured[0], troubled):
        elements = Elements()
        elements.feed((run / "report.html").read_text(encoding="utf-8"))
        assert elements.open == []
        for name in ("tcp", "losses", "pacing", "hosts"):
            assert section(run, name)
    assert "Sender and receiver of every stream have one clock" in section(measured[0], "pacing")


def test_losses_stand_by_their_places(troubled):
    table = section(troubled, "losses").split("<tbody>")[1]
    (row, *_) = [row for row in table.split("<tr>") if "load client1" in row]
    cells = [cell.split("<")[0] for cell in row.split("<td>")[1:]]
    # Sent, missing, of sent, the six places, unexplained, excess.
    assert cells == ["100", "10", "10.0%", "4", "0", "0", "2", "0", "3", "1", "0"]
    # All flows of a point together: 11 missing, 5 in excess; by flow, the second has more excess
    # than it misses.
    assert "sender" in section(troubled, "losses")


def test_ports_that_dropped_stand_in_a_table_of_their_own(measured, troubled):
    table = (
        section(troubled, "losses").split('aria-label="Drops between hosts"')[1].split("<tbody>")[1]
    )
    (row, _) = table.split("<tr>")[1:]
    cells = [cell.split("<")[0] for cell in row.split("<td>")[1:]]
    assert cells == ["2", "queue 2", "10"]
    assert ">server</th>" in row
    assert "client1" not in table
    assert "a testbed’s switches" in section(troubled, "losses")
    assert "Drops of switches between the hosts are not known" in section(measured[0], "losses")


def test_clocks_that_were_compared_have_their_bounds(troubled):
    table = section(troubled, "pacing").split('aria-label="Clocks"')[1].split("<tbody>")[1]
    (row, *_) = [row for row in table.split("<tr>") if "load client1" in row]
    cells = [cell.split("<")[0] for cell in row.split("<td>")[1:]]
    assert cells == ["2,500", "1.5", "20", "1", "–", "1"]
    assert "load client2" not in table


def test_hosts_that_are_machines_of_their_own_have_a_row_each(troubled):
    rows = section(troubled, "hosts").split("<tbody>")[1].split("</tbody>")[0].count("<tr>")
    assert rows == 2 * 3


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
        visit.expect_tip(visit.page.locator("#tcp .plot").first, "Throughput", "Mb/s", "time (s)")
        fairness = visit.page.locator(".group:has(h3:text-is('Fairness')) .plot").first
        assert fairness.locator("svg").count() == 1
