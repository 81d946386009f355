"""Plans: the trials of an experiment."""

from collections.abc import Iterator

from ethermeter.blocks import Table, Text
from ethermeter.faults import counted
from ethermeter.plan import Plan

TABLE_ROWS = 20


def plan(found: Plan) -> Iterator[Table | Text]:
    """Lay out the first trials of a plan, with their points and seeds."""
    trials = found.trials
    keys = list(dict.fromkeys(key for trial in trials for key in trial.point))
    rows = [
        [
            trial.id,
            *(trial.point.get(key, "") for key in keys),
            str(trial.replication),
            str(trial.seed),
        ]
        for trial in trials[:TABLE_ROWS]
    ]
    yield Table(["trial", *keys, "replication", "seed"], rows, "Trials")
    if len(trials) > TABLE_ROWS:
        yield Text(f"… {len(trials) - TABLE_ROWS} more")
    yield Text(f"{counted(len(trials), 'trial')}, plan {found.hash}")
