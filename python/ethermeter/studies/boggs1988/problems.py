"""Claims of sections 3.1, 3.4 and 4.3: a pair of hosts, and what drives an Ethernet to overload."""

from collections.abc import Mapping

from ethermeter.analysis.verdicts import decision, every
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, average, exact, ratio, student
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.judging import Entry, Finding, Rule, rules_of

FAULTY = "network.hosts.faulty.count"
REBROADCAST = "network.hosts.faulty.rebroadcast"
CLIENTS = "network.hosts.client.count"
RETRANSMIT = "flows.call.response.retransmit"


def keeps_up(entry: Entry, results: Results) -> Finding:
    """Largest share of packets that a receiver loses, over all lengths."""
    found = {
        str(of.point["flows.conversation.frames"]): of.values(Metric.LOSS)
        for of in results.points(entry.series)
    }
    if not found:
        raise MissingError(f"no points of {entry.series}")
    most = max(float(values.max()) for values in found.values())
    return Finding(exact(most), most == 0, f"{len(found)} lengths")


def linear_collapses(entry: Entry, results: Results) -> Finding:
    """Utilisation with linear backoff of all hosts over that with exponential backoff."""
    exponential, linear = (
        results.at(
            entry.series, {"stations.odd.backoff": rule, "stations.others.backoff": rule}
        ).estimate(Metric.UTILISATION)
        for rule in ("exponential", entry.text("rule_of_all"))
    )
    found = ratio(linear, exponential)
    remark = f"utilisation {exponential.value:.3f} and {linear.value:.3f}"
    return Finding(found, decision(found, "<", 0.5), remark)


def linear_serves_its_host(entry: Entry, results: Results) -> Finding:
    """Delay of the host with linear backoff over that of the others, at a low load."""
    of = results.at(entry.series, {"stations.odd.backoff": entry.text("rule_of_one")})
    alone, *others = of.names("station")
    found = ratio(_of(of, alone), average([_of(of, name) for name in others]))
    return Finding(found, decision(found, "<", 1))


def _of(results: Results, name: str) -> Estimate:
    values = results.values(Metric.TRANSMISSION_DELAY, name)
    if values.size < 2:
        raise MissingError("one replication has no interval")
    return student(values)


def storm_fills(entry: Entry, results: Results) -> Finding:
    """Least utilisation in a storm over that of hosts that always have a packet.

    With three faulty hosts and more, since two answer each other only.
    """
    rule = "exponential"
    always = results.at(
        entry.text("against"), {"stations.odd.backoff": rule, "stations.others.backoff": rule}
    ).estimate(Metric.UTILISATION)
    found = {
        faulty: ratio(
            results.at(entry.series, {FAULTY: str(faulty), REBROADCAST: "{}"}).estimate(
                Metric.UTILISATION
            ),
            always,
        )
        for faulty in _faulty(entry, results)
        if faulty >= 3
    }
    if not found:
        raise MissingError("fewer than three faulty hosts")
    least = min(found.values(), key=lambda of: of.value)
    remark = ", ".join(f"{of.value:.2f} with {faulty}" for faulty, of in found.items())
    return Finding(least, every(decision(of, ">", 0.9) for of in found.values()), remark)


def storm_grows(entry: Entry, results: Results) -> Finding:
    """Frames of a hop over those of the hop before, over the number of hosts that hear them.

    The frames of the second and the third hop, with three faulty hosts and more.
    """
    found = []
    for faulty in _faulty(entry, results):
        if faulty >= 3:
            first, second, third = (_resent(entry, results, faulty, hops) for hops in (1, 2, 3))
            found += [(second - first) / first, (third - second) / (second - first)]
            found[-2:] = [each / (faulty - 1) for each in found[-2:]]
    if not found:
        raise MissingError("fewer than three faulty hosts")
    worst = max(found, key=lambda each: abs(each - 1))
    return Finding(exact(worst), worst == 1)


def storm_ends(entry: Entry, results: Results) -> Finding:
    """Frames sent again with a hop count, over the number that follows from it."""
    found = []
    for faulty in _faulty(entry, results):
        for hops in (1, 2, 3):
            expected = faulty * sum((faulty - 1) ** hop for hop in range(hops))
            found.append(_resent(entry, results, faulty, hops) / expected)
    worst = max(found, key=lambda each: abs(each - 1))
    return Finding(exact(worst), worst == 1, f"{len(found)} points")


def _faulty(entry: Entry, results: Results) -> list[int]:
    values = results.along(entry.series, FAULTY, None)
    if not values:
        raise MissingError(f"no points of {entry.series}")
    return [int(str(value)) for value in values]


def _resent(entry: Entry, results: Results, faulty: int, hops: int) -> float:
    """Return the mean number of frames sent again."""
    point = {FAULTY: str(faulty), REBROADCAST: f"{{ hops = {hops} }}"}
    found = float(results.at(entry.series, point).values(Metric.RESENT).mean())
    if not found:
        raise MissingError("nothing was sent again in the window, which begins later")
    return found


def retransmission(entry: Entry, results: Results) -> Finding:
    """Answers with the most clients over the most answers with any number of them."""
    rule = entry.text("retransmit")
    clients = results.along(entry.series, CLIENTS, None)
    goodput = {
        int(str(number)): results.at(
            entry.series, {CLIENTS: str(number), RETRANSMIT: rule}
        ).estimate(Metric.EXCHANGES)
        for number in clients
    }
    if not goodput:
        raise MissingError(f"no points of {entry.series}")
    best = max(goodput, key=lambda number: goodput[number].value)
    found = ratio(goodput[max(goodput)], goodput[best])
    remark = f"most with {best} clients"
    relation, limit = ("<", "below") if "below" in entry else (">", "above")
    return Finding(found, decision(found, relation, entry.number(limit)), remark)


def stays_near(entry: Entry, results: Results) -> Finding:
    """Utilisation at one point, above a limit."""
    found = results.at(entry.series, entry.point()).estimate(Metric.UTILISATION)
    if "above" in entry:
        return Finding(found, decision(found, ">", entry.number("above")))
    return Finding(found)


def does_not_drop(entry: Entry, results: Results) -> Finding:
    """Least utilisation over the highest, from ten hosts on."""
    frames = {"stations.frames": entry.text("frames")}
    hosts = sorted(
        int(str(value)) for value in results.along(entry.series, "stations.count", frames)
    )
    curve = [
        results.at(entry.series, frames | {"stations.count": str(number)}).estimate(
            Metric.UTILISATION
        )
        for number in hosts
        if number >= 10
    ]
    if len(curve) < 3:
        raise MissingError("fewer than three points from 10 hosts on")
    found = ratio(min(curve, key=lambda each: each.value), max(curve, key=lambda each: each.value))
    return Finding(found, decision(found, ">", entry.number("above")))


RULES: Mapping[str, Rule] = rules_of(globals())
