"""The command that runs published studies again."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ethermeter.api.measure import Measured
from ethermeter.api.study import Outcome, Reproduction, StudyOptions, study
from ethermeter.cli import measure as of_measurements
from ethermeter.cli.command import Command
from ethermeter.cli.guard import FAILED
from ethermeter.json_values import plain as values

if TYPE_CHECKING:
    from ethermeter.api.runs import Run
    from ethermeter.api.study import Published
    from ethermeter.present.studies import Failed, Reproduced

    Found = tuple[Published, ...] | Run | Measured | Reproduction

EXAMPLES = """\
  ethermeter study
  ethermeter study boggs1988
  ethermeter study boggs1988 --set run.replications=1
  ethermeter study gonsalves1982 --quick --json
  ethermeter study all --quick --out runs/all
  ethermeter study erg --on testbed
  ethermeter study boggs1988 --on testbed --full
  ethermeter study hughesjones2000 --on testbed --quick"""


def blocks(found: "Found", options: StudyOptions) -> Iterator[object]:
    """Yield what a terminal shows of a list, a study, or all."""
    from ethermeter.analysis.claims import FILE
    from ethermeter.cli import next_steps
    from ethermeter.present import studies as layout
    from ethermeter.present.claims import claims
    from ethermeter.present.runs import files

    if isinstance(found, tuple):
        yield from layout.published({each.study: each.title for each in found})
    elif isinstance(found, Measured):
        yield from of_measurements.blocks(found, options)
    elif isinstance(found, Reproduction):
        yield from layout.reproduced([_laid_out(each) for each in found.studies], found.index)
    else:
        judged = found.claims(file=FILE)
        yield from claims(judged)
        yield from files(found)
        steps = next_steps.of_study(judged, str(options.study), quick=options.quick)
        yield from next_steps.first(steps)


def _laid_out(outcome: Outcome) -> "Reproduced | Failed":
    from ethermeter.analysis.claims import FILE
    from ethermeter.present.studies import Failed, Reproduced

    if outcome.run is None:
        return Failed(outcome.study, outcome.error)
    wall_s = outcome.run.directory.provenance().get("wall_s")
    return Reproduced(
        outcome.study,
        outcome.run.claims(file=FILE),
        wall_s if isinstance(wall_s, float) else None,
        outcome.run.files.get("report", outcome.run.path),
    )


def plain(found: "Found") -> object:
    """Return what was found as JSON values, without the estimates of every point."""
    if isinstance(found, tuple):
        return values(found)
    if isinstance(found, Measured):
        return of_measurements.plain(found)
    if isinstance(found, Reproduction):
        return {"index": str(found.index), "studies": [_outcome(each) for each in found.studies]}
    return values(found.summary(leave_out=("estimates", "flows")))


def _outcome(of: Outcome) -> Mapping[str, object]:
    if of.run is None:
        return {"study": of.study, "error": of.error, "code": of.code}
    return {"study": of.study, "summary": values(of.run.summary(leave_out=("estimates",)))}


def rows(found: "Found") -> Iterator[Mapping[str, object]]:
    """Yield a row for each study of a list, or for each claim."""
    if isinstance(found, tuple):
        yield from ({"study": each.study, "title": each.title} for each in found)
    elif isinstance(found, Measured):
        yield from of_measurements.rows(found)
    elif isinstance(found, Reproduction):
        for each in found.studies:
            if each.run is not None:
                yield from ({"study": each.study, **row} for row in _claims(each.run))
    else:
        yield from _claims(found)


def _claims(run: "Run") -> Iterator[Mapping[str, object]]:
    from msgspec import to_builtins

    from ethermeter.analysis.claims import FILE, ClaimEntry

    for claim in run.claims(file=FILE):
        yield to_builtins(ClaimEntry.of(claim))


def end(found: "Found", options: StudyOptions) -> int:
    """Return the exit code: 1 if a study, or a trial of a measurement, failed."""
    if isinstance(found, Measured):
        return of_measurements.end(found, options)
    if isinstance(found, Reproduction):
        return FAILED if any(each.run is None for each in found.studies) else 0
    return 0


COMMAND = Command(
    study,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    end=end,
    former={"--list": "ethermeter study, without a name"},
)
