"""Measurements in quiet windows: which call counts, what is noticed, and what a run of tests
prints.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import witness
from stalls import (
    CALLS,
    INCONCLUSIVE,
    KERNEL_THREADS,
    TOLERATED_STALL_S,
    QuietWindow,
    Repeats,
    Usage,
    Witnesses,
    others,
)

ROOT = Path(__file__).parents[2]
SPIN = "import time; until_s = time.monotonic() + {s}\nwhile time.monotonic() < until_s: pass"


class Machine:
    """Disturbs each of some windows of one second: by stalls and by other programs, in seconds of
    each.
    """

    def __init__(self, *disturbed: tuple[float, float]) -> None:
        self.disturbed = disturbed
        self.calls = 0

    def measure(self) -> int:
        self.calls += 1
        return self.calls

    def usage(self) -> Usage:
        so_far = self.disturbed[: self.calls]
        return Usage(
            float(self.calls),
            sum(stall for stall, _ in so_far),
            sum(others for _, others in so_far),
        )


@pytest.mark.parametrize(
    ("disturbed", "chosen"),
    [
        ([(0, 0)], 1),
        ([(TOLERATED_STALL_S * 0.9, 0.09)], 1),
        ([(TOLERATED_STALL_S * 1.1, 0), (0, 0)], 2),
        ([(0, 0.2), (0, 0)], 2),
        ([(0.1, 0), (0, 0.5), (0, 0)], 3),
    ],
)
def test_the_first_quiet_window_counts(disturbed, chosen):
    machine = Machine(*disturbed)
    assert QuietWindow(machine.usage)(machine.measure) == chosen == machine.calls


def test_without_a_quiet_window_a_test_is_inconclusive_and_tells_how_long_the_machine_stalled():
    machine = Machine((0.006, 0), (0.25, 0), (0, 0.5))
    with pytest.raises(pytest.skip.Exception) as caught:
        QuietWindow(machine.usage)(machine.measure)
    assert machine.calls == CALLS
    assert str(caught.value).startswith(INCONCLUSIVE)
    assert re.findall(r"(\d+) ms and (\d+) ms in 1.0 s", str(caught.value)) == [
        ("6", "0"),
        ("250", "0"),
        ("0", "490"),
    ]


def test_on_a_busy_machine_one_window_is_enough_to_know():
    machine = Machine((0, 0.6), (0, 0))
    with pytest.raises(pytest.skip.Exception, match="590 ms"):
        QuietWindow(machine.usage)(machine.measure)
    assert machine.calls == 1


def test_tests_share_the_time_for_further_windows():
    repeats = Repeats(left_s=1.5)
    first, second = Machine((1, 0), (0, 0)), Machine((1, 0), (0, 0))
    assert QuietWindow(first.usage, repeats)(first.measure) == 2
    with pytest.raises(pytest.skip.Exception, match="no time was left for another window"):
        QuietWindow(second.usage, repeats)(second.measure)
    assert second.calls == 1
    quiet = Machine((0, 0))
    assert QuietWindow(quiet.usage, repeats)(quiet.measure) == 1


def test_a_test_that_allows_for_longer_stalls_says_so():
    machine = Machine((0.04, 0), (0.02, 0))
    in_quiet_window = QuietWindow(machine.usage)
    assert in_quiet_window(machine.measure, tolerated_stall_s=0.03) == 2
    assert in_quiet_window.stalled_s == pytest.approx(0.02)


@pytest.mark.parametrize("stall_s", [0.0, 1.0])
def test_a_law_that_is_broken_fails_at_once_in_any_window(stall_s):
    machine = Machine(*[(stall_s, 0.0)] * CALLS)

    def measure() -> None:
        machine.measure()
        raise AssertionError("3 frames received, 2 sent")

    with pytest.raises(AssertionError, match="3 frames received"):
        QuietWindow(machine.usage)(measure)
    assert machine.calls == 1


def test_processor_time_of_other_programs_is_counted_and_that_of_tests_is_not():
    spin = [sys.executable, "-c", SPIN.format(s=20)]
    with subprocess.Popen(spin) as child:
        # A program whose parent has ended is no descendant of this process.
        started = subprocess.run(
            ["sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", *spin],
            check=True,
            capture_output=True,
            text=True,
        )
        other = int(started.stdout)
        try:
            until_s = time.monotonic() + 10
            while others()[other] < 0.2 and time.monotonic() < until_s:
                time.sleep(0.01)
            seen = others()
            assert seen[other] >= 0.2
            assert not seen.keys() & {child.pid, os.getpid(), KERNEL_THREADS}
        finally:
            child.kill()
            os.kill(other, signal.SIGKILL)


@pytest.mark.skipif(os.geteuid() != 0, reason="real-time priority needs root")
def test_a_processor_that_is_taken_away_is_noticed():
    taken_s = 0.05
    thief = f"""
import os, time
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO)))
{SPIN.format(s=taken_s)}
"""
    with Witnesses() as witnesses:
        before_s = witnesses.stalled_s()
        subprocess.run([sys.executable, "-c", thief], check=True, timeout=30)
        assert witnesses.stalled_s() - before_s >= taken_s - witness.STALL_S - witness.SLEEP_S


def test_a_witness_that_does_not_wake_up_at_all_is_a_stall_that_lasts():
    with Witnesses() as witnesses:
        witnesses.stop()
        before_s = witnesses.stalled_s()
        time.sleep(0.1)
        assert witnesses.stalled_s() - before_s >= 0.1


TESTS = """
import pytest
from pathlib import Path
from stalls import Usage, QuietWindow

def test_passes():
    pass

def test_finds_no_quiet_window():
    now = iter(range(99))
    QuietWindow(lambda: Usage(at := float(next(now)), at, 0.0))(lambda: None)

def test_is_skipped():
    pytest.skip("no browser")

def test_fails(request):
    with (Path(__file__).parents[1] / "calls").open("a") as file:
        file.write("called\\n")
    assert not "it fails"
"""


def run_tests(
    folder: Path, text: str, *options: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run tests as those of this repository are run."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "live").mkdir(exist_ok=True)
    (folder / "live" / "test_some.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--rootdir",
        str(folder),
        "-c",
        str(ROOT / "pyproject.toml"),
        *options,
        str(folder),
    ]
    paths = os.pathsep.join([str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths} | environment,
        cwd=folder,
        check=False,
    )


@pytest.mark.parametrize("processes", [[], ["-n", "2"]])
def test_a_run_counts_and_lists_what_was_inconclusive_and_runs_no_failed_test_again(
    tmp_path, processes
):
    done = run_tests(tmp_path, TESTS, *processes)
    assert done.returncode == 1, done.stdout
    assert "\n1 inconclusive: test_finds_no_quiet_window\n" in done.stdout
    assert re.search(
        r"test_finds_no_quiet_window: stalls .* took 1000 ms and 0 ms in 1.0 s", done.stdout
    )
    assert re.search(r"1 failed, 1 passed, 2 skipped in", done.stdout.splitlines()[-1])
    assert (tmp_path / "calls").read_text() == "called\n"


LONG = """
import pytest

@pytest.mark.long
def test_takes_minutes():
    pass

def test_is_short():
    pass
"""


@pytest.mark.parametrize(
    ("left_s", "counted"), [(60, "2 passed in"), (-60, "1 passed, 1 skipped in")]
)
def test_no_long_test_begins_when_no_time_is_left(tmp_path, left_s, counted):
    until_s = time.time() + left_s
    done = run_tests(tmp_path, LONG, ETHERMETER_LONG_UNTIL=str(until_s))
    assert done.returncode == 0, done.stdout
    assert counted in done.stdout.splitlines()[-1]
    is_told = "1 inconclusive: test_takes_minutes\n" in done.stdout
    assert is_told == (left_s < 0)


MEASURES = """
def test_measures(in_quiet_window):
    in_quiet_window(lambda: None, tolerated_stall_s=3600)

def test_does_not_measure():
    pass
"""


def test_a_test_that_needs_a_quiet_window_runs_alone_without_being_marked(tmp_path):
    for group, name in (("alone", "test_measures"), ("not alone", "test_does_not_measure")):
        done = run_tests(tmp_path, MEASURES, "--collect-only", "-q", "-m", group)
        assert [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line] == [
            name
        ]


def test_a_test_that_measures_this_machine_elsewhere_is_refused(tmp_path):
    (tmp_path / "test_elsewhere.py").write_text(MEASURES)
    done = run_tests(tmp_path, MEASURES, "--collect-only")
    assert done.returncode != 0
    assert "test_elsewhere.py::test_measures measures this machine: move it to" in done.stderr
