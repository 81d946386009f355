"""Pages of the documentation site that are made from the program, their weights in its search, and
files of libraries it ships.

MkDocs calls the functions `on_…` (`make docs`).
"""

import posixpath
import re
from importlib.util import find_spec
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference import FILES, PAGES

ROOT = Path(__file__).parents[1]
MATHJAX = "tex-svg.js"
"""The build of MathJax that is one file: TeX in, SVG out."""
LINK_UP = re.compile(r"\[([^\]]*)\]\((\.\./[^)#]*)(?:#[^)]*)?\)")
"""A link to a page or file in a folder above; its text and its path."""
WEIGHTS = {
    "tutorials/": 4.0,
    "notebooks/": 2.0,
    "how-to/": 3.0,
    "how-to/add-": 1.0,
    "explanation/": 1.5,
    "reference/": 1.0,
    "reference/python": 0.5,
    "decisions/": 0.2,
}
"""Weights in the search, by the beginnings of paths; the longest beginning counts."""
OF_GENERATED = 0.5
"""Weight of pages that are made from the program."""
NODE = "e=e+s+o.id"
"""What lunr 2.3.9 adds to the name of a node of its tree of words for an edge: letter and number.

A digit that is a letter looks like a part of the number then, so that nodes that differ have one
name, and a query for the beginning of a word meets words that no page has, and fails.
"""
EMPTY_HEADING = re.compile(r"<th( [^>]*)?></th>")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages and files, and MathJax."""
    for uri, page in PAGES.items():
        files.append(File.generated(config, uri, content=page()))
    for uri, text in FILES.items():
        files.append(File.generated(config, uri, content=text()))
    found = find_spec("mathjax")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the site needs MathJax: pip install django-static-mathjax")
    script = Path(found.origin).parent / "static" / "mathjax" / "es5" / MATHJAX
    uri = f"javascripts/{MATHJAX}"
    files.append(File.generated(config, uri, abs_src_path=str(script)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files of the repository outside `docs`, which the site lacks, by their text."""

    def kept(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), link[2]))
        return link[1] if target.startswith("..") else link[0]

    return LINK_UP.sub(kept, markdown)


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Weigh a page in the search, unless it says so itself.

    Make cells of heads of tables that are empty no headings, which would have no name.
    """
    page.meta.setdefault("search", {}).setdefault("boost", weight(page.file.src_uri))
    return EMPTY_HEADING.sub(r"<td\1></td>", html)


def on_post_build(*, config: MkDocsConfig) -> None:
    """End each number in the names of `NODE`, in the theme's script for the search."""
    (script,) = Path(config.site_dir).glob("assets/javascripts/workers/search.*.min.js")
    text = script.read_text(encoding="utf-8")
    if text.count(NODE) != 1:
        raise ValueError(f"{script.name}: expected {NODE!r} once; is lunr another one?")
    script.write_text(text.replace(NODE, f'{NODE}+";"'), encoding="utf-8")


def weight(uri: str) -> float:
    """Weight of a page in the search: who asks for a word wants to do something with it first."""
    if uri in PAGES:
        return OF_GENERATED
    begins = [begin for begin in WEIGHTS if uri.startswith(begin)]
    return WEIGHTS[max(begins, key=len)] if begins else 1.0
