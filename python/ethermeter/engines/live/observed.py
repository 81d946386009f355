"""Observed: the counts of a test as the result of a trial."""

from dataclasses import replace

from ethermeter.engines.cautions import illegal_frames, station_cautions
from ethermeter.engines.live.cautions import always_cautions, live_cautions, segment_cautions
from ethermeter.engines.live.counts import counts_of
from ethermeter.entities import senders
from ethermeter.store.columns import CAUTION, FLOWS, STATIONS
from ethermeter.store.result import Result
from ethermeter.store.trial_result import TrialResult, counted, failed
from ethermeter.trial import Trial


def observe(trial: Trial, result: Result, *, took_s: float, has_wires: bool = True) -> TrialResult:
    """Return what agents counted of each flow, and emulated media of their stations.

    `took_s` is the time of the trial, in s; `has_wires` is whether something between hosts carries
    no more than a wire. Nothing is known of a medium that was not emulated to the end.
    """
    scenario = trial.scenario
    if senders(scenario):
        from ethermeter import _core

        text = None if result.segment is None else result.segment.counts
        if text is None:
            return replace(failed(), core_s=took_s)
        counts = _core.read_counts(text)
        of_stations = station_cautions(scenario, counts)
        of_stations[CAUTION] |= segment_cautions(trial, result)
        cautions = {STATIONS: of_stations}
    else:
        counts = counts_of(trial, result)
        flows = live_cautions(trial, result, counts.flows, has_wires=has_wires)
        flows[CAUTION] |= illegal_frames(scenario)
        of_stations = station_cautions(scenario, counts)
        of_stations[CAUTION] |= always_cautions(result)
        cautions = {FLOWS: flows, STATIONS: of_stations}
    return counted(scenario, counts, cautions=cautions, core_s=took_s)
