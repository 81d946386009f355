"""Shipped experiments: files that come with the package."""

from pathlib import Path

_FOLDER = Path(__file__).parent.parent / "experiments"


def shipped() -> dict[str, Path]:
    """Return the shipped experiment files by name, sorted; a study's are named "study/file"."""
    files = {
        path.relative_to(_FOLDER).with_suffix("").as_posix(): path
        for path in _FOLDER.rglob("*.toml")
    }
    return dict(sorted(files.items()))
