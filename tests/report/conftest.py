"""Runs to report on."""

from pathlib import Path

import pytest
import synthetic_run


@pytest.fixture(scope="session")
def study_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All five series, one replication, every number of stations."""
    return synthetic_run.study(tmp_path_factory.mktemp("runs") / "study")
