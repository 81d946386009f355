"""A run directory, for reading."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethermeter.faults import Fault, InputError
from ethermeter.store.tables import BATCHES, FLOW_BATCHES, HISTOGRAM_TABLE, OBSERVATIONS, PORTS, TABLES

if TYPE_CHECKING:
    import pyarrow as pa

    from ethermeter.plan import Plan, Trial

PLAN = "plan.jsonl"
PROVENANCE = "provenance.json"
PARTS = "parts"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """What a run left behind, as `docs/formats.md` describes it.

    Parameters
    ----------
    path
        The directory.

    Raises
    ------
    InputError
        If there is no run in it.

    Examples
    --------
    >>> RunDirectory(Path("no-such-run"))
    Traceback (most recent call last):
    ...
    ethermeter.faults.InputError: no-such-run: run = no-such-run: a run directory, which has a plan.jsonl

    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if not (self.path / PLAN).is_file():
            raise _fault(self.path, str(self.path), f"a run directory, which has a {PLAN}")

    def plan(self) -> "Plan":
        """Read the plan."""
        from ethermeter import plan

        return plan.read(self.path / PLAN)

    def trials(self) -> "tuple[Trial, ...]":
        """Read the trials, in the order of the plan."""
        return self.plan().trials

    def is_finished(self) -> bool:
        """Whether every trial has been run and the tables are written."""
        return is_finished(self.path)

    def observations(self) -> "pa.Table":
        """Read the observations.

        Returns
        -------
        :
            trial · station (-1 for the whole segment) · metric · value (in the metric's unit) · caution (words of the closed list,
            separated by a space; empty for none).

        Raises
        ------
        InputError
            If the run is unfinished, or the file is damaged.

        """
        return self._table(OBSERVATIONS)

    def batches(self) -> "pa.Table":
        """Read the sums by batch.

        Returns
        -------
        :
            trial · batch · station · frames · charged_ps · delay_sum_s · delay_square_sum_s2.

        Raises
        ------
        InputError
            If the run is unfinished, or the file is damaged.

        """
        return self._table(BATCHES)

    def flow_batches(self) -> "pa.Table | None":
        """Read the counts and sums of flows of networks by batch.

        Returns
        -------
        :
            trial · batch · flow · what `ethermeter.store.rows.BATCH_COUNTS` and `BATCH_SUMS` name, null what agents do not count by
            batch; None if the run has no network, or is older than these batches.

        Raises
        ------
        InputError
            If the run is unfinished, or the file is damaged.

        """
        return self._table(FLOW_BATCHES) if (self.path / FLOW_BATCHES).is_file() else None

    def histograms(self) -> "pa.Table":
        """Read the histograms of delay.

        Returns
        -------
        :
            trial · metric · low_s · high_s · count; a bucket is [low, high). In a run with networks also station: the flow, or -1.

        Raises
        ------
        InputError
            If the run is unfinished, or the file is damaged.

        """
        return self._table(HISTOGRAM_TABLE)

    def ports(self) -> "pa.Table | None":
        """Read what was counted at the ports of networks.

        Returns
        -------
        :
            trial · port · what `ethermeter.store.rows.PORT_COLUMNS` name; None if the run has no network.

        Raises
        ------
        InputError
            If the run is unfinished, or the file is damaged.

        """
        return self._table(PORTS) if (self.path / PORTS).is_file() else None

    def provenance(self) -> dict[str, Any]:
        """Read where the run comes from: versions, host, command line, times; empty if it was killed before any was written."""
        return read_provenance(self.path)

    def _table(self, name: str) -> "pa.Table":
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self.is_finished():
            raise _fault(self.path, "unfinished", "a finished run; continue it with: ethermeter run … --resume")
        try:
            return pq.read_table(self.path / name).unify_dictionaries()
        except (OSError, pa.ArrowException) as error:
            raise InputError([Fault(str(self.path / name), "table", "unreadable", _first_line(error))]) from error


def is_finished(path: Path) -> bool:
    """Whether a directory holds a finished run."""
    return "finished" in read_provenance(path) and all((path / name).is_file() for name in TABLES)


def read_provenance(path: Path) -> dict[str, Any]:
    """Read `provenance.json` of a run directory; empty if there is none."""
    file = path / PROVENANCE
    try:
        found = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError([Fault(str(file), "provenance", "unreadable", _first_line(error))]) from error
    if not isinstance(found, dict):
        raise InputError([Fault(str(file), "provenance", type(found).__name__, "a JSON object")])
    return found


def _fault(path: Path, value: str, allowed: str) -> InputError:
    return InputError([Fault(str(path), "run", value, allowed)])


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
