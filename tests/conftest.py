"""What all tests rely on."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import visiting
from hypothesis import settings
from stalls import (
    INCONCLUSIVE,
    Contention,
    NewPath,
    QuietWindow,
    Repeats,
    Witnesses,
    inconclusive,
    usage_by,
)

# Other processes share the machine, so no example of hypothesis has a deadline; what may not be
# slow has a test of its own.
settings.register_profile("fast", deadline=None)
settings.register_profile("slow", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

ALONE = ("live", "agreement")
"""Folders of tests that run alone: `make test-live` looks for such tests only there."""

LONG_UNTIL = float(os.environ.get("ETHERMETER_LONG_UNTIL", "inf"))
"""Time since 1970 in seconds from which on no long test begins: what CI has is bounded."""

# Started in the background of a shell without job control, a process ignores Ctrl-C, and its
# children inherit that. The tests that press it would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def witnesses() -> Iterator[Witnesses]:
    """Processes that notice when a processor stalls."""
    with Witnesses() as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[visiting.Browser]:
    """One browser for all tests of a process. While it runs, `asyncio.run` is refused there."""
    with visiting.chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def repeats() -> Repeats:
    """Time that is left for windows after the first, for all tests together."""
    return Repeats()


@pytest.fixture
def in_quiet_window(witnesses: Witnesses, repeats: Repeats) -> QuietWindow:
    """Take a measurement in a window without stalls; the test is inconclusive where there is none.

    `result = in_quiet_window(measure)` calls `measure()` until the machine did not stall during the
    call, at most three times, and as long as `repeats` has time for it.
    """
    return QuietWindow(usage_by(witnesses), repeats)


@pytest.fixture
def unless_held_up() -> Contention:
    """Assert what only a machine whose processors are taken prevents; there, the test is
    inconclusive: `unless_held_up(sent >= 50, f"{sent} frames")`.
    """
    return Contention()


@pytest.fixture
def new_path(tmp_path: Path) -> NewPath:
    """Return a new, empty directory at each call, for what a measurement writes that may be taken
    more than once.
    """
    return lambda: Path(tempfile.mkdtemp(dir=tmp_path))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that expect times or rates of this machine; what else runs on it changes these.
    Of several workers, none begins last what takes long.
    """
    if hasattr(config, "workerinput"):
        items.sort(
            key=lambda item: [item.get_closest_marker(name) is None for name in ("long", "slow")]
        )
    for item in items:
        if "in_quiet_window" in getattr(item, "fixturenames", ()):
            item.add_marker("alone")
        if item.get_closest_marker("alone") and item.path.parent.name not in ALONE:
            where = " or ".join(f"tests/{name}" for name in ALONE)
            raise pytest.UsageError(f"{item.nodeid} measures this machine: move it to {where}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no long test for which no time is left: it counts as inconclusive."""
    if item.get_closest_marker("long") and time.time() > LONG_UNTIL:
        inconclusive("no time was left for a long test")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count and list the tests that a stall or a lack of time left without an answer."""
    if terminalreporter.config.option.collectonly:
        return
    found = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        _, is_inconclusive, figure = reason.partition(INCONCLUSIVE)
        if is_inconclusive:
            found[report.nodeid] = figure
    if found:
        terminalreporter.section("inconclusive")
        for name, figure in found.items():
            terminalreporter.line(f"{name}: {figure}")
    names = ", ".join(name.rpartition("::")[2] for name in found)
    terminalreporter.line(f"{len(found)} inconclusive: {names}".rstrip(": "))
