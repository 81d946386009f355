"""Where rooflines come from: a run of a network, or a file that holds one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ethermeter.analysis.roofline import Roofline, Stage, of_scenario, read
from ethermeter.ceilings.value import Ceiling
from ethermeter.faults import InputError, shown
from ethermeter.metrics import Metric
from ethermeter.results.interval import student
from ethermeter.results.values import values_of_each
from ethermeter.scenario import Scenario
from ethermeter.trial import Shared

if TYPE_CHECKING:
    from ethermeter.store import RunDirectory

GOODPUT = Metric.GOODPUT
"""The metric that is laid against ceilings: bit/s of frames, destination address to FCS."""
_EXPECTED = "expected a run directory or a file with a roofline"
_LARGEST_FILE_OCTETS = 16_000_000
_LARGEST_PLAN_OCTETS = 500_000_000


def rooflines(source: Path) -> list[Roofline]:
    """Return the rooflines of a run directory or of a file.

    `source`: a run directory of an experiment with a network: one roofline for each flow of each
    point and engine. Or a file of JSON with a roofline, or with one under the key `roofline`, as
    `answer.json` of a bottleneck search has it.
    Raises InputError if it is neither.
    """
    return _of_run(source) if source.is_dir() else [_of_file(source)]


def _of_file(path: Path) -> Roofline:
    file = str(path)
    try:
        if path.stat().st_size > _LARGEST_FILE_OCTETS:
            raise InputError.of(
                file, "(file)", "too large", f"expected at most {_LARGEST_FILE_OCTETS} octets"
            )
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError.of(file, "(file)", error.strerror or "unreadable", _EXPECTED) from None
    except (ValueError, RecursionError):
        raise InputError.of(file, "(file)", "no JSON", _EXPECTED) from None
    if isinstance(value, Mapping) and "roofline" in value:
        value = value["roofline"]
    return read(value, file=file)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What is needed of a line of `plan.jsonl`."""

    id: str
    series: str
    engine: str
    point: Mapping[str, str]
    scenario: Scenario


class _Line(msgspec.Struct):
    id: str
    series: str
    engine: str
    point: dict[str, str]
    scenario: msgspec.Raw


def _trials(path: Path) -> list[_Trial]:
    """Return the trials of networks; their scenarios were checked by the engine that ran them."""
    from ethermeter.experiment.toml import text_of

    file = str(path)
    found = []
    shared = Shared()
    for number, line in enumerate(
        text_of(path, file=file, most_bytes=_LARGEST_PLAN_OCTETS).splitlines(), 1
    ):
        try:
            trial = msgspec.json.decode(line, type=_Line)
            scenario = shared.scenario(trial.scenario)
        except (ValueError, RecursionError):
            raise InputError.of(
                file, f"line {number}", line[:200] or "(empty)", "expected a trial"
            ) from None
        if scenario.links:
            found.append(_Trial(trial.id, trial.series, trial.engine, trial.point, scenario))
    return found


def _of_run(path: Path) -> list[Roofline]:
    from ethermeter.store.directory import PLAN, RunDirectory

    run = RunDirectory(path)
    run.verify(PLAN)
    trials = _trials(path / PLAN)
    if not trials:
        raise InputError.of(
            str(path), "run", "no network", "expected a run of an experiment with hosts and links"
        )
    goodput = _goodput(run, trials)
    points: dict[tuple[str, str, str], list[_Trial]] = {}
    for trial in trials:
        points.setdefault(
            (trial.series, json.dumps(dict(trial.point), sort_keys=True), trial.engine), []
        ).append(trial)
    found = []
    for (_, _, engine), members in points.items():
        scenario = members[0].scenario
        place = ", ".join(f"{key} = {value}" for key, value in members[0].point.items())
        for flow in range(len(scenario.flows)):
            if scenario.flows[flow].transfer is not None:
                continue  # its frames are as long as TCP makes them
            samples = [goodput[key] for trial in members if (key := (trial.id, flow)) in goodput]
            achieved = student(np.asarray(samples)) if samples else None
            which = f"{engine}; {place}" if place else engine
            found.append(of_scenario(scenario, flow, achieved, place=which))
    if not found:
        raise InputError.of(
            str(path), "run", "nothing but transfers", "expected a run with a flow of messages"
        )
    return found


def _goodput(run: "RunDirectory", trials: Sequence[_Trial]) -> dict[tuple[str, int], float]:
    """Return goodput in bit/s by trial and flow; what is undefined is left out."""
    of_trials = values_of_each(run, trials, (GOODPUT,))
    return {
        (trial.id, flow): value
        for trial, values in zip(trials, of_trials, strict=True)
        for flow, value in enumerate(values[GOODPUT].tolist())
        if value == value
    }


def one_host(ceilings: Sequence[Ceiling]) -> Roofline:
    """Return the ceilings of one host, at least one, as a roofline on which nothing was measured.

    Of several with one title, the last one stands in the place of the first.
    """
    if not ceilings:
        raise InputError.of("ceilings", "stages", shown([]), "expected at least one")
    by_title = {each.title: Stage(each.title, each.estimate, each.basis) for each in ceilings}
    title = "Stages of this host, each alone"
    return Roofline(title, "octets given to the stage", tuple(by_title.values()), None)
