"""Vega: the JavaScript that draws the figures of pages, as one text.

The text is made by vl-convert when ethermeter is built, and packed with it: pages need no other
program then. Run as a file, this module makes it: `python -P python/ethermeter/report/vega.py`.
"""

from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "templates" / "vega.js"
_NAMES = "window.vegaEmbed = vegaEmbed; window.vega = vega; window.vegaLite = vegaLite;"


@cache
def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed in one text, safe within a script element.

    It is made anew, which takes seconds, where ethermeter runs from sources that were not built.

    Raises
    ------
    InputError
        If it is neither packed nor can be made.

    """
    try:
        return FILE.read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    try:
        return made()
    except ImportError as error:
        from ethermeter.faults import InputError

        allowed = "made by make build, or with pip install 'ethermeter[figures]'"
        raise InputError.of(str(FILE), "(file)", "missing", allowed) from error


def made() -> str:
    """Make the text; ImportError without vl-convert."""
    import vl_convert

    # Within a script element only these two sequences could end it early; inside JavaScript strings
    # the escapes mean the same.
    return (
        vl_convert.javascript_bundle(_NAMES)
        .replace("</script", "<\\/script")
        .replace("<!--", "<\\!--")
    )


def write() -> None:
    """Make the file, whole or not at all."""
    part = FILE.with_suffix(".part")
    part.write_text(made(), encoding="utf-8")
    part.replace(FILE)


if __name__ == "__main__":
    write()
