"""The recorder: writes a run directory so that a run can be killed at any moment and continued."""

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from ethermeter.entities import entities_in
from ethermeter.faults import InputError, is_text
from ethermeter.store import parts
from ethermeter.store.columns import tables_of
from ethermeter.store.directory import ANSWER, PARTS, PLAN, QUESTION, is_finished
from ethermeter.store.files import (
    CAPTURES,
    LIVE,
    TEMPORARY,
    make_folder,
    opened,
    remove_abandoned,
    sync_directory,
    write_whole,
)
from ethermeter.store.integrity import (
    PROVENANCE,
    checksums_of,
    failed_in,
    read_provenance,
    refuse_foreign,
    write_provenance,
)
from ethermeter.store.parquet import FILES as TABLE_FILES
from ethermeter.store.parquet import write_all
from ethermeter.store.trial_result import TrialResult
from ethermeter.traces import FOLDER as TRACES
from ethermeter.traces import Trace
from ethermeter.trial import traces_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ethermeter.plan import Plan
    from ethermeter.trial import Trial

DISCARD = "force to discard what is there"
"""What else a directory is good for that has another run."""
FLUSH_AFTER_S = 1.0
"""Results wait at most so long for their part file: what a kill can cost."""
FLUSH_OCTETS = 1 << 24
"""Results are not held back beyond this, to keep memory flat."""
PARTS_OPEN = 3
VALUES_OF_EACH = 20
"""Size of an entity of a trial: about as many numbers are kept of it."""

DERIVED = (
    *("estimates.json", "positions.json", "claims.json", "live-claims.json"),
    *("network.toml", "report.html"),
)
EXPERIMENT, EXPERIMENTS = "experiment.toml", "experiments"
FILES = (
    *(PROVENANCE, PLAN, QUESTION, ANSWER, EXPERIMENT),
    *(*TABLE_FILES, *DERIVED),
)
"""Files that a run leaves in its directory, besides folders.

The provenance is first: once it is removed, the directory is not taken for a finished run.
"""
FOLDERS = (PARTS, EXPERIMENTS, LIVE, CAPTURES, TRACES)
RESULTS = (
    *(PLAN, QUESTION, ANSWER, EXPERIMENT, f"{EXPERIMENTS}/*.toml", "*.parquet"),
    *(f"{LIVE}/*/*.json", f"{CAPTURES}/*/*.json", f"{TRACES}/*.csv"),
)
"""Files of a run that cannot be made again from others."""


class RunError(RuntimeError):
    """A run that cannot go on, for a reason outside the experiment.

    Disk, permission, or a trial that broke off.
    """


class Recorder:
    """Holds a run directory for one process and stores finished trials in it.

    Parameters
    ----------
    directory
        The run directory; made if it is not there.
    plan
        What is run; of a strategy it is empty, and grows by `extend`.
    experiments
        Text of each experiment file, by its name.
    version
        Version of ethermeter. Parts of another version are not continued but redone.
    question
        Text of a strategy's question.
    force
        Discard what is there; an unfinished run of this plan is continued otherwise.

    Raises
    ------
    InputError
        If something else is in the directory, without `force`, or another process writes to it.
    RunError
        If it cannot be written.
    """

    def __init__(
        self,
        directory: Path,
        plan: "Plan",
        *,
        experiments: Mapping[str, str],
        version: str,
        question: str | None = None,
        force: bool = False,
    ) -> None:
        self.directory = directory
        self._ids: list[str] = []
        self._sizes: list[int] = []
        self._tables: set[str] = set()
        self._text, self._question = "", question
        self.plan_hash = plan.hash if question is None else _hash(question.encode())
        self._stamp = parts.Stamp(self.plan_hash, version)
        self._part_of = np.empty(0, np.int32)
        self._row_of = np.empty(0, np.int32)
        self._add(plan.trials)
        self._files: list[Path] = []
        self._waiting: list[tuple[int, TrialResult]] = []
        self._waiting_octets, self._waiting_since_s = 0, 0.0
        self._open: dict[int, pa.Table] = {}
        self.events, self.core_s = 0, 0.0
        self._implementations: set[str] = set()
        if not is_text(f"{directory}{directory.resolve().name}"):
            raise self._refusal(
                "out", str(directory), "a path in UTF-8, for the run's files name it"
            )
        if directory.exists() and not directory.is_dir():
            raise self._refusal("out", "a file", "a directory, which is made if it is not there")
        with self._writing():
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(directory)
            try:
                self._enter(plan, experiments, force=force)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After an interruption what is finished is kept. After a failed write there is nothing more
        # to save.
        try:
            if not isinstance(error, RunError):
                self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def pending(self) -> tuple[int, ...]:
        """Places in the plan of the trials that are still to be run."""
        return tuple(int(place) for place in np.flatnonzero(self._part_of[: len(self._ids)] < 0))

    @property
    def implementations(self) -> list[str]:
        """Implementations of the simulator that ran."""
        return sorted(self._implementations - {""})

    @property
    def stored(self) -> int:
        """Trials whose results are on disk."""
        return int((self._part_of >= 0).sum())

    def extend(self, trials: "Sequence[Trial]") -> None:
        """Append trials that a strategy proposed to the plan.

        Raises InputError if the plan in the directory has other trials, RunError if it cannot be
        written.
        """
        self._add(trials)
        self._text += "".join([trial.line + "\n" for trial in trials])
        with self._writing():
            with opened(self.directory / PLAN) as file:
                there = file.read().decode(errors="replace")
            if there.startswith(self._text):
                return  # a run that is resumed: these trials were proposed before
            if not self._text.startswith(there):
                raise self._damaged("not the trials that were proposed")
            self._keep_traces(traces_of(trials))
            write_whole(self.directory / PLAN, self._text)

    def result(self, place: int) -> TrialResult:
        """Read the result of a finished trial by its index in the plan."""
        self.flush()
        return parts.result_at(self._part(int(self._part_of[place])), int(self._row_of[place]))

    def record(self, place: int, result: TrialResult) -> None:
        """Take the result of a trial by its index in the plan; RunError if it cannot be written."""
        if not self._waiting:
            self._waiting_since_s = time.monotonic()
        self._waiting.append((place, result))
        self._waiting_octets += result.octets
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Write a part file if the oldest result has waited for a second; to be called often."""
        if self._waiting and (
            time.monotonic() - self._waiting_since_s >= FLUSH_AFTER_S
            or self._waiting_octets >= FLUSH_OCTETS
        ):
            self.flush()

    def flush(self) -> None:
        """Write what waits as a part file."""
        if not self._waiting:
            return
        numbers = [int(file.stem) for file in self._files if file.stem.isdecimal()]
        number = 1 + max(numbers, default=-1)
        file = self.directory / PARTS / f"{number:06d}.parquet"
        self._waiting.sort(key=lambda finished: finished[0])
        with self._writing():
            parts.write(file, self._waiting, stamp=self._stamp, within=self.directory)
        self._adopt(file, [place for place, _ in self._waiting])
        self.events += sum(result.events for _, result in self._waiting)
        self.core_s += sum(result.core_s for _, result in self._waiting)
        self._implementations |= {result.implementation for _, result in self._waiting}
        self._waiting, self._waiting_octets = [], 0

    def provenance(self) -> dict[str, object]:
        """Read `provenance.json` as it stands; empty if there is none."""
        return read_provenance(self.directory)

    def write_provenance(self, provenance: Mapping[str, object]) -> None:
        """Write `provenance.json`."""
        with self._writing():
            write_provenance(self.directory, dict(provenance))

    def finish(self, provenance: Mapping[str, object], *, answer: bytes | None = None) -> None:
        """Write the tables, then the provenance of a finished run; remove the parts.

        The provenance has the key `finished`; checksums of the results are added. `answer` is that
        of a strategy, as JSON. The parts stay where trials of a plan failed, which can be repeated,
        and where something cannot be written: RunError.
        """
        self.flush()
        if self.pending:
            raise ValueError(f"{len(self.pending)} of {len(self._ids)} trials have no result yet")
        with self._writing():
            plan = self._ids, self._sizes
            write_all(self.directory, *plan, self._parts_of, tables=self._tables)
            if answer is not None:
                write_whole(self.directory / ANSWER, answer)
            sums = checksums_of(self.directory, _results(self.directory))
            self.write_provenance({**provenance, "sha256": sums})
            tidy(self.directory)

    def _enter(self, plan: "Plan", experiments: Mapping[str, str], *, force: bool) -> None:
        there = plan_hash_of(self.directory)
        # First: what is there may be any folder of the machine, with all that is in it.
        if there is None and (strangers := _strangers(self.directory)):
            allowed = "an empty directory, or one with a run in it"
            raise self._refusal("directory", strangers[0], allowed)
        refuse_foreign(self.directory)
        for folder in (self.directory / name for name in FOLDERS):
            if folder.exists() and not folder.is_dir():
                allowed = "expected a directory, or nothing"
                raise InputError.of(str(folder), "file", "a file", allowed)
        if there is not None and not force:
            self._refuse_other(there)
        if there is None or force:
            _clear(self.directory)
            self._begin(plan, experiments)
        make_folder(self.directory / PARTS, within=self.directory)
        remove_abandoned(self.directory)
        self._read_parts()

    def _refuse_other(self, there: str) -> None:
        """Refuse a directory with another run, or with this one if it is finished."""
        if there != self.plan_hash:
            if read_provenance(self.directory).get("plan_hash") == self.plan_hash:
                raise self._damaged("not the plan that was run")
            allowed = f"the plan to be run, in another directory (out), or {DISCARD}"
            raise self._refusal("plan", there, f"{self.plan_hash}, {allowed}")
        if is_finished(self.directory) and not can_repeat(self.directory):
            raise self._refusal("run", "finished", f"{DISCARD} and run again")

    def _damaged(self, how: str) -> InputError:
        file = str(self.directory / PLAN)
        return InputError.of(file, "file", f"damaged: {how}", f"{DISCARD} and run again")

    def _refusal(self, key: str, value: str, allowed: str) -> InputError:
        return InputError.of(str(self.directory), key, value, allowed)

    def _begin(self, plan: "Plan", experiments: Mapping[str, str]) -> None:
        if len(experiments) == 1:
            write_whole(self.directory / EXPERIMENT, *experiments.values())
        else:
            folder = self.directory / EXPERIMENTS
            for name, text in experiments.items():
                write_whole(folder / f"{name}.toml", text, within=self.directory)
        if self._question is not None:
            write_whole(self.directory / QUESTION, self._question)
        self._keep_traces(plan.traces)
        # Last: once the plan is there, the directory is a run that can be resumed.
        write_whole(self.directory / PLAN, plan.to_jsonl())

    def _keep_traces(self, traces: Mapping[str, Trace]) -> None:
        """Write the traces that trials replay, each once."""
        for sha256, trace in traces.items():
            path = self.directory / TRACES / f"{sha256}.csv"
            if not path.exists():
                write_whole(path, trace.text, within=self.directory)

    def _read_parts(self) -> None:
        # Whole or not, what a kill left under a temporary name was not yet a part, and its name
        # will be used again.
        for file in (self.directory / PARTS).glob(TEMPORARY + "*"):
            file.unlink()
        for file in sorted((self.directory / PARTS).glob("*.parquet")):
            try:
                table = parts.read(file, stamp=self._stamp)
            except parts.BadPartError:
                file.unlink()  # its trials are simply run again
                continue
            self._adopt(file, table["trial"].to_pylist())
            self.events += sum(table["events"].to_pylist())
            self.core_s += sum(table["core_s"].to_pylist())
            self._implementations |= set(table["implementation"].to_pylist())
        if self._question is None:  # what a strategy proposed depends on the results it had
            failed = failed_in(self.provenance())
            places = [place for place, trial in enumerate(self._ids) if trial in failed]
            self._part_of[places] = -1

    def _add(self, trials: "Sequence[Trial]") -> None:
        self._ids += [trial.id for trial in trials]
        sizes: dict[tuple[int, str], int] = {}  # replications of a point have one scenario
        for trial in trials:
            key = id(trial.scenario), trial.engine
            if key not in sizes:
                sizes[key] = VALUES_OF_EACH * (1 + entities_in(trial.scenario))
                self._tables |= tables_of(trial)
            self._sizes.append(sizes[key])
        self._make_room(len(self._ids))

    def _make_room(self, places: int) -> None:
        """Grow the index of results.

        Parts of a strategy's run may hold trials that are not proposed again yet.
        """
        more = max(0, places - len(self._part_of))
        self._part_of = np.concatenate([self._part_of, np.full(more, -1, np.int32)])
        self._row_of = np.concatenate([self._row_of, np.zeros(more, np.int32)])

    def _adopt(self, file: Path, places: Sequence[int]) -> None:
        self._make_room(max(places, default=-1) + 1)
        self._part_of[list(places)] = len(self._files)
        self._row_of[list(places)] = np.arange(len(places))
        self._files.append(file)

    def _parts_of(self, trials: range) -> "pa.Table":
        import pyarrow as pa

        part_of, row_of = (of[trials.start : trials.stop] for of in (self._part_of, self._row_of))
        needed = np.unique(part_of)
        tables = [self._part(int(number)) for number in needed]
        begins = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
        order = begins[np.searchsorted(needed, part_of)] + row_of
        # A part has the columns that some trial in it has.
        table = pa.concat_tables(tables, promote_options="default")
        # Runs of rows: parts follow the plan but for trials that were under way together.
        ends = [0, *(np.flatnonzero(np.diff(order) != 1) + 1).tolist(), len(order)]
        runs = [table.slice(int(order[a]), b - a) for a, b in pairwise(ends)]
        return pa.concat_tables(runs)

    def _part(self, number: int) -> "pa.Table":
        """Read a part by its number, the last few kept open.

        Neighbours in the plan mostly finish together.
        """
        if number not in self._open:
            try:
                self._open[number] = parts.read(self._files[number], stamp=self._stamp)
            except parts.BadPartError as error:
                how = "the same command runs its trials again"
                raise RunError(f"{error}; {how}") from error
            while len(self._open) > PARTS_OPEN:
                del self._open[next(iter(self._open))]
        return self._open[number]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn a failed write into one clear line."""
        try:
            yield
        except OSError as error:
            where = error.filename or self.directory
            kept = f"; {self.stored} finished trials are kept, the same command continues"
            kept = kept if self.stored else ""
            raise RunError(f"cannot write {where}: {error.strerror or error}{kept}") from error


def plan_hash_of(directory: Path) -> str | None:
    """Hash of the plan in a directory, or of a strategy's question; None if there is no run."""
    file = directory / PLAN
    try:
        with opened(file) as content:
            plan = content.read()
        file = directory / QUESTION
        if not file.exists():
            return _hash(plan)
        with opened(file) as content:
            return _hash(content.read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = error.strerror or str(error)
        if os.path.lexists(file):
            raise InputError.of(str(file), "file", why, "expected a plan") from error
        allowed = "expected a folder in which this user may read and write"
        raise InputError.of(str(directory), "folder", why, allowed) from error


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:12]


def _results(directory: Path) -> list[str]:
    return sorted(
        path.relative_to(directory).as_posix()
        for pattern in RESULTS
        for path in directory.glob(pattern)
    )


def _strangers(directory: Path) -> list[str]:
    """Names in a directory that no run leaves behind."""
    return sorted(
        entry.name
        for entry in directory.iterdir()
        if entry.name not in (*FILES, *FOLDERS) and not entry.name.startswith(TEMPORARY)
    )


def _clear(directory: Path) -> None:
    """Remove what a run leaves behind, and nothing else."""
    for name in FILES:
        (directory / name).unlink(missing_ok=True)
    for file in (directory / EXPERIMENTS).glob("*.toml"):
        file.unlink()
    with suppress(OSError):
        (directory / EXPERIMENTS).rmdir()
    for folder in (directory / LIVE, directory / CAPTURES):
        for file in (*folder.glob("*/*.json"), *folder.glob("*/*.pcapng")):
            file.unlink()
        for inner in (*folder.glob("*"), folder):
            with suppress(OSError):
                inner.rmdir()
    for file in directory.glob(TEMPORARY + "*"):
        file.unlink()
    _clear_parts(directory)
    sync_directory(directory)


def tidy(directory: Path) -> None:
    """Remove the parts of a finished run, unless it has failed trials that can be repeated."""
    if is_finished(directory) and not can_repeat(directory):
        _clear_parts(directory)


def can_repeat(directory: Path) -> bool:
    """Whether a run has failed trials, and the results of the others by part, to repeat them."""
    is_plan = not (directory / QUESTION).exists()
    has_parts = next((directory / PARTS).glob("*.parquet"), None) is not None
    return is_plan and has_parts and bool(failed_in(read_provenance(directory)))


def _clear_parts(directory: Path) -> None:
    shutil.rmtree(directory / PARTS, ignore_errors=True)


def _lock(directory: Path) -> int | None:
    """Hold a directory for this process.

    The kernel lets go of it however the process ends, and nothing is left behind.
    """
    try:
        import fcntl
    except ImportError:  # not on this system: the user must not run twice into one directory
        return None
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        allowed = "one process at a time; another one writes to this directory"
        raise InputError.of(str(directory), "run", "under way", allowed) from None
    return descriptor
