"""`python -m benches.means`: means of random networks by queueing theory beside simulations."""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from ethermeter import scenario
from ethermeter.engines.simulation import simulated
from ethermeter.scenario import Scenario
from ethermeter.theory.queueing import means_of
from ethermeter.trial import core_trial
from msgspec.structs import replace

CASES, SEED = 200, 1
REPLICATIONS = 4
LEAST_MESSAGES, MOST_MESSAGES = 4_000, 1_000_000
"""Messages of the rarest flow of a simulation, and of all its flows."""
TOLERANCES = (0.05, 0.10, 0.25)
OCTETS = (64, 128, 256, 512, 1024, 1518)
MIXES = ((64, 594, 1518), (64, 1518))
NS_PER_OCTET = (800, 80, 8)
"""10, 100 and 1000 Mb/s."""
Random = np.random.Generator
Make = Callable[[Random], Scenario]


@dataclass(frozen=True, slots=True)
class Compared:
    """A mean delay or a loss of a flow by theory and by simulation, with its standard error."""

    theory: float
    seen: float
    error: float

    @property
    def deviation(self) -> float:
        """Theory over simulation less 1, what two standard errors explain left out."""
        gap = max(abs(self.theory - self.seen) - 2 * self.error, 0.0)
        return math.copysign(gap / self.seen, self.theory - self.seen) if gap else 0.0


def _lengths(random: Random) -> scenario.FixedLengths | scenario.MixLengths:
    if random.random() < 0.2:
        mix = MIXES[random.integers(len(MIXES))]
        weights = tuple(float(weight) for weight in random.integers(1, 5, len(mix)))
        return scenario.MixLengths(bits=tuple(8 * octets for octets in mix), weights=weights)
    return scenario.FixedLengths(bits=8 * int(random.choice(OCTETS)))


def _node(name: str, kind: scenario.Host | scenario.Switch) -> scenario.Node:
    if isinstance(kind, scenario.Host):
        return scenario.Node(name=name, kind=scenario.Kind(host=kind))
    return scenario.Node(name=name, kind=scenario.Kind(switch=kind))


def _link(one: str, other: str, ns_per_octet: int) -> scenario.Link:
    ends = (scenario.End(node=one), scenario.End(node=other))
    return scenario.Link(ends=ends, ps_per_octet=1000 * ns_per_octet)


def _classes(random: Random, most: int) -> tuple[scenario.Class, ...]:
    """Return one to `most` classes in strict priority, the highest first."""
    count = int(random.integers(1, most + 1))
    if count == 1:
        return ()
    edges = np.linspace(8, 0, count + 1).astype(int).tolist()
    return tuple(
        scenario.Class(priorities=tuple(range(low, high))) for high, low in pairwise(edges)
    )


def _at_load(network: Scenario, load: float) -> Scenario:
    """Return a network of Poisson flows whose busiest resource has this load."""
    scale = load * means_of(network).saturation.scale
    flows = []
    for flow in network.flows:
        assert isinstance(flow.arrivals, scenario.PoissonArrivals)
        arrivals = scenario.PoissonArrivals(mean_ps=flow.arrivals.mean_ps / scale)
        flows.append(replace(flow, arrivals=arrivals))
    return replace(network, flows=tuple(flows))


def _timed(network: Scenario, messages: float, rates: Sequence[float]) -> Scenario:
    """Return a network simulated for so many messages of the rarest flow.

    `rates`: of its flows [1/s].
    """
    window_s = min(messages / min(rates), MOST_MESSAGES / sum(rates))
    begin_ps, window_ps = int(0.1 * window_s * 1e12), int(window_s * 1e12)
    stop_ps = begin_ps + window_ps
    phases = scenario.Phases(
        begin_ps=0,
        stop_ps=stop_ps,
        measure_from_ps=begin_ps,
        measure_to_ps=stop_ps,
        end_ps=stop_ps + window_ps // 10,
        spread_ps=0,
    )
    return replace(network, phases=phases)


def _rates(network: Scenario) -> list[float]:
    return [
        1e12 / flow.arrivals.mean_ps
        for flow in network.flows
        if isinstance(flow.arrivals, scenario.PoissonArrivals)
    ]


_UNTIMED = scenario.Phases(
    begin_ps=0, stop_ps=1, measure_from_ps=0, measure_to_ps=1, end_ps=1, spread_ps=0
)


def _network(
    nodes: Sequence[scenario.Node],
    links: Sequence[scenario.Link],
    flows: Sequence[scenario.Flow],
) -> Scenario:
    return Scenario(
        nodes=tuple(nodes), links=tuple(links), flows=tuple(flows), phases=_UNTIMED, batches=1
    )


def lines(random: Random, *, classes: int, speeds: Sequence[int]) -> Scenario:
    """Return Poisson flows of a host each along one to four switches, to one or two receivers."""
    classes_of = _classes(random, classes)
    switches = [f"s{at}" for at in range(random.integers(1, 5))]
    senders = [f"h{at}" for at in range(random.integers(2, 7))]
    receivers = [f"r{at}" for at in range(random.integers(1, 3))]
    pairs = [*pairwise(switches)]
    pairs += [(name, str(random.choice(switches))) for name in senders]
    pairs += [(name, switches[-1]) for name in receivers]
    switch = scenario.Switch(learning="known", classes=classes_of)
    network = _network(
        [
            *(_node(name, switch) for name in switches),
            *(_node(name, scenario.Host(classes=classes_of)) for name in (*senders, *receivers)),
        ],
        [_link(*pair, int(random.choice(speeds))) for pair in pairs],
        [
            scenario.Flow(
                name=name,
                from_=name,
                to=(str(random.choice(receivers)),),
                frames=_lengths(random),
                priority=int(random.integers(8)),
                arrivals=scenario.PoissonArrivals(mean_ps=1e9 / random.uniform(0.1, 1)),
            )
            for name in senders
        ],
    )
    network = _at_load(network, float(random.uniform(0.2, 0.85)))
    return _timed(network, LEAST_MESSAGES, _rates(network))


def shared_hosts(random: Random) -> Scenario:
    """Return two to four Poisson flows of one host without classes, to a host at its other end."""
    flows = [
        scenario.Flow(
            name=f"f{at}",
            from_="a",
            to=("z",),
            frames=_lengths(random),
            arrivals=scenario.PoissonArrivals(mean_ps=1e9 / random.uniform(0.1, 1)),
        )
        for at in range(random.integers(2, 5))
    ]
    nodes = [_node(name, scenario.Host()) for name in ("a", "z")]
    network = _network(nodes, [_link("a", "z", 80)], flows)
    network = _at_load(network, float(random.uniform(0.2, 0.85)))
    return _timed(network, LEAST_MESSAGES, _rates(network))


def limited_sources(random: Random) -> Scenario:
    """Return a Poisson source with room for 1 to 20 messages, at a load of 0.1 to 2."""
    flow = scenario.Flow(
        name="f",
        from_="a",
        to=("z",),
        frames=_lengths(random),
        arrivals=scenario.PoissonArrivals(mean_ps=1e9),
        queue_frames=int(random.integers(1, 21)),
    )
    nodes = [_node(name, scenario.Host()) for name in ("a", "z")]
    network = _network(nodes, [_link("a", "z", int(random.choice(NS_PER_OCTET)))], [flow])
    network = _at_load(network, float(random.uniform(0.1, 2)))
    return _timed(network, 40 * LEAST_MESSAGES, _rates(network))


def talkers(random: Random) -> Scenario:
    """Return one to six coders behind a switch, each with packets of 1 to 40 ms of speech."""
    names = [f"h{at}" for at in range(random.integers(1, 7))]
    sample_ps = int(random.choice([125_000_000, 250_000_000]))
    flows = []
    for name in names:
        samples = int(random.integers(8, 320))
        spurts = scenario.Spurts(
            talk_mean_ps=float(random.uniform(0.02, 1)) * 1e12,
            silence_mean_ps=float(random.uniform(0.02, 1)) * 1e12,
        )
        flows.append(
            scenario.Flow(
                name=name,
                from_=name,
                to=("z",),
                frames=scenario.SamplesLengths(
                    overhead_bits=96, min_bits=96 + 8 * samples, max_bits=96 + 16 * samples
                ),
                framing=scenario.FramingTable(udp=scenario.Udp(mtu_octets=1500)),
                arrivals=scenario.CoderArrivals(
                    sample_bits=8,
                    sample_ps=sample_ps,
                    spurts=spurts if random.random() < 0.5 else None,
                ),
            )
        )
    nodes = [_node("s", scenario.Switch(learning="known"))]
    nodes += [_node(name, scenario.Host()) for name in (*names, "z")]
    network = _network(nodes, [_link(name, "s", 800) for name in (*names, "z")], flows)
    return _timed(network, LEAST_MESSAGES, [10.0] * len(flows))


FAMILIES: dict[str, Make] = {
    "one class, one rate": lambda random: lines(random, classes=1, speeds=(80,)),
    "one class, several rates": lambda random: lines(random, classes=1, speeds=NS_PER_OCTET),
    "strict priority, one rate": lambda random: lines(random, classes=4, speeds=(80,)),
    "strict priority, several rates": lambda random: lines(random, classes=4, speeds=NS_PER_OCTET),
    "several flows of a host": shared_hosts,
    "sources with a queue": limited_sources,
    "coders": talkers,
}


def compared(network: Scenario, *, seed: int) -> Iterator[tuple[str, Compared]]:
    """Yield the mean delay of every flow, and its loss where some is expected."""
    means = means_of(network)
    delays, losses = [], []
    for replication in range(REPLICATIONS):
        flows = simulated(core_trial(network, seed=seed * REPLICATIONS + replication))[0].flows
        delays.append(flows.one_way.sum_ps / np.maximum(flows.one_way.count, 1) / 1e12)
        losses.append(1 - flows.arrived / np.maximum(flows.offered, 1))
    for number, mean in enumerate(means.flows):
        if mean.delay_s is None:
            continue
        for what, theory, values in (("delay", mean.delay_s, delays), ("loss", mean.loss, losses)):
            each = np.array(values)[:, number]
            if theory is not None and (what == "delay" or theory > 1e-3):
                error = float(each.std(ddof=1)) / math.sqrt(len(each))
                yield what, Compared(theory, float(each.mean()), error)


def deviations(make: Make, cases: int, *, seed: int = SEED) -> list[float]:
    """Return the deviations of all means of random networks of one kind."""
    found = []
    for case in range(cases):
        network = make(np.random.default_rng([seed, case]))
        found += [each.deviation for _, each in compared(network, seed=case)]
    return found


def outside(found: Sequence[float], tolerance: float) -> float:
    """Return the share of means that are farther from their simulation than this."""
    return float(np.mean(np.abs(found) > tolerance))


def main(cases: int) -> int:
    """Print for each kind of networks how many means are how far from their simulations."""
    print(
        f"{'networks':32} {'means':>6} "
        + " ".join(f"beyond {of:.0%}".rjust(11) for of in TOLERANCES)
        + f" {'largest':>9}"
    )
    for name, make in FAMILIES.items():
        found = deviations(make, cases)
        shares = " ".join(f"{outside(found, of):.1%}".rjust(11) for of in TOLERANCES)
        largest = max(found, key=abs, default=0.0)
        print(f"{name:32} {len(found):6} {shares} {largest:+9.0%}", flush=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES, help="random networks of each kind")
    sys.exit(main(parser.parse_args().cases))
