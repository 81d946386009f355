"""Pages of the documentation site that are made from the program, and files of libraries it ships.

MkDocs calls the functions `on_…` (`make docs`).
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from ethermeter.cli.app import app
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
MATHJAX = "tex-svg.js"
"""The build of MathJax that is one file: TeX in, SVG out."""
SOURCE_LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?!docs/)[^)]*\)")
"""A link to a file of the repository outside `docs`, which the site does not have."""
EMPTY_HEADING = re.compile(r"<th( [^>]*)?></th>")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages, and MathJax."""
    files.append(File.generated(config, "reference/commands.md", content=commands()))
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


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make cells of heads of tables that are empty no headings, which would have no name."""
    return EMPTY_HEADING.sub(r"<td\1></td>", html)


def commands() -> str:
    """Return the page of all commands: the help of each, as the program prints it."""
    parts = [
        "# Commands\n",
        "The help of every command, as `ethermeter COMMAND --help` prints it.\n",
    ]
    parts += _sections(typer.main.get_command(app), ("ethermeter",))
    return "\n".join(parts)


def _sections(command: Any, words: tuple[str, ...]) -> list[str]:
    # Typer brings its own click, so the classes of commands are not those of the package `click`.
    context = command.make_context(words[-1], [], resilient_parsing=True)
    context.info_name = " ".join(words)
    below: dict[str, Any] = getattr(command, "commands", {})
    own = [f"{'#' * min(len(words) + 1, 4)} `{' '.join(words)}`\n"]
    own.append(f"```text\n{command.get_help(context).strip()}\n```\n")
    found = own if len(words) > 1 else []
    for name in command.list_commands(context) if below else ():
        found += _sections(below[name], (*words, name))
    return found
