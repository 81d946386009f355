"""Pages of the documentation site that are made from the program, and files of libraries it ships.

MkDocs calls the functions `on_…` (`make docs`).
"""

import posixpath
import re
from importlib.util import find_spec
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference import PAGES

ROOT = Path(__file__).parents[1]
MATHJAX = "tex-svg.js"
"""The build of MathJax that is one file: TeX in, SVG out."""
LINK_UP = re.compile(r"\[([^\]]*)\]\((\.\./[^)#]*)(?:#[^)]*)?\)")
"""A link to a page or file in a folder above; its text and its path."""
EMPTY_HEADING = re.compile(r"<th( [^>]*)?></th>")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages, and MathJax."""
    for uri, page in PAGES.items():
        files.append(File.generated(config, uri, content=page()))
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
    """Make cells of heads of tables that are empty no headings, which would have no name."""
    return EMPTY_HEADING.sub(r"<td\1></td>", html)
