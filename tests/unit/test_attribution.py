"""Attribution against a place whose bottleneck is known, because it is a formula."""

import json
from pathlib import Path

import numpy as np
import pytest
from ethermeter.analysis.roofline import read
from ethermeter.bottleneck import attribute, load, transfers
from ethermeter.bottleneck.bench import Outcome
from ethermeter.bottleneck.setup import Setup

ROUND_TRIP_S = 100e-6
"""Of a path without delay."""


class Formula:
    """A place where the slowest stage has all of it, and a turn-around takes its time in addition.

    Parameters
    ----------
    spread
        Relative deviation from one transfer to the next.

    """

    means = "a formula"

    def __init__(self, spread: float) -> None:
        self.random = np.random.default_rng(1)
        self.spread = spread
        self.transfers = 0

    def run(self, setup: Setup) -> Outcome:
        self.transfers += 1
        data = setup.segment_octets - 12
        round_trip_s = ROUND_TRIP_S + 2 * setup.delay_ns * 1e-9
        ceilings = [
            float(setup.wire_bps or 1e10) * data / (setup.segment_octets + 78),
            float(setup.source_bps or 1e10),
            8 * (setup.receive_octets or 1e9) / round_trip_s * setup.connections,
            8e9 * data / setup.frame_ns if setup.frame_ns else 1e10,
            # A loss halves what is under way: three quarters of the room in the mean.
            0.75 * 8 * setup.room_frames * data / round_trip_s,
        ]
        for end in (setup.sender, setup.receiver):
            ceilings.append(
                8e12 * (end.processor or 1) / end.work_ps_per_octet
                if end.work_ps_per_octet
                else 1e10
            )
        throughput = min(ceilings)
        if setup.turn_around_ns:
            throughput = 1 / (
                1 / throughput
                + setup.turn_around_ns * 1e-9 / (8 * setup.block_octets * setup.connections)
            )
        throughput *= float(np.exp(self.spread * self.random.standard_normal()))
        shares = [
            throughput / 8e12 * max(end.work_ps_per_octet, 100)
            for end in (setup.sender, setup.receiver)
        ]
        return Outcome(throughput, 0, round_trip_s, *shares)


@pytest.mark.parametrize("name", list(transfers()))
def test_every_planted_bottleneck_is_named_where_it_is_the_only_one(name: str) -> None:
    document = load(name)
    found = attribute(document, Formula(0.02), repetitions=5)
    assert found.verdict.bottleneck == document.planted
    # All that is needed is tried, and no more: one look.
    assert len(found.unchanged) == 5
    assert len(found.order) == 5 * (1 + len(found.changes))


@pytest.mark.parametrize("name", list(transfers()))
def test_no_roofline_lies_below_what_was_achieved(name: str) -> None:
    found = attribute(load(name), Formula(0.0), repetitions=3).roofline()
    assert found.margin is not None
    # The window is taken over the round trip as it was, and processors from the time that was
    # measured: both to rounding.
    assert found.margin > 1 - 1e-9


def test_what_is_undecided_is_tried_three_times_as_long_and_no_longer() -> None:
    place = Formula(1.0)
    found = attribute(load("wire"), place, repetitions=3)
    assert found.verdict.bottleneck is None
    assert len(found.unchanged) == 9
    # One more, to warm up.
    assert place.transfers == 1 + len(found.order)


def test_every_change_and_the_unchanged_transfer_run_once_in_each_round_in_an_order_of_the_seed() -> (
    None
):
    document = load("wire")
    one, again, other = (
        attribute(document, Formula(0.02), seed=seed, repetitions=4).order for seed in (1, 1, 2)
    )
    size = len(set(one))
    rounds = [one[at : at + size] for at in range(0, len(one), size)]
    assert all(set(each) == set(one) for each in rounds)
    assert len(set(rounds)) > 1
    assert one == again != other


def test_progress_ends_with_all_transfers_done() -> None:
    told: list[tuple[int, int]] = []
    attribute(
        load("wire"), Formula(0.02), repetitions=3, tell=lambda done, of: told.append((done, of))
    )
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]


def test_the_result_is_json_with_every_sample_and_a_roofline_that_reads_back(
    tmp_path: Path,
) -> None:
    found = attribute(load("receiver-window"), Formula(0.02), repetitions=3)
    written = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert all(len(change["samples"]) == written["rounds"] for change in written["changes"])
    assert read(written["roofline"], file="f") == found.roofline()


def test_a_faster_wire_is_no_bottleneck_before_the_window() -> None:
    document = load("receiver-window")
    wire = document.wire.model_copy(
        update={"rate": document.wire.rate * 10 if document.wire.rate else None}
    )
    found = attribute(document.model_copy(update={"wire": wire}), Formula(0.02), repetitions=5)
    assert found.verdict.bottleneck == "window"
