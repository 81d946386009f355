"""[[stations]]: groups of equal stations on the segment of a file, and what they stand for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from msgspec.structs import asdict

from ethermeter import scenario
from ethermeter.experiment import plca
from ethermeter.experiment.flows import RECEIVERS, Flow
from ethermeter.experiment.frames import FRAMES, MeasuredFrames, Sizes
from ethermeter.experiment.media import MOST_STATIONS, Attachment, NetworkSegment
from ethermeter.experiment.network import HostGroup, Link, Network
from ethermeter.experiment.quantity import Name, integer
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.tables import fields_of
from ethermeter.experiment.traffic import Arrivals, suits_calls
from ethermeter.experiment.voice import Coder
from ethermeter.faults import Faults, KeyPath, shown
from ethermeter.trial import RAW_FRAMES, SIMULATION

MEDIUM = "medium"
"""Receiver of frames that are for no station."""


class StationGroup(Attachment, frozen=True, kw_only=True):
    """A group of stations that differ only in their attachment points."""

    OF = (scenario.Stations, scenario.Flow)
    # All others are of flows between hosts.
    LEFT_OUT = frozenset(field.key for field in fields_of(scenario.Flow)) - {
        "queue",
        "generator",
        "service",
        "deadline",
        "calls",
    }
    ELSEWHERE = "it is of flows between hosts, in a file with a network"

    name: Name | None = None
    """Name of the group in dotted paths and reports; "stations" or "group-0", "group-1", … if
    absent.
    """
    count: Annotated[int, integer(1, MOST_STATIONS)]
    """Number of stations in the group."""
    to: Annotated[tuple[str, ...], RECEIVERS] = (MEDIUM,)
    """Receivers: "medium" for none, or the name of a group, or a list of names. Each station sends
    to one other, in rotation: the first to the first, and so on; within its own group to the next.
    All groups have receivers, or none. "medium" if absent.
    """
    frames_include_fcs: bool = True
    """Whether `frames` includes the frame check sequence; if false, it is added to the lengths."""
    arrivals: Arrivals
    """Arrival process of the frames of each station."""
    frames: Annotated[Sizes | MeasuredFrames | scenario.SamplesLengths | None, FRAMES] = None
    """Frame lengths, destination address to FCS; required unless a trace has them."""

    @classmethod
    def requires(cls, table: Mapping[str, object]) -> Iterable[str]:
        """Require lengths unless a trace may have them, which is known when it is read."""
        arrivals = table.get("arrivals")
        return () if isinstance(arrivals, Mapping) and "trace" in arrivals else ("frames",)

    @property
    def has_receivers(self) -> bool:
        """Whether other stations receive its frames."""
        return self.to != (MEDIUM,)


SOURCE_KEYS = (
    *("frames", "frames_include_fcs", "arrivals", "queue", "generator", "service"),
    *("deadline", "calls"),
)
"""Keys of a group that say nothing of its place on the segment, nor of how it contends."""


def names_of(tables: Sequence[object]) -> list[str]:
    """Return the names of groups; those without one have a name that no other group has."""
    given = [table.get("name") if isinstance(table, Mapping) else None for table in tables]
    names = []
    for index, name in enumerate(given):
        usual = f"group-{index}" if len(given) > 1 else "stations"
        while usual in given:
            usual += "'"
        names.append(name if isinstance(name, str) and name else usual)
    return names


def network_of(segment: Segment, groups: Sequence[StationGroup], names: Sequence[str]) -> Network:
    """Return the network that a segment and its stations, by their names, stand for."""
    medium = "segment" + "'" * ("segment" in names)
    hosts, links = [], []
    for index, (group, name) in enumerate(zip(groups, names, strict=True)):
        path: KeyPath = ("stations", index)
        count = group.count if group.count > 1 else None
        hosts.append(HostGroup(name=name, count=count, written=path))
        keys = {key: getattr(group, key) for key in Attachment.__struct_fields__}
        # A coder's buffer goes on whatever becomes of attempts.
        usual = {"after_attempt_limit": "resume"} if isinstance(group.arrivals, Coder) else {}
        keys |= {"core": usual | dict(group.core), "written": path}
        links.append(Link(ends=(name, medium), **keys))
    shared = NetworkSegment(**asdict(segment) | {"name": medium, "written": ("segment",)})
    return Network(
        hosts=tuple(hosts), segments=(shared,), links=tuple(links), written=("stations",)
    )


def flow_of(group: StationGroup, index: int, name: str) -> Flow:
    """Return the flow from each station of a group, which has a number and a name."""
    return Flow(
        # Those to other stations have the names of both.
        name="" if group.has_receivers else name,
        source=name,
        to=group.to if group.has_receivers else (),
        pairs="in rotation",
        port=RAW_FRAMES,
        frames=group.frames,
        frames_include_fcs=group.frames_include_fcs,
        arrivals=group.arrivals,
        given=group.given,
        core=group.core,
        written=("stations", index),
    )


def check_groups(segment: Segment, groups: Sequence[StationGroup], faults: Faults) -> None:
    """Find groups that contradict each other, or the segment."""
    have_receivers = any(group.has_receivers for group in groups)
    for index, group in enumerate(groups):
        if have_receivers and group.name == MEDIUM:
            allowed = "expected another name: the medium has it, where stations have receivers"
            faults.add(("stations", index, "name"), shown(MEDIUM), allowed)
        if have_receivers and not group.has_receivers:
            allowed = (
                "expected receivers, as other groups have: the name of a group, its own if it does"
                " not matter which stations receive"
            )
            faults.add(("stations", index, "to"), shown(MEDIUM), allowed)
        if segment.standard == plca.STANDARD and group.core.get("calls") is not None:
            allowed = "expected a segment of another standard than 10BASE-T1S"
            faults.add(("stations", index, "calls"), "(given)", allowed)
        for key, name in _functions_of(group) if segment.standard == plca.STANDARD else ():
            allowed = "expected a segment of another standard than 10BASE-T1S"
            faults.add(("stations", index, key, "python"), shown(name), allowed)


def _functions_of(group: StationGroup) -> list[tuple[str, str]]:
    """Return the names of functions in Python that a group has, with their keys."""
    return [
        (key, table.function.name)
        for key, table in (("backoff", group.core.get("backoff")), ("arrivals", group.arrivals))
        if isinstance(table, scenario.PythonBackoff | scenario.PythonArrivals)
    ]


def check_group(group: StationGroup, engines: Sequence[str], faults: Faults) -> None:
    """Find keys of a group that contradict each other, or that one of the engines cannot follow."""
    others = [engine for engine in engines if engine != SIMULATION]
    for key, name in _functions_of(group) if others else ():
        allowed = (
            f'a function in Python runs with run.engines = ["{SIMULATION}"] only, not with'
            f" {', '.join(others)}"
        )
        faults.add((key, "python"), shown(name), allowed)
    has_coder = isinstance(group.arrivals, Coder)
    has_clock = has_coder or isinstance(group.core.get("backoff"), scenario.LoadRegisterBackoff)
    if (error_ppb := group.core.get("clock_error_ppb")) and not has_clock:
        allowed = (
            "allowed with a coder or a load register only: nothing else follows a host's clock"
        )
        faults.add(("clock_error",), f"{error_ppb} ppb", allowed)
    if group.core.get("calls") is not None and not suits_calls(group.arrivals):
        allowed = "allowed with a coder, or regular, poisson or on_off arrivals only"
        faults.add(("calls",), "(given)", allowed)
    # A coder has no end of its attempts: its buffer is the frame.
    for key, only in (("after_attempt_limit", "resume"), ("after_late_collision", "backoff")):
        if has_coder and (value := group.core.get(key)) not in (None, only):
            allowed = f'expected "{only}" with a coder, whose buffer goes on'
            faults.add((key,), f'"{value}"', allowed)
