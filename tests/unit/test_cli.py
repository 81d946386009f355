"""The command line: what it prints where, and how it ends."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.faults import InputError
from program import call, fake, invoke, invoke_fake, real
from small_runs import SMALL_RUN, write_experiment

COMMANDS = (
    "run",
    "study",
    "validate",
    "experiments",
    "report",
    "compare",
    "model",
)

GROUPS = ("find", "testbed")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Experiment file, run directory and what its run printed."""
    directory = tmp_path_factory.mktemp("finished")
    experiment, out = write_experiment(directory), directory / "run"
    return experiment, out, invoke_fake("run", experiment, "--out", out, "--no-report", "--json")


def test_a_run_prints_json_alone_on_stdout(finished):
    _, out, ended = finished
    assert ended.returncode == 0, ended.stderr
    summary = json.loads(ended.stdout)
    assert summary["run"] == str(out)
    assert summary["trials"] == 30
    assert len(summary["estimates"]["points"]) == 6
    assert (out / "estimates.json").is_file()
    assert not (out / "report.html").exists()


def test_a_finished_run_is_not_run_again(finished):
    experiment, out, _ = finished
    before = (out / "provenance.json").read_bytes()
    again = invoke_fake("run", experiment, "--out", out, "--no-report")
    assert again.returncode == 0
    assert f"{out}: this run is already finished" in again.stderr
    assert (out / "provenance.json").read_bytes() == before


def test_the_table_of_a_run_has_a_row_a_point(finished, monkeypatch):
    experiment, out, _ = finished
    monkeypatch.setenv("COLUMNS", "200")  # so that a row is a line
    ended = invoke_fake("run", experiment, "--out", out, "--no-report")
    lines = ended.stdout.partition("next:")[0].splitlines()
    assert lines[0].split()[:3] == ["stations.count", "stations.frames", "utilisation"]
    # Below its rows what the mark at one of its values means.
    assert len(lines) == 1 + 6 + 1 + 1
    assert sum("[a]" in line for line in lines[1:7]) > 0
    assert lines[7].startswith("[a] few-samples: the value comes from fewer than 30 frames")
    assert lines[-1].endswith(str(out))


def test_the_provenance_says_what_made_the_run(finished):
    experiment, out, _ = finished
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["command"] == [
        "ethermeter",
        "run",
        str(experiment),
        "--out",
        str(out),
        "--no-report",
        "--json",
    ]
    assert provenance["seeds"] == {"small": 7}
    assert provenance["trials"] == 30
    assert provenance["events"] > 0
    assert {
        "ethermeter",
        "python",
        "kernel",
        "cpu",
        "jobs",
        "plan_hash",
        "started",
        "finished",
        "simulation_s",
    } <= set(provenance)
    assert {"numpy", "pyarrow"} <= set(provenance["libraries"])


def test_the_default_directory_is_named_after_the_plan(tmp_path):
    ended = invoke_fake(
        "run",
        write_experiment(tmp_path),
        "--no-report",
        "--json",
        "--set",
        "run.replications=1",
        cwd=tmp_path,
    )
    summary = json.loads(ended.stdout)
    assert summary["run"] == f"runs/small-{summary['plan_hash']}"
    assert (tmp_path / summary["run"] / "stations.parquet").is_file()


def test_options_change_the_plan(tmp_path):
    experiment = write_experiment(tmp_path)
    (tmp_path / "plans").mkdir()

    def plan(*options):
        ended = invoke("validate", experiment, "--trials", "--json", *options)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    plain = plan()
    assert len(plain) == 30
    assert len(plan("--set", "run.replications=2")) == 12
    assert plan("--set", "seed=8")[0]["seed"] != plain[0]["seed"]
    assert (
        plan("--set", "stations.0.attempt_limit=3")[0]["scenario"]["media"][0]["stations"][0][
            "attempt_limit"
        ]
        == 3
    )


def test_faults_are_a_line_each_and_exit_2(tmp_path):
    faulty = SMALL_RUN.changed({"seed": -7, "stations.0.count": -4})
    ended = invoke("run", faulty.save(tmp_path / "small.toml"), "--json")
    assert ended.returncode == 2
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{tmp_path / 'small.toml'}: ") for line in lines)


def test_validate_tells_valid_from_faulty(tmp_path):
    good = write_experiment(tmp_path)
    bad = tmp_path / "bad.toml"
    bad.write_text("seed = -1\n")
    ended = invoke("validate", good, bad, "--json")
    assert ended.returncode == 2
    found = json.loads(ended.stdout)
    assert found["valid"] is False
    assert found["trials"] == {str(good): 30}
    assert {fault["file"] for fault in found["faults"]} == {str(bad)}
    assert invoke("validate", good).returncode == 0


def test_a_trial_that_breaks_off_is_one_line_and_exits_1(tmp_path):
    code = (
        "from ethermeter import _core\ndef fail(*given): raise "
        "ValueError('scenario.groups: no\\nsecond line')\n"
    )
    code += "_core.simulate_trial = fail\nfrom ethermeter.cli import main\nmain()\n"
    ended = call(
        [
            sys.executable,
            "-c",
            code,
            "run",
            str(write_experiment(tmp_path)),
            "--out",
            str(tmp_path / "run"),
        ]
    )
    assert ended.returncode == 1
    assert ended.stderr == "ethermeter: trial small/00000: scenario.groups: no\n"


def test_an_unforeseen_error_is_one_line_unless_asked_for_more(tmp_path):
    code = (
        "from ethermeter.api import experiments\ndef fail(*a, **k): raise KeyError('lost')\n"
        "experiments.load = fail\n"
    )
    code += "from ethermeter.cli import main\nmain()\n"
    ended = call([sys.executable, "-c", code, "run", "x.toml"])
    assert ended.returncode == 1
    assert ended.stderr.startswith("ethermeter: internal error: KeyError: 'lost'")
    assert "ethermeter --debug run" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    debugged = call([sys.executable, "-c", code, "--debug", "run", "x.toml"])
    assert debugged.returncode == 1
    assert "Traceback" in debugged.stderr


def test_an_unwritable_directory_is_one_line_and_exits_1(tmp_path):
    # A parent that is a file cannot be written by anyone, root included.
    (tmp_path / "file").write_text("")
    ended = invoke_fake("run", write_experiment(tmp_path), "--out", tmp_path / "file" / "run")
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"ethermeter: cannot write {tmp_path / 'file'}")
    assert len(ended.stderr.splitlines()) == 1


def test_a_closed_pipe_is_quiet(tmp_path):
    # Unbuffered, Python itself would not notice that only a part was taken.
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    command = real("validate", "boggs1988/i-2", "--trials", "--json")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=buffered
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_the_schema_is_json():
    for words in ((), ("--json",)):
        shown = invoke("experiments", "--schema", "experiment", *words)
        assert "$schema" in json.loads(shown.stdout)


def test_a_directory_does_not_hide_a_shipped_experiment_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "office").mkdir()
    (tmp_path / "stuff").mkdir()
    assert invoke("validate", "office").stdout.startswith("office: valid")
    refused = invoke("validate", "stuff")
    assert (refused.returncode, "stuff: (file) = a directory" in refused.stderr) == (2, True)


def test_figures_are_drawn_of_the_metrics_that_are_given(tmp_path):
    run = tmp_path / "run"
    ended = invoke("run", "office", "--set", "run.replications=1", "--no-report", "--out", run)
    assert ended.returncode == 0, ended.stderr
    words = ("--metric", "goodput", "--out", tmp_path / "figures", "--json")
    drawn = invoke("report", run, *words)
    assert drawn.returncode == 0, drawn.stderr
    (figure,) = json.loads(drawn.stdout)["figures"]
    assert Path(figure).name == "office-goodput.svg"
    assert "<svg" in Path(figure).read_text()
    assert not (run / "report.html").exists()
    refused = invoke("report", run, "--format", "png", "--out", tmp_path / "figures")
    assert refused.returncode == 2
    assert refused.stderr == (
        "command line: --format = png: expected with a metric to draw\n"
        f"command line: --out = {tmp_path / 'figures'}: expected with a metric to draw\n"
    )


def test_shipped_experiments_are_listed_shown_and_copied(tmp_path):
    listed = json.loads(invoke("experiments", "--json").stdout)
    assert "poisson-load" in listed
    first = invoke("experiments").stdout
    assert len(first.splitlines()) <= 24
    every = invoke("experiments", "all").stdout
    assert all(name in every for name in listed)
    by_word = invoke("experiments", "BACKOFF").stdout
    assert "linear-backoff" in by_word
    assert "poisson-load" not in by_word
    assert "a word of a name or title" in invoke("experiments", "nothing-has-this").stderr
    shown = invoke("experiments", "--show", "poisson-load").stdout
    copied = invoke("experiments", "--copy", "poisson-load", tmp_path / "mine.toml")
    assert copied.returncode == 0
    assert (tmp_path / "mine.toml").read_text() == shown
    again = invoke("experiments", "--copy", "poisson-load", tmp_path / "mine.toml")
    assert again.returncode == 2
    assert "not there yet" in again.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_ends_with_examples_of_its_own(command):
    ended = invoke(command, "--help")
    assert ended.returncode == 0
    examples = ended.stdout.partition("Examples:")[2].split("\n")
    assert any(line.strip().startswith(f"ethermeter {command}") for line in examples)


def test_the_help_lists_every_command_and_comes_without_numpy_or_arrow():
    code = (
        "import sys\nfrom ethermeter.cli.app import app\napp(['--help'], standalone_mode=False)\n"
    )
    code += (
        "print(sorted({'numpy', 'pyarrow', 'scipy', 'pandas', 'distributed', "
        "'vl_convert'} & set(sys.modules)), file=sys.stderr)"
    )
    ended = call([sys.executable, "-c", code])
    assert all(f"  {command} " in ended.stdout for command in COMMANDS)
    assert ended.stderr.strip() == "[]"


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_every_command_has_a_help_line_that_fits_80_columns(group):
    shown = call(real(*group.split(), "--help"), env={**os.environ, "COLUMNS": "80"}).stdout
    assert all(len(line) <= 80 for line in shown.partition("Examples:")[0].splitlines())
    assert "..." not in shown.partition("Examples:")[0].partition("\n")[2]


def test_the_help_waits_for_no_large_library():
    # What takes its time to import is imported by the commands that need it. Loaded libraries tell,
    # whatever else the machine does.
    code = "import sys; from ethermeter.cli.app import app\ntry: app(['--help'])\n"
    code += "except SystemExit: print(sorted(sys.modules), file=sys.stderr)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stderr
    slow = (
        "altair",
        "distributed",
        "numpy",
        "pandas",
        "pyarrow",
        "pyroute2",
        "scipy",
        "ethermeter._core",
    )
    assert [name for name in slow if f"'{name}'" in loaded] == []


def test_the_version_is_that_of_the_core():
    from ethermeter import __version__

    assert invoke("--version").stdout == f"ethermeter {__version__}\n"


def test_progress_on_a_terminal_shows_a_bar_and_leaves_stdout_alone(tmp_path):
    import pty

    leader, follower = pty.openpty()
    command = fake(
        "run",
        write_experiment(tmp_path),
        "--out",
        tmp_path / "run",
        "--no-report",
        "--json",
        seconds_a_trial=0.02,
    )
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    ) as process:
        os.close(follower)
        printed = process.stdout.read()
        shown = b""
        while True:
            try:
                more = os.read(leader, 65536)
            except OSError:  # the other side is closed
                break
            if not more:
                break
            shown += more
    os.close(leader)
    assert process.returncode == 0
    assert json.loads(printed)["trials"] == 30
    assert b"of 30 trials" in shown
    assert b"left" in shown


def test_of_very_many_faults_some_are_printed_and_the_others_counted(tmp_path):
    faulty = SMALL_RUN.changed({f"k{at}": at for at in range(1000)})
    path = faulty.save(tmp_path / "small.toml")
    for command in ("validate", "run"):
        ended = invoke(command, path)
        assert ended.returncode == 2
        lines = ended.stderr.splitlines()
        assert len(lines) == 51
        assert lines[0].startswith(f"{path}: k0 = 0: unknown key")
        assert lines[-1] == f"{path}: 950 more faults"
    found = json.loads(invoke("validate", path, "--json").stdout)
    assert (found["valid"], found["fault_count"], len(found["faults"])) == (False, 1000, 50)


def test_a_path_that_is_no_utf_8_is_refused_before_anything_runs(tmp_path):
    out = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    ended = invoke_fake("run", write_experiment(tmp_path), "--out", out)
    assert ended.returncode == 2
    assert ended.stderr.endswith("/\\udcff: expected text in UTF-8\n")
    assert ended.stderr.startswith("command line: argument = ")
    assert not os.path.lexists(out)
    with pytest.raises(InputError, match="a path in UTF-8"):
        em.load(tmp_path / "small.toml").run(out=Path(out))
    assert not os.path.lexists(out)


@pytest.mark.parametrize("options", [(), ("--force",)], ids=str)
def test_a_folder_that_cannot_be_is_named_with_the_reason(tmp_path, options):
    out = tmp_path / ("a" * 300)
    ended = invoke_fake("run", write_experiment(tmp_path), "--out", out, *options)
    assert ended.returncode in (1, 2)
    assert "aaaa" in ended.stderr
    assert "File name too long" in ended.stderr
    assert "plan" not in ended.stderr


def test_a_folder_of_others_is_refused_without_a_list_of_what_is_in_it():
    ended = invoke_fake("run", "poisson-load", "--out", "/sys/kernel")
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith("/sys/kernel: directory = ")
    assert line.endswith(": an empty directory, or one with a run in it")


@pytest.mark.skipif(not shutil.which("capsh"), reason="capsh is not installed")
@pytest.mark.skipif(os.geteuid() != 0, reason="folders of others need root")
def test_a_folder_where_nothing_may_be_written_is_named(tmp_path):
    closed, read_only = tmp_path / "closed", tmp_path / "read-only"
    for folder, mode in ((closed, 0o700), (read_only, 0o755)):
        folder.mkdir()
        os.chown(folder, 65534, 65534)
        folder.chmod(mode)
    experiment = write_experiment(tmp_path)
    without = ["capsh", "--drop=cap_dac_override,cap_dac_read_search", "--", "-c", 'exec "$@"', "-"]
    for out, said in (
        (closed / "run", f"{closed / 'run'}: folder = Permission denied: expected a folder in"),
        (read_only / "run", f"ethermeter: cannot write {read_only / 'run'}: Permission denied"),
        (read_only, f"ethermeter: cannot write {read_only / 'experiment.toml'}: Permission denied"),
    ):
        ended = call([*without, *real("run", experiment, "--out", out)])
        assert ended.returncode in (1, 2)
        (line,) = ended.stderr.splitlines()
        assert line.startswith(said)


def test_completion_that_cannot_be_installed_is_a_line(tmp_path):
    home = tmp_path / "home"
    home.write_text("no folder")
    for words, shell in ((("bash",), {}), ((), {"SHELL": "/bin/bash"})):
        command = real("--install-completion", *words)
        ended = call(command, env={"HOME": str(home / "inner"), **shell})
        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        assert line.startswith(f"ethermeter: {home}")
        assert line.endswith("Not a directory")
    for words, said in ((("csh",), "shell = csh"), ((), "SHELL = (not set)")):
        env = {"HOME": str(tmp_path), "SHELL": ""}
        ended = call(real("--install-completion", *words), env=env)
        assert ended.returncode == 2
        assert ended.stderr == f"command line: {said}: expected one of bash, zsh, fish\n"
