"""Report: everything a run shows, for a person, in one HTML file that needs no network.

Reads files, starts nothing.
"""

from pathlib import Path

from ethermeter.document import StudyPage

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
    from ethermeter.report import page
    from ethermeter.report.data import ReportData
    from ethermeter.store import RunDirectory

    study = study or StudyPage()
    data = ReportData.of_run(run_dir, study.presentation)
    return RunDirectory(run_dir).keep(FILE, page.page(data, study))


__all__ = ["FILE", "write"]
