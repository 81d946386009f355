"""Blocks of tutorials and how-to pages that make testbeds."""

import documented
import pytest

ROOT = frozenset({"root"})
PAGES = [
    page
    for page in documented.pages()
    if any(block.needs == "root" for block in documented.blocks(page))
]


@pytest.mark.root
@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_every_block_that_needs_root_runs(page, tmp_path):
    assert documented.run(page, tmp_path, with_needs=ROOT, limit_s=900) >= 1
