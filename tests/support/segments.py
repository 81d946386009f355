"""Scenarios of segments in a few words."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import scenarios
from ethermeter.scenario import Flow, Scenario, Stations

MAC = {"slot_bits": 512, "gap_bits": 96, "gap_part1_bits": 0, "preamble_bits": 64, "jam_bits": 32}


def segment(
    *groups: Mapping[str, Any],
    bit_ps: int = 100_000,
    delay_ps: Sequence[Sequence[int]] = ((0,),),
    phases: Mapping[str, int] | None = None,
    batches: int = 20,
    **constants: int,
) -> Scenario:
    """Return a scenario; a group has keys of a flow and of stations, its points at least, and is
    saturated with frames of 544 bit if it does not say otherwise.
    """
    nodes, stations, flows = [], [], []
    for number, given in enumerate(groups):
        name = given.get("name", f"group-{number}")
        of_flow = {key: each for key, each in given.items() if key in Flow.__struct_fields__}
        of_stations = {
            key: each for key, each in given.items() if key in Stations.__struct_fields__
        }
        assert set(given) == {*of_flow, *of_stations}, given
        nodes.append({"name": name, "count": len(given["points"]), "kind": {"host": {}}})
        stations.append({**of_stations, "node": name})
        usual = {"frames": {"kind": "fixed", "bits": 544}, "arrivals": {"kind": "saturated"}}
        flows.append({**usual, **of_flow, "name": name, "from": name})
    medium = {
        "name": "segment",
        "bit_ps": bit_ps,
        "mac": {"csma_cd": {**MAC, **constants}},
        "delay_ps": delay_ps,
        "stations": stations,
    }
    whole = {"nodes": nodes, "media": [medium], "flows": flows, "batches": batches}
    return msgspec.convert({**whole, "phases": {**scenarios.phases(), **(phases or {})}}, Scenario)


def table_of(struct: Any) -> Any:
    """Return a part of a scenario as it stands in a plan."""
    return msgspec.json.decode(msgspec.json.encode(struct))
