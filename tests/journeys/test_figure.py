"""From 500 points to a data frame to a figure of a paper, by the program that a page shows."""

import re

from documents import blocks, commands, page, shell

PAGE = page("docs/how-to/publish-a-figure.md")


def test_500_points_become_a_figure_in_fewer_than_30_lines(tmp_path):
    (program,) = blocks(PAGE, "python")
    assert len(program.strip().splitlines()) < 30
    (tmp_path / "paper.py").write_text(
        program + 'print(len(frame), frame["value"].dtype, frame["low"].le(frame["high"]).all())\n',
        encoding="utf-8",
    )
    assert shell("python paper.py", cwd=tmp_path).split() == ["500", "float64", "True"]
    pdf = (tmp_path / "utilisation.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert re.search(rb"/FontFile[23]?\b", pdf), "its fonts are not inside"
    # The command of the page draws the same metric from the directory of the run.
    (command,) = commands(PAGE)
    before = set(tmp_path.rglob("*.pdf"))
    shell(command, cwd=tmp_path)
    assert set(tmp_path.rglob("*.pdf")) - before
