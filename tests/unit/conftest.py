"""What unit tests share: a small valid file."""

from pathlib import Path

import pytest
from files import SMALL


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which every table fits: a row is a line."""
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small valid experiment file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path
