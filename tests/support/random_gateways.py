"""Random buses of 10BASE-T1S behind a gateway, for tests of bounds against simulations."""

from collections.abc import Sequence
from typing import Any

import ethermeter as em
import numpy as np
from ethermeter.scenario import Scenario
from shared_experiments import scenario

Generator = np.random.Generator
GAP_US, HELD_US = 9.6, 80.0
"""Gap after a frame, and the longest time until it is ready again (docs/explanation/plca.md)."""


def random_gateway(rng: Generator, *, transmit_ms: int = 300) -> Scenario:
    """Return 2 to 9 nodes on a bus, with a gateway to one to three hosts at 10 or 100 Mb/s.

    Flows go within the bus, onto it and from it. Each port of the bus has a part of the frames that
    its longest access delay leaves room for, or all together a part of what the line carries.
    """
    nodes, far = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    names = [*(f"n{number}" for number in range(1, nodes + 1)), *(f"f{k}" for k in range(far))]
    pairs = [_pair(rng, names) for _ in range(int(rng.integers(1, 13)))]
    octets = [int(rng.choice([64, rng.integers(64, 257), rng.integers(64, 1519)])) for _ in pairs]
    senders = ["gateway" if sender.startswith("f") else sender for sender, _ in pairs]
    periods_us = _by_cycles(rng, octets, senders) if rng.random() < 0.4 else _by_line(rng, octets)
    flows = [
        _flow(rng, number, pair, size, period_us)
        for number, (pair, size, period_us) in enumerate(
            zip(pairs, octets, periods_us, strict=True)
        )
    ]
    links = [
        em.link(name, "gateway", rate=f"{rng.choice([10, 100])} Mb/s") for name in names[nodes:]
    ]
    order = rng.permutation(["gateway", *names[:nodes]]).tolist()
    ids = rng.permutation(2 * len(order)).tolist()
    coordinator = ids.index(0)
    ids[0], ids[coordinator] = ids[coordinator], ids[0]
    for number, name in enumerate(order):
        own = ids[number :: len(order)] if rng.random() < 0.15 else ids[number]
        where = f"{rng.uniform(0, 25):.2f} m"
        links.append(em.link(name, "bus", position=where, plca={"node-id": own}))
    plca = {
        "to-tmr": int(rng.choice([24, 32, 32, 40])),
        "burst-cnt": int(rng.choice([0, 0, 0, 1, 3])),
        "burst-tmr": int(rng.choice([128, 128, 90, 255])),
    }
    phy = {"transmit": "280 ns", "carrier_on": "720 ns", "carrier_off": "880 ns"}
    bus = {"name": "bus", "standard": "10base-t1s", "length": "25 m", "plca": plca}
    return scenario(
        em.network(
            hosts=names,
            switches=["gateway"],
            segments=[{**bus, "phy": phy if rng.random() < 0.5 else None}],
            links=links,
            flows=flows,
            phases={
                "settle": "1 ms",
                "transmit": f"{transmit_ms} ms",
                "measure": f"last {transmit_ms - 10} ms",
            },
        )
    )


def _by_cycles(rng: Generator, octets: Sequence[int], senders: Sequence[str]) -> list[float]:
    """Return periods [µs] of which two longest cycles a message are a part."""
    cycle_us = sum(
        max(size for size, of in zip(octets, senders, strict=True) if of == name) * 0.8 + 17
        for name in set(senders)
    )
    used = rng.uniform(0.2, 0.8)
    least_us = [senders.count(of) * (2 * cycle_us + HELD_US + GAP_US) / used for of in senders]
    return [one_us * rng.uniform(1, 3) for one_us in least_us]


def _by_line(rng: Generator, octets: Sequence[int]) -> list[float]:
    """Return periods [µs] at which the frames take a part of the line."""
    shares = rng.dirichlet(np.ones(len(octets))) * rng.uniform(0.02, 0.7)
    return [
        ((size + 9) * 0.8 + GAP_US) / max(share, 0.001)
        for size, share in zip(octets, shares, strict=True)
    ]


def _pair(rng: Generator, names: list[str]) -> tuple[str, str]:
    sender, receiver = rng.choice(names, 2, replace=False)
    return str(sender), str(receiver)


def _flow(
    rng: Generator, number: int, pair: tuple[str, str], octets: int, period_us: float
) -> dict[str, Any]:
    volume = octets + 20
    rate = 8 * volume / period_us
    arrivals: dict[str, object] = (
        {"regular": f"{period_us:.0f} us"}
        if rng.random() < 0.7
        else {"token_bucket": {"rate": f"{rate:.6f} Mb/s", "burst": f"{2 * volume} B"}}
    )
    return em.flow(f"flow{number}", *pair, frames=f"{octets} B", arrivals=arrivals)
