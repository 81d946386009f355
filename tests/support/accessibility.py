"""Accessibility of pages by the rules of axe-core, at the width of a desk and of a telephone."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe

WIDTHS = (1280, 390)
"""Viewports, in CSS pixels."""


def violations(page: Any, *, without: tuple[str, ...] = ()) -> list[str]:
    """Return each violated rule of an open page, with the elements that violate it.

    `without` has selectors of what is left out.
    """
    context = {"exclude": [[selector] for selector in without]} if without else None
    found = Axe().run(page, context=context).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}: "
        + "; ".join(node["html"][:160] for node in rule["nodes"][:5])
        for rule in found
    ]
