"""What unit tests share: a small valid file, and a core for when the extension module is not built."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

if importlib.util.find_spec("ethermeter._core") is None:
    from standards_fake import STANDARDS

    fake = ModuleType("ethermeter._core")
    fake.standards = lambda: STANDARDS  # type: ignore[attr-defined]
    sys.modules["ethermeter._core"] = fake
    import ethermeter

    ethermeter._core = fake

SMALL = """
title = "Two stations"
[segment]
standard = "ieee-10"
length = "100 m"
[[stations]]
name = "host"
count = 2
frames = "64 B"
arrivals = "saturated"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small valid experiment file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path
