"""The command that checks experiments."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ethermeter import json_values
from ethermeter.api.validate import (
    Applicability,
    NetworkTheory,
    ValidateOptions,
    Validity,
    validate,
)
from ethermeter.cli.command import Command, Values, typed
from ethermeter.cli.guard import BAD_INPUT, FAILED, as_typed, say
from ethermeter.faults import Fault, InputError, lines, listed

if TYPE_CHECKING:
    from ethermeter.api.validate import Checked

EXAMPLES = """\
  ethermeter validate my-network.toml
  ethermeter validate *.toml --json
  ethermeter validate poisson-load --trials
  ethermeter validate my-network.toml --set stations.0.count=12 --models"""


def blocks(found: "Checked", _: object) -> Iterator[object]:
    """Yield what a terminal shows of checked experiments."""
    from ethermeter.blocks import Text
    from ethermeter.cli.output import point_text
    from ethermeter.present import (
        applicability,
        bounds,
        capacity,
        experiments,
        plan,
        time_flows,
    )

    match found:
        case Validity(trials=trials):
            yield from experiments.valid(trials)
        case Applicability(point=point, models=models):
            yield Text(f"{point_text(point)}:")
            yield from applicability.applicability(models)
        case NetworkTheory():
            yield Text(f"{point_text(found.point)}:")
            yield from capacity.capacity(found.capacity)
            yield from bounds.bounds(found.answers)
            yield from time_flows.time_flows(found.time_flows)
        case _:
            yield from plan.plan(found)


def plain(found: "Checked") -> object:
    """Return what was found as JSON values; of very many faults, some."""
    match found:
        case Validity(faults=faults):
            return json_values.plain(replace(found, faults=_named(listed(faults)[0])))
        case Applicability():
            return json_values.plain(found)
        case NetworkTheory():
            from ethermeter.analysis.bounds_file import BoundsFile
            from ethermeter.cli.output import row

            capacity = json_values.plain(found.capacity)
            answers = row(BoundsFile.of(found.answers))
            ways = json_values.plain(found.time_flows)
            return {"point": dict(found.point), "capacity": capacity, **answers, "time_flows": ways}
        case _:
            return [json.loads(trial.line) for trial in found.trials]


def rows(found: "Checked") -> Iterator[Mapping[str, object]]:
    """Yield a row for each file or fault, trial, model, or time of a flow."""
    match found:
        case Validity(trials=trials, faults=faults):
            yield from ({"file": file, "trials": count} for file, count in trials.items())
            for fault in _named(listed(faults)[0]):
                about = {"key": fault.key, "value": fault.value, "allowed": fault.allowed}
                yield {"file": fault.file, "trials": None, **about}
        case Applicability(models=models):
            for model in models:
                yield {
                    "model": model.model,
                    "applies": model.applies,
                    "obstacles": "; ".join(model.obstacles),
                    "differences": "; ".join(model.differences.values()),
                    "cautions": list(map(str, model.cautions)),
                    **{str(metric): value for metric, value in model.values.items()},
                }
        case NetworkTheory(answers=answers):
            from ethermeter.analysis.bounds_file import BoundsFile
            from ethermeter.cli.output import row

            for time in BoundsFile.of(answers).flows:
                fields = {name: of for name, of in row(time).items() if name != "point"}
                yield {"series": time.series, **time.point} | fields
        case _:
            for trial in found.trials:
                yield {
                    "id": trial.id,
                    "series": trial.series,
                    "engine": trial.engine,
                    **trial.point,
                    "replication": trial.replication,
                    "seed": trial.seed,
                }


def _values(found: "Checked") -> Iterator[Mapping[str, object]]:
    """Yield the rows, and of a network the load of the resource that is nearest to its limit."""
    if isinstance(found, NetworkTheory):
        for each in found.capacity:
            # Without loss a resource is busy with what it is offered.
            share = min(each.load, 1.0)
            yield {"resource": each.resource, "load": each.load, "utilisation": share}
        # A flow that has a bound and no margin has no deadline.
        yield from (
            {name: of for name, of in row.items() if name != "margin" or of is not None}
            if row["bound"] is not None
            else row
            for row in rows(found)
        )
    else:
        yield from rows(found)


def _names(options: ValidateOptions) -> tuple[str, ...]:
    """Return what is known of files; what theories say is known with their answer."""
    if options.trials:
        allowed = "one of the other answers: a list of trials has no results"
        raise InputError.of_argument("fail_if", "given with trials", allowed)
    return () if options.models else ("trials",)


def end(found: "Checked", _: object) -> int:
    """Say what is wrong, or failed; return the exit code."""
    if isinstance(found, NetworkTheory) and found.failed:
        for why in found.failed.values():
            say(f"ethermeter: an engine failed: {why}; it has no values")
        return FAILED
    if not isinstance(found, Validity):
        return 0
    for line in lines(_named(found.faults)):
        say(line)
    return 0 if found.valid else BAD_INPUT


def _named(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return faults with arguments by the names that they have in the command."""
    return tuple(as_typed(fault, lambda name: typed(ValidateOptions, name)) for fault in faults)


COMMAND = Command(
    validate,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    end=end,
    values=Values(
        _values,
        ("file", "model", "resource", "flow", "metric"),
        names=_names,
        elsewhere="with --models, what theories say",
    ),
)
