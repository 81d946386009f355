"""What a run observed, by the name of the metric."""

import ethermeter as em


def values(run: em.Run, *, trial: int = 0, flow: int = -1) -> dict[str, float]:
    """Every metric of a flow in a trial; -1: of all flows together."""
    table = run.observations()
    found = table[(table["trial"] == run.trials()[trial].id) & (table["station"] == flow)]
    return dict(zip(found["metric"].astype(str), found["value"], strict=True))


def cautions(run: em.Run, metric: str, *, flow: int = -1) -> set[str]:
    """Cautions of a metric of a flow in the first trial."""
    table = run.observations(metric=metric)
    found = table[(table["trial"] == run.trials()[0].id) & (table["station"] == flow)]
    return set(found["caution"].astype(str).iloc[0].split())
