//! The explanation as JSON, as docs/reference/capture-json.md describes it: times in nanoseconds,
//! sizes in octets, unknown values as null.

use crate::attempts::{SegmentAttempts, StationAttempts};
use crate::cause::{CAUSES, WaitCause};
use crate::connection::{ConnectionEnd, TcpConnection};
use crate::course::FlightRounds;
use crate::delays::DelayHistogram;
use crate::explain::{ConnectionRecord, Explanation, FlowRecord};
use crate::largest::{Listed, UnlistedSums};
use crate::limits::CauseTime;
use crate::path::{AddressPath, DirectedTraffic};
use crate::series::SliceSeries;
use serde_json::{Map, Value, json};

/// Shares of a distribution that are given.
const QUANTILES: [(&str, f64); 5] =
    [("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

/// The whole explanation.
#[must_use]
pub fn to_json(explanation: &Explanation) -> Value {
    json!({
        "format": "ethermeter-explanation/1",
        "packets": explanation.packets,
        "file_octets": explanation.file_octets,
        "wire_octets": explanation.wire_octets,
        "busiest_second_octets": explanation.busiest_octets[0],
        "busiest_minute_octets": explanation.busiest_octets[1],
        "link_bps": explanation.link_bps,
        "segment": explanation.segment.as_ref().map(|attempts| segment(attempts, &explanation.interfaces)),
        "first_ns": explanation.times_ns.map(|times| times.0),
        "last_ns": explanation.times_ns.map(|times| times.1),
        "timeless": explanation.timeless,
        "backward": explanation.backward,
        "cut": explanation.cut,
        "damaged": explanation.damaged,
        "dropped": { "by_interface": explanation.dropped.by_interface, "by_system": explanation.dropped.by_system },
        "kinds": {
            "tcp": explanation.kinds.tcp,
            "udp": explanation.kinds.udp,
            "raw": explanation.kinds.raw,
            "other": explanation.kinds.other,
            "fragment": explanation.kinds.fragment,
            "encapsulated": explanation.kinds.encapsulated,
            "copied": explanation.kinds.copied,
            "broken": explanation.kinds.broken,
            "unread": explanation.kinds.unread,
        },
        "encapsulations": explanation.encapsulations.iter().map(|(which, count)| (which.name().to_owned(), json!(count))).collect::<Map<_, _>>(),
        "reassembled": explanation.reassembled.0,
        "incomplete": explanation.reassembled.1,
        "unread_link": explanation.unread_link,
        "ended_by": explanation.ended_by.as_ref().map(ToString::to_string),
        "is_truncated": matches!(explanation.ended_by, Some(crate::file::CaptureError::Truncated { .. })),
        "connections": explanation.connections.iter().map(|listed| connection(listed, explanation.times_ns.map_or(0, |times| times.0))).collect::<Vec<_>>(),
        "connection_sums": sums(explanation.connection_sums),
        "flows": explanation.flows.iter().map(|listed| flow(listed, explanation.times_ns.map_or(0, |times| times.0))).collect::<Vec<_>>(),
        "flow_sums": sums(explanation.flow_sums),
        "paths": explanation.paths.iter().map(|address_path| path(address_path, explanation.times_ns.map_or(0, |times| times.0))).collect::<Vec<_>>(),
    })
}

fn segment(found: &SegmentAttempts, names: &[String]) -> Value {
    let station = |(number, of): (usize, &StationAttempts)| {
        let name = names.get(number).filter(|name| !name.is_empty());
        json!({
            "name": name.cloned().unwrap_or_else(|| format!("interface {number}")),
            "attempts": of.attempts,
            "collisions": of.collisions,
            "given_up": of.given_up.iter().collect::<Vec<_>>(),
            "waits": of.waits.iter().map(|(&(collisions, least, most), count)| json!([collisions, least, most, count])).collect::<Vec<_>>(),
            "unexplained": of.unexplained,
            "left_out": of.left_out,
        })
    };
    json!({
        "bit_ps": found.bit_ps,
        "slot_bits": found.slot_bits,
        "has_logical": found.has_logical,
        "stations": found.stations.iter().enumerate().map(station).collect::<Vec<_>>(),
    })
}

fn sums((count, rest, evicted): (u64, UnlistedSums, u64)) -> Value {
    json!({
        "count": count,
        "evicted": evicted,
        "unlisted": { "count": rest.count, "packets": rest.packets, "octets": rest.octets },
    })
}

fn connection(listed: &Listed<ConnectionRecord>, first_ns: i64) -> Value {
    let connection: &TcpConnection = &listed.record.connection;
    let (begin_ns, end_ns) = connection.times_ns.unwrap_or((first_ns, first_ns));
    let times_ns = connection.limits.spent_ns(begin_ns, end_ns);
    let limits: Map<String, Value> = WaitCause::ALL
        .iter()
        .zip(times_ns)
        .map(|(cause, ns)| (cause.name().to_owned(), json!(ns)))
        .collect();
    json!({
        "number": listed.number,
        "first_packet": listed.first_packet,
        "is_evicted": listed.is_evicted,
        "begin_ns": begin_ns.saturating_sub(first_ns),
        "duration_ns": end_ns.saturating_sub(begin_ns),
        "handshake_ns": connection.handshake_ns,
        "answer_ns": connection.answer_ns,
        "refused_ns": connection.refused_ns,
        "is_scaled": connection.is_scaled,
        "pauses": { "count": connection.pauses.0, "sum_ns": connection.pauses.1, "most_ns": connection.pauses.2 },
        "limits_ns": limits,
        "ends": ([0, 1].map(|end| half(listed, end, end_ns))),
    })
}

fn path(path: &AddressPath, first_ns: i64) -> Value {
    let direction = |traffic: &DirectedTraffic| {
        let (begin_ns, end_ns) = traffic.times_ns.unwrap_or((first_ns, first_ns));
        json!({
            "segments": traffic.segments,
            "packet_octets": traffic.packet_octets,
            "octets": traffic.octets,
            "begin_ns": begin_ns.saturating_sub(first_ns),
            "duration_ns": end_ns.saturating_sub(begin_ns),
            "spacing_ps": spacing(&traffic.spacing),
        })
    };
    json!({
        "addresses": path.addresses.map(|address| address.to_string()),
        "connections": path.connections,
        "directions": [direction(&path.directions[0]), direction(&path.directions[1])],
    })
}

/// Time by cause that an end spent.
fn waits(times: &[CauseTime; CAUSES]) -> Value {
    let waits = WaitCause::ALL.iter().zip(times).filter(|(_, spent)| spent.count > 0);
    let waits = waits.map(|(cause, CauseTime { ns, count, most_ns })| {
        (cause.name().to_owned(), json!({ "ns": ns, "count": count, "most_ns": most_ns }))
    });
    Value::Object(waits.collect())
}

fn half(listed: &Listed<ConnectionRecord>, end: usize, last_ns: i64) -> Value {
    let connection = &listed.record.connection;
    let half: &ConnectionEnd = &connection.halves[end];
    let at = listed.record.ends[end];
    let mut entries = counts(half);
    let more = json!({
        "address": at.address.to_string(),
        "port": at.port,
        "segment": connection.segment_octets(end),
        "window_least": half.windows.map(|windows| windows.0),
        "window_most": half.windows.map(|windows| windows.1),
        "window_first": half.first_window,
        "wanted_segment": half.wanted_segment,
        "away_ns": connection.away_ns(end),
        "loss_episodes": connection.limits.loss_episodes(end),
        "ack_delay": delays(&half.ack_delay),
        "round_trip": delays(&half.round_trip),
        "loss_round_trip": delays(&half.loss_round_trip),
        "spacing_ps": spacing(&half.spacing),
        "trains_ps": spacing(&half.trains),
        "waits": waits(&connection.limits.spent(end, last_ns)),
        "held": connection.limits.held(end).map(|(sizes, delayed_ns)| json!({ "sizes": sizes, "delayed_ns": delayed_ns })),
        "rounds": rounds(connection.limits.rounds(end)),
        "series": series(&half.series),
    });
    if let (Value::Object(entries), Value::Object(more)) = (&mut entries, more) {
        entries.extend(more);
    }
    entries
}

fn counts(half: &ConnectionEnd) -> Value {
    json!({
        "segments": half.segments,
        "syns": half.syns,
        "resets": half.resets,
        "copies": half.copies,
        "data_segments": half.data_segments,
        "first_payload": half.first_payload,
        "octets": half.octets,
        "numbers": half.numbers(),
        "resent": half.resent,
        "resent_octets": half.resent_octets,
        "resent_guessed": half.resent_guessed,
        "needless": half.needless,
        "reported_duplicate": half.reported_duplicate,
        "late": half.late,
        "holes": half.holes,
        "uncaptured_octets": half.uncaptured_octets,
        "duplicate_acks": half.duplicate_acks,
        "zero_windows": half.zero_windows,
        "probes": half.probes,
        "keep_alives": half.keep_alives,
        "bare_acks": half.bare_acks,
        "covering_acks": half.covering_acks,
        "covered_segments": half.covered_segments,
        "most_covered": half.most_covered,
        "most_in_flight": half.most_in_flight,
        "largest_payload": half.largest_payload,
        "forgotten": half.forgotten,
        "has_closed": half.has_closed,
        "has_reset": half.has_reset,
    })
}

fn delays(histogram: &DelayHistogram) -> Value {
    let mut entries = Map::new();
    entries.insert("count".to_owned(), json!(histogram.count()));
    entries.insert("mean_ns".to_owned(), json!(histogram.mean_ns()));
    entries.insert("least_ns".to_owned(), json!(histogram.least_ns()));
    entries.insert("most_ns".to_owned(), json!(histogram.most_ns()));
    for (name, share) in QUANTILES {
        entries.insert(format!("{name}_ns"), json!(histogram.quantile_ns(share)));
    }
    entries.insert("filled".to_owned(), json!(histogram.filled()));
    Value::Object(entries)
}

fn spacing(histogram: &DelayHistogram) -> Value {
    json!({ "count": histogram.count(), "p10": histogram.quantile_ns(0.1), "p50": histogram.quantile_ns(0.5), "p90": histogram.quantile_ns(0.9) })
}

fn rounds(histogram: FlightRounds) -> Value {
    json!({ "all": histogram.all, "steady": histogram.steady, "steady_octets": histogram.steady_octets, "steps": histogram.steps })
}

fn series(series: &SliceSeries) -> Value {
    let column = |pick: fn(&crate::series::Slice) -> u64| {
        series.slices().iter().map(pick).collect::<Vec<u64>>()
    };
    json!({
        "width_ns": series.width_ns(),
        "packets": column(|slice| slice.packets.into()),
        "resent": column(|slice| slice.resent.into()),
        "octets": column(|slice| slice.octets),
        "sent": column(|slice| slice.sent),
        "acknowledged": column(|slice| slice.acknowledged),
        "edge": column(|slice| slice.edge),
        "flight": column(|slice| slice.flight.into()),
        "delays": column(|slice| slice.delays.into()),
        "delay_sum_ns": column(|slice| slice.delay_sum_ns),
        "delay_most_ns": column(|slice| slice.delay_most_ns),
    })
}

fn flow(listed: &Listed<FlowRecord>, first_ns: i64) -> Value {
    let FlowRecord { source, destination, mark, priority, flow } = &listed.record;
    let numbers = flow.account().map(|account| {
        json!({
            "sent": account.sent,
            "received": account.received,
            "missing": account.missing,
            "reordered": account.reordered,
            "duplicate": account.duplicate,
            "late": account.late,
            "foreign": account.foreign,
            "gaps": account.gaps,
            "longest_gap": account.longest_gap,
        })
    });
    json!({
        "number": listed.number,
        "first_packet": listed.first_packet,
        "is_evicted": listed.is_evicted,
        "kind": if matches!(source, crate::explain::FlowEndpoint::Ip(_)) { "udp" } else { "raw" },
        "source": source.to_string(),
        "destination": destination.to_string(),
        "mark": mark.map(|mark| json!({ "kind": mark.kind, "experiment": mark.experiment, "stream": mark.stream })),
        "priority": priority,
        "packets": flow.packets,
        "octets": flow.octets,
        "begin_ns": flow.times_ns.0.saturating_sub(first_ns),
        "duration_ns": flow.times_ns.1.saturating_sub(flow.times_ns.0),
        "gaps": delays(&flow.gaps),
        "numbers": numbers,
        "series": series(&flow.series),
    })
}
