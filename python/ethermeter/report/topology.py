"""Topology: a network as a tree from left to right, in SVG; busier links are wider."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ethermeter.document import Picture
from ethermeter.nodes import kind_of, links_in, nodes_in
from ethermeter.report.render import render_template
from ethermeter.scenario import Link, Scenario

COLUMN, ROW, BOX, HEIGHT, MARGIN = 190, 34, 104, 24, 8
MOST_ALIKE = 4
"""Hosts of one group at one node that are still drawn one by one."""
_LONGEST_NAME = 15


@dataclass(slots=True)
class _Node:
    """A node of the tree: its names, the links to its parent, and its children.

    Several names are a group drawn as one node.
    """

    names: list[str]
    kind: str
    links: list[int] = field(default_factory=list)
    children: "list[_Node]" = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


def picture(network: Scenario, shares: Mapping[int, float], *, busiest: int) -> Picture:
    """Draw a network.

    Parameters
    ----------
    network
        A scenario: nodes, links and shared segments, a forest.
    shares
        Share of time in which every port sent: ports 2l and 2l + 1 are the ends of link l.
    busiest
        Number of the link that is marked.

    """
    segments = {medium.name: "segment" for medium in network.media}
    links = links_in(network)
    kinds = {node.name: segments.get(node.name, kind_of(node)[0]) for node in nodes_in(network)}
    neighbours: dict[str, list[tuple[int, str]]] = {name: [] for name in kinds}
    for number, link in enumerate(links):
        first, second = (end.node for end in link.ends)
        neighbours[first].append((number, second))
        neighbours[second].append((number, first))
    roots = []
    seen: set[str] = set()
    for name in sorted(kinds, key=lambda name: (kinds[name] == "host", -len(neighbours[name]))):
        if name not in seen:
            roots.append(_tree(name, [], kinds, neighbours, seen, keep=_ends(links, busiest)))
    row = 0
    for root in roots:
        row = _placed(root, 0, row)
    every = [node for root in roots for node in _all(root)]
    width = max(node.x for node in every) + BOX + 2 * MARGIN
    height = row * ROW + 2 * MARGIN
    counted = ", ".join(
        f"{list(kinds.values()).count(kind)} {kind}" for kind in dict.fromkeys(kinds.values())
    )
    svg = render_template(
        "topology.svg",
        width=width,
        height=height,
        label=f"Drawing of the network: {counted}; the tables below say what the links did",
        wires=[
            _wire(node, child, shares, busiest=busiest) for node in every for child in node.children
        ],
        nodes=[_box(node) for node in every],
        box=BOX,
        box_height=HEIGHT,
    )
    return Picture(svg, "Drawing of the network")


def _ends(links: Sequence[Link], number: int) -> set[str]:
    return {end.node for end in links[number].ends}


def _tree(
    name: str,
    links: list[int],
    kinds: Mapping[str, str],
    neighbours: Mapping[str, Sequence[tuple[int, str]]],
    seen: set[str],
    *,
    keep: set[str],
) -> _Node:
    """Hang everything that is joined to a node on it.

    Many equal hosts become one, except the ends of the busiest link.
    """
    # A loop rather than recursion: a chain of a thousand switches is allowed.
    root = _Node([name], kinds[name], links)
    seen.add(name)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for link, other in neighbours[node.names[0]]:
            if other not in seen:
                seen.add(other)
                child = _Node([other], kinds[other], [link])
                node.children.append(child)
                waiting.append(child)
        node.children = _together(node.children, keep)
    return root


def _together(children: list[_Node], keep: set[str]) -> list[_Node]:
    groups: dict[str, list[_Node]] = {}
    for child in children:
        stem = re.sub(r"[0-9]+$", "", child.names[0])
        alone = child.kind != "host" or child.names[0] in keep
        groups.setdefault(f"{child.names[0]} alone" if alone else stem, []).append(child)
    found = []
    for members in groups.values():
        if len(members) <= MOST_ALIKE:
            found += members
        else:
            names, links = (
                [name for child in members for name in child.names],
                [link for child in members for link in child.links],
            )
            found.append(_Node(names, "host", links))
    return found


def _placed(root: _Node, depth: int, row: int) -> int:
    """Give every node its place, leaves one below the other; the next free row."""
    # In the order in which a walk leaves the nodes, so that a node finds its children placed.
    walk: list[tuple[_Node, int, bool]] = [(root, depth, False)]
    while walk:
        node, level, is_left = walk.pop()
        if is_left or not node.children:
            node.x = MARGIN + level * COLUMN
            if node.children:
                node.y = (node.children[0].y + node.children[-1].y) / 2
            else:
                node.y = MARGIN + row * ROW + ROW / 2
                row += 1
            continue
        walk.append((node, level, True))
        walk += [(child, level + 1, False) for child in reversed(node.children)]
    return row


def _all(root: _Node) -> list[_Node]:
    found = [root]
    for node in found:
        found += node.children
    return found


@dataclass(frozen=True, slots=True)
class _Wire:
    """A link as it is drawn; `x` and `y` are the end of its text."""

    path: str
    width: float
    title: str
    text: str
    x: float
    y: float
    is_busiest: bool


def _wire(node: _Node, child: _Node, shares: Mapping[int, float], *, busiest: int) -> _Wire:
    share = max(shares.get(2 * link + side, 0.0) for link in child.links for side in (0, 1))
    start, end = node.x + BOX, child.x
    bend = start + (end - start) * 0.35
    curve = f"C{bend:g} {node.y:g} {bend:g} {child.y:g} {bend + 12:g} {child.y:g}"
    which = (
        ", ".join(child.names)
        if len(child.names) <= MOST_ALIKE
        else f"{len(child.names)} hosts, the busiest of them"
    )
    return _Wire(
        path=f"M{start:g} {node.y:g}{curve}H{end:g}",
        width=round(1.2 + 5 * min(share, 1.0), 2),
        title=f"{node.names[0]} – {which}: {100 * share:.2f}%",
        text=f"{100 * share:.0f}%" if share >= 0.995 or share < 0.0995 else f"{100 * share:.1f}%",
        x=end - 6,
        y=child.y - 5,
        is_busiest=busiest in child.links,
    )


@dataclass(frozen=True, slots=True)
class _Box:
    """A node as it is drawn; a stack is a group of hosts."""

    kind: str
    x: float
    y: float
    radius: int
    name: str
    title: str
    is_stack: bool


def _box(node: _Node) -> _Box:
    first, last, count = node.names[0], node.names[-1], len(node.names)
    text = first if count == 1 else f"{first} … {last}"
    shown = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
    if count > 1 and len(text) > _LONGEST_NAME:
        shown = f"{count} × {re.sub(r'[0-9]+$', '', first)}"[:_LONGEST_NAME]
    return _Box(
        kind=node.kind,
        x=node.x,
        y=node.y - HEIGHT / 2,
        radius=12 if node.kind == "router" else 4,
        name=shown,
        title=f"{node.kind} {first}" if count == 1 else f"{count} hosts, {first} to {last}",
        is_stack=count > 1,
    )
