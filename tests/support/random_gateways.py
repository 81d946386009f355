"""Random buses of 10BASE-T1S behind a gateway, for tests of bounds against simulations."""

from typing import Any

import ethermeter as em
import numpy as np
from ethermeter.scenario import Scenario
from shared_experiments import scenario

Generator = np.random.Generator
GAP_US, HELD_US = 9.6, 80.0
"""Gap after a frame, and the longest time until it is ready again (docs/explanation/plca.md)."""


def random_gateway(rng: Generator) -> Scenario:
    """Return 2 to 9 nodes on a bus, with a gateway to one to three hosts at 10 or 100 Mb/s.

    Flows go within the bus, onto it and from it; each port of the bus has a part of the frames that
    its longest access delay leaves room for.
    """
    nodes, far = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    names = [*(f"n{number}" for number in range(1, nodes + 1)), *(f"f{k}" for k in range(far))]
    pairs = [_pair(rng, names) for _ in range(int(rng.integers(1, 9)))]
    octets = [int(rng.integers(64, 1519)) for _ in pairs]
    senders = ["gateway" if sender.startswith("f") else sender for sender, _ in pairs]
    cycle_us = sum(
        max(size for size, of in zip(octets, senders, strict=True) if of == name) * 0.8 + 17
        for name in set(senders)
    )
    used = rng.uniform(0.2, 0.8)
    flows = [
        _flow(rng, number, pair, size, senders.count(of) * (2 * cycle_us + HELD_US + GAP_US) / used)
        for number, (pair, size, of) in enumerate(zip(pairs, octets, senders, strict=True))
    ]
    links = [
        em.link(name, "gateway", rate=f"{rng.choice([10, 100])} Mb/s") for name in names[nodes:]
    ]
    order = map(str, rng.permutation(["gateway", *names[:nodes]]))
    links += [em.link(name, "bus", position=f"{rng.uniform(0, 25):.2f} m") for name in order]
    plca = {"burst-cnt": int(rng.choice([0, 0, 2]))}
    phy = {"transmit": "280 ns", "carrier_on": "720 ns", "carrier_off": "880 ns"}
    bus = {"name": "bus", "standard": "10base-t1s", "length": "25 m", "plca": plca}
    return scenario(
        em.network(
            hosts=names,
            switches=["gateway"],
            segments=[{**bus, "phy": phy if rng.random() < 0.5 else None}],
            links=links,
            flows=flows,
            phases={"settle": "1 ms", "transmit": "300 ms", "measure": "last 290 ms"},
        )
    )


def _pair(rng: Generator, names: list[str]) -> tuple[str, str]:
    sender, receiver = rng.choice(names, 2, replace=False)
    return str(sender), str(receiver)


def _flow(
    rng: Generator, number: int, pair: tuple[str, str], octets: int, period_us: float
) -> dict[str, Any]:
    period_us *= rng.uniform(1, 3)
    volume = octets + 20
    rate = 8 * volume / period_us
    arrivals: dict[str, object] = (
        {"regular": f"{period_us:.0f} us"}
        if rng.random() < 0.7
        else {"token_bucket": {"rate": f"{rate:.6f} Mb/s", "burst": f"{2 * volume} B"}}
    )
    return em.flow(f"flow{number}", *pair, frames=f"{octets} B", arrivals=arrivals)
