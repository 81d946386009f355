"""Report: everything a run shows, for a person, in one HTML file that needs no network. Reads files, starts nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "report.html"


def _stations(scenario: Mapping[str, Any]) -> int:
    return sum(len(group["places"]) for group in scenario["groups"])


def write(run_dir: Path) -> Path:
    """Write `report.html` of a finished run into its directory; the path of the file.

    Uses `estimates.json` if it is there, and adds the study's parts if `claims.json` is.

    Raises
    ------
    InputError
        If a file of the run is not what it should be.
    """
    from ethermeter.analysis import estimates
    from ethermeter.faults import Fault, InputError
    from ethermeter.papers import claims
    from ethermeter.report import page, parameters
    from ethermeter.store import RunDirectory, write_whole

    run = RunDirectory(run_dir)
    points = estimates.read(run_dir)
    if not points:
        raise InputError([Fault(str(run_dir), "trials", "0", "a run with at least one trial")])
    found = claims.read(run_dir)
    experiments = parameters.experiments(run_dir)
    by_name = {experiment.name: experiment.title for experiment in experiments}
    titles: dict[str, str] = {}
    scenarios: dict[str, dict[str, Any]] = {}
    for trial in run.trials():
        if trial.series not in scenarios or _stations(trial.scenario) > _stations(scenarios[trial.series]):
            scenarios[trial.series] = trial.scenario
            # A trial's id begins with the name of the experiment it comes from.
            titles[trial.series] = by_name.get(trial.id.split("/")[0], experiments[0].title if len(experiments) == 1 else "")
    path = run_dir / FILE
    content = page.Content(
        name=run_dir.resolve().name,
        points=points,
        study=found[0] if found else "",
        claims=found[1] if found else (),
        experiments=experiments,
        titles=titles,
        scenarios=scenarios,
        provenance=run.provenance(),
    )
    write_whole(path, page.page(content))
    return path
