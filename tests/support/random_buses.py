"""Random buses of 10BASE-T1S whose nodes take turns, without faults, as experiments."""

import random

import ethermeter as em
from ethermeter.experiment.builder import ExperimentTables

LENGTHS = (
    *("64 B", "64 B", "42 B", "66 B", "67 B", "128 B"),
    *("64 B x 3 + 256 B x 1", "1518 B", "64 B x 9 + 1518 B x 1"),
)


PHY = {"transmit": "280 ns", "carrier_on": "720 ns", "carrier_off": "880 ns"}


def random_bus(chance: random.Random, *, transmit_ms: int) -> ExperimentTables:
    """Return an experiment: node counts, lengths, loads, bursts and IDs are random."""
    count = chance.choice([2, 3, 5, 9, 9, 17, 30, 41])
    bursts = chance.choice([0, 0, 0, 1, 3])
    phy = chance.choice([None, PHY])
    length = chance.choice(["1 mm", "10 m", "25 m"])
    plca = {"to-tmr": chance.choice([24, 32, 32, 40]), "burst-cnt": bursts}
    common = chance.choice(LENGTHS)
    ids = iter(chance.sample(range(1, 2 * count), 2 * count - 1))
    groups = []
    for number in range(count):
        own = [0] if number == 0 else [next(ids)]
        own += [next(ids)] if chance.random() < 0.1 and number < count - 1 else []
        frames = common if chance.random() < 0.7 else chance.choice(LENGTHS)
        load = chance.choice([0.05, 0.3, 0.6, 0.9, 1.2]) / count
        arrivals = chance.choice(
            [
                "saturated",
                {"poisson_load": float(f"{load:g}")},
                {"poisson_load": float(f"{load:g}")},
                {"regular": f"{chance.randint(200_000, 20_000_000)} ns"},
                {"on_off": {"period": "100 us", "on": "2 ms", "off": "5 ms"}},
            ]
        )
        queue = None if arrivals == "saturated" else chance.choice([1, 2, 20])
        keys = {"frames": frames, "arrivals": arrivals, "plca": {"node-id": own}, "queue": queue}
        groups.append(em.stations(f"n{number}", count=1, **keys))
    return em.segment(
        "10base-t1s",
        length=length,
        plca=plca,
        phy=phy,
        stations=groups,
        phases={"settle": "1 ms", "transmit": f"{transmit_ms} ms", "measure": "all"},
    )
