"""A figure of a run, for notebooks and files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethermeter.report.style import STYLES, Style
from ethermeter.report.theme import VegaLite


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a run, drawn when it is shown or saved.

    Parameters
    ----------
    run
        The run directory.
    metric
        What it shows.
    series
        Of which series; None for all, side by side.
    style
        Size, type and scales.

    """

    run: Path
    metric: str
    series: str | None = None
    style: Style = STYLES["screen"]

    def save(self, path: Path | str) -> Path:
        """Draw into a file.

        Parameters
        ----------
        path
            Ends in `.svg`, `.png` or `.pdf`, which decides the format; its directory is made.

        Returns
        -------
        :
            The file.

        """
        from ethermeter.report import figures

        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return figures.export(self.run, self.metric, Path(path), self.series, self.style)

    def vega_lite(self) -> VegaLite:
        """Return the figure as a specification of Vega-Lite."""
        from ethermeter.report import figures

        return figures.spec(self.run, self.metric, self.series, self.style)

    def svg(self) -> str:
        """Draw as SVG text."""
        from ethermeter.store.scratch import temporary_directory

        with temporary_directory() as directory:
            return self.save(directory / "figure.svg").read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        return self.svg()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        drawn = self.svg()
        return {
            "text/html": drawn,
            "image/svg+xml": drawn,
            "text/plain": f"{self.metric} of {self.run}",
        }
