"""Temporary directories: removed with their process, or by the next one if it was killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ethermeter.store import scratch

HOLDS = """
import sys
from ethermeter.store.scratch import temporary_directory
with temporary_directory() as path:
    (path / "inner").mkdir()
    (path / "inner" / "key.pem").write_text("secret")
    print(path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def holder(tmp_path: Path) -> tuple["subprocess.Popen[str]", Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path):
    process, path = holder(tmp_path)
    process.kill()
    process.communicate(timeout=30)
    assert (path / "inner" / "key.pem").is_file()
    with scratch.temporary_directory() as own:
        assert [entry.name for entry in tmp_path.iterdir()] == [own.name]
    assert not list(tmp_path.iterdir())


def test_the_directory_of_a_living_process_stays(tmp_path):
    process, path = holder(tmp_path)
    try:
        assert scratch.remove_leftovers() == []
        assert (path / "inner" / "key.pem").is_file()
    finally:
        process.communicate("", timeout=30)
    assert not path.exists()


def test_links_and_what_others_call_alike_stay(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".owned").touch()
    (tmp_path / "ethermeter-abcdefgh").symlink_to(outside)
    (tmp_path / "ethermeter-notes").mkdir()
    (tmp_path / "ethermeter-notes" / "thesis.txt").touch()
    (tmp_path / "ethermeter-12345678").mkdir()
    (tmp_path / "ethermeter-12345678" / "thesis.txt").touch()
    (tmp_path / "ethermeter-a-long-name").mkdir()
    (tmp_path / "ethermeter-a-long-name" / ".owned").touch()
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    assert scratch.remove_leftovers() == []
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_link_within_a_leftover_is_removed_and_not_followed(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").touch()
    left = tmp_path / "ethermeter-abcdefgh"
    left.mkdir()
    (left / ".owned").touch()
    (left / "inner").symlink_to(tmp_path / "precious")
    assert scratch.remove_leftovers() == [left]
    assert (tmp_path / "precious" / "thesis.txt").is_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_the_leftovers_of_others_stay(tmp_path):
    left = tmp_path / "ethermeter-abcdefgh"
    left.mkdir()
    (left / ".owned").touch()
    os.chown(left, 12345, 12345)
    assert scratch.remove_leftovers() == []
    assert left.is_dir()


def test_an_empty_one_is_a_leftover_only_after_a_while(tmp_path):
    left = tmp_path / "ethermeter-abcdefgh"
    left.mkdir()
    assert scratch.remove_leftovers() == []
    os.utime(left, (0, left.stat().st_mtime - 7200))
    assert scratch.remove_leftovers() == [left]
