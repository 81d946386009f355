"""What is reported of an emulated medium, its caution, and the comparison with simulations."""

import math

import numpy as np
import pytest
from ethermeter.analysis.emulated import emulated, together
from ethermeter.live_reports import SegmentCounts, StationReport, TimeQuantiles
from ethermeter.store.result import Result

from benches.emulation.comparison import Difference, _distance


def times(*buckets: tuple[float, float, int]) -> TimeQuantiles:
    """Times in ns with these buckets."""
    largest = buckets[-1][1] if buckets else None
    return TimeQuantiles(p99=largest, max=largest, buckets=buckets)


def result(*, violations: int = 0, late: TimeQuantiles | None = None) -> Result:
    """Result of a test on a segment of two stations with 500 frames each."""
    station = StationReport(arrived=500, frames=490, collisions=20, discarded=10, starved=1)
    segment = SegmentCounts(
        stations=(station, station),
        bit_ps=100_000,
        over_ns=2_000_000,
        worked_ns=500_000,
        offset_ns=1_000_000,
        lag_ns=500_000,
        dropped={"ring": 2, "refused": 1},
        violations=violations,
        too_late_ns=times(),
        late_ns=late or times((0.0, 1000.0, 900), (4000.0, 5000.0, 90), (8000.0, 9000.0, 10)),
        noticed_after_ns=times(),
        behind_ns=times(),
    )
    return Result(outcome="complete", agents={}, flows={}, segment=segment)


def test_a_medium_is_summed_up_by_counts_shares_and_quantiles():
    found = emulated(result(violations=3))
    assert found is not None
    assert (found.arrived, found.starved, found.lost) == (1000, 2, 3)
    assert found.violated == 0.003
    assert found.processors == 0.25
    assert [found.late_s(rank) for rank in (0.5, 0.99, 1.0)] == pytest.approx([1e-6, 5e-6, 9e-6])
    assert math.isnan(found.noticed_p99_s)
    assert emulated(Result(outcome="complete", agents={}, flows={})) is None


def test_trials_together_have_all_frames_and_the_worst_times():
    one = emulated(result(violations=1))
    other = emulated(result(late=times((0.0, 1000.0, 1000), (1e6, 2e6, 1))))
    assert one is not None
    assert other is not None
    found = together([one, other])
    assert found.arrived == 2000
    assert found.violated == 0.0005
    assert sum(count for _, _, count in found.buckets) == 2001
    assert found.buckets[0][2] == 1900
    assert found.worst_s == 2e-3


@pytest.mark.parametrize(
    ("violations", "late_ns", "is_late"), [(0, 100_000, False), (1, 0, True), (0, 100_001, True)]
)
def test_a_medium_is_late_by_violations_or_by_deliveries(violations, late_ns, is_late):
    import ethermeter as em
    from ethermeter.engines.live.cautions import segment_cautions
    from ethermeter.metrics import Caution, caution_mask

    trial = em.load("poisson-load").plan(replications=1).trials[0]
    found = result(violations=violations, late=times((0.0, float(late_ns), 10)))
    # A thousand frames: one violation is more than one in ten thousand.
    mask = segment_cautions(trial, found)
    assert bool(mask & caution_mask([Caution.MEDIUM_LATE])) == is_late


def test_a_difference_is_met_within_its_limit_and_missed_beyond_chance():
    found = [Difference(value, 0.02, 0.05).verdict for value in (0.05, -0.06, 0.071, -0.08)]
    assert found == ["met", "chance", "missed", "missed"]


def test_the_distance_of_two_distributions_is_their_largest_difference():
    assert _distance(np.array([1.0, 1.0, 4.0]), np.array([2.0, 6.0, 8.0])) == 0.5
    assert _distance(np.array([1.0, 2.0]), np.array([10.0, 20.0])) == 0.0


def test_hosts_of_trials_on_one_testbed_have_a_listener_behind_the_stations():
    import ethermeter as em
    from ethermeter.engines.live.segments import segment_hosts, segment_trial

    counts = ["stations.count=1", "stations.count=3"]
    one, three = (
        em.load("poisson-load", overrides=["vary={}", count]).plan(replications=1).trials[0]
        for count in counts
    )
    hosts = segment_hosts([one, three])
    assert hosts == ["station-1", "station-2", "station-3", "listener"]
    assert segment_trial(one, hosts).listener == 3
    assert segment_trial(three, hosts).listener is None
    assert segment_trial(one, segment_hosts([one])).listener == 1


def test_saturated_hosts_begin_before_their_sources_and_others_with_them():
    import ethermeter as em
    from ethermeter.engines.live.segments import LEAD_PS, lead_of
    from msgspec import structs

    def scenario(arrivals: str, settle: str):
        sets = ["vary={}", f"stations.arrivals={arrivals}", f"phases.settle='{settle}'"]
        return em.load("maximum-10base5", overrides=sets).plan(replications=1).trials[0].scenario

    settled = scenario('"saturated"', "1 s")
    assert (lead_of(settled).lead_ps, lead_of(settled).later_ps) == (LEAD_PS, 0)
    early = structs.replace(settled, phases=structs.replace(settled.phases, begin_ps=10**9))
    assert lead_of(early).later_ps == LEAD_PS - 10**9
    assert lead_of(scenario("{ poisson_load = 0.5 }", "1 s")).lead_ps == 0
