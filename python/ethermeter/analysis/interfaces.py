"""Interfaces: PLCA as their agents found it, and where it differs from the experiment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ethermeter.scenario import PlcaNodes, Scenario
from ethermeter.store.result import Plca, Result

NAMES = ("enable", "node-id", "node-cnt", "to-tmr", "burst-cnt", "burst-tmr")
"""Settings of PLCA by the names of Linux, in the order of their columns."""


@dataclass(frozen=True, slots=True)
class Found:
    """PLCA of an interface of a host."""

    host: str
    interface: str
    plca: Plca
    # By the names of `NAMES`, what the experiment has where the interface has something else
    differs: Mapping[str, str]

    @property
    def settings(self) -> dict[str, str]:
        """What the interface has, by the names of `NAMES`; what it does not say is left out."""
        return _written(self.plca)


def interfaces_of(result: Result, scenario: Scenario) -> tuple[Found, ...]:
    """Return the interfaces with PLCA of all agents of a test, in the order of the hosts."""
    wanted = {
        stations.node: stations.plca for medium in scenario.media for stations in medium.stations
    }
    return tuple(
        Found(host, name, plca, _differences(plca, wanted.get(host)))
        for host, agent in result.agents.items()
        if agent.result is not None and agent.result.provenance is not None
        for name, interface in agent.result.provenance.interfaces.items()
        if (plca := interface.plca) is not None
    )


def _differences(found: Plca, wanted: PlcaNodes | None) -> dict[str, str]:
    if wanted is None:
        return {}
    (ids,) = wanted.ids
    expected = {
        "enable": "on",
        "node-id": ", ".join(map(str, ids)),
        "to-tmr": str(wanted.opportunity_bits),
        "burst-cnt": str(wanted.burst_count),
        "burst-tmr": str(wanted.burst_bits),
    }
    if 0 in ids:  # of importance at the coordinator only
        expected["node-cnt"] = str(wanted.node_count)
    if not wanted.burst_count:  # then the timer has nothing to wait for
        del expected["burst-tmr"]
    given = _written(found)
    return {key: text for key, text in expected.items() if given.get(key, text) != text}


def _written(plca: Plca) -> dict[str, str]:
    return dict(_texts(plca))


def _texts(plca: Plca) -> Iterator[tuple[str, str]]:
    if plca.enable is not None:
        yield "enable", "on" if plca.enable else "off"
    for name in NAMES[1:]:
        value = getattr(plca, name.replace("-", "_"))
        if value is not None:
            yield name, str(value)
