"""Offered load of networks before any trial, by hand: what is offered more than it carries."""

import math

import ethermeter as em
import pytest
from ethermeter.experiment import load, shipped
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.scenario import Scenario
from ethermeter.theory.load import Loads, Overload, loads_of
from shared_experiments import scenario


def loads(experiment: ExperimentTables) -> Loads:
    return loads_of(scenario(experiment))


def only(experiment: ExperimentTables, flow: int = 0) -> Overload:
    """Return the one overload of a flow."""
    (found,) = loads(experiment).overloads[flow]
    return found


def office(classes: int, **overrides: object) -> Scenario:
    values = [f"network.classes={classes}", *(f"{key}={of}" for key, of in overrides.items())]
    return load(shipped()["office"], overrides=values).scenarios.at((0,))


def backups(rate: str) -> dict[str, object]:
    return {"flows.backup.arrivals.token_bucket.rate": rate}


def test_the_uplink_of_the_office_by_hand():
    # On the wire a backup is 1472 + 28 + 22 octets with a tag, and 20 around them; of it the bucket
    # has the rate. A call is 172 + 28 + 22 + 20 = 242 octets each 20 ms; a picture of 16 kB ten
    # fragments of 1480 + 20 + 22 + 20 = 1542 octets and one of 1208 + 20 + 22 + 20 = 1270, each
    # 33.3 ms.
    others_bps = 4 * 242 * 8 / 20e-3 + 3 * (10 * 1542 + 1270) * 8 / 33.3e-3
    for mbps, is_over in ((43, False), (44, True)):
        found = loads_of(office(1, **backups(f"{mbps} Mb/s")))
        fullest = found.resources[0]
        expected = (2 * mbps * 1e6 + others_bps) / 100e6
        assert (fullest.resource, fullest.load) == ("wire floor → core", pytest.approx(expected))
        assert (expected > 1) == is_over
        assert all(bool(of_flow) == is_over for of_flow in found.overloads)
        assert found.is_open
    ((over,), *_) = found.overloads
    assert over.load == pytest.approx(1.00416, abs=5e-6)
    # Without the 20 octets around each frame, of what is not carried, in a room of 400 kB.
    octets_per_s = (88e6 * 1522 / 1542 + 4 * 222 * 8 / 20e-3 + 3 * 16470 * 8 / 33.3e-3) / 8
    fill_s = 400e3 / (octets_per_s * (1 - 1 / expected))
    assert over.fill_ps / 1e12 == pytest.approx(fill_s)
    assert str(over) == (
        f"wire floor → core is offered 1.004 times what it carries; its queue is full after "
        f"{fill_s:.3g} s on average"
    )


def test_with_classes_only_the_lowest_is_overloaded():
    found = loads_of(office(8, **backups("44 Mb/s")))
    by_flow = dict(zip([flow.name for flow in office(8).flows], found.overloads, strict=True))
    assert {name.split()[0] for name, overloads in by_flow.items() if overloads} == {"backup"}
    (over,) = next(overloads for name, overloads in by_flow.items() if name.startswith("backup"))
    # Backups offer 88 Mb/s, and calls and pictures leave 87.58.
    assert over.load == pytest.approx(1.00416, abs=5e-6)
    assert over.loss == pytest.approx(0.416 / 88, rel=1e-3)


def test_five_cameras_are_too_many_and_four_are_not():
    for count, is_over in ((4, False), (5, True)):
        found = loads_of(office(8, **{"network.hosts.camera.count": count}))
        assert (found.worst is not None) == is_over


def switched(arrivals: object = "saturated", **switch: object) -> ExperimentTables:
    """Frames of 512 octets between two hosts at a switch of 100 Mb/s."""
    return em.network(
        rate="100 Mb/s",
        hosts=["a", "b"],
        switches=[em.switch("device", **switch)],
        links=[("a", "device"), ("b", "device")],
        flows=em.flow("f", "a", "b", frames="512 B", arrivals=arrivals),
        phases={"transmit": "1 s", "measure": "all", "drain": "2 s"},
    )


BACKPLANE = {"name": "backplane", "per_byte": "110 ns"}


def test_a_stage_inside_a_switch_is_a_resource_like_a_wire():
    # 512 octets take 56.32 us of the backplane, and come each 42.56 us.
    slow = switched(queue=50, fabric={"shared": BACKPLANE})
    found = only(slow)
    assert (found.resource, found.node) == ("stage 'backplane' of device", "device")
    assert found.load == pytest.approx(56.32 / 42.56)
    # The room of 50 is that of the ports: the backplane has none.
    assert found.is_endless
    assert loads(slow).resources[0].resource == found.resource
    # Saturated sources have no rate of their own, of which a share would fit.
    assert not loads(slow).is_open
    # With room for 10 it is full when it has taken 10 of the 1/42.56 - 1/56.32 frames a us.
    room = only(switched(queue=50, fabric={"shared": {**BACKPLANE, "queue": 10}}))
    assert room.fill_ps == pytest.approx(10 * 1e6 / (1 / 42.56 - 1 / 56.32))
    # The wire behind it is offered what the backplane carries, and 56.32 us are enough for it.
    assert not loads(switched({"regular": "56.32 us"}, fabric={"shared": BACKPLANE})).overloads[0]


def test_a_slow_last_link_by_hand():
    network = em.network(
        hosts=["a", "b"],
        switches=[em.switch("device", queue=100)],
        links=[em.link("a", "device", rate="100 Mb/s"), em.link("b", "device", rate="10 Mb/s")],
        flows=em.flow("f", "a", "b", frames="1518 B", arrivals={"poisson": "910.5 /s"}),
    )
    found = only(network)
    capacity = 10e6 / (1538 * 8)
    assert capacity == pytest.approx(812.74, abs=0.005)
    assert found.load == pytest.approx(910.5 / capacity)
    assert found.loss == pytest.approx(1 - capacity / 910.5)
    # The variance of the arrivals, 910.5 a second, fills the room a little earlier.
    surplus = 910.5 - capacity
    fill_s = 100 / surplus - 910.5 / (2 * surplus**2)
    assert found.fill_ps / 1e12 == pytest.approx(fill_s, rel=1e-6)
    regular = network.changed({"flows.0.arrivals": {"regular": "1 ms"}})
    assert only(regular).fill_ps / 1e12 == pytest.approx(100 / (1000 - capacity))
    below = network.changed({"flows.0.arrivals.poisson": "812.7 /s"})
    assert loads(below).overloads == ((),)


def chain(last: str, **flow: object) -> ExperimentTables:
    """Frames of 1230 octets, 10 us of 1 Gb/s each, over three links in a row."""
    return em.network(
        rate="1 Gb/s",
        hosts=["a", "b"],
        switches=["s", "t"],
        links=[("a", "s"), em.link("s", "t", rate="100 Mb/s"), em.link("t", "b", rate=last)],
        flows=em.flow(
            "f", "a", "b", **{"frames": "1230 B", "arrivals": {"poisson": "12000 /s"}, **flow}
        ),
    )


def test_what_a_link_does_not_carry_is_not_offered_to_the_next():
    # 12000 frames a second are 1.2 of the second link, which lets 10000 pass.
    assert [each.load for each in loads(chain("100 Mb/s")).overloads[0]] == [pytest.approx(1.2)]
    second, third = loads(chain("80 Mb/s")).overloads[0]
    assert (second.load, third.load) == (pytest.approx(1.2), pytest.approx(1.25))
    # But all of it is offered to what is full first, if the load falls.
    assert loads(chain("80 Mb/s")).resources[0].load == pytest.approx(1.5)


def test_sources_are_held_back_by_their_shapers_and_hosts():
    shaped = chain("1 Gb/s", shaper={"rate": "60 Mb/s", "burst": "10 kB"})
    found = only(shaped)
    # 1250 octets at 60 Mb/s are 6000 messages a second.
    assert (found.resource, found.node) == ("shaper of flow 'f'", "a")
    assert (found.load, found.is_endless) == (pytest.approx(2), True)
    limited = only(shaped.changed({"flows.0.queue": 100}))
    # Of 12000 Poisson messages a second.
    assert limited.fill_ps / 1e12 == pytest.approx(100 / 6000 - 12000 / (2 * 6000**2))
    # Each message takes 10 us of the wire, and then 90 us of the host: 10000 a second.
    busy = loads(chain("100 Mb/s", service="90 us")).overloads[0]
    assert [(each.resource, each.load) for each in busy] == [
        ("source of flow 'f'", pytest.approx(1.2))
    ]
    # A source that always has a next message offers what its host lets pass, and never waits.
    assert loads(chain("1 Gb/s", arrivals="saturated", service="90 us")).overloads == ((),)
    assert only(chain("1 Gb/s", arrivals="saturated")).load == pytest.approx(10)
    bucket = {"token_bucket": {"rate": "110 Mb/s", "burst": "10 kB"}}
    assert only(chain("1 Gb/s", arrivals=bucket)).load == pytest.approx(1.1)


def test_a_saturated_source_takes_what_others_leave_of_its_host():
    own = em.network(
        rate="100 Mb/s",
        hosts=["a", "b"],
        links=[("a", "b")],
        flows=[
            em.flow("rest", "a", "b", frames="1230 B", arrivals="saturated"),
            em.flow("steady", "a", "b", frames="1230 B", arrivals={"poisson_load": 0.4}),
        ],
    )
    assert loads(own).overloads == ((), ())
    assert loads(own).resources[0].load == pytest.approx(1)
    # Flows that wait for responses, and transfers, offer no more than is carried.
    closed = {"flows.0.response": {"frames": "1230 B"}, "flows.1.arrivals.poisson_load": 0.99}
    found = loads(own.changed(closed))
    assert found.overloads == ((), ())
    assert not found.is_open


def test_hosts_that_send_and_receive_over_one_bus_share_it():
    # Each frame of 1230 octets takes 100 us of the bus of its sender, and of that of its receiver.
    bus = {"name": "bus", "resource": "bus", "fixed": "100 us"}
    both = em.network(
        rate="1 Gb/s",
        hosts=[em.host("a", model="slow"), em.host("b", model="slow")],
        links=[("a", "b")],
        flows=[
            em.flow("there", "a", "b", frames="1230 B", arrivals="saturated"),
            em.flow("back", "b", "a", frames="1230 B", arrivals="saturated"),
        ],
        models={"slow": {"send": [bus], "receive": [bus]}},
    )
    # What comes in goes first, as only one message to send waits there: 5000 frames a second each.
    assert loads(both).overloads == ((), ())
    assert [each.load for each in loads(both).resources[:2]] == [pytest.approx(1)] * 2
    # A source with a queue that offers 6000 is held back to 5000, what comes in is not.
    steady = both.changed({"flows.0.arrivals": {"poisson": "6000 /s"}})
    steady = steady.changed({"flows.1.arrivals": {"poisson": "5000 /s"}})
    (there,), back = loads(steady).overloads
    assert (there.resource, there.load) == ("stage 'bus' of a", pytest.approx(1.1))
    assert back == ()


def test_ports_at_a_hub_share_one_medium():
    hub = em.network(
        rate="10 Mb/s",
        hosts=["a", "b", "c"],
        hubs=["hub"],
        links=[em.link(name, "hub", half_duplex=True) for name in "abc"],
        flows=[
            em.flow(f"f-{name}", name, "c", frames="1230 B", arrivals={"poisson_load": 0.6})
            for name in "ab"
        ],
    )
    found = only(hub)
    assert (found.resource, found.load) == ("medium of hub", pytest.approx(1.2))
    assert loads(hub.changed({"flows.1.arrivals.poisson_load": 0.3})).overloads == ((), ())


def test_classes_with_slopes_and_quanta_have_their_shares():
    def port(*classes: dict[str, object]) -> ExperimentTables:
        return em.network(
            rate="100 Mb/s",
            hosts=["a", "b", "c"],
            switches=[em.switch("s", classes=list(classes))],
            links=[(name, "s") for name in "abc"],
            flows=[
                em.flow(name, name, "c", frames="1226 B", priority=priority,
                        arrivals={"poisson": f"{rate} /s"})
                for name, priority, rate in (("a", 6, 4000), ("b", 0, 5000))
            ],
        )  # fmt: skip

    # With a tag frames are 1230 octets, 1250 on the wire, 100 us.
    rest = [0, 1, 2, 3, 4, 5, 7]
    slope = port({"priorities": [6], "idle_slope": "25 Mb/s"}, {"priorities": rest})
    assert only(slope).load == pytest.approx(0.4 / 0.25)
    # The class below has what the shaper leaves.
    assert loads(slope).overloads[1] == ()
    heavy = slope.changed({"flows.1.arrivals.poisson": "8000 /s"})
    assert only(heavy, 1).load == pytest.approx(0.25 + 0.8)
    turns = port({"priorities": [6], "quantum": "2 kB"}, {"priorities": rest, "quantum": "1 kB"})
    assert loads(turns).overloads == ((), ())
    # The first needs less than two thirds, and the second has the rest.
    both = only(turns.changed({"flows.1.arrivals.poisson": "9000 /s"}), 1)
    assert (both.load, both.loss) == (pytest.approx(1.3), pytest.approx(1 - 0.6 / 0.9))


def test_buffers_are_rooms_and_what_they_pause_waits_before():
    def to_slow(**buffer: object) -> ExperimentTables:
        model = {"receive": [{"name": "bus", "fixed": "200 us"}], **buffer}
        return em.network(
            rate="100 Mb/s",
            hosts=["a", em.host("b", model="slow")],
            links=[("a", "b")],
            flows=em.flow("f", "a", "b", frames="1230 B", arrivals={"regular": "160 us"}),
            models={"slow": model},
        )

    found = only(to_slow())
    assert (found.resource, found.node) == ("stage 'bus' of b", "b")
    assert (found.load, found.is_endless) == (pytest.approx(1.25), True)
    # 1250 frames a second of 1230 octets are too many.
    small = only(to_slow(buffer={"size": "123 kB"}))
    assert small.fill_ps / 1e12 == pytest.approx(123e3 / (1250 * 1230))
    pause = {"high": "100 kB", "low": "50 kB", "quanta": 65535}
    assert only(to_slow(buffer={"size": "123 kB", "pause": pause})).is_endless


def test_a_queue_near_its_capacity_comes_into_balance_slowly():
    # Frames take 100 us of the second link; 9900 Poisson frames a second are 0.99 of it, with a
    # variance of 9900 x (100 us)^2 a second and a slack of 0.01.
    def settling_s(last: str = "1 Gb/s", **flow: object) -> float:
        near = chain(last, **{"arrivals": {"poisson": "9900 /s"}, **flow})
        (found,) = loads(near).settling_ps
        return found / 1e12

    variance = 9900 * 1e-8
    assert settling_s() == pytest.approx(2 * variance / 0.01**2)
    # Behind a link of the same rate frames do not wait again.
    assert settling_s("100 Mb/s") == settling_s()
    # Little varies where frames come regularly, and what jitter there is has a third of its square.
    assert settling_s(arrivals={"regular": "101 us"}) == 0
    jitter = settling_s(arrivals={"regular": "101 us", "jitter": "30 us"})
    slack = 1 - 100 / 101
    assert jitter == pytest.approx(2 * (30 / 101) ** 2 / 3 * 1e-8 / 101e-6 / slack**2)
    # An overload is no queue that comes into balance.
    assert settling_s(arrivals={"poisson": "12000 /s"}) < 1e-3
    # A source that fills the link has no queue that varies.
    assert settling_s(arrivals={"token_bucket": {"rate": "100 Mb/s", "burst": "2 kB"}}) == 0


def test_a_small_room_is_in_balance_soon_and_classes_wait_for_those_above():
    def port(room: int | str, *, load: float, high: float) -> tuple[float, ...]:
        network = em.network(
            rate="100 Mb/s",
            hosts=["a", "b", em.host("c")],
            switches=[
                em.switch(
                    "s",
                    queue=room,
                    classes=[{"priorities": [6]}, {"priorities": [0, 1, 2, 3, 4, 5, 7]}],
                )
            ],
            links=[
                em.link("a", "s", rate="10 Gb/s"),
                em.link("b", "s", rate="10 Gb/s"),
                ("c", "s"),
            ],
            flows=[
                em.flow(name, name, "c", frames="1226 B", priority=priority,
                        arrivals={"poisson": f"{round(share * 10000)} /s"})
                for name, priority, share in (("a", 6, high), ("b", 0, load - high))
            ],
        )  # fmt: skip
        return tuple(of / 1e12 for of in loads(network).settling_ps)

    # With a tag a frame takes 100 us. The high class has a load of its own, the low one of both.
    high, low = port("unlimited", load=0.98, high=0.5)
    assert high == pytest.approx(2 * 0.5 * 1e-4 / 0.5**2)
    assert low == pytest.approx(2 * 0.98 * 1e-4 / 0.02**2)
    # Ten frames of 100 us are 1 ms of work.
    (_, small) = port(10, load=0.98, high=0.5)
    variance = 0.98 * 1e-4
    assert 1 / small == pytest.approx(
        0.02**2 / (2 * variance) + math.pi**2 * variance / (2 * 1e-3**2)
    )


def test_a_multicast_loads_every_copy():
    cast = em.network(
        rate="100 Mb/s",
        hosts=["a", em.host("b", count=3)],
        switches=[em.switch("s", fabric={"shared": {"name": "bus", "fixed": "40 us"}})],
        links=[("a", "s"), ("b", "s")],
        flows=em.flow(
            "f", "a", ["b1", "b2"], cast="multicast", frames="64 B", arrivals={"poisson": "9000 /s"}
        ),
    )
    # A copy for each of three ports, in a switch that floods groups.
    assert only(cast).load == pytest.approx(3 * 9000 * 40e-6)


def test_a_segment_of_stations_has_no_paths():
    stations = em.stations("host", count=2, frames="64 B", arrivals={"poisson_load": 0.9})
    segment = em.segment("ieee-10", length="100 m", stations=stations)
    found = loads(segment)
    assert (found.overloads, found.resources, found.worst) == (((),), (), None)
    assert found.settling_ps == (0.0,)
