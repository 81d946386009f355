"""`python -m benches.bounds`: time of theory for a network of 100 switches and 1000 flows."""

import sys
import time

import numpy as np
from ethermeter.scenario import Scenario
from ethermeter.theory.bounds import bounds_of
from ethermeter.theory.queueing import means_of
from msgspec import convert

SWITCHES, HOSTS, FLOWS = 100, 300, 1000
MS = 1_000_000_000
BUDGET_S = 10.0
"""Time that tighter bounds may take."""


def network(seed: int = 1) -> Scenario:
    """Return a random tree of switches at 1 Gb/s, with hosts at 100 Mb/s and regular flows."""
    random = np.random.default_rng(seed)
    switches = [f"s{number}" for number in range(SWITCHES)]
    hosts = [f"h{number}" for number in range(HOSTS)]
    nodes = [{"name": name, "kind": {"switch": {"learning": "known"}}} for name in switches]
    nodes += [{"name": name, "kind": {"host": {}}} for name in hosts]
    pairs = [(switches[random.integers(at)], switches[at], 8000) for at in range(1, SWITCHES)]
    pairs += [(name, switches[random.integers(SWITCHES)], 80_000) for name in hosts]
    links = [
        {"ends": [{"node": one}, {"node": other}], "ps_per_octet": octet_ps}
        for one, other, octet_ps in pairs
    ]
    flows = []
    for number in range(FLOWS):
        sender, receiver = random.choice(HOSTS, 2, replace=False)
        octets = int(random.choice([64, 256, 512, 1518]))
        arrivals = {"kind": "regular", "period_ps": int(random.choice([4, 8, 20])) * MS}
        frames = {"kind": "fixed", "bits": 8 * octets}
        ends = {"from": hosts[sender], "to": [hosts[receiver]]}
        flows.append({"name": f"f{number}", **ends, "frames": frames, "arrivals": arrivals})
    times = ("stop_ps", "measure_to_ps", "end_ps")
    phases = {"begin_ps": 0, "measure_from_ps": 0, "spread_ps": 0} | dict.fromkeys(times, 10 * MS)
    return convert({"nodes": nodes, "links": links, "flows": flows, "phases": phases}, Scenario)


def main(*, budget_s: float = BUDGET_S) -> int:
    """Print the wall time of bounds and of means [s], and how many flows have one."""
    scenario = network()
    begin_s = time.perf_counter()
    delays = [flow.delay_s for flow in means_of(scenario).flows if flow.delay_s is not None]
    took_s = time.perf_counter() - begin_s
    print(
        f"{'means':22} {took_s:6.3f} s  {len(delays)} of {FLOWS} flows,"
        f" mean {1e6 * np.mean(delays):.1f} µs"
    )
    for within_s, title in ((0.0, "total-flow analysis"), (budget_s, f"PLP within {budget_s:g} s")):
        begin_s = time.perf_counter()
        found = bounds_of(scenario, budget_s=within_s)
        took_s = time.perf_counter() - begin_s
        bounded = [flow.delay.largest_s for flow in found.flows if flow.delay.largest_s is not None]
        tighter = sum(flow.method == "PLP" for flow in found.flows)
        print(
            f"{title:22} {took_s:6.3f} s  {len(bounded)} of {FLOWS} flows, {tighter} by PLP,"
            f" mean {1e6 * np.mean(bounded):.1f} µs"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
