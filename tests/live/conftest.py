"""What tests on real interfaces share."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from ethermeter.testbed import kept, remove_kept
from program import invoke
from stalls import INCONCLUSIVE, Contention

ROOT = Path(__file__).parents[2]
LOST = re.compile(
    r"no answer(?: in \d+ s)?$|rule clock: a beginning .*|receivers have not renewed .*"
    r"|a receiver of its roles no longer renewed .*|its roles (?:ended by lease|did not end .*)"
    r"|Deadline Exceeded",
    re.MULTILINE,
)
"""What `ethermeter` says of agents that did not get a processor in time."""
HELD_UP = pytest.StashKey[Contention]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, and say so, what needs root where there is none."""
    if os.geteuid() != 0:
        for item in items:
            if item.get_closest_marker("root"):
                item.add_marker(pytest.mark.skip(reason="network namespaces need root"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin to count how long tasks wait for processors."""
    item.stash[HELD_UP] = Contention()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Call a test inconclusive in which `ethermeter` said that an agent was lost, for the lack of a
    processor.
    """
    report = yield
    said = LOST.search(str(call.excinfo.value)) if report.failed and call.excinfo else None
    if said and (why := item.stash[HELD_UP].figure()):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), None, f"Skipped: {INCONCLUSIVE}{said[0]}; {why}")
    return report


PROGRAMS = ("--bin", "ethermeter-agent", "--example", "station", "--example", "explain-json")


@pytest.fixture(scope="session")
def programs() -> dict[str, str]:
    """Paths of the programs of the crates by name, built with what their tests are built with."""
    command = ["cargo", "build", "--release", "--quiet", "--workspace", *PROGRAMS]
    command += ["--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    messages = map(json.loads, built.stdout.splitlines())
    return {
        message["target"]["name"]: message["executable"]
        for message in messages
        if message.get("executable")
    }


@pytest.fixture(scope="session")
def station(programs: dict[str, str]) -> str:
    """Path of the example program that plays one station of a measurement."""
    return programs["station"]


@pytest.fixture(scope="session")
def agent(programs: dict[str, str]) -> str:
    """Path of the agent."""
    return programs["ethermeter-agent"]


@pytest.fixture(scope="session")
def explainer(programs: dict[str, str]) -> str:
    """Path of the example program that explains a capture; its peers must be installed."""
    for tool in ("tshark", "dumpcap", "tcptrace"):
        assert shutil.which(tool), f"{tool} is missing; scripts/install-system-packages installs it"
    return programs["explain-json"]


@pytest.fixture
def up() -> Iterator[Callable[..., Any]]:
    """Make a testbed by `testbed up WORDS`, as long as the test lasts; return what it prints."""
    names: list[str] = []

    def make(*words: object) -> Any:
        done = invoke("testbed", "up", *words, "--json")
        assert done.returncode == 0, done.stderr
        made = json.loads(done.stdout)
        names.append(made["name"])
        return made

    yield make
    for name in kept().keys() & set(names):
        remove_kept(name)


@pytest.fixture
def namespaces() -> Callable[..., set[str]]:
    """Namespaces of testbeds that exist; with `maker`, those that this process made."""

    def find(*, maker: int | None = None) -> set[str]:
        wanted = "em-*" if maker is None else f"em-{maker}-*"
        return {path.name for path in Path("/run/netns").glob(wanted)}

    return find
