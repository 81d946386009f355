"""JSON of `ethermeter probe HOST --json`: flows by name."""

from collections import defaultdict

import msgspec

from ethermeter.faults import InputError
from ethermeter.imports.document import Document
from ethermeter.metrics import Metric
from ethermeter.metrics.main import metric_choices
from ethermeter.results.estimates import EstimateEntry
from ethermeter.results.interval import Estimate

KEYS = frozenset(("to", "by", "values"))
"""Keys by which a measurement is known."""


class _Value(EstimateEntry, kw_only=True):
    """One metric of one flow, as `ethermeter.probing.result.Measurement` writes it."""

    flow: str
    metric: str
    by: str


def flows(document: Document, file: str) -> dict[str, dict[Metric, Estimate]]:
    """Return the estimates of each flow.

    A flow that several peers answered, such as the round trips by STAMP and by iperf3, is several:
    `round-trip by stamp`, `round-trip by iperf3`.
    """
    values = document["values"]
    if not isinstance(values, list):
        raise InputError.of(file, "values", str(values)[:50], "expected a list of values")
    read = [_read(value, f"values[{at}]", file) for at, value in enumerate(values)]
    if not read:
        raise InputError.of(file, "values", "[]", "expected at least one value")
    peers = defaultdict(set)
    for value in read:
        peers[value.flow].add(value.by)
    found: dict[str, dict[Metric, Estimate]] = defaultdict(dict)
    for at, value in enumerate(read):
        name = value.flow if len(peers[value.flow]) == 1 else f"{value.flow} by {value.by}"
        metric = Metric(value.metric)
        if metric in found[name]:
            allowed = "expected each metric of a flow once"
            raise InputError.of(file, f"values[{at}].metric", value.metric, allowed)
        found[name][metric] = value.read()
    return dict(found)


def _read(value: object, where: str, file: str) -> _Value:
    try:
        read = msgspec.convert(value, type=_Value)
    except msgspec.ValidationError as error:
        allowed = "expected a value as ethermeter probe HOST --json writes it"
        raise InputError.of(file, where, str(error)[:100], allowed) from None
    if read.metric not in set(Metric):
        allowed = metric_choices(read.metric, [metric.value for metric in Metric])
        raise InputError.of(file, f"{where}.metric", read.metric[:50], allowed)
    return read
