"""Plans: which trials an experiment makes, their seeds, and their file."""

import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter import plan
from ethermeter.entities import stations_in
from ethermeter.experiment import load, shipped
from ethermeter.studies import registry
from faults_at import faults_of
from segments import segment, table_of
from shared_experiments import BUS, SEGMENT


@pytest.fixture
def varied(tmp_path: Path) -> Path:
    vary = {"stations.count": [1, 2, 3], "stations.frames": ["64 B", "65 B"]}
    return SEGMENT.changed(vary=vary, run={"replications": 2}).save(tmp_path / "varied.toml")


def test_all_combinations_are_run_the_last_key_changing_fastest(varied):
    made = plan.expand([load(varied)])
    assert [(trial.id, trial.replication, dict(trial.point)) for trial in made.trials[:4]] == [
        ("varied/00000", 0, {"stations.count": "1", "stations.frames": "64 B"}),
        ("varied/00001", 1, {"stations.count": "1", "stations.frames": "64 B"}),
        ("varied/00002", 0, {"stations.count": "1", "stations.frames": "65 B"}),
        ("varied/00003", 1, {"stations.count": "1", "stations.frames": "65 B"}),
    ]
    assert len(made.trials) == 12
    assert [stations_in(trial.scenario) for trial in made.trials] == [1] * 4 + [2] * 4 + [3] * 4


def test_a_line_is_the_compact_json_of_its_trial(varied):
    for trial in plan.expand([load(varied)]).trials:
        assert json.loads(trial.line) == {
            "id": trial.id,
            "series": "varied",
            "replication": trial.replication,
            "seed": trial.seed,
            "engine": "simulation",
            "point": trial.point,
            "scenario": table_of(trial.scenario),
        }
        assert trial.line == json.dumps(json.loads(trial.line), separators=(",", ":"))


def test_the_keys_of_a_line_are_those_of_the_contract():
    page = Path(__file__).parents[2] / "docs" / "reference" / "trials.md"
    text = page.read_text(encoding="utf-8")
    documented = json.loads(text.split("```json\n")[1].split("```")[0])
    (*_, trial) = plan.expand([load(shipped()["boggs1988/i-2"])]).trials
    ours = json.loads(trial.line)
    assert list(ours) == list(documented)
    for path in (
        ("scenario",),
        ("scenario", "nodes", 0),
        ("scenario", "media", 0),
        ("scenario", "media", 0, "mac", "csma_cd"),
        ("scenario", "media", 0, "stations", 0),
        ("scenario", "flows", 0),
        ("scenario", "phases"),
    ):
        mine, theirs = ours, documented
        for part in path:
            mine, theirs = mine[part], theirs[part]
        assert list(mine) == list(theirs)


def test_expanding_twice_gives_the_same_bytes(varied):
    first, second = (plan.expand([load(varied)]) for _ in range(2))
    assert first.to_jsonl() == second.to_jsonl()
    assert first.hash == second.hash == hashlib.sha256(first.to_jsonl().encode()).hexdigest()[:12]


def test_a_seed_is_what_the_documented_hash_gives():
    text = '[7,"S",[["a","1"],["b","2"]],3]'
    expected = int(hashlib.sha256(text.encode()).hexdigest()[:16], 16) >> 1
    assert plan.trial_seed(7, series="S", point={"b": "2", "a": "1"}, replication=3) == expected


def test_adding_points_changes_no_other_point(varied):
    def seeds(overrides: list[str]) -> dict[tuple[str, int], int]:
        made = plan.expand([load(varied, overrides=overrides)])
        return {
            (json.dumps(sorted(trial.point.items())), trial.replication): trial.seed
            for trial in made.trials
        }

    few = seeds([])
    many = seeds(['vary."stations.count"=[9, 3, 2, 1]', "run.replications=5"])
    assert few.items() <= many.items()
    assert len(set(many.values())) == len(many)


def test_seed_replications_and_name_can_be_replaced(varied):
    experiment = load(varied)
    made = plan.expand([experiment], name="My Plan!", seed=5, replications=1)
    assert made.name == "my-plan"
    assert len(made.trials) == 6
    assert made.trials[0].seed == plan.trial_seed(
        5, series="varied", point=made.trials[0].point, replication=0
    )
    assert plan.expand([experiment]).name == "varied"


@pytest.mark.parametrize(
    ("arguments", "key"),
    [({"seed": -1}, "seed"), ({"seed": 2**63}, "seed"), ({"replications": 0}, "replications")],
)
def test_replacements_out_of_range_are_refused(varied, arguments, key):
    experiment = load(varied)
    assert [fault.key for fault in faults_of(lambda: plan.expand([experiment], **arguments))] == [
        key
    ]


def test_two_experiments_need_two_series(varied, small):
    experiment = load(varied)
    (fault,) = faults_of(lambda: plan.expand([experiment, experiment]))
    assert fault.key == "series"
    assert len(plan.expand([experiment, load(small)]).trials) == 13


def test_a_series_needs_a_letter(small):
    experiment = load(small, overrides=["series=…"])
    (fault,) = faults_of(lambda: plan.expand([experiment]))
    assert (fault.key, fault.allowed) == ("series", "expected a name with a letter a-z or a digit")


def test_more_trials_than_a_plan_may_have_are_refused_with_their_number(varied):
    experiment = load(
        varied, overrides=['vary."stations.count"={ from = 1, to = 1000 }', "segment.clusters=2"]
    )
    (fault,) = faults_of(lambda: plan.expand([experiment], replications=60))
    assert (fault.key, fault.value) == ("vary", "120000")


def test_more_delays_than_fit_in_memory_are_refused_before_they_are_made(varied):
    (fault,) = faults_of(
        lambda: load(varied, overrides=['vary."stations.count"={ from = 1, to = 1000 }'])
    )
    assert fault.key == "segment"
    assert "at most 4000000 delays" in fault.allowed


def test_nothing_to_plan_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="at least one experiment"):
        plan.expand([])


def test_the_whole_study_is_planned_in_a_moment():
    experiments = [
        load(path) for name, path in shipped().items() if name in registry.find("boggs1988").runs
    ]
    # CPU time of this process, for other processes share the machine.
    before_s = time.process_time()
    made = plan.expand(experiments)
    assert time.process_time() - before_s < 2
    assert made.name == "boggs1988"
    others = {"schoch-hupp": 36, "pair": 30, "storm": 60, "low-load": 10, "backoff": 20}
    others |= {"queues": 90, "cable": 12}
    figures, clusters, collapse = 5 * (230 + 240 + 240 + 216 + 216), 20 * 4, 45
    assert len(made.trials) == figures + clusters + collapse + sum(others.values())
    assert len({trial.seed for trial in made.trials}) == len(made.trials)


def test_a_plan_reads_back_from_its_file(varied, tmp_path):
    made = plan.expand([load(varied)])
    folder = tmp_path / f"{made.name}-{made.hash}"
    folder.mkdir()
    (folder / "plan.jsonl").write_text(made.to_jsonl(), encoding="utf-8")
    again = plan.read(folder / "plan.jsonl")
    assert again == made
    assert again.hash == made.hash


GOOD = (
    '{"id":"x/00000","series":"x","replication":0,"seed":1,"engine":"simulation","point":{},'
    f'"scenario":{json.dumps(table_of(segment({"points": [0]})), separators=(",", ":"))}}}'
)


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("", "(file)", "something in it"),
        ("{}", "line 1", "with the keys id, series"),
        ("[1]", "line 1", "JSON object"),
        ("{", "line 1", "as JSON"),
        ("[" * 100_000, "line 1", "JSON object"),
        (
            GOOD.replace('"delay_ps":[[0]]', '"delay_ps":' + "[" * 900 + "]" * 900),
            "line 1",
            "Expected `int`, got `array`",
        ),
        ("9" * 10_000, "line 1", "JSON object"),
        (GOOD.replace('"seed":1', '"seed":NaN'), "line 1", "as JSON"),
        (GOOD.replace('"seed":1', '"seed":9223372036854775808'), "line 1", "seed as an integer"),
        (GOOD.replace('"seed":1', '"seed":true'), "line 1", "seed as an integer"),
        (
            GOOD.replace('"replication":0', '"replication":-1'),
            "line 1",
            "replication as an integer",
        ),
        (GOOD.replace("x/00000", "../00000"), "line 1", "id as"),
        (GOOD.replace("simulation", "live"), "line 1", "scenario, live, in this order"),
        (GOOD.replace("simulation", "lab"), "line 1", "engine as"),
        (
            re.sub(r'"media":.*"flows":', '"flows":', GOOD),
            "line 1",
            "links between nodes, or a medium",
        ),
        (GOOD.replace('"point":{}', '"point":{"a":1}'), "line 1", "point as texts"),
        (GOOD.replace('"series":"x"', '"series":"\\ud800"'), "line 1", "as JSON"),
        (GOOD.replace('"phases":', '"phase":'), "line 1", "unknown field `phase`"),
        (GOOD.replace('"media":', '"medium":'), "line 1", "expected a scenario"),
        (GOOD.replace('"bit_ps":100000,', ""), "line 1", "missing required field `bit_ps`"),
        (GOOD.replace('"flows":[', '"flows":[],"links":['), "line 1", "unknown field `name`"),
        (GOOD.replace("csma_cd", "slotted"), "line 1", "unknown field"),
        (GOOD.replace('"id":', '"di":'), "line 1", "in this order"),
        (GOOD + "\n\n" + GOOD.replace("x/00000", "x/00001"), "line 2", "as JSON"),
        (GOOD + "\n" + GOOD, "line 2, id", "no line before has"),
    ],
)
def test_a_malformed_plan_is_refused_with_its_line(tmp_path, text, key, allowed):
    path = tmp_path / "plan.jsonl"
    path.write_text(text, encoding="utf-8")
    faults = faults_of(lambda: plan.read(path))
    assert [fault.key for fault in faults] == [key]
    assert allowed in faults[0].allowed


def test_the_lines_that_these_are_made_from_are_sound(tmp_path):
    path = tmp_path / "plan.jsonl"
    path.write_text(GOOD + "\n", encoding="utf-8")
    assert plan.read(path).trials[0].line == GOOD


def test_equal_parts_of_scenarios_are_one_object(tmp_path):
    path = tmp_path / "plan.jsonl"
    lines = [
        GOOD.replace("x/00000", f"x/0000{at}")
        .replace('"bit_ps":100000', f'"bit_ps":{bit_ps}')
        .replace('"bits":544', f'"bits":{544 + at}')
        for at, bit_ps in enumerate((1, 1, 2))
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    one, other, third = (trial.scenario for trial in plan.read(path).trials)
    assert one.media[0] is other.media[0]
    assert one.media != third.media
    assert one.media[0].delay_ps is third.media[0].delay_ps
    assert one.nodes[0] is third.nodes[0]
    assert one.flows != other.flows


FIRST_TRIALS = """
import sys, threading
from ethermeter.trial import read_trial

sys.setswitchinterval(1e-6)
line, together, found = sys.stdin.read(), threading.Barrier(8), []

def read():
    together.wait()
    found.append(type(read_trial(line)).__name__)

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*found)
"""


def test_several_threads_may_read_their_first_trials_at_once(small):
    (trial, *_) = plan.expand([load(small)]).trials
    for _ in range(3):  # before types were prepared, every second process crashed
        done = subprocess.run(
            [sys.executable, "-c", FIRST_TRIALS],
            input=trial.line,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout.split()) == (0, 8 * ["Trial"]), done.stderr


TWICE = [
    em.stations(name, count=1, frames="64 B", arrivals="saturated", plca={"node-id": 0})
    for name in ("a", "b")
]
"""Two coordinators: node-id 0 belongs to both, so that no model of a bus applies."""


@pytest.mark.parametrize("theory", [None, {"models": ["plca-2019"]}])
def test_an_engine_that_applies_nowhere_says_why_and_the_others_run(tmp_path, caplog, theory):
    engines = {"engines": ["theory", "simulation"], "replications": 2}
    path = BUS.changed(stations=TWICE, run=engines, theory=theory).save(tmp_path / "bus.toml")
    made = plan.expand([load(path)])
    assert [trial.engine for trial in made.trials] == ["simulation"] * 2
    (record,) = caplog.records
    said = record.getMessage()
    assert said.startswith(f"{path}: run.engines = theory gives no values: no model applies;")
    assert "node-id 0 belongs to several nodes" in said


def test_a_named_model_that_applies_nowhere_says_why_beside_one_that_does(tmp_path, caplog):
    models = ["plca-2019", "metcalfe-boggs-1976"]
    turns = BUS.changed(theory={"models": models}, run={"engines": ["theory"]})
    made = plan.expand([load(turns.save(tmp_path / "bus.toml"))])
    assert [trial.engine for trial in made.trials] == ["theory/plca-2019"]
    (said,) = caplog.messages
    assert "theory.models = metcalfe-boggs-1976 gives no values" in said
    assert "needs a segment of another standard than 10BASE-T1S" in said


def test_an_engine_that_cannot_simulate_a_model_that_applies_is_refused(tmp_path):
    turns = BUS.changed(theory={"models": ["plca-2019"]}, run={"engines": ["idealised"]})
    (fault,) = faults_of(lambda: plan.expand([load(turns.save(tmp_path / "bus.toml"))]))
    assert (fault.key, fault.value) == ("run.engines", "idealised")
    assert "applies, but there is no simulation of what it assumes (1 model)" in fault.allowed
