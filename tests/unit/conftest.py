"""What unit tests share: a small valid file, and how much hypothesis tries."""

import os
from pathlib import Path

import pytest
from files import SMALL
from hypothesis import settings

# Other processes share the machine, so no example has a deadline; what may not be slow has a test of its own.
settings.register_profile("fast", deadline=None)
settings.register_profile("slow", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small valid experiment file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path
