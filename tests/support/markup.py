"""A page of HTML as a tree, and the rules of accessibility and of pages without a network that hold
for it whatever browser shows it. What a browser makes of it is tested in one (`visiting`).
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

VOID = frozenset(("br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"))
RESOURCES = (("src", ""), ("srcset", ""), ("poster", ""), ("data", "object"), ("href", "link"))
"""Attributes whose addresses a browser fetches, and the only element that has it for that."""
ELSEWHERE = re.compile(r"(?!data:)[a-z][a-z+.-]*:|//", re.IGNORECASE)
"""How an address begins that is neither data nor a file beside the page."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.builder, self.open = TreeBuilder(), [""]
        self.builder.start("page", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        if tag in VOID:
            self.builder.end(tag)
        else:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        self.builder.end(tag)

    def handle_endtag(self, tag: str) -> None:
        opened = self.open.pop()
        assert opened == tag, f"</{tag}> at line {self.getpos()[0]} ends <{opened}>"
        self.builder.end(tag)

    def handle_data(self, data: str) -> None:
        self.builder.data(data)


def parse(page: str | Path) -> Element:
    """Return a page as a tree; asserts that its elements nest."""
    reader = _Reader()
    reader.feed(page.read_text(encoding="utf-8") if isinstance(page, Path) else page)
    reader.close()
    assert reader.open == [""], f"never closed: {reader.open[1:]}"
    reader.builder.end("page")
    return reader.builder.close()


def text_of(element: Element) -> str:
    """Return the text of an element in one line, without scripts and styles."""

    def words(of: Element) -> Iterator[str]:
        if of.tag not in ("script", "style"):
            yield of.text or ""
            for each in of:
                yield from words(each)
                yield each.tail or ""

    return " ".join("".join(words(element)).split())


def by_id(page: Element, name: str) -> Element:
    """Return the element with an id."""
    (found,) = page.findall(f".//*[@id='{name}']")
    return found


def sections(page: Element) -> list[str]:
    """Names of the sections in their order, without the answer with which every page begins."""
    found = [section.get("id", "") for section in page.iter("section")]
    return [name for name in found if name not in ("findings", "warnings")]


def sentences(page: Element, section: str = "findings") -> list[str]:
    """Sentences of the findings, or of the warnings; none if the page has no such."""
    return [text_of(item) for item in page.iterfind(f".//section[@id='{section}']//li")]


def group(page: Element, heading: str) -> Element:
    """Return what stands under a heading of the third level."""
    (found,) = [
        each
        for each in page.iterfind(".//div[@class='group']")
        if [text_of(title) for title in each.iter("h3")] == [heading]
    ]
    return found


def headings(page: Element) -> list[str]:
    """Headings of the third level."""
    return [text_of(title) for title in page.iter("h3")]


def titles(element: Element) -> list[str]:
    """Titles of the figures, without what explains them."""
    return [" ".join((caption.text or "").split()) for caption in element.iter("figcaption")]


def rows(element: Element) -> list[list[str]]:
    """Cells of the bodies of all tables, row by row."""
    return [
        [text_of(cell) for cell in row]
        for body in element.iter("tbody")
        for row in body.iterfind("tr")
    ]


def table(element: Element, caption: str) -> Element:
    """Return the table with a caption."""
    (found,) = [
        each
        for each in element.iter("table")
        if [text_of(title) for title in each.iter("caption")] == [caption]
    ]
    return found


def specs(page: Element, within: Element | None = None) -> dict[str, dict[str, Any]]:
    """Specifications of the figures by their titles; only of those within an element."""
    scripts = {each.get("id"): each for each in page.iter("script")}
    figures = [
        each
        for each in (page if within is None else within).iter("figure")
        if each.get("id", "").startswith("figure-")
    ]
    return {
        titles(each)[0]: json.loads(scripts[f"{each.get('id')}-spec"].text or "")
        for each in figures
    }


def construction(element: Element) -> set[str]:
    """Return the kinds of elements in an element, by tag and classes."""
    return {".".join([each.tag, *sorted(each.get("class", "").split())]) for each in element.iter()}


def complaints(page: Element, *, unseen: frozenset[str] = frozenset()) -> list[str]:
    """Return what breaks a rule: nothing is from elsewhere, and there are names, headings and heads
    of tables for who does not see the page.

    `unseen` are classes of fields that a style hides.
    """
    return [*_whole(page), *_fetched(page), *_named(page, unseen), *_tables(page)]


def _whole(page: Element) -> Iterator[str]:
    (html,) = page.iter("html")
    if not html.get("lang"):
        yield "no language"
    if not text_of(next(page.iter("title"), Element("title"))):
        yield "no title"
    levels = [int(each.tag[1]) for each in page.iter() if re.fullmatch("h[1-6]", each.tag)]
    if levels.count(1) != 1:
        yield f"{levels.count(1)} headings of level 1"
    for before, after in zip([0, *levels], levels, strict=False):
        if after > before + 1:
            yield f"a heading of level {after} after one of level {before}"
    counted = Counter(each.get("id") for each in page.iter() if each.get("id"))
    yield from (f"the id {name} {count} times" for name, count in counted.items() if count > 1)
    for link in page.iter("a"):
        target = link.get("href", "")
        if target.startswith("#") and target[1:] and target[1:] not in counted:
            yield f"a link to {target}, which is not there"


def _fetched(page: Element) -> Iterator[str]:
    for each in page.iter():
        for attribute, only in RESOURCES:
            if only in ("", each.tag) and ELSEWHERE.match(each.get(attribute, "")):
                yield f"{each.tag} from {each.get(attribute)}"
        style = each.get("style", "") + (each.text or "" if each.tag == "style" else "")
        yield from (f"style from {found}" for found in elsewhere(style))


def elsewhere(style: str) -> list[str]:
    """Return the addresses of other places in a style sheet."""
    found = re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")]+)", style)
    return [address for address in found if ELSEWHERE.match(address)]


def _named(page: Element, unseen: frozenset[str]) -> Iterator[str]:
    labels = list(page.iter("label"))
    labelled = {label.get("for") for label in labels}
    inside = {id(each) for label in labels for each in label.iter()}
    for each in page.iter():
        name = each.get("aria-label") or each.get("title") or each.get("aria-labelledby")
        match each.tag:
            case "img":
                is_named = each.get("alt") is not None
            case "a" if "href" in each.attrib:
                is_named = bool(name or text_of(each) or each.find(".//img[@alt]") is not None)
            case "button":
                is_named = bool(name or text_of(each))
            case "input" | "select" | "textarea" if not unseen & {*each.get("class", "").split()}:
                is_named = bool(name) or each.get("id") in labelled or id(each) in inside
            case _:
                is_named = bool(name) or each.get("role") not in ("img", "region")
        if not is_named:
            yield f"{each.tag} without a name: {each.attrib}"


def _tables(page: Element) -> Iterator[str]:
    for each in page.iter("table"):
        heads = list(each.iter("th"))
        if not heads and each.find(".//tr") is not None:
            yield f"a table without heads: {text_of(each)[:60]}"
        if not all(text_of(head) for head in heads):
            yield f"a table with a head without a text: {text_of(each)[:60]}"
