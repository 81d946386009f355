"""Shell: what every page has around its sections."""

from collections.abc import Mapping, Sequence
from importlib.resources import files

from ethermeter.report.html import safe

# The page itself forbids every request, so that "offline" is enforced and not merely intended.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"

Section = tuple[str, str, str]
"""Anchor, name in the map, and HTML."""


def page(title: str, sections: Sequence[Section], *, kind: str, facts: Mapping[str, str], footer: str, scripts: str = "") -> str:
    """Put a page together.

    Parameters
    ----------
    title
        Text of the page.
    sections
        In their order; the map links to each.
    kind
        What sort of page it is.
    facts
        HTML by name, shown below the title.
    footer, scripts
        HTML.

    """
    style = files("ethermeter.report").joinpath("style.css").read_text(encoding="utf-8")
    links = "".join(f'<li><a href="#{place}">{safe(label)}</a></li>' for place, label, _ in sections)
    boxes = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(title)} · ethermeter</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"<style>{style}</style></head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the results</a>\n'
        f'<header class="top wrap"><p class="kind">{kind}</p><h1>{safe(title)}</h1><dl class="facts">{boxes}</dl></header>\n'
        f'<nav class="map" aria-label="Sections"><ul>{links}</ul></nav>\n'
        f'<main id="content" class="wrap">\n{"".join(text for _, _, text in sections)}</main>\n'
        f'<footer class="wrap">{footer}</footer>\n{scripts}</body></html>\n'
    )
