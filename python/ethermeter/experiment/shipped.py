"""Shipped experiments: files that come with the package."""

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_EXPERIMENTS, _STUDIES = _PACKAGE / "experiments", _PACKAGE / "studies"
_PUBLISHED = "published.toml"


def shipped() -> dict[str, Path]:
    """Return the shipped experiment files by name, sorted.

    Experiments of a study are named "study/file", its live tests "live/study/file".
    """
    files = {
        path.relative_to(_EXPERIMENTS).with_suffix("").as_posix(): path
        for path in _EXPERIMENTS.rglob("*.toml")
    }
    for path in _STUDIES.glob("*/*.toml"):
        if path.name != _PUBLISHED:
            files[f"{_study(path.parent)}/{path.stem}"] = path
    for path in _STUDIES.glob("*/live/*.toml"):
        files[f"live/{_study(path.parent.parent)}/{path.stem}"] = path
    return dict(sorted(files.items()))


def _study(folder: Path) -> str:
    return folder.name.replace("_", "-")
