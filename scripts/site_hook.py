"""Pages of the documentation site that are made from the program, and files of libraries it ships.

MkDocs calls the functions `on_…` (`make docs`).
"""

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
SOURCE_LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?!docs/)[^)]*\)")
"""A link to a file of the repository outside `docs`, which the site does not have."""


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
    """Replace links to files of the repository by their text."""
    return SOURCE_LINK.sub(r"\1", markdown)
