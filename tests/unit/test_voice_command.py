"""`ethermeter model` of voice: what it prints, and what it says of values it cannot use."""

import json

import numpy as np
import pytest
from ethermeter import voice
from ethermeter.api.model import model
from ethermeter.faults import InputError
from ethermeter.models.evaluation import Evaluation
from program import Ended, invoke


def run(*words: str) -> Ended:
    return invoke("model", *words)


def points(*words: str) -> list[dict[str, dict[str, float]]]:
    found: list[dict[str, dict[str, float]]] = json.loads(run(*words, "--json").stdout)["points"]
    return found


@pytest.mark.usefixtures("wide")
def test_an_unimpaired_call_is_rated_with_defaults():
    lines = run("emodel", "delay=0").stdout.splitlines()
    assert lines[0].split()[-6:] == ["r", "mos", "ro", "is", "id", "ie_eff"]
    assert lines[1].split()[-6:] == ["93.2062", "4.40941", "94.7688", "1.41357", "0.149046", "0"]


def test_json_has_every_combination_with_its_units():
    found = json.loads(
        run("emodel", "delay=0 ms..400 ms/3", "loss=0,2%", "codec=g711-plc", "--json").stdout
    )
    assert found["fixed"] == {"codec": "g711-plc"}
    assert found["units"]["delay"] == "s"
    assert [(p["given"]["delay"], p["given"]["loss"]) for p in found["points"]] == [
        (d, p) for d in (0, 0.2, 0.4) for p in (0, 0.02)
    ]
    expected = voice.e_model([[0.0], [0.2], [0.4]], [0.0, 0.02], codec="g711-plc").mos.reshape(-1)
    assert [p["found"]["mos"] for p in found["points"]] == expected.tolist()


def test_a_wanted_score_gives_the_largest_loss_and_delay():
    (found,) = (
        p["found"] for p in points("emodel", "delay=150 ms", "loss=2%", "codec=g729a", "wanted=3.6")
    )
    assert found["largest_loss"] == voice.largest_loss(3.6, delay_s=0.15, codec="g729a").value
    assert found["largest_delay"] == voice.largest_delay(3.6, loss=0.02, codec="g729a").value
    (never,) = (p["found"] for p in points("emodel", "wanted=4.45"))
    assert (never["largest_loss"], never["largest_delay"]) == (None, None)


def test_the_simple_form_and_other_parameters_are_at_hand():
    assert (
        points("cole-rosenbluth-2001", "delay=0.1")[0]["found"]["r"]
        == voice.cole_rosenbluth_2001(0.1, 0.0).r
    )
    by_symbol, by_name = (
        points("emodel", "delay=30 ms", f"{name}=45") for name in ("TELR", "talker_echo_db")
    )
    assert by_symbol == by_name
    assert (
        by_symbol[0]["found"]["r"]
        == voice.e_model(0.03, 0.0, connection=voice.Connection(talker_echo_db=45.0)).r
    )


@pytest.mark.usefixtures("wide")
def test_what_is_outside_the_range_is_cautioned():
    lines = run("emodel", "delay=400 ms,600 ms").stdout.splitlines()
    assert "outside" not in lines[1]
    assert lines[2].endswith("outside-model-range")
    assert lines[-1].startswith("outside-model-range: ")


@pytest.mark.usefixtures("wide")
def test_codecs_are_listed_with_source_and_confidence():
    found = json.loads(run("codecs", "--json").stdout)["data"]
    assert [codec["name"] for codec in found] == list(voice.CODECS)
    assert all(codec["source"] and codec["confidence"] for codec in found)
    assert [codec["ie"] for codec in found if codec["name"] == "opus"] == [None]
    shown = run("codecs").stdout
    listed = shown[shown.index("look-ahead ms") :].splitlines()[1 : len(voice.CODECS) + 1]
    assert [line.split()[0] for line in listed] == list(voice.CODECS)
    assert "from memory" in shown


def test_codecs_are_cut_into_packets():
    words = (
        *("codecs", "codec=g711,g729a", "packet=10 ms,20 ms", "network=2 ms"),
        "jitter_buffer=40 ms",
    )
    found = json.loads(run(*words, "--json").stdout)
    assert found["fixed"] == {"standard": "ieee-10", "ip": "ipv4"}
    assert [point["given"]["codec"] for point in found["points"]] == [
        *("g711", "g711", "g729a", "g729a"),
    ]
    assert [point["found"]["frame_octets"] for point in found["points"]] == [138, 218, 68, 78]
    assert found["points"][3]["found"]["mouth_to_ear"] == pytest.approx(0.02 + 0.005 + 0.002 + 0.04)
    assert "218" in run(*words).stdout


def test_parameters_of_a_connection_can_vary_too():
    found = json.loads(run("emodel", "delay=30 ms", "TELR=45,50", "--json").stdout)
    assert [point["given"]["TELR"] for point in found["points"]] == [45, 50]
    assert found["points"][0]["found"]["r"] < found["points"][1]["found"]["r"]


def test_talkers_and_calls_are_counted():
    assert points("talkers", "talkers=10", "room=7")[0]["found"]["exceeding"] == pytest.approx(
        0.0122945536
    )
    assert points("talkers", "talkers=10", "exceeding=1%")[0]["found"] == {"room": 8}
    assert points("talkers", "room=7", "exceeding=0.02", "activity=0.4")[0]["found"] == {
        "talkers": 10
    }
    assert points("erlang", "offered=1", "circuits=1..2")[1]["found"] == pytest.approx(
        {"blocking": 0.2, "carried": 0.8}
    )
    assert points("erlang", "blocking=50%", "circuits=1")[0]["found"] == pytest.approx(
        {"offered": 1.0}
    )
    assert points("erlang", "offered=1", "blocking=0.2")[0]["found"] == {"circuits": 2}
    assert "doubtful" in run("talkers", "talkers=10", "room=7").stdout


def test_the_pattern_gives_the_activity_unless_that_is_given():
    words = ("talkers", "talkers=10", "room=7", "--json")
    by_pattern = json.loads(run(*words, "pattern=p59").stdout)
    assert by_pattern["fixed"] == {"pattern": "p59"}
    assert list(by_pattern["confidence"]) == ["p59"]
    assert by_pattern["points"][0]["given"]["activity"] == voice.PATTERNS["p59"].activity
    assert json.loads(run(*words, "activity=0.4").stdout)["fixed"] == {}


def test_rows_have_what_varies_and_what_is_found():
    lines = run("erlang", "offered=1", "circuits=1..2", "--csv").stdout.splitlines()
    assert lines == [
        "offered,circuits,blocking,carried,cautions",
        "1.0,1.0,0.5,0.5,",
        "1.0,2.0,0.2,0.8,",
    ]
    assert run("--csv").stdout.splitlines()[0] == "name,title,year"


def test_python_takes_numbers_and_texts():
    by_numbers = model("erlang", {"offered": [1, 2], "circuits": 40})
    by_texts = model("erlang", {"offered": "1,2", "circuits": "40"})
    assert by_numbers == by_texts
    assert isinstance(by_numbers, Evaluation)
    assert [point.given["offered"] for point in by_numbers.points] == [1, 2]
    array = model("emodel", {"delay": np.array([0.1, 0.2]), "loss": ["1%", 0.02]})
    assert isinstance(array, Evaluation)
    assert len(array.points) == 4
    with pytest.raises(InputError, match=r"arguments: offered = \[-1\]: a number from 0"):
        model("erlang", {"offered": [-1], "circuits": 1})


def test_every_fault_is_named_at_once():
    assert len(run("emodel", "delay=x", "loss=y", "burst_ratio=0").stderr.splitlines()) == 3
