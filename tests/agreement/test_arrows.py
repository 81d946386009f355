"""What tools prove of the whole package: the stub of the core, and the direction of imports."""

import sys
from pathlib import Path

from program import call

ROOT = Path(__file__).parents[2]


def test_the_stub_says_what_the_compiled_core_has():
    ended = call(
        [sys.executable, "-m", "mypy.stubtest", "ethermeter._core"],
        cwd=ROOT / "python",
        env={"MYPYPATH": "."},
    )
    assert ended.returncode == 0, ended.stdout


def test_rooms_depend_one_way():
    ended = call(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=ROOT,
    )
    assert ended.returncode == 0, ended.stdout
