"""Too little memory: a line with the reason and an exit code, at once."""

import errno
import resource
import subprocess
import sys
from collections.abc import Callable

import pyarrow as pa
import pytest
from ethermeter.cli import memory
from ethermeter.store import parts
from program import real
from shared_experiments import SEGMENT

MIB = 1 << 20


def limited(octets: int) -> Callable[[], None]:
    """Return what limits the address space of a process that is about to begin."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (octets, octets))

    return limit


# Below the least of these Python itself does not begin; from 185 to 225 MiB the library that
# calculates waited forever, and heard no signal.
@pytest.mark.parametrize("mebibytes", [100, 150, 185, 195, 205, 215, 300, 400])
def test_a_run_without_memory_ends_with_a_line(tmp_path, mebibytes):
    words = ("run", SEGMENT.save(tmp_path / "x.toml"), "--out", tmp_path / "run", "--no-report")
    ended = subprocess.run(
        real(*words),
        preexec_fn=limited(mebibytes * MIB),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode not in (0, 2)
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    if ended.returncode == 1 and "OpenBLAS" not in ended.stderr:
        limit = f"ethermeter: not enough memory within the limit of {mebibytes * 1024} KiB"
        assert ended.stderr.startswith(limit)


def test_a_run_within_a_limit_that_suffices_has_one_thread_of_the_library(tmp_path):
    code = (
        "import os, sys; from ethermeter.cli import main\n"
        "try:\n    main()\nfinally:\n    print('threads', os.environ['OPENBLAS_NUM_THREADS'])"
    )
    words = ("run", SEGMENT.save(tmp_path / "x.toml"), "--out", tmp_path / "run", "--no-report")
    ended = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        preexec_fn=limited(4096 * MIB),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "threads 1"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 8 GiB"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libarrow.so: failed to map segment from shared object"),
        pa.lib.ArrowMemoryError("malloc of size 8 failed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_for_the_lack_of_memory_are_told_from_others(error):
    found = memory.lack(error)
    assert found is not None
    assert found.startswith("not enough memory")
    assert str(error) in found


def test_other_errors_are_none():
    assert memory.lack(ImportError("no module named x")) is None
    assert memory.lack(OSError(errno.EACCES, "denied")) is None
    assert memory.lack(ValueError("x")) is None


@pytest.mark.parametrize("text", ["malloc of size 8 failed", "Failed to launch worker thread"])
def test_a_file_is_not_called_torn_for_the_lack_of_memory_or_threads(tmp_path, monkeypatch, text):
    def fail(*_: object, **__: object) -> None:
        raise (pa.lib.ArrowMemoryError if "malloc" in text else pa.lib.ArrowException)(text)

    (tmp_path / "x.parquet").write_bytes(b"")
    monkeypatch.setattr("pyarrow.parquet.ParquetFile", fail)
    with pytest.raises(MemoryError, match=text):
        parts.read(tmp_path / "x.parquet", stamp=parts.Stamp("", ""))
