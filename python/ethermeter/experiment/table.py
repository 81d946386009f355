"""Tables: what all tables of an experiment file share, and the choice between kinds of one."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator
from pydantic_core import PydanticCustomError

T = TypeVar("T")
ALLOWED = "allowed"
"""Type of our own complaints; their context says what was allowed."""


class Table(BaseModel):
    """A table of an experiment file: strict types, no unknown keys, not changed after reading."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )


def complaint(allowed: str) -> PydanticCustomError:
    """Return the error of a value that is not what was allowed."""
    # The text is passed as context, not as the template: what people write may hold braces.
    return PydanticCustomError(ALLOWED, "{allowed}", {"allowed": allowed})


def distinct(values: list[T]) -> list[T]:
    """Return a list in which nothing stands twice.

    Raises
    ------
    PydanticCustomError
        If something does.

    """
    if len(set(values)) < len(values):
        raise complaint("expected each of them once")
    return values


def tag(name: str) -> str:
    """Return the label of one kind in a choice; its brackets tell it from a key of the file."""
    return f"<{name}>"


def is_tag(part: object) -> bool:
    """Whether a part of an error's place is a label of a choice and no key of the file."""
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")


class _Choice(Discriminator):
    """A discriminator that may stand in an optional field, for which Python wants it hashed."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self.custom_error_message)


def choice(*keys: str, allowed: str) -> Discriminator:
    """Return a choice between a plain text and tables known by their one key.

    Parameters
    ----------
    keys
        The key that marks each kind of table.
    allowed
        What to tell a person whose value is none of them.

    """

    def kind(value: Any) -> str | None:
        if isinstance(value, str):
            return tag("text")
        if isinstance(value, Mapping):
            return next((tag(key) for key in keys if key in value), None)
        if isinstance(value, BaseModel):
            return next((tag(key) for key in keys if hasattr(value, key)), None)
        return None

    return _Choice(
        kind,
        custom_error_type=ALLOWED,
        custom_error_message="{allowed}",
        custom_error_context={"allowed": allowed},
    )
