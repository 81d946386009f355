"""Report: everything a run shows, for a person, in one HTML file that needs no network. Reads files, starts nothing."""

from pathlib import Path

FILE = "report.html"


def write(run_dir: Path) -> Path:
    """Write `report.html` of a finished run into its directory; the path of the file.

    Uses `estimates.json` if it is there, and adds the study's parts if `claims.json` is.

    Raises
    ------
    InputError
        If a file of the run is not what it should be.
    """
    from ethermeter.report import content, page
    from ethermeter.store import write_whole

    path = run_dir / FILE
    write_whole(path, page.page(content.gather(run_dir)))
    return path
