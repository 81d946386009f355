"""Pages of the reference that are made from the program: each a function that returns Markdown.

`python -m scripts.reference NAME` prints one, such as `metrics`.
"""

from collections.abc import Callable

from . import commands, errors, experiments, keys, metrics, models, operations, schemas

PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands.page,
    "reference/errors.md": errors.page,
    "reference/experiment-keys.md": keys.page,
    "reference/metrics.md": metrics.page,
    "reference/models.md": models.page,
    "reference/operations.md": operations.page,
    "reference/schemas.md": schemas.page,
    "reference/shipped-experiments.md": experiments.page,
}
"""The function of each generated page, by its path below `docs`."""

FILES = {f"reference/{path}": text for path, text in schemas.files().items()}
"""Files beside the generated pages, by their paths below `docs`: functions that return the text."""
