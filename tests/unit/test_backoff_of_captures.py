"""The backoff of stations, from the waits in a capture of their segment."""

import json
from pathlib import Path

import numpy as np
import pytest
from ethermeter.captures import backoff
from ethermeter.captures.backoff import (
    FALSE_ALARM,
    STANDARD,
    Law,
    StationBackoff,
    backoffs,
    constant,
    exponential,
    linear,
)
from ethermeter.captures.counts import SegmentAttempts, StationAttempts
from msgspec.structs import replace as changed
from program import invoke

CAPTURE = Path(__file__).parents[2] / "docs" / "captures" / "segment.pcapng.gz"


def attempts(law: Law, count: int, seed: int) -> StationAttempts:
    """Return attempts of a station: half of its waits are after a first collision.

    Others send in some slots: then the wait is known to the slots of their frame only.
    """
    random = np.random.default_rng(seed)
    collisions = np.minimum(random.geometric(0.5, count), 15)
    slots = (random.random(count) * law.range_of(collisions)).astype(int)
    waits = []
    for before, wait in zip(collisions.tolist(), slots.tolist(), strict=True):
        least = 0
        while (taken := 1 if random.random() < 0.4 else int(random.integers(1, 6))) <= wait - least:
            least += taken
        waits.append((before, least, least + taken - 1, 1))
    return StationAttempts(
        name="station-1",
        attempts=2 * count,
        collisions=count,
        given_up=[(16, 1)],
        waits=waits,
        unexplained=0,
        left_out=0,
    )


def judged(station: StationAttempts, *, is_complete: bool = True, **more: bool) -> StationBackoff:
    segment = SegmentAttempts(
        bit_ps=100_000,
        slot_bits=512,
        has_logical=more.get("has_logical", False),
        stations=[station],
    )
    (found,) = backoffs(segment, is_complete=is_complete)
    return found


def test_of_conforming_stations_one_in_a_hundred_is_said_to_deviate():
    runs = 600
    alarms = sum(
        judged(attempts(STANDARD, backoff.LEAST_WAITS, seed)).verdict == "deviates"
        for seed in range(runs)
    )
    # Binomial with a mean of 6: beyond these ends in fewer than one of a thousand.
    assert FALSE_ALARM * runs == 6
    assert 1 <= alarms <= 15


@pytest.mark.parametrize("law", [linear(10), linear(3), constant(1), constant(8), exponential(2)])
def test_another_law_is_found(law):
    found = judged(attempts(law, 1000, 1))
    assert found.verdict == "deviates"
    assert found.law == law.name
    assert found.given_up == ((16, 1),)


def test_a_wait_that_the_standard_cannot_have_is_enough():
    station = attempts(STANDARD, 200, 3)
    assert judged(station).verdict == "conforms"
    late = changed(station, waits=[*station.waits, (1, 2, 2, 1)])
    assert judged(late).p_value == 0


@pytest.mark.parametrize(
    ("change", "more", "reason"),
    [
        ({"waits": [(1, 0, 0, 99)]}, {}, "99 waits after collisions, expected 100 or more"),
        ({"unexplained": 11}, {}, "11 waits are no whole slots"),
        ({}, {"is_complete": False}, "the capture lacks attempts"),
        ({}, {"has_logical": True}, "MACs get collision signals from PLCA"),
    ],
)
def test_nothing_is_said_where_it_cannot_be_known(change, more, reason):
    found = judged(changed(attempts(linear(10), 200, 1), **change), **more)
    assert (found.verdict, found.p_value, found.law) == ("undecided", None, None)
    assert found.reason.startswith(reason)


def test_the_capture_of_the_how_to_has_one_station_with_linear_backoff():
    found = json.loads(invoke("explain", CAPTURE, "--json").stdout)["backoffs"]
    verdicts = {station["name"]: station["verdict"] for station in found}
    assert verdicts == {
        **{f"station-{number}": "conforms" for number in range(1, 5)},
        "station-5": "deviates",
    }
    assert found[-1]["law"] == "linear (limit 10)"
    table = invoke("explain", CAPTURE).stdout
    assert "a station deviates if p < 0.01" in " ".join(table.split())
