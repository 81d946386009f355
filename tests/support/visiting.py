"""A page in a real browser: its requests, its errors, and whether its drawings fit."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from markup import complaints, parse

CHROMIUM = Path("/usr/bin/chromium")
RENDERED = (
    "document.querySelectorAll('.plot').length === "
    "document.querySelectorAll('.plot[data-rendered] svg').length"
)

TIMEOUT_MS = 600_000
"""How long anything that is waited for may take: other processes share the machine."""
LOCAL = ("file:", "data:", "blob:")
"""How addresses begin for which no network is needed."""


@cache
def _complaints(path: Path, changed_ns: int) -> list[str]:
    return complaints(parse(path))


class Browser:
    """Debian's Chromium. Its pages are used again: a new one is a new process."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._idle: list[Any] = []

    def page(self) -> Any:
        """Return a page on which nothing is open."""
        if self._idle:
            return self._idle.pop()
        made = self._opened.new_page()
        made.set_default_timeout(TIMEOUT_MS)
        return made

    def give_back(self, page: Any) -> None:
        """Close what is open on a page, for the next who wants one."""
        page.goto("about:blank")
        self._idle.append(page)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Debian's Chromium for as long as the context lasts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        opened = running.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield Browser(opened)
        opened.close()


class Visit:
    """A page whose figures are all drawn, and what it asked for and complained about on the way."""

    def __init__(self, browser: Browser, url: str, width: int, scheme: str = "light") -> None:
        self.url, self.width, self.scheme = url, width, scheme
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._heard = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
        }
        self._browser, self.page = browser, browser.page()
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme)
        for event, hear in self._heard.items():
            self.page.on(event, hear)
        self.page.goto(url)
        self.wait_for(RENDERED)

    def wait_for(self, expression: str) -> None:
        """Wait until an expression holds.

        It is asked for from outside: within a page, whose policy allows no text as a program,
        Playwright could not ask again.
        """
        until_s = time.monotonic() + TIMEOUT_MS / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < until_s, expression
            self.page.wait_for_timeout(20)

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        for event, hear in self._heard.items():
            self.page.remove_listener(event, hear)
        self._browser.give_back(self.page)

    def expect_quiet_and_no_wider(self, *, files: bool = False) -> None:
        """Assert that nothing but the page was asked for, or only files beside it, nobody
        complained, nothing makes it scroll sideways, and its text keeps the rules.
        """
        if files:
            assert [url for url in self.requests if not url.startswith(LOCAL)] == []
        else:
            assert self.requests == [self.url]
            path = Path(self.url.removeprefix("file://"))
            assert _complaints(path, path.stat().st_mtime_ns) == []
        assert self.complaints == []
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.width

    def unfold(self) -> None:
        """Open every fold: of what is folded there is no text, and no place."""
        self.page.evaluate("document.querySelectorAll('details.fold').forEach(f => f.open = true)")

    def expect_drawn(self, section: str, plots: int) -> None:
        """Assert how many plots a section has, all drawn in the wanted colours."""
        assert self.page.locator(f"#{section} .plot[data-rendered={self.scheme}]").count() == plots

    def expect_within_boxes(self, sections: str) -> None:
        """Assert that every drawing of the sections whose id begins so stays within its box, and
        every word of its legend too.
        """
        self.unfold()
        within = self.page.evaluate(
            f"[...document.querySelectorAll('[id^={sections}] .plot')].map(p => {{ "
            "const { right, width } = p.getBoundingClientRect();"
            " return width > 0 && [...p.querySelectorAll('svg, .mark-text text')].every(e => "
            "e.getBoundingClientRect().right <= right + 1); })"
        )
        assert within
        assert all(within)

    def expect_tip(self, plot: Any, *words: str) -> None:
        """Assert that pointing at a plot's last point shows these words."""
        plot.scroll_into_view_if_needed()
        box = plot.locator(".mark-symbol.role-mark path").last.bounding_box()
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tip = self.page.locator("#vg-tooltip-element.visible")
        tip.wait_for()
        text = tip.inner_text()
        assert [word for word in words if word not in text] == []
