"""What tests on real interfaces share."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, and say so, what needs root where there is none."""
    if os.geteuid() != 0:
        for item in items:
            if item.get_closest_marker("root"):
                item.add_marker(pytest.mark.skip(reason="network namespaces need root"))


def _built(*what: str) -> str:
    """Build a program, and return its path."""
    command = ["cargo", "build", "--release", "--quiet", *what, "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    messages = map(json.loads, built.stdout.splitlines())
    return next(message["executable"] for message in messages if message.get("executable"))


@pytest.fixture(scope="session")
def station() -> str:
    """Path of the example program that plays one station of a measurement."""
    return _built("--package", "ethermeter-live", "--example", "station")


@pytest.fixture(scope="session")
def agent() -> str:
    """Path of the agent."""
    return _built("--package", "ethermeter-agent")


@pytest.fixture(scope="session")
def explainer() -> str:
    """Path of the example program that explains a capture; its peers must be installed."""
    for tool in ("tshark", "dumpcap", "tcptrace"):
        assert shutil.which(tool), f"{tool} is missing; scripts/install-system-packages installs it"
    return _built("--package", "ethermeter-capture", "--example", "explain-json")


@pytest.fixture
def namespaces() -> Callable[..., set[str]]:
    """Namespaces of testbeds that exist; with `maker`, those that this process made."""

    def find(*, maker: int | None = None) -> set[str]:
        wanted = "em-*" if maker is None else f"em-{maker}-*"
        return {path.name for path in Path("/run/netns").glob(wanted)}

    return find
