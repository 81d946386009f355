"""What a run observed, by the name of the metric."""

import ethermeter as em
from ethermeter.entities import names_of


def values(run: em.Run, *, trial: int = 0, flow: int = -1) -> dict[str, float]:
    """Every metric of a flow in a trial; -1: of all flows together."""
    return {metric: value for metric, (value, _) in _found(run, trial, flow).items()}


def cautions(run: em.Run, metric: str, *, flow: int = -1) -> set[str]:
    """Cautions of a metric of a flow in the first trial."""
    return set(_found(run, 0, flow)[metric][1].split())


def _found(run: em.Run, trial: int, flow: int) -> dict[str, tuple[float, str]]:
    table = run.frame(by="trial" if flow < 0 else "entity", library="arrow").to_pylist()
    name = run.trials()[trial].id
    scenario = run.trials()[trial].scenario
    names = names_of("flow", scenario) or names_of("station", scenario)
    entity = None if flow < 0 else names[flow]
    return {
        row["metric"]: (row["value"], row["cautions"])
        for row in table
        if row["trial"] == name and row.get("entity") == entity
    }
