"""Values of a STAMP session: round trip, loss, one-way delays, jitter."""

import math

import numpy as np

from ethermeter.analysis.samples import exact, merged, ratio
from ethermeter.live_reports import StampMeasurement
from ethermeter.metrics import Caution, Metric
from ethermeter.probing.result import Value, distribution, within
from ethermeter.results.interval import Estimate, Floats

BY = "stamp"
ROUND_TRIP, THERE, BACK = "round-trip", "there", "back"
_CERTAIN = 0.1
"""Bound of the clocks' difference over the smallest one-way delay; beyond, delays are uncertain."""
_SENDER_TTL = 255
_FEWEST = 30
"""Answers from which the format of times is judged."""
_MOST_DRIFT = 1e-3
"""Relative rate of two clocks beyond which one of them is none."""


def values(found: StampMeasurement) -> tuple[list[Value], list[str]]:
    """Return the values of a session and facts about its reflector."""
    times_s = np.array(found.times_ns, np.float64).reshape(-1, 4) / 1e9
    order = np.argsort(np.array(found.sequence, np.int64), kind="stable")
    sent, received, answered, returned = times_s[order].T
    notes = []
    away = answered - received
    # A reflector that waits for nothing between its two times has taken one of them twice.
    if len(order) and not away.any():
        notes.append(
            "the reflector gives one time for arrival and departure (T2 = T3): its own time is in "
            "the round trip"
        )
    if len(order) and max(found.sender_ttl) == 0:
        notes.append("the reflector does not report the TTL of packets")
    elif len(order):
        notes.append(f"routers on the way there: {_SENDER_TTL - min(found.sender_ttl)}")
    if wrong := _fault_of_times(found, sent, received, answered, returned):
        notes.append(f"{wrong}: its times are not used, and its own time is in the round trip")
        away = np.zeros_like(away)
    flow = distribution(ROUND_TRIP, Metric.ROUND_TRIP, returned - sent - away, BY)
    flow.append(Value.made(ROUND_TRIP, Metric.LOSS, _loss(found), BY))
    flow.append(Value.made(ROUND_TRIP, Metric.DUPLICATES, exact(float(found.duplicates)), BY))
    if wrong:
        return flow, notes
    one_way, more = _one_way(found, (sent, received), (answered, returned))
    return flow + one_way, notes + more


def _fault_of_times(
    found: StampMeasurement, sent: Floats, received: Floats, answered: Floats, returned: Floats
) -> str:
    """Say why the times of a reflector cannot be those of arrivals and departures; "" if they can.

    A packet is there between its departure here and the return of its answer, whatever the
    difference of the clocks, which hardly changes within a session.
    """
    if not len(sent):
        return ""
    if len(sent) > 1 and not np.ptp(received) and np.ptp(sent):
        return "the reflector's clock stands still"
    if _has_nanoseconds(found):
        return "the reflector seems to write nanoseconds where fractions of a second belong"
    away, trips = answered - received, returned - sent
    if impossible := int(((away < 0) | (away > trips)).sum()):
        return (
            f"the reflector says that {impossible} of {len(sent)} packets were with it for less "
            "than no time or longer than their round trips"
        )
    if np.ptp(received - sent) > trips.max() + _MOST_DRIFT * np.ptp(sent):
        return "the reflector's clock goes at another rate, or was set during the session"
    return ""


def _has_nanoseconds(found: StampMeasurement) -> bool:
    """Whether the reflector's times show nanoseconds read as parts of 2^-32 s.

    Such times never have more than 10^9 / 2^32 = 0.23 s after a full second. Of right ones in a
    session of more than a second, some have.
    """
    times_ns = np.array(found.times_ns, np.int64).reshape(-1, 4)
    if len(times_ns) < _FEWEST or np.ptp(times_ns[:, 0]) < 10**9:
        return False
    after_ns = (found.epoch_ns + times_ns[:, 1]) % 10**9
    return bool((after_ns <= 10**18 // 2**32 + 1).all())


def _loss(found: StampMeasurement) -> Estimate:
    came = np.zeros(found.sent + found.unsent)
    came[np.array(found.sequence, np.int64)] = 1
    lost = merged(1 - came)
    return within(ratio(lost, merged(np.ones(len(came)))), 0.0, 1.0)


def _one_way(
    found: StampMeasurement, there: tuple[Floats, Floats], back: tuple[Floats, Floats]
) -> tuple[list[Value], list[str]]:
    notes: list[str] = []
    offset_s, bound_s = 0.0, math.nan
    if found.own_error_ns is not None and found.reflector_error_ns is not None:
        bound_s = (found.own_error_ns + found.reflector_error_ns) / 1e9
        notes.append(f"both clocks are synchronised, to {bound_s * 1e6:.0f} µs by their owners")
    if found.clock is not None and not bound_s <= found.clock.uncertainty_ns / 1e9:
        offset_s, bound_s = found.clock.offset_ns / 1e9, found.clock.uncertainty_ns / 1e9
        notes.append(
            f"clocks compared over the path: delays of one direction are within {bound_s * 1e6:.1f}"
            " µs, half of the fastest round trip"
        )
    values = []
    for name, delays in (
        (THERE, there[1] - there[0] - offset_s),
        (BACK, back[1] - back[0] + offset_s),
    ):
        shortest_s = float(delays.min()) if len(delays) else math.nan
        is_certain = bound_s <= _CERTAIN * shortest_s
        cautions = () if is_certain else (Caution.CLOCK_UNCERTAIN,)
        values += distribution(name, Metric.ONE_WAY_DELAY, delays, BY, cautions)
        values.append(Value.made(name, Metric.DELAY_UNCERTAINTY, exact(bound_s), BY))
        values.append(Value.made(name, Metric.JITTER, exact(jitter_s(delays)), BY))
    lost = directions(found)
    if lost is not None:
        for name, (missing, of) in zip((THERE, BACK), lost, strict=True):
            values.append(
                Value.made(name, Metric.LOSS, exact(missing / of if of else math.nan), BY)
            )
        beyond = found.sent - len(found.sequence) - sum(missing for missing, _ in lost)
        if beyond > 0:
            notes.append(
                f"{beyond} of {found.sent} packets were lost before the first answer or after the "
                "last: their direction is not known, and the losses there and back are without them"
            )
    elif found.sent > len(found.sequence):
        notes.append("the direction of losses is not known: the reflector counts no packets")
    return values, notes


def jitter_s(transits_s: Floats) -> float:
    """Return the jitter of RFC 3550, section 6.4.1, of transit times in the order of sending."""
    if len(transits_s) < 2:
        return math.nan
    jitter = 0.0
    for difference in np.abs(np.diff(transits_s)):
        jitter += (float(difference) - jitter) / 16
    return jitter


def directions(found: StampMeasurement) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return packets lost there and back, each of those sent in that direction.

    Only between the first and the last answer; None where the reflector does not number packets
    itself, or where it cannot be told.
    """
    pairs = sorted(zip(found.sequence, found.reflector_sequence, strict=True))
    if len(pairs) < 2:
        return None
    (first, first_answer), (last, last_answer) = pairs[0], pairs[-1]
    sent, reflected = last - first + 1, last_answer - first_answer + 1
    if len(pairs) <= reflected < sent or (reflected == sent == len(pairs)):
        return (sent - reflected, sent), (reflected - len(pairs), reflected)
    return None
