"""Values by agents of ours: an experiment between two hosts of a laboratory, or on loopback."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ethermeter import experiment, plan
from ethermeter.engines.live import Hosts, Laboratory, Local, Place
from ethermeter.engines.live.cautions import AT_HOSTS
from ethermeter.execution import Execution, evaluate, execute
from ethermeter.faults import InputError
from ethermeter.live_reports import SenderCounts
from ethermeter.metrics import Caution, Metric, percentiles
from ethermeter.probing.result import Value
from ethermeter.results import estimates
from ethermeter.results.interval import Estimate
from ethermeter.store import RunDirectory
from ethermeter.store.measured import complete_results
from ethermeter.store.result import FlowResult, Losses

BY = "agent"
_HEAD = """\
title = "Probe: {flow}"
series = "{flow}"
seed = 1
[network]
rate = "10 Gb/s"
[[network.hosts]]
name = "{here}"
[[network.hosts]]
name = "{there}"
[[network.links]]
ends = ["{here}", "{there}"]
[phases]
transmit = "{transmit_ms} ms"
measure = "last {measure_ms} ms"
drain = "200 ms"
[run]
engines = ["live"]
replications = 1
[[flows]]
name = "{flow}"
from = "{source}"
to = "{sink}"
"""
_PING = 'data = "100 B"\narrivals = { poisson = "200 /s" }\nresponse = { data = "100 B" }\n'
_LIGHT = 'data = "200 B"\narrivals = { poisson = "200 /s" }\n'
_TCP = 'transfer.stream = {}\ntransfer.tcp = { window = "1 MB" }\n'
_UDP = 'data = "1472 B"\narrivals = "saturated"\n'
_FLOWS = (
    ("round-trip", _PING, True),
    ("tcp-up", _TCP, True),
    ("tcp-down", _TCP, False),
    ("udp-up", _UDP, True),
    ("udp-down", _UDP, False),
    ("there", _LIGHT, True),
    ("back", _LIGHT, False),
)
"""Flows of a probe: name, keys, and whether it goes from here to there."""
_DELAYS = (Metric.ONE_WAY_DELAY, *percentiles(Metric.ONE_WAY_DELAY))
_TRIPS = (Metric.ROUND_TRIP, *percentiles(Metric.ROUND_TRIP))
_SHOWN = {
    "round-trip": (*_TRIPS, Metric.LOSS),
    "tcp-up": (Metric.DATA_RATE, Metric.RETRANSMITTED),
    "tcp-down": (Metric.DATA_RATE, Metric.RETRANSMITTED),
    "udp-up": (Metric.DATA_RATE, Metric.LOSS, Metric.REORDERED),
    "udp-down": (Metric.DATA_RATE, Metric.LOSS, Metric.REORDERED),
    "there": (*_DELAYS, Metric.LOSS),
    "back": (*_DELAYS, Metric.LOSS),
}
"""Metrics of each flow that a probe reports."""
LEAST_SHARE = 0.01
"""Share of the datagrams beyond which what they met is a cause."""
_SETTLE_MS = 200
_AROUND_S = 0.8


def measured(
    here: str,
    there: str,
    *,
    laboratory: Laboratory | None,
    duration_s: float,
    follow: Callable[[str, float], None],
) -> tuple[list[Value], dict[str, str], list[str]]:
    """Measure between the agents of two hosts; values, limits by flow, and notes.

    Without a laboratory two agents are started on loopback addresses of this machine.
    """
    measure_ms = max(200, round(duration_s / len(_FLOWS) * 1000 - _AROUND_S * 1000))
    place: Place = Local("loopback") if laboratory is None else Hosts(laboratory)
    with tempfile.TemporaryDirectory(prefix="ethermeter-") as folder:
        files = []
        for flow, keys, is_up in _FLOWS:
            file = Path(folder) / f"{flow}.toml"
            head = _HEAD.format(
                flow=flow,
                here=here,
                there=there,
                source=here if is_up else there,
                sink=there if is_up else here,
                transmit_ms=measure_ms + _SETTLE_MS,
                measure_ms=measure_ms,
            )
            file.write_text(head + keys, encoding="utf-8")
            files.append(file)
        experiments = [experiment.load(file) for file in files]
        directory = Path(folder) / "run"
        execute(
            plan.expand(experiments, name="probe"),
            experiments,
            directory=directory,
            options=Execution(),
            follow=lambda progress: follow(progress.phase or "agents", progress.share),
            place=place,
        )
        evaluate(directory, report=False)
        points = estimates.read(directory)
        ids = [trial.id for trial in RunDirectory(directory).trials()]
        flows = {
            name: flow
            for _, result in complete_results(directory, ids)
            for name, flow in result.flows.items()
        }
    values = []
    limits = {}
    for point in points:
        for metric in _SHOWN[point.series]:
            if (found := point.estimates.get(metric)) is not None:
                values.append(Value.made(point.series, metric, found, BY))
        limit = limit_of(point.series, point.estimates, flows.get(point.series, FlowResult()))
        if limit is not None:
            limits[point.series] = limit
    return values, limits, []


def limit_of(flow: str, found: Mapping[Metric, Estimate], result: FlowResult) -> str | None:
    """Say what limited the rate of a flow; None of flows without a rate of interest.

    Of datagrams the cause that most of them met, if more than one in a hundred did.
    """
    rate = found.get(Metric.DATA_RATE)
    if rate is None or flow not in ("tcp-up", "tcp-down", "udp-up", "udp-down"):
        return None
    if flow.startswith("udp"):
        return _limit_of_datagrams(result)
    if Caution.CONSENT_LIMITED in rate.cautions:
        return "the receiver's consent"
    if Caution.HOST_LIMITED in rate.cautions:
        return "a host"
    again = found.get(Metric.RETRANSMITTED)
    if again is not None and again.value > 0:
        return f"the path: TCP sent {again.value:.0f} segments again"
    return "what the sender hands to its interface, or TCP's windows: nothing was lost"


def _limit_of_datagrams(result: FlowResult) -> str | None:
    sending = None if result.sending is None else result.sending.counted
    if not isinstance(sending, SenderCounts):
        return None
    losses = Losses() if result.losses is None else result.losses
    at_hosts = sum(count for location, count in losses.seen if location in AT_HOSTS)
    lost_at_hosts = min(at_hosts, losses.missing)
    causes = (
        (sending.held_back or 0, "the receiver's consent", "waited for it"),
        (
            sending.refused or 0,
            "the sender's queue, or the path behind it",
            "waited for room there",
        ),
        (lost_at_hosts, "a host", "were dropped at its interface or socket"),
        (losses.missing - lost_at_hosts, "the path", "were lost on it, or in the queue before it"),
    )
    most, cause, what = max(causes, key=lambda each: each[0])
    if most <= LEAST_SHARE * sending.frames:
        return "the sender's host: its datagrams neither waited nor were lost"
    return f"{cause}: {most:,} of {sending.frames:,} datagrams {what}"


def station_of(laboratory: Laboratory, argument: str, name: str) -> str:
    """Return the name of a host of a laboratory, by its name or address."""
    for station in laboratory.stations.values():
        if name in (station.name, station.address):
            return station.name
    allowed = f"expected a host of {laboratory.source}: {', '.join(laboratory.stations)}"
    raise InputError.of_argument(argument, name, allowed)
