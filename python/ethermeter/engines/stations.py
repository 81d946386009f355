"""Stations: values of every metric of the stations on a medium, by the formulas of the registry."""

import math

import numpy as np

from ethermeter.counts import Counts, Floats
from ethermeter.engines.table import Table
from ethermeter.metrics import Group, Metric, caution_mask, definition_of, percentiles
from ethermeter.metrics.formulas import PS_PER_S, quantiles
from ethermeter.metrics.station_formulas import StationSums
from ethermeter.scenario import SaturatedArrivals, Scenario
from ethermeter.stations import constants_of, mean_bits, medium_of, per_station
from ethermeter.store.rows import METRICS, STATION_METRICS

DEFINITIONS = {metric: definition_of(metric, Group.SEGMENT) for metric in METRICS}
EXACT = {metric for metric, found in DEFINITIONS.items() if not found.is_estimate}
OF_EACH, OF_ALL = (
    [
        (metric, found.formula)
        for metric, found in DEFINITIONS.items()
        if found.formula is not None and found.is_of_each is is_of_each
    ]
    for is_of_each in (True, False)
)
"""Metrics of each station and of all, and metrics of all only, with their formulas."""


def station_table(scenario: Scenario, counts: Counts) -> Table:
    """Return the value of every metric of a medium and of its stations."""
    sums = station_sums(scenario, counts)
    with_total = sums.with_total()
    of_each: dict[Metric, Floats] = {}
    of_all = dict(
        zip(percentiles("delay"), quantiles(counts.medium.transmission_delay), strict=True)
    )
    for metric, formula in OF_EACH:
        found = formula(with_total)
        of_each[metric] = found[:-1]
        # A ratio is infinite where no frame was delivered.
        of_all[metric] = float(found[-1]) if found[-1] < math.inf else math.nan
    of_all |= {metric: float(formula(sums)) for metric, formula in OF_ALL}
    frames = np.asarray(counts.stations.frames, np.float64)
    mask = np.uint64(caution_mask(counts.cautions))
    return Table(
        METRICS,
        STATION_METRICS,
        of_all,
        of_each,
        lambda metric: None if metric in EXACT else frames,
        mask,
        np.full(len(frames), mask),
    )


def station_sums(scenario: Scenario, counts: Counts) -> StationSums:
    """Return what formulas need of stations: their counts in the window, and their parameters."""
    it = counts.stations
    saturated = per_station(
        scenario, lambda group: isinstance(group.flow.arrivals, SaturatedArrivals)
    )
    mac, bit_ps = constants_of(scenario), medium_of(scenario).bit_ps
    # From the bits delivered and not from the charged time in the window, which begins and ends
    # within a packet. A station that delivered nothing is charged the mean of what it would have
    # sent.
    meant = per_station(scenario, lambda group: mean_bits(group.flow.frames))
    bits = np.where(it.frames > 0, it.bits / it.frames, meant)
    return StationSums(
        window_ps=np.array([float(counts.window_ps)]),
        bit_ps=np.array([float(bit_ps)]),
        packet_s=(bits + mac.preamble_bits + mac.gap_bits) * (bit_ps / PS_PER_S),
        frames=it.frames,
        charged_ps=it.charged_ps,
        delay_ps=it.delay_ps,
        delay_ps2=it.delay_ps2,
        bits=it.bits,
        collisions=it.collisions,
        late_collisions=it.late_collisions,
        discarded=it.discarded,
        resumed=it.resumed,
        dropped=it.dropped,
        damaged=it.damaged,
        access_ps=it.access_ps,
        response_ps=it.response_ps,
        waiting_ps=it.waiting_ps,
        wanted=np.where(saturated > 0, it.frames + it.discarded, it.offered),
        offered_load=it.offered_load,
        medium=counts.medium,
    )
