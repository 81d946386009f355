"""Clocks that are wrong on purpose, and what agents find out about them."""

import random
import statistics
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

import pytest
from agents import Agents
from ethermeter.testbed import make_testbed
from stalls import inconclusive

MS = 10**6
ROUNDS = 10
PAIRS = 5
"""Agents on each host; flows go both ways between the first of one and the first of the other, and
so on.
"""
TRIALS = ROUNDS * PAIRS * 2
LEAST_COVERED = 95
MOST_UNCERTAIN_NS = 10_000
SLOW_UNCERTAIN_NS = 20_000
SEED = 1988


class Clock:
    """A clock that is ahead and gains: up to a second and a hundred millionths."""

    def __init__(self, draw: random.Random) -> None:
        self.offset_ns = draw.randint(-(10**9), 10**9)
        self.drift_ppb = draw.randint(-100_000, 100_000)

    def options(self) -> list[str]:
        """Options of the agent that shows it."""
        return ["--clock-offset", str(self.offset_ns), "--clock-drift", str(self.drift_ppb)]

    def rate(self) -> Fraction:
        """Nanoseconds that it shows in each of the host's."""
        return 1 + Fraction(self.drift_ppb, 10**9)

    def ahead_of_ns(self, other: "Clock", other_shows_ns: int) -> float:
        """How far it is ahead of another when that shows a time."""
        host_ns = (other_shows_ns - other.offset_ns) / other.rate()
        return float(host_ns * self.rate() + self.offset_ns - other_shows_ns)


def describe(agents: list[dict[str, str]]) -> dict[str, Any]:
    """Streams both ways between pairs of agents, of 64 octets each 2 ms."""
    traffic = {
        "kind": "stream",
        "source": {
            "frames": {"kind": "fixed", "bits": 512},
            "arrivals": {"kind": "regular", "period_ps": 2 * 10**9},
        },
    }
    ends = [
        end for pair in range(PAIRS) for end in ((f"a{pair}", f"b{pair}"), (f"b{pair}", f"a{pair}"))
    ]
    common = {"port": "udp", "most_bps": 10**7, "most_frames_per_s": 10_000, "traffic": traffic}
    return {
        "agents": agents,
        "phases": {
            "settle_ns": 150 * MS,
            "transmit_ns": 150 * MS,
            "measure_from_ns": 0,
            "measure_to_ns": 150 * MS,
            "drain_ns": 150 * MS,
        },
        "flows": [
            {"name": f"{sender}{receiver}", "from": sender, "to": receiver, **common}
            for sender, receiver in ends
        ],
    }


@pytest.mark.root
def test_offset_and_drift_of_a_senders_clock_are_found_within_their_uncertainty(
    agent, in_quiet_window, tmp_path
):
    draw = random.Random(SEED)
    with make_testbed(2) as bed:
        agents = Agents(agent, list(bed.hosts), tmp_path, 'addresses = ["10.77.0.0/24"]')

        def compared() -> list[dict[str, Any]]:
            found = [flow for _ in range(ROUNDS) for flow in compare_clocks(agents, draw)]
            assert len(found) == TRIALS
            assert sum(flow["is_covered"] for flow in found) >= LEAST_COVERED
            return found

        # A machine that stalls holds exchanges up, so that less is known: the better half is
        # judged.
        found = in_quiet_window(compared, tolerated_stall_s=ROUNDS * 0.15 / 4)
    assert not any("clock-uncertain" in flow["cautions"] for flow in found)
    # Something was known of the clock before the first frame came, so each delay is told, or known
    # to be too short to tell.
    assert not any(
        flow["receiving"]["counted"]["streams"][0]["measured"]["unrelated"] for flow in found
    )
    for key in ("uncertainty_ns", "delay_uncertainty_ns"):
        values_ns = sorted(flow["clock"][key] for flow in found)
        # Half the time of an exchange: a machine that is slow for a while, without a stall, knows
        # less, and is right about that.
        if MOST_UNCERTAIN_NS < (median_ns := statistics.median(values_ns)) <= SLOW_UNCERTAIN_NS:
            inconclusive(f"exchanges took long: the median of {key} is {median_ns:.0f}")
        assert median_ns <= MOST_UNCERTAIN_NS, values_ns


def compare_clocks(agents: Agents, draw: random.Random) -> list[dict[str, Any]]:
    """Run one test between agents with clocks of their own; return its flows, and of each whether
    its uncertainty holds.
    """
    clocks = {f"{side}{pair}": Clock(draw) for pair in range(PAIRS) for side in "ab"}
    with ExitStack() as stack:
        entries = []
        for name, clock in clocks.items():
            host = agents.hosts["ab".index(name[0])]
            listening = agents.listening(host, *clock.options(), port=0)
            entries.append(agents.entry(name, host, stack.enter_context(listening)[1]))
        result = agents.measure(agents.hosts[0], describe(entries))
    for name, clock in clocks.items():
        artificial = {"offset_ns": clock.offset_ns, "drift_ppb": clock.drift_ppb}
        assert result["agents"][name]["artificial_clock"] == artificial
    flows: list[dict[str, Any]] = list(result["flows"].values())
    for flow in flows:
        found, sender, receiver = flow["clock"], clocks[flow["from"]], clocks[flow["to"]]
        if "offset_ns" not in found:
            assert "clock-uncertain" in flow["cautions"]
            flow["is_covered"] = True  # nothing is stated
            continue
        error_ns = found["offset_ns"] - sender.ahead_of_ns(receiver, found["at_ns"])
        drift_error = found["drift"] - float(sender.rate() / receiver.rate() - 1)
        # Times on frames are whole nanoseconds, which is in the uncertainty; floats of seconds of
        # them are exact to far less.
        flow["is_covered"] = (
            abs(error_ns) <= found["uncertainty_ns"]
            and abs(drift_error) <= found["drift_uncertainty"]
        )
        measured = flow["receiving"]["counted"]["streams"][0]["measured"]
        assert (
            measured["delay"]["total"] + measured["before_sent"] + measured["unrelated"]
            == measured["frames"]
        )
        # Where the bound of delays is not known, that is told.
        if found["delay_uncertainty_ns"] is None:
            assert "clock-uncertain" in flow["cautions"]
        else:
            assert found["delay_uncertainty_ns"] >= found["uncertainty_ns"]
    return flows
