"""Report: everything a run shows, for a person, in one HTML file that needs no network.

Reads files, starts nothing.
"""

from collections.abc import Sequence
from pathlib import Path

from ethermeter.document import StudyPage
from ethermeter.report.index import Reproduced, index_page

FILE = "report.html"


def write(run_dir: Path, study: StudyPage | None = None) -> Path:
    """Write `report.html` of a finished run into its directory; the path of the file.

    Uses `estimates.json` if it is there, and shows the claims in `claims.json` and the sections of
    `study`.

    Raises
    ------
    InputError
        If a file of the run is not what it should be.
    """
    from ethermeter.report import data, page
    from ethermeter.store import RunDirectory

    study = study or StudyPage()
    return RunDirectory(run_dir).keep(
        FILE, page.page(data.gather(run_dir, study.presentation), study)
    )


def write_index(path: Path, entries: Sequence[Reproduced], *, quick: bool = False) -> Path:
    """Write one page with every claim of several studies and links to their reports.

    Returns the path of the file.

    With `quick` it notes that the runs were shortened.

    Raises
    ------
    InputError
        If a study's `claims.json` is not what it should be.
    """
    from ethermeter.store import write_whole

    write_whole(path, index_page(entries, folder=path.parent, quick=quick))
    return path


__all__ = ["FILE", "Reproduced", "write", "write_index"]
