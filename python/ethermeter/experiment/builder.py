"""Builder: experiments made in Python, as the tables of a file.

Every function returns a table with the keys of the file; keywords are its keys, with the file's
values. A keyword of None leaves its key out. Nothing is checked here: `ethermeter.load` does that.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ethermeter.experiment import toml
from ethermeter.experiment.document import NETWORK, SEGMENT, Form, fields_of
from ethermeter.experiment.toml import Tables

Table = Mapping[str, object]


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


def segment(
    standard: str | None,
    /,
    *,
    stations: Table | Sequence[Table],
    title: str = "A segment",
    **keys: object,
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
    return _whole(SEGMENT, title, {"standard": standard, **keys}, stations)


def network(
    *,
    hosts: Sequence[str | Table] = (),
    switches: Sequence[str | Table] = (),
    routers: Sequence[str | Table] = (),
    hubs: Sequence[str | Table] = (),
    links: Sequence[Sequence[str] | Table] = (),
    flows: Table | Sequence[Table] = (),
    title: str = "A network",
    **keys: object,
) -> ExperimentTables:
    """Return an experiment on a network.

    Parameters
    ----------
    hosts, switches, routers, hubs
        Nodes: a name, or a table (`host`, `switch`, `router`, `hub`).
    links
        Links: the names of both ends, or a table (`link`).
    flows
        Flows (`flow`), or one of them.
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
    named = {
        kind: [{"name": node} if isinstance(node, str) else node for node in each]
        for kind, each in nodes.items()
        if each
    }
    if links:
        named["links"] = [
            each if isinstance(each, Mapping) else {"ends": list(each)} for each in links
        ]
    return _whole(NETWORK, title, {**keys, **named}, flows)


def stations(name: str | None = None, /, **keys: object) -> Tables:
    """Return a station, or a group of equal ones with `count`, for `segment`."""
    return _table({"name": name, **keys})


def host(name: str, /, **keys: object) -> Tables:
    """Return a host, or a group of equal ones with `count`, for `network`."""
    return _table({"name": name, **keys})


def switch(name: str, /, **keys: object) -> Tables:
    """Return a switch for `network`."""
    return _table({"name": name, **keys})


def router(name: str, /, **keys: object) -> Tables:
    """Return a router for `network`."""
    return _table({"name": name, **keys})


def hub(name: str, /, **keys: object) -> Tables:
    """Return a hub for `network`."""
    return _table({"name": name, **keys})


def link(one: str, other: str, /, **keys: object) -> Tables:
    """Return a link between two nodes for `network`."""
    return _table({"ends": [one, other], **keys})


def flow(
    name: str | None, sender: str | None, receiver: str | Sequence[str] | None, /, **keys: object
) -> Tables:
    """Return a flow for `network`; the file's keys of sender and receiver are `from` and `to`."""
    return _table({"name": name, "from": sender, "to": receiver, **keys})


def _whole(
    form: Form, title: str, keys: Table, listed: Table | Sequence[Table]
) -> ExperimentTables:
    """Return a file of a form: each key beside its main table, or in it."""
    main, top = form.tables[0], fields_of(form.document)
    whole = {
        "title": title,
        main: {key: value for key, value in keys.items() if key not in top},
        form.listed: [listed] if isinstance(listed, Mapping) else listed,
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
