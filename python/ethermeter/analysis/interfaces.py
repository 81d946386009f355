"""Interfaces: PLCA as their agents found it, and where it differs from the experiment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ethermeter.live_reports import AgentResult, PlcaFacts
from ethermeter.scenario import PlcaNodes, Scenario
from ethermeter.store.result import Result

NAMES = ("enable", "node-id", "node-cnt", "to-tmr", "burst-cnt", "burst-tmr")
"""Settings of PLCA by the names of Linux, in the order of their columns."""


@dataclass(frozen=True, slots=True)
class Found:
    """PLCA of an interface of a host."""

    host: str
    interface: str
    plca: PlcaFacts
    # By the names of `NAMES`, what the experiment has where the interface has something else
    differs: Mapping[str, str]

    @property
    def settings(self) -> dict[str, str]:
        """What the interface has, by the names of `NAMES`; what it does not say is left out."""
        return _written(self.plca)


def interfaces_of(result: Result, scenario: Scenario) -> tuple[Found, ...]:
    """Return the interfaces with PLCA of all agents of a test, in the order of the hosts.

    That of a host's address is compared with the experiment, or each if none of them has it. On an
    emulated medium nothing is: there the medium has PLCA, and interfaces do not.
    """
    wanted = {
        stations.node: _texts(stations.plca)
        for medium in scenario.media
        if medium.mac.plca is not None and not result.emulated
        for stations in medium.stations
    }
    return tuple(
        found
        for host, agent in result.agents.items()
        for found in _of_host(host, agent, wanted.get(host, {}))
    )


def _of_host(host: str, agent: AgentResult, wanted: Mapping[str, str]) -> Iterator[Found]:
    facts = agent.result.provenance if agent.result is not None else None
    plcas = {} if facts is None else {name: of.plca for name, of in facts.interfaces.items()}
    known = {name: plca for name, plca in plcas.items() if plca is not None}
    own = {
        name
        for name, addresses in agent.interfaces.items()
        if agent.address in (address.partition("/")[0] for address in addresses)
    }
    used = [name for name in known if name in own] or list(known)
    for name, plca in known.items():
        given, expected = _written(plca), wanted if name in used else {}
        differs = {key: text for key, text in expected.items() if given.get(key, text) != text}
        yield Found(host, name, plca, differs)


def _texts(wanted: PlcaNodes | None) -> dict[str, str]:
    """Return the settings of a node that matter, by the names of `NAMES`."""
    if wanted is None:
        return {"enable": "off"}
    (ids,) = wanted.ids
    found = {
        "enable": "on",
        "node-id": ", ".join(map(str, ids)),
        "to-tmr": str(wanted.opportunity_bits),
        "burst-cnt": str(wanted.burst_count),
    }
    if 0 in ids:
        found["node-cnt"] = str(wanted.node_count)
    if wanted.burst_count:
        found["burst-tmr"] = str(wanted.burst_bits)
    return found


def _written(plca: PlcaFacts) -> dict[str, str]:
    values = {name: getattr(plca, name.replace("-", "_")) for name in NAMES}
    texts = {True: "on", False: "off"}
    return {
        name: texts[value] if isinstance(value, bool) else str(value)
        for name, value in values.items()
        if value is not None
    }
