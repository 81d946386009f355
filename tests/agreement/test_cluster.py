"""The same trials on a Dask cluster give the same bytes, even if a worker dies."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import bad_worker
import ethermeter as em
import pytest
from program import LIMIT_S, SUPPORT, call, fake, invoke, invoke_fake, real, started
from small_runs import contents, write_experiment

pytest.importorskip("distributed")

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(filter(None, (str(SUPPORT), os.environ.get("PYTHONPATH")))),
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "null",
}
SILENT_S = 6
"""Time after which a silent cluster is lost, in tests that wait for it."""
SOON = ENVIRONMENT | {"ANSWER_S": str(SILENT_S)}


def launch(module, *arguments):
    # Files and not pipes: nobody reads while they live, and a full pipe would stop them.
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    )


def wait_until(condition, what):
    deadline_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.02)


@pytest.fixture
def cluster(tmp_path, request):
    """Address of a scheduler, and its process and those of its two workers; their preload is the
    fixture's parameter.
    """
    module = getattr(request, "param", "slow_worker")
    file = tmp_path / "scheduler.json"
    ports = ("--port", 0, "--no-dashboard", "--scheduler-file", file)
    processes = [launch("distributed.cli.dask_scheduler", "--host", "127.0.0.1", *ports)]
    try:
        # The scheduler opens its file before it writes it.
        wait_until(
            lambda: file.exists() and file.read_text().endswith("}"),
            "the scheduler did not start",
        )
        for name in ("one", "two"):
            scratch = ("--local-directory", tmp_path / name, "--scheduler-file", file)
            preload = ("--preload", module)
            processes.append(
                launch(
                    "distributed.cli.dask_worker",
                    "--no-nanny",
                    "--nthreads",
                    1,
                    "--no-dashboard",
                    "--name",
                    name,
                    *scratch,
                    *preload,
                )
            )
        address = json.loads(file.read_text())["address"]
        ready = [tmp_path / name / "ready" for name in ("one", "two")]
        wait_until(lambda: all(path.exists() for path in ready), "a worker did not start")
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run_while_a_worker_is_killed(command, out, processes):
    with started(command, env=ENVIRONMENT) as process:
        wait_until(lambda: list((out / "parts").glob("*.parquet")), "no part file appeared")
        processes[1].send_signal(signal.SIGKILL)
        processes[1].wait()
        assert process.poll() is None, "the run was over before the worker was killed"
        _, said = process.communicate(timeout=100)
    assert process.returncode == 0, said


def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(tmp_path, cluster):
    address, processes = cluster
    experiment = write_experiment(tmp_path)
    assert invoke_fake("run", experiment, "--out", tmp_path / "here", "--no-report").returncode == 0
    out = tmp_path / "there"
    run_while_a_worker_is_killed(
        fake("run", experiment, "--out", out, "--no-report", "--jobs", address), out, processes
    )
    assert contents(out) == contents(tmp_path / "here")


@pytest.mark.long
@pytest.mark.parametrize("cluster", ["ready_worker"], indirect=True)
def test_the_compiled_core_gives_the_same_bytes_on_a_cluster_though_a_worker_is_killed(
    tmp_path, cluster
):
    address, processes = cluster
    # Some seconds of work, so that the kill falls into the middle of it.
    long = {"phases.transmit": "100 s", "phases.measure": "middle 90 s", "run.replications": 40}
    experiment = write_experiment(tmp_path, long)
    assert invoke("run", experiment, "--out", tmp_path / "here", "--no-report").returncode == 0
    out = tmp_path / "there"
    run_while_a_worker_is_killed(
        real("run", experiment, "--out", out, "--no-report", "--jobs", address), out, processes
    )
    assert contents(out) == contents(tmp_path / "here")


@pytest.mark.parametrize("cluster", ["mute_worker"], indirect=True)
def test_a_task_whose_result_a_worker_does_not_hand_out_is_submitted_again(tmp_path, cluster):
    address, _ = cluster
    experiment = write_experiment(tmp_path)
    for name, more in (("here", ()), ("there", ("--jobs", address))):
        words = ("run", experiment, "--out", tmp_path / name, "--no-report", *more)
        ended = call(fake(*words), env=SOON)
        assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


@pytest.mark.parametrize("cluster", ["ready_worker"], indirect=True)
def test_a_network_gives_the_same_bytes_on_a_cluster(tmp_path, cluster):
    address, _ = cluster
    for name, more in (("here", ()), ("there", ("--jobs", address))):
        ended = call(
            real("run", "switched-saturation", "--out", tmp_path / name, "--no-report", *more),
            env=ENVIRONMENT,
        )
        assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    ports = [(tmp_path / name / "ports.parquet").read_bytes() for name in ("here", "there")]
    assert ports[0] == ports[1]


def test_an_address_where_nobody_answers_is_one_line(tmp_path):
    words = ("--out", tmp_path / "run", "--jobs", "tcp://127.0.0.1:9")
    ended = call(fake("run", write_experiment(tmp_path), *words), env={"ANSWER_S": "1"})
    assert ended.returncode == 1
    assert "cluster tcp://127.0.0.1:9: no scheduler answers there" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_missing_extra_is_one_line(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "distributed.py").write_text("raise ImportError('not here')\n")
    command = fake(
        "run",
        write_experiment(tmp_path),
        "--out",
        tmp_path / "run",
        "--jobs",
        "tcp://127.0.0.1:9",
    )
    ended = call(command, env={"PYTHONPATH": str(tmp_path / "hidden")})
    assert ended.returncode == 2
    assert "pip install 'ethermeter[cluster]'" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_control_c_on_a_cluster_stops_before_the_end_and_says_how_to_go_on(tmp_path, cluster):
    address, _ = cluster
    out = tmp_path / "run"
    # More trials than a busy machine ends before it delivers the signal.
    trials = ("--set", "run.replications=100")
    command = fake(
        *("run", write_experiment(tmp_path), "--out", out, *trials),
        *("--no-report", "--jobs", address),
    )
    with started(command, env=ENVIRONMENT) as process:
        wait_until(lambda: list((out / "parts").glob("*.parquet")), "no part file appeared")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    # A second for the run and up to one more for the client to take its leave, on a machine that
    # has them; trials were left in any case.
    assert process.returncode == 130
    assert not (out / "stations.parquet").exists()
    to_continue = " ".join(["ethermeter", *command[3:]])
    # A machine that was busy for more than five seconds has seen progress before.
    said = [line for line in said.splitlines() if not line.startswith("small: ")]
    assert said == [
        f"ethermeter: interrupted; finished trials are kept. To continue: {to_continue}"
    ]


@pytest.mark.parametrize("cluster", ["ready_worker"], indirect=True)
def test_a_search_gives_the_same_bytes_on_a_cluster(tmp_path, cluster):
    address, _ = cluster
    words = ("--smallest", "network.switches.switch.queue", "from=20", "to=27")
    words += ("--while", "loss == 0")
    for name, more in (("here", ()), ("there", ("--jobs", address))):
        ended = call(
            real("find", "value", "buffer-sizing", *words, "--out", tmp_path / name, *more),
            env=ENVIRONMENT,
        )
        assert ended.returncode == 0, ended.stderr
        assert "smallest network.switches.switch.queue with loss == 0: 24 at 95%" in ended.stdout
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


TRACED = em.segment(
    "ieee-10",
    title="Stations that replay a trace",
    length="100 m",
    stations=em.stations(
        "host", count=3, arrivals={"trace": "t.csv", "repeat": True, "offset": "random"}
    ),
    phases={"transmit": "100 ms", "measure": "all"},
    run={"replications": 20},
)


@pytest.mark.parametrize("cluster", ["ready_worker"], indirect=True)
def test_workers_replay_a_trace_that_only_the_client_has(tmp_path, cluster):
    address, _ = cluster
    rows = "".join([f"{at * at * 10},{64 + at}\n" for at in range(50)])
    (tmp_path / "t.csv").write_text("time_us,length_B\n" + rows, encoding="utf-8")
    experiment = TRACED.save(tmp_path / "small.toml")
    for name, more in (("here", ()), ("there", ("--jobs", address))):
        words = ("run", experiment, "--out", tmp_path / name, "--no-report", *more)
        ended = call(real(*words), env=ENVIRONMENT)
        assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert list((tmp_path / "here" / "traces").iterdir())


@pytest.mark.parametrize("cluster", ["bad_worker"], indirect=True)
def test_a_worker_that_answers_something_else_is_named_in_a_line(tmp_path, cluster):
    address, _ = cluster
    experiment = write_experiment(tmp_path)
    said = {
        "nothing": "answered NoneType in place of results",
        "text": "answered str in place of results",
        "no rows": "answered NoneType in place of the result of small/",
        "too few": "answered 8 of 9 trials",
        "reversed": "answered the result of another trial for small/",
        "of another": "answered the result of another trial for small/",
        "cut": r"answered \d+ of \d+ stations for small/",
    }
    assert set(said) == set(bad_worker.ANSWERS)
    for number, (answer, what) in enumerate(said.items()):
        for name in ("one", "two"):
            (tmp_path / name / "answer").write_text(answer)
        # 300 trials for two workers: nine or more in a task.
        words = (
            "--set",
            "run.replications=50",
            "--out",
            tmp_path / f"run-{number}",
            "--jobs",
            address,
        )
        ended = invoke_fake("run", experiment, *words)
        assert ended.returncode == 1
        which = r"trial one of small/\d+ to small/\d+: worker tcp://127\.0\.0\.1:\d+"
        assert re.fullmatch(rf"ethermeter: {which} {what}.*\n", ended.stderr), ended.stderr


def lost(tmp_path, address, what):
    """Run until a part is there, lose something, and return what is said."""
    out = tmp_path / "run"
    experiment = write_experiment(tmp_path)
    command = fake("run", experiment, "--out", out, "--no-report", "--set", "run.replications=100")
    command += ["--jobs", address]
    with started(command, env=SOON) as process:
        wait_until(lambda: list((out / "parts").glob("*.parquet")), "no part file appeared")
        what()
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1
    said = [line for line in said.splitlines() if not line.startswith("small: ")]
    to_continue = " ".join(["ethermeter", *command[3:]])
    assert said[-1].endswith(f"; finished trials are kept. To continue: {to_continue}")
    return said[-1]


def test_a_scheduler_that_dies_ends_the_run_with_how_to_go_on(tmp_path, cluster):
    address, processes = cluster
    said = lost(tmp_path, address, processes[0].kill)
    assert f"cluster {address}: the connection to the scheduler is lost" in said


def test_workers_that_all_die_end_the_run_with_how_to_go_on(tmp_path, cluster):
    address, processes = cluster

    def kill() -> None:
        for worker in processes[1:]:
            worker.kill()

    said = lost(tmp_path, address, kill)
    assert f"cluster {address}: no worker has given a sign of life for {SILENT_S} s" in said
