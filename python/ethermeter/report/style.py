"""Style: size, type and scales of a figure that is drawn for a file or a notebook."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from ethermeter.faults import InputError, choices
from ethermeter.report.theme import Ground


@dataclass(frozen=True, slots=True)
class Style:
    """How a figure is drawn.

    Parameters
    ----------
    width, height
        Of each plot within its axes, in pixels; of a PDF in points, 72 to an inch.
    columns
        Plots beside each other, where a figure has several.
    font, font_size
        Family and size of all texts, in pixels; titles are a little larger.
    log_x, log_y
        Whether an axis is logarithmic. Values that are not positive are left out there.
    from_zero
        Whether the axis of values begins at zero in any case.
    across
        Values that a dashed line marks, in the SI unit, by their name: `{"1/e": 0.37}`.
    theme
        "light" or "dark".
    title
        Title of the whole figure; the names of its plots alone if empty.
    """

    width: int = 460
    height: int = 300
    columns: int = 2
    font: str = "sans-serif"
    font_size: float = 11
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False
    across: Mapping[str, float] | None = None
    theme: Ground = "light"
    title: str = ""

    def __post_init__(self) -> None:
        for key, low, high in (
            ("width", 60, 4000),
            ("height", 60, 4000),
            ("columns", 1, 20),
            ("font_size", 4, 60),
        ):
            value = getattr(self, key)
            if not isinstance(value, int | float) or not low <= value <= high:
                raise InputError.of("figure", key, str(value), f"from {low} to {high}")
        if self.theme not in ("light", "dark"):
            raise InputError.of("figure", "theme", str(self.theme), "light or dark")

    def changed(self, **values: object) -> "Style":
        """Return the style with other values.

        Raises
        ------
        InputError
            If a style has no such value, or not that one.

        """
        known = [field.name for field in fields(self)]
        for key in values:
            if key not in known:
                raise InputError.of("figure", "style", key, choices(key, known))
        return replace(self, **values)  # type: ignore[arg-type]


STYLES = {
    "screen": Style(),
    "one-column": Style(
        width=150, height=130, columns=1, font="Times New Roman, serif", font_size=8
    ),
    "two-column": Style(
        width=160, height=140, columns=2, font="Times New Roman, serif", font_size=8
    ),
}
"""Styles by name: for the screen, one column of a paper (3.5 inches), or both (7.16 inches)."""


def style_of(name: str) -> Style:
    """Return a style by its name.

    Raises
    ------
    InputError
        If there is none.

    """
    if name not in STYLES:
        raise InputError.of("figure", "style", name, choices(name, STYLES))
    return STYLES[name]
