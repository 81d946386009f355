"""Sheet: the figures of a page, numbered, with their captions and tables of numbers."""

from dataclasses import dataclass, field
from typing import Any

from ethermeter.report.html import embedded, safe


@dataclass(slots=True)
class Sheet:
    """Specifications of the figures drawn so far; their HTML refers to them by number."""

    specs: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        spec: dict[str, Any],
        *,
        title: str,
        text: str,
        numbers: str,
        after: str = "",
        kind: str = "",
    ) -> str:
        """Add a figure; its HTML, with `numbers` (HTML) folded away below it and `after` in sight;
        `kind` is a class of its box.
        """
        self.specs.append(spec)
        identity = f"figure-{len(self.specs)}"
        details = f"<details><summary>Numbers</summary>{numbers}</details>" if numbers else ""
        return (
            f'<figure id="{identity}"><figcaption>{safe(title)}<span>{safe(text)}</span></figcaption>'
            f'<div class="plot {kind}" data-spec="{identity}-spec" role="img" aria-label="{safe(title)}"></div>{details}{after}</figure>\n'
        )

    def scripts(self) -> str:
        """Specifications as elements of the page."""
        return "".join(
            f'<script type="application/json" id="figure-{at}-spec">{embedded(spec)}</script>\n'
            for at, spec in enumerate(self.specs, 1)
        )
