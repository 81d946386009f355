"""Commands that look at experiments and run nothing."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ethermeter.cli import completion, options, output
from ethermeter.cli.guard import BAD_INPUT, say
from ethermeter.cli.output import print_json, say_assumed

VALIDATE_EXAMPLES = """\
  ethermeter validate my-network.toml
  ethermeter validate *.toml --json"""
PLAN_EXAMPLES = """\
  ethermeter plan poisson-load
  ethermeter plan my-network.toml --json | head -1"""
SCHEMA_EXAMPLES = """\
  ethermeter schema > ethermeter.schema.json
  ethermeter schema estimates"""
EXPERIMENTS_EXAMPLES = """\
  ethermeter experiments
  ethermeter experiments --show poisson-load
  ethermeter experiments --copy poisson-load my-network.toml"""


def validate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Experiment files, or names of shipped ones.",
            autocompletion=completion.experiments,
        ),
    ],
    *,
    as_json: options.Json = False,
) -> None:
    """Check experiment files and report every fault."""
    from ethermeter import api
    from ethermeter.faults import Fault, InputError, lines, listed
    from ethermeter.present.experiments import valid
    from ethermeter.search import check_table

    faults: list[Fault] = []
    trials: dict[str, int] = {}
    for file in files:
        try:
            loaded = api.load(file)
            trials[file] = len(loaded.plan().trials)
            for experiment in loaded.experiments:
                say_assumed(experiment)
                check_table(experiment)
        except InputError as error:
            faults.extend(error.faults)
    if as_json:
        rows = [
            {"file": fault.file, "key": fault.key, "value": fault.value, "allowed": fault.allowed}
            for fault in listed(faults)[0]
        ]
        print_json(
            {"valid": not faults, "trials": trials, "fault_count": len(faults), "faults": rows}
        )
    else:
        output.show(valid(trials))
        for line in lines(faults):
            say(line)
    if faults:
        raise typer.Exit(BAD_INPUT)


def plan(
    experiment: options.Experiment,
    *,
    overrides: options.Overrides = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print the trials as JSON, one for each line, as in plan.jsonl."
        ),
    ] = False,
) -> None:
    """Show the trials of an experiment; run nothing."""
    from ethermeter import api
    from ethermeter.present import plan as layout

    planned = api.load(experiment, overrides=overrides or ()).plan(
        seed=seed, replications=replications
    )
    if as_json:
        typer.echo(planned.to_jsonl(), nl=False)
        return
    output.show(layout.plan(planned))


class SchemaOf(StrEnum):
    """Files that have a JSON Schema."""

    EXPERIMENT = "experiment"
    ESTIMATES = "estimates"
    CLAIMS = "claims"
    POSITIONS = "positions"


def schema(
    of: Annotated[
        SchemaOf,
        typer.Argument(
            metavar="FILE",
            help="An experiment file, for editors; or estimates.json, claims.json or "
            "positions.json of a run.",
        ),
    ] = SchemaOf.EXPERIMENT,
) -> None:
    """Print the JSON Schema of a file."""
    from ethermeter import experiment
    from ethermeter.analysis.schemas import schema_of

    print_json(experiment.json_schema() if of == SchemaOf.EXPERIMENT else schema_of(of.value))


def experiments(
    *,
    show: Annotated[
        str | None,
        typer.Option(
            "--show",
            metavar="NAME",
            show_default=False,
            help="Print this experiment file.",
            autocompletion=completion.experiments,
        ),
    ] = None,
    copy: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            "--copy",
            metavar="NAME DEST",
            show_default=False,
            help="Copy this experiment file, to start from.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the shipped experiments."""
    from ethermeter import experiment
    from ethermeter.present.experiments import shipped

    if show is not None:
        typer.echo(_shipped(show).read_text(encoding="utf-8"), nl=False)
    if copy is not None:
        _copy(*copy)
    if show is not None or copy is not None:
        return
    titles = {name: experiment.load(path).title for name, path in experiment.shipped().items()}
    if as_json:
        print_json(titles)
    else:
        output.show(shipped(titles))


def _shipped(name: str) -> Path:
    from ethermeter import experiment
    from ethermeter.faults import InputError, choices

    shipped = experiment.shipped()
    if name not in shipped:
        raise InputError.of("command line", "experiment", name, choices(name, shipped))
    return shipped[name]


def _copy(name: str, destination: Path) -> None:
    from ethermeter.faults import InputError
    from ethermeter.present.experiments import copied

    text = _shipped(name).read_bytes()
    target = destination / f"{Path(name).name}.toml" if destination.is_dir() else destination
    try:
        with target.open("xb") as file:
            file.write(text)
    except FileExistsError:
        raise InputError.of(
            "command line", "--copy", str(target), "a file that is not there yet"
        ) from None
    output.show(copied(name, target))
