"""Networks: tables `[network]` that tests change, with every host and link by its own name."""

from collections.abc import Mapping

from ethermeter.benchmark.bench import Bench, informed
from ethermeter.experiment.toml import Tables

FAN_OUT, ADDRESS = "fan-out", "address"
"""Switch behind a learning port, and the hosts whose addresses are learned there."""


def explicit(bench: Bench) -> Tables:
    """Return the table of the network with groups of hosts written out."""
    table = bench.document["network"]
    assert isinstance(table, Mapping), "a network file has a table `network`"
    members: dict[str, list[str]] = {}
    hosts = []
    for of in table["hosts"]:
        kept = {key: value for key, value in of.items() if key not in ("name", "count")}
        names = [of["name"]]
        if "count" in of:
            names = [f"{of['name']}{at}" for at in range(1, of["count"] + 1)]
            members[of["name"]] = names
        hosts += [{"name": name, **kept} for name in names]
    links = []
    for link in table["links"]:
        one, other = link["ends"]
        ones, others = (members.get(end, [end]) for end in (one, other))
        positions = link.get("positions")
        kept = {key: value for key, value in link.items() if key not in ("ends", "positions")}
        for at, ends in enumerate((first, second) for first in ones for second in others):
            place = {} if positions is None else {"position": positions[at]}
            links.append({"ends": list(ends), **kept, **place})
    return {**table, "hosts": hosts, "links": links}


def with_gap(bench: Bench, tester: str, gap_octets: int) -> Tables:
    """Return the network in which a tester's link has another gap between frames."""
    table = explicit(bench)
    links = [
        {**link, "gap": f"{gap_octets} B"} if tester in link["ends"] else link
        for link in table["links"]
    ]
    return dict(informed({**table, "links": links}))


def with_addresses(bench: Bench, tester: str, count: int) -> Tables:
    """Return the network in which a tester is replaced by some hosts behind one port.

    They are joined by an ideal switch, so that the device hears all their addresses at that port.
    """
    table = explicit(bench)
    own = bench.link_of(tester)
    hosts = [host for host in table["hosts"] if host["name"] != tester]
    links = [
        {**link, "ends": [FAN_OUT if end == tester else end for end in link["ends"]]}
        for link in table["links"]
    ]
    behind = {"ends": [ADDRESS, FAN_OUT], "rate": f"{own.ps_per_octet} ps/B"}
    return {
        **table,
        "hosts": [*hosts, {"name": ADDRESS, "count": count}],
        "switches": [*table.get("switches", []), {"name": FAN_OUT}],
        "links": [*links, behind],
    }
