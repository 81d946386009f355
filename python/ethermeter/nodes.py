"""Nodes: of which kind each node of a scenario is."""

from ethermeter.scenario import Class, Host, Hub, Node, Router, Scenario, Switch

Settings = Host | Switch | Router | Hub
"""Settings of a node, by its kind."""


def classes_of(node: Node) -> tuple[Class, ...]:
    """Return the traffic classes of a node's output ports, highest first; none for one queue."""
    kind = node.kind
    owner = kind.host or kind.switch or kind.router
    return () if owner is None else owner.classes


def kind_of(node: Node) -> tuple[str, Settings]:
    """Return the kind of a node, such as "host", and its settings."""
    every = ((name, getattr(node.kind, name)) for name in ("host", "switch", "router", "hub"))
    return next((name, settings) for name, settings in every if settings is not None)


def room_of(settings: Settings, traffic_class: int | None) -> tuple[int | None, int | None]:
    """Return the room of a port in frames and octets; None without a limit.

    Where a port has traffic classes, the room is that of a class; one without room of its own has
    the room of the node.
    """
    frames = settings.queue_frames if isinstance(settings, Switch | Router) else None
    octets = settings.queue_octets if isinstance(settings, Switch) else None
    if traffic_class is None or isinstance(settings, Hub) or not settings.classes:
        return frames, octets
    own = settings.classes[traffic_class]
    return own.queue_frames or frames, own.queue_octets or octets


def hosts_in(scenario: Scenario) -> list[str]:
    """Names of all hosts of a scenario."""
    return [node.name for node in scenario.nodes if node.kind.host is not None]
