"""Runs to report on."""

import importlib.util
import json
import sys
import types
from pathlib import Path

import pytest

import synthetic_run

if importlib.util.find_spec("ethermeter.store") is None:
    import pyarrow.parquet as pq

    class RunDirectory:
        def __init__(self, path):
            self.path = Path(path)

        def trials(self):
            return tuple(types.SimpleNamespace(**json.loads(x)) for x in (self.path / "plan.jsonl").read_text().splitlines())

        def observations(self):
            return pq.read_table(self.path / "observations.parquet")

        def batches(self):
            return pq.read_table(self.path / "batches.parquet")

        def histograms(self):
            return pq.read_table(self.path / "histograms.parquet")

        def provenance(self):
            return json.loads((self.path / "provenance.json").read_text())

    sys.modules["ethermeter.store"] = types.ModuleType("ethermeter.store")
    sys.modules["ethermeter.store"].RunDirectory = RunDirectory


@pytest.fixture(scope="session")
def study_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All five series, one replication, every number of stations."""
    return synthetic_run.study(tmp_path_factory.mktemp("runs") / "study")
