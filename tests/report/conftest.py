"""Runs to report on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic_run
import visiting


@pytest.fixture(scope="session")
def study_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All five series, one replication, every number of stations."""
    return synthetic_run.study(tmp_path_factory.mktemp("runs") / "study")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser, for the tests of one file."""
    with visiting.chromium() as opened:
        yield opened
