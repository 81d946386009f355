"""Shell: what every page has around its sections; one file that needs no network."""

from collections.abc import Sequence
from importlib.resources import files

from ethermeter.report import bundle
from ethermeter.report.html import embedded, safe
from ethermeter.report.sheet import Sheet
from ethermeter.report.theme import config

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif'
# The page itself forbids every request, so that "offline" is enforced and not merely intended.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"

Section = tuple[str, str, str]
"""A section's anchor, its name in the map of the page, and its HTML."""


def shell(
    title: str,
    sections: Sequence[Section],
    sheet: Sheet,
    *,
    kind: str,
    facts: Sequence[tuple[str, str]] = (),
    footer: str,
) -> str:
    """Put a page together.

    Parameters
    ----------
    title
        What it is about.
    sections
        What it says; with more than one it has a map.
    sheet
        Its figures.
    kind
        What kind of page it is, above the title.
    facts
        The most important numbers, names and values; values are HTML.
    footer
        Last line; HTML.

    """
    own = files("ethermeter.report")
    settings = {ground: config(ground, font=FONT) for ground in ("light", "dark")}
    links = "".join(
        f'<li><a href="#{place}">{safe(label)}</a></li>' for place, label, _ in sections
    )
    shown = (
        f'<nav class="map" aria-label="Sections"><ul>{links}</ul></nav>\n'
        if len(sections) > 1
        else ""
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(title)} · ethermeter</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"<style>{own.joinpath('style.css').read_text(encoding='utf-8')}</style></head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the results</a>\n'
        f'<header class="top wrap"><p class="kind">{safe(kind)}</p><h1>{safe(title)}</h1>{_facts(facts)}</header>\n'
        f'{shown}<main id="content" class="wrap">\n{"".join(text for _, _, text in sections)}</main>\n'
        f'<footer class="wrap">{footer}</footer>\n'
        f'<script type="application/json" id="config">{embedded(settings)}</script>\n{sheet.scripts()}'
        f"<script>{bundle.javascript()}</script>\n<script>{own.joinpath('page.js').read_text(encoding='utf-8')}</script>\n</body></html>\n"
    )


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    if not facts:
        return ""
    return (
        '<dl class="facts">'
        + "".join(f"<div><dt>{safe(name)}</dt><dd>{value}</dd></div>" for name, value in facts)
        + "</dl>"
    )
