"""Capacity of networks by hand: whether it fits, what limits it, and the headroom by kind."""

import math
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.analysis.capacity import Capacity, capacities
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.present.capacity import sentence, summary
from program import invoke
from shared_experiments import pair, trials
from sites import SITE

# On the wire 172 + 28 + 18 + 20 = 238 octets each 20 ms, 1538 octets each 2 ms.
CALL_BPS = 238 * 8 / 20e-3
CAMERA_BPS = 1538 * 8 / 2e-3


def of(experiment: ExperimentTables) -> Capacity:
    (found,) = capacities(trials(experiment))
    return found


def site(folder: Path, cameras: int) -> Path:
    file = folder / "site.toml"
    file.write_text(SITE.format(cameras=cameras), encoding="utf-8")
    return file


def test_a_network_that_does_not_fit_says_so_first_with_offered_load_and_kinds(tmp_path):
    # 16 cameras of 6.152, a backup of 32 and 30 calls of 0.0952 Mb/s: 133.3 Mb/s of 100.
    offered = 16 * CAMERA_BPS + 32e6 + 30 * CALL_BPS
    assert offered == pytest.approx(133.29e6, rel=1e-4)
    ended = invoke("run", site(tmp_path, 16), "--no-report", "--out", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    first = " ".join(ended.stdout.split("flows ")[0].split())
    assert first.startswith(
        "Does not fit: wire floor → core is offered 133.3 Mb/s of 100 (cameras 98.4, backups 32, "
        "calls 2.86); its queue is full after"
    )
    assert first.endswith("full at 0.7503 times this load.")


def test_headroom_by_kind_by_hand(tmp_path):
    experiment = em.load(site(tmp_path, 9))
    (found,) = capacities(experiment.plan().trials)
    calls, cameras, backups = 30 * CALL_BPS, 9 * CAMERA_BPS, 32e6
    assert found.verdict == "fits"
    assert found.load == pytest.approx((calls + cameras + backups) / 100e6)
    assert found.scale == pytest.approx(1 / found.load)
    assert {kind.name: kind.flows for kind in found.kinds} == {
        "cameras": 9,
        "backups": 1,
        "calls": 30,
    }
    wanted = {
        "cameras": (100e6 - calls - backups) / cameras,
        "backups": (100e6 - calls - cameras) / backups,
        "calls": (100e6 - cameras - backups) / calls,
    }
    assert {kind.name: kind.headroom for kind in found.kinds} == pytest.approx(wanted)
    # The calls of a telephone could fill its own wire only later than the uplink.
    assert {kind.limit for kind in found.kinds} == {"wire floor → core"}


def test_a_kind_may_be_limited_elsewhere_than_the_busiest_resource():
    found = of(
        em.network(
            rate="100 Mb/s",
            hosts=["a", "b", "c", "d"],
            switches=["device"],
            links=[("a", "device"), ("b", "device"), ("c", "device"), ("d", "device")],
            flows=[
                em.flow("fast", "a", "b", data="1472 B", arrivals={"regular": "200 us"}),
                em.flow("slow", "c", "d", data="1472 B", arrivals={"regular": "1 ms"}),
            ],
        )
    )
    # 1538 octets take 123.04 µs.
    kinds = {kind.name: kind for kind in found.kinds}
    assert found.load == pytest.approx(0.6152)
    assert kinds["fast"].headroom == pytest.approx(1 / 0.6152)
    assert kinds["slow"].headroom == pytest.approx(1 / 0.12304)
    assert kinds["slow"].load == 0
    assert kinds["slow"].limit in ("wire c → device", "wire device → d")


def test_flows_that_take_what_is_left_have_no_share_and_are_named():
    found = of(
        em.network(
            rate="100 Mb/s",
            hosts=["a", "b"],
            links=[("a", "b")],
            flows=[
                em.flow("calls", "a", "b", data="172 B", arrivals={"regular": "20 ms"}),
                em.flow("copy", "a", "b", transfer={"stream": {}, "tcp": {"window": "64 kB"}}),
            ],
        )
    )
    assert found.uncounted == ("copy",)
    assert sentence(found).endswith("without copy, which take what is left.")


def test_a_source_that_always_has_a_message_has_no_scale():
    found = of(
        em.network(
            rate="100 Mb/s",
            hosts=["a", "b"],
            links=[("a", "b")],
            flows=[em.flow("all", "a", "b", data="1472 B", arrivals="saturated")],
        )
    )
    assert found.load == pytest.approx(1)
    assert math.isnan(found.scale)
    assert "some flows always have a next message" in sentence(found)


def test_points_are_counted_and_the_fullest_is_named(tmp_path):
    experiment = em.load(
        site(tmp_path, 9), overrides={"vary": {"network.hosts.camera.count": [9, 10, 11, 16]}}
    )
    found = capacities(experiment.plan().trials)
    # Of 100 Mb/s calls and backups leave 65.14, which is 10.6 cameras.
    assert [each.verdict for each in found] == ["fits", "fits", "does not fit", "does not fit"]
    assert summary(found).startswith(
        "Fits at 2 of 4 points. Fullest, at network.hosts.camera.count = 16: Does not fit:"
    )


def test_a_shaper_that_lets_less_pass_than_it_is_offered():
    # 1250 octets at 6 Mb/s are 600 messages a second of 1000.
    found = of(
        pair(
            em.flow(
                "f",
                "a",
                "b",
                frames="1230 B",
                arrivals={"regular": "1 ms"},
                shaper={"rate": "4.8 Mb/s", "burst": "10 kB"},
            )
        )
    )
    assert found.verdict == "does not fit"
    assert sentence(found).startswith(
        "Does not fit: shaper of flow 'f' is offered 2.083 times what it lets pass; its queue has"
    )
    assert found.scale == pytest.approx(0.48)
    assert found.kinds[0].headroom == pytest.approx(0.48)


def test_a_class_may_be_full_beside_its_idle_slope_before_the_wire_is():
    found = of(
        em.network(
            rate="100 Mb/s",
            hosts=["a", "b", "c"],
            switches=[
                em.switch(
                    "s",
                    classes=[
                        {"priorities": [6, 7], "idle_slope": "20 Mb/s"},
                        {"priorities": [0, 1, 2, 3, 4, 5]},
                    ],
                ),
            ],
            links=[("a", "s"), ("b", "s"), ("s", "c")],
            flows=[
                em.flow("video", "a", "c", data="1472 B", arrivals={"regular": "1 ms"}, priority=7),
                em.flow("rest", "b", "c", data="1472 B", arrivals={"regular": "1 ms"}),
            ],
        )
    )
    video = next(kind for kind in found.kinds if kind.name == "video")
    # 1538 octets in 1 ms are 12.304 of 20 Mb/s.
    assert video.headroom == pytest.approx(20 / 12.304, rel=0.02)
    assert video.limit == "wire s → c"
