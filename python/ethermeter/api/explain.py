"""Explaining captures."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.faults import InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.captures import Connection, Explanation
    from ethermeter.captures.document import ExplainedFile


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """Options of `explain`."""

    file: Annotated[
        Path, Argument("Capture file, pcap or pcapng, or - for standard input.", "FILE")
    ]
    _: KW_ONLY
    connection: Annotated[
        int | None,
        Argument("Explain only the connection with this number in the table.", "N"),
    ] = None
    figure: Annotated[
        Path | None, Argument("Write a report with figures to this HTML file.", "FILE")
    ] = None


@dataclass(frozen=True, slots=True)
class Explained:
    """An explained capture.

    Parameters
    ----------
    capture
        All of the file.
    connection
        The connection that was chosen; None for all.
    report
        The page that was written; None if none was asked for.

    """

    capture: "Explanation"
    connection: "Connection | None" = None
    report: Path | None = None

    @property
    def connections(self) -> "tuple[Connection, ...]":
        """The connections that are explained, the one with most payload first."""
        return self.capture.connections if self.connection is None else (self.connection,)

    @property
    def document(self) -> "ExplainedFile":
        """The explanation as a file of JSON has it."""
        from ethermeter.captures.document import explained

        return explained(self.capture, self.connection, self.report)


@operation(ExplainOptions)
def explain(options: ExplainOptions, display: Display) -> Explained:
    """Explain a capture: what limited each TCP connection, and rates and losses of other flows.

    Raises
    ------
    InputError
        If the file cannot be read, is no capture, has no packet, is corrupt, or holds nothing but
        packets of a link that is not read; if it has no such connection, or the page cannot be
        written.

    """
    from ethermeter.captures import explain as read

    file = options.file
    if options.figure is not None:
        _check(file, options.figure)
    with display.progress(file.name) as shown:
        found = read(
            file, lambda octets, most: shown.count(octets, most, text=_progress(octets, most))
        )
    number = options.connection
    chosen = None if number is None else found.connection(number)
    for line in found.warnings:
        display.say(f"{file}: {line}")
    if options.figure is None:
        return Explained(found, chosen)
    from ethermeter.report.capture_page import write

    return Explained(found, chosen, write(found, options.figure, chosen))


def _progress(octets: int, most: int) -> str:
    whole = f" of {most / 1e6:.0f}" if most else ""
    return f"{octets / 1e6:.0f}{whole} MB"


def _check(file: Path, figure: Path) -> None:
    """Refuse where no report can be written, before a large file is read."""
    from ethermeter.api.figures import require_room

    require_room("figure", figure)
    if figure.exists() and file.exists() and figure.samefile(file):
        raise InputError.of_argument("figure", str(figure), "another file than the capture")
