"""Measuring from the command line: networks built for it, what agents leave behind, and what goes
wrong said in a line.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ethermeter as em
import pytest
from ethermeter.analysis.answers import answers
from ethermeter.engines.live.agents import Agent
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.store import RunDirectory
from live_runs import ended, measure, refusal
from program import LIMIT_S, call, eventually, invoke, real, settings
from shared_experiments import pair, star

SWITCHED = star(
    [em.host("sender", count=2), "sink"],
    [
        em.flow("load", "sender", "sink", data="500 B", arrivals={"poisson": "500 /s"}),
        em.flow(
            "ping",
            "sink",
            "sender1",
            frames="100 B",
            arrivals={"regular": "5 ms"},
            response={"frames": "100 B"},
        ),
    ],
    switch={"queue": 100},
    rate="100 Mb/s",
    phases={"transmit": "0.6 s", "measure": "last 0.5 s"},
    run={"engines": ["live"]},
)
LOOPBACK = pair(
    em.flow("load", "a", "b", data="100 B", arrivals={"regular": "1 ms"}),
    rate="1 Gb/s",
    phases={"transmit": "0.1 s", "measure": "all"},
    run={"engines": ["live"], "replications": 3},
)


def namespaces_of(pid: int) -> set[str]:
    """Namespaces of the testbeds that a process has made; others may make some meanwhile."""
    folder = Path("/run/netns")
    return {path.name for path in folder.glob(f"em-{pid}-*")} if folder.is_dir() else set()


def transmitting(transmit: str, experiment: ExperimentTables, folder: Path) -> Path:
    """Write an experiment whose sources send for so long."""
    return experiment.changed({"phases.transmit": transmit}).save(folder / "experiment.toml")


def of_plain_words(said: str) -> bool:
    """Whether something said is a line or some, and no traceback."""
    return bool(said.strip()) and "Traceback" not in said and "internal error" not in said


def descendants(pid: int) -> set[int]:
    """Processes that a process has started, and those that these have."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        tasks: list[Path] = []
        # Who has ended meanwhile has no children, and what they had is not theirs.
        with contextlib.suppress(OSError):
            tasks = list(Path(f"/proc/{waiting.pop()}/task").iterdir())
        for task in tasks:
            with contextlib.suppress(OSError):
                of_task = {int(child) for child in (task / "children").read_text().split()}
                waiting += of_task - found
                found |= of_task
    return found


def is_agent(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"\0agent\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@contextlib.contextmanager
def measuring(*words: object) -> Iterator[subprocess.Popen[str]]:
    """Measure, as a person would who can press Ctrl-C; whatever is left is ended."""
    with subprocess.Popen(
        real("measure", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        if process.poll() is None:
            process.kill()


@contextlib.contextmanager
def loopback_agents(
    folder: Path, count: int = 2
) -> Iterator[tuple[Path, list[subprocess.Popen[str]]]]:
    """Run agents, and yield a file of hosts with them."""
    with contextlib.ExitStack() as stack:
        agents, lines = [], []
        for number in range(1, count + 1):
            command = real("agent", "--listen", f"127.0.78.{number}:0")
            agent = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            )
            stack.callback(agent.terminate)
            agents.append(agent)
        for name, agent in zip("abc", agents, strict=False):
            assert agent.stdout is not None
            place = agent.stdout.readline().removeprefix("listening on ").strip()
            lines.append(f'[hosts.{name}]\ncontrol = "{place}"\n')
        path = folder / "hosts.toml"
        path.write_text("".join(lines), encoding="utf-8")
        yield path, agents


def estimates_of(run: Path, engine: str) -> list[dict[str, Any]]:
    points = json.loads((run / "estimates.json").read_text())["points"]
    return [point for point in points if point["engine"] == engine]


@pytest.mark.root
def test_a_wire_of_10_megabits_is_as_fast_measured_as_simulated(new_path, in_quiet_window):
    sizes = ["18 B", "400 B", "1472 B"]
    shorter = settings('phases.transmit="0.9 s"', 'phases.measure="last 0.5 s"')
    varied = ["--set", f'vary."flows.load.data"={json.dumps(sizes)}']

    def compared_rates() -> list[dict[str, Any]]:
        run = new_path() / "run"
        done = invoke("measure", "wire-live", "--on", "testbed", "--out", run, *shorter, *varied)
        assert done.returncode == 0, done.stderr
        assert not namespaces_of(os.getpid())
        compared = answers(RunDirectory(run))["live_agreement"]["comparisons"]
        rates = [
            each
            for each in compared
            if each["metric"] in ("message_rate", "frame_rate", "goodput", "data_rate")
        ]
        assert [each["point"]["flows.load.data"] for each in rates] == [
            size for size in sizes for _ in range(4)
        ]
        assert all(each["live"] == 0 for each in compared if each["metric"] == "loss")
        assert (run / "report.html").is_file()
        assert len(list((run / "live").glob("wire-live/*.json"))) == 3 * len(sizes)
        return rates

    # Of nine trials with a window of half a second each.
    for each in in_quiet_window(compared_rates, tolerated_stall_s=0.2):
        assert each["simulation_half_width"] == 0.0  # a saturated wire leaves nothing to chance
        assert (
            abs(each["difference"])
            <= each["half_width"] + each["simulation"] * in_quiet_window.stalled_s / 0.5
        ), each


@pytest.mark.root
def test_what_one_run_simulated_is_compared_with_what_another_measured(tmp_path):
    for engine in ("simulation", "live"):
        file = tmp_path / f"{engine}.toml"
        LOOPBACK.changed({"run.engines": [engine]}).save(file)
        where = ("--on", "testbed,plain") if engine == "live" else ()
        verb = "measure" if where else "run"
        done = invoke(verb, file, *where, "--no-report", "--out", tmp_path / engine)
        assert done.returncode == 0, done.stderr
    done = invoke("compare", tmp_path / "simulation", tmp_path / "live", "--json")
    assert done.returncode == 0, done.stderr
    rates = [row for row in json.loads(done.stdout) if row["metric"] == "message_rate"]
    # A message a millisecond, by either; of 0.1 s, one may fall out of a measured window.
    assert rates
    assert all(row["a"] == pytest.approx(1000, rel=0.02) for row in rates)
    assert all(row["b"] == pytest.approx(1000, rel=0.02) for row in rates)
    told = invoke("compare", tmp_path / "live", tmp_path / "simulation").stdout
    assert "What simulation simulated is compared with what live measured." in told


@pytest.mark.root
def test_a_network_with_a_switch_is_built_measured_and_taken_down(tmp_path):
    measured = measure(SWITCHED, tmp_path, "--on", "testbed", "--json")
    assert not namespaces_of(os.getpid())
    said = json.loads(measured.printed.stdout)
    estimates = {
        name: of["value"] for name, of in said["estimates"]["points"][0]["estimates"].items()
    }
    assert estimates["loss"] == 0
    result = measured.result()
    assert result["outcome"] == "complete"
    assert set(result["flows"]) == {"load sender1", "load sender2", "ping"}
    ping = result["flows"]["ping"]["sending"]["counted"]
    # No more than one request each 5 ms of 0.6 s; one that is late puts off the next.
    assert 0 < ping["requests"] <= 121
    assert ping["answered"] == ping["requests"]
    assert estimates["round_trip_p50"] > 0


@pytest.mark.root
def test_on_relayed_wires_messages_take_the_time_of_their_bits_and_of_the_links(tmp_path):
    held = SWITCHED.changed(
        {
            "network.rate": "10 Mb/s",
            "network.links.1.delay": "2 ms",
            "run.engines": ["simulation", "live"],
        }
    )
    result = measure(held, tmp_path, "--on", "testbed,relay").result()
    assert not namespaces_of(os.getpid())
    fastest_ns = result["flows"]["ping"]["sending"]["counted"]["fastest_ns"]
    # There and back over two wires, each with 8 + 100 octets of 0.8 µs, and 2 ms each way; nothing
    # is faster.
    assert fastest_ns >= 4 * 108 * 800 + 2 * 2_000_000
    delays = result["flows"]["load sender1"]["receiving"]["counted"]["streams"][0]["measured"][
        "delay"
    ]
    # 8 + 546 octets over two wires.
    assert delays["buckets"][0][1] >= (2 * 554 * 800 + 2_000_000) * 1000


@pytest.mark.root
@pytest.mark.parametrize(("kill", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_kill_take_all_down(tmp_path, kill, code):
    path = transmitting("30 s", SWITCHED, tmp_path)
    with measuring(path, "--on", "testbed", "--out", tmp_path / "run") as process:
        agents = eventually(lambda: [pid for pid in descendants(process.pid) if is_agent(pid)])
        eventually((tmp_path / "run" / "plan.jsonl").exists)
        process.send_signal(kill)
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == code
    assert of_plain_words(said)
    assert "To continue: ethermeter measure" in said
    assert not namespaces_of(process.pid)
    assert not [pid for pid in agents if is_agent(pid)]


def test_an_agent_whose_start_ctrl_c_interrupts_ends_with_the_others(tmp_path, monkeypatch):
    popen, made = subprocess.Popen, []

    def interrupted(*words: Any, **options: Any) -> Any:
        made.append(popen(*words, **options))
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return made[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    agent = Agent("a", ["sleep", "1000"], os.environ, tmp_path / "log")
    with pytest.raises(KeyboardInterrupt):
        agent.start()
    agent.end()
    assert made[0].poll() is not None


@pytest.mark.root
def test_what_a_coordinator_leaves_that_is_killed_at_once_ends_by_itself_or_with_the_next(tmp_path):
    path = transmitting("30 s", SWITCHED, tmp_path)
    with measuring(path, "--on", "testbed", "--out", tmp_path / "run") as process:
        agents = eventually(lambda: [pid for pid in descendants(process.pid) if is_agent(pid)])
        eventually((tmp_path / "run" / "plan.jsonl").exists)
        process.kill()
    eventually(lambda: not [pid for pid in agents if is_agent(pid)])
    short = ["--set", 'phases.transmit="0.6 s"', "--out", tmp_path / "next"]
    assert invoke("measure", path, "--on", "testbed", *short).returncode == 0
    # A process of another test may have begun to remove them.
    eventually(lambda: not namespaces_of(process.pid))


def test_over_loopback_an_experiment_is_measured_and_goes_on_where_it_was_interrupted(
    tmp_path, unless_held_up
):
    path = transmitting("1 s", LOOPBACK, tmp_path)
    with measuring(path, "--on", "loopback", "--out", tmp_path / "run") as process:
        eventually(lambda: list((tmp_path / "run" / "live").glob("*/*.json")))
        time.sleep(
            0.5
        )  # its rows follow at once; what was interrupted between the two would be measured again
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
    unless_held_up(process.returncode == 130, process.returncode)
    done_before = {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "run" / "live").glob("*/*.json")
    }
    unless_held_up(1 <= len(done_before) < 3, f"{len(done_before)} trials before the interrupt")
    done = invoke("measure", path, "--on", "loopback", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    now = {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "run" / "live").glob("*/*.json")
    }
    assert len(now) == 3
    assert all(now[name] == at for name, at in done_before.items())
    (point,) = estimates_of(tmp_path / "run", "live")
    # One a millisecond; its phase is random, so that one more or less falls into the second that is
    # measured.
    assert point["estimates"]["offered_rate"]["value"] == pytest.approx(1000, abs=1)
    assert point["estimates"]["loss"]["value"] == 0


def test_hosts_are_checked_and_what_is_wrong_with_one_is_said(tmp_path):
    with loopback_agents(tmp_path) as (path, agents):
        done = invoke("hosts", path, "--json")
        said = json.loads(done.stdout)
        assert [said[name]["faults"] for name in "ab"] == [[], []]
        # Both are this machine, which tests may keep busy.
        assert done.returncode == (4 if any(one["busy"] for one in said.values()) else 0)
        assert all(0 <= one["activity"]["processor_share"] <= 1 for one in said.values())
        # One machine has one clock: what is stated holds.
        assert all(
            abs(one["clock"]["offset_ns"]) <= one["clock"]["uncertainty_ns"]
            for one in said.values()
        )
        assert "ready" in invoke("hosts", path).stdout
        agents[1].terminate()
        agents[1].wait()
        done = invoke("hosts", path, "--json")
        assert done.returncode == 1
        faults = {name: one["faults"] for name, one in json.loads(done.stdout).items()}
        assert faults["a"] == []
        assert len(faults["b"]) == 1
        assert "refused" in faults["b"][0]
        done = invoke("hosts", path)
        assert done.returncode == 1
        assert "refused" in done.stdout
        measured = ended(LOOPBACK, tmp_path, "--on", path, code=1)
        assert of_plain_words(measured.stderr)
        assert "refused" in measured.stderr


def test_a_trial_in_which_an_agent_is_killed_is_kept_as_such_and_said(tmp_path, unless_held_up):
    path = transmitting("1.5 s", LOOPBACK, tmp_path)
    with measuring(path, "--on", "loopback", "--out", tmp_path / "run", "--json") as process:
        eventually(lambda: list((tmp_path / "run" / "live").glob("*/00000.json")))
        time.sleep(1)
        next(os.kill(pid, signal.SIGKILL) for pid in descendants(process.pid) if is_agent(pid))
        out, said = process.communicate(timeout=LIMIT_S)
    # The second trial, which takes 1.5 s, was under way a second after the first had ended.
    unless_held_up("experiment/00001" in said, said)
    assert process.returncode == 1, said
    assert of_plain_words(said)
    assert "was lost" in said
    failed = json.loads(out)["failed"]
    assert list(failed) == ["experiment/00001"]
    outcomes = [
        json.loads(path.read_text())["outcome"]
        for path in sorted((tmp_path / "run" / "live").glob("*/*.json"))
    ]
    assert outcomes == ["complete", "agent-lost", "complete"]
    rows = em.open(tmp_path / "run").frame("message_rate", by="trial")
    rate = dict(zip(rows["trial"], rows["value"], strict=True))
    assert {trial for trial, value in rate.items() if value > 0} == {
        "experiment/00000",
        "experiment/00002",
    }


def test_a_wrong_certificate_is_refused_in_a_line(tmp_path):
    text = 'certificates = "lab"\n[hosts.a]\ncontrol = "127.0.78.1:CONTROL"\n'
    hosts = tmp_path / "hosts.toml"
    hosts.write_text(text.replace("CONTROL", "4988"), encoding="utf-8")
    made = invoke("hosts", hosts, "--certify")
    assert made.returncode == 0, made.stderr
    assert "ethermeter agent --listen 127.0.78.1:4988 --credentials a.pem" in made.stdout
    again = invoke("hosts", hosts, "--certify")
    assert again.returncode == 2
    assert "exists" in again.stderr
    lab = tmp_path / "lab"
    command = real("agent", "--listen", "127.0.78.1:0")
    command += ["--credentials", str(lab / "a.pem")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as agent:
        try:
            assert agent.stdout is not None
            port = agent.stdout.readline().rpartition(":")[2].strip()
            hosts.write_text(text.replace("CONTROL", port), encoding="utf-8")
            found = invoke("hosts", hosts)
            # 4: beside other tests, this machine is busy.
            assert found.returncode in (0, 4), found.stdout
            assert "ready" in found.stdout
            for file in lab.iterdir():
                file.unlink()
            assert invoke("hosts", hosts, "--certify").returncode == 0
            stranger = invoke("hosts", hosts)
            assert stranger.returncode == 1
            assert "certificate" in stranger.stdout
            assert "Traceback" not in stranger.stderr
        finally:
            agent.terminate()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "Missing option '--on'"),
        (("--on", "loopback,plain"), "did you mean loopback?"),
        (("--loopback",), "now --on loopback"),
        (("--on", "missing.toml"), "missing.toml: (file) = missing"),
        (("--on", "loopback", "--set", 'run.engines=["simulation"]'), 'expected "live" among them'),
    ],
)
def test_where_to_measure_is_asked_for_in_a_line(tmp_path, words, fault):
    said = refusal(LOOPBACK, tmp_path, *words)
    assert of_plain_words(said)
    assert fault in said


def test_run_says_how_to_measure(tmp_path):
    done = invoke("run", LOOPBACK.save(tmp_path / "x.toml"), "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "ethermeter measure" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--listen", "here"), "must be ADDRESS:PORT"),
        (("--listen", "192.0.2.1:4988"), "must be a loopback address"),
        (("--listen", "127.0.0.1:4988", "--key", "a.key"), "now --credentials CERTIFICATE"),
        (("--listen", "127.0.0.1:4988", "--credentials", "a.pem"), "expected a readable file"),
        (("--listen", "127.0.0.1:4988", "--ceilings", "missing.toml"), "expected a readable file"),
    ],
)
def test_an_agent_that_cannot_be_says_why(words, fault):
    done = call(real("agent", *words))
    assert done.returncode == 2
    assert of_plain_words(done.stderr)
    assert fault in done.stderr


COORDINATOR = """
import json, sys
from ethermeter import _core
test = sys.stdin.readline()
def measured():
    result = json.loads(_core.measure_test(test))
    return result["outcome"], result["flows"]["x"]["sent"], result["flows"]["x"]["received"]
for times in sys.stdin:
    print(json.dumps([measured() for _ in range(int(times))]), flush=True)
"""
"""A process that runs tests one after the other, and nothing else: what it keeps is what a
coordinator keeps.
"""
LEAK_KIB = 58
"""What the histograms of one test take: the least that a test would leave behind if it left a
result.
"""


def state_of(pid: int) -> tuple[int, int, int]:
    """Open files, threads, and KiB of memory that a process has filled itself; pages of files come
    and go as they are used.
    """
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(r"RssAnon:\s+(\d+)", status)
    assert match is not None
    return (
        len(list(Path(f"/proc/{pid}/fd").iterdir())),
        len(list(Path(f"/proc/{pid}/task").iterdir())),
        int(match.group(1)),
    )


@pytest.mark.long
def test_60_tests_in_a_row_leave_nothing_behind(tmp_path):
    from ethermeter import hosts_file

    ms = 1_000_000
    with loopback_agents(tmp_path) as (path, agents):
        stations = hosts_file.read(path).stations
        entries = [
            {"name": name, "control": station.control, "address": station.address}
            for name, station in stations.items()
        ]
        traffic = {
            "kind": "stream",
            "source": {
                "frames": {"kind": "fixed", "bits": 8 * 64},
                "arrivals": {"kind": "regular", "period_ps": 10**9},
            },
        }
        flow = {
            "name": "x",
            "from": "a",
            "to": "b",
            "port": "udp",
            "most_bps": 10**7,
            "most_frames_per_s": 10**4,
            "traffic": traffic,
        }
        phases = {
            "settle_ns": 0,
            "transmit_ns": 30 * ms,
            "measure_from_ns": 0,
            "measure_to_ns": 30 * ms,
            "drain_ns": 5 * ms,
        }
        test = json.dumps({"seed": 1, "agents": entries, "phases": phases, "flows": [flow]})
        command = [sys.executable, "-c", COORDINATOR]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as coordinator:

            def run(times: int) -> None:
                assert coordinator.stdin is not None
                assert coordinator.stdout is not None
                coordinator.stdin.write(f"{times}\n")
                coordinator.stdin.flush()
                for outcome, sent, received in json.loads(coordinator.stdout.readline()):
                    assert outcome == "complete"
                    assert 0 <= received <= sent <= 30

            assert coordinator.stdin is not None
            coordinator.stdin.write(test + "\n")
            processes = [agent.pid for agent in agents] + [coordinator.pid]
            run(20)  # until pools have the size that they keep
            before = {pid: state_of(pid) for pid in processes}
            run(40)
            print(before, {pid: state_of(pid) for pid in processes})
            for pid, (files, threads, memory_kib) in before.items():
                eventually(lambda pid=pid, files=files: state_of(pid)[0] <= files)
                eventually(lambda pid=pid, threads=threads: state_of(pid)[1] <= threads)
                assert state_of(pid)[2] - memory_kib < 40 * LEAK_KIB / 2
            coordinator.stdin.close()
    for agent in agents:
        assert agent.wait(LIMIT_S) == 0
