"""A run that is broken off at any moment ends, when continued, with the same bytes as one that was
not.
"""

import signal
import time

import pytest
from program import call, fake, invoke_fake, started
from small_runs import contents, write_experiment

SECONDS_A_TRIAL = 0.05
# A part file comes after a second: so slow, a run has several of them and seconds to go after the
# first.
SLOW_S = 0.3


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("undisturbed")
    ended = invoke_fake(
        "run", write_experiment(directory), "--out", directory / "run", "--no-report"
    )
    assert ended.returncode == 0, ended.stderr
    return contents(directory / "run")


def start(experiment, out, *more, seconds_a_trial=SECONDS_A_TRIAL):
    command = fake(
        "run",
        experiment,
        "--out",
        out,
        "--no-report",
        "--jobs",
        "1",
        *more,
        seconds_a_trial=seconds_a_trial,
    )
    return started(command)


def wait_for_part(out, count=1):
    deadline_s = time.monotonic() + 60
    while len(list((out / "parts").glob("*.parquet"))) < count:
        assert time.monotonic() < deadline_s, "no part file appeared"
        time.sleep(0.01)


@pytest.mark.parametrize("after_s", [0.15, 0.4, 0.8, 1.3, 1.7, 2.0])
def test_a_run_killed_at_any_moment_ends_with_the_same_bytes(tmp_path, undisturbed, after_s):
    experiment, out = write_experiment(tmp_path), tmp_path / "run"
    with start(experiment, out):
        time.sleep(after_s)
    ended = invoke_fake("run", experiment, "--out", out, "--no-report")
    assert ended.returncode == 0, ended.stderr
    assert contents(out) == undisturbed
    assert not (out / "parts").exists()


def test_a_run_killed_twice_keeps_what_was_finished(tmp_path, undisturbed):
    experiment, out = write_experiment(tmp_path), tmp_path / "run"
    for parts in (1, 2):
        with start(experiment, out, seconds_a_trial=SLOW_S):
            wait_for_part(out, parts)
    kept = {file.name: file.read_bytes() for file in (out / "parts").glob("*.parquet")}
    assert len(kept) >= 2
    ended = invoke_fake("run", experiment, "--out", out, "--no-report")
    assert ended.returncode == 0, ended.stderr
    assert contents(out) == undisturbed


@pytest.mark.parametrize(
    ("end", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_control_c_and_sigterm_stop_at_once_and_say_how_to_go_on(
    tmp_path, undisturbed, end, code, word
):
    experiment, out = write_experiment(tmp_path), tmp_path / "run"
    # Trials that take a minute: whoever waits for one to end is found out.
    command = fake("run", experiment, "--out", out, "--no-report", seconds_a_trial=60)
    with started(command) as process:
        while not (out / "provenance.json").exists():
            time.sleep(0.01)
        process.send_signal(end)
        _, said = process.communicate(timeout=20)
    assert process.returncode == code
    assert said.startswith(f"ethermeter: {word}; finished trials are kept.")
    assert said.strip().count("\n") == 0
    assert f"To continue: ethermeter run {experiment} --out {out} --no-report" in said
    assert invoke_fake("run", experiment, "--out", out, "--no-report").returncode == 0
    assert contents(out) == undisturbed


def test_control_c_keeps_trials_that_were_not_yet_on_disk(tmp_path):
    experiment, out = write_experiment(tmp_path), tmp_path / "run"
    with start(experiment, out, seconds_a_trial=SLOW_S) as process:
        wait_for_part(out)
        time.sleep(2 * SLOW_S)  # at least one more trial is finished and waits for its part file
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert len(list((out / "parts").glob("*.parquet"))) >= 2


def test_the_number_of_threads_changes_no_byte(tmp_path, undisturbed):
    experiment = write_experiment(tmp_path)
    for jobs in (1, 2, 7):
        out = tmp_path / f"run-{jobs}"
        assert (
            call(
                fake(
                    "run",
                    experiment,
                    "--out",
                    out,
                    "--no-report",
                    "--jobs",
                    jobs,
                    seconds_a_trial=0.001,
                )
            ).returncode
            == 0
        )
        assert contents(out) == undisturbed


def test_all_files_but_the_provenance_and_the_page_are_the_same_bytes(tmp_path):
    both = {"run": {"replications": 2, "engines": ["simulation", "theory"]}}
    experiment = write_experiment(tmp_path, both)
    found = []
    for out, jobs, seconds in ((tmp_path / "whole", 1, 0.0), (tmp_path / "killed", 2, SLOW_S)):
        if seconds:
            with started(
                fake("run", experiment, "--out", out, "--jobs", jobs, seconds_a_trial=seconds)
            ):
                wait_for_part(out)
        ended = invoke_fake("run", experiment, "--out", out, "--jobs", jobs)
        assert ended.returncode == 0, ended.stderr
        found.append({str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*")})
    differing = {name for name in found[0] | found[1] if found[0].get(name) != found[1].get(name)}
    assert differing == {"provenance.json", "report.html"}
    assert {
        "plan.jsonl",
        "experiment.toml",
        "stations.parquet",
        "estimates.json",
    } <= set(found[0])


def test_another_seed_changes_the_bytes(tmp_path, undisturbed):
    experiment = write_experiment(tmp_path, {"seed": 8})
    assert invoke_fake("run", experiment, "--out", tmp_path / "run", "--no-report").returncode == 0
    assert contents(tmp_path / "run") != undisturbed


def test_two_processes_do_not_write_to_one_directory(tmp_path):
    experiment, out = write_experiment(tmp_path), tmp_path / "run"
    with start(experiment, out, seconds_a_trial=SLOW_S):
        wait_for_part(out)
        second = invoke_fake("run", experiment, "--out", out, "--no-report")
    assert second.returncode == 2
    assert "one process at a time" in second.stderr
