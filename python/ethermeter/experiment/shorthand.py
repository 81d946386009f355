"""Shorthand: what a file leaves out, or names in another file, written out in its document.

Rows of message tables become flows. A file without a table of hosts has those that its flows name.
Each host that no link leads to has one to the only other node of the file or, where there is none,
to a switch. All of it is added as a person would write it, with its source, so that readers,
overrides and the record of a run see one document.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from ethermeter.experiment.message_tables import FlowOrigin, written_flows
from ethermeter.experiment.toml import Tables
from ethermeter.faults import Fault, Faults, InputError, dotted, nearest, shown

SWITCH = "switch"
"""Name of the switch of a file that has no node besides hosts."""
NODES = ("switches", "routers", "hubs", "segments")
"""Tables of nodes besides hosts."""
_FLOW = re.compile(r"flows\.([0-9]+)(?:\.(.*))?")


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """A document with all that its file implies."""

    document: Tables
    flows: Sequence[FlowOrigin] = ()
    """Where each flow stands in the files; empty where all stand where the document has them."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Dotted key of the document from which a table that was added follows, by the table's."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each message table, by its name."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Source of each table that was added, an assumption, by its dotted key."""
    is_whole: bool = True
    """Whether all message tables could be read."""

    @property
    def is_changed(self) -> bool:
        """Whether the document has more than its file."""
        return bool(self.tables or self.assumed)

    def located(self, fault: Fault) -> Fault:
        """Return a fault of the document as one of the files that a person wrote."""
        for added, cause in self.nodes.items():
            if fault.key == added or fault.key.startswith(f"{added}."):
                fault = replace(fault, key=cause)
                break
        match = _FLOW.fullmatch(fault.key)
        if match is None or int(match[1]) >= len(self.flows):
            return fault
        return self.flows[int(match[1])].located(fault, match[2] or "")

    def _named(self, fault: Fault) -> Fault:
        """Return a fault of a table of a list with the name of the table."""
        value: object = self.document
        for part in fault.key.split("."):
            if isinstance(value, Mapping):
                value = value.get(part)
            elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
                name = value.get("name") if isinstance(value, Mapping) else None
                if isinstance(name, str) and not fault.key.endswith(".name"):
                    fault = replace(fault, name=name)
            else:
                break
        return fault

    def error(self, faults: Iterable[Fault], known: Iterable[Fault] = ()) -> InputError:
        """Return the error with faults of the document as those of the files, each once.

        Those of a cell are one. `known` are faults of the files, which come first.
        """
        found: dict[tuple[str, ...], Fault] = {}
        for fault in (*known, *(self.located(self._named(each)) for each in faults)):
            is_of_cell = fault.file in self.tables and "," in fault.key
            whole = (fault.value, fault.allowed)
            found.setdefault((fault.file, fault.key, *(() if is_of_cell else whole)), fault)
        return InputError(found.values())


def with_tables(document: Tables, *, file: str, folder: Path) -> tuple[WrittenOut, list[Fault]]:
    """Return a document with the rows of its message tables, and the faults of these."""
    faults = Faults(file)
    found = written_flows(document.get("flows"), faults=faults, folder=folder)
    if found is None:
        return WrittenOut(document), []
    made = {**document, "flows": found.flows}
    out = WrittenOut(made, found.origins, tables=found.files, is_whole=not found.unread)
    return out, faults.found


def with_hosts(out: WrittenOut, faults: Faults) -> WrittenOut:
    """Return a document with the hosts, the switch and the links that it implies.

    A host whose name is like that of another node is a fault, since it may be a misspelt one.
    """
    document = out.document
    network, flows = document.get("network", {}), document.get("flows")
    has_flows = isinstance(flows, list) and any(isinstance(flow, Mapping) for flow in flows)
    if not isinstance(network, dict) or not has_flows or "segment" in document:
        return out
    others = [name for kind in NODES for name in _names(network.get(kind))]
    links, nodes = network.get("links", []), {}
    added: Tables = {}
    assumed: dict[str, str] = {}
    if "hosts" not in network:
        named = _named(document)
        hosts = [name for name in named if name not in others]
        _check(hosts, named, others, faults)
        causes = named
        nodes = {f"network.hosts.{at}": named[name] for at, name in enumerate(hosts)}
        added["hosts"] = [{"name": name} for name in hosts]
        assumed["network.hosts"] = "assumption: hosts are those that flows name; they take no time"
    else:
        hosts = _names(network["hosts"]) if "links" not in network else []
        causes = {name: f"network.hosts.{at}.name" for at, name in enumerate(hosts)}
    if not isinstance(links, list):
        return out
    linked = {name for link in links if isinstance(link, Mapping) for name in _ends(link)}
    alone = [name for name in hosts if name not in linked]
    if alone:
        if not others:
            others = [next(name for name in _switch_names() if name not in hosts)]
            added["switches"] = [{"name": others[0]}]
            assumed["network.switches"] = (
                "assumption: a switch joins all hosts; it takes no time, and has unlimited queues"
            )
        elif len(others) > 1:
            allowed = f"required: a link of each host to one of {', '.join(others)}"
            faults.add(("network", "links"), f"no link of {', '.join(alone)}", allowed)
        added["links"] = [*links, *({"ends": [name, others[0]]} for name in alone)]
        for at, name in enumerate(alone, start=len(links)):
            # What such a link lacks is the rate of all of them.
            nodes[f"network.links.{at}.rate"] = "network.rate"
            nodes[f"network.links.{at}"] = causes[name]
        assumed["network.links"] = f"assumption: hosts without a link have one to {others[0]}"
    if not added:
        return out
    made = {**document, "network": {**network, **added}}
    sources = document.get("sources", {})
    if isinstance(sources, dict):
        made["sources"] = {**assumed, **sources}
    return replace(out, document=made, nodes=nodes, assumed=assumed)


def _switch_names() -> Iterator[str]:
    yield SWITCH
    yield from (f"{SWITCH}{number}" for number in count(1))


def _names(tables: object) -> list[str]:
    """Return the names of tables of a list, of those that have one."""
    listed = tables if isinstance(tables, list) else ()
    names = (table.get("name") for table in listed if isinstance(table, Mapping))
    return [name for name in names if isinstance(name, str)]


def _ends(table: Mapping[str, object]) -> list[str]:
    ends = table.get("ends")
    return [name for name in ends if isinstance(name, str)] if isinstance(ends, list) else []


def _named(document: Tables) -> dict[str, str]:
    """Return the names that flows have as ends, in the order of the file, with their keys."""
    found: dict[str, str] = {}
    vary = document.get("vary")
    values: list[tuple[str, object]] = [
        (f"flows.{at}.{key}", flow.get(key))
        for at, flow in enumerate(document["flows"])
        if isinstance(flow, Mapping)
        for key in ("from", "to")
    ]
    for key, varied in vary.items() if isinstance(vary, Mapping) else ():
        if re.fullmatch(r"flows\..*\b(?:from|to)", key) and isinstance(varied, list):
            values += [(f"vary.{dotted((key,))}", value) for value in varied]
    for key, value in values:
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str):
                found.setdefault(name, key)
    return found


def _check(
    hosts: Sequence[str], named: Mapping[str, str], others: Sequence[str], faults: Faults
) -> None:
    """Find hosts that may be misspelt names of other nodes."""
    for host in hosts:
        for other in nearest(host, others):
            if _without_digits(host) != _without_digits(other):
                allowed = (
                    f"did you mean {other}? Expected a host; one with a name like that of another "
                    "node needs a table in network.hosts"
                )
                faults.found.append(Fault(faults.file, named[host], shown(host), allowed))


def _without_digits(name: str) -> str:
    return re.sub("[0-9]+", "0", name.lower())
