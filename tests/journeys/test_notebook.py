"""A lecture: the notebook on saturated Ethernets runs from its first cell to its last."""

import shutil

import nbclient
import nbformat
import pytest
from documents import ROOT

LECTURE = "saturated-ethernet.ipynb"


@pytest.mark.filterwarnings("default")  # of the kernel's libraries
def test_the_lecture_runs_and_shows_its_figures(tmp_path):
    shutil.copy(ROOT / "docs" / "notebooks" / LECTURE, tmp_path)
    notebook = nbformat.read(tmp_path / LECTURE, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    assert not [out for out in outputs if out.output_type == "error"]
    shown = {kind for out in outputs for kind in out.get("data", {})}
    assert "text/html" in shown or "image/svg+xml" in shown, shown
