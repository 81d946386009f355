"""Assumptions of queueing theory that a network does not meet: its means are approximate."""

from collections.abc import Iterable

from ethermeter.faults import named
from ethermeter.nodes import links_in
from ethermeter.scenario import Scenario
from ethermeter.theory.queueing.sources import Source, source_of


def unmet(scenario: Scenario) -> dict[str, str]:
    """Return the assumptions that a network does not meet by name, each with a text that says why.

    Flows are called by their table of the file.
    """
    links = {end.node: link for link in links_in(scenario) for end in link.ends}
    sources = {flow.name: source_of(flow, links[flow.from_]) for flow in scenario.flows}
    known = {name: of for name, of in sources.items() if isinstance(of, Source)}
    found = {}
    if others := [name for name, of in known.items() if not of.is_poisson]:
        found["poisson-arrivals"] = (
            f"messages come as a Poisson process; here those of {_tables(others)} do not"
        )
    long = [name for name, of in known.items() if any(len(each) > 1 for each in of.messages)]
    if long:
        found["one-frame"] = f"a message is one frame; here of {_tables(long)} several"
    neighbours = {frozenset(end.node for end in link.ends) for link in links_in(scenario)}
    relayed = [
        flow.name
        for flow in scenario.flows
        if flow.name in known and any({flow.from_, to} not in neighbours for to in flow.to)
    ]
    if relayed:
        found["independent-queues"] = (
            "frames come to each port at random; here they come from the queue before it, of "
            f"{_tables(relayed)}"
        )
    return found


def _tables(flows: Iterable[str]) -> str:
    return named(list(dict.fromkeys(name.partition(" ")[0] for name in flows)))
