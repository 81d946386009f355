"""Options of commands, from the fields of dataclasses of options."""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field
from pathlib import Path
from typing import Any, Literal, TypedDict, Union, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from ethermeter.operation import Argument, arguments_of, is_required

NAMES = {
    "as_csv": "--csv",
    "as_json": "--json",
    "conditions": "--while",
    "duration": "--for",
    "file_format": "--format",
    "first": "--from",
    "last": "--to",
    "metrics": "--metric",
    "origin": "--from",
    "overrides": "--set",
    "report": "--no-report",
    "source": "--from",
}
"""Options that are not called as the field, because that is no word in Python, or one of several
values is given at a time."""
SETTINGS = {
    "capture_at": "at",
    "capture_octets": "octets",
    "capture_size": "size",
    "duration": "duration",
    "services": "service",
}
"""Settings that are not called as their option, because keys are nouns, or not as the field,
because one of several values is given at a time, or the command already says of what they are."""
SHORT = {"jobs": "-j", "metrics": "-m", "file_format": "-f"}

_Setting = tuple[Field[Any], Any, Argument]
"""A field that is written NAME=VALUE, with its type and what it is."""


def name_of(field: str) -> str:
    """Return the option of a field."""
    return NAMES.get(field, f"--{field.replace('_', '-')}")


def setting_of(field: str) -> str:
    """Return the name of a field that is written NAME=VALUE."""
    return SETTINGS.get(field, name_of(field).removeprefix("--"))


def parameters_of(options: type) -> Iterator[click.Parameter]:
    """Yield arguments and options of a command; all settings are one argument, its last."""
    words = [each for each in arguments_of(options) if each[2].is_setting]
    for field, kind, argument in arguments_of(options):
        if argument.is_setting:
            continue
        if not field.kw_only:
            yield _argument(field, kind, argument, () if is_required(field) else words)
        else:
            yield _option(field, kind, argument)
    if words:
        yield click.Argument(
            ["settings"],
            nargs=-1,
            metavar="[NAME=VALUE]...",
            shell_complete=_settings_completion(words),
        )


def outputs() -> Iterator[click.Parameter]:
    """Yield the options that say how an answer is printed."""
    yield click.Option(
        ["--json", "as_json"], is_flag=True, help="Print JSON, and nothing else, on stdout."
    )
    yield click.Option(
        ["--csv", "as_csv"], is_flag=True, help="Print CSV, and nothing else, on stdout."
    )
    yield click.Option(
        ["--fail-if", "fail_if"],
        multiple=True,
        metavar="CONDITION",
        help="Exit code 1 if this is so of any value of the answer, such as 'loss > 0.1%', by its "
        "name in --csv; 3 if intervals are too wide to tell. Can be given several times.",
    )


def settings_help(options: type) -> list[tuple[str, str]]:
    """Return the settings of a dataclass of options: name and what it is, for a help."""
    return [
        (f"{setting_of(field.name)}={argument.metavar or 'VALUE'}", _about(field, argument))
        for field, _, argument in arguments_of(options)
        if argument.is_setting
    ]


def _about(field: Field[Any], argument: Argument) -> str:
    """Return the help of a setting, with its default."""
    has_default = not is_required(field) and field.default not in (None, False, ())
    return f"{argument.about}  [default: {field.default}]" if has_default else argument.about


def read_settings(options: type, words: Sequence[str]) -> dict[str, object]:
    """Read words NAME=VALUE as fields of a dataclass of options.

    Raises
    ------
    InputError
        With every fault: a name that there is not, a value that is not of its kind, or a name that
        stands twice and has one value only.

    """
    from ethermeter.faults import Fault, InputError, choices

    known = {
        setting_of(field.name): (field, kind, argument)
        for field, kind, argument in arguments_of(options)
        if argument.is_setting
    }
    found: dict[str, object] = {}
    faults = []
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals:
            faults.append(Fault("command line", "argument", word, "expected NAME=VALUE"))
            continue
        if name not in known:
            faults.append(Fault("command line", name, text, choices(name, known)))
            continue
        field, kind, argument = known[name]
        given = found.get(field.name)
        if given is not None and not _is_list(kind):
            faults.append(Fault("command line", name, text, "expected once"))
            continue
        try:
            value = _type_of(kind, argument).convert(text, None, None)
        except click.BadParameter:
            faults.append(Fault("command line", name, text, f"expected {_allowed(kind, argument)}"))
            continue
        found[field.name] = (*(given or ()), value) if _is_list(kind) else value  # type: ignore[misc]
    if faults:
        raise InputError(faults)
    return found


def _allowed(kind: Any, argument: Argument) -> str:
    """Return what the value of a setting may be, in words."""
    named = _alone(kind)
    if get_origin(named) is Literal:
        return f"one of {', '.join(map(str, get_args(named)))}"
    if named is bool:
        return "yes or no"
    low = "" if argument.least is None else f" from {argument.least}"
    high = "" if argument.most is None else f" to {argument.most}"
    return f"a{' whole' if named is int else ''} number{low}{high}"


def _argument(
    field: Field[Any], kind: Any, argument: Argument, settings: Sequence[_Setting]
) -> click.Argument:
    """Return an argument by position; `settings`: those that may stand in its place."""
    required = is_required(field)
    several = _is_list(kind) or is_mapping(kind)
    metavar = argument.metavar or field.name.upper()
    return click.Argument(
        [field.name],
        type=_type_of(kind, argument),
        nargs=-1 if several else 1,
        required=required,
        metavar=(metavar if required else f"[{metavar}]") + ("..." if several else ""),
        shell_complete=_either(completion_of(argument.offers), _settings_completion(settings)),
        **_default(field, kind),
    )


class _Default(TypedDict, total=False):
    default: object


def _default(field: Field[Any], kind: Any) -> _Default:
    """Return the default of a parameter, if it has one: None would be a value to Click."""
    if is_required(field):
        return {}
    return {"default": None if _is_list(kind) or is_mapping(kind) else field.default}


def _option(field: Field[Any], kind: Any, argument: Argument) -> click.Option:
    names = [name_of(field.name), field.name]
    if field.name in SHORT:
        names.insert(1, SHORT[field.name])
    if _alone(kind) is bool:
        return click.Option(
            names,
            is_flag=True,
            flag_value=not field.default,
            default=field.default,
            type=bool,
            help=argument.about,
            hidden=argument.is_hidden,
        )
    several = _is_list(kind)
    required = is_required(field)
    return click.Option(
        names,
        type=_type_of(kind, argument),
        multiple=several,
        required=required,
        show_default=not required and not several and field.default is not None,
        metavar=argument.metavar or None,
        help=argument.about,
        hidden=argument.is_hidden,
        shell_complete=completion_of(argument.offers),
        **_default(field, kind),
    )


def _alone(kind: Any) -> Any:
    """Return the type of a value that is given: without None, and of one of several values."""
    if get_origin(kind) in (types.UnionType, Union):
        given = [each for each in get_args(kind) if each is not type(None)]
        listed = [each for each in given if get_origin(each) is Sequence]
        if listed:
            return _alone(listed[0])
        return given[0] if len(given) == 1 else tuple(given)
    if get_origin(kind) is Sequence:
        return _alone(get_args(kind)[0])
    return kind


def _is_list(kind: Any) -> bool:
    """Whether several values can be given."""
    if get_origin(kind) in (types.UnionType, Union):
        return any(map(_is_list, get_args(kind)))
    return get_origin(kind) is Sequence


class _IntegerOrText(click.IntRange):
    """An integer of a range, or another text."""

    name = "text"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the integer or the text."""
        text = str(value)
        is_number = text.removeprefix("-").isdecimal()
        return super().convert(value, param, ctx) if is_number else text


def _type_of(kind: Any, argument: Argument) -> "click.ParamType[Any]":
    alone = str if is_mapping(kind) else _alone(kind)
    if alone == (int, str):
        return _IntegerOrText(argument.least, argument.most)
    if get_origin(alone) is Literal:
        return click.Choice([str(each) for each in get_args(alone)])
    if get_origin(alone) is tuple:
        return click.Tuple([_type_of(each, argument) for each in get_args(alone)])
    if alone is int and (argument.least, argument.most) != (None, None):
        return click.IntRange(argument.least, argument.most)
    if alone is Path:
        return click.Path(path_type=Path)
    kinds: dict[Any, click.ParamType[Any, Any]] = {
        int: click.INT,
        float: click.FLOAT,
        bool: click.BOOL,
    }
    return kinds.get(alone, click.STRING)


Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completion_of(offers: str) -> Completer | None:
    """Return what completes a word with the names of a kind; None for files."""
    if not offers:
        return None

    def offered(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from ethermeter.cli import completion

        items: Iterable[tuple[str, str]] = getattr(completion, offers)(context, incomplete)
        return [
            CompletionItem(name, help=about) for name, about in items if name.startswith(incomplete)
        ]

    return offered


def _either(first: Completer | None, second: Completer) -> Completer | None:
    """Return what completes a word with what either of two offers."""
    if first is None:
        return None

    def offered(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [
            *first(context, parameter, incomplete),
            *second(context, parameter, incomplete),
        ]

    return offered


def _settings_completion(words: Sequence[_Setting]) -> Completer:
    """Return what completes names of settings, and behind the equals sign their values."""

    def offered(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        name, equals, begin = incomplete.partition("=")
        if not equals:
            return [
                CompletionItem(f"{setting_of(field.name)}=", help=argument.about)
                for field, _, argument in words
                if setting_of(field.name).startswith(incomplete)
            ]
        for field, kind, argument in words:
            complete = completion_of(argument.offers)
            if setting_of(field.name) != name:
                continue
            if get_origin(_alone(kind)) is Literal:
                values = [CompletionItem(str(each)) for each in get_args(_alone(kind))]
            else:
                values = [] if complete is None else complete(context, parameter, begin)
            return [
                CompletionItem(f"{name}={each.value}", help=each.help)
                for each in values
                if each.value.startswith(begin)
            ]
        return []

    return offered


def given_fields(
    options: type, given: Mapping[str, object], settings: Sequence[str] | None
) -> dict[str, object]:
    """Return the fields of a dataclass of options from what Click has read.

    `settings`: words NAME=VALUE; None of a command that has none.

    Raises
    ------
    InputError
        Of words that are no settings, every fault at once.

    """
    found, words = dict(given), list(settings or ())
    for field, kind, _ in arguments_of(options):
        if is_mapping(kind):
            found[field.name] = _mapping(found[field.name])
        elif _may_be_left_out(field, found.get(field.name)) and settings is not None:
            words.insert(0, str(found[field.name]))
            found[field.name] = field.default
    return found | read_settings(options, words)


def _may_be_left_out(field: Field[Any], value: object) -> bool:
    """Whether what Click took for an argument is the first setting, before which there is none."""
    return not field.kw_only and not is_required(field) and "=" in str(value or "")


def is_mapping(kind: Any) -> bool:
    """Whether values are given by names of any kind, such as the arguments of a model."""
    return get_origin(kind) is Mapping


def _mapping(words: object) -> dict[str, str]:
    """Read words NAME=VALUE whose names the operation checks."""
    from ethermeter.faults import Fault, InputError

    assert isinstance(words, tuple), "an argument of several words"
    found: dict[str, str] = {}
    faults = []
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not name:
            faults.append(Fault("command line", "argument", word, "expected NAME=VALUE"))
        elif name in found:
            faults.append(Fault("command line", name, text, "expected once"))
        found[name] = text
    if faults:
        raise InputError(faults)
    return found
