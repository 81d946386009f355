"""Runs to report on."""

import json
from pathlib import Path
from typing import Any

import altair
import jsonschema
import pytest
import synthetic_run
from ethermeter.results import estimates
from ethermeter.studies import pages, registry


@pytest.fixture(scope="session")
def study_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All five series, one replication, every number of stations."""
    return synthetic_run.study(tmp_path_factory.mktemp("runs") / "study")


@pytest.fixture(scope="session")
def study_page(study_run: Path) -> Path:
    """Its report, with the claims of the study."""
    estimates.write(study_run)
    registry.find("boggs1988").write_claims(study_run)
    return pages.write_report(study_run).resolve()


@pytest.fixture(scope="session")
def vega_lite() -> Any:
    """A validator of specifications."""
    schema = Path(altair.__file__).parent / "vegalite" / "v6" / "schema" / "vega-lite-schema.json"
    return jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
