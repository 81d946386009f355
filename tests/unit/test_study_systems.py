"""The page of the studies' systems: states, commands and counts; nothing runs."""

import re

import documents
import pytest
from documents import ROOT
from shown_commands import parsed, unshipped

from scripts import reference

PAGE = "docs/reference/study-systems.md"
STATES = ("works", "partly", "missing", "hardware")
CODE = re.compile(r"`([^`]+)`")
MADE = {ROOT / "docs" / path for path in reference.PAGES}
"""Pages that are made from the program."""
LINK = re.compile(r"\]\(([^)#]+)")


def rows(text: str) -> list[tuple[str, list[str]]]:
    """Section and cells of each item."""
    found, section = [], ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        # A bar in code is escaped.
        cells = [of.strip() for of in re.split(r"(?<!\\)\|", line)[1:-1]]
        if section and cells and cells[0].isdigit():
            found.append((section, cells))
    return found


ITEMS = rows(documents.page(PAGE))


def name(item: tuple[str, list[str]]) -> str:
    """Short name of an item for the list of tests."""
    return f"{item[0]} {item[1][0]}"


@pytest.mark.parametrize("item", ITEMS, ids=name)
def test_an_item_has_a_state_and_what_works_has_a_command_or_a_file(item):
    _, cells = item
    assert len(cells) == 4
    assert cells[2] in STATES
    assert all(cells)
    assert cells[2] != "works" or CODE.search(cells[3]) or LINK.search(cells[3])


@pytest.mark.parametrize("item", ITEMS, ids=name)
def test_commands_of_an_item_are_accepted_and_its_files_exist(item):
    _, cells = item
    for code in CODE.findall(cells[3]):
        if code.startswith("ethermeter "):
            line = code.replace("\\|", "|")
            assert parsed(line).params is not None
            assert unshipped(line) == []
    for link in LINK.findall(cells[3]):
        path = ((ROOT / PAGE).parent / link).resolve()
        assert "://" in link or path.exists() or path in MADE, link


def test_items_of_a_section_are_numbered_from_one():
    by_section: dict[str, list[int]] = {}
    for section, cells in ITEMS:
        by_section.setdefault(section, []).append(int(cells[0]))
    for section, numbers in by_section.items():
        assert numbers == list(range(1, len(numbers) + 1)), section


def test_the_top_of_the_page_says_how_many_items_work():
    works = sum(cells[2] == "works" for _, cells in ITEMS)
    top = documents.page(PAGE).partition("\n## ")[0]
    assert f"{works} of {len(ITEMS)} items work." in top.splitlines()


def test_a_row_of_a_wrong_state_or_command_is_found():
    (item,) = rows("## Study\n| # | item | state | by |\n|---|---|---|---|\n| 1 | a | w | `b` |\n")
    with pytest.raises(AssertionError):
        test_an_item_has_a_state_and_what_works_has_a_command_or_a_file(item)
    with pytest.raises(AssertionError, match="no command"):
        test_commands_of_an_item_are_accepted_and_its_files_exist(
            ("Study", ["1", "a", "works", "`ethermeter rnu saturated`"])
        )
    with pytest.raises(AssertionError):
        test_commands_of_an_item_are_accepted_and_its_files_exist(
            ("Study", ["1", "a", "works", "`ethermeter run no-such-experiment`"])
        )
