"""Registry: the studies, found by their folders."""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ethermeter.studies.definition import Study

_FOLDER = Path(__file__).parent


@cache
def names() -> tuple[str, ...]:
    """Names of the studies, sorted; no study is imported."""
    return tuple(sorted(path.parent.name.replace("_", "-") for path in _FOLDER.glob("*/study.py")))


def live_names() -> tuple[str, ...]:
    """Names of the studies that have live tests, sorted."""
    return tuple(name for name in names() if (_FOLDER / _module(name) / "live").is_dir())


def find(name: str) -> "Study":
    """Return a study by its name, which is one of `names`."""
    study: Study = import_module(f"ethermeter.studies.{_module(name)}.study").STUDY
    return study


def _module(name: str) -> str:
    return name.replace("-", "_")
