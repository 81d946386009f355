"""Captures of a run: their index is read whole or refused, and the report links to each."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ethermeter.faults import InputError
from ethermeter.report.render import render_table
from ethermeter.report.sections import captures
from ethermeter.store.captures import Captured, account_of, file_of, read

ACCOUNT = {"frames": 12_345, "dropped": 6, "beyond_size": 7, "file_octets": 890_000}


def write(run: Path, trial: str, content: Any) -> None:
    path = run / account_of(trial)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_captures_come_in_the_order_of_trials_and_a_run_without_has_none(tmp_path):
    assert read(tmp_path) == []
    for trial in ("x/00001", "x/00000"):
        write(tmp_path, trial, {"hosts": {"b": ACCOUNT, "a": ACCOUNT}})
    assert [(each.trial, each.host) for each in read(tmp_path)] == [
        ("x/00000", "b"),
        ("x/00000", "a"),
        ("x/00001", "b"),
        ("x/00001", "a"),
    ]
    assert read(tmp_path)[0] == Captured(
        "x/00000", "b", "captures/x/00000-b.pcapng", 12_345, 6, 7, 890_000
    )


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"hosts": 1}',
        '{"hosts": {"a": {}}}',
        '{"hosts": {"a": {"frames": "x"}}}',
        "\x00",
    ],
)
def test_an_account_that_is_none_is_refused_by_its_name(tmp_path, content):
    write(tmp_path, "x/00000", content)
    with pytest.raises(InputError, match=r"captures/x/00000\.json"):
        read(tmp_path)


def test_a_host_of_any_name_has_a_file_within_the_run_and_a_command_that_a_shell_takes():
    for host in ("../../etc", "a b", "<i>", "ü"):
        file = file_of("x/00000", host)
        assert Path(file).parent == Path("captures/x")
        page = render_table(captures.table([Captured("x/00000", host, file, 1, 0, 0, 1)]))
        assert "<i>" not in page
    assert (
        Captured("x/1", "a", "captures/x y/1-a.pcapng", 1, 0, 0, 1).command
        == "ethermeter explain 'captures/x y/1-a.pcapng'"
    )


def test_the_report_says_what_each_capture_lacks():
    found = captures.table(
        [Captured("x/00000", "b", "captures/x/00000-b.pcapng", 12_345, 6, 7, 890_000)]
    )
    page = render_table(found)
    assert 'href="captures/x/00000-b.pcapng"' in page
    cells = [cell for cell in ("12,345", ">6<", ">7<", "0.89 MB") if cell not in page]
    assert not cells
    nothing: Any = SimpleNamespace(captures=[])
    assert captures.build(nothing) is None
