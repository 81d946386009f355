"""Labels of reports: which metrics they show, and titles of keys."""

from collections.abc import Container, Mapping

from ethermeter.document import large_first, plain
from ethermeter.metrics import Metric

TIME_KINDS: dict[Metric, str] = {
    Metric.TIME_FRAME: "frames",
    Metric.TIME_PREAMBLE: "preambles",
    Metric.TIME_GAP: "gaps",
    Metric.TIME_COLLISION: "collisions",
    Metric.TIME_IDLE: "idle",
}
"""Kinds of channel time on a segment …"""

PLCA_TIME_KINDS: dict[Metric, str] = {
    Metric.TIME_BEACON: "beacons",
    Metric.TIME_COMMIT: "line held",
    Metric.TIME_OPPORTUNITY: "opportunities not used",
}
"""… and those that only 10BASE-T1S has."""


def time_kinds(metrics: Container[Metric]) -> dict[Metric, str]:
    """Return the kinds of channel time that are known, in order."""
    every = {**TIME_KINDS, **PLCA_TIME_KINDS}
    return {metric: kind for metric, kind in every.items() if metric in metrics}


KEY_TITLES: dict[str, str] = {
    "stations.count": "Number of hosts",
    "engine": "Engine",
    "flow": "Flow",
    "run": "Run",
    "series": "Series",
    "voice_load": "Offered voice load",
    "network.classes": "Traffic classes",
    "segment.turnaround": "Turnaround time",
    "segment.plca.enable": "PLCA",
    "segment.plca.node-cnt": "Opportunities of a cycle",
    "segment.plca.to-tmr": "Opportunity in bits",
    "segment.plca.burst-cnt": "Frames behind the first of an opportunity",
    "segment.plca.burst-tmr": "Burst timer in bits",
    "segment.plca.beacon-loss": "Probability to lose a beacon",
    "segment.bit_error_rate": "Bit error rate",
    "stations": "Stations",
    "position": "Position along the cable",
    "segment.rate": "Line rate",
    "segment.length": "Length of the cable",
    "segment.round_trip": "Round trip",
    "segment.clusters": "Clusters",
    "segment.gap_part1": "First part of the gap",
    "phases.settle": "Time to settle",
    "phases.transmit": "Time of transmission",
    "phases.drain": "Time to drain",
}
"""Titles of keys that are varied often."""

STATION_TITLES: dict[str, str] = {
    "count": "Number of stations",
    "frames": "Frame length",
    "arrivals": "Arrivals",
    "arrivals.poisson": "Arrivals",
    "arrivals.poisson_load": "Offered load",
    "arrivals.regular": "Time between arrivals",
    "arrivals.phase": "Time of the first arrival",
    "arrivals.speed": "Speed of the trace",
    "arrivals.trace": "Trace",
    "arrivals.coder.sample": "Size of a sample",
    "arrivals.coder.every": "Time between samples",
    "arrivals.coder.rate": "Coder rate",
    "arrivals.coder.talk": "Mean talk",
    "arrivals.coder.silence": "Mean silence",
    "frames.samples.least": "Least frame length",
    "frames.samples.most": "Largest frame length",
    "frames.samples.overhead": "Overhead of a frame",
    "service": "Service time",
    "queue": "Room in the queue",
    "priority_wait": "Priority wait",
    "backoff": "Backoff",
    "backoff.exponential.limit": "Backoff limit",
    "backoff.linear.limit": "Backoff limit",
    "backoff.load_register.bits": "Bits of the load register",
    "backoff.load_register.clock": "Time of a clock tick",
    "attempt_limit": "Attempt limit",
    "per_cluster": "Stations in each cluster",
    "position": "Position",
    "cluster": "Cluster",
}
"""Titles of the keys of a group of stations."""


NETWORK_TITLES: dict[str, str] = {
    "hosts.count": "Number of hosts",
    "hosts.clock.offset": "Offset of the clock",
    "hosts.clock.drift": "Drift of the clock",
    "hosts.clock.offset_spread": "Spread of the clocks’ offsets",
    "hosts.clock.drift_spread": "Spread of the clocks’ drifts",
    "clocks": "Clocks",
    "links.rate": "Rate of the link",
    "links.delay": "Delay of the link",
    "links.length": "Length of the link",
    "hosts.model": "Model of the host",
    "switches.model": "Model of the switch",
    "switches.fabric": "Fabric of the switch",
    "routers.model": "Model of the router",
    "switches.queue": "Room at each port of the switch",
    "switches.queue_size": "Room at each port of the switch",
    "switches.overlap": "Octets before the switch sends on",
    "switches.buffer.size": "Memory of each port of the switch",
    "switches.buffer.pause.high": "Memory at which PAUSE is sent",
    "routers.queue": "Room at each port of the router",
    "rate": "Rate of links",
}
"""Titles of keys of networks, without names and numbers."""

FLOW_TITLES: dict[str, str] = {
    **{
        key: STATION_TITLES[key]
        for key in ("frames", "arrivals", "arrivals.poisson_load", "service", "queue")
    },
    "data": "Data of a datagram",
    "arrivals.poisson": "Messages a second",
    "arrivals.regular": "Spacing of messages",
    "arrivals.phase": "Time of the first message",
    "arrivals.speed": "Speed of the trace",
    "arrivals.trace": "Trace",
    "arrivals.on_off.period": "Spacing of messages while on",
    "response.frames": "Frame length of the answer",
    "response.data": "Data of the answer",
    "response.think": "Time to answer",
    "response.timeout": "Patience",
    "response.exchanges": "Exchanges wanted",
    "cast": "Addressed as",
}
"""Titles of the keys of a flow."""


def _network_title(rest: str) -> str | None:
    """Return the title of a key of a network, and the name or number of its table in brackets."""
    if rest in NETWORK_TITLES:
        return NETWORK_TITLES[rest]
    kind, _, after = rest.partition(".")
    which, _, leaf = after.partition(".")
    title = NETWORK_TITLES.get(f"{kind}.{leaf}")
    return title and (title if which.isdigit() or which == "*" else f"{title} ({which})")


def key_title(key: str) -> str:
    """Return the title of a varied key; a key that is not known is its own title.

    Examples
    --------
    >>> key_title("stations.count"), key_title("stations.frames")
    ('Number of hosts', 'Frame length')
    >>> key_title("stations.pupils.count")
    'Number of stations (pupils)'
    >>> key_title("stations.0.arrivals.poisson_load"), key_title("segment.preamble")
    ('Offered load', 'segment.preamble')
    >>> key_title("network.hosts.sender.count"), key_title("flows.load.frames")
    ('Number of hosts (sender)', 'Frame length (load)')
    """
    if key in KEY_TITLES:
        return KEY_TITLES[key]
    top, _, rest = key.partition(".")
    if top == "network":
        return _network_title(rest) or key
    titles = {"stations": STATION_TITLES, "flows": FLOW_TITLES}.get(top, {})
    if rest in titles:
        return titles[rest]
    group, _, leaf = rest.partition(".")
    if leaf not in titles:
        return key
    return titles[leaf] if group.isdigit() or group == "*" else f"{titles[leaf]} ({group})"


def point_title(point: Mapping[str, str]) -> str:
    """Return the titles and values of varied keys; empty where nothing is varied."""
    return ", ".join(f"{key_title(key)}: {plain(value)}" for key, value in point.items())


def meaning(metric: Metric, entity: str = "") -> str:
    """Say what the metric counts of an entity, "station" or "flow", as a sentence."""
    text = metric.meaning(entity)
    return large_first(text) + "."
