"""Model inputs: the quantities of a scenario that theories know, in seconds and bits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ethermeter.theory.names import ROUND_TRIP, SLOT_TIME

PS_PER_S = 1e12
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ModelInputs:
    """One point of an experiment, as the theories see it.

    Times are *charged*: a packet counts with its preamble and the gap after it, since every theory
    knows the packet only.

    Parameters
    ----------
    stations
        Number of stations.
    alike
        Whether all stations offer the same.
    rate_bps
        Line rate.
    packet_bits, weights
        Charged bits of the different packets and their shares, shape (lengths,).
    propagation_s
        Largest one-way propagation between two stations.
    equally_far
        Whether all pairs of stations are that far apart.
    overhead_bits
        Of `packet_bits`, preamble and gap.
    deaf_s
        Time from a station's decision to start to its first bit, in which it hears nothing.
    slot_s
        Slot time of the standard.
    collision_s
        How long a collision of two at the ends keeps the medium busy, gap included.
    abort_s
        Time between hearing a collision and falling silent, when the preamble is over.
    arrivals
        "saturated", "regular", "poisson", "on_off", "coder", or "mixed" where groups differ.
    arrival_rate
        Frames per second of all stations together; 0 when saturated.
    buffers
        Frames a station has room for; None for no limit.
    thinking_s
        Mean time of a saturated station between a frame and the next, if it is exponential; else
        None.
    service_s
        Mean time of the host between a frame and the next.
    generator
        Whether a user process fills buffers.
    priority_waits
        Whether any station lets others of higher priority go first.
    backoff
        "exponential", "linear", "constant" or "none".
    contention_slot_s, sensing_interval_s, persistence, station_latency_s
        What is assumed for the theories; `sensing_interval_s` may be None.

    """

    stations: int
    alike: bool
    rate_bps: float
    packet_bits: Floats
    weights: Floats
    propagation_s: float
    equally_far: bool
    overhead_bits: float
    deaf_s: float
    slot_s: float
    collision_s: float
    abort_s: float
    arrivals: str
    arrival_rate: float
    buffers: int | None
    thinking_s: float | None
    service_s: float
    generator: bool
    priority_waits: bool
    backoff: str
    contention_slot_s: float
    sensing_interval_s: float | None
    persistence: float
    station_latency_s: float

    @property
    def packet_s(self) -> float:
        """Mean charged time of a packet."""
        return float(self.packet_bits @ self.weights) / self.rate_bps

    @property
    def load(self) -> float:
        """Offered load of sources that are not saturated: charged time of arriving frames per
        second.
        """
        return self.arrival_rate * self.packet_s

    @property
    def packet_slots(self) -> int:
        """Slots of one propagation time in a mean packet, rounded: what slotted theories call 1/a."""
        return max(1, round(self.packet_s / self.propagation_s)) if self.propagation_s > 0 else 1

    @property
    def propagation_slot_s(self) -> float:
        """Length of these slots: the propagation time, changed by the rounding."""
        return self.packet_s / self.packet_slots

    @property
    def collision_slots(self) -> int:
        """Slots a collision takes: at least two, one until it is heard and one until the medium is
        clear.
        """
        return max(2, round(self.collision_s / self.propagation_slot_s))


def model_inputs(scenario: Mapping[str, Any], assumed: Mapping[str, Any]) -> ModelInputs:
    """Return the model inputs of a scenario.

    Parameters
    ----------
    scenario
        As in `plan.jsonl`.
    assumed
        Its part `theory`.

    """
    segment, groups = scenario["segment"], scenario["groups"]
    bit_s = segment["bit_ps"] / PS_PER_S
    places = [place for group in groups for place in group["places"]]
    nearest, farthest = _distances(segment["delay_ps"], places)
    propagation_s = farthest / PS_PER_S
    overhead = segment["preamble_bits"] + segment["gap_bits"]
    bits, weights = _lengths(groups)
    first = groups[0]
    detected_s = max(segment["preamble_bits"] * bit_s, propagation_s)
    jam_s = segment["jam_bits"] * bit_s
    slot_s = segment["slot_bits"] * bit_s
    contention = assumed["contention_slot"]
    # Without any distance a slot still has a length: nothing depends on it then.
    contention_s = {ROUND_TRIP: max(2 * propagation_s, bit_s), SLOT_TIME: slot_s}.get(contention)
    collision = assumed["collision_ps"]
    return ModelInputs(
        stations=len(places),
        alike=all(
            {**group, "name": "", "places": ()} == {**first, "name": "", "places": ()}
            for group in groups
        ),
        rate_bps=1 / bit_s,
        packet_bits=bits + overhead,
        weights=weights,
        propagation_s=propagation_s,
        equally_far=nearest == farthest,
        overhead_bits=overhead,
        deaf_s=segment.get("deaf_ps", 0) / PS_PER_S,
        slot_s=slot_s,
        collision_s=collision / PS_PER_S
        if collision is not None
        else detected_s + jam_s + propagation_s + segment["gap_bits"] * bit_s,
        abort_s=jam_s + segment["gap_bits"] * bit_s,
        arrivals=first["arrivals"]["kind"]
        if all(group["arrivals"]["kind"] == first["arrivals"]["kind"] for group in groups)
        else "mixed",
        arrival_rate=sum(len(group["places"]) * _rate(group) for group in groups),
        buffers=first["queue_frames"],
        thinking_s=_thinking_s(groups),
        service_s=_mean_s(first["service"]),
        generator=any(group["generator"] is not None for group in groups),
        priority_waits=any(group.get("priority_wait_ps") for group in groups),
        backoff=first["backoff"]["rule"],
        contention_slot_s=contention_s if contention_s is not None else contention / PS_PER_S,
        sensing_interval_s=_seconds(assumed["sensing_interval_ps"]),
        persistence=assumed["persistence"],
        station_latency_s=_seconds(assumed["station_latency_ps"]) or bit_s,
    )


def _seconds(time_ps: int | None) -> float | None:
    return None if time_ps is None else time_ps / PS_PER_S


def _distances(delay_ps: list[list[int]], places: list[int]) -> tuple[int, int]:
    """Return the smallest and the largest delay between two different stations; 0 for a single one."""
    count = np.bincount(places, minlength=len(delay_ps))
    used = np.flatnonzero(count)
    delays = np.array(delay_ps)[np.ix_(used, used)]
    several = ~np.eye(len(used), dtype=bool) | np.diag(count[used] > 1)
    found = delays[several]
    return (int(found.min()), int(found.max())) if found.size else (0, 0)


def _lengths(groups: list[dict[str, Any]]) -> tuple[Floats, Floats]:
    """Return the lengths of all stations' frames, in bits, and their shares of the frames, stations
    counting equally.
    """
    shares: dict[int, float] = {}
    for group in groups:
        frames = group["frames"]
        match frames["kind"]:
            case "fixed":
                bits, weights = [frames["bits"]], [1.0]
            case "samples":
                bits, weights = [frames["min_bits"]], [1.0]
            case _:
                bits, weights = frames["bits"], frames["weights"]
        rate = _rate(group) or 1.0
        for length, weight in zip(
            bits, np.asarray(weights, np.float64) / sum(weights), strict=True
        ):
            shares[length] = shares.get(length, 0.0) + len(group["places"]) * rate * float(weight)
    lengths = np.array(sorted(shares), np.float64)
    of_each = np.array([shares[int(length)] for length in lengths])
    return lengths, of_each / of_each.sum()


def _rate(group: Mapping[str, Any]) -> float:
    """Return the frames per second of one station; 0 when saturated, and of voice as many as there
    would be of the shortest length.
    """
    arrivals = group["arrivals"]
    match arrivals["kind"]:
        case "saturated":
            return 0.0
        case "poisson":
            return float(PS_PER_S / arrivals["mean_ps"])
        case "regular":
            return float(PS_PER_S / arrivals["period_ps"])
        case "coder":
            frames, spurts = group["frames"], arrivals["spurts"]
            share = (
                1.0
                if spurts is None
                else spurts["talk_mean_ps"] / (spurts["talk_mean_ps"] + spurts["silence_mean_ps"])
            )
            samples = max(
                1, -(-(frames["min_bits"] - frames["overhead_bits"]) // arrivals["sample_bits"])
            )
            return float(share * PS_PER_S / (samples * arrivals["sample_ps"]))
        case _:
            on, off = arrivals["on_mean_ps"], arrivals["off_mean_ps"]
            return float(PS_PER_S / arrivals["period_ps"] * on / (on + off))


def _mean_s(times: Mapping[str, Any]) -> float:
    match times["kind"]:
        case "constant":
            mean_ps = times["ps"]
        case "uniform":
            mean_ps = (times["low_ps"] + times["high_ps"]) / 2
        case "exponential":
            mean_ps = times["offset_ps"] + times["mean_ps"]
        case _:
            mean_ps = float(np.average(times["values_ps"], weights=times["weights"]))
    return float(mean_ps / PS_PER_S)


def _thinking_s(groups: list[dict[str, Any]]) -> float | None:
    """Return the mean time in which a saturated station thinks, if that is exponential and alike
    everywhere.
    """
    service = groups[0]["service"]
    alike = all(
        group["service"] == service and group["arrivals"]["kind"] == "saturated" for group in groups
    )
    if alike and service["kind"] == "exponential" and service["offset_ps"] == 0:
        return float(service["mean_ps"] / PS_PER_S)
    return None
