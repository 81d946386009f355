"""Rendering: sections put together into one self-contained HTML file, by Jinja templates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ethermeter.document import Figure, Row, Section, Table
from ethermeter.report import charts
from ethermeter.report.charts.explorer import explorer
from ethermeter.report.layout import MOST_HEIGHT, above, arrange, is_folded, split
from ethermeter.report.theme import VegaLite, config
from ethermeter.report.thinning import MOST_ROWS, spread
from ethermeter.report.vega import javascript

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif'
# The page itself forbids every request, so that "offline" is enforced and not merely intended.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Parameters
    ----------
    title, kind
        Its title, and the kind of page above it.
    sections
        What it shows; it has a list of their names, and folds those that make it too long.
    footer
        Last line.
    facts
        Numbers about the page, by name.
    question
        What is answered, below the title.
    findings
        The answer, in sentences.
    warnings
        What to know before the answer is trusted.
    height
        Estimated height as opened, in pixels, at a width of 1280; what is beyond is folded.

    """

    title: str
    kind: str
    sections: Sequence[Section]
    footer: str
    facts: Sequence[tuple[str, str]] = ()
    question: str = ""
    findings: Sequence[str] = ()
    warnings: Sequence[str] = ()
    height: int = MOST_HEIGHT


@dataclass(slots=True)
class _Charts:
    """Specifications of the figures rendered so far; their HTML refers to them by number."""

    specs: list[VegaLite] = field(default_factory=list)

    def add(self, figure: Figure) -> int:
        """Keep the specification of a figure; its number."""
        self.specs.append(charts.vega_lite(figure.chart))
        return len(self.specs)


def render(page: Page) -> str:
    """Return the HTML of a page."""
    own = files("ethermeter.report") / "templates"
    said = [*page.findings, *page.warnings]

    def joined(*names: str) -> Markup:
        return Markup("\n".join((own / name).read_text(encoding="utf-8") for name in names))

    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            sections=arrange(page.sections, page.height - above(page.title, page.question, said)),
            charts=_Charts(),
            policy=POLICY,
            style=joined("style.css", "explorer.css"),
            # The explorer writes its specification before the page draws any.
            script=joined("explorer.js", "page.js"),
            folds=joined("folds.js"),
            bundle=Markup(javascript()),
            config={ground: config(ground, font=FONT) for ground in ("light", "dark")},
        )
    )


def render_template(name: str, **values: object) -> Markup:
    """Return a template with these values."""
    return Markup(_environment().get_template(name).render(values))


def render_table(table: Table) -> str:
    """Return the HTML of a table alone."""
    macros: Any = _environment().get_template("table.html").module
    return str(macros.table(table))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ethermeter.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["small_interval"] = _small_interval
    environment.filters["thinned"] = _thinned
    environment.filters["numbers"] = charts.numbers
    environment.filters["explorer"] = explorer
    environment.filters["split"] = split
    environment.filters["folded"] = is_folded
    return environment


_INTERVAL = re.compile(r" (± [0-9.e+-]+|\([^()]* to [^()]*\))$")


def _small_interval(text: str) -> str:
    """Write the interval at the end of a cell in small letters."""
    if isinstance(text, Markup):
        return text
    found = _INTERVAL.search(text)
    if found is None:
        return text
    return Markup("{} <small>{}</small>").format(text[: found.start()], found[1])


def _thinned(rows: Sequence[Row]) -> Sequence[Row]:
    return spread(rows, MOST_ROWS)
