"""Accessibility of pages by the rules of axe-core, at the width of a desk and of a telephone."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe

WIDTHS = (1280, 390)
"""Viewports, in CSS pixels."""


def violations(page: Any, *, within: str = "", without: str = "") -> list[str]:
    """Return each violated rule of an open page, with the elements that violate it.

    `within` selects what is looked at, `without` what of it is left out.
    """
    parts = (("include", within), ("exclude", without))
    context = {name: [[selector]] for name, selector in parts if selector} or None
    found = Axe().run(page, context=context).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}: "
        + "; ".join(node["html"][:160] for node in rule["nodes"][:5])
        for rule in found
    ]
