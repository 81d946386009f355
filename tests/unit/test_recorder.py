"""The run directory: what is written, kept, refused and redone."""

import json
import resource
import shutil
from pathlib import Path
from types import SimpleNamespace

import ethermeter as em
import fake_core
import numpy as np
import pyarrow.parquet as pq
import pytest
from ethermeter.engines.simulation import result_of
from ethermeter.execution import finished_run
from ethermeter.faults import InputError
from ethermeter.store import Recorder, RunDirectory, RunError
from ethermeter.store.columns import STATION_BATCHES, STATIONS, TABLES
from ethermeter.store.parquet import GROUP_ROWS, row_groups
from ethermeter.store.recorder import DERIVED
from small_runs import contents, write_experiment

DONE = {"finished": "now"}


@pytest.fixture
def plan(tmp_path):
    return em.load(write_experiment(tmp_path)).plan()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run"


def result_for(trial):
    return result_of(trial.scenario, fake_core.simulate(trial.line), core_s=0.5)


def record(recorder, plan, places):
    for place in places:
        recorder.record(place, result_for(plan.trials[place]))


def opened(out, plan, **options):
    return Recorder(out, plan, experiments={"small": "title = 'small'\n"}, version="1", **options)


def finished(out, plan):
    with opened(out, plan) as recorder:
        record(recorder, plan, recorder.pending)
        recorder.finish(DONE)
    return contents(out)


def test_the_tables_hold_every_row_in_the_order_of_the_plan(out, plan):
    finished(out, plan)
    run = RunDirectory(out)
    stations = run.table(STATIONS)
    assert list(dict.fromkeys(stations["trial"].to_pylist())) == [trial.id for trial in plan.trials]
    for trial in plan.trials:
        result = result_for(trial)
        mine = stations.filter(np.array(stations["trial"].to_pylist()) == trial.id)
        assert mine["station"].to_pylist() == [*range(len(mine))]
        for name, column in result.tables[STATIONS].items():
            if name == "overdue":  # none is kept where no station has a deadline
                assert name not in mine.column_names
                assert not column.any()
            elif not name.startswith("caution"):
                assert mine[name].to_numpy().tolist() == column.tolist(), name
    batches = run.table(STATION_BATCHES).filter(
        np.array(run.table(STATION_BATCHES)["trial"].to_pylist()) == plan.trials[-1].id
    )
    assert batches["frames"].to_pylist() == result.tables[STATION_BATCHES]["frames"].tolist()
    assert batches["batch"].to_pylist() == np.repeat(np.arange(20), 5).tolist()
    assert batches["station"].to_pylist() == np.tile(np.arange(5), 20).tolist()
    assert run.histograms()["low_ps"].to_pylist()[:3] == [10**6, 10**7, 10**8]
    assert {key: value for key, value in run.provenance().items() if key != "sha256"} == DONE
    assert run.trials() == plan.trials
    assert (out / "experiment.toml").read_text() == "title = 'small'\n"


def test_the_order_in_which_trials_finish_changes_no_byte(out, plan, tmp_path):
    expected = finished(tmp_path / "in-order", plan)
    with opened(out, plan) as recorder:
        for place in np.random.default_rng(1).permutation(len(plan.trials)).tolist():
            record(recorder, plan, [place])
            if place % 4 == 0:
                recorder.flush()
        recorder.finish(DONE)
    assert contents(out) == expected
    assert not (out / "parts").exists()


def interrupted(out, plan):
    with opened(out, plan) as recorder:
        record(recorder, plan, range(10))
        recorder.flush()
        record(recorder, plan, range(10, 15))


def test_what_is_finished_is_not_pending_again(out, plan):
    interrupted(out, plan)
    with opened(out, plan) as recorder:
        assert recorder.pending == tuple(range(15, 30))
        assert recorder.core_s == 15 * 0.5


@pytest.mark.parametrize("cut", [0, 1, 100, -1])
def test_a_torn_part_is_redone(out, plan, cut, tmp_path):
    expected = finished(tmp_path / "undisturbed", plan)
    interrupted(out, plan)
    part = out / "parts" / "000000.parquet"
    part.write_bytes(part.read_bytes()[:cut])
    with opened(out, plan) as recorder:
        assert recorder.pending == (*range(10), *range(15, 30))
        record(recorder, plan, recorder.pending)
        recorder.finish(DONE)
    assert contents(out) == expected


def test_a_part_with_a_flipped_bit_is_redone(out, plan):
    interrupted(out, plan)
    part = out / "parts" / "000000.parquet"
    data = bytearray(part.read_bytes())
    data[len(data) // 3] ^= 1
    part.write_bytes(data)
    with opened(out, plan) as recorder:
        assert recorder.pending == (*range(10), *range(15, 30))


def test_a_part_of_another_plan_or_version_is_redone(out, plan, tmp_path):
    other = em.load(tmp_path / "small.toml").plan(seed=8)
    interrupted(tmp_path / "other", other)
    interrupted(out, plan)
    shutil.copy(tmp_path / "other" / "parts" / "000001.parquet", out / "parts" / "000001.parquet")
    with opened(out, plan) as recorder:
        assert recorder.pending == tuple(range(10, 30))
    with Recorder(out, plan, experiments={}, version="2") as recorder:
        assert recorder.pending == tuple(range(30))


def refused(out, plan, **options):
    with pytest.raises(InputError) as caught:
        opened(out, plan, **options)
    (fault,) = caught.value.faults
    assert fault.file == str(out)
    return fault


def test_an_unfinished_run_is_discarded_by_force(out, plan):
    interrupted(out, plan)
    with opened(out, plan, force=True) as recorder:
        assert len(recorder.pending) == 30


def test_a_finished_run_is_left_alone(out, plan):
    before = finished(out, plan)
    assert refused(out, plan).value == "finished"
    assert refused(out, plan).value == "finished"
    assert contents(out) == before


def test_parts_left_by_a_kill_after_the_last_word_are_removed_when_the_run_is_asked_for_again(
    out, plan
):
    finished(out, plan)
    (out / "parts").mkdir()
    (out / "parts" / "00001.parquet").write_bytes(b"left")
    assert finished_run(out, plan) is not None
    assert not (out / "parts").exists()
    # An unfinished run keeps them: they are its results.
    (out / "provenance.json").write_text('{"plan_hash": "' + plan.hash + '"}')
    (out / "parts").mkdir()
    assert finished_run(out, plan) is None
    assert (out / "parts").exists()


def test_a_part_that_has_not_got_its_name_yet_is_none(out, plan, tmp_path):
    expected = finished(tmp_path / "whole", plan)
    with opened(out, plan) as recorder:
        record(recorder, plan, recorder.pending[:3])
        recorder.flush()
    (part,) = (out / "parts").glob("*.parquet")
    # Killed after the last byte of the file and before its renaming.
    part.rename(part.with_name(".tmp-" + part.name))
    with opened(out, plan) as recorder:
        assert len(recorder.pending) == len(plan.trials)
        record(recorder, plan, recorder.pending)
        recorder.finish(DONE)
    assert contents(out) == expected


def test_a_run_of_another_plan_is_left_alone(out, plan, tmp_path):
    before = finished(out, plan)
    other = em.load(tmp_path / "small.toml").plan(seed=8)
    fault = refused(out, other)
    assert fault.value == plan.hash
    assert other.hash in fault.allowed
    assert contents(out) == before


def test_a_directory_with_something_else_is_left_alone_even_by_force(out, plan):
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    for force in (False, True):
        assert refused(out, plan, force=force).value == "thesis.txt"
    assert [entry.name for entry in out.iterdir()] == ["thesis.txt"]


def test_force_removes_what_a_run_left_and_nothing_else(out, plan):
    finished(out, plan)
    for name in (*DERIVED, "notes.txt"):
        (out / name).write_text("old")
    with opened(out, plan, force=True):
        assert {entry.name for entry in out.iterdir()} == {
            "experiment.toml",
            "notes.txt",
            "parts",
            "plan.jsonl",
        }


def test_a_file_is_no_run_directory(out, plan):
    out.write_text("")
    assert "directory" in refused(out, plan).allowed


def test_several_experiments_are_kept_side_by_side(out, plan):
    with Recorder(out, plan, experiments={"a": "x = 1\n", "b": "x = 2\n"}, version="1"):
        assert {file.name: file.read_text() for file in (out / "experiments").iterdir()} == {
            "a.toml": "x = 1\n",
            "b.toml": "x = 2\n",
        }


def test_a_run_does_not_end_before_its_last_trial(out, plan):
    with opened(out, plan) as recorder:
        record(recorder, plan, range(29))
        with pytest.raises(ValueError, match="1 of 30 trials"):
            recorder.finish(DONE)


def fill_up(out, plan, places, *, is_flushed):
    """Record trials, and finish, on a disk that takes no file above a kilobyte once they are
    simulated.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(out, plan) as recorder:
        record(recorder, plan, places)
        if is_flushed:
            recorder.flush()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        try:
            recorder.finish(DONE)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_disk_that_takes_no_more_is_one_line_and_costs_nothing_stored(out, plan, tmp_path):
    expected = finished(tmp_path / "undisturbed", plan)
    interrupted(out, plan)
    with pytest.raises(
        RunError,
        match=r"cannot write .*File too large; 15 finished trials are kept, the same command",
    ):
        fill_up(out, plan, range(15, 30), is_flushed=False)
    with opened(out, plan) as recorder:
        assert recorder.pending == tuple(range(15, 30))
        record(recorder, plan, recorder.pending)
        recorder.finish(DONE)
    assert contents(out) == expected


def test_a_disk_that_is_full_at_the_end_keeps_every_trial(out, plan, tmp_path):
    expected = finished(tmp_path / "undisturbed", plan)
    with pytest.raises(RunError, match="30 finished trials are kept"):
        fill_up(out, plan, range(30), is_flushed=True)
    assert not RunDirectory(out).is_finished()
    with opened(out, plan) as recorder:
        assert recorder.pending == ()
        recorder.finish(DONE)
    assert contents(out) == expected


def test_row_groups_hold_whole_trials_and_depend_on_the_plan_alone():
    stations = [1, 1024, 3, 24] * 100
    given = [20 * (1 + count) for count in stations]
    groups = list(row_groups(given))
    assert [place for group in groups for place in group] == list(range(400))
    sizes = [sum(given[place] for place in group) for group in groups]
    assert all(size >= GROUP_ROWS for size in sizes[:-1])
    assert len(groups) > 1


def test_several_row_groups_read_as_one_table(out, plan, monkeypatch):
    monkeypatch.setattr("ethermeter.store.parquet.GROUP_ROWS", 500)
    finished(out, plan)
    assert pq.ParquetFile(out / "stations.parquet").num_row_groups > 3
    stations = RunDirectory(out).table(STATIONS)
    assert list(dict.fromkeys(stations["trial"].to_pylist())) == [trial.id for trial in plan.trials]


def test_what_is_no_run_is_refused(tmp_path):
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InputError, match="a run directory"):
            RunDirectory(path)


def test_an_unfinished_run_has_no_tables(out, plan):
    interrupted(out, plan)
    for name in TABLES:
        with pytest.raises(InputError, match="unfinished"):
            RunDirectory(out).table(name)


@pytest.mark.parametrize("text", ["{", "[]", "\udcff"])
def test_a_damaged_provenance_is_a_fault(out, plan, text):
    finished(out, plan)
    (out / "provenance.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=r"provenance\.json"):
        RunDirectory(out).provenance()


def test_a_damaged_table_is_a_fault(out, plan):
    finished(out, plan)
    (out / "station-batches.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match=r"station-batches\.parquet"):
        RunDirectory(out).table(STATION_BATCHES)


def test_provenance_of_a_continued_run_keeps_its_first_start():
    from ethermeter import provenance

    first = provenance.begun(
        ethermeter="1",
        plan_name="p",
        plan_hash="h",
        trials=1,
        seeds={"p": 1},
        command=["x"],
        jobs=2,
        cluster=None,
    ) | {"started": "long ago"}
    second = provenance.resumed({**first, "started": "now", "jobs": 1}, first)
    third = provenance.resumed(second, second)
    assert (second["started"], second["sessions"], second["jobs"], third["sessions"]) == (
        "long ago",
        2,
        1,
        3,
    )
    done = provenance.finished(third, wall_s=1.23456, core_s=2, events=3, implementations=["fast"])
    assert (done["wall_s"], done["simulation_s"], done["events"]) == (1.235, 2, 3)
    assert done["implementations"] == ["fast"]
    assert json.loads(json.dumps(done)) == done


def test_experiments_of_one_name_are_told_apart():
    from ethermeter.execution import names_of

    same = [SimpleNamespace(path=Path(folder) / "hub.toml") for folder in "abc"]
    assert list(names_of(same)) == ["hub", "hub-2", "hub-3"]
