"""The time flow of one frame in a report, in a real browser."""

import ethermeter as em
import pytest
from visiting import Visit

BUS = {"name": "bus", "fixed": "1 us", "per_byte": "7 ns", "delay": "0.5 us"}


def reported(directory, **host):
    """Write the report of a run of two hosts at a link."""
    tables = em.network(
        title="Two hosts",
        rate="1 Gb/s",
        hosts=[em.host("a", **host), em.host("b")],
        links=[("a", "b")],
        flows=[em.flow("f", "a", "b", frames="100 B", arrivals={"regular": "1 ms"})],
        phases={"settle": "0 s", "transmit": "10 ms", "measure": "all"},
    )
    em.run(em.load(tables), out=directory / "run")
    return directory / "run" / "report.html"


@pytest.mark.browser
@pytest.mark.parametrize("width", [1100, 390])
def test_the_way_of_a_frame_is_drawn_whole(browser, tmp_path, width):
    with Visit(browser, reported(tmp_path, send=[BUS]).as_uri(), width, "light") as visit:
        visit.page.locator("#time-flow").evaluate("node => node.open = true")
        visit.expect_quiet_and_no_wider()
        visit.expect_drawn("time-flow", 1)
        visit.expect_within_boxes("time-flow")
        words = visit.page.locator("#time-flow .plot svg").text_content()
        # 1 us and 100 octets of 7 ns on the bus, then 0.5 us.
        assert "a bus (send)" in words
        assert "2.2 µs" in words


def test_wires_alone_are_not_drawn(tmp_path):
    assert 'id="time-flow"' not in reported(tmp_path).read_text("utf-8")
