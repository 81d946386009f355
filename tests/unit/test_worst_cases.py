"""Worst cases of the catalogue: those of networks with one port, and of its schedulers."""

import ethermeter as em
import numpy as np
import pytest
from ethermeter import theory
from ethermeter.theory.bounds import Bounds, bounds_of
from shared_experiments import scenario

# 1000 octets and preamble and gap at 10 Mb/s; bursts of 4 frames at 1 Mb/s.
FRAME_BITS, WIRE_BPS = 1020 * 8, 1e7


def bounds(senders: int) -> Bounds:
    """Bounds of senders of one token bucket each to one port."""
    names = [f"s{number}" for number in range(senders)]
    bucket = {"token_bucket": {"rate": "1 Mb/s", "burst": "4080 B"}}
    experiment = em.network(
        rate="10 Mb/s",
        hosts=["b", *names],
        switches=["s"],
        links=[(name, "s") for name in ("b", *names)],
        flows=[em.flow(name, name, "b", frames="1000 B", arrivals=bucket) for name in names],
        phases={"transmit": "1 s", "measure": "all"},
    )
    return bounds_of(scenario(experiment), budget_s=0)


def test_one_port_with_line_shaping_is_that_of_a_network():
    senders = 5
    found = bounds(senders)
    # At the switch each flow has its bucket, and comes by a wire of 10 Mb/s a frame at a time. The
    # first wire delays the last bit of a burst, which is jitter.
    first = theory.cruz_1991(4 * FRAME_BITS, rate_bps=1e6, wire_bps=WIRE_BPS)
    port = theory.cruz_1991(
        senders * (4 * FRAME_BITS + 1e6 * (first.delay_s - FRAME_BITS / WIRE_BPS)),
        rate_bps=senders * 1e6,
        wire_bps=WIRE_BPS,
        lines_bps=senders * WIRE_BPS,
        frame_bits=senders * FRAME_BITS,
    )
    gaps_s = 2 * 96 / WIRE_BPS  # the gap behind the last bit is none of the delay
    assert found.flows[0].delay.largest_s == pytest.approx(
        float(first.delay_s + port.delay_s) - gaps_s, abs=5e-6
    )


@pytest.mark.parametrize(
    ("switch", "of"),
    [
        (
            "classes = 2",
            lambda: theory.le_boudec_thiran_2001(
                FRAME_BITS, rate_bps=0, wire_bps=WIRE_BPS, below_frame_bits=FRAME_BITS
            ),
        ),
        (
            'classes = [{ priorities = [7], quantum = "2048 B" }, '
            '{ priorities = [0, 1, 2, 3, 4, 5, 6], quantum = "1024 B" }]',
            lambda: theory.boyer_2012(
                FRAME_BITS,
                rate_bps=0,
                wire_bps=WIRE_BPS,
                quantum_bits=2048 * 8,
                frame_bits=FRAME_BITS,
                others_quanta_bits=1024 * 8,
                others_frames_bits=FRAME_BITS,
            ),
        ),
        (
            'classes = [{ priorities = [7], idle_slope = "2 Mb/s" }, '
            "{ priorities = [0, 1, 2, 3, 4, 5, 6] }]",
            lambda: theory.de_azua_boyer_2014(
                FRAME_BITS,
                rate_bps=0,
                wire_bps=WIRE_BPS,
                idle_slope_bps=2e6,
                below_frame_bits=FRAME_BITS,
            ),
        ),
    ],
)
def test_schedulers_are_those_of_networks(switch, of):
    # By the curves that networks use, in work: seconds of the wire.
    from ethermeter.theory.bounds.curves import largest_delay, line
    from ethermeter.theory.bounds.schedulers import ClassOfServer, Demand, times_to_serve

    frame_s = FRAME_BITS / WIRE_BPS
    # A burst of one frame of the class, beside another class of which nothing is known.
    demands = [Demand(line(0.0, frame_s), frame_s, frame_s), Demand(None, frame_s, frame_s)]
    quanta = (2048 * 8 / WIRE_BPS, 1024 * 8 / WIRE_BPS) if "quantum" in switch else (None, None)
    slope = 0.2 if "idle" in switch else None
    classes = [ClassOfServer(slope, quanta[0]), ClassOfServer(None, quanta[1])]
    served = times_to_serve(classes, demands)[0]
    expected = min(largest_delay(line(0.0, frame_s), times, 0.0) for times in served.times)
    tick = 1.0 if slope else 0.0  # Of curves, in whole picoseconds; here they are in seconds.
    assert float(of().delay_s) == pytest.approx(expected - tick, rel=1e-9)


def test_an_overloaded_port_has_no_bound():
    found = theory.cruz_1991(1e5, rate_bps=[5e7, 2e8], wire_bps=1e8)
    assert found.outside_range.tolist() == [False, True]
    assert np.isnan(found.delay_s).tolist() == [False, True]
    found = theory.le_boudec_thiran_2001(1e5, rate_bps=1e6, wire_bps=1e8, above_rate_bps=1e8)
    assert bool(found.outside_range)
