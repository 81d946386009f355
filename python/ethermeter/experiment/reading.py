"""Reading: from a file to an experiment, or to every fault in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from ethermeter.experiment import toml
from ethermeter.experiment.document import (
    MOST_TRIALS,
    TABLES,
    Document,
    NetworkDocument,
    faults_of,
    fields_of,
    form_of,
    validated,
)
from ethermeter.experiment.key_paths import Sweep, overridden, resolved, sweeps_of
from ethermeter.experiment.lowering import Scenarios
from ethermeter.experiment.toml import EVERY, PathError, Tables, assigned, covers
from ethermeter.faults import Fault, InputError, Key, dotted, shown


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment file, as read.

    Parameters
    ----------
    path
        The file.
    title
        What it is, in one line.
    notes
        Anything a reader should know.
    seed
        Where all chance comes from.
    series
        Name of the series in figures.
    engines
        Engines that answer.
    models
        Models that the engines "theory" and "idealised" use; None for all that apply.
    replications
        Trials of each point.
    batches
        Equal parts of the measured window.
    sources
        Where a parameter comes from: dotted key to "kind: text".
    sweeps
        What is varied.
    source_text
        The file's text after overrides; TOML.
    document
        The same as tables; not to be changed.
    scenarios
        The scenarios of its points.

    """

    path: Path
    title: str
    notes: str
    seed: int
    series: str
    engines: tuple[str, ...]
    models: tuple[str, ...] | None
    replications: int
    batches: int
    sources: Mapping[str, str]
    sweeps: tuple[Sweep, ...]
    source_text: str = field(repr=False)
    document: Tables = field(repr=False)
    scenarios: Scenarios = field(repr=False, compare=False)

    @property
    def points(self) -> int:
        """How many combinations of the varied values there are."""
        count = 1
        for sweep in self.sweeps:
            count *= len(sweep.values)
        return count

    @property
    def trials(self) -> int:
        """How many trials it makes: points, engines and replications.

        Exact where only the simulation answers. Which theories apply shows point by point in the
        plan; here each other engine counts as one trial a point.
        """
        return sum(
            self.points * (self.replications if engine in ("simulation", "live") else 1)
            for engine in self.engines
        )


def load(path: Path, *, overrides: Sequence[str] = ()) -> Experiment:
    """Read an experiment file.

    Parameters
    ----------
    path
        The file.
    overrides
        Values to set in it, each "key.path=TOML value"; a word that is no TOML value counts as a
        text. A key that is set is no longer varied.

    Raises
    ------
    InputError
        With every fault that was found.

    """
    file = str(path)
    text = toml.text_of(path, file=file)
    document = toml.parsed(text, file=file)
    if not overrides:
        return of_document(document, path, text=text)
    document, faults = overridden(document, overrides)
    return of_document(document, path, faults=faults)


def of_document(
    document: Tables, path: Path, *, text: str | None = None, faults: Sequence[Fault] = ()
) -> Experiment:
    """Return the experiment that a file's tables are.

    Parameters
    ----------
    document
        The tables.
    path
        The file, by which faults call it and in whose directory other files are looked for.
    text
        Its text; that of the tables if not given.
    faults
        What is known to be wrong already.

    Raises
    ------
    InputError
        With every fault that was found.

    """
    file = str(path)
    faults = list(faults)
    model, wrong = _document(document, file=file)
    faults += wrong
    faults += _sources(document, file=file)
    faults += _names(document, file=file)
    sweeps, wrong = sweeps_of(document, file=file)
    faults += wrong
    faults += _values(document, sweeps, file=file)
    if faults or model is None:
        raise InputError(faults)
    experiment = Experiment(
        path=path,
        title=model.title,
        notes=model.notes,
        seed=model.seed,
        series=model.series if model.series is not None else path.stem,
        engines=tuple(model.run.engines),
        models=model.models,
        replications=model.run.replications,
        batches=model.run.batches,
        sources=model.sources,
        sweeps=tuple(sweeps),
        source_text=toml.document(document) if text is None else text,
        document=document,
        scenarios=Scenarios(
            document,
            sweeps,
            engines=model.run.engines,
            batches=model.run.batches,
            file=file,
            folder=path.parent,
        ),
    )
    _check(experiment)
    return experiment


def _document(
    document: Tables, *, file: str
) -> tuple[Document | NetworkDocument | None, list[Fault]]:
    try:
        return validated(form_of(document).document, document, file=file), []
    except InputError as error:
        return None, list(error.faults)


def _sources(document: Tables, *, file: str) -> list[Fault]:
    """Return the sources that speak of no parameter."""
    table = document.get("sources")
    faults = []
    for key, given in table.items() if isinstance(table, dict) else ():
        try:
            if isinstance(given, str):
                resolved(document, key.split("."), tops=form_of(document).tables)
        except PathError as error:
            faults.append(Fault(file, dotted(("sources", key)), shown(given), str(error)))
    return faults


def _names(document: Tables, *, file: str) -> list[Fault]:
    """Return the groups, or flows, whose names leave open what a dotted key means."""
    form = form_of(document)
    top, model = form.listed, TABLES[form.listed]
    groups = document.get(top)
    seen: set[str] = set()
    faults = []
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        name = group.get("name") if isinstance(group, dict) else None
        if not isinstance(name, str):
            continue
        place = dotted((top, index, "name"))
        if name in fields_of(model):
            faults.append(
                Fault(file, place, shown(name), f"expected a name that is no key of {top}")
            )
        if name in seen:
            faults.append(
                Fault(
                    file,
                    place,
                    shown(name),
                    f"expected a name that no {'flow' if top == 'flows' else 'group'} before has",
                )
            )
        seen.add(name)
    return faults


def _values(document: Tables, sweeps: Sequence[Sweep], *, file: str) -> list[Fault]:
    """Return the varied values that their key does not allow."""
    faults = []
    for sweep in sweeps:
        if sweep.path == ("theory", "models"):
            faults.append(
                Fault(
                    file,
                    dotted(("vary", sweep.key)),
                    "varied",
                    "expected all models in one list, theory.models",
                )
            )
            continue
        size = 2 if sweep.path[0] == form_of(document).listed else 1
        # What every flow may have is asked of the first.
        within = tuple(0 if part == EVERY else part for part in sweep.path[:size])
        table = _table(document, within)
        model = TABLES[str(sweep.path[0])]
        for index, value in enumerate(sweep.values):
            place = ("vary", sweep.key, index)
            try:
                model.model_validate(assigned(table, sweep.path[size:], value))
            except PathError as error:
                faults.append(Fault(file, dotted(place[:2]), shown(value), str(error)))
                break
            except ValidationError as error:
                # What else is wrong with the table was found when the file was validated as it
                # stands.
                for path, fault in faults_of(error, model, file=file, within=within):
                    if covers(sweep.path, path):
                        rest = path[len(sweep.path) :]
                        faults.append(
                            Fault(file, dotted((*place, *rest)), fault.value, fault.allowed)
                        )
    return faults


def _table(document: Tables, path: tuple[Key, ...]) -> object:
    table = document.get(str(path[0]), {})
    return table[int(path[1])] if len(path) > 1 and isinstance(table, list) else table


def _check(experiment: Experiment) -> None:
    """Check tables together: at the first point, and with each value of each sweep.

    The combinations of these are checked as the plan is made.
    """
    if experiment.trials > MOST_TRIALS:
        allowed = f"expected at most {MOST_TRIALS} trials: points x engines x replications"
        raise InputError([Fault(str(experiment.path), "vary", str(experiment.trials), allowed)])
    first = [0] * len(experiment.sweeps)
    choices = [first] + [
        [value if other == index else 0 for other in range(len(first))]
        for index, sweep in enumerate(experiment.sweeps)
        for value in range(1, len(sweep.values))
    ]
    raise_all(experiment, choices)


def raise_all(experiment: Experiment, choices: Iterable[Sequence[int]]) -> None:
    """Raise the faults of all these points together, each fault once.

    Raises
    ------
    InputError
        If any of the points has a fault.

    """
    faults: dict[tuple[str, str, str], Fault] = {}
    for choice in choices:
        try:
            experiment.scenarios.point(choice)
        except InputError as error:
            for fault in error.faults:
                faults.setdefault(
                    (fault.key, fault.value, fault.allowed), _placed(fault, experiment, choice)
                )
    if faults:
        raise InputError(faults.values())


def _placed(fault: Fault, experiment: Experiment, choice: Sequence[int]) -> Fault:
    """Return the fault with the point at which it showed."""
    if not choice:
        return fault
    point = ", ".join(
        f"{sweep.key} = {sweep.texts[index][:60]}"
        for sweep, index in zip(experiment.sweeps, choice, strict=True)
    )
    return Fault(fault.file, fault.key, fault.value, f"{fault.allowed} (with {point})")


_PACKAGE = Path(__file__).parent.parent
_EXPERIMENTS, _STUDIES = _PACKAGE / "experiments", _PACKAGE / "studies"
_PUBLISHED = "published.toml"


def shipped() -> dict[str, Path]:
    """Return the shipped experiment files by name, sorted.

    Experiments of a study are named "study/file", its live tests "live/study/file".
    """
    files = {
        path.relative_to(_EXPERIMENTS).with_suffix("").as_posix(): path
        for path in _EXPERIMENTS.rglob("*.toml")
    }
    for path in _STUDIES.glob("*/*.toml"):
        if path.name != _PUBLISHED:
            files[f"{_study(path.parent)}/{path.stem}"] = path
    for path in _STUDIES.glob("*/live/*.toml"):
        files[f"live/{_study(path.parent.parent)}/{path.stem}"] = path
    return dict(sorted(files.items()))


def _study(folder: Path) -> str:
    return folder.name.replace("_", "-")
