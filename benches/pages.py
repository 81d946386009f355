"""`python -m benches.pages`: write and draw the report of a run of 30 points of a network.

Times are those of a process that has everything loaded, the best of several: other load on the
machine can only lengthen them. Drawing needs Playwright and a Chromium.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benches.children import ChildError

EXPERIMENT = """
title = "Thirty points of a network"
seed = 7
[network]
rate = "100 Mb/s"
[[network.hosts]]
name = "client"
count = 4
[[network.hosts]]
name = "server"
[[network.switches]]
name = "switch"
[[network.links]]
ends = ["client", "switch"]
[[network.links]]
ends = ["server", "switch"]
[[flows]]
name = "request"
from = "client"
to = "server"
frames = "64 B"
arrivals = { poisson = "500 /s" }
response = { frames = "512 B" }
[[flows]]
name = "load"
from = "client"
to = "server"
frames = "1024 B"
arrivals = { poisson = "500 /s" }
[vary]
"flows.load.arrivals.poisson" = ["500 /s", "1000 /s", "1500 /s", "2000 /s", "2500 /s", "2900 /s"]
"flows.load.frames" = ["256 B", "512 B", "768 B", "1024 B", "1518 B"]
[phases]
transmit = "120 ms"
measure = "last 100 ms"
[run]
replications = 3
"""
WRITE_AIM_S, DRAW_AIM_S = 2.0, 1.5
LIMIT_S = 120.0
CHROMIUM = "/usr/bin/chromium"
IN_SIGHT = """() => {
    const plots = [...document.querySelectorAll(".plot")].filter((p) =>
        !p.closest("details:not([open])") && p.getBoundingClientRect().top < innerHeight);
    return document.readyState === "complete" && plots.every((p) => p.dataset.rendered);
}"""
ALL = """() => document.readyState === "complete" && [...document.querySelectorAll(".plot")]
    .every((p) => p.dataset.rendered)"""


def measure(*, runs: int, chromium: str) -> dict[str, float | int]:
    """Return seconds to write the page and to draw it, its figures and its octets.

    `write_cpu_s` is the time of a processor for writing; what else runs does not lengthen it.
    `draw_s` is from the request of the page until the figures in sight are drawn, `draw_all_s`
    until all are, those in folds too.
    """
    import ethermeter as em
    from ethermeter.studies import pages

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "thirty.toml"
        path.write_text(EXPERIMENT, encoding="utf-8")
        run = em.load(path).run(out=Path(folder) / "run").path
        pages.write_report(run)
        timed = [_timed(lambda: pages.write_report(run)) for _ in range(runs)]
        page = run / "report.html"
        draw_s, draw_all_s, figures = _drawn(page.resolve().as_uri(), runs=runs, chromium=chromium)
        return {
            "write_s": min(wall_s for wall_s, _ in timed),
            "write_cpu_s": min(cpu_s for _, cpu_s in timed),
            "draw_s": draw_s,
            "draw_all_s": draw_all_s,
            "figures": figures,
            "octets": page.stat().st_size,
        }


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return elapsed time and processor time of some work."""
    begun_s, begun_cpu_s = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun_s, time.process_time() - begun_cpu_s


def _drawn(url: str, *, runs: int, chromium: str) -> tuple[float, float, int]:
    from playwright.sync_api import sync_playwright

    first: list[float] = []
    every: list[float] = []
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(runs):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            begun_s = time.perf_counter()
            page.goto(url)
            _await(page, IN_SIGHT)
            first.append(time.perf_counter() - begun_s)
            _await(page, ALL)
            every.append(time.perf_counter() - begun_s)
            figures = page.locator(".plot").count()
            page.close()
        browser.close()
    return min(first), min(every), figures


def _await(page: Any, function: str) -> None:
    """Wait until a function holds; it is called from outside, as the page's policy demands."""
    until_s = time.perf_counter() + LIMIT_S
    while not page.evaluate(function):
        if time.perf_counter() > until_s:
            raise ChildError("the page is not drawn")
        page.wait_for_timeout(5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 if the times are as aimed at, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benches.pages", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="how often each is timed")
    parser.add_argument("--chromium", default=CHROMIUM, help="the browser")
    parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    found = measure(runs=options.runs, chromium=options.chromium)
    if options.as_json:
        print(json.dumps(found, indent=2))
    else:
        print(
            f"write           {found['write_s']:.2f} s, aim {WRITE_AIM_S:g} s;"
            f" {found['write_cpu_s']:.2f} s of a processor"
        )
        print(f"draw in sight   {found['draw_s']:.2f} s, aim {DRAW_AIM_S:g} s")
        print(f"draw all        {found['draw_all_s']:.2f} s, {found['figures']} figures")
        print(f"page            {found['octets'] / 1e6:.2f} MB")
    is_met = found["write_s"] <= WRITE_AIM_S and found["draw_s"] <= DRAW_AIM_S
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
