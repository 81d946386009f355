"""Benchmarks that need network namespaces: one round of each, with all tables."""

import json

import pytest

from benches import segments
from benches.emulation.__main__ import main as emulated
from benches.live.__main__ import TABLES, measure
from benches.live.pacing import PACED
from benches.live.tables import print_results

pytestmark = [pytest.mark.root, pytest.mark.long]


def test_live_stations_beside_their_peers(station, capsys):
    results = measure(station, rounds=1, follow=lambda step: None)
    rows = [row for table in TABLES for row in results[table]]
    # Of a peer that is missing here, ours is measured.
    assert [
        row["status"] for row in rows if row["status"] not in ("measured", "not installed")
    ] == []
    assert all(row["ours"] for row in rows)
    assert [len(results[table]) for table in TABLES] == [3, 3, 1 + len(PACED), 2]
    print_results(results)
    shown = capsys.readouterr().out
    assert all(row["what"] in shown for row in rows)


def test_relays_of_emulated_segments(capsys, unless_held_up):
    is_measured = segments.main(["--transmit-ms", "100", "--hosts", "2", "--json"]) == 0
    said = capsys.readouterr()
    unless_held_up(is_measured, said.err)
    results = json.loads(said.out)
    assert [row["name"] for row in results["segments"]] == [row.name for row in segments.ROWS]
    assert all(row["frames_per_s"] > 0 for row in results["segments"])
    segments.print_results(results)
    assert "CSMA/CD 10 Mb/s" in capsys.readouterr().out


def test_emulated_segments_beside_simulated_ones(capsys):
    words = ["--quick", "--hosts", "2", "--octets", "64", "--arrivals", "saturated"]
    # 1 if they differ: that a host was late, on a machine that others use, is no failure here.
    assert emulated([*words, "--json"]) in (0, 1)
    said = capsys.readouterr()
    assert len(json.loads(said.out)["points"]) == 1, said.err
