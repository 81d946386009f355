"""Damaged run directories: every file of a finished run, damaged in every way, under every command
that reads it.

Either the command names the damaged file in a line and exits 2, or it makes the file again from
what it is derived from.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ethermeter.experiment import shipped
from program import invoke, settings
from small_runs import SMALL_RUN

SEGMENT = SMALL_RUN.changed(
    vary={"stations.count": [2, 5]}, run={"replications": 1, "engines": ["simulation", "theory"]}
).text()
NETWORK = shipped()["request-response"].read_text(encoding="utf-8")
OVERRIDES = (
    *settings(
        "run.replications=1", 'phases.transmit="20 ms"', 'phases.measure="last 10 ms"', "vary={}"
    ),
)


def _flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def _rewritten(content: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(content(path.read_bytes()))

    return damage


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "an empty object": _rewritten(lambda _: b"{}\n"),
    "empty": _rewritten(lambda _: b""),
    "half": _rewritten(lambda content: content[: len(content) // 2]),
    "a flipped bit": _rewritten(_flipped),
    "a flipped bit at the end": _rewritten(
        lambda content: content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]
    ),
    "random bytes": _rewritten(lambda content: random.Random(1).randbytes(len(content))),
    "null": _rewritten(lambda _: b"null"),
    "no file": lambda path: path.unlink(),
    "a directory": _directory,
    "a link": _link,
}


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Finished runs by their kind, each beside the experiment it is of."""
    found = {}
    for kind, text, more in (("segment", SEGMENT, ()), ("network", NETWORK, OVERRIDES)):
        folder = tmp_path_factory.mktemp(kind)
        (folder / "small.toml").write_text(text, encoding="utf-8")
        ended = invoke("run", folder / "small.toml", "--out", folder / "run", *more)
        assert ended.returncode == 0, ended.output
        found[kind] = folder
    return found


def _files(kind: str) -> tuple[str, ...]:
    stations = ("stations.parquet", "station-batches.parquet", "media.parquet")
    tables = stations if kind == "segment" else ("flows.parquet",)
    made = (
        "experiment.toml",
        "plan.jsonl",
        "provenance.json",
        *tables,
        "histograms.parquet",
        "estimates.json",
        "report.html",
    )
    return made if kind == "segment" else (*made, "ports.parquet", "flow-batches.parquet")


CASES = [
    (kind, file, damage)
    for kind in ("segment", "network")
    for file in _files(kind)
    for damage in DAMAGES
]


@pytest.mark.parametrize(("kind", "file", "damage"), CASES)
def test_a_damaged_file_is_named_or_made_again(undamaged, tmp_path, kind, file, damage):
    folder = undamaged[kind]
    more = OVERRIDES if kind == "network" else ()
    commands = {
        "run": [
            "run",
            str(folder / "small.toml"),
            "--out",
            "RUN",
            *more,
            "--no-report",
        ],
        "report": ["report", "RUN"],
        "compare": ["compare", "RUN", str(folder / "run")],
        "agreement": ["compare", "RUN"],
        "admission": ["model", "admission", "run=RUN", "offered=20"],
    }
    if kind == "network":
        commands["ceilings"] = ["find", "ceilings", "--roofline", "RUN"]
    else:
        commands["figures"] = ["report", "RUN", "-m", "goodput", "--out", str(tmp_path)]
    for name, command in commands.items():
        run = tmp_path / name / "run"
        shutil.copytree(folder / "run", run)
        whole = (run / file).read_bytes()
        DAMAGES[damage](run / file)
        ended = invoke(*(word.replace("RUN", str(run)) for word in command))
        said = f"{name}: {ended.returncode}\n{ended.stderr}"
        assert "internal error" not in ended.stderr, said
        assert "Traceback" not in ended.output, said
        if name == "admission":  # it refuses whole runs of these kinds, too
            assert ended.returncode == 2, said
            continue
        if ended.returncode != 0:
            assert ended.returncode == 2, said
            assert all(line.strip() for line in ended.stderr.splitlines()), said
            assert file in ended.stderr or name == "agreement", said
        elif damage == "a link":
            pytest.fail(f"a link was followed; {said}")
        elif name == "report" or (name == "run" and file != "report.html"):
            # What was made again is what was there; a page and a provenance have times.
            assert (run / file).is_file(), said
            if file not in ("report.html", "provenance.json"):
                assert (run / file).read_bytes() == whole, said
