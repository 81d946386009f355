"""Reading: from a file to an experiment, or to every fault in it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ethermeter.experiment import toml
from ethermeter.experiment.document import (
    MOST_TRIALS,
    TABLES,
    Document,
    check_form,
    listed_in,
)
from ethermeter.experiment.key_paths import Sweep, overridden, resolved, sweeps_of
from ethermeter.experiment.lowering import Scenarios
from ethermeter.experiment.shorthand import WrittenOut, with_hosts, with_tables
from ethermeter.experiment.tables import TableError, faults_of, keys_of, read_table, table_reader
from ethermeter.experiment.toml import EVERY, PathError, Tables, assigned, covers
from ethermeter.faults import Fault, Faults, InputError, shown
from ethermeter.units import UnitError

FROM_TEXT = "experiment"
"""What an experiment that is no file is called; its series too unless the text names one."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment file, as read."""

    path: Path
    title: str
    """What it is, in one line."""
    notes: str
    seed: int
    series: str
    """Name of the series in figures."""
    engines: tuple[str, ...]
    """Engines that answer."""
    models: tuple[str, ...] | None
    """Models that the engines "theory" and "idealised" use; None for all that apply."""
    replications: int
    """Trials of each point."""
    batches: int
    """Equal parts of the measured window."""
    sources: Mapping[str, str]
    """Where a parameter comes from: dotted key to "kind: text"."""
    sweeps: tuple[Sweep, ...]
    """What is varied."""
    source_text: str = field(repr=False)
    """The file's text after overrides; TOML."""
    written: WrittenOut = field(repr=False, compare=False)
    """Its tables, with all that the file implies; not to be changed."""
    scenarios: Scenarios = field(repr=False, compare=False)
    """The scenarios of its points."""

    @property
    def document(self) -> Tables:
        """Its tables, with all that the file implies; not to be changed."""
        return self.written.document

    @property
    def points(self) -> int:
        """How many combinations of the varied values there are."""
        return math.prod(len(sweep.values) for sweep in self.sweeps)

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

    Overrides are values to set in it, each "key.path=TOML value"; a word that is no TOML value
    counts as a text. A key that is set is no longer varied.

    Raises
    ------
    InputError
        With every fault that was found.

    """
    file = str(path)
    text = toml.text_of(path, file=file)
    document = toml.parsed(text, file=file)
    return _of_tables(document, path, text, overrides)


def of_text(text: str, *, overrides: Sequence[str] = ()) -> Experiment:
    """Read the text of an experiment file, as `load` does a file; faults call it `FROM_TEXT`.

    Other files that it names are looked for in the working directory.
    """
    document = toml.parsed(text, file=FROM_TEXT)
    return _of_tables(document, Path(FROM_TEXT), text, overrides)


def changed(experiment: Experiment, overrides: Sequence[str]) -> Experiment:
    """Return an experiment that was read with overrides laid over it; errors as of `load`."""
    text = experiment.source_text
    document = toml.parsed(text, file=str(experiment.path))
    return _of_tables(document, experiment.path, text, overrides)


def of_tables(tables: Mapping[str, object], *, overrides: Sequence[str] = ()) -> Experiment:
    """Read the tables of an experiment file, made in Python, as `of_text` does its text.

    Raises
    ------
    InputError
        With every fault that was found, also where a value has no form in TOML.

    """
    try:
        text = toml.document(tables)
    except TypeError as error:
        allowed = f"text, numbers, booleans, lists and tables ({error})"
        raise InputError.of(
            FROM_TEXT, "(tables)", "a value without a form in TOML", allowed
        ) from error
    return of_text(text, overrides=overrides)


def _of_tables(document: Tables, path: Path, text: str, overrides: Sequence[str]) -> Experiment:
    if not overrides:
        return of_document(document, path, text=text)
    # Overrides may be of rows of message tables.
    written, faults = with_tables(document, file=str(path), folder=path.parent)
    document, wrong = overridden(written.document, overrides)
    if any(override.partition("=")[0].strip() == "flows" for override in overrides):
        written = WrittenOut(document)
    return of_document(document, path, faults=[*faults, *wrong], written=written)


def of_document(
    document: Tables,
    path: Path,
    *,
    text: str | None = None,
    faults: Sequence[Fault] = (),
    written: WrittenOut | None = None,
) -> Experiment:
    """Return the experiment of a file's tables.

    Parameters
    ----------
    document
        The tables.
    path
        The file, by which faults call it and in whose directory other files are looked for.
    text
        Its text; that of the tables if not given.
    faults
        Faults that are known already.
    written
        What is known of message tables whose rows are in the document already.

    Raises
    ------
    InputError
        With every fault that was found.

    """
    found = Faults(str(path))
    out, of_tables = with_tables(document, file=found.file, folder=path.parent)
    known = [*faults, *of_tables]
    if written is not None and out.document is document:
        out = replace(written, document=document)
    out = with_hosts(out, found)
    try:
        return _read(out, path, found, text=None if out.is_changed else text, is_sound=not known)
    except InputError as error:
        raise out.error(error.faults, known) from None


_IMPLIED = ("flows", "network")
"""Tables of which nothing is known as long as a message table could not be read."""


def _read(
    out: WrittenOut, path: Path, found: Faults, *, text: str | None, is_sound: bool
) -> Experiment:
    """Return an experiment, or raise the faults of its document, if any, unless `is_sound`.

    `found` are those that are known already.
    """
    document, file = out.document, found.file
    if not out.is_whole:
        found.of(lambda: read_table(Document, document, file=file))
        raise InputError(fault for fault in found.found if fault.key not in _IMPLIED)
    model = found.of(lambda: read_table(Document, document, file=file))
    check_form(document, found)
    _check_sources(document, found)
    _check_names(document, found)
    sweeps, wrong = sweeps_of(document, file=file)
    found.found += wrong
    _check_values(document, sweeps, found)
    if found.found or model is None or not is_sound:
        found.found += _between_tables(document, file=file, folder=path.parent)
        raise InputError(found.found)
    experiment = Experiment(
        path=path,
        title=model.title,
        notes=model.notes,
        seed=model.seed,
        series=model.series if model.series is not None else path.stem,
        engines=model.run.engines,
        models=model.theory.models,
        replications=model.run.replications,
        batches=model.run.batches,
        sources=model.sources,
        sweeps=tuple(sweeps),
        source_text=toml.document(document) if text is None else text,
        written=out,
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


def _between_tables(document: Tables, *, file: str, folder: Path) -> Sequence[Fault]:
    """Return what tables contradict of each other, of those that are sound by themselves.

    Without varied values, so that a fault elsewhere does not hide it.
    """
    top = listed_in(document)
    listed, run = document.get(top), document.get("run")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        return ()
    engines = run.get("engines") if isinstance(run, dict) else None
    known = [each for each in engines if isinstance(each, str)] if isinstance(engines, list) else ()
    scenarios = Scenarios(document, (), engines=known, batches=20, file=file, folder=folder)
    try:
        scenarios.point(())
    except InputError as error:
        return error.faults
    return ()


def _check_sources(document: Tables, faults: Faults) -> None:
    """Find sources of keys that are no parameter."""
    table = document.get("sources")
    for key, given in table.items() if isinstance(table, dict) else ():
        try:
            if isinstance(given, str):
                resolved(document, key.split("."))
        except PathError as error:
            faults.add(("sources", key), shown(given), str(error))


def _check_names(document: Tables, faults: Faults) -> None:
    """Find names of groups, or flows, with which a dotted key is ambiguous."""
    top = listed_in(document)
    groups = document.get(top)
    names: set[str] = set()
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        name = group.get("name") if isinstance(group, dict) else None
        if not isinstance(name, str):
            continue
        path = (top, index, "name")
        if name in keys_of(table_reader(TABLES[top])):
            faults.add(path, shown(name), f"expected a name that is no key of {top}")
        if name in names:
            what = "flow" if top == "flows" else "group"
            faults.add(path, shown(name), f"expected a name that no {what} before has")
        names.add(name)


def _check_values(document: Tables, sweeps: Sequence[Sweep], faults: Faults) -> None:
    """Find varied values that their key does not allow."""
    for sweep in sweeps:
        if sweep.path == ("theory", "models"):
            allowed = "expected all models in one list, theory.models"
            faults.add(("vary", sweep.key), "varied", allowed)
            continue
        top = str(sweep.path[0])
        size = 2 if top == listed_in(document) else 1
        # The values of every flow are checked in the first.
        within = tuple(0 if part == EVERY else part for part in sweep.path[:size])
        table = document.get(top, {})
        if size == 2 and isinstance(table, list):
            table = table[int(within[1])]
        for index, value in enumerate(sweep.values):
            try:
                varied = assigned(table, sweep.path[size:], value)
                table_reader(TABLES[top]).read(varied)
            except PathError as error:
                faults.add(("vary", sweep.key), shown(value), str(error))
                break
            except (UnitError, TableError) as error:
                # Other faults of the table were found when the whole file was validated.
                for path, fault in faults_of(error, varied, file=faults.file, within=within):
                    if covers(sweep.path, path):
                        rest = path[len(sweep.path) :]
                        faults.add(("vary", sweep.key, index, *rest), fault.value, fault.allowed)


def _check(experiment: Experiment) -> None:
    """Check tables together: at the first point, and with each value of each sweep.

    The combinations of these are checked as the plan is made.
    """
    if experiment.trials > MOST_TRIALS:
        allowed = f"expected at most {MOST_TRIALS} trials: points x engines x replications"
        raise InputError.of(str(experiment.path), "vary", str(experiment.trials), allowed)
    first = [0] * len(experiment.sweeps)
    choices = [first] + [
        [value if other == index else 0 for other in range(len(first))]
        for index, sweep in enumerate(experiment.sweeps)
        for value in range(1, len(sweep.values))
    ]
    _raise_all(experiment, choices)


def raise_all(experiment: Experiment, choices: Iterable[Sequence[int]]) -> None:
    """Raise the faults of all these points together, each fault once.

    Raises
    ------
    InputError
        If any of the points has a fault.

    """
    try:
        _raise_all(experiment, choices)
    except InputError as error:
        raise experiment.written.error(error.faults) from None


def _raise_all(experiment: Experiment, choices: Iterable[Sequence[int]]) -> None:
    """Raise the faults of all these points, as those of the document."""
    faults: dict[tuple[str, str, str], Fault] = {}
    for choice in choices:
        try:
            experiment.scenarios.point(choice)
        except InputError as error:
            values = zip(experiment.sweeps, choice, strict=True)
            point = ", ".join(f"{sweep.key} = {sweep.texts[at][:60]}" for sweep, at in values)
            for fault in error.faults:
                allowed = f"{fault.allowed} (with {point})" if point else fault.allowed
                found = Fault(fault.file, fault.key, fault.value, allowed)
                faults.setdefault((fault.key, fault.value, fault.allowed), found)
    if faults:
        raise InputError(faults.values())


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
