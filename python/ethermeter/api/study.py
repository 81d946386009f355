"""Running published studies again: their experiments, or their live tests."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.api.arguments import Force, Jobs, On, Out, Overrides, Report
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.api.measure import Measured
    from ethermeter.api.runs import Run

ALL = "all"
"""Every study."""
OF_ALL = ("seed", "run.replications")
"""Keys that every study has."""
INDEX = "studies.html"


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """Options of `study`."""

    study: Annotated[
        str | None,
        Argument(
            "The study, or all of them: all. Unless given, the studies are listed.",
            "STUDY",
            "reproducible",
        ),
    ] = None
    _: KW_ONLY
    on: On = None
    overrides: Overrides = ()
    jobs: Jobs = None
    quick: Annotated[
        bool,
        Argument(
            "About a tenth of the study's time, few replications: wider intervals. Of live tests "
            "0.6 s a trial."
        ),
    ] = False
    full: Annotated[
        bool,
        Argument("All points of the live tests, some of which measure a part of them otherwise."),
    ] = False
    out: Out = None
    force: Force = False
    report: Report = True


@dataclass(frozen=True, slots=True)
class Published:
    """A study, and a line of what it is."""

    study: str
    title: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """A study that was run: its run, or the error with the exit code of a command."""

    study: str
    run: "Run | None" = None
    error: str = ""
    code: int = 0


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Every study, run again: the page with all claims, and the outcome of each."""

    index: Path
    studies: tuple[Outcome, ...]


@operation(StudyOptions)
def study(
    options: StudyOptions, display: Display
) -> "tuple[Published, ...] | Run | Measured | Reproduction":
    """Run a published study again and check its claims; or every study, on one page.

    If it is said where to measure, the live tests of the study are measured there, as one run.

    With all, studies are run into runs/STUDY-HASH, or into directories of their names
    within the one that is given, and studies.html is written beside them. A study that fails does
    not stop the others.

    Raises
    ------
    InputError
        If there is no such study, it cannot be measured there, or a key that it does not have is
        set.
    RunError, TrialError
        If results cannot be written, or a trial broke off.

    """
    from ethermeter.faults import InputError, choices
    from ethermeter.studies import registry

    name = options.study
    if name is None:
        if options != StudyOptions():
            raise InputError.of_argument("study", "(missing)", choices("", registry.names()))
        return tuple(
            Published(each, registry.find(each).presentation.title) for each in registry.names()
        )
    if options.on is not None:
        return _measured(name, options, display)
    if options.full:
        allowed = "expected where live tests are measured: all points are simulated"
        raise InputError.of_argument("full", "given", allowed)
    if name == ALL:
        return _all(options, display)
    if name not in registry.names():
        raise InputError.of_argument("study", name, choices(name, registry.names()))
    return _run(name, options, display, out=options.out, title=name)


def _run(
    name: str, options: StudyOptions, display: Display, *, out: Path | None, title: str
) -> "Run":
    from ethermeter.api.experiments import load, override_texts
    from ethermeter.api.runs import executed
    from ethermeter.execution import Execution
    from ethermeter.studies import registry

    of = registry.find(name)
    given = override_texts(options.overrides)
    is_set = any(text.partition("=")[0].strip() == "run.replications" for text in given)
    return executed(
        load(*of.runs, overrides=(*(of.quick if options.quick else ()), *given), name=name),
        Execution(jobs=options.jobs, force=options.force, command=display.command, study=name),
        replications=of.quick_replications if options.quick and not is_set else None,
        out=out,
        report=options.report,
        title=title,
        display=display,
    )


def _measured(name: str, options: StudyOptions, display: Display) -> "Measured":
    """Measure the live tests of a study as one run."""
    from dataclasses import replace

    from ethermeter.api import live_tests
    from ethermeter.api.experiments import override_texts
    from ethermeter.api.measure import measured
    from ethermeter.api.venues import place_of, venue_of
    from ethermeter.execution import Execution
    from ethermeter.faults import InputError

    names = live_tests.tests_of(name)
    venue = venue_of(str(options.on))
    if venue.host_count is not None:
        allowed = "expected without a number of hosts: the tests of a study have hosts of their own"
        raise InputError.of_argument("on", str(options.on), allowed)
    place = place_of(venue)
    loaded = live_tests.load(
        names,
        name,
        overrides=override_texts(options.overrides),
        quick=options.quick,
        full=options.full,
        display=display,
    )
    execution = Execution(
        jobs=options.jobs, force=options.force, command=display.command, live_study=name
    )
    found = measured(
        loaded, execution, place, out=options.out, report=options.report, display=display
    )
    return replace(found, study=name)


def _all(options: StudyOptions, display: Display) -> Reproduction:
    from ethermeter.api.experiments import override_texts
    from ethermeter.execution import RUNS
    from ethermeter.faults import InputError
    from ethermeter.studies import registry

    for given in override_texts(options.overrides):
        if given.partition("=")[0].strip() not in OF_ALL:
            allowed = f"not with all, except {' and '.join(OF_ALL)}: each study has keys of its own"
            raise InputError.of_argument("overrides", given, allowed)
    names = registry.names()
    outcomes = tuple(
        _outcome(name, f"{at} of {len(names)}, {name}", options, display)
        for at, name in enumerate(names, 1)
    )
    folder = RUNS if options.out is None else options.out
    return Reproduction(_write_index(outcomes, folder, quick=options.quick), outcomes)


def _outcome(name: str, title: str, options: StudyOptions, display: Display) -> Outcome:
    """Run one study; an error is shown and kept instead of the run."""
    from ethermeter.faults import InputError

    out = None if options.out is None else options.out / name
    try:
        return Outcome(name, _run(name, options, display, out=out, title=title))
    except Exception as error:  # one study's failure must not hide the others
        lines = str(error).splitlines() or [type(error).__name__]
        is_input = isinstance(error, InputError)
        display.say(f"{name}:")
        for line in lines if is_input else [f"ethermeter: {lines[0]}"]:
            display.say(line)
        return Outcome(name, None, lines[0], 2 if is_input else 1)


def _write_index(outcomes: Sequence[Outcome], folder: Path, *, quick: bool) -> Path:
    """Write one page with every claim of every study and links to reports; return its path."""
    from ethermeter.report import index
    from ethermeter.studies import registry

    entries = [
        index.Reproduced(
            study=outcome.study,
            presentation=registry.find(outcome.study).presentation,
            run=None if outcome.run is None else outcome.run.path,
            error=outcome.error,
        )
        for outcome in outcomes
    ]
    folder.mkdir(parents=True, exist_ok=True)
    return index.write(folder / INDEX, entries, quick=quick)
