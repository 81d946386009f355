"""What a run holds, by series, number of hosts and frame lengths."""

from collections.abc import Mapping, Sequence

from ethermeter.analysis.estimates import Point
from ethermeter.analysis.frame_mixes import COUNT, FRAMES, Lengths, lengths
from ethermeter.analysis.interval import Estimate
from ethermeter.analysis.tables import PS_PER_S, Trial
from ethermeter.metrics import Metric
from ethermeter.scenario import FixedLengths, Scenario
from ethermeter.station_groups import charged_ps, groups_of, station_count
from ethermeter.studies.judging import MissingError
from ethermeter.studies.trials import SIMULATION

CLUSTERS = "segment.clusters"


class Evidence:
    """Estimates of a run by one engine, found by what the papers call them.

    A series that varies the number of clusters is one series for each: "clusters 2", "clusters 4".
    """

    def __init__(
        self, points: Sequence[Point], trials: Sequence[Trial], *, engine: str = SIMULATION
    ) -> None:
        self._points: dict[tuple[str, int, Lengths], Point] = {}
        self._scenarios: dict[tuple[str, Lengths], Scenario] = {}
        for trial in trials:
            if FRAMES in trial.point:
                self._scenarios.setdefault(
                    (_series(trial.series, trial.point), lengths(trial.point[FRAMES])),
                    trial.scenario,
                )
        for point in points:
            if point.engine == engine and FRAMES in point.point:
                series, frames = _series(point.series, point.point), lengths(point.point[FRAMES])
                hosts = self._hosts(point, self._scenarios.get((series, frames)))
                if hosts is not None:
                    self._points[series, hosts, frames] = point

    @staticmethod
    def _hosts(point: Point, scenario: Scenario | None) -> int | None:
        """Return the number of hosts of a point; where it does not vary, the scenario's."""
        if COUNT in point.point:
            return int(point.point[COUNT])
        return None if scenario is None else station_count(scenario)

    def holds(self, series: str, hosts: int, frames: Lengths) -> bool:
        """Whether the run has such a point."""
        return (series, hosts, frames) in self._points

    def _point(self, series: str, hosts: int, frames: Lengths) -> Point:
        if not self.holds(series, hosts, frames):
            raise MissingError(f"no point for {series}, {hosts} hosts, {frames}")
        return self._points[series, hosts, frames]

    def at(self, series: str, hosts: int, frames: Lengths, metric: Metric) -> Estimate:
        """Return one estimate.

        Raises MissingError if the run does not hold it.
        """
        found = self._point(series, hosts, frames).estimates.get(metric)
        if found is None:
            raise MissingError(f"no {metric.value} for {series}, {hosts} hosts, {frames}")
        return found

    def replications(self, series: str, hosts: int, frames: Lengths) -> int:
        """Return how many replications are behind a point.

        Raises MissingError if the run does not hold it.
        """
        return self._point(series, hosts, frames).replications

    def hosts(self, series: str, frames: Lengths) -> list[int]:
        """Numbers of hosts of a curve, smallest first; at least one."""
        found = sorted(count for name, count, of in self._points if name == series and of == frames)
        if not found:
            raise MissingError(f"no curve for {series}, {frames}")
        return found

    def lengths(self, series: str) -> list[Lengths]:
        """Frame lengths of a series, shortest first; at least one."""
        found = sorted({of for name, _, of in self._points if name == series})
        if not found:
            raise MissingError(f"no series {series}")
        return found

    def cycle_s(self, series: str, frames: Lengths) -> float:
        """Preamble, frame and gap of one frame at line rate, in s, from the scenario."""
        scenario = self._scenario(series, frames)
        frames_sent = groups_of(scenario)[0].flow.frames
        if not isinstance(frames_sent, FixedLengths):
            raise MissingError(f"no scenario with frames of one length for {series}, {frames}")
        return charged_ps(scenario, frames_sent.bits) / PS_PER_S

    def window_s(self, series: str, frames: Lengths) -> float:
        """Measured window of one run, in s."""
        phases = self._scenario(series, frames).phases
        return float(phases.measure_to_ps - phases.measure_from_ps) / PS_PER_S

    def _scenario(self, series: str, frames: Lengths) -> Scenario:
        scenario = self._scenarios.get((series, frames))
        if scenario is None:
            raise MissingError(f"no scenario for {series}, {frames}")
        return scenario


def _series(name: str, point: Mapping[str, str]) -> str:
    return f"{name} {point[CLUSTERS]}" if CLUSTERS in point else name
