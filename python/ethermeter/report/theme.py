"""Theme: colours and type of the figures, for light and dark ground."""

from typing import Any, Final, Literal

Ground = Literal["light", "dark"]
VegaLite = dict[str, Any]
"""A Vega-Lite specification."""

# Matplotlib's "plasma" (N. Smith, S. van der Walt; CC0): lightness grows evenly and survives every
# kind of colour blindness. Only the part with a contrast of at least 3:1 against the ground is
# used, so that a longer frame is always the brighter, or on paper the warmer, line.
_PLASMA: Final = (
    "#0d0887",
    "#41049d",
    "#6a00a8",
    "#8f0da4",
    "#b12a90",
    "#cc4778",
    "#e16462",
    "#f2844b",
    "#fca636",
    "#fcce25",
    "#f0f921",
)
_USED: Final[dict[Ground, tuple[float, float]]] = {"light": (0.0, 0.6), "dark": (0.46, 1.0)}
# After Okabe and Ito, Color Universal Design, 2008; darkened or lightened to a contrast of 3:1.
_DISTINCT: Final[dict[Ground, tuple[str, ...]]] = {
    "light": (
        "#0072b2",
        "#d55e00",
        "#00805e",
        "#aa3f83",
        "#6b5b00",
        "#4b4b9a",
        "#2b8cbe",
        "#7a3b10",
        "#5b6770",
        "#b00046",
        "#3b7d23",
        "#000000",
    ),
    "dark": (
        "#56b4e9",
        "#ff9e4a",
        "#2fd0a0",
        "#e08fc0",
        "#f0e442",
        "#a9a9ff",
        "#8fd6ff",
        "#d8a070",
        "#b4bcc4",
        "#ff7f9f",
        "#9bdc6f",
        "#ffffff",
    ),
}
KIND_COLOURS: Final[dict[Ground, tuple[str, ...]]] = {
    "light": (
        *("#0072b2", "#7fb8dc", "#b9c6d0", "#d55e00", "#eceff1"),
        *("#7a3f8f", "#009e73", "#d9c27a"),
    ),
    "dark": (
        *("#3f9bd8", "#28658f", "#4a5a66", "#ff8a3d", "#2a3138"),
        *("#b98fd0", "#2fd0a0", "#8a7a45"),
    ),
}
"""Frames, preambles, gaps, collisions, idle; beacons, a line that is held, opportunities."""

_INK: Final[dict[Ground, dict[str, str]]] = {
    "light": {
        "text": "#1c2530",
        "muted": "#55606c",
        "grid": "#e4e8ec",
        "axis": "#9aa5b1",
        "ground": "#ffffff",
    },
    "dark": {
        "text": "#e6eaee",
        "muted": "#a5b0bb",
        "grid": "#2c353e",
        "axis": "#66727e",
        "ground": "#171d23",
    },
}


def colours(count: int, *, ground: Ground, is_ordered: bool) -> list[str]:
    """Colours for so many curves: a ramp if they are ordered or many, distinct hues otherwise."""
    if not is_ordered and count <= len(_DISTINCT[ground]):
        return list(_DISTINCT[ground][:count])
    first, last = _USED[ground]
    places = [
        first + (last - first) * (place / (count - 1) if count > 1 else 0.5)
        for place in range(count)
    ]
    return [_plasma(place) for place in places]


def _plasma(place: float) -> str:
    position = place * (len(_PLASMA) - 1)
    at = min(int(position), len(_PLASMA) - 2)
    share = position - at
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in _PLASMA[at : at + 2]]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))


def config(ground: Ground, *, font: str, font_size: float = 11) -> VegaLite:
    """Vega-Lite configuration: type, axes and grid; curve colours come with each figure.

    `font_size` in pixels is that of labels; titles are a little larger.
    """
    ink = _INK[ground]
    return {
        "background": "transparent",
        "font": font,
        "view": {"stroke": None},
        "axis": {
            "labelColor": ink["muted"],
            "titleColor": ink["muted"],
            "titleFontWeight": "normal",
            "labelFontSize": font_size,
            "titleFontSize": font_size + 0.5,
            "gridColor": ink["grid"],
            "domainColor": ink["axis"],
            "tickColor": ink["axis"],
            "titlePadding": 8,
            "labelFlush": False,
        },
        "axisX": {"grid": False},
        "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
        "rule": {"color": ink["text"]},
        "text": {"fontSize": font_size, "color": ink["text"]},
        "title": {
            "color": ink["text"],
            "fontSize": font_size + 2,
            "fontWeight": 600,
            "anchor": "start",
        },
        "legend": {
            "labelColor": ink["muted"],
            "titleColor": ink["muted"],
            "labelFontSize": font_size,
            "titleFontSize": font_size,
            "orient": "top",
        },
        "header": {"labelColor": ink["text"], "titleColor": ink["muted"]},
        "point": {"fill": ink["ground"]},
    }
