"""How many calls fit between hosts of a network: by hand, beside other traffic, and what cannot be
asked.
"""

import json
import math
from pathlib import Path
from typing import Any

import ethermeter as em
import pytest
from ethermeter.calls import BetweenHosts, Question, Wanted, pairs_of
from ethermeter.experiment import of_tables
from ethermeter.faults import InputError
from ethermeter.strategies import answered
from ethermeter.strategies.calls import CallSearch
from program import invoke

NETWORK = em.network(
    title="Two hosts at each end of a slow link",
    rate="100 Mb/s",
    hosts=[em.host("left", count=2), em.host("right", count=2)],
    switches=["s", "t"],
    links=[("left", "s"), ("right", "t"), em.link("s", "t", rate="2 Mb/s")],
    flows=em.flow("load", "left1", "right1", frames="1518 B", arrivals={"regular": "1000 s"}),
    phases={"transmit": "2 s", "measure": "last 1 s"},
    run={"engines": ["simulation"]},
)
# G.711 of 20 ms: 218 octets of frame, 8 of preamble and 12 of gap are 238 octets, 0.952 ms at 2
# Mb/s, each 20 ms and way.
ROOM = 21


HALF = {"network.links.2.half_duplex": True}
BUSY = {"flows.0.arrivals.regular": "12304 us"}


def asked(changes=None, *, callers="left1", called="right1", **more: Any) -> Question:
    found = of_tables(NETWORK.changed(changes))
    pairs = pairs_of(found.document, found.path, callers=callers, called=called)
    speech = {"codec": "g711", "packet_s": 0.02, "duration_s": 1.0, "replications": 2}
    return Question(BetweenHosts(found.document, found.path, pairs), **(speech | more))


def test_a_full_duplex_link_carries_as_many_calls_as_packets_fit_into_their_interval():
    found = answered(CallSearch(asked(), Wanted(loss=0.0, delay_s=0.2)))
    assert math.floor(20 / 0.952) == ROOM
    assert (found.calls, found.is_limited_by_stations) == (ROOM, True)


def test_a_half_duplex_link_carries_half_as_many_and_streams_of_one_way_as_many_again():
    question = asked(HALF)
    assert question.most == ROOM // 2
    assert asked(HALF, talkers=1).most == ROOM
    assert answered(CallSearch(question, Wanted(mos=4.0))).calls <= ROOM // 2


def test_other_traffic_of_the_file_takes_its_room():
    # 1538 octets each 12.304 ms are 1 Mb/s, half of the link towards the right: ten calls of 95.2
    # kb/s are left.
    found = answered(CallSearch(asked(BUSY), Wanted(loss=0.0, delay_s=0.2)))
    assert found.calls == 10
    over = next(each for each in found.tried if each.calls == 11)
    # More than the link carries: enough for a short trial, and no answer, for delays grow as long
    # as it lasts.
    assert over.cautions == ("unbounded-queue",)
    assert found.possible == 10


def test_a_number_beside_which_a_limited_queue_still_grows_is_not_decided():
    # Eleven calls and 1 Mb/s are 2.047 Mb/s; the surplus of about 20 frames a second fills a room
    # of 1000 in 50 s. Nothing is lost in trials of a second, and nothing says what is after them.
    room = {**BUSY, "network.switches.0": em.switch("s", queue=1000)}
    found = answered(CallSearch(asked(room), Wanted(loss=0.0, delay_s=0.2)))
    over = next(each for each in found.tried if each.calls == 11)
    assert over.cautions == ("growing-queue",)
    assert over.loss.value == 0
    assert (found.calls, found.sure) == (10, 10)
    assert found.possible >= 11


def test_the_worse_direction_counts():
    # Back from right to left nothing is in the way, and still no more than ten calls fit.
    one_way = asked(BUSY, callers="right1", called="left1", talkers=1)
    assert answered(CallSearch(one_way, Wanted(loss=0.0, delay_s=0.2))).calls == ROOM
    both = asked(BUSY, callers="right1", called="left1")
    assert answered(CallSearch(both, Wanted(loss=0.0, delay_s=0.2))).calls == 10


def test_calls_go_round_the_hosts_of_groups():
    question = asked(callers="left", called="right")
    assert question.venue.pairs == (("left1", "right1"), ("left2", "right2"))
    flows = [(flow["from"], flow["to"]) for flow in question.document(3)["flows"][1:]]
    assert flows[0::2] == [("left1", "right1"), ("left2", "right2"), ("left1", "right1")]
    assert flows[1::2] == [(to, source) for source, to in flows[0::2]]
    among = asked(callers="left", called="left")
    assert among.venue.pairs == (("left1", "left2"), ("left2", "left1"))
    assert asked(callers="left1", called="right").venue.pairs == (
        ("left1", "right1"),
        ("left1", "right2"),
    )


@pytest.mark.parametrize(
    ("callers", "called", "fault"),
    [
        ("nobody", "right1", 'source = "nobody": expected a host or a group of hosts'),
        ("left1", "s", 'to = "s": expected a host or a group of hosts'),
        ("left1", "left1", 'to = "left1": expected another host than left1'),
    ],
)
def test_hosts_that_cannot_call_each_other_are_refused(callers, called, fault):
    with pytest.raises(InputError) as caught:
        asked(callers=callers, called=called)
    assert fault in str(caught.value)


@pytest.fixture(autouse=True)
def _own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep runs out of the directory in which the tests run."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("wide")
def test_the_answer_says_what_it_is_for_and_what_to_doubt(tmp_path):
    words = (NETWORK.changed(BUSY).save(tmp_path / "network.toml"), "from=left1", "to=right1")
    words += ("loss=0.1%", "delay=200 ms", "duration=1 s", "replications=2")
    code, text, _ = invoke("find", "calls", *words)
    assert code == 0
    lines = text.splitlines()
    assert (
        "10 calls of g711: at most 0.1% lost or late, 200 ms mouth-to-ear delay, "
        "on the mean of 2 trials"
    ) in lines
    path = "left1–s 100 Mb/s full duplex, s–t 2 Mb/s full duplex, t–right1 100 Mb/s full duplex"
    assert f"left1 to right1 over {path}; beside 1 other flow" in lines
    assert any(line.startswith("[a] unbounded-queue: ") for line in lines)
    assert any(line.startswith("11[a] ") for line in lines)
    answer = json.loads(invoke("find", "calls", *words, "--json")[1])
    assert (answer["calls"], answer["pairs"]) == (10, [["left1", "right1"]])
    assert {each["calls"]: each["cautions"] for each in answer["tried"]}[11] == ["unbounded-queue"]


@pytest.mark.usefixtures("wide")
def test_an_answer_about_a_standard_says_that_it_is_of_one_half_duplex_segment():
    words = ("ieee-100", "codec=g729", "packet=60 ms", "mos=3.5")
    words += ("duration=100 ms", "replications=1")
    code, text, _ = invoke("find", "calls", *words)
    assert code == 0
    assert (
        "on one shared segment of 100 Mb/s, half duplex (CSMA/CD): ieee-100, round "
        "trip 5.12 us; without other traffic"
    ) in text
    assert (
        "one shared segment" in json.loads(invoke("find", "calls", *words, "--json")[1])["subject"]
    )


def test_the_experiment_of_the_answer_can_be_run(tmp_path):
    file = tmp_path / "found.toml"
    words = (NETWORK.save(tmp_path / "network.toml"), "from=left", "to=right")
    words += ("duration=500 ms", "replications=1")
    code, _, said = invoke("find", "calls", *words, "--write", str(file))
    assert code == 0, said
    assert invoke("validate", file).returncode == 0
