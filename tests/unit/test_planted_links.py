"""Links planted in a run directory: nothing is written or read through them."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from ethermeter.faults import InputError
from ethermeter.store import RunDirectory, make_folder, write_whole
from ethermeter.store.files import ABANDONED_S, TEMPORARY, remove_abandoned, written_whole
from program import invoke_fake
from small_runs import write_experiment


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with an experiment and its finished run."""
    folder = tmp_path_factory.mktemp("finished")
    ended = invoke_fake("run", write_experiment(folder), "--out", folder / "run", "--no-report")
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, beside a file of somebody else."""
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    return Path(shutil.copytree(finished / "run", tmp_path / "run"))


def test_a_report_is_not_written_through_a_planted_temporary_file(run, tmp_path):
    (run / ".tmp-report.html").symlink_to(tmp_path / "precious")
    ended = invoke_fake("report", run)
    assert ended.returncode == 2
    assert f"{run}/.tmp-report.html: file = a link" in ended.stderr
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["parts", "experiments", "live", "captures"])
@pytest.mark.parametrize("way", [(), ("--force",)])
def test_a_run_writes_nothing_through_a_planted_folder(finished, tmp_path, name, way):
    out, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (elsewhere / "000000.parquet").write_text("mine", encoding="utf-8")
    shutil.copy(finished / "run" / "plan.jsonl", out)
    (out / name).symlink_to(elsewhere)
    ended = invoke_fake("run", finished / "small.toml", "--out", out, *way)
    assert ended.returncode == 2
    assert f"{out}/{name}: file = a link" in ended.stderr
    assert [path.name for path in elsewhere.iterdir()] == ["000000.parquet"]


def test_a_file_in_the_place_of_a_folder_is_named(finished, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    shutil.copy(finished / "run" / "plan.jsonl", out)
    (out / "parts").write_text("mine", encoding="utf-8")
    ended = invoke_fake("run", finished / "small.toml", "--out", out)
    assert ended.returncode == 2
    assert f"{out}/parts: file = a file: expected a directory" in ended.stderr
    assert (out / "parts").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("command", ["report", "report --metric goodput", "compare RUN", "compare"])
def test_a_run_with_a_link_in_it_is_refused(run, tmp_path, command):
    (run / "stations.parquet").rename(tmp_path / "moved")
    (run / "stations.parquet").symlink_to(tmp_path / "moved")
    ended = invoke_fake(*(run if word == "RUN" else word for word in command.split()), run)
    assert ended.returncode == 2
    assert (
        f"{run}/stations.parquet: file = a link: expected files and folders of "
        "the run itself; remove it"
    ) in ended.stderr


def test_a_link_deep_in_a_run_is_refused_too(run, tmp_path):
    (run / "live" / "small").mkdir(parents=True)
    (run / "live" / "small" / "00000.json").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match=r"live/small/00000\.json: file = a link"):
        RunDirectory(run)


def test_a_run_directory_may_itself_be_reached_by_a_link(run, tmp_path):
    (tmp_path / "shortcut").symlink_to(run)
    assert invoke_fake("report", tmp_path / "shortcut").returncode == 0
    assert (run / "report.html").is_file()


def test_a_file_takes_the_place_of_a_link_and_does_not_follow_it(tmp_path):
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    (tmp_path / "new").symlink_to(tmp_path / "precious")
    write_whole(tmp_path / "new", "ours")
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "new").is_symlink()
    assert (tmp_path / "new").read_text(encoding="utf-8") == "ours"


def test_a_folder_that_becomes_a_link_at_the_last_moment_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "parts").symlink_to(tmp_path / "elsewhere")
    for write in (
        lambda: write_whole(tmp_path / "run" / "parts" / "x", "ours", within=tmp_path / "run"),
        lambda: make_folder(tmp_path / "run" / "parts" / "deeper", within=tmp_path / "run"),
    ):
        with pytest.raises(OSError, match="a link, or no directory, is in its path"):
            write()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_temporary_names_cannot_be_foreseen(tmp_path, monkeypatch):
    names: list[str] = []
    replace = os.replace
    monkeypatch.setattr(
        os,
        "replace",
        lambda source, *rest, **more: (names.append(str(source)), replace(source, *rest, **more)),
    )
    for _ in range(2):
        write_whole(tmp_path / "x", "ours")
    assert len(set(names)) == 2
    assert all(name.startswith(TEMPORARY) and len(name) == len(TEMPORARY) + 16 for name in names)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("name", ["open", "fdopen", "fsync", "replace"])
def test_an_interrupt_at_any_moment_leaves_no_temporary_file(tmp_path, monkeypatch, name):
    done = getattr(os, name)

    def interrupted(*arguments: Any, **more: Any) -> Any:
        opened = done(*arguments, **more)
        if name == "open":
            if TEMPORARY not in str(arguments[0]):
                return opened
            os.close(opened)
        if name == "fdopen":
            opened.close()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "x", "ours")
    assert not list(tmp_path.glob(f"{TEMPORARY}*"))


def aged(path: Path) -> None:
    """Let a file be one that has not changed for a while."""
    os.utime(path, (0, path.stat().st_mtime - 2 * ABANDONED_S))


def test_temporary_files_of_killed_processes_are_removed_after_a_while(tmp_path):
    old, new, link = (tmp_path / f"{TEMPORARY}{name}" for name in ("old", "new", "link"))
    inner = tmp_path / "live" / f"{TEMPORARY}inner"
    inner.parent.mkdir()
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    for path in (old, new, inner):
        path.write_text("half", encoding="utf-8")
    aged(old)
    aged(inner)
    link.symlink_to(tmp_path / "precious")
    remove_abandoned(tmp_path)
    kept = {new.name, link.name, "precious", "live"}
    assert {path.name for path in tmp_path.iterdir()} == kept
    assert not list((tmp_path / "live").iterdir())


def test_a_temporary_file_that_is_being_written_is_not_removed_however_old(tmp_path):
    with written_whole(tmp_path / "x") as file:
        file.write(b"half")
        file.flush()
        (temporary,) = tmp_path.glob(f"{TEMPORARY}*")
        aged(temporary)
        remove_abandoned(tmp_path)
        assert temporary.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
