"""Experiments that are measured from the command line, and what came of them."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from ethermeter.experiment.builder import ExperimentTables
from program import Ended, invoke

Experiment = ExperimentTables | Path | str
"""An experiment, its file, or the name of a shipped one."""


class Measurement(NamedTuple):
    """A measurement that succeeded: what was printed, and the folder of its run."""

    printed: Ended
    run: Path

    def results(self) -> list[Any]:
        """Return the results of all trials."""
        return results_of(self.run)

    def result(self) -> Any:
        """Return the result of the only trial."""
        (found,) = self.results()
        return found

    def estimates(self) -> dict[str, dict[str, Any]]:
        """Return the estimates of the only point, by engine."""
        points = json.loads((self.run / "estimates.json").read_text())["points"]
        return {point["engine"]: point["estimates"] for point in points}


def results_of(run: Path) -> list[Any]:
    """Return the results of the trials of a run, in their order."""
    return [json.loads(file.read_text()) for file in sorted((run / "live").glob("*/*.json"))]


def measure(experiment: Experiment, folder: Path, *words: object) -> Measurement:
    """Measure an experiment; the run is in a folder `run`."""
    return Measurement(ended(experiment, folder, *words, code=0), folder / "run")


def refusal(experiment: Experiment, folder: Path, *words: object) -> str:
    """Return the error of an experiment that is refused before anything is measured."""
    done = ended(experiment, folder, *words, code=2)
    assert "Traceback" not in done.stderr
    assert not (folder / "run" / "live").exists()
    return done.stderr


def ended(experiment: Experiment, folder: Path, *words: object, code: int) -> Ended:
    """Return what was printed by a measurement that ends with this exit code."""
    is_file = isinstance(experiment, str | Path)
    file = experiment if is_file else experiment.save(folder / "experiment.toml")
    done = invoke("measure", file, *words, "--out", folder / "run")
    assert done.returncode == code, done.stderr
    return done
