"""Bottleneck search on a bench whose bottleneck is known, because it is a formula."""

import csv
import json
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import ethermeter as em
import pytest
from bottleneck_runs import Formula, search_bottleneck
from ethermeter import find
from ethermeter.analysis.bottleneck import BottleneckAnswer, Outcome
from ethermeter.analysis.roofline import read
from ethermeter.bottleneck import Transfers, load, transfers
from ethermeter.bottleneck.setup import Setup
from ethermeter.execution import Progress, evaluate
from ethermeter.store import RunDirectory
from msgspec import structs
from program import invoke


def answer_of(name: str, directory: Path, spread: float, repetitions: int) -> BottleneckAnswer:
    """Return the answer for a shipped transfer on a bench of this spread."""
    return search_bottleneck(
        load(name), directory, lambda: nullcontext(Formula(spread)), repetitions=repetitions
    )


@pytest.mark.parametrize("name", list(transfers()))
def test_every_planted_bottleneck_is_named_where_it_is_the_only_one(name, tmp_path):
    found = answer_of(name, tmp_path / "run", 0.02, 5)
    assert found.bottleneck == load(name).planted
    # All that is needed is tried, and no more: one look.
    assert found.rounds == len(found.unchanged) == 5
    assert len(found.order) == 5 * (1 + len(found.changes))


@pytest.mark.parametrize("name", list(transfers()))
def test_no_roofline_lies_below_what_was_achieved(name, tmp_path):
    found = answer_of(name, tmp_path / "run", 0.0, 3).path()
    assert found.margin is not None
    # The window is taken over the round trip as it was, and processors from the time that was
    # measured: both to rounding.
    assert found.margin > 1 - 1e-9


def test_what_is_undecided_is_tried_three_times_as_long_and_no_longer(tmp_path):
    bench = Formula(1.0)
    found = search_bottleneck(
        load("wire"), tmp_path / "run", lambda: nullcontext(bench), repetitions=3
    )
    assert found.bottleneck is None
    assert found.rounds == len(found.unchanged) == 9
    # One more, to warm up.
    assert bench.transfers == 1 + len(found.order)


def test_every_change_and_the_unchanged_transfer_run_once_in_each_round_in_an_order_of_the_seed(
    tmp_path,
):
    one, again, other = (
        search_bottleneck(
            load("wire"),
            tmp_path / str(at),
            lambda: nullcontext(Formula(0.02)),
            seed=seed,
            repetitions=4,
        ).order
        for at, seed in enumerate((1, 1, 2))
    )
    size = len(set(one))
    rounds = [one[at : at + size] for at in range(0, len(one), size)]
    assert all(set(each) == set(one) for each in rounds)
    assert len(set(rounds)) > 1
    assert one == again != other


def test_progress_ends_with_all_transfers_done(tmp_path):
    seen: list[Progress] = []
    search_bottleneck(
        load("wire"),
        tmp_path / "run",
        lambda: nullcontext(Formula(0.02)),
        repetitions=3,
        follow=seen.append,
    )
    assert [each.done for each in seen] == sorted(each.done for each in seen)
    assert (seen[-1].done, seen[-1].share) == (seen[-1].trials, 1.0)


def test_the_answer_has_every_sample_and_a_roofline_that_reads_back(tmp_path):
    found = answer_of("receiver-window", tmp_path / "run", 0.02, 3)
    written = json.loads(RunDirectory(tmp_path / "run").answer())
    assert all(len(change["samples"]) == written["rounds"] for change in written["changes"])
    assert read(written["roofline"], file="f") == found.path()


def test_a_faster_wire_is_no_bottleneck_before_the_window(tmp_path):
    document = load("receiver-window")
    rate = document.wire.rate
    wire = structs.replace(document.wire, rate=rate * 10 if rate else None)
    found = search_bottleneck(
        structs.replace(document, wire=wire),
        tmp_path / "run",
        lambda: nullcontext(Formula(0.02)),
        repetitions=5,
    )
    assert found.bottleneck == "window"


class Interrupted(Formula):
    """A bench on which a person presses Ctrl-C in the middle of a transfer.

    Parameters
    ----------
    after
        Transfers that are run before.

    """

    def __init__(self, after: int) -> None:
        super().__init__(0.0)
        self.after = after

    def run(self, setup: Setup) -> Outcome:
        if self.transfers == self.after:
            raise KeyboardInterrupt
        return super().run(setup)


@pytest.mark.parametrize("done", [0, 1, 17])
def test_an_interrupted_search_is_resumed_to_the_same_answer_with_no_trial_run_twice(
    tmp_path, done
):
    # What comes of a transfer depends on its setup alone, so that both runs have the same answer.
    document, whole, rest = load("wire"), Formula(0.0), Formula(0.0)
    wanted = search_bottleneck(document, tmp_path / "whole", lambda: nullcontext(whole))
    with pytest.raises(KeyboardInterrupt):
        search_bottleneck(document, tmp_path / "broken", lambda: nullcontext(Interrupted(1 + done)))
    kept = sorted(tmp_path.glob("broken/live/*/*.json"))
    assert len(kept) == done
    times = [file.stat().st_mtime_ns for file in kept]
    found = search_bottleneck(document, tmp_path / "broken", lambda: nullcontext(rest))
    assert found == wanted
    # Each of both benches is warmed up by one transfer.
    assert done + rest.transfers == whole.transfers == 1 + len(wanted.order)
    assert [file.stat().st_mtime_ns for file in kept] == times
    for name in ("plan.jsonl", "answer.json", "question.json", "experiment.toml"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_search_is_a_run_like_all_others(tmp_path):
    out = tmp_path / "run"
    answer_of("small-frames", out, 0.02, 3)
    assert {"estimates", "report"} <= set(evaluate(out))
    rates = em.open(out).frame("data_rate", by="trial", library="arrow").to_pylist()
    kept = [json.loads(file.read_bytes()) for file in sorted(out.glob("live/*/*.json"))]
    assert [each["value"] for each in rates] == [
        each["transfer"]["outcome"]["throughput_bps"] for each in kept
    ]


def test_in_python_and_as_rows_a_search_has_its_changes(tmp_path, monkeypatch):
    make = partial(Transfers, lambda: nullcontext(Formula(0.02)))
    monkeypatch.setattr("ethermeter.bottleneck.Transfers", make)
    out, figure = tmp_path / "run", tmp_path / "roofline.html"
    found = find.bottleneck("wire", repetitions=3, on="testbed", figure=figure, out=out)
    assert (found.answer.bottleneck, found.run.path, figure.is_file()) == ("wire", out, True)
    words = ("find", "bottleneck", "wire", "repetitions=3", "--on", "testbed", "--out", out)
    printed = json.loads(invoke(*words, "--json").stdout)
    assert printed == json.loads(RunDirectory(out).answer())
    rows = list(csv.DictReader(invoke(*words, "--csv").stdout.splitlines()))
    assert [row["stage"] for row in rows] == [each.stage for each in found.answer.changes]
    assert float(rows[0]["response.low"]) == found.answer.changes[0].response.low
    assert "bottleneck: Wire" in invoke(*words).stdout
    (roofline,) = find.ceilings(roofline=out / "answer.json")
    assert roofline == found.answer.path()
    (told,) = json.loads(
        invoke("find", "ceilings", "--roofline", out / "answer.json", "--json").stdout
    )
    assert told == printed["roofline"]


def test_an_undecided_search_suggests_more_rounds(tmp_path, monkeypatch):
    make = partial(Transfers, lambda: nullcontext(Formula(1.0)))
    monkeypatch.setattr("ethermeter.bottleneck.Transfers", make)
    out = tmp_path / "run"
    words = ("find", "bottleneck", "wire", "repetitions=3", "--on", "testbed", "--out", out)
    shown = " ".join(invoke(*words).stdout.split())
    assert "ethermeter find bottleneck wire --on testbed repetitions=36" in shown
