"""Trials of a run by one engine, found by series and point."""

from collections.abc import Mapping, Sequence

from ethermeter.analysis.tables import PS_PER_S, Trial
from ethermeter.scenario import Scenario
from ethermeter.studies.judging import MissingError

SIMULATION = "simulation"
Where = Mapping[str, str]
"""A point of the experiment: text by varied key."""


class Trials:
    """Indices of the replications of a run's points, and their scenarios."""

    def __init__(
        self, trials: Sequence[Trial], *, engine: str = SIMULATION, least: int = 1
    ) -> None:
        """Index the trials of a plan by an engine; a point counts from `least` replications on."""
        self._of: dict[str, dict[frozenset[tuple[str, str]], list[int]]] = {}
        self._scenarios = [trial.scenario for trial in trials]
        self._least = least
        for at, trial in enumerate(trials):
            if trial.engine == engine:
                points = self._of.setdefault(trial.series, {})
                points.setdefault(frozenset(trial.point.items()), []).append(at)

    def at(self, series: str, where: Where) -> list[int]:
        """Return the indices of the replications of a point.

        Raises MissingError if there are too few.
        """
        found = self._of.get(series, {}).get(frozenset(where.items()), [])
        if len(found) < self._least:
            raise MissingError(
                f"fewer than {self._least} replications for {series}, {dict(where)}"
                if self._least > 1
                else f"no trial of {series}, {dict(where)}"
            )
        return found

    def scenario(self, series: str, where: Where) -> Scenario:
        """Return the scenario of a point, as the engines read it."""
        return self._scenarios[self.at(series, where)[0]]

    def window_s(self, series: str, where: Where) -> float:
        """Return the measured window of a trial of a point, in s."""
        phases = self.scenario(series, where).phases
        return float(phases.measure_to_ps - phases.measure_from_ps) / PS_PER_S

    def along(self, series: str, key: str, where: Where | None = None) -> list[str]:
        """Values of `key` at points that are otherwise at `where`, in the order of the plan.

        At all points where it is None.
        """
        found: dict[str, None] = {}
        for items in self._of.get(series, {}):
            point = dict(items)
            text = point.pop(key, None)
            if text is not None and where in (None, point):
                found[text] = None
        return list(found)
