"""Questions of users in their words and files: few commands, and the right answer by hand."""

import json
import shutil
from pathlib import Path

import captures
import ethermeter as em
import openpyxl
import pytest
from documents import ROOT, shell
from sites import SITE


def first_sentence(answer: str) -> str:
    """Return the first paragraph of an answer in one line."""
    return " ".join(answer.split("\nflows ")[0].split())


def test_does_it_fit(tmp_path: Path) -> None:
    # One command. Each camera puts 1538 octets on the wire in 2 ms, 6.152 Mb/s; each call 238 in
    # 20 ms, 0.0952 Mb/s: 15 cameras and 30 calls are 95.1 Mb/s, with a backup of 32 127.1.
    (tmp_path / "site.toml").write_text(SITE.format(cameras=15), encoding="utf-8")
    answer = first_sentence(shell("ethermeter run site.toml --no-report", cwd=tmp_path))
    assert answer.startswith(
        "Does not fit: wire floor → core is offered 127.1 Mb/s of 100 (cameras 92.3, backups 32, "
        "calls 2.86); its queue"
    )
    assert "full at 0.7866 times this load" in answer
    # With 9 cameras 90.2 Mb/s: of 100 there is room for 1.17 times as many cameras.
    (tmp_path / "site.toml").write_text(SITE.format(cameras=9), encoding="utf-8")
    answer = shell("ethermeter run site.toml --no-report", cwd=tmp_path)
    assert first_sentence(answer).startswith(
        "Fits: wire floor → core is offered 90.22 Mb/s of 100 (cameras 55.4, backups 32, calls "
        "2.86); full at 1.108 times this load."
    )
    (row,) = [line.split() for line in answer.splitlines() if line.startswith("cameras  ")][:1]
    assert row[:4] == ["cameras", "9", "55.4", "1.18"]


def test_forty_messages_with_margins_in_a_spreadsheet(tmp_path: Path) -> None:
    # Two commands, of a table of messages that a designer has.
    for name in ("forty-messages.toml", "forty-messages.csv"):
        shutil.copy(ROOT / "examples" / "messages" / name, tmp_path / name)
    short = """--set 'phases.transmit="0.2 s"' --set phases.measure=all"""
    shell(f"ethermeter run forty-messages.toml --no-report --out bus {short}", cwd=tmp_path)
    shell("ethermeter report bus --tables margins.xlsx", cwd=tmp_path)
    head, *rows = openpyxl.load_workbook(tmp_path / "margins.xlsx")["bounds"].iter_rows(
        values_only=True
    )
    found = {row[head.index("flow")]: dict(zip(head, row, strict=True)) for row in rows}
    assert len(found) == 40
    row = found["engine_speed"]
    assert row["deadline (µs)"] == 2000
    for each in found.values():
        assert each["margin (µs)"] == pytest.approx(each["deadline (µs)"] - each["bound (µs)"])
        # A frame of 64 octets with preamble takes 57.6 µs of 10 Mb/s; none is ever faster.
        assert each["bound (µs)"] >= 57.6


def test_two_designs_are_compared_by_flow(tmp_path: Path) -> None:
    # Three commands: with one queue a port calls wait behind backups, with classes before them.
    for name, classes in (("one", 1), ("eight", 8)):
        shell(
            f"ethermeter run office --set network.classes={classes} --set vary={{}} --no-report"
            f""" --set 'run.engines=["simulation"]' --out {name}""",
            cwd=tmp_path,
        )
    rows = json.loads(shell("ethermeter compare one eight --json", cwd=tmp_path))
    of_call = [
        row
        for row in rows
        if row["metric"] == "one_way_delay" and row["point"].get("flow") == "call"
    ]
    ((first, second),) = [(row["a"], row["b"]) for row in of_call]
    # Two wires of 100 Mb/s take 2 x 19.36 µs of 242 octets, the third 1.94 and the gap less; a
    # frame of 1542 octets that has begun, with a probability of 0.92, 61.7 µs more in the mean.
    by_hand_s = 2 * 242 * 0.08e-6 + 242 * 0.008e-6 + 0.924 * 0.5 * 1542 * 0.08e-6
    assert second == pytest.approx(by_hand_s, rel=0.1)
    assert second < first / 3


def test_what_limits_this_copy(tmp_path: Path) -> None:
    # One command. A window of 115 x 128 octets and a round trip of 10 ms are 1.47 MB/s at most.
    (tmp_path / "copy.pcap").write_bytes(captures.rounds(20, window=115))
    answer = " ".join(shell("ethermeter explain copy.pcap", cwd=tmp_path).split())
    assert "receiver's window" in answer
    found = json.loads(shell("ethermeter explain copy.pcap --json", cwd=tmp_path))
    (connection,) = found["connections"]
    assert connection["limited"]["by"] == "receiver-window"


def test_the_figure_of_a_lecture_from_a_notebook_to_a_pdf(tmp_path: Path) -> None:
    # Three lines of a notebook.
    short = {
        "phases.transmit": "60 ms",
        "phases.measure": "last 50 ms",
        "run.replications": 2,
    }
    run = em.load("myths/saturated", overrides=short).run(out=tmp_path / "run")
    figure = run.plot("utilisation", title="Does an Ethernet saturate at 37%?")
    file = figure.save(tmp_path / "figure.pdf")
    assert Path(file).read_bytes()[:5] == b"%PDF-"
    # 64 stations with frames of 1518 octets: far above 37%.
    assert run.frame("utilisation", library="arrow").num_rows > 0
    values = run.frame("utilisation", library="arrow")["value"].to_pylist()
    assert max(values) > 0.9
