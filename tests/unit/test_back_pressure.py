"""Back-pressure at half-duplex links, and a memory of all ports of a switch: by hand and by law."""

import ethermeter as em
import pytest

OCTET_US = 0.8
"""At 10 Mb/s."""
MARKS = {"high": "10000 B", "low": "5000 B"}


def simulated(buffer, slow, flows, *, fast=(), transmit="2 s"):
    """Return a run of hosts at a switch with this memory.

    `slow` are at half-duplex links of 10 Mb/s, `fast` at links of 100 Mb/s.
    """
    links = [em.link(host, "s", rate="100 Mb/s") for host in fast]
    links += [em.link(host, "s", half_duplex=True) for host in slow]
    tables = em.network(
        title="A switch whose memory fills",
        rate="10 Mb/s",
        hosts=[*fast, *slow],
        switches=[em.switch("s", buffer=buffer)],
        links=links,
        flows=flows,
        phases={"settle": "0 s", "transmit": transmit, "measure": "all", "drain": "0 s"},
    )
    return em.simulate(em.load(tables))


def uneven(buffer, every):
    """Return a run of a, which sends to b this often, and b, which sends as much as it can."""
    flows = [
        em.flow("to-b", "a", "b", frames="1000 B", arrivals={"regular": every}),
        em.flow("from-b", "b", "a", frames="1000 B", arrivals="saturated"),
    ]
    return simulated(buffer, ["b"], flows, fast=["a"])


def test_a_host_is_silent_for_as_long_as_a_shared_memory_is_filled_from_elsewhere():
    # A frame comes for b each 500 us, and its wire takes 816: the memory is full for ever, and all
    # of the wire is a's.
    pressed = uneven({"size": "20000 B", "shared": True, "back_pressure": MARKS}, "500 us")
    most = 2e6 / (1020 * OCTET_US)
    assert pressed.value("messages", "to-b") == pytest.approx(most, abs=25)
    assert pressed.value("messages", "from-b") <= 25
    # The memory of b's port has b's frames only, which leave at once.
    own = uneven({"size": "20000 B", "back_pressure": MARKS}, "500 us")
    assert own.value("messages", "from-b") > 500
    # Without back-pressure b sends, and what it sends finds no room.
    without = uneven({"size": "20000 B", "shared": True}, "500 us")
    assert without.value("lost_buffer", "from-b") > 500


def test_a_memory_that_is_never_full_changes_nothing():
    plain = uneven({"size": "1 MB"}, "20 ms")
    marks = {"high": "900 kB", "low": "1 kB"}
    idle = uneven({"size": "1 MB", "shared": True, "back_pressure": marks}, "20 ms")
    for flow in ("to-b", "from-b"):
        for time in ("one_way_delay", "inter_arrival"):
            one, other = (each.histogram(time, flow) for each in (plain, idle))
            assert one.low_ps.tolist() == other.low_ps.tolist()
            assert one.count.tolist() == other.count.tolist()


@pytest.mark.parametrize("shared", [False, True])
def test_nothing_is_lost_where_there_is_room_for_what_is_under_way(shared):
    flows = [
        em.flow(f"from-{host}", host, "a", frames="500 B", arrivals="saturated") for host in "bc"
    ]
    marks = {"high": "6000 B", "low": "3000 B"}
    pressed = {"size": "8000 B", "shared": shared, "back_pressure": marks}
    results = simulated(pressed, ["a", "b", "c"], flows, transmit="1 s")
    names = ("from-b", "from-c")
    assert [results.value("lost_buffer", name) for name in names] == [0, 0]
    # The wire of a carries all that fits.
    total = sum(results.value("messages", name) for name in names)
    assert total == pytest.approx(1e6 / (520 * OCTET_US), abs=25)
    without = simulated({"size": "8000 B"}, ["a", "b", "c"], flows, transmit="1 s")
    assert without.value("lost_buffer", "from-b") > 100


def test_a_host_that_was_held_sends_a_gap_after_the_line_is_free():
    # One frame for b fills the memory beyond the mark until its last octet has left; meanwhile b
    # gets a frame to send, which goes out a gap later.
    buffer = {"size": "4000 B", "shared": True, "back_pressure": {"high": "500 B", "low": "0 B"}}
    each = "500 ms"
    early, late = ({"regular": each, "phase": phase} for phase in ("0 s", "300 us"))
    flows = [
        em.flow("to-b", "a", "b", frames="1000 B", arrivals=early),
        em.flow("from-b", "b", "a", frames="100 B", arrivals=late),
    ]
    delays = simulated(buffer, ["b"], flows, fast=["a"], transmit="400 ms").histogram(
        "one_way_delay", "from-b"
    )
    free_us = 1008 * 0.08 + 1008 * OCTET_US
    expected_us = free_us - 300 + 12 * OCTET_US + 108 * OCTET_US + 108 * 0.08
    assert delays.low_ps[0] == delays.high_ps[-1] - 1 == round(expected_us * 1e6)


def test_it_is_refused_where_no_link_could_be_kept_busy():
    tables = em.network(
        title="Full duplex",
        rate="10 Mb/s",
        hosts=["a", "b"],
        switches=[em.switch("s", buffer={"size": "64 kB", "back_pressure": MARKS})],
        links=[("a", "s"), ("b", "s")],
        flows=[em.flow("f", "a", "b", frames="100 B", arrivals="saturated")],
    )
    with pytest.raises(em.InputError, match=r"back_pressure .*without a half-duplex link"):
        em.load(tables).plan()
