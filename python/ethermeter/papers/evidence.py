"""What a run holds, by series, number of hosts and frame lengths."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ethermeter.analysis.estimates import Point
from ethermeter.analysis.interval import Estimate
from ethermeter.analysis.tables import Trial
from ethermeter.observation import Metric

COUNT, FRAMES = "stations.count", "stations.frames"
Lengths = tuple[tuple[float, float], ...]


class MissingError(Exception):
    """The run does not hold what a claim needs."""


def lengths(text: str) -> Lengths:
    """Octets and weights of a text such as "64 B x 7 + 1536 B x 1", shortest first.

    Examples
    --------
    >>> lengths("1536 B x 1 + 64 B x 7")
    ((64.0, 7.0), (1536.0, 1.0))
    >>> lengths("64 B")
    ((64.0, 1.0),)
    """
    parts = [re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*B(?:\s*[x*]\s*(\d+(?:\.\d+)?))?\s*", part) for part in text.split("+")]
    if not all(parts):
        raise MissingError(f"frames {text!r} are not of the form '64 B' or '64 B x 7 + 1536 B x 1'")
    found = sorted((float(part[1]), float(part[2] or 1)) for part in parts if part)
    used = [(octets, weight) for octets, weight in found if weight > 0]
    return ((used[0][0], 1.0),) if len(used) == 1 else tuple(used)


class Evidence:
    """Estimates of a run's simulation, found by what the papers call them."""

    def __init__(self, points: Sequence[Point], trials: Sequence[Trial]) -> None:
        self._estimates: dict[tuple[str, int, Lengths], Mapping[Metric, Estimate]] = {}
        self._scenarios: dict[tuple[str, Lengths], Mapping[str, Any]] = {}
        for point in points:
            if point.engine == "simulation" and COUNT in point.point and FRAMES in point.point:
                key = (point.series, int(point.point[COUNT]), lengths(point.point[FRAMES]))
                self._estimates[key] = point.estimates
        for trial in trials:
            if FRAMES in trial.point:
                self._scenarios.setdefault((trial.series, lengths(trial.point[FRAMES])), trial.scenario)

    def at(self, series: str, hosts: int, frames: Lengths, metric: Metric) -> Estimate:
        """Return one estimate.

        Raises
        ------
        MissingError
            If the run does not hold it.
        """
        try:
            return self._estimates[series, hosts, frames][metric]
        except KeyError:
            raise MissingError(f"no {metric.value} for {series}, {hosts} hosts, {frames}") from None

    def hosts(self, series: str, frames: Lengths) -> list[int]:
        """Numbers of hosts of a curve, smallest first; at least one."""
        found = sorted(count for name, count, of in self._estimates if name == series and of == frames)
        if not found:
            raise MissingError(f"no curve for {series}, {frames}")
        return found

    def lengths(self, series: str) -> list[Lengths]:
        """Frame lengths of a series, shortest first; at least one."""
        found = sorted({of for name, _, of in self._estimates if name == series})
        if not found:
            raise MissingError(f"no series {series}")
        return found

    def cycle_s(self, series: str, frames: Lengths) -> float:
        """Preamble, frame and gap of one frame at line rate, in s, from the scenario that was run."""
        scenario = self._scenarios.get((series, frames))
        if scenario is None or scenario["groups"][0]["frames"]["kind"] != "fixed":
            raise MissingError(f"no scenario with frames of one length for {series}, {frames}")
        segment = scenario["segment"]
        bits = segment["preamble_bits"] + scenario["groups"][0]["frames"]["bits"] + segment["gap_bits"]
        return float(bits * segment["bit_ps"]) / 1e12
