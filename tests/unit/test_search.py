"""The search for a value: answers by theory and simulation, conditions, values, and faults."""

import csv
import json
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter import find
from ethermeter.analysis.conditions import ConditionError, condition
from ethermeter.analysis.value_search import SearchAnswer
from ethermeter.execution import Execution, Progress, search
from ethermeter.experiment import Experiment, load, of_tables, shipped
from ethermeter.faults import InputError
from ethermeter.search import Values, question_of
from ethermeter.search.values import RangeError, values_of
from ethermeter.strategies import answered
from ethermeter.strategies.search import ValueSearch
from ethermeter.theory.finite_queue import m_d_1_k
from program import invoke

LINK = em.network(
    title="Poisson frames before a link of 10 Mb/s",
    rate="10 Gb/s",
    hosts=["sender", "receiver"],
    switches=["s"],
    links=[("sender", "s"), em.link("s", "receiver", rate="10 Mb/s")],
    flows=em.flow("load", "sender", "receiver", frames="980 B", arrivals={"poisson": "1000 /s"}),
    seed=3,
    phases={"transmit": "4 s", "measure": "last 3 s", "drain": "0.2 s"},
    search={
        "largest": "flows.load.arrivals.poisson",
        "from": "500 /s",
        "to": "1200 /s",
        "step": "10 /s",
        "while": ["load: one_way_delay <= 2 ms"],
    },
)
SERVICE_S = 800e-6
"""Of a frame of 980 octets with preamble and gap at 10 Mb/s; the switch takes no time."""
TRANSIT_S = (8 * (8 + 980) / 10e6) + (8 * (8 + 980) / 10e9)
"""Time of a frame that never waits, on both links."""


@pytest.fixture(autouse=True)
def _own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep runs out of the directory in which the tests run."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return LINK.save(tmp_path / "link.toml")


@pytest.fixture
def link(file: Path) -> Experiment:
    return load(file)


def found(experiment: Experiment, **options: object) -> SearchAnswer:
    names = {key.rstrip("_"): value for key, value in options.items()}
    return answered(ValueSearch(question_of(experiment, names)), jobs=2)


def largest_rate(delay_s: float) -> float:
    """Rate at which the mean delay before a deterministic server is this, by M/D/1."""
    # W = s rho / (2 (1 - rho)) solved for rho.
    wait = (delay_s - TRANSIT_S) / SERVICE_S
    return 2 * wait / (1 + 2 * wait) / SERVICE_S


def test_theory_answers_exactly_what_pollaczek_and_khinchine_have_by_hand(link):
    at_most = largest_rate(0.002)
    answer = found(link, engine="theory/queueing", step="1 /s")
    assert answer.outcome == "answered"
    assert answer.at_least == answer.at_most == answer.estimate == f"{int(at_most)} /s"
    # A formula is asked once at each value, and the ends are tried first.
    assert [point.replications for point in answer.points] == [1] * len(answer.points)
    assert "by theory/queueing" in answer.sentence
    # What limits it: the next rate has a delay of this much, at a load of this much.
    beyond = int(at_most) + 1
    load = beyond * SERVICE_S
    delay_us = 1e6 * (TRANSIT_S + SERVICE_S * load / (2 * (1 - load)))
    assert answer.sentence.endswith(
        f"{beyond} /s fails: one_way_delay of load is {delay_us:.4g} µs, more than 2 ms (busiest on"
        f" its path: wire s → receiver, {100 * load:.4g}% of its time)"
    )


def test_simulation_agrees_with_the_formula_within_its_interval(link):
    answer = found(link)
    low, high = (float(text.split()[0]) for text in (answer.at_least, answer.at_most))
    assert low <= largest_rate(0.002) < high + 10
    assert high - low <= 60
    points = {point.number: point for point in answer.points}
    # Replications are spent where it is close: far from the limit few decide.
    assert points[500.0].replications < 12 <= max(each.replications for each in answer.points)


def test_the_smallest_room_that_loses_at_most_one_percent_is_that_of_m_d_1_k(link):
    load_offered = 1000 * SERVICE_S
    room = next(k for k in range(1, 100) if m_d_1_k(load_offered, k)[0] <= 0.01)
    options = {"from_": 1, "to": 20, "while_": ["loss <= 1%"], "step": 1}
    answer = found(link, smallest="network.switches.s.queue", **options)
    assert answer.direction == "smallest"
    assert int(answer.at_least) <= room <= int(answer.at_most)
    assert [point.number for point in answer.points] == sorted(p.number for p in answer.points)
    assert answer.bound.value is None  # Poisson arrivals have none
    words = ("find", "value", link.path, "--smallest", "network.switches.s.queue")
    words += ("from=1", "to=20", "step=1", "--while", "loss <= 1%")
    assert "no bound" in invoke(*words).stdout


def test_the_smallest_queue_that_loses_nothing_is_the_bound():
    experiment = load(shipped()["buffer-sizing"], overrides=["network.switches.switch.queue=24"])
    options = {"from_": 1, "to": 40, "while_": ["loss == 0"]}
    answer = found(experiment, smallest="network.switches.switch.queue", **options)
    # One of the 24 frames that come at once is lost each time: always the last one's.
    assert "23 fails: loss of event frontend24 is 100 %, not 0 (busiest" in answer.sentence
    assert (answer.at_least, answer.at_most, answer.outcome) == ("24", "24", "answered")
    assert (answer.bound.value, answer.bound.unit) == (24, "frames")
    octets = found(
        experiment,
        smallest="network.switches.switch.queue_size",
        from_="1 kB",
        to="40 kB",
        step="1 kB",
        while_=["loss == 0"],
    )
    # Twenty-four frames of 1000 octets; the limit in frames is in the file and holds none back.
    assert (octets.at_least, octets.bound.value, octets.bound.unit) == ("24 kB", 24000, "octets")


def test_the_ends_of_the_range_are_answers_too(link):
    every = found(link, engine="theory/queueing", to="600 /s")
    assert (every.outcome, every.at_least, every.at_most) == ("all", "600 /s", "600 /s")
    assert "the end of the range" in every.sentence
    none = found(link, engine="theory/queueing", from_="1000 /s")
    assert (none.outcome, none.at_least, none.estimate) == ("none", None, None)
    # Half of 800 µs x 0.8 / 0.2, and the transit: 1600 + 791.2 µs.
    assert "no value holds, not even 1000 /s by theory/queueing: one_way_delay" in none.sentence
    assert "is 2391 µs, more than 2 ms" in none.sentence


def test_a_value_without_a_mean_does_not_hold(link):
    # Beyond 1250 frames/s the queue has no mean, and the theory has none.
    answer = found(link, engine="theory/queueing", to="1300 /s", while_=["one_way_delay <= 900 s"])
    assert answer.outcome == "answered"
    assert answer.at_least == "1240 /s"
    assert answer.points[-1].verdict == "fails"
    assert answer.points[-1].conditions[0].estimate.value is None


def test_an_overloaded_unlimited_queue_does_not_hold_however_short_the_trial(link):
    # The link carries 1250 frames/s.
    answer = found(link, to="2000 /s", while_=["one_way_delay <= 900 s"], step="100 /s")
    assert answer.at_least == answer.at_most == "1200 /s"
    over = next(point for point in answer.points if point.number > 1250)
    assert over.verdict == "fails"
    assert over.cautions == ("unbounded-queue",)


def test_an_overloaded_limited_queue_does_not_hold_however_short_the_trial():
    # By hand in tests/unit/test_load.py: 44 Mb/s offer 100.416 Mb/s to a link of 100, and the
    # queue takes 7 s of that. With five cameras it is 100.435 Mb/s.
    short = ["network.classes=8", "phases.transmit=0.5 s", "phases.measure=last 0.4 s"]
    experiment = load(shipped()["office"], overrides=short)
    backups = found(
        experiment,
        largest="flows.backup.arrivals.token_bucket.rate",
        **{"from_": "40 Mb/s", "to": "48 Mb/s", "step": "1 Mb/s", "while_": ["loss <= 0.1%"]},
    )
    assert (backups.at_least, backups.at_most, backups.outcome) == ("43 Mb/s",) * 2 + ("answered",)
    assert "44 Mb/s fails: wire floor → core is offered 1.004 times what it carries" in (
        backups.sentence
    )
    over = next(point for point in backups.points if point.number == 44)
    # The trials saw nothing of it.
    assert over.conditions[0].estimate.value == 0
    cameras = found(
        experiment,
        largest="network.hosts.camera.count",
        **{"from_": 3, "to": 6, "while_": ["loss <= 0.1%", "call: one_way_delay.p99 <= 5 ms"]},
    )
    assert (cameras.at_least, cameras.at_most) == ("4", "4")


SLOW = LINK.changed(
    {
        "flows.0.arrivals": {"regular": "1 ms"},
        "search.largest": "flows.load.arrivals.regular",
        "phases": {"transmit": "1 s", "measure": "last 0.5 s", "drain": "1 s"},
    }
)
"""Regular frames, of which the slow link carries 1250 a second."""
OVER = {"smallest": "flows.load.arrivals.regular", "from_": "780 us", "to": "820 us",
        "step": "20 us"}  # fmt: skip


def over(queue: int, *conditions: str) -> SearchAnswer:
    """At 780 us a frame 1282.05 are offered: 2.5% are not carried, 32.05 frames a second."""
    tables = SLOW.changed({"network.switches.0": em.switch("s", queue=queue)}, search=None)
    return found(of_tables(tables), **OVER, while_=list(conditions))


def test_a_loss_that_is_permitted_is_judged_by_trials_in_which_the_queue_is_full():
    # Ten frames of room are full after 0.3 s, before the window begins.
    assert over(10, "loss <= 3%").outcome == "all"
    assert over(10, "loss <= 2%").at_least == "800 us"
    # What no condition permits does not hold, whatever the delay.
    delay = over(10, "one_way_delay <= 1 s")
    assert delay.at_least == "800 us"
    assert "780 us fails: wire s → receiver is offered 1.026 times what it carries" in (
        delay.sentence
    )
    # Rates are what they are.
    assert over(10, "together: message_rate >= 1200 /s").outcome == "all"
    # A room of 100 frames is full after 3.12 s: trials of 8 s measure from then on.
    longer = over(100, "loss <= 3%")
    assert longer.outcome == "all"
    assert [point.transmit_s for point in longer.points] == [8.0, 1.0, 1.0]
    assert longer.points[0].conditions[0].estimate.value == pytest.approx(0.025, abs=0.001)


def test_what_is_not_full_in_the_longest_trials_is_not_decided():
    # A room of 1000 frames is full after 31.2 s; trials of 16 s are the longest.
    answer = over(1000, "loss <= 3%")
    assert (answer.outcome, answer.at_least, answer.at_most) == ("undecided", "780 us", "800 us")
    assert answer.cautions == (
        "780 us is not decided by trials of 16 s: a queue still grows in them",
    )
    point = answer.points[0]
    assert (point.verdict, point.transmit_s, point.cautions) == (
        *("undecided", 16.0, ("growing-queue",)),
    )


def test_near_a_capacity_trials_grow_until_the_queue_is_in_balance():
    # By M/D/1 a mean of 10 ms is reached at 1197.96 frames a second, a load of 0.958, where the
    # queue comes into balance in 2 x 0.958 x 0.8 ms / 0.042^2 = 0.87 s. In trials of 0.3 s from an
    # empty queue, 1220 a second have 6 ms instead of 17.
    assert largest_rate(0.01) == pytest.approx(1197.96, abs=0.01)
    short = {"transmit": "0.3 s", "measure": "last 0.25 s", "drain": "0.1 s"}
    answer = found(
        of_tables(LINK.changed({"phases": short}, search=None)),
        largest="flows.load.arrivals.poisson",
        **{"from_": "1000 /s", "to": "1240 /s", "step": "20 /s"},
        while_=["one_way_delay <= 10 ms"],
    )
    number = {point.value: point.number for point in answer.points}
    assert number[answer.at_least] <= 1197.96
    assert answer.at_most in {"1180 /s", "1200 /s"}
    # 4 ms are enough at 1000 a second, a load of 0.8: 2 x 0.8 x 0.8 ms / 0.2^2 = 32 ms.
    assert answer.points[0].transmit_s == 0.3
    assert next(point for point in answer.points if point.number == 1200).transmit_s == 2.4


def test_what_is_not_monotone_is_a_caution(link):
    # Goodput grows with the load, so the easiest value is the one that fails.
    rising = found(link, while_=["together: message_rate >= 700 /s"])
    assert rising.outcome == "none"
    assert rising.cautions[0].startswith("not monotone: 1200 /s holds though 500 /s fails")
    assert any("message_rate of together is worse at 500 /s" in each for each in rising.cautions)
    assert found(link, engine="theory/queueing").cautions == ()


def test_undecided_is_said_with_what_is_known(link):
    answer = found(link, replications=5, step="1 /s", confidence=0.99)
    assert answer.outcome == "undecided"
    low, high = (float(text.split()[0]) for text in (answer.at_least, answer.at_most))
    assert low < largest_rate(0.002) < high + 1
    assert f"between {answer.at_least} and {answer.at_most} at 99%" in answer.sentence
    assert all(point.replications <= 5 for point in answer.points)


def test_too_few_replications_for_trials_that_agree_are_a_caution(link):
    answer = found(link, to="600 /s", while_=["loss == 0"], replications=5)
    assert answer.outcome == "undecided"
    assert answer.cautions[0].startswith("values whose trials all agree, as without loss, need ")
    needed = int(answer.cautions[0].split("need ")[1].split()[0])
    enough = found(link, to="600 /s", while_=["loss == 0"], replications=2 * needed)
    assert (enough.outcome, enough.cautions) == ("all", ())


def test_each_flow_must_hold_and_a_named_one_alone():
    short = ["phases.transmit=0.5 s", "phases.measure=last 0.4 s"]
    experiment = load(shipped()["office"], overrides=["network.classes=8", *short])
    options = {
        "largest": "flows.backup.arrivals.token_bucket.rate",
        "from_": "40 Mb/s",
        "to": "60 Mb/s",
        "step": "5 Mb/s",
    }
    every = found(experiment, **options, while_=["one_way_delay <= 10 ms"])
    calls = found(experiment, **options, while_=["call: one_way_delay <= 10 ms"])
    # With classes calls never wait for backups, which fill the uplink beyond 44 Mb/s each.
    assert every.at_least == "40 Mb/s"
    assert all(each.conditions[0].flow.startswith("backup") for each in every.points[1:])
    assert (calls.outcome, calls.at_least) == ("all", "60 Mb/s")
    assert calls.points[0].conditions[0].flow.startswith("call phone")


def test_stations_of_a_segment_and_groups_of_them():
    short = ["phases.transmit=1 s", "phases.measure=last 0.5 s"]
    experiment = load(shipped()["voice-and-data"], overrides=short)
    group = next(each["name"] for each in experiment.document["stations"])
    one = [f"{sweep.key}={sweep.texts[0]}" for sweep in experiment.sweeps]
    experiment = load(experiment.path, overrides=[*short, *one])
    options = {"largest": f"stations.{group}.count", "from_": 1, "to": 30, "step": 10}
    whole = found(experiment, **options, while_=["utilisation <= 99%"])
    part = found(experiment, **options, while_=[f"{group}: transmission_delay <= 900 s"])
    assert whole.points[0].conditions[0].flow == ""
    assert part.points[0].conditions[0].flow == group
    with pytest.raises(InputError, match=r"jain_index is of all stations only"):
        question_of(
            experiment,
            {
                **{key.rstrip("_"): of for key, of in options.items()},
                "while": [f"{group}: jain_index >= 0.9"],
            },
        )


# Recording


def test_an_interrupted_search_is_resumed_to_the_same_bytes(link, tmp_path):
    def strategy() -> ValueSearch:
        return ValueSearch(question_of(link, {"step": "50 /s"}))

    def stop(progress: Progress) -> None:
        if progress.done >= 17:
            raise KeyboardInterrupt

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    search(strategy(), directory=whole, options=Execution(jobs=2))
    with pytest.raises(KeyboardInterrupt):
        search(strategy(), directory=broken, options=Execution(jobs=1), follow=stop)
    search(strategy(), directory=broken, options=Execution(jobs=1))
    names = {path.name for path in whole.iterdir()} - {"provenance.json"}
    assert {"answer.json", "question.json", "plan.jsonl"} <= names
    assert {name for name in names if (broken / name).is_file()} == {
        name for name in names if (whole / name).is_file()
    }
    for name in names:
        if (whole / name).is_file():
            assert (broken / name).read_bytes() == (whole / name).read_bytes(), name


def test_the_command_answers_from_the_table_of_the_file_and_options_go_before_it(file):
    code, text, said = invoke("find", "value", file, "--engine", "theory/queueing")
    assert code == 0, said
    rate = int(largest_rate(0.002) / 10) * 10
    assert (
        f"largest flows.load.arrivals.poisson with load: one_way_delay <= 2 ms: {rate} /s by "
        f"theory/queueing; {rate + 10} /s fails"
    ) in " ".join(text.split())
    words = ("find", "value", file, "--engine", "theory/queueing")
    words += ("--while", "one_way_delay <= 1.5 ms")
    code, text, _ = invoke(*words, "--set", "search.step=1 /s", "--json")
    assert code == 0
    answer = json.loads(text)
    assert answer["at_least"] == f"{int(largest_rate(0.0015))} /s"
    assert answer["conditions"] == ["one_way_delay <= 1.5 ms"]
    assert invoke(*words, "from=1000 /s").returncode == 1


def test_in_python_it_is_a_function_and_the_command_prints_the_values_as_rows(file, tmp_path):
    found = find.value(file, engine="theory/queueing", last="1100 /s", out=tmp_path / "found")
    words = ("--engine", "theory/queueing", "to=1100 /s", "--out", tmp_path / "found")
    code, text, said = invoke("find", "value", file, *words, "--csv")
    assert (code, "already finished" in said) == (0, True)
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["value"] for row in rows] == [each.value for each in found.answer.points]
    delays = [each.conditions[0].estimate.value for each in found.answer.points]
    assert [float(row["conditions.0.estimate.value"]) for row in rows] == delays


def test_faults_name_arguments_of_the_function(file):
    with pytest.raises(InputError) as caught:
        find.value(file, first="many", conditions="los <= 1%")
    assert {fault.key for fault in caught.value.faults} == {"first", "conditions"}
    with pytest.raises(InputError, match="arguments: on = "):
        find.value(file, engine="live")


def test_a_file_with_a_search_is_an_experiment_like_others(file):
    assert invoke("validate", file).returncode == 0
    assert invoke("validate", file, "--trials").returncode == 0


def test_validate_checks_the_table_too(file):
    varied = LINK.changed(vary={"flows.load.frames": ["980 B", "64 B"]})
    assert invoke("validate", varied.save(file)).returncode == 0
    varied.changed({"search.while": ["load: one_way_dely <= 2 ms"]}).save(file)
    code, _, said = invoke("validate", file)
    assert code == 2
    assert 'search.while = "load: one_way_dely <= 2 ms": expected a metric: did you mean' in said


def test_what_is_missing_or_varied_is_named():
    office = shipped()["office"]
    code, _, said = invoke("find", "value", office)
    assert code == 2
    assert {line.split(" = ")[0] for line in said.splitlines()} == {
        f"command line: {key}" for key in ("--largest", "from", "to", "--while")
    }
    words = ("--largest", "network.hosts.phone.count", "from=1", "to=9")
    code, _, said = invoke("find", "value", office, *words, "--while", "loss <= 1%")
    assert code == 2
    assert (
        "vary.network.classes = varied: expected one value: set network.classes to one of 1, 8"
        in said
    )
    words = ("--set", "network.classes=8", "--largest", "network.hosts.phone.count")
    words += ("from=0", "to=9", "--while", "loss <= 1%")
    code, _, said = invoke("find", "value", office, *words)
    assert code == 2
    assert "from = 0" in said


# Conditions and values


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("loss <= 0.1%", 0.001),
        ("loss<=0.001", 0.001),
        ("loss <= 5 ppm", 5e-6),
        ("call: one_way_delay.p99 <= 20 ms", 0.02),
        ("call phone1: one_way_delay_p99 < 20 ms", 0.02),
        ("together: data_rate >= 90 Mb/s", 9e7),
        ("message_rate > 60 /min", 1.0),
        ("mos >= 4", 4.0),
        ("dropped == 0", 0.0),
    ],
)
def test_limits_have_the_units_of_their_metric(text, limit):
    assert condition(text).limit == pytest.approx(limit, rel=1e-12)
    # Its own text is the same condition again.
    assert condition(str(condition(text))) == condition(text)


def test_margins_by_hand():
    assert condition("loss <= 1%").margin(0.004) == pytest.approx(0.006)
    assert condition("mos >= 4").margin(3.5) == -0.5
    assert condition("loss <= 1%").margin(0.01) == 0
    assert condition("loss < 1%").margin(0.01) < 0
    assert condition("dropped == 0").margin(0) == 0
    assert condition("dropped == 0").margin(1) == float("-inf")
    assert condition("loss <= 1%").margin(float("nan")) == float("-inf")


@pytest.mark.parametrize("text", ["", "loss = 1%", "loss <= <= 1%", "loss <= 1% 2", "<= 1", "x: y"])
def test_texts_that_are_no_conditions(text):
    with pytest.raises(ConditionError):
        condition(text)


def texts(values: Values) -> list[str]:
    return [values.text(at) for at in range(values.count)]


def test_values_are_those_of_the_range_the_easiest_first():
    assert texts(values_of(1, 4, None, is_rising=True)) == ["1", "2", "3", "4"]
    assert texts(values_of(1, 8, 3, is_rising=False)) == ["7", "4", "1"]
    assert texts(values_of(0.1, 0.4, 0.1, is_rising=True)) == ["0.1", "0.2", "0.3", "0.4"]
    assert values_of("1 Mb/s", "2 Mb/s", None, is_rising=True).count == 101
    mixed = values_of("500 us", "2 ms", "0.5 ms", is_rising=True)
    assert texts(mixed) == ["0.5 ms", "1 ms", "1.5 ms", "2 ms"]


@pytest.mark.parametrize(
    ("first", "last", "step", "key"),
    [
        (1, 1, None, "to"),
        (5, 1, None, "to"),
        (1, "5 B", None, "to"),
        ("1 B", "5 s", None, "to"),
        (1, 5, 7, "step"),
        (1, 5, -1, "step"),
        (1, 10**10, None, "step"),
        ("1 parsec", "2 parsec", None, "from"),
    ],
)
def test_ranges_without_values_are_refused_by_their_key(first, last, step, key):
    with pytest.raises(RangeError) as caught:
        values_of(first, last, step, is_rising=True)
    assert caught.value.key == key
