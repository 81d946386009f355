"""The page of the models, from their catalogue."""

from ethermeter.models.catalogue import models
from ethermeter.theory import catalogue as theory
from ethermeter.theory.entry import Model

from . import bibtex

HEAD = """# Models

This page is generated from the catalogue of models; `ethermeter model MODEL` prints the same.
[Theory](../explanation/theory.md) compares the models and says how each was checked; [Formulas](../explanation/formulas.md) has the shortest of them.
"""
TAIL = """
## BibTeX

The sources of the models of theory, for a bibliography:

```bibtex
"""


def page() -> str:
    """Return the page."""
    found = bibtex.entries(model.source for model in theory.models().values())
    return "".join([HEAD, *map(_section, models().values()), TAIL, found, "```\n"])


def _section(model: Model) -> str:
    takes = "".join(
        f"| `{of.argument}` | {_symbol(of.symbol)} | {of.unit} | {_allowed(of.allowed)} | "
        f"{'required' if of.required else f'`{of.default}`'} | {of.meaning} |\n"
        for of in model.symbols
    )
    gives = "".join(
        f"| `{of.field}` | {_symbol(of.symbol)} | {of.unit} | {of.meaning} |\n"
        for of in model.outputs
    )
    assumes = "".join(f"| {of.key} | {of.text} |\n" for of in model.assumptions)
    assumed = f"\n| assumption | |\n|---|---|\n{assumes}" if assumes else ""
    notes = "".join(f"\n{note}\n" for note in model.notes)
    return (
        f"\n## `{model.name}`\n\n{model.title[0].upper()}{model.title[1:]}.\n\n"
        f"- Source: {model.source}.\n- Confidence: {model.confidence}.\n"
        f"- Valid for {model.validity}.\n{notes}\n"
        f"| argument | symbol | unit | allowed | default | meaning |\n|---|---|---|---|---|---|\n{takes}\n"
        f"| result | symbol | unit | meaning |\n|---|---|---|---|\n{gives}{assumed}"
    )


def _symbol(text: str) -> str:
    return f"*{text}*" if text else ""


def _allowed(of: object) -> str:
    return ", ".join(f"`{word}`" for word in of) if isinstance(of, tuple) else str(of)
