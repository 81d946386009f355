"""Files: charts as PNG, PDF or SVG, without a browser."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ethermeter.document import VegaLite
from ethermeter.faults import InputError

FORMATS = (".png", ".pdf", ".svg")


def require_program(out: Path) -> None:
    """Refuse a file that needs vl-convert, where it is not installed; the extra `figures` has it.

    Raises
    ------
    InputError
        If it is missing.
    """
    if out.suffix.lower() in FORMATS and find_spec("vl_convert") is None:
        allowed = "installed: pip install 'ethermeter[figures]'"
        raise InputError.of(str(out), "vl-convert-python", "missing", allowed)


def require_format(out: Path, formats: Sequence[str] = FORMATS) -> None:
    """Refuse a file whose suffix is not that of a format, or that nothing here can draw.

    Raises
    ------
    InputError
        If it is none of the formats, or as of `require_program`.
    """
    if out.suffix.lower() not in formats:
        allowed = f"expected one of {', '.join(formats)}"
        raise InputError.of(str(out), "suffix", out.suffix or "none", allowed)
    require_program(out)


def save(chart: VegaLite, out: Path) -> Path:
    """Write a chart; the suffix of `out` gives the format, one of `FORMATS`."""
    import vl_convert

    match out.suffix.lower():
        case ".svg":
            out.write_text(vl_convert.vegalite_to_svg(chart), encoding="utf-8")
        case ".pdf":
            out.write_bytes(vl_convert.vegalite_to_pdf(chart))
        case _:
            out.write_bytes(vl_convert.vegalite_to_png(chart, scale=2))
    return out
