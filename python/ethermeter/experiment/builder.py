"""Builder: experiments made in Python, as the tables of a file.

Every function returns a table with the keys of the file; keywords are its keys, with the file's
values, and have types that editors complete and check (`ethermeter.experiment.keys`). A keyword of
None leaves its key out. Nothing is checked when the program runs: `ethermeter.load` does that.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Unpack

from ethermeter.experiment import toml
from ethermeter.experiment.document import LONG, SHORT, Document
from ethermeter.experiment.keys import (
    DocumentKeys,
    FlowKeys,
    HostGroupKeys,
    HubKeys,
    LinkKeys,
    MessageTableKeys,
    NetworkKeys,
    NetworkSegmentKeys,
    RouterKeys,
    SegmentKeys,
    StationGroupKeys,
    SwitchKeys,
)
from ethermeter.experiment.tables import keys_of, table_reader
from ethermeter.experiment.toml import Tables

Table = Mapping[str, object]
Function = TypeVar("Function", bound=Callable[..., object])


def _with_keys(keys: type) -> Callable[[Function], Function]:
    """Let `help` and notebooks show the keys of a table as keywords of its function."""

    def with_signature(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        named = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None)
            for key in inspect.get_annotations(keys)
        ]
        shown = signature.replace(parameters=[*own, *named])
        setattr(function, "__signature__", shown)  # noqa: B010
        return function

    return with_signature


class SegmentFileKeys(SegmentKeys, DocumentKeys, total=False):
    """Keys of `[segment]`, and of a file as a whole."""


class NetworkFileKeys(NetworkKeys, DocumentKeys, total=False):
    """Keys of `[network]`, and of a file as a whole."""


class ExperimentTables(Tables):
    """The tables of an experiment: a dictionary that `ethermeter.load` takes."""

    def text(self) -> str:
        """Return the text of the experiment file; TOML."""
        return toml.document(self)

    def save(self, path: Path | str) -> Path:
        """Write the experiment file and return its path."""
        file = Path(path)
        file.write_text(self.text(), encoding="utf-8")
        return file

    def changed(self, values: Table | None = None, /, **tables: object) -> "ExperimentTables":
        """Return a copy with other values; None removes a key.

        Parameters
        ----------
        values
            By dotted key; tables of a list by number, one more than there are to add one.
        **tables
            Whole tables, by name.

        Examples
        --------
        >>> import ethermeter as em
        >>> hub = em.segment("ieee-10", stations=em.stations(count=2), length="100 m")
        >>> hub.changed({"stations.0.frames": "64 B"}, seed=7)["stations"]
        [{'count': 2, 'frames': '64 B'}]

        """
        changed = ExperimentTables(_table(self))
        for key, value in {**(values or {}), **tables}.items():
            _set(changed, key, _copied(value))
        return changed


@_with_keys(SegmentFileKeys)
def segment(
    standard: str | None,
    /,
    *,
    stations: Table | Sequence[Table],
    title: str = "A segment",
    **keys: Unpack[SegmentFileKeys],
) -> ExperimentTables:
    """Return an experiment on one shared segment.

    Parameters
    ----------
    standard
        Name of the standard.
    stations
        Groups of stations (`stations`), or one of them.
    title
        Title of the experiment, in one line.
    **keys
        Keys and tables of the file as a whole, such as `vary`, `phases` and `run`; all others are
        keys of `[segment]`.

    Examples
    --------
    >>> import ethermeter as em
    >>> hosts = em.stations("host", count=10, frames="64 B", arrivals="saturated")
    >>> hub = em.segment("ieee-10", length="100 m", stations=hosts, run={"replications": 3})
    >>> em.load(hub)
    Loaded('experiment': 1 point, 3 trials)

    """
    return _whole(SHORT, title, {"standard": standard, **keys}, stations)


@_with_keys(NetworkFileKeys)
def network(
    *,
    hosts: Sequence[str | Table] = (),
    switches: Sequence[str | Table] = (),
    routers: Sequence[str | Table] = (),
    hubs: Sequence[str | Table] = (),
    segments: Sequence[Table] = (),
    links: Sequence[Sequence[str] | Table] = (),
    flows: str | Table | Sequence[str | Table] = (),
    title: str = "A network",
    **keys: Unpack[NetworkFileKeys],
) -> ExperimentTables:
    """Return an experiment on a network.

    Parameters
    ----------
    hosts, switches, routers, hubs
        Nodes: a name, or a table (`host`, `switch`, `router`, `hub`).
    segments
        Shared segments (`network_segment`).
    links
        Links: the names of both ends, or a table (`link`).
    flows
        Flows (`flow`) and message tables (`messages`, or the name of a file), or one of them.
    title
        Title of the experiment, in one line.
    **keys
        Keys and tables of the file as a whole, such as `vary`, `phases` and `run`; all others are
        keys of `[network]`, such as `rate`.

    Examples
    --------
    >>> import ethermeter as em
    >>> office = em.network(
    ...     hosts=[em.host("sender", count=3), "sink"],
    ...     switches=[em.switch("s", queue=100)],
    ...     links=[("sender", "s"), ("s", "sink")],
    ...     rate="100 Mb/s",
    ...     flows=em.flow("load", "sender", "sink", frames="64 B", arrivals="saturated"),
    ... )
    >>> em.load(office, overrides=["run.replications=2"])
    Loaded('experiment': 1 point, 2 trials)

    """
    nodes = {"hosts": hosts, "switches": switches, "routers": routers, "hubs": hubs}
    named: dict[str, Sequence[Table]] = {
        kind: [{"name": node} if isinstance(node, str) else node for node in each]
        for kind, each in nodes.items()
        if each
    }
    if segments:
        named["segments"] = list(segments)
    if links:
        named["links"] = [
            each if isinstance(each, Mapping) else {"ends": list(each)} for each in links
        ]
    return _whole(LONG, title, {**keys, **named}, flows)


@_with_keys(StationGroupKeys)
def stations(name: str | None = None, /, **keys: Unpack[StationGroupKeys]) -> Tables:
    """Return a station, or a group of equal ones with `count`, for `segment`."""
    return _table({"name": name, **keys})


@_with_keys(HostGroupKeys)
def host(name: str, /, **keys: Unpack[HostGroupKeys]) -> Tables:
    """Return a host, or a group of equal ones with `count`, for `network`."""
    return _table({"name": name, **keys})


@_with_keys(SwitchKeys)
def switch(name: str, /, **keys: Unpack[SwitchKeys]) -> Tables:
    """Return a switch for `network`."""
    return _table({"name": name, **keys})


@_with_keys(RouterKeys)
def router(name: str, /, **keys: Unpack[RouterKeys]) -> Tables:
    """Return a router for `network`."""
    return _table({"name": name, **keys})


@_with_keys(HubKeys)
def hub(name: str, /, **keys: Unpack[HubKeys]) -> Tables:
    """Return a hub for `network`."""
    return _table({"name": name, **keys})


@_with_keys(LinkKeys)
def link(one: str, other: str, /, **keys: Unpack[LinkKeys]) -> Tables:
    """Return a link between two nodes for `network`."""
    return _table({"ends": [one, other], **keys})


@_with_keys(NetworkSegmentKeys)
def network_segment(name: str, standard: str, /, **keys: Unpack[NetworkSegmentKeys]) -> Tables:
    """Return a shared segment for `network`."""
    return _table({"name": name, "standard": standard, **keys})


@_with_keys(FlowKeys)
def flow(
    name: str | None,
    sender: str | None,
    receiver: str | Sequence[str] | None,
    /,
    **keys: Unpack[FlowKeys],
) -> Tables:
    """Return a flow for `network`; the file's keys of sender and receiver are `from` and `to`."""
    return _table({"name": name, "from": sender, "to": receiver, **keys})


@_with_keys(MessageTableKeys)
def messages(
    table: str,
    sender: str | None = None,
    receiver: str | Sequence[str] | None = None,
    /,
    **keys: Unpack[MessageTableKeys],
) -> Tables:
    """Return the flows of a message table, a file of this name, for `network`.

    Sender, receiver and keywords of flows hold for each row without a cell for them.
    """
    return _table({"table": table, "from": sender, "to": receiver, **keys})


def _whole(
    form: tuple[str, ...], title: str, keys: Table, listed: str | Table | Sequence[str | Table]
) -> ExperimentTables:
    """Return a file with the tables of a form: each key beside its main table, or in it."""
    (main, several, *_), top = form, keys_of(table_reader(Document))
    whole = {
        "title": title,
        main: {key: value for key, value in keys.items() if key not in top},
        several: [listed] if isinstance(listed, Mapping) else listed,
        **{key: value for key, value in keys.items() if key in top},
    }
    return ExperimentTables(_table(whole))


def _table(keys: Table) -> Tables:
    """Return a copy of a table, without keys of None."""
    return {key: _copied(value) for key, value in keys.items() if value is not None}


def _copied(value: object) -> object:
    if isinstance(value, Mapping):
        return _table(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_copied(each) for each in value]
    return value


def _set(table: Any, key: str, value: object) -> None:
    """Set, or with None remove, what a dotted key names; tables on the way are made."""
    *path, last = key.split(".")
    for part in path:
        table = table[int(part)] if isinstance(table, list) else table.setdefault(part, {})
    if isinstance(table, list):
        at = int(last)
        table[at : at + 1] = [] if value is None else [value]
    elif value is None:
        table.pop(last, None)
    else:
        table[last] = value
