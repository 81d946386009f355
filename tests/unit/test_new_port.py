"""A new live port is three files: docs/extending.md, applied to a copy of the crates."""

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGE = re.search(
    r"^## A new live port\n.*?^```diff\n(.*?)^```",
    (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
UDP_LITE = 136


def call(tree: Path, *words: str) -> str:
    """Run a command in the copy and return what it printed."""
    done = subprocess.run(
        words,
        cwd=tree,
        env={
            **os.environ,
            # Dependencies are those that are built already.
            "CARGO_TARGET_DIR": str(ROOT / "target"),
            "GIT_CEILING_DIRECTORIES": str(tree.parent),
        },
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a copy of the crates, with the change applied."""
    path = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "crates", path / "crates")
    for file in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / file, path / file)
    assert CHANGE
    (path / "change.diff").write_text(CHANGE[1], encoding="utf-8")
    # By the text around each change, wherever in its file that has moved to.
    call(path, "git", "apply", "-C1", "change.diff")
    return path


def test_a_change_of_three_files_applies(tree: Path) -> None:
    assert CHANGE
    assert len(re.findall(r"^\+\+\+ b/", CHANGE[1], re.MULTILINE)) == 3
    assert "UdpLite" in (tree / "crates/live/src/port/mod.rs").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_port_is_built_and_its_datagrams_arrive(tree: Path) -> None:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM, UDP_LITE).close()
    except OSError as error:
        pytest.skip(f"this kernel has no UDP-Lite: {error}")
    ran = call(
        tree,
        *("cargo", "test", "--release", "--offline", "--lib"),
        *("-p", "ethermeter-live", "-p", "ethermeter-agent", "--"),
        *("udp_lite", "words_are_read_as_they_are_written"),
    )
    assert "datagrams_of_udp_lite_arrive_as_those_of_udp_do ... ok" in ran
    assert "words_are_read_as_they_are_written_and_others_refused ... ok" in ran
