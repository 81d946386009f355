"""Random buses of 10BASE-T1S behind a gateway, for tests of bounds against simulations."""

from pathlib import Path

import numpy as np
from ethermeter.experiment.reading import of_document
from ethermeter.experiment.toml import parsed
from ethermeter.scenario import Scenario

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
    flows = "".join(
        _flow(rng, number, pair, size, senders.count(of) * (2 * cycle_us + HELD_US + GAP_US) / used)
        for number, (pair, size, of) in enumerate(zip(pairs, octets, senders, strict=True))
    )
    links = "".join(
        f'[[network.links]]\nends = ["{name}", "gateway"]\nrate = "{rng.choice([10, 100])} Mb/s"\n'
        for name in names[nodes:]
    )
    hosts = "".join(f'[[network.hosts]]\nname = "{name}"\n' for name in names)
    order = rng.permutation(["gateway", *names[:nodes]])
    at_bus = "".join(_attached(rng, str(name)) for name in order)
    burst = int(rng.choice([0, 0, 2]))
    phy = (
        'phy = { transmit = "280 ns", carrier_on = "720 ns", carrier_off = "880 ns" }\n'
        if rng.random() < 0.5
        else ""
    )
    text = (
        'title = "a bus"\n[phases]\nsettle = "1 ms"\ntransmit = "300 ms"\nmeasure = "last 290 ms"\n'
        f'{hosts}[[network.switches]]\nname = "gateway"\n'
        '[[network.segments]]\nname = "bus"\nstandard = "10base-t1s"\nlength = "25 m"\n'
        f"plca = {{ burst-cnt = {burst} }}\n{phy}{links}{at_bus}{flows}"
    )
    return of_document(parsed(text, file="bus.toml"), Path("bus.toml")).scenarios.at([])


def _pair(rng: Generator, names: list[str]) -> tuple[str, str]:
    sender, receiver = rng.choice(names, 2, replace=False)
    return str(sender), str(receiver)


def _attached(rng: Generator, name: str) -> str:
    return f'[[network.links]]\nends = ["{name}", "bus"]\nposition = "{rng.uniform(0, 25):.2f} m"\n'


def _flow(rng: Generator, number: int, pair: tuple[str, str], octets: int, period_us: float) -> str:
    period_us *= rng.uniform(1, 3)
    volume = octets + 20
    rate = 8 * volume / period_us
    arrivals = (
        f'{{ regular = "{period_us:.0f} us" }}'
        if rng.random() < 0.7
        else f'{{ token_bucket = {{ rate = "{rate:.6f} Mb/s", burst = "{2 * volume} B" }} }}'
    )
    return (
        f'[[flows]]\nname = "flow{number}"\nfrom = "{pair[0]}"\nto = "{pair[1]}"\n'
        f'frames = "{octets} B"\narrivals = {arrivals}\n'
    )
