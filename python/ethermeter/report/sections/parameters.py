"""Parameters: what a run was made with, each with where it comes from."""

from collections.abc import Mapping, Sequence

import msgspec

from ethermeter.document import Block, Heading, Row, Section, Table, Text
from ethermeter.entities import Senders, constants_of, lengths_of, mean_ps, medium_of, senders
from ethermeter.nodes import kind_of
from ethermeter.quantities import scale_of
from ethermeter.report.data import ReportData
from ethermeter.report.experiments import written
from ethermeter.report.tables import code, tag
from ethermeter.scenario import (
    Arrivals,
    CoderArrivals,
    Flow,
    Lengths,
    Medium,
    SamplesLengths,
    Scenario,
    Stations,
    TraceArrivals,
)
from ethermeter.theory.bus_advice import ranges

RUN = (
    "Constants of the trials as they were run, those that an experiment file leaves to its "
    "standard included."
)
WRITTEN = "What the experiment files say, each with where it comes from."


def build(data: ReportData) -> Section:
    """Constants as they were run, and the experiment files with their sources."""
    run = shared({name: constants(scenario) for name, scenario in data.scenarios.items()})
    blocks: list[Block] = [
        Heading("As run"),
        Text(RUN, "lead"),
        _table(("Parameter", "Value"), run, list(data.scenarios), "Series"),
    ]
    files = {str(file.content.get("series", file.title)): file for file in data.experiments}
    if len(files) < len(data.experiments):
        files = {file.name: file for file in data.experiments}
    if files:
        rows = shared({name: file.parameters() for name, file in files.items()})
        head = ("Key", "Value", "Kind", "Source")
        table = _table(head, rows, list(files), "Experiment", suffix=" as written")
        blocks += [Heading("As written"), Text(WRITTEN, "lead"), table]
    else:
        blocks.append(Text("The run directory holds no experiment file."))
    return Section("parameters", "Parameters", "Parameters and their sources", blocks)


def _table(
    head: Row,
    rows: Sequence[tuple[Row, list[str]]],
    names: Sequence[str],
    owner: str,
    *,
    suffix: str = "",
) -> Table:
    """Table of parameters; with several owners, a last column names the owner of each row."""
    if len(names) == 1:
        cells = [_cells(row) for row, _ in rows]
        return Table(head, cells, f"Parameters of {names[0]}{suffix}", "plain")
    cells = [[*_cells(row), "all" if len(of) == len(names) else ", ".join(of)] for row, of in rows]
    return Table([*head, owner], cells, f"Parameters{suffix}", "plain")


def _cells(row: Row) -> list[str]:
    if len(row) == 2:
        return list(row)
    key, value, kind, source = row
    return [code(key), value, tag(kind, kind) if kind else "", source]


def shared(
    owners: Mapping[str, Sequence[tuple[str, ...]]],
) -> list[tuple[tuple[str, ...], list[str]]]:
    """Rows of several owners as one list, each row with its owners.

    Rows that begin alike stand together.

    Examples
    --------
    >>> shared({"I-1": [("jam", "32"), ("gap", "0 us")], "I-2": [("jam", "32"), ("gap", "6 us")]})
    [(('jam', '32'), ['I-1', 'I-2']), (('gap', '0 us'), ['I-1']), (('gap', '6 us'), ['I-2'])]
    """
    order: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for owner, rows in owners.items():
        for row in rows:
            order.setdefault(row[0], {}).setdefault(row, []).append(owner)
    return [(row, of) for alike in order.values() for row, of in alike.items()]


def constants(scenario: Scenario) -> list[tuple[str, str]]:
    """Name and value of the constants of a segment or a network, as they were run.

    Of a segment, those of the first group are included; of a network, those of nodes and links.
    """
    groups = senders(scenario)
    if not groups:
        return network_constants(scenario)
    medium, mac, phases = medium_of(scenario), constants_of(scenario), scenario.phases
    stations, flow = groups[0].stations, groups[0].flow
    bit_ps = medium.bit_ps
    reach_ps = max(max(row) for row in medium.delay_ps)
    gap_part1 = f"the first part {mac.gap_part1_bits} bit times"
    rows = [
        ("line rate", f"{1e6 / bit_ps:g} Mb/s"),
        ("slot time", _bits(mac.slot_bits, bit_ps)),
        ("inter-frame gap", f"{_bits(mac.gap_bits, bit_ps)}, {gap_part1}"),
        ("preamble", _bits(mac.preamble_bits, bit_ps)),
        ("jam", _bits(mac.jam_bits, bit_ps)),
        (
            "longest one-way propagation",
            f"{reach_ps / 1e6:.4g} µs, {reach_ps / bit_ps:.3g} bit times",
        ),
        *([("turnaround time", f"{mac.turnaround_ps / 1e6:g} µs")] if mac.turnaround_ps else []),
        *_plca(medium, [(group.name, group.stations) for group in groups]),
        *_priority_waits(groups),
        ("backoff", written_struct(stations.backoff)),
        ("attempt limit", f"{stations.attempt_limit}, then {stations.after_attempt_limit}"),
        ("after a late collision", stations.after_late_collision),
        ("host service time", written_struct(flow.service)),
        ("arrivals", arrivals_text(flow.arrivals)),
        *_calls(groups),
        *([("frames", samples(flow.frames))] if isinstance(flow.frames, SamplesLengths) else []),
        ("queue", _queue(flow)),
        ("generator", written_struct(flow.generator) if flow.generator else "none"),
        (
            "measured",
            f"from {phases.measure_from_ps / 1e12:g} s to {phases.measure_to_ps / 1e12:g} s, "
            f"{scenario.batches} batches",
        ),
    ]
    return rows


def _plca(medium: Medium, groups: Sequence[tuple[str, Stations]]) -> list[tuple[str, str]]:
    """Name and value of the settings of PLCA, by group; empty of other standards."""
    bus = medium.mac.plca
    if bus is None:
        return []
    latencies = (bus.transmit_ps, bus.carrier_on_ps, bus.carrier_off_ps)
    rows = [
        ("PHY: to the line, carrier on, off", ", ".join(f"{ps / 1e6:g} µs" for ps in latencies)),
        ("end delimiter", _bits(bus.end_delimiter_bits, medium.bit_ps)),
    ]
    if bus.jams_at_once:
        rows.append(("collision", "jam at once, without the rest of the preamble"))
    if bus.gap_after_backoff:
        rows.append(("after a backoff", "a gap, however long nothing was heard"))
    if bus.beacon_loss:
        rows.append(("beacons lost", f"{bus.beacon_loss:g}"))
    if bus.bit_error_rate:
        rows.append(("bit error rate", f"{bus.bit_error_rate:g}"))
    for name, stations in groups:
        of = stations.plca
        text = "off: CSMA/CD"
        if of is not None:
            ids = ranges([id for ids in of.ids for id in ids])
            text = (
                f"node-id {ids}, node-cnt {of.node_count}, to-tmr {of.opportunity_bits},"
                f" burst-cnt {of.burst_count}, burst-tmr {of.burst_bits}"
            )
            text += "" if of.falls_back else ", no fall-back"
        rows.append((f"PLCA ({name})", text))
    return rows


def _segment(medium: Medium) -> list[tuple[str, str]]:
    """Name and value of the constants of a segment within a network, as run."""
    reach_ps = max(max(row) for row in medium.delay_ps)
    nodes = [(stations.node, stations) for stations in medium.stations]
    text = (
        f"{1e6 / medium.bit_ps:g} Mb/s, {len(nodes)} nodes, up to {reach_ps / 1e6:.4g} µs apart,"
        f" {'PLCA' if medium.mac.plca is not None else 'CSMA/CD'}"
    )
    return [(f"segment {medium.name}", text), *_plca(medium, nodes)]


def network_constants(scenario: Scenario) -> list[tuple[str, str]]:
    """Name and value of nodes, links and flows of a network, as run; equal ones together."""
    phases = scenario.phases
    alike: dict[tuple[str, str], list[str]] = {}
    for node in scenario.nodes:
        kind, settings = kind_of(node)
        text = _settings(kind, msgspec.to_builtins(settings))
        alike.setdefault((kind, text), []).append(node.name)
    rows = [(f"{kind} {_listed(names)}", text) for (kind, text), names in alike.items()]
    if scenario.clocks == "compared":
        rows.append(("clocks", "compared by receivers of streams"))
    wires: dict[str, list[str]] = {}
    for link in scenario.links:
        rate = f"{8e6 / link.ps_per_octet:g} Mb/s"
        half = ", half duplex" if link.half_duplex else ""
        around = f", preamble {link.preamble_octets} B, gap {link.gap_octets} B"
        wires.setdefault(f"{rate}{half}, {link.delay_ps / 1e6:g} µs{around}", []).append(
            "–".join(end.node for end in link.ends)
        )
    rows += [(f"link {_listed(names)}", text) for text, names in wires.items()]
    for medium in scenario.media:
        rows += _segment(medium)
    for flow in scenario.flows[:MOST_ROWS]:
        every: Mapping[str, object] = msgspec.to_builtins(flow)
        rest = {key: value for key, value in every.items() if key not in ("name", "from", "to")}
        text = written_table(rest)
        if isinstance(flow.arrivals, CoderArrivals | TraceArrivals):
            others = {
                key: value for key, value in rest.items() if key not in ("frames", "arrivals")
            }
            lengths = (
                samples(flow.frames)
                if isinstance(flow.frames, SamplesLengths)
                else _range_text(flow.frames)
            )
            texts = (lengths, arrivals_text(flow.arrivals), written_table(others))
            text = ", ".join(part for part in texts if part)
        rows.append((f"flow {flow.name}", f"{flow.from_} to {_listed(flow.to)}: {text}"))
    if len(scenario.flows) > MOST_ROWS:
        rows.append(("flows", f"{len(scenario.flows) - MOST_ROWS} more"))
    from_s, to_s = phases.measure_from_ps / 1e12, phases.measure_to_ps / 1e12
    rows.append(("measured", f"from {from_s:g} s to {to_s:g} s, {scenario.batches} batches"))
    return rows


MOST_ROWS = 12
"""Flows whose parameters are written out."""
_MOST_NAMES = 6


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} … {names[-1]} ({len(names)})"


def _settings(kind: str, settings: Mapping[str, object]) -> str:
    """Write what a node is made of for people, stage by stage."""
    if kind == "host" and not settings:
        return "ideal"
    texts = []
    for key, value in settings.items():
        if key == "clock" and isinstance(value, Mapping):
            texts.append(_clock(value))
        elif isinstance(value, list):
            texts.append(f"{key}: {'; '.join(_stage(stage) for stage in value)}")
        elif isinstance(value, Mapping) and "name" in value:
            texts.append(f"{key}: {_stage(value)}")
        elif isinstance(value, Mapping) and key == "fabric":
            ((name, inner),) = value.items()
            stages = [inner] if "name" in inner else [stage for stage in inner.values() if stage]
            texts.append(f"fabric {name}: {'; '.join(_stage(stage) for stage in stages)}")
        elif isinstance(value, Mapping):
            texts.append(f"{key} {written_table(value)}")
        elif key == "delay_ps" and isinstance(value, int | float):
            texts.append(f"delay {value / 1e6:g} µs")
        else:
            texts.append(
                f"{key.removesuffix('_frames').replace('_octets', ' octets')}"
                f" {value}{' frames' if key.endswith('_frames') else ''}"
            )
    return ", ".join(texts)


def _clock(clock: Mapping[str, int]) -> str:
    """Write what a clock shows for people.

    Examples
    --------
    >>> _clock({"offset_ps": -250_000_000_000, "drift_ppb": 20_000, "drift_spread_ppb": 500})
    'clock -250 ms ahead, drift 20 ± 0.5 ppm'

    """
    offset, drift = (
        f"{clock.get(key, 0) / scale:g}"
        + (f" ± {clock[spread] / scale:g}" if clock.get(spread) else "")
        for key, spread, scale in (
            ("offset_ps", "offset_spread_ps", 1e9),
            ("drift_ppb", "drift_spread_ppb", 1e3),
        )
    )
    return f"clock {offset} ms ahead, drift {drift} ppm"


def _stage(stage: Mapping[str, object]) -> str:
    text = written_table(
        {key: value for key, value in stage.items() if key not in ("name", "ps_per_octet")}
    )
    ps = stage.get("ps_per_octet")
    per_octet = f"{ps / 1e3:g} ns an octet" if isinstance(ps, int | float) and ps else ""
    settings = ", ".join(each for each in (per_octet, text) if each)
    return f"{stage['name']} ({settings})" if settings else str(stage["name"])


def _priority_waits(groups: Sequence[Senders]) -> list[tuple[str, str]]:
    """Return a row on all groups if any station waits for others.

    A row on the first group alone would say nothing.
    """
    if not any(group.stations.priority_wait_ps for group in groups):
        return []
    waits = [f"{group.name} {group.stations.priority_wait_ps / 1e6:g} µs" for group in groups]
    return [("priority wait", ", ".join(waits))]


def _calls(groups: Sequence[Senders]) -> list[tuple[str, str]]:
    """Return a row on all groups if any station sends in calls only."""
    texts = []
    for group in groups:
        calls = group.flow.calls
        if calls is not None:
            rule = "all admitted" if calls.most is None else f"admitted below {calls.most}"
            heard = f" heard in {calls.listen_ps / 1e12:g} s" if calls.listen_ps else ""
            every = f"{group.name} every {calls.every_ps / 1e12:g} s on average"
            duration = f"for {mean_ps(calls.duration) / 1e12:g} s on average"
            texts.append(f"{every}, {duration}, {rule}{heard}")
    return [("calls", "; ".join(texts))] if texts else []


def coder(arrivals: CoderArrivals) -> str:
    """Write a coder for people.

    Examples
    --------
    >>> coder(CoderArrivals(sample_bits=16, sample_ps=152_320_000))
    'a coder, 16 bit every 152.32 µs'
    >>> from ethermeter.scenario import Spurts
    >>> spurts = Spurts(talk_mean_ps=1.2e12, silence_mean_ps=1.8e12)
    >>> coder(CoderArrivals(sample_bits=8, sample_ps=125_000_000, spurts=spurts))
    'a coder, 8 bit every 125 µs, talk 1.2 s and silence 1.8 s on average'
    """
    text = f"a coder, {arrivals.sample_bits} bit every {arrivals.sample_ps / 1e6:g} µs"
    spurts = arrivals.spurts
    if spurts is None:
        return text
    talk_s, silence_s = spurts.talk_mean_ps / 1e12, spurts.silence_mean_ps / 1e12
    return f"{text}, talk {talk_s:g} s and silence {silence_s:g} s on average"


def arrivals_text(arrivals: Arrivals) -> str:
    """Write how messages arrive for people."""
    match arrivals:
        case CoderArrivals():
            return coder(arrivals)
        case TraceArrivals():
            return replayed(arrivals)
        case _:
            return written_struct(arrivals)


def replayed(trace: TraceArrivals) -> str:
    """Write a trace for people.

    Examples
    --------
    >>> one = {"sha256": "1f" * 32, "messages": 4, "mean_ps": 1.25e9, "scv": 1.2, "envelope": ()}
    >>> replayed(TraceArrivals(**one, offset_ps=0))
    'trace 1f1f1f1f1f1f of 4 messages, 1250 µs between them (squared variation 1.2)'
    """
    texts = [
        f"trace {trace.sha256[:12]} of {trace.messages} messages",
        f"{trace.mean_ps / 1e6:.4g} µs between them (squared variation {trace.scv:.3g})",
    ]
    if trace.repeat_ps is not None:
        texts.append(f"repeated after {trace.repeat_ps / 1e6:g} µs")
    if trace.offset_ps is None:
        texts.append("from a random offset on")
    elif trace.offset_ps:
        texts.append(f"from {trace.offset_ps / 1e6:g} µs on")
    if trace.speed != 1:
        texts.append(f"{trace.speed:g} times as fast")
    return ", ".join(texts)


def _range_text(frames: Lengths) -> str:
    """Write lengths as their range."""
    bits = lengths_of(frames)[0]
    if len(bits) == 1:
        return f"{bits[0] / 8:g} B"
    return f"{len(bits)} lengths from {min(bits) / 8:g} B to {max(bits) / 8:g} B"


def samples(frames: SamplesLengths) -> str:
    """Write the lengths of frames of samples for people.

    Examples
    --------
    >>> samples(SamplesLengths(overhead_bits=48, min_bits=512, max_bits=8192))
    'samples, from 64 B to 1024 B, 6 B of these overhead'
    """
    overhead, least, most = (
        f"{bits / 8:g} B" for bits in (frames.overhead_bits, frames.min_bits, frames.max_bits)
    )
    return f"samples, from {least} to {most}, {overhead} of these overhead"


def _queue(flow: Flow) -> str:
    if isinstance(flow.arrivals, CoderArrivals):
        return "none: the buffer is the frame"
    return "unlimited" if flow.queue_frames is None else f"{flow.queue_frames} frames"


def _bits(count: int, bit_ps: int) -> str:
    return f"{count} bit times ({count * bit_ps / 1e6:g} µs)"


def written_struct(struct: msgspec.Struct) -> str:
    """Write a small table of a scenario for people."""
    return written_table(msgspec.to_builtins(struct))


def written_table(table: Mapping[str, object]) -> str:
    """Write a small table of a scenario for people; times in the unit that suits each.

    Examples
    --------
    >>> written_table({"kind": "regular", "period_ps": 20_000_000_000, "phase_ps": 0})
    'regular, period 20 ms, phase 0 s'
    """
    texts = []
    for key, value in table.items():
        if key in ("kind", "rule"):
            texts.append(str(value))
        elif isinstance(value, bool):
            texts.append(f"{key} {written(value)}")
        elif isinstance(value, Mapping):
            texts.append(f"{key} {written_table(value)}")
        elif key.endswith("ps") and isinstance(value, int | float):
            name = key.removesuffix("ps").removesuffix("_")
            scale = scale_of(value / 1e12, "s")
            texts.append(f"{name} {value / 1e12 / scale.size:g} {scale.unit}".strip())
        elif isinstance(value, list | tuple):
            texts.append(f"{len(value)} {key.removesuffix('_ps')}")
        else:
            texts.append(f"{key} {value}")
    return ", ".join(texts)
