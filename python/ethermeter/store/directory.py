"""A run directory, for reading."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethermeter.faults import Fault, InputError, nearest
from ethermeter.store.arrow import texts
from ethermeter.store.columns import FACTS, HISTOGRAMS, PORT_CLASSES, PORTS
from ethermeter.store.files import checksum, written_whole
from ethermeter.store.gathered import Gathered, gathered, of_arrow
from ethermeter.store.integrity import (
    AGAIN,
    checksums_in,
    failed_in,
    fault_of,
    first_line,
    is_altered,
    raise_lack,
    read_provenance,
    read_verified,
    refuse_foreign,
    write_provenance,
)
from ethermeter.store.parquet import file_of
from ethermeter.store.trial_result import Fact
from ethermeter.traces import FOLDER as TRACES

if TYPE_CHECKING:
    import pyarrow as pa

    from ethermeter.plan import Plan
    from ethermeter.trial import Trial

PLAN = "plan.jsonl"
PARTS = "parts"
QUESTION = "question.json"
"""The question of a strategy, by which its run is known while the plan grows."""
ANSWER = "answer.json"
"""The answer that a strategy gave when its last trial was finished."""
KEPT_OCTETS = 1 << 18
"""Size of the files of tables that are kept in memory once they were read."""


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """What a run left behind, as `docs/reference/run-directory.md` describes it.

    Parameters
    ----------
    path
        The directory.

    Raises
    ------
    InputError
        If there is no run in it, or something in it is a link.

    Examples
    --------
    >>> RunDirectory(Path("none"))
    Traceback (most recent call last):
    ...
    ethermeter.faults.InputError: none: run = none: a run directory, which has a plan.jsonl

    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if not (self.path / PLAN).is_file():
            raise _fault(self.path, str(self.path), _expected(self.path))
        refuse_foreign(self.path)

    def plan(self) -> "Plan":
        """Read the plan; InputError if it is damaged."""
        self.verify(PLAN)
        path = self.path / PLAN
        return _read_plan(path.resolve(), _stamp(path))

    def trials(self) -> "tuple[Trial, ...]":
        """Read the trials, in the order of the plan."""
        return self.plan().trials

    def failed(self) -> dict[str, str]:
        """Return why trials failed, by their ids; these have no values."""
        return failed_in(self.provenance())

    def replications(self) -> "tuple[Trial, ...]":
        """Read the trials that estimates are made from, in the order of the plan.

        Those that failed are left out, except at points where every trial did.
        """
        from ethermeter.trial import with_results

        return with_results(self.trials(), self.failed())

    def answer(self) -> bytes:
        """Read the answer of the strategy that made the run, as JSON.

        Raises InputError if it was altered, or the run is not one of a strategy.
        """
        return self._of_search(ANSWER)

    def question(self) -> bytes:
        """Read the question of the strategy that made the run, as JSON; errors as of `answer`."""
        return self._of_search(QUESTION)

    def is_search(self) -> bool:
        """Whether a strategy proposed the trials."""
        return (self.path / QUESTION).is_file()

    def _of_search(self, name: str) -> bytes:
        try:
            return read_verified(self.path, name)
        except OSError as error:
            allowed, reason = "expected a finished search", error.strerror or str(error)
            raise InputError.of(str(self.path / name), "file", reason, allowed) from error

    def is_finished(self) -> bool:
        """Whether every trial has been run and the tables are written."""
        return is_finished(self.path)

    def checksums(self) -> dict[str, str]:
        """SHA-256 of files of the run as they were written, by path within the directory.

        Empty while the run is unfinished.
        """
        return checksums_in(self.provenance())

    def verify(self, *names: str) -> None:
        """Compare files with their checksums in the provenance; others are not checked.

        Raises InputError with a fault for every file that is missing or was altered.
        """
        known = self.checksums()
        faults = [
            Fault(str(self.path / name), "file", wrong, f"expected {AGAIN}")
            for name in names
            if name in known and (wrong := fault_of(self.path / name, known[name]))
        ]
        if faults:
            raise InputError(faults)

    def verify_results(self) -> None:
        """Verify the plan, the experiments and the tables, as `verify`.

        Results of measured trials are verified when they are read.
        """
        own = (PLAN, QUESTION, ANSWER)
        self.verify(
            *(
                name
                for name in self.checksums()
                if name in own
                or name.startswith(("experiment", f"{TRACES}/"))
                or name.endswith(".parquet")
            )
        )

    def is_kept(self, name: str) -> bool:
        """Whether a file derived from the tables is there as it was written."""
        return name in self.checksums() and not is_altered(self.path, name)

    def keep(self, name: str, text: str | Iterable[str]) -> Path:
        """Write a file that is derived from the tables, and its checksum into the provenance.

        The file is given as one text or several. Returns its path. Raises InputError if a directory
        has its name, or the provenance is damaged, and OSError if it cannot be written.
        """
        path = self.path / name
        if path.is_dir():
            allowed = f"expected a file, or nothing; {name} is written there"
            raise InputError.of(str(path), "file", "a directory", allowed)
        found = self.provenance()
        with written_whole(path) as file:
            for part in [text] if isinstance(text, str) else text:
                file.write(part.encode())
        if found:
            known = {**checksums_in(found), name: checksum(path)}
            write_provenance(self.path, {**found, "sha256": known})
        return path

    def table(self, name: str, *, trials: Sequence[str] | None = None) -> "pa.Table | None":
        """Read a table of `ethermeter.store.trial_result`, of some trials only if these are given.

        None if the run has none of that name. Trials are in the order of the plan; what was not
        counted is null. InputError if the run is unfinished, or the file is damaged or was removed.
        """
        file = file_of(name)
        self.refuse_unfinished()
        is_there = (self.path / file).is_file() or file in self.checksums()
        return self._table(file, trials=trials) if is_there else None

    def gathered(self, name: str, trials: Sequence[str]) -> Gathered:
        """Read a table of some trials as arrays; without a row if the run has no such table."""
        table = self.table(name, trials=trials)
        return gathered([], trials) if table is None else of_arrow(name, table, trials)

    def histograms(self) -> "pa.Table | None":
        """Read the histograms of times.

        Columns: trial · time · entity (the flow; 0 of a medium) · low_ps · high_ps · count; a
        bucket is [low, high).
        """
        return self.table(HISTOGRAMS)

    def ports(self, *, trials: Sequence[str] | None = None) -> "pa.Table | None":
        """Read what was counted at the ports of networks; None if the run has no network."""
        return self.table(PORTS, trials=trials)

    def port_classes(self, *, trials: Sequence[str] | None = None) -> "pa.Table | None":
        """Read what was counted of the traffic classes of ports; None of a run without classes."""
        return self.table(PORT_CLASSES, trials=trials)

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """Yield what theories say besides values, with the id of the trial."""
        table = self.table(FACTS)
        if table is not None:
            names = Fact.__struct_fields__
            columns = [table[name].to_pylist() for name in names]
            for trial, *of in zip(table["trial"].to_pylist(), *columns, strict=True):
                yield trial, Fact(**dict(zip(names, of, strict=True)))

    def provenance(self) -> dict[str, object]:
        """Read the provenance of the run: versions, host, command line, times.

        Empty if the run was killed before any was written.
        """
        return read_provenance(self.path)

    def refuse_unfinished(self) -> None:
        """Raise InputError if the run is unfinished."""
        if not self.is_finished():
            allowed = "a finished run; the command that began it continues it"
            raise _fault(self.path, "unfinished, by its provenance.json", allowed)

    def _table(self, name: str, *, trials: Sequence[str] | None = None) -> "pa.Table":
        import pyarrow as pa

        self.verify(name)
        path = self.path / name
        try:
            if path.stat().st_size > KEPT_OCTETS:
                return _read_table(path, trials)
            table = _kept_table(path.resolve(), _stamp(path))
            return table if trials is None else _of_trials(table, trials)
        except (OSError, pa.ArrowException) as error:
            raise_lack(error)
            raise InputError.of(str(path), "table", "unreadable", first_line(error)) from error


@lru_cache(maxsize=16)
def _kept_table(path: Path, stamp: tuple[int, int, int]) -> "pa.Table":
    """Read a small table once for all who ask for trials of it."""
    del stamp
    return _read_table(path, None)


def _read_table(path: Path, trials: Sequence[str] | None) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    # One file: a dataset of many takes twice the memory.
    with pq.ParquetFile(path) as parquet:
        groups = []
        for number in _row_groups(parquet.metadata, trials):
            group = parquet.read_row_group(number)
            groups.append(group if trials is None else _of_trials(group, trials))
        # A schema's own empty table imports pandas wherever that is installed.
        table = pa.concat_tables(groups or [parquet.read_row_groups([])]).unify_dictionaries()
    pa.default_memory_pool().release_unused()
    return table


def _of_trials(table: "pa.Table", trials: Sequence[str]) -> "pa.Table":
    """Return the rows of some trials."""
    import pyarrow.compute as pc

    wanted = set(trials)
    if set(pc.unique(table["trial"]).to_pylist()) <= wanted:
        return table
    return table.filter(pc.is_in(table["trial"], texts(list(wanted))))


def _row_groups(metadata: Any, trials: Sequence[str] | None) -> Iterator[int]:
    """Yield the row groups that can have rows of these trials.

    Each group states its first and its last id.
    """
    wanted = None if trials is None else sorted(trials)
    for number in range(metadata.num_row_groups):
        known = metadata.row_group(number).column(metadata.schema.names.index("trial")).statistics
        if (
            wanted is None
            or known is None
            or not known.has_min_max
            or bisect_left(wanted, known.min) < bisect_right(wanted, known.max)
        ):
            yield number


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return what changes with a file."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=1)
def _read_plan(path: Path, stamp: tuple[int, int, int]) -> "Plan":
    """Read a plan once for estimates, claims and report; `stamp` changes with the file."""
    from ethermeter import plan

    del stamp
    return plan.read(path)


def is_finished(path: Path) -> bool:
    """Whether a directory holds a finished run, by its provenance, which is written last."""
    return "finished" in read_provenance(path)


def _expected(path: Path) -> str:
    """Say that a run directory is expected, with the run beside that has nearly the same name."""
    beside = sorted(each.parent.name for each in path.parent.glob(f"*/{PLAN}"))
    near = nearest(path.name, beside)
    if not near:
        return f"a run directory, which has a {PLAN}"
    return f"did you mean {path.parent / near[0]}? A run directory has a {PLAN}"


def _fault(path: Path, value: str, allowed: str) -> InputError:
    return InputError.of(str(path), "run", value, allowed)
