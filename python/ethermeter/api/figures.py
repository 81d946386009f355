"""Files that pages and figures are written to."""

from pathlib import Path

from ethermeter.faults import InputError


def require_room(argument: str, out: Path) -> None:
    """Refuse a file that cannot be made: a directory, or one in a directory that is not there.

    Raises
    ------
    InputError
        With the argument that names the file.

    """
    if not out.parent.is_dir():
        allowed = "a file in a directory that is there"
        raise InputError.of_argument(argument, str(out), allowed)
    if out.is_dir():
        raise InputError.of_argument(argument, str(out), "a file, not a directory")


def require_drawing(argument: str, out: Path | None) -> None:
    """Refuse a file that no page and no figure can be written to.

    Raises
    ------
    InputError
        With the argument that names the file, if its suffix is that of no format; or if what draws
        such files is not installed.

    """
    if out is None:
        return
    from ethermeter.report.charts.files import lacking
    from ethermeter.report.export import FORMATS

    if out.suffix.lower() not in FORMATS:
        allowed = f"a file ending in one of {', '.join(FORMATS)}"
        raise InputError.of_argument(argument, str(out), allowed)
    if why := lacking(out):
        raise InputError.of_argument(argument, str(out), why)
