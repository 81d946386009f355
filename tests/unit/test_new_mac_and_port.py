"""A new MAC is three files and a generated one, a new live port is three.

The changes of docs/how-to/add-a-mac.md and add-a-port.md are applied to one copy of the crates, so
that they share a build.
"""

import re
import shutil
import socket
import sys
from pathlib import Path

import pytest
from changes import ROOT, apply, call, change_of

COPIED = ("crates", "scripts", "Cargo.toml", "Cargo.lock", "pyproject.toml", "rustfmt.toml")
GENERATED = Path("python/ethermeter/scenario.py")
MAC, PORT = change_of("add-a-mac.md"), change_of("add-a-port.md")
UDP_LITE = 136
CHANGED = ("simulator", "live", "station")
# Not their speed is tested, so what is changed is compiled in the shortest time.
QUICK = [
    word
    for crate in ("ethernet", "traffic", "trial", "capture", *CHANGED)
    for setting in ("opt-level=0", "codegen-units=16")
    for word in ("--config", f"profile.release.package.ethermeter-{crate}.{setting}")
]


@pytest.fixture(scope="module")
def tree() -> Path:
    """A directory with a copy of the crates, with both changes applied.

    What others wrote is taken from what this tree has compiled, where that is there.
    """
    path = ROOT / "target" / "changed"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    for name in (*COPIED, str(GENERATED)):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, path / name)
    for folder in ("deps", "build", ".fingerprint"):
        if (compiled := ROOT / "target" / "release" / folder).is_dir():
            ours = shutil.ignore_patterns("*ethermeter*", "lib_core*", "all-*")
            shutil.copytree(compiled, path / "target" / "release" / folder, ignore=ours)
    apply(MAC, path)
    apply(PORT, path)
    return path


def files_of(change: str) -> int:
    """Files that a change touches."""
    return len(re.findall(r"^\+\+\+ b/", change, re.MULTILINE))


def test_changes_of_three_files_each_apply(tree):
    assert files_of(MAC) == 3
    assert files_of(PORT) == 3
    assert "UdpLite" in (tree / "crates/net/src/port/mod.rs").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.xdist_group("new-mac-and-port")
def test_the_mac_keeps_its_law_and_the_scenario_is_generated_with_it(tree):
    ran = call(
        *(tree, "cargo", "test", *QUICK, "--release", "--package", "ethermeter-simulator"),
        *("--lib", "aloha"),
    )
    assert "throughput_is_that_of_abramson ... ok" in ran
    call(tree, sys.executable, "scripts/generate-structs", "scenario")
    generated = (tree / GENERATED).read_text(encoding="utf-8")
    assert "class Aloha(" in generated
    assert generated != (ROOT / GENERATED).read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.xdist_group("new-mac-and-port")
def test_the_port_is_built_and_its_datagrams_arrive(tree):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM, UDP_LITE).close()
    except OSError as error:
        pytest.skip(f"this kernel has no UDP-Lite: {error}")
    ran = call(
        *(tree, "cargo", "test", *QUICK, "--release", "--lib"),
        *("--package", "ethermeter-net", "--package", "ethermeter-station", "--"),
        *("udp_lite", "words_are_read_as_they_are_written"),
    )
    assert "datagrams_of_udp_lite_arrive_as_those_of_udp_do ... ok" in ran
    assert "words_are_read_as_they_are_written ... ok" in ran
