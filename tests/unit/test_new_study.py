"""A new study is one folder: that of docs/how-to/add-a-study.md, in a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import ethermeter
import pytest

ROOT = Path(__file__).parents[2]
FILES = re.findall(
    r"^```(?:toml|python)\n# (studies/\S+)\n(.*?)^```",
    (ROOT / "docs" / "how-to" / "add-a-study.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a copy of the package that has the study of the documentation."""
    path = tmp_path_factory.mktemp("package")
    source = Path(ethermeter.__file__).parent
    shutil.copytree(source, path / "ethermeter", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES:
        file = path / "ethermeter" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (file.parent / "__init__.py").write_text('"""RFC 2544, section 20."""\n', encoding="utf-8")
    return path


def call(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ethermeter", *words],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_new_folder_is_a_study_that_is_listed_run_and_judged(package):
    assert {Path(name).name for name, _ in FILES} == {
        "line-rate.toml",
        "published.toml",
        "study.py",
        "sections.py",
    }
    listed = call(package, "study")
    assert re.search(r"^rfc2544 +Maximum frame rates", listed.stdout, re.MULTILINE), listed.stderr
    ended = call(package, "study", "rfc2544", "--jobs", "1", "--out", "run", "--json")
    assert ended.returncode == 0, ended.stderr
    claims = json.loads(ended.stdout)["claims"]["claims"]
    assert {claim["id"]: claim["verdict"] for claim in claims} == {
        "rate-64": "met",
        "rate-1518": "met",
    }
    page = (package / "run" / "report.html").read_text(encoding="utf-8")
    assert "Maximum frame rates (RFC 2544), simulated" in page
    assert "A frame occupies its preamble" in page


def test_its_experiments_are_shipped_and_sound(package):
    assert "rfc2544/line-rate" in call(package, "experiments", "all").stdout
    assert call(package, "validate", "rfc2544/line-rate").returncode == 0


def test_a_quick_run_is_shorter_and_has_the_same_points(package):
    ended = call(package, "study", "rfc2544", "--quick", "--jobs", "1", "--out", "quick", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)["claims"]["claims"]
    # Of the long frames, 81 in 100 ms: a frame more or less is 1.2%, and the interval of ten parts
    # is wider than 3%.
    assert [claim["verdict"] for claim in found] == ["met", "undecided"]
