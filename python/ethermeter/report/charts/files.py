"""Files: charts as PNG, PDF or SVG, without a browser."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ethermeter.document import VegaLite
from ethermeter.faults import InputError

FORMATS = (".png", ".pdf", ".svg")


def lacking(out: Path) -> str:
    """Return what must be installed to draw a file of this format; empty if nothing."""
    if out.suffix.lower() not in FORMATS or find_spec("vl_convert") is not None:
        return ""
    return "vl-convert is not installed: pip install 'ethermeter[figures]'"


def require_format(out: Path, formats: Sequence[str] = FORMATS) -> None:
    """Refuse a file whose suffix is not that of a format, or that nothing here can draw.

    Raises
    ------
    InputError
        If it is none of the formats, or what draws it is not installed.
    """
    if out.suffix.lower() not in formats:
        allowed = f"expected one of {', '.join(formats)}"
        raise InputError.of(str(out), "suffix", out.suffix or "none", allowed)
    if why := lacking(out):
        raise InputError.of(str(out), "suffix", out.suffix, why)


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
