"""What theories see of an experiment, which of them apply, and the worlds they are compared in;
against hand calculation.
"""

import math

import ethermeter as em
import msgspec
import pytest
from ethermeter import _core
from ethermeter.engines.answer import answer
from ethermeter.entities import constants_of, medium_of
from ethermeter.faults import InputError
from ethermeter.metrics import Caution, Metric
from ethermeter.theory.ablation import steps
from ethermeter.theory.assumptions import MODELS
from ethermeter.theory.idealised import ideal
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES, applicable, judge, judge_all
from ethermeter.theory.simplifications import Simplification
from ethermeter.trial import core_trial
from shared_experiments import SEGMENT, trials

US = 1e-6
ASKED = {"engines": ["theory"]}


def told(
    segment=(("round_trip", "12 us"), ("clusters", 2)), theory=None, count=4, frames="64 B", **keys
):
    """First trial of an experiment for theories."""
    stations = em.stations(count=count, frames=frames, **{"arrivals": "saturated", **keys})
    return trials(
        em.segment("dix-10", **dict(segment), stations=stations, theory=theory, run=ASKED)
    )[0]


def seen(**keys):
    trial = told(**keys)
    return model_inputs(trial.scenario, trial.assumptions()), trial.scenario


def test_every_model_that_experiments_may_name_has_an_entry():
    assert tuple(ENTRIES) == MODELS


def test_a_situation_counts_preamble_and_gap_with_the_packet():
    # 64 B with FCS, 8 B preamble, 12 B gap: 84 B of 0.8 us.
    inputs, _ = seen()
    assert inputs.packet_s == pytest.approx(67.2 * US, rel=1e-12)
    assert inputs.overhead_bits == 160
    assert inputs.propagation_s == pytest.approx(6 * US)
    assert inputs.contention_slot_s == pytest.approx(12 * US)
    # Preamble of 6.4 us, jam of 3.2 us, 6 us until the other end has heard the end, 9.6 us of gap.
    assert inputs.collision_s == pytest.approx(25.2 * US)
    assert inputs.packet_slots == 11
    assert inputs.collision_slots == round(25.2 / (67.2 / 11))
    assert inputs.thinking_s is None
    assert not inputs.equally_far


def test_the_slot_of_the_standard_can_be_the_contention_slot():
    for slot, expected_s in (("slot time", 51.2 * US), ("20 us", 20 * US)):
        inputs, _ = seen(theory={"contention_slot": slot})
        assert inputs.contention_slot_s == pytest.approx(expected_s)


def test_poisson_loads_add_up_and_mixes_count_by_frames():
    inputs, _ = seen(frames="64 B x 3 + 1518 B x 1", arrivals={"poisson_load": 0.4})
    assert inputs.load == pytest.approx(0.4, rel=1e-6)
    assert inputs.packet_s == pytest.approx((3 * 67.2 + 1230.4) / 4 * US, rel=1e-9)


def test_models_of_saturation_apply_to_saturated_stations_and_say_why_else_not():
    inputs, _ = seen()
    assert applicable(inputs) == ("metcalfe-boggs-1976",)
    assert judge("lam-1980", inputs).obstacles == ("needs Poisson arrivals; they are saturated",)
    assert {verdict.model: verdict.applies for verdict in judge_all(inputs)}["metcalfe-boggs-1976"]


def test_no_theory_applies_to_stations_that_send_in_calls():
    sending = {"arrivals": {"poisson": "100 /s"}}
    assert applicable(seen(**sending)[0])
    with pytest.raises(InputError, match=r"they send in calls, which come and go \(16 models\)"):
        seen(**sending, calls={"every": "1 s", "duration": "2 s"})


def test_differences_name_what_is_there():
    verdict = judge("metcalfe-boggs-1976", seen()[0])
    assert verdict.differences[Simplification.KNOWN_QUEUE].endswith("here exponential backoff")
    assert "160 bit" in verdict.differences[Simplification.NO_OVERHEAD]
    assert Simplification.ALWAYS_READY not in verdict.differences
    assert verdict.cautions == ()


def test_a_host_that_cannot_keep_up_is_outside_the_range_of_saturation():
    verdict = judge("metcalfe-boggs-1976", seen(count=2, service="68 us")[0])
    assert verdict.cautions == (Caution.OUTSIDE_MODEL_RANGE,)
    assert verdict.differences[Simplification.ALWAYS_READY].endswith("68 µs between two")


def test_metcalfe_and_boggs_as_in_the_table_of_1988():
    # THEORY.md, section 1: 24 stations, 64 B without FCS charged with 24 B, T = 12 us: 0.779; 51.2
    # us: 0.453.
    stations = {"count": 24, "frames_include_fcs": False}
    values = judge("metcalfe-boggs-1976", seen(**stations)[0]).values
    assert values[Metric.UTILISATION] == pytest.approx(0.779, abs=5e-4)
    assert values[Metric.TRANSMISSION_DELAY] == pytest.approx(24 / values[Metric.PACKET_RATE])
    inputs, _ = seen(**stations, theory={"contention_slot": "slot time"})
    slow = judge("metcalfe-boggs-1976", inputs).values
    # Its table has 0.453 for packets that are charged as in the study.
    assert slow[Metric.UTILISATION] == pytest.approx(
        70.4 / (70.4 + 51.2 * ((1 - 1 / 24) ** -23 - 1)), rel=1e-12
    )


def test_another_protocol_carries_its_caution():
    inputs, _ = seen(count=9, frames="512 B", arrivals={"poisson_load": 0.5})
    assert judge("bux-1981-token-ring", inputs).cautions == (Caution.OTHER_PROTOCOL,)
    assert judge("tobagi-hunt-1980-non-persistent", inputs).cautions == (Caution.OTHER_PROTOCOL,)
    assert judge("lam-1980", inputs).cautions == ()


def test_a_load_that_no_medium_carries_has_no_delay_and_says_so():
    inputs, _ = seen(count=9, arrivals={"poisson_load": 0.99})
    verdict = judge("lam-1980", inputs)
    assert math.isnan(verdict.values[Metric.RESPONSE_TIME])
    assert verdict.cautions == (Caution.OUTSIDE_MODEL_RANGE,)
    almes = judge("almes-lazowska-1979", inputs)
    assert almes.values[Metric.UTILISATION] == pytest.approx(67.2 / (67.2 + (math.e - 1) * 12))


def test_a_theory_of_attempts_carries_what_arrives():
    inputs, scenario = seen(count=9, frames="512 B", arrivals={"poisson_load": 0.5})
    values = judge("tobagi-hunt-1980-one-persistent", inputs).values
    assert values[Metric.UTILISATION] == pytest.approx(0.5, rel=1e-9)
    world = ideal("tobagi-hunt-1980-one-persistent", inputs, scenario)
    per_slot = medium_of(world.scenario).mac.slotted.population.infinite.attempts_per_slot
    # Each frame is sent G / S times.
    assert per_slot * inputs.packet_slots / 0.5 == pytest.approx(
        values[Metric.ATTEMPTS_PER_FRAME], rel=1e-9
    )


THINKS = {"service": {"exponential": {"offset": "0 s", "mean": "50 ms"}}}
WITHOUT_A_WORLD = ("bux-1981-csma-cd", "boxma-meister-1987", "boxma-groenendijk-1988", "plca-2019")


@pytest.mark.parametrize("model", [model for model in MODELS if model not in WITHOUT_A_WORLD])
def test_the_bits_of_a_world_are_those_of_the_frames_again(model):
    keys = {"arrivals": {"poisson_load": 0.3}}
    if model == "metcalfe-boggs-1976":
        keys = {}
    elif "finite" in model or model.startswith("coyle"):
        keys = THINKS
    elif model == "tasaka-1986":
        keys["queue"] = 4
    theory = {"sensing_interval": "5 ms", "persistence": 0.5}
    inputs, scenario = seen(count=9, frames="1518 B", theory=theory, **keys)
    assert model in applicable(inputs)
    world = ideal(model, inputs, scenario)
    medium = medium_of(world.scenario)
    length = world.scenario.flows[0].frames.bits
    bits = length * world.frame_bits - world.overhead_bits
    packet_ps = length * medium.bit_ps
    slots = inputs.packet_slots if medium.mac.slotted else 1
    # A slot is rounded to a picosecond; a packet of some slots is off by half of one each.
    assert packet_ps == pytest.approx(inputs.packet_s * 1e12, abs=slots / 2)
    assert bits == pytest.approx(1518 * 8, abs=slots / 2 / 100_000)
    line = core_trial(msgspec.Raw(msgspec.json.encode(world.scenario)))
    assert _core.check_trial(line) == []


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        ("metcalfe-boggs-1976", {"service": "80 us"}),
        ("metcalfe-boggs-1976", {}),
        ("lam-1980", {"arrivals": {"poisson_load": 0.3}}),
        ("coyle-liu-1983", THINKS),
    ],
)
def test_the_last_step_is_the_experiment_itself(model, keys):
    theory = {"sensing_interval": "5 ms"}
    inputs, scenario = seen(count=9, frames="512 B", theory=theory, **keys)
    way = steps(model, inputs)
    assert len(way) >= 4
    last = way[-1].make(inputs, scenario)
    assert last.scenario == scenario
    # Every step changes something, or it would be none.
    worlds = [step.make(inputs, scenario).scenario for step in way]
    assert len(set(worlds)) == len(worlds)


def test_what_the_steps_give_up_is_what_the_model_assumes():
    inputs, _ = seen(count=9, frames="512 B", service="80 us")
    given_up = {
        assumption for step in steps("metcalfe-boggs-1976", inputs) for assumption in step.gives_up
    }
    assert set(ENTRIES["metcalfe-boggs-1976"].assumes) <= given_up


def test_without_overhead_a_packet_is_as_long_as_before():
    inputs, scenario = seen(count=9)
    world = next(
        step for step in steps("metcalfe-boggs-1976", inputs) if step.name == "slotted"
    ).make(inputs, scenario)
    mac, bits = constants_of(world.scenario), world.scenario.flows[0].frames.bits
    assert bits + mac.gap_bits + mac.preamble_bits == 672
    assert bits - world.overhead_bits == 512
    assert medium_of(world.scenario).delay_ps == ((6_000_000,),)
    assert mac.slot_bits == 120


TURNAROUND = em.segment(
    "experimental-3",
    title="t",
    length="550 m",
    turnaround="15 us",
    gap="0 bit",
    stations=em.stations(count=4, frames="128 B", arrivals="saturated"),
    phases={"transmit": "20 ms", "measure": "all"},
    run={"engines": ["simulation", "theory", "idealised", "ablation"]},
)


def test_no_theory_knows_of_a_turnaround_time_and_each_says_so():
    found = trials(TURNAROUND)
    assert {trial.engine.split("/")[0] for trial in found} == set(TURNAROUND["run"]["engines"])
    for trial in found:
        assert answer(trial.line).is_known
    trial = next(trial for trial in found if trial.engine.startswith("theory/"))
    scenario, inputs = trial.scenario, model_inputs(trial.scenario, trial.assumptions())
    assert (
        "15 µs of turnaround time"
        in judge("metcalfe-boggs-1976", inputs).differences[Simplification.NO_OVERHEAD]
    )
    mac = medium_of(ideal("metcalfe-boggs-1976", inputs, scenario).scenario).mac
    assert mac.csma_cd is None
    way = {
        step.name: constants_of(step.make(inputs, scenario).scenario).turnaround_ps
        for step in steps("metcalfe-boggs-1976", inputs)[1:]
    }
    assert (way["slotted"], way["no-overhead"]) == (0, 15_000_000)


def test_no_theory_applies_to_voice_and_a_frame_of_it_counts_with_the_shortest_length():
    coder = {"sample": "16 bit", "every": "152.32 us", "talk": "1 s", "silence": "3 s"}
    samples = {"least": "65 B", "most": "1024 B", "overhead": "6 B"}
    talkers = {"stations.0.frames": {"samples": samples}, "stations.0.arrivals": {"coder": coder}}
    scenario = trials(TURNAROUND.changed(talkers, run=None))[0].scenario
    inputs = model_inputs(scenario, told().assumptions())
    assert not [verdict.model for verdict in judge_all(inputs) if verdict.applies]
    # 59 B are 30 samples of 16 bit; four stations talk a quarter of the time.
    assert inputs.arrival_rate == pytest.approx(4 / 4 / (30 * 152.32e-6))
    assert inputs.packet_s == pytest.approx((65 * 8 + 1) * 0.34e-6)


def test_no_theory_applies_where_stations_wait_for_others_of_higher_priority():
    for wait, applies in (("0 us", True), ("51.2 us", False)):
        waiting = TURNAROUND.changed({"stations.0.priority_wait": wait}, run=None)
        inputs = model_inputs(trials(waiting)[0].scenario, told().assumptions())
        verdicts = judge_all(inputs)
        assert any(verdict.applies for verdict in verdicts) == applies
        assert all(
            any("priority waits" in text for text in verdict.obstacles) for verdict in verdicts
        ) == (not applies)


def test_a_model_that_applies_only_somewhere_answers_there():
    poisson = SEGMENT.changed({"stations.0.arrivals": {"poisson_load": 0.3}}, run=ASKED)
    theory = {"models": ["tasaka-1986"], "sensing_interval": "1 ms"}
    vary = {"stations.queue": ["unlimited", 1, 4]}
    found = trials(poisson.changed(theory=theory, vary=vary))
    assert [trial.point["stations.queue"] for trial in found] == ["1", "4"]
    # A segment without any distance is refused by models that need it.
    near = poisson.changed({"segment.length": None, "segment.delays": [["0 us"]]})
    engines = {trial.engine for trial in trials(near)}
    assert engines == {"theory/almes-lazowska-1979", "theory/bux-1981-token-ring"}
