"""The wheel, installed as the page on installation says, on a machine without Rust."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from documents import ROOT, commands, page

WHEELS = sorted((ROOT / "dist").glob("*.whl"))
SOURCES = sorted((ROOT / "dist").glob("*.tar.gz"))
pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("wheel"),
    pytest.mark.skipif(len(WHEELS) != 1 or len(SOURCES) != 1, reason="make wheel builds them"),
]
NEWEST_GLIBC = (2, 17)
"""Of manylinux2014."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Run a command with a PATH that has the installed program and the system, without Rust."""
    home = tmp_path_factory.mktemp("home")
    environment = {
        "HOME": str(home),
        "PIPX_HOME": str(home / "pipx"),
        "PIPX_BIN_DIR": str(home / "bin"),
        "PIPX_DEFAULT_PYTHON": sys.executable,
        "PATH": os.pathsep.join(
            [str(home / "bin"), str(home / "pipx-command"), "/usr/bin", "/bin"]
        ),
        **{name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "SSL_"))},
    }
    (home / "pipx-command").mkdir()
    (home / "pipx-command" / "pipx").symlink_to(Path(sys.executable).parent / "pipx")

    def run(command):
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    assert run("command -v cargo rustc || true") == ""
    install, *_ = commands(page("docs/how-to/install.md"))
    run(install.replace("dist/", f"{ROOT}/dist/"))
    return run


def test_the_installed_command_runs_and_reports(installed):
    _, version, *_ = commands(page("docs/how-to/install.md"))
    assert re.fullmatch(r"ethermeter \d+\.\d+\.\d+\n", installed(version))
    answer = installed("ethermeter run schools-hub --out run --json")
    assert json.loads(answer)
    report = installed("ethermeter report run && cat run/report.html")
    assert "</html>" in report
    python = "pipx/venvs/ethermeter/bin/python"
    installed(f"{python} -c 'import vl_convert' 2>/dev/null && exit 1 || true")
    assert "vegaEmbed" in report
    installed("python3 -c 'import ethermeter' 2>/dev/null && exit 1 || true")


def test_the_installed_agent_and_relay_need_no_other_program(installed):
    answer = installed(
        "ethermeter agent --listen 127.0.79.1:0 > agent.txt & agent=$!;"
        " until grep -q listening agent.txt; do sleep 0.1; done; kill $agent; cat agent.txt"
    )
    assert answer.startswith("listening on 127.0.79.1:")
    installed("pipx/venvs/ethermeter/bin/python -c 'from ethermeter._core import Relay'")


def test_the_wheel_is_for_every_python_since_3_11_and_glibc_2_17():
    assert "-cp311-abi3-manylinux2014_" in WHEELS[0].name
    with zipfile.ZipFile(WHEELS[0]) as wheel:
        core = wheel.read("ethermeter/_core.abi3.so")
        names = wheel.namelist()
    needed = {
        tuple(map(int, version.split(b".")))
        for version in re.findall(rb"\bGLIBC_(\d+\.\d+(?:\.\d+)?)\b", core)
    }
    assert needed
    assert max(needed)[:2] <= NEWEST_GLIBC
    for kind in (
        "experiments/office.toml",
        "report/templates/page.html",
        "report/templates/vega.js",
        "_core.pyi",
    ):
        assert any(name.endswith(kind) for name in names), kind


def test_wheel_and_sources_hold_no_key_and_no_path_of_the_machine():
    with zipfile.ZipFile(WHEELS[0]) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(SOURCES[0]) as sources:
        files |= {
            of.name: sources.extractfile(of).read() for of in sources.getmembers() if of.isfile()
        }
    assert any(name.endswith("Cargo.lock") for name in files)
    home = str(Path.home()).encode()
    for name, content in files.items():
        assert b"PRIVATE KEY-----" not in content, name
        for path in (str(ROOT).encode(), home + b"/"):
            assert path not in content, (name, path)
