"""Pages and figures where vl-convert is not installed: pages are whole, figures are refused."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ethermeter.analysis.roofline import Roofline, Stage
from ethermeter.api.figures import require_drawing
from ethermeter.faults import InputError
from ethermeter.report import vega
from ethermeter.report.export import export
from ethermeter.report.roofline import page
from ethermeter.results.interval import exact

PATH = page("A path", [Roofline("a to b", "octets", (Stage("wire", exact(1e8), "given"),), None)])


@pytest.fixture(autouse=True)
def _without_vl_convert(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    vega.javascript.cache_clear()
    yield
    vega.javascript.cache_clear()


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the JavaScript of pages is packed; it is not there yet."""
    file = tmp_path / "vega.js"
    monkeypatch.setattr(vega, "FILE", file)
    return file


def test_a_page_has_what_was_packed(packed: Path, tmp_path: Path) -> None:
    packed.write_text("window.vegaEmbed = 1;", encoding="utf-8")
    written = export(PATH, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>window.vegaEmbed = 1;</script>" in written


@pytest.mark.usefixtures("packed")
def test_without_both_a_page_is_refused_with_the_extra(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"vega.js: .* missing: made by make build, .*\[figures\]"):
        export(PATH, tmp_path / "page.html")


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_a_figure_is_refused_before_anything_is_run(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"figure{suffix}"
    for write in (lambda: require_drawing("figure", out), lambda: export(PATH, out)):
        with pytest.raises(InputError, match=r"not installed: pip install 'ethermeter\[figu"):
            write()
    require_drawing("figure", tmp_path / "page.html")
    assert not out.exists()
