"""Bounds beside an answer: the room of a queue that loses nothing, by network calculus."""

from ethermeter.analysis.value_search import Bound
from ethermeter.experiment.key_paths import resolved
from ethermeter.experiment.reading import of_document
from ethermeter.experiment.toml import assigned, at
from ethermeter.faults import InputError
from ethermeter.nodes import links_in
from ethermeter.search.question import Question
from ethermeter.store.integrity import first_line
from ethermeter.theory.bounds import bounds_of

_ROOMS = {"queue": "unlimited", "queue_size": None}
"""Keys of the room of a queue, and what they are without a limit."""


def bound_of(question: Question) -> Bound | None:
    """Return the room that loses nothing, of the queue whose size is searched; None of other keys.

    The largest backlog of any port of the node, and of any traffic class where it has several.
    """
    document = question.experiment.document
    path = resolved(document, question.key.split("."), tops=("network", *_tops(question)))
    if len(path) < 4 or path[:1] != ("network",) or path[-1] not in _ROOMS:
        return None
    tables = at(document, path[:3])
    if path[1] not in ("switches", "routers") or not isinstance(tables, dict):
        return None
    name, is_frames = str(tables.get("name")), path[-1] == "queue"
    unlimited = document
    for key in _ROOMS.keys() & (tables.keys() | {str(path[-1])}):
        unlimited = _without_limit(unlimited, (*path[:3], key))
    unit = "frames" if is_frames else "octets"
    what = f"the largest queue of {name} by network calculus, the frame being sent included"
    try:
        scenario = of_document({**unlimited, "vary": {}}, question.experiment.path).scenarios.at([])
        found = bounds_of(scenario)
    except InputError as error:
        return Bound(what, None, unit, error.faults[0].allowed)
    except Exception as error:  # costs the bound, not the search
        return Bound(what, None, unit, f"network calculus failed: {first_line(error)}")
    owners = [end.node for link in links_in(scenario) for end in link.ends]
    needs = []
    for port in found.ports:
        if owners[port.port] != name:
            continue
        for backlog, reason in zip(port.classes, port.reasons, strict=True):
            if backlog is None:
                return Bound(what, None, unit, reason or "it has no bound")
            needs.append(backlog.held_frames if is_frames else backlog.held_octets)
    return Bound(what, max(needs, default=0), unit)


def _tops(question: Question) -> tuple[str, ...]:
    return tuple(top for top in ("segment", "stations", "flows", "phases", "theory")
                 if top in question.experiment.document or top == "phases")  # fmt: skip


def _without_limit(document: dict[str, object], path: tuple[str | int, ...]) -> dict[str, object]:
    """Return a file without the limit of a queue at a path."""
    value = _ROOMS[str(path[-1])]
    if value is not None:
        found = assigned(document, path, value)
    else:
        table = at(document, path[:-1])
        assert isinstance(table, dict), "a node is a table"
        kept = {key: each for key, each in table.items() if key != path[-1]}
        found = assigned(document, path[:-1], kept)
    assert isinstance(found, dict), "a file is a table"
    return found
