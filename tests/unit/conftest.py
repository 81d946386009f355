"""What unit tests share: a small valid file."""

from pathlib import Path

import pytest
from shared_experiments import SEGMENT


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which every table fits: a row is a line."""
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small valid experiment file."""
    return SEGMENT.save(tmp_path / "small.toml")
