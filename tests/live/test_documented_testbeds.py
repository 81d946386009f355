"""Blocks of tutorials and how-to pages that make testbeds."""

import documents
import pytest

ROOT = frozenset({"root"})
PAGES = [
    page
    for page in documents.pages()
    if any(block.needs == "root" for block in documents.parsed(documents.page(page)))
]


@pytest.mark.root
@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_every_block_that_needs_root_runs(page, tmp_path):
    assert documents.run(page, tmp_path, with_needs=ROOT, limit_s=900) >= 1
