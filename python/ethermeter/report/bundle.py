"""The JavaScript of the figures: Vega, Vega-Lite and Vega-Embed in one text, from vl-convert."""

import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path


def javascript() -> str:
    """Return the bundle; bundling takes more than a second, so that it is kept in the user's cache
    directory.

    The cache is a convenience: where it cannot be written or read, the text is made anew.
    """
    path = _cache_dir() / f"vega-{version('vl-convert-python')}.js"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    # A text cut short by a full disk does not end as it should.
    if text.endswith(_END):
        return text.removesuffix(_END)
    import vl_convert

    # Within a script element only these two sequences could end it early; inside JavaScript strings
    # the escapes mean the same.
    bundle = (
        vl_convert.javascript_bundle(_GLOBALS)
        .replace("</script", "<\\/script")
        .replace("<!--", "<\\!--")
    )
    _keep(path, bundle + _END)
    return bundle


_GLOBALS = "window.vegaEmbed = vegaEmbed; window.vega = vega; window.vegaLite = vegaLite;"
_END = "\n/* end of bundle */\n"


def _cache_dir() -> Path:
    """User's cache directory by the conventions of the system (XDG base directories on Linux)."""
    if sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"))
    elif sys.platform == "darwin":
        root = Path("~/Library/Caches")
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return root.expanduser() / "ethermeter"


def _keep(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, delete=False
        ) as file:
            file.write(text)
        Path(file.name).replace(path)
    except OSError:
        return
