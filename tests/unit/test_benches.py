import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from documents import blocks, page
from ethermeter._core import simulate_trial
from ethermeter.counts import LOSSES
from ethermeter.experiment import load

from benches import bounds, help, means, pages, peers, sweep, switched, theory, threads
from benches.__main__ import main
from benches.children import ChildError, run_child
from benches.live import rows, tables
from benches.scenario import (
    LENGTHS,
    LONG,
    LONG_NET,
    NETS,
    PEERS_NET,
    PS_PER_US,
    SHORT,
    Length,
    trial_1988,
    trial_for_peers,
)
from benches.speed import Effort, measure_reference, target, time_trial
from benches.study import Case, measure_study
from benches.switched import doubt, offered_frames, time_of_frames, trial_switched
from benches.tables import print_results

ROOT = Path(__file__).parents[2]
INSTANT = Effort(
    runs=1,
    simulated_s={SHORT: 1, LONG: 1},
    reference_s=1,
    peers_cpu_s=0.1,
    switched_frames=20_000,
    judged=False,
)


def ignore(step: str) -> None:
    """Follow nothing."""


@pytest.mark.parametrize("net", [*NETS, PEERS_NET], ids=lambda net: net.name)
def test_the_ends_of_a_net_are_half_its_round_trip_apart(net):
    delays_ps = net.delay_ps
    assert max(max(row) for row in delays_ps) == pytest.approx(
        net.round_trip_us * PS_PER_US / 2, abs=net.places
    )
    assert delays_ps == [list(column) for column in zip(*delays_ps, strict=True)]


@pytest.mark.parametrize("length", LENGTHS, ids=lambda length: length.name)
@pytest.mark.parametrize("stations", [1, 24])
@pytest.mark.parametrize("net", NETS, ids=lambda net: net.name)
def test_the_core_accepts_and_delivers_what_is_timed(net, stations, length):
    outcome = simulate_trial(trial_1988(net, stations=stations, length=length, simulated_s=1))
    assert len(outcome.stations.frames) == stations
    assert outcome.stations.bits.sum() == outcome.stations.frames.sum() * (length.octets + 4) * 8
    assert outcome.stations.frames.sum() > 0


def test_a_station_alone_in_the_scenario_for_peers_sends_frames_and_gaps_only():
    # 68 octets at 10 Mb/s are 54.4 us, the gap is 9.6 us: 15 625 frames in a second.
    outcome = simulate_trial(trial_for_peers(stations=1, length=SHORT, simulated_s=1))
    assert abs(int(outcome.stations.frames.sum()) - 15625) <= 1


def test_a_scenario_without_stations_is_refused():
    with pytest.raises(ValueError, match="stations must be at least 1, got 0"):
        trial_1988(LONG_NET, stations=0, length=SHORT, simulated_s=1)


def test_targets_are_set_on_the_long_net_only():
    assert target(LONG_NET, stations=24, length=SHORT) == 15e6
    assert target(LONG_NET, stations=24, length=LONG) == 5e6
    assert target(LONG_NET, stations=2, length=LONG) == 30e6
    assert target(LONG_NET, stations=5, length=SHORT) is None
    assert target(NETS[1], stations=24, length=SHORT) is None


def test_both_implementations_deliver_the_same_frames_before_they_are_compared():
    row = measure_reference(INSTANT, follow=ignore)
    assert row["frames"] > 0
    assert row["ratio"] == pytest.approx(
        row["fast_frames_per_cpu_s"] / row["reference_frames_per_cpu_s"]
    )


def test_a_child_that_fails_is_named_with_its_last_words():
    with pytest.raises(ChildError, match="ended with 3: out of luck"):
        run_child(
            [
                sys.executable,
                "-c",
                "import sys; print('out of luck', file=sys.stderr); sys.exit(3)",
            ],
            limit_s=60,
        )
    with pytest.raises(ChildError, match="no-such-program: No such file"):
        run_child(["no-such-program"], limit_s=60)
    with pytest.raises(ChildError, match="not finished after"):
        run_child([sys.executable, "-c", "import time; time.sleep(60)"], limit_s=0.1)


def test_a_childs_cpu_time_is_its_own():
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    busy = run_child([sys.executable, "-c", spin], limit_s=60)
    assert busy.cpu_s >= 0.3
    idle = run_child([sys.executable, "-c", "print('done')"], limit_s=60)
    assert idle.out == "done\n"
    assert idle.cpu_s < busy.cpu_s


def test_a_study_that_fails_says_so_and_has_no_times():
    (row,) = measure_study(
        [Case("bad", ("--set", "run.replications=0"), "trials_wall_s", 1.0)], follow=ignore
    )
    assert row["status"].startswith("failed: ")
    assert row["trials_wall_s"] is None
    assert row["met"] is None


def test_peers_that_are_not_installed_are_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    rows = peers.measure_peers(INSTANT, follow=ignore)
    assert {row["peer"] for row in rows} == set(peers.PEERS)
    assert all(row["status"].startswith("not installed: no command") for row in rows)
    assert all(row["ratio"] is None and row["ours_frames_per_cpu_s"] > 0 for row in rows)


def spinning(frames_per_s: int) -> peers.Peer:
    """A peer that takes 10 ms of CPU time for a second of its own."""

    def command(stations: int, length: Length, simulated_s: int) -> list[str]:
        spin = (
            f"import time\nend = time.process_time() + {simulated_s} * 0.01\nwhile "
            "time.process_time() < end: pass"
        )
        return [sys.executable, "-c", f"{spin}\nprint('frames', {frames_per_s * simulated_s})"]

    return peers.Peer("spinning", None, "", command)


def test_a_peer_is_given_more_to_do_until_its_start_up_does_not_matter():
    ours = time_trial(trial_for_peers(stations=2, length=SHORT, simulated_s=1), runs=1)
    row = peers.row_of("spinning", spinning(1000), ours, stations=2, length=SHORT, effort=INSTANT)
    assert row["status"] == "measured"
    assert row["simulated_s"] > peers.FIRST_SIMULATED_S
    assert row["cpu_s"] >= INSTANT.peers_cpu_s
    assert row["frames_per_simulated_s"] == 1000
    assert row["ratio"] == ours.best / row["frames_per_cpu_s"]


def test_a_peer_runs_again_as_long_as_its_first_run_that_was_long_enough(tmp_path):
    log = tmp_path / "log"

    def command(simulated: int) -> list[str]:
        # The later, the shorter: a run takes less CPU time than the one before it.
        code = f"""
import pathlib, time
log = pathlib.Path({str(log)!r})
runs = log.read_text().split() if log.exists() else []
log.write_text(" ".join([*runs, "{simulated}"]))
end = time.process_time() + {simulated} * (0.9 if len(runs) < 2 else 0.3)
while time.process_time() < end: pass
print("frames", {simulated})"""
        return [sys.executable, "-c", code]

    run = peers.run_long_enough("tiring", command, first=1, unit="s", wanted_s=0.5, runs=3)
    assert log.read_text() == "0 1 1 1"
    # 0.3 s, and what start-up differs by from run to run; the first of the three took 0.9 s.
    assert run.cpu_s < 0.9
    assert run.frames == 1


def test_a_peer_that_delivers_nothing_has_failed():
    ours = time_trial(trial_for_peers(stations=2, length=SHORT, simulated_s=1), runs=1)
    row = peers.row_of("spinning", spinning(0), ours, stations=2, length=SHORT, effort=INSTANT)
    assert row["status"] == "failed: spinning: delivered nothing in 5 s"
    assert row["ratio"] is None


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
def test_ns2_simulates_the_same_segment_as_we_do():
    # Two models that order what happens at the same instant differently; they agree on what the
    # segment carries.
    with peers.ns2("lean") as peer:
        out = run_child(peer.command(2, SHORT, 5), limit_s=60).out
    ours = simulate_trial(trial_for_peers(stations=2, length=SHORT, simulated_s=5))
    assert int(out.rsplit("frames ", 1)[1]) == pytest.approx(
        int(ours.stations.frames.sum()), rel=0.01
    )


@pytest.mark.parametrize(("hosts", "frame_octets"), [(2, 64), (8, 64), (8, 1518), (24, 64)])
def test_a_full_switch_delivers_what_is_offered(hosts, frame_octets):
    simulated_us = time_of_frames(1000, frame_octets=frame_octets)
    outcome = simulate_trial(
        trial_switched(hosts=hosts, frame_octets=frame_octets, simulated_us=simulated_us)
    )
    assert (
        doubt(
            int(outcome.flows.messages.sum()),
            hosts=hosts,
            frame_octets=frame_octets,
            simulated_us=simulated_us,
        )
        is None
    )
    lost = dict(zip(LOSSES, outcome.flows.balance.lost.sum(axis=0).tolist(), strict=True))
    assert {cause for cause, copies in lost.items() if copies > 0} <= {"ignored"}


def test_full_links_carry_a_frame_its_preamble_and_its_gap_at_a_time():
    # 64 + 8 + 12 octets at 1 Gb/s are 672 ns: 14 880 whole ones in 10 ms.
    assert offered_frames(hosts=8, frame_octets=64, simulated_us=10_000) == 8 * 14_880
    assert time_of_frames(14_880, frame_octets=64) == 10_000


def test_frames_that_are_missing_or_too_many_are_told():
    # 119 040 are offered. Of each of 8 hosts 6 copies of others, 2 frames on links and a part of
    # one may be in the way.
    assert doubt(119_040 - 72, hosts=8, frame_octets=64, simulated_us=10_000) is None
    assert (
        doubt(119_040 - 73, hosts=8, frame_octets=64, simulated_us=10_000)
        == "delivered 118967 frames of 119040 offered in 10000 us"
    )
    assert doubt(119_040 + 9, hosts=8, frame_octets=64, simulated_us=10_000) is not None


def test_a_switch_with_one_host_is_refused():
    with pytest.raises(ValueError, match="hosts must be at least 2, got 1"):
        trial_switched(hosts=1, frame_octets=64, simulated_us=1)


def test_a_bridge_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    rows = switched.measure_switched(INSTANT, peers=True, follow=ignore)
    assert [row["status"] for row in rows] == ["not installed: no command c++"] * 4
    assert all(row["ratio"] is None and row["ours_frames_per_cpu_s"] > 0 for row in rows)


@pytest.mark.skipif(
    not Path("/usr/include/ns3/bridge-module.h").exists(), reason="ns-3 is not installed"
)
def test_ns3_delivers_the_frames_that_we_deliver():
    with peers.ns3_program("switch", "bridge", libraries=switched.LIBRARIES) as program:
        out = run_child([program, "8", "64", "1000", "duplex"], limit_s=60).out
        half = run_child([program, "8", "64", "1000", "shipped"], limit_s=60).out
        with pytest.raises(ChildError, match=r"ended with 2: usage: switch HOSTS"):
            run_child([program, "8", "64", "1000", "simplex"], limit_s=60)
    printed = {name: int(count) for name, count in (line.split() for line in out.splitlines())}
    assert doubt(printed["frames"], hosts=8, frame_octets=64, simulated_us=1000) is None
    assert printed["dropped"] == 0
    # One end of a channel sends at a time: for the 512 ns of a frame and at least 100 ns of delay,
    # and a frame passes two channels.
    assert 0 < int(half.split()[1]) <= 8 * 1_000_000 / (512 + 100) / 2
    ours = simulate_trial(trial_switched(hosts=8, frame_octets=64, simulated_us=1000))
    # Sent whole there, begun here: at most one frame of each host.
    assert 0 <= int(ours.flows.balance.sent.sum()) - printed["sent"] <= 8


@pytest.mark.long
@pytest.mark.usefixtures("wide")
def test_json_has_all_that_was_promised_and_nothing_else_on_stdout(capsys):
    words = [sys.executable, "-m", "benches", "--quick", "--no-peers", "--json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    sections = ("speed", "reference", "buses", "switched", "study", "peers")
    assert set(results) == {"machine", "quick", *sections}
    assert set(results["machine"]) == {
        "cpu",
        "processors",
        "system",
        "python",
        "ethermeter",
        "load",
        "load_at_end",
    }
    assert results["quick"] is True
    assert results["peers"] is None
    assert {(row["round_trip_us"], row["stations"], row["length"]) for row in results["speed"]} == {
        (net.round_trip_us, stations, length.name)
        for net in NETS
        for stations in (1, 2, 5, 24)
        for length in LENGTHS
    }
    for row in results["speed"]:
        assert 0 < row["median_frames_per_cpu_s"] <= row["best_frames_per_cpu_s"]
        assert row["attempts_per_frame"] >= 1
        assert 0 < row["utilisation"] <= 1
        assert row["met"] is None
    assert results["reference"]["ratio"] > 0
    assert all(row["ratio"] > 0 and row["met"] is None for row in results["buses"])
    assert [(row["hosts"], row["frame_octets"], row["status"]) for row in results["switched"]] == [
        (hosts, octets, "not asked for") for hosts in (8, 24) for octets in (64, 1518)
    ]
    assert all(
        row["ours_frames_per_cpu_s"] > 0 and row["ratio"] is None for row in results["switched"]
    )
    (study,) = results["study"]
    assert study["status"] == "measured"
    assert 0 < study["trials_wall_s"] < study["command_wall_s"]

    # What is printed for a person has every row, also of peers that are missing.
    results["peers"] = [_missing_peer()]
    print_results(results)
    shown = capsys.readouterr().out
    assert "not installed: no command ns" in shown
    assert shown.count("two ends") == 8
    assert "not judged" in shown
    assert shown.count("not asked for") == 4


def _missing_peer() -> dict[str, object]:
    numbers = (
        "frames",
        "cpu_s",
        "frames_per_cpu_s",
        "frames_per_simulated_s",
        "ratio",
        "version",
        "note",
    )
    return {
        **dict.fromkeys(numbers),
        "peer": "ns-2",
        "status": "not installed: no command ns",
        "stations": 2,
        "length": "64 B",
        "ours_frames_per_cpu_s": 1e7,
        "ours_frames_per_simulated_s": 1e4,
    }


def test_a_wrong_option_ends_with_2(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--fast"])
    assert ended.value.code == 2
    assert "--fast" in capsys.readouterr().err


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "python -m benches --json > bench.json" in capsys.readouterr().out


def test_ratios_to_a_peer_are_of_the_two_runs_of_a_round():
    ours = [{"sender": 100.0}, {"sender": 210.0}, {"sender": 90.0}]
    theirs = [
        {"sender": 100.0, "lost": 0.0},
        {"sender": 200.0, "lost": 0.0},
        {"sender": 100.0, "lost": 0.0},
    ]
    row = rows.compared(ours, theirs)
    assert row["ours"] == {"sender": 100.0}
    assert row["theirs"] == {"sender": 100.0, "lost": 0.0}
    assert row["ratio"] == {"sender": pytest.approx({"median": 1.0, "low": 0.9, "high": 1.05})}
    assert rows.compared(ours[:1], [])["ratio"] is None
    assert rows.compared([], []) == {"ours": None, "theirs": None, "ratio": None}


@pytest.mark.parametrize(("median", "judged"), [(1.0, "PASS"), (0.999, "MISS")])
def test_a_median_ratio_below_that_of_a_peer_is_a_miss(median, judged):
    ratio = {
        "sender": {"median": 1.2, "low": 1.1, "high": 1.3},
        "both": {"median": median, "low": 0.9, "high": 1.1},
    }
    is_met = rows.met(ratio, ("sender", "both"))
    assert is_met == {"sender": True, "both": judged == "PASS"}
    run = {"sender": 2e6, "both": 1e6}
    row = {
        "what": "UDP",
        "peer": "iperf3",
        "status": "measured",
        "ours": run,
        "theirs": run,
        "ratio": ratio,
        "met": is_met,
    }
    shown = tables.line(row, {"sender": 1e-3, "both": 1e-3}, "k")
    assert f"1.200 [1.100 to 1.300] PASS, {median:.3f} [0.900 to 1.100] {judged}" in shown


def test_nothing_is_judged_without_a_target_or_a_ratio():
    share = {"share": {"median": 2.0, "low": 2.0, "high": 2.0}}
    assert rows.met(share, ()) == {}
    assert rows.met(None, ("share",)) == {}
    assert rows.met(share, ("share", "both")) == {"share": True}


def test_the_sweep_has_the_points_that_are_asked_for_and_is_the_one_of_the_page(tmp_path):
    for points in (100, 50_000):
        path = tmp_path / f"{points}.toml"
        path.write_text(sweep.experiment(points), encoding="utf-8")
        assert load(path).points == points
    assert sweep.experiment(50_000) in blocks(page("docs/how-to/run-many-points.md"), "toml")


def test_memory_of_a_session_is_compared_over_its_trials_alone():
    # Points in part files from 0 to 100; what comes after the last is estimates and report.
    seen = [(0.0, 0, 50.0), (1.0, 10, 90.0), (2.0, 99, 95.0), (3.0, 100, 120.0), (9.0, 100, 300.0)]
    session = sweep.Session(resident=seen, peak_mb=310.0)
    assert session.during_trials_mb() == (90.0, 95.0)
    assert sweep.Session().during_trials_mb() is None


RUNS: dict[str, Callable[[], int]] = {
    "benches.bounds": lambda: bounds.main(budget_s=0.1),
    "benches.help": lambda: help.main(starts=1),
    "benches.means": lambda: means.main(1),
    # On a thread of its own, which has no other browser.
    "benches.pages": lambda: ThreadPoolExecutor(1).submit(pages.main, ["--runs", "1"]).result(),
    "benches.sweep": lambda: sweep.main(["--points", "6000", "--workers", "2"]),
    "benches.theory": theory.main,
    "benches.threads": lambda: threads.main(["--runs", "1"], cases=[threads.Case(0.1, 3, 1)]),
}
"""Benchmarks of one module, with one round; 1 if a time is not as aimed at."""
RUN_ELSEWHERE = {"benches", "benches.live", "benches.segments", "benches.emulation"}
"""The first above, the others in tests/live/test_benchmarks.py: they need root."""


def test_every_benchmark_is_run_by_a_test():
    found = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        for path in (ROOT / "benches").rglob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    assert found == RUNS.keys() | RUN_ELSEWHERE


@pytest.mark.long
@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", RUNS)
def test_a_benchmark_runs_one_round(name, capsys):
    if name == "benches.pages" and not Path(pages.CHROMIUM).exists():
        pytest.skip("Chromium is not installed")
    if name == "benches.sweep":
        pytest.importorskip("distributed")
    assert RUNS[name]() in (0, 1)
    said = capsys.readouterr()
    assert said.out
    assert f"{name}: " not in said.err, "what a failure begins with"
