"""The page of the experiments that come with ethermeter."""

import tomllib
from itertools import groupby
from pathlib import Path

from ethermeter.experiment import shipped

HEAD = """# Shipped experiments

This page is generated from the files.
`ethermeter run NAME` runs one, and `ethermeter experiments --copy NAME FILE` copies it.
Experiments `STUDY/NAME` belong to a study ([Reproduce a study](../how-to/reproduce-a-study.md)), and `live/…` are measured.
"""
SINGLE = "Without a study"
HEADINGS = {"live": "Measured", "": SINGLE}


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for folder, several in groupby(sorted(shipped().items(), key=_order), key=_folder):
        parts.append(
            f"\n## {HEADINGS.get(folder, folder)}\n\n| name | subject | varied | engines |\n|---|---|---|---|\n"
        )
        parts += [_row(name, path) for name, path in several]
    return "".join(parts)


def _order(item: tuple[str, Path]) -> tuple[bool, str, str]:
    return _folder(item) != "", _folder(item), item[0]


def _folder(item: tuple[str, Path]) -> str:
    return item[0].partition("/")[0] if "/" in item[0] else ""


def _row(name: str, path: Path) -> str:
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    varied = ", ".join(f"`{key}`" for key in read.get("vary", {})) or "–"
    engines = ", ".join(read.get("run", {}).get("engines", ["simulation"]))
    return f"| `{name}` | {read['title'].replace('|', '/')} | {varied} | {engines} |\n"
