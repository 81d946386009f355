"""Results of other programs and quick measurements as estimates of our metrics.

iperf3, flent, irtt, sockperf, ns-3, `ethermeter probe HOST --json`, and the directories of `probe`
and `predict`.

Each file gives flows by name, with estimates by metric. What is read, and in which columns and
units, is in docs/how-to/import-results.md.
"""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ethermeter.faults import InputError
from ethermeter.imports import flent, iperf3, irtt, measurement, saved
from ethermeter.imports.columns import Column, parse_columns, read_columns
from ethermeter.imports.document import documents
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate

__all__ = ["Column", "Flows", "parse_columns", "read"]

Flows = Mapping[str, Mapping[Metric, Estimate]]
"""Estimates by metric, by flow."""
MOST_OCTETS = 256 << 20
"""Octets of a file, uncompressed, at most."""
_GZIP = b"\x1f\x8b"


def read(path: Path, columns: Sequence[Column] = ()) -> Flows:
    """Read a file of another program, or of a quick measurement.

    `columns` are those of a CSV file; those of sockperf and ns-3 are known.
    Raises InputError with what is wrong.
    """
    file = str(path)
    text = _text(path)
    if not text.lstrip().startswith("{"):
        tables = read_columns(text, file, columns)
        names = [f"{path.stem} server {at}" for at in range(1, len(tables) + 1)]
        return dict(zip(names if len(tables) > 1 else [path.stem], tables, strict=True))
    if columns:
        raise InputError.of_argument(
            "columns", "given", f"expected with a CSV file; {file} is none"
        )
    try:
        found = documents(text)
    except (ValueError, RecursionError) as error:
        raise InputError.of(file, "(text)", str(error)[:100], "expected JSON") from None
    if isinstance(found[0], dict) and "slot" in found[0]:
        return saved.series(found, file)
    document = found[0] if len(found) == 1 else iperf3.of_stream(found, file)
    if isinstance(document, dict) and document.keys() >= saved.PREDICTED:
        return saved.prediction(document, file)
    if isinstance(document, dict) and "x_values" in document:
        return flent.flows(document, file)
    if isinstance(document, dict) and {"round_trips", "stats"} <= document.keys():
        return irtt.flows(document, file)
    if isinstance(document, dict) and "end" in document:
        return iperf3.flows(document, file)
    if isinstance(document, dict) and document.keys() >= measurement.KEYS:
        return measurement.flows(document, file)
    allowed = (
        "expected JSON of iperf3 --json, with end, of flent, with x_values and results, of irtt, "
        "with round_trips and stats, or of ethermeter probe HOST --json, with to, by and "
        "values"
    )
    raise InputError.of(file, "(text)", "another JSON document", allowed)


def _text(path: Path) -> str:
    file = str(path)
    try:
        with path.open("rb") as raw:
            begin = raw.read(2)
            raw.seek(0)
            # A compressed file of any length is read to the limit only.
            source = gzip.GzipFile(fileobj=raw) if begin == _GZIP else raw
            octets = source.read(MOST_OCTETS + 1)
    except (OSError, EOFError, zlib.error) as error:
        allowed = "expected a readable file"
        raise InputError.of(file, "(file)", str(error)[:200], allowed) from None
    if len(octets) > MOST_OCTETS:
        raise InputError.of(file, "(file)", "too long", f"expected at most {MOST_OCTETS} octets")
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise InputError.of(file, "(text)", "not UTF-8", "expected text of UTF-8") from None
