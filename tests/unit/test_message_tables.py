"""Message tables: rows are flows, whatever wrote the file; faults name file, row and column."""

import csv
import io
import json
import string
import time
import tomllib
import zipfile
from datetime import date
from pathlib import Path

import ethermeter as em
import openpyxl
import pytest
from ethermeter.experiment import load
from ethermeter.experiment.message_tables import COLUMNS, MOST_FLOWS
from ethermeter.experiment.reading import of_document
from ethermeter.experiment.sheets import DELIMITERS, csv_rows, decoded, delimiter_of, read_sheet
from ethermeter.faults import InputError
from ethermeter.plan import expand
from faults_at import faults_of
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
FORTY = ROOT / "examples" / "messages" / "forty-messages.toml"
LONG = Path(__file__).with_name("forty_messages.toml")
HEAD = "name,from,to,size,period\n"
REST = {"title": "t", "network": {"rate": "100 Mb/s"}}


def written(folder, text, flows="m.csv", *, encoding="utf-8", **tables):
    """Return the experiment of a message table, and of other tables of a file."""
    data = text if isinstance(text, bytes) else text.encode(encoding)
    (folder / "m.csv").write_bytes(data)
    document = {**REST, "flows": flows, **tables}
    return load(em.network().changed(None, **document).save(folder / "x.toml"))


def flows_in(folder, text, flows="m.csv", **keys):
    """Return the flows of a message table as a file would have them."""
    return written(folder, text, flows, **keys).document["flows"]


# The shipped example.


def test_forty_messages_need_few_lines_beside_their_table():
    lines = [line for line in FORTY.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 15
    assert len(load(FORTY).document["flows"]) == 40
    assert len(LONG.read_text(encoding="utf-8").splitlines()) > 300


def test_a_table_is_the_same_experiment_as_the_flows_written_by_hand():
    short, long = (expand([load(path)]).trials for path in (FORTY, LONG))
    assert len(long) == 3
    assert [trial.line for trial in short] == [trial.line for trial in long], "seeds, too"
    again = load(LONG).document
    assert load(FORTY).document["flows"] == again["flows"]


def test_values_of_a_table_are_those_of_the_flows_written_by_hand():
    overrides = ["phases.transmit=200 ms", "phases.measure=all"]
    short, long = (
        next(em.simulate(path, overrides=overrides).points(engine="simulation"))
        for path in (FORTY, LONG)
    )
    for metric in ("messages", "one_way_delay_max", "overdue", "deadline_margin", "utilisation"):
        assert [*short.values(metric)] == pytest.approx([*long.values(metric)], rel=0, nan_ok=True)


# What a cell may have.


def test_each_column_is_a_key_of_a_flow(tmp_path):
    text = (
        "name,from,to,size,period,jitter,phase,priority,deadline,mtu,response.think\n"
        "m,a,b,64 B,10 ms,1 ms,random,3,5 ms,1 kB,1 us\n"
    )
    entry = [{"table": "m.csv", "response": {"timeout": "9 ms"}}]
    (flow,) = flows_in(
        tmp_path, text.replace("size", "data"), entry, network=_network_with_classes()
    )
    assert flow == {
        "name": "m",
        "from": "a",
        "to": "b",
        "data": "64 B",
        "arrivals": {"regular": "10 ms", "jitter": "1 ms", "phase": "random"},
        "priority": 3,
        "deadline": "5 ms",
        "mtu": "1 kB",
        "response": {"timeout": "9 ms", "think": "1 us"},
    }


def _network_with_classes():
    return {"rate": "100 Mb/s", "classes": 8}


def test_every_short_column_names_a_key_of_a_flow():
    from ethermeter.experiment.message_tables import _known, _reader, _words

    assert all(_reader(key) is not None for key, _ in COLUMNS.values())
    assert all(_words(word) == word for word in _known())


@pytest.mark.parametrize(
    ("heading", "cell", "expected"),
    [
        ("size [B]", "64", "64 B"),
        ("Size (octets)", "64", "64 B"),
        ("SIZE / kB", "1", "1 kB"),
        ("size_B", "64", "64 B"),
        ("Frame\nlength\n[byte]", "64", "64 B"),
        ("size", "64 bytes", "64 B"),
        ("size [B]", "64 B", "64 B"),
        ("size [B]", "64 octets", "64 B"),
        ("size", "64 B x 7 + 1518 B x 1", "64 B x 7 + 1518 B x 1"),
        ("size [B]", "64 B x 7 + 1518 B x 1", "64 B x 7 + 1518 B x 1"),
        ("size [B]", " 64 ", "64 B"),
        ("size in B", "1e3", "1e3 B"),
    ],
)
def test_units_stand_in_the_heading_or_in_the_cell(tmp_path, heading, cell, expected):
    text = io.StringIO()
    csv.writer(text).writerows([["from", "to", "period", heading], ["a", "b", "1 ms", cell]])
    (flow,) = flows_in(tmp_path, text.getvalue())
    assert flow["frames"] == expected


@pytest.mark.parametrize("between", [", ", ";", " | ", "\n", "/"])
def test_several_receivers_of_a_cell_are_one_multicast(tmp_path, between):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([HEAD.strip().split(","), ["m", "a", f"b{between}c", "64 B", "1 ms"]])
    (flow,) = flows_in(tmp_path, text.getvalue())
    assert (flow["to"], flow["cast"]) == (["b", "c"], "multicast")
    (flow,) = flows_in(tmp_path, text.getvalue(), [{"table": "m.csv", "cast": "broadcast"}])
    assert flow["cast"] == "broadcast"


def test_blank_cells_are_not_given_and_other_keys_hold_for_all_rows(tmp_path):
    text = "name,from,to,size,period,priority\nm,a,b,,1 ms,\nn,a,b,99 B,,5\n,,,,,\n"
    shared = {"frames": "64 B", "arrivals": {"phase": "0 s", "regular": "7 ms"}, "priority": 1}
    flows = flows_in(
        tmp_path, text, [{"table": "m.csv", **shared}], network=_network_with_classes()
    )
    assert [flow["frames"] for flow in flows] == ["64 B", "99 B"]
    assert [flow["priority"] for flow in flows] == [1, 5]
    assert [flow["arrivals"]["regular"] for flow in flows] == ["1 ms", "7 ms"]
    assert {flow["arrivals"]["phase"] for flow in flows} == {"0 s"}


def test_other_headings_are_named_in_the_file(tmp_path):
    text = (
        '#;Botschaft;"Sender ";Empfänger;Nutzdaten (byte);Zykluszeit [ms];Kommentar\n'
        "1;m;a;b;8;2,5;völlig frei\n"
    )
    columns = {"name": "botschaft", "to": "Empfänger", "data": "Nutzdaten (byte)"}
    columns["period"] = "Zykluszeit"
    entry = [{"table": "m.csv", "columns": columns, "ignore": ["*"]}]
    for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16"):
        (flow,) = flows_in(tmp_path, text, entry, encoding=encoding)
        assert flow == {
            "name": "m",
            "from": "a",
            "to": "b",
            "data": "8 B",
            "arrivals": {"regular": "2.5 ms"},
        }


def test_tables_stand_beside_each_other_and_beside_flows(tmp_path):
    (tmp_path / "n.csv").write_text(HEAD + "n,a,b,64 B,1 ms\n", encoding="utf-8")
    alone = {"name": "o", "from": "b", "to": "a", "frames": "64 B", "arrivals": "saturated"}
    text = HEAD + "m,a,b,64 B,1 ms\n"
    read = written(tmp_path, text, ["m.csv", alone, {"table": "n.csv"}])
    assert [flow["name"] for flow in read.document["flows"]] == ["m", "o", "n"]
    (one, other) = (read.written.tables[name] for name in ("m.csv", "n.csv"))
    assert one != other
    only = written(tmp_path, text, {"table": "m.csv"})
    assert [flow["name"] for flow in only.document["flows"]] == ["m"]


def test_rows_are_varied_and_overridden_by_their_names(tmp_path):
    text = HEAD + "m,a,b,64 B,1 ms\nn,b,a,64 B,1 ms\n"
    written(tmp_path, text, vary={"flows.n.frames": ["64 B", "99 B"]})
    read = load(tmp_path / "x.toml", overrides=["flows.m.arrivals.regular=5 ms"])
    assert read.document["flows"][0]["arrivals"] == {"regular": "5 ms"}
    assert [trial.point for trial in expand([read]).trials] == [
        {"flows.n.frames": "64 B"},
        {"flows.n.frames": "99 B"},
    ]
    (tmp_path / "other.csv").write_text(HEAD + "k,c,d,64 B,1 ms\nn,d,c,64 B,1 ms\n")
    other = load(tmp_path / "x.toml", overrides=["flows=other.csv"])
    assert [flow["name"] for flow in other.document["flows"]] == ["k", "n"]


def test_a_run_keeps_what_its_table_said(tmp_path):
    read = written(tmp_path, HEAD + "m,a,b,64 B,1 ms\n", phases={"transmit": "10 ms"})
    run = em.load(tmp_path / "x.toml").run(out=tmp_path / "run")
    kept = (run.path / "experiment.toml").read_text(encoding="utf-8")
    assert tomllib.loads(kept) == read.document
    (tmp_path / "m.csv").unlink()
    again = em.load(run.path / "experiment.toml", overrides=['series="x"'])
    assert again.plan().trials == em.Loaded((read,)).plan().trials
    provenance = json.loads((run.path / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["tables"] == dict(read.written.tables)


# Spreadsheets.


def workbook(path, rows, name="Sheet1"):
    """Write a spreadsheet with one sheet behind an empty one."""
    book = openpyxl.Workbook()
    book.active.title = "notes"
    sheet = book.create_sheet(name)
    for row in rows:
        sheet.append(row)
    book.save(path)


ENTRY = {"table": "m.xlsx", "sheet": "Bus"}


def test_a_sheet_of_a_spreadsheet_is_read(tmp_path):
    head = ["Message", "Sender", "Receivers", "Size [B]", "Cycle time [ms]", "Priority"]
    rows = [[None] * 6, head, ["m", "a", "b", 64, 0.1 + 0.2, 3.0], ["n", "a", "b", "96", "1", None]]
    workbook(tmp_path / "m.xlsx", rows, "Bus")
    document = {"network": _network_with_classes()}
    flows = flows_in(tmp_path, "", [ENTRY], **document)
    assert [flow["frames"] for flow in flows] == ["64 B", "96 B"]
    assert [flow["arrivals"]["regular"] for flow in flows] == ["0.3 ms", "1 ms"]
    assert flows[0]["priority"] == 3
    assert "priority" not in flows[1]


def test_dates_and_formulas_without_a_value_are_faults_unless_they_are_ignored(tmp_path):
    rows = [["from", "to", "size", "period", "Since"], ["a", "b", "=8*8", "1 ms", date(2026, 1, 2)]]
    rows.append(["a", "b", date(2026, 1, 2), "1 ms", None])
    workbook(tmp_path / "m.xlsx", rows, "Bus")
    entry = [{**ENTRY, "ignore": ["Since"]}]
    faults = faults_of(lambda: written(tmp_path, "", entry))
    assert [(fault.file, fault.key) for fault in faults] == [
        ("m.xlsx", "row 2, size"),
        ("m.xlsx", "row 3, size"),
    ]
    assert "stored" in faults[0].allowed
    assert "format of a date" in faults[1].allowed
    assert faults[0].value == '"=8*8"'


def test_a_formula_has_the_value_that_is_stored_with_it(tmp_path):
    rows = [["from", "to", "size [B]", "period"], ["a", "b", "=8*8", "1 ms"]]
    workbook(tmp_path / "plain.xlsx", rows, "Bus")
    with (
        zipfile.ZipFile(tmp_path / "plain.xlsx") as plain,
        zipfile.ZipFile(tmp_path / "m.xlsx", "w") as stored,
    ):
        for entry in plain.infolist():
            data = plain.read(entry)
            changed = data.replace(b"<f>8*8</f><v></v>", b"<f>8*8</f><v>64</v>")
            changed = changed.replace(b"<f>8*8</f><v />", b"<f>8*8</f><v>64</v>")
            stored.writestr(entry, changed)
    (flow,) = flows_in(tmp_path, "", [ENTRY])
    assert flow["frames"] == "64 B"


@pytest.mark.parametrize(
    ("data", "allowed"),
    [
        (b"PK\x03\x04 damaged", "that spreadsheet programs open"),
        (bytes.fromhex("d0cf11e0a1b11ae1"), "save it as one of these"),
    ],
)
def test_what_is_no_spreadsheet_is_refused(tmp_path, data, allowed):
    (tmp_path / "m.xlsx").write_bytes(data)
    (fault,) = faults_of(lambda: written(tmp_path, "", [{"table": "m.xlsx"}]))
    assert (fault.file, fault.key) == ("m.xlsx", "(file)")
    assert allowed in fault.allowed


def test_a_sheet_that_is_not_there_is_refused(tmp_path):
    workbook(tmp_path / "m.xlsx", [["from"]], "Buss")
    (fault,) = faults_of(lambda: written(tmp_path, "", [ENTRY]))
    assert "did you mean Buss?" in fault.allowed
    (fault,) = faults_of(lambda: written(tmp_path, HEAD, [{"table": "m.csv", "sheet": "Bus"}]))
    assert "where a sheet is named" in fault.allowed


# Faults.

ROW = "m,a,b,64 B,1 ms\n"
FAULTS = {
    "misspelt": ("name,from,to,size,perod\n" + ROW, "row 1", "did you mean period?"),
    "other column": ("name,from,to,size,colour\n" + ROW, "row 1", "columns and ignore of flows"),
    "heading twice": ("name,from,to,size,period,sender\n" + ROW, "row 1", "one column for from"),
    "no receivers": ("name,from,size,period\nm,a,64 B,1 ms\n", "row 1", 'a column "to"'),
    "unit of nothing": ("name,from,to,size [x],period\n" + ROW, "row 1", "a unit in the heading"),
    "two units": ("name,from,to,size,period [us]\n" + ROW, "row 2, period [us]", "expected us"),
    "no unit": (HEAD + "m,a,b,64,1 ms\n", "row 2, size", "the unit is missing"),
    "other dimension": (HEAD + "m,a,b,1 ms,1 ms\n", "row 2, size", "not a time"),
    "unknown unit": (HEAD + "m,a,b,64 X,1 ms\n", "row 2, size", "unknown unit X"),
    "thousands": (HEAD + 'm,a,b,"1,500 B",1 ms\n', "row 2, size", "1500 or 1.500"),
    "both marks": (
        "name;from;to;size;period\nm;a;b;1.500 B;0,5 ms\n",
        "row 2, size",
        "expected a decimal comma",
    ),
    "name twice": (HEAD + ROW + ROW, "row 3, name", "that no flow before has"),
    "no name": (HEAD + "1m,a,b,64 B,1 ms\n", "row 2, name", "expected a letter"),
    "no host": (HEAD + "m,a b,b,64 B,1 ms\n", "row 2, from", "expected a letter"),
    "itself": (HEAD + "m,a,a,64 B,1 ms\n", "row 2, to", "another host"),
    "no sender": (HEAD + "m,,b,64 B,1 ms\n", "row 2, from", "required"),
    "no period": (HEAD + "m,a,b,64 B,\n", "row 2, period", "required"),
    "jitter alone": (
        "name,from,to,size,jitter\nm,a,b,64 B,1 ms\n",
        "row 2, jitter",
        "{ regular = ",
    ),
    "long jitter": (
        "name,from,to,size,period,jitter\nm,a,b,64 B,1 ms,2 ms\n",
        "row 2, jitter",
        "to below regular",
    ),
    "priority": ("name,from,to,size,period,pcp\nm,a,b,64 B,1 ms,9\n", "row 2, pcp", "at most 7"),
    "more cells": (HEAD + "m,a,b,64 B,1 ms,x\n", "row 2", "no heading above it"),
    "quotes": (HEAD + 'm,a,"b"c,64 B,1 ms\n', "(file)", "doubled within it"),
    "a huge cell": (HEAD + f"m,a,{'b' * 200_000},64 B,1 ms\n", "(file)", "quotes"),
    "headings alone": (HEAD, "(file)", "a row for each flow"),
    "empty": ("", "(file)", "a row of headings"),
    "blank": (" \n\n,,\n", "(file)", "a row of headings"),
    "binary": (b"\0\1\2", "(file)", "a CSV file, or a spreadsheet"),
    "torn UTF-16": (b"\xff\xfea", "(file)", "a CSV file, or a spreadsheet"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_file_row_and_column(tmp_path, name):
    text, key, allowed = FAULTS[name]
    faults = faults_of(lambda: written(tmp_path, text))
    assert any(allowed in fault.allowed for fault in faults if fault.key == key), [
        *map(str, faults)
    ]
    assert faults[0].file == "m.csv"
    assert len(faults) == 1, [*map(str, faults)]


def test_all_faults_of_a_table_and_of_its_file_are_found_together(tmp_path):
    text = HEAD + "m,a,b,64,1 ms\nn,a,b,64 B,0 ms\nm,,b,64 B,1 ms\n"
    alone = {"name": "o", "from": "a", "to": "b", "frames": "64 B", "arrivals": {"regular": 5}}
    faults = faults_of(
        lambda: written(tmp_path, text, ["m.csv", alone], seed=-1, phases={"settle": 1})
    )
    assert {(Path(fault.file).name, fault.key) for fault in faults} == {
        ("m.csv", "row 2, size"),
        ("m.csv", "row 3, period"),
        ("m.csv", "row 4, from"),
        ("m.csv", "row 4, name"),
        ("x.toml", "flows.1.arrivals.regular"),
        ("x.toml", "seed"),
        ("x.toml", "phases.settle"),
    }


def test_a_table_that_cannot_be_read_hides_no_fault_elsewhere(tmp_path):
    faults = faults_of(lambda: written(tmp_path, "", "none.csv", seed=-1))
    assert {(Path(fault.file).name, fault.key) for fault in faults} == {
        ("none.csv", "(file)"),
        ("x.toml", "seed"),
    }


@pytest.mark.parametrize(
    ("entry", "key", "allowed"),
    [
        ({"columns": {"sise": "size"}}, "flows.0.columns.sise", "did you mean size?"),
        ({"columns": {"size": "Lenght"}}, "flows.0.columns.size", "a heading of m.csv"),
        ({"sheets": "a"}, "flows.0.sheets", "did you mean sheet?"),
        ({"cast": "multcast"}, "flows.0.cast", '"multicast"'),
        ({"table": 5}, "flows.0.table", "a text"),
    ],
)
def test_faults_of_the_entry_of_a_table_have_its_keys(tmp_path, entry, key, allowed):
    faults = faults_of(lambda: written(tmp_path, HEAD + ROW, [{"table": "m.csv", **entry}]))
    assert [fault.key for fault in faults] == [key]
    assert allowed in faults[0].allowed


def test_a_fault_of_the_core_has_its_row(tmp_path):
    text = HEAD.strip() + ",deadline\n" + "m,a,b,64 B,1 ms,1 ms\n"
    segment = {"name": "bus", "standard": "10base-t1s", "length": "5 m", "plca": {}}
    faults = faults_of(
        lambda: written(tmp_path, text.replace("64 B", "4 B"), network={"segments": [segment]})
    )
    assert {fault.key for fault in faults} == {"row 2, size"}


def test_a_varied_value_that_does_not_fit_has_its_row_and_its_point(tmp_path):
    faults = faults_of(
        lambda: written(tmp_path, HEAD + ROW, vary={"flows.m.frames": ["64 B", "4 B"]})
    )
    assert {fault.key for fault in faults} == {"row 2, size"}
    assert "with flows.m.frames = 4 B" in faults[0].allowed


def test_very_many_rows_are_refused_at_once(tmp_path):
    rows = "".join(f"m{number},a,b,64 B,1 ms\n" for number in range(100_000))
    begin_s = time.process_time()
    (fault,) = faults_of(lambda: written(tmp_path, HEAD + rows))
    assert f"at most {MOST_FLOWS + 1}" in fault.allowed
    assert time.process_time() - begin_s < 10


# Any file.

CELLS = st.text(string.printable + "äµ€;\t|\"'", max_size=8)
TEXTS = st.lists(st.lists(CELLS, min_size=1, max_size=6), max_size=6)


@given(
    rows=TEXTS,
    delimiter=st.sampled_from(DELIMITERS),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    says=st.booleans(),
)
@example(
    rows=[["a\r\nb", 'c"d'], [""], ["x"]],
    delimiter=";",
    quoting=csv.QUOTE_MINIMAL,
    end="\r\n",
    encoding="utf-8-sig",
    says=True,
)
def test_any_table_that_the_csv_module_writes_reads_back(
    rows, delimiter, quoting, end, encoding, says
):
    # The module leaves such a break without quotes, and does not read it back.
    bare = quoting == csv.QUOTE_MINIMAL and len(end) == 1
    assume(not (bare and any({"\r", "\n"} - {end} & set(cell) for row in rows for cell in row)))
    columns = ["name", "from", "to", "size"]
    text = io.StringIO(newline="")
    if says:
        text.write(f"sep={delimiter}{end if end != chr(13) else chr(10)}")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerows([columns, *rows])

    def wrong(value, allowed):
        raise AssertionError((value, allowed))

    again = decoded(text.getvalue().encode(encoding), wrong)
    found, is_said = delimiter_of(again, lambda cells: sum(cell in columns for cell in cells))
    assert (found, is_said) == (delimiter, says)
    read = [cells for _, cells in csv_rows(again, found, wrong)][says:]
    assert read == [columns, *rows]


def is_read_or_refused(read):
    """Read something, which may be refused: in printable lines."""
    try:
        read()
    except InputError as error:
        text = str(error)
    else:
        text = ""
    assert text.replace("\n", "").isprintable()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@example(b"PK\x03\x04")
@example(b"sep=\n")
@example(b"name,from,to\n\xff\xfe")
def test_no_bytes_give_a_traceback(tmp_path, data):
    is_read_or_refused(lambda: written(tmp_path, data))


VALUES = st.sampled_from(
    [
        "",
        "a",
        "b c",
        "64",
        "64 B",
        "1,5",
        "1.5",
        "1e9 ms",
        "-1",
        "{",
        "{a=1}",
        "[[",
        "[1,[2]]",
        "9" * 40,
    ]
) | st.text(max_size=6)
HEADINGS = st.sampled_from(
    [
        *COLUMNS,
        *("arrivals", "arrivals.poisson", "arrivals.coder.codec", "frames", "transfer", "response"),
        *("response.think", "queue", "cast", "size [B]", "period [ms]", "x", "", "from/to", "a.b"),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    headings=st.lists(HEADINGS, min_size=1, max_size=6),
    rows=st.lists(st.lists(VALUES, max_size=7), max_size=3),
    ignore=st.sampled_from([[], ["*"]]),
)
def test_no_cells_give_a_traceback(tmp_path, headings, rows, ignore):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["from", "to", *headings], *(["a", "b", *row] for row in rows)])
    entry = [{"table": "m.csv", "ignore": ignore}]
    is_read_or_refused(lambda: written(tmp_path, text.getvalue(), entry))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    flows=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just("m.csv"),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["table", "sheet", "columns", "ignore", "from", "to", "name"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=6,
    ),
    network=st.recursive(
        st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["hosts", "links", "switches", "segments", "name", "ends"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    ),
)
def test_no_tables_around_them_give_a_traceback(tmp_path, flows, network):
    (tmp_path / "m.csv").write_text(HEAD + ROW, encoding="utf-8")
    document = {"title": "t", "flows": flows, "network": network}
    is_read_or_refused(lambda: of_document(document, tmp_path / "x.toml"))


def test_a_file_named_by_a_folder_is_refused(tmp_path):
    (tmp_path / "m").mkdir()
    (fault,) = faults_of(lambda: written(tmp_path, "", "m"))
    assert fault.value == "a directory"
    with pytest.raises(InputError):
        read_sheet(tmp_path / "a\0b", name="a", most_rows=1)
