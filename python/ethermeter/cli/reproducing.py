"""The command that runs published studies again."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import completion, options, studies
from ethermeter.cli.output import print_json, show
from ethermeter.cli.studies import ALL
from ethermeter.studies import registry

if TYPE_CHECKING:
    from ethermeter.cli.summary import Summary

EXAMPLES = """\
  ethermeter reproduce boggs1988
  ethermeter reproduce boggs1988 --replications 1
  ethermeter reproduce boggs1988 --quick --json
  ethermeter reproduce gonsalves1982
  ethermeter reproduce --list
  ethermeter reproduce all --quick --out runs/all"""


def reproduce(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY",
            show_default=False,
            help=f"The study: {', '.join(registry.names())}, or all of them: {ALL}.",
            autocompletion=completion.reproducible,
        ),
    ] = None,
    *,
    list_studies: Annotated[
        bool,
        typer.Option("--list", help="List the studies with a line about each, and run nothing."),
    ] = False,
    overrides: options.Overrides = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="About a tenth of the study's time, few replications: wider intervals."
        ),
    ] = False,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    cluster: options.Cluster = None,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
) -> None:
    """Run a published study again and check its claims; or every study, on one page.

    With all, studies are run into runs/<study>-<plan hash>, or into a directory of their names
    within --out, and studies.html is written beside them. A study that fails does not stop the
    others; the exit code is then 1.
    """
    from ethermeter.analysis.claims import FILE
    from ethermeter.cli import next_steps, summary
    from ethermeter.faults import InputError, choices
    from ethermeter.present import claims as present
    from ethermeter.run import RunOptions

    if list_studies:
        studies.list_studies(as_json=as_json)
        return
    if study != ALL and study not in registry.names():
        raise InputError.of(
            "command line", "study", study or "(missing)", choices(study, registry.names())
        )

    def summary_of(name: str, directory: Path | None, *, title: str) -> "Summary":
        from ethermeter import api

        of = registry.find(name)
        loaded = api.load(
            *of.runs, overrides=(*(of.quick if quick else ()), *(overrides or ())), name=name
        )
        run_options = RunOptions(
            jobs=jobs,
            cluster=cluster,
            resume=resume,
            force=force,
            command=tuple(sys.argv),
            study=name,
            seed=seed,
        )
        wanted = of.quick_replications if quick and replications is None else replications
        return summary.run_and_sum_up(
            loaded,
            run_options,
            replications=wanted,
            out=directory,
            report=not no_report,
            title=title,
            may_begin=study == ALL,
        )

    if study == ALL:
        from ethermeter.run import RUNS

        if overrides:
            raise InputError.of(
                "command line",
                "--set",
                overrides[0],
                "not with all: each study has keys of its own",
            )
        names = registry.names()
        outcomes = [
            studies.outcome(
                name,
                partial(
                    summary_of,
                    name,
                    None if out is None else out / name,
                    title=f"{at} of {len(names)}, {name}",
                ),
            )
            for at, name in enumerate(names, 1)
        ]
        studies.print_outcomes(
            outcomes,
            studies.write_index(outcomes, RUNS if out is None else out, quick=quick),
            as_json=as_json,
        )
        return
    found = summary_of(study, out, title=study)
    if as_json:
        print_json(found.as_json(leave_out=("estimates", "flows")))
        return
    claims = found.claims(FILE)
    show(present.claims(claims))
    summary.print_files(found)
    next_steps.print_steps(next_steps.of_study(claims, study, quick=quick))
