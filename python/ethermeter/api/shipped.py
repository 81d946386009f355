"""What comes with the package: experiments, and the JSON Schemas of files."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from ethermeter.operation import Argument, Display, operation

EVERY = "all"
"""The word that stands for every experiment."""


@dataclass(frozen=True, slots=True)
class ExperimentsOptions:
    """Options of `experiments`."""

    word: Annotated[
        str | None,
        Argument("List those with this word in name or title; all of them: all.", "WORD"),
    ] = None
    _: KW_ONLY
    show: Annotated[str | None, Argument("Print this experiment file.", "NAME", "experiments")] = (
        None
    )
    copy: Annotated[
        tuple[str, Path] | None,
        Argument("Copy this experiment file, to start from.", "NAME DEST", "experiments"),
    ] = None
    schema: Annotated[
        Literal["experiment", "estimates", "claims", "positions"] | None,
        Argument(
            "Print the JSON Schema of an experiment file, for editors; or of estimates.json, "
            "claims.json or positions.json of a run.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Shipped:
    """The shipped experiments.

    Parameters
    ----------
    titles
        What each is, by name.
    chosen
        Whether a word chose them.

    """

    titles: Mapping[str, str]
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class ExperimentText:
    """The file of a shipped experiment.

    Parameters
    ----------
    name
        Name of the experiment.
    text
        What stands in the file.

    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a shipped experiment.

    Parameters
    ----------
    name
        Name of the experiment.
    file
        The copy.

    """

    name: str
    file: Path


@dataclass(frozen=True, slots=True)
class Schema:
    """The JSON Schema of a file.

    Parameters
    ----------
    of
        Kind of the file.
    schema
        The schema.

    """

    of: str
    schema: Mapping[str, object]


Found: TypeAlias = Shipped | ExperimentText | Copy | Schema


@operation(ExperimentsOptions)
def experiments(options: ExperimentsOptions, display: Display) -> Found:
    """List the shipped experiments, show or copy one; or show the JSON Schema of a file.

    Raises
    ------
    InputError
        If there is no such experiment, the copy is there already, or several things are wanted.

    """
    from ethermeter import experiment
    from ethermeter.faults import InputError

    wanted = [name for name in ("show", "copy", "schema") if getattr(options, name) is not None]
    if len(wanted) > 1:
        raise InputError.of_argument(wanted[1], f"given with {wanted[0]}", "expected one of them")
    if options.show is not None:
        text = _located(options.show, "show").read_text(encoding="utf-8")
        return ExperimentText(options.show, text)
    if options.copy is not None:
        return _copied(options.copy[0], Path(options.copy[1]))
    if options.schema is not None:
        return _schema(options.schema)
    titles = {name: experiment.load(of).title for name, of in experiment.shipped().items()}
    return Shipped(_with_word(options.word, titles), chosen=options.word is not None)


def _with_word(word: str | None, titles: Mapping[str, str]) -> Mapping[str, str]:
    """Return the experiments with a word in name or title; all without one."""
    from ethermeter.faults import InputError

    if word in (None, EVERY):
        return titles
    found = {
        name: title for name, title in titles.items() if word.lower() in f"{name} {title}".lower()
    }
    if not found:
        allowed = "a word of a name or title of a shipped experiment, or all"
        raise InputError.of_argument("word", word, allowed)
    return found


def _located(name: str, argument: str) -> Path:
    from ethermeter import experiment
    from ethermeter.faults import InputError, choices

    shipped = experiment.shipped()
    if name not in shipped:
        raise InputError.of_argument(argument, name, choices(name, shipped))
    return shipped[name]


def _copied(name: str, destination: Path) -> Copy:
    from ethermeter.faults import InputError

    text = _located(name, "copy").read_bytes()
    target = destination / f"{Path(name).name}.toml" if destination.is_dir() else destination
    try:
        with target.open("xb") as file:
            file.write(text)
    except FileExistsError:
        allowed = "a file that is not there yet"
        raise InputError.of_argument("copy", str(target), allowed) from None
    return Copy(name, target)


def _schema(of: str) -> Schema:
    from ethermeter import experiment
    from ethermeter.analysis.schemas import schema_of

    return Schema(of, experiment.json_schema() if of == "experiment" else schema_of(of))
