"""Parts of a page as text: its findings, its sections and their names."""

import re
from html import unescape


def sections(page: str) -> list[str]:
    """Names of the sections in their order, without the answer with which every page begins."""
    found = re.findall(r'<section id="([^"]+)"', page)
    return [name for name in found if name not in ("findings", "warnings")]


def sentences(page: str, section: str = "findings") -> list[str]:
    """Sentences of the findings, or of the warnings, as text; none if the page has no such."""
    found = re.search(rf'<section id="{section}">.*?</section>', page, re.DOTALL)
    items = re.findall(r"<li>(.*?)</li>", found[0], re.DOTALL) if found else []
    texts = (unescape(re.sub(r"<[^>]+>", "", item)) for item in items)
    return [text.replace("\N{NO-BREAK SPACE}", " ") for text in texts]


def text_of(page: str, section: str) -> str:
    """Return a section as it is written in the page."""
    return page.split(f'<section id="{section}">')[1].split("</section>")[0]
