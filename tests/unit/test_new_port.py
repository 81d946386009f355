"""A new live port is three files: docs/how-to/add-a-port.md, applied to a copy of the crates."""

import re
import shutil
import socket
from pathlib import Path

import pytest
from changes import ROOT, apply, call, change_of

CHANGE = change_of("add-a-port.md")
UDP_LITE = 136


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a copy of the crates, with the change applied."""
    path = tmp_path_factory.mktemp("new-port")
    shutil.copytree(ROOT / "crates", path / "crates")
    for file in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / file, path / file)
    apply(CHANGE, path)
    return path


def test_a_change_of_three_files_applies(tree):
    assert len(re.findall(r"^\+\+\+ b/", CHANGE, re.MULTILINE)) == 3
    assert "UdpLite" in (tree / "crates/live/src/port/mod.rs").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_port_is_built_and_its_datagrams_arrive(tree):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM, UDP_LITE).close()
    except OSError as error:
        pytest.skip(f"this kernel has no UDP-Lite: {error}")
    ran = call(
        tree,
        *("cargo", "test", "--release", "--offline", "--lib"),
        *("-p", "ethermeter-live", "-p", "ethermeter-station", "--"),
        *("udp_lite", "words_are_read_as_they_are_written"),
    )
    assert "datagrams_of_udp_lite_arrive_as_those_of_udp_do ... ok" in ran
    assert "words_are_read_as_they_are_written_and_others_refused ... ok" in ran
