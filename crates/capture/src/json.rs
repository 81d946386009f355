//! The explanation as JSON, as docs/reference/capture-json.md describes it: times in nanoseconds,
//! sizes in octets, unknown values as null.

use crate::cause::{CAUSES, Cause};
use crate::connection::{Connection, Half};
use crate::course::Rounds;
use crate::delays::Delays;
use crate::explain::{Between, Explanation, FromTo};
use crate::largest::{Listed, Rest};
use crate::limits::Spent;
use crate::path::{Direction, Path};
use crate::series::Series;
use serde_json::{Map, Value, json};

/// Shares of a distribution that are given.
const QUANTILES: [(&str, f64); 5] =
    [("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

/// The whole explanation.
#[must_use]
pub fn to_json(of: &Explanation) -> Value {
    json!({
        "format": "ethermeter-explanation/1",
        "packets": of.packets,
        "file_octets": of.file_octets,
        "wire_octets": of.wire_octets,
        "first_ns": of.times_ns.map(|times| times.0),
        "last_ns": of.times_ns.map(|times| times.1),
        "timeless": of.timeless,
        "backward": of.backward,
        "cut": of.cut,
        "damaged": of.damaged,
        "dropped": { "by_interface": of.dropped.by_interface, "by_system": of.dropped.by_system },
        "kinds": {
            "tcp": of.kinds.tcp,
            "udp": of.kinds.udp,
            "raw": of.kinds.raw,
            "other": of.kinds.other,
            "fragment": of.kinds.fragment,
            "encapsulated": of.kinds.encapsulated,
            "copied": of.kinds.copied,
            "broken": of.kinds.broken,
            "unread": of.kinds.unread,
        },
        "encapsulations": of.encapsulations.iter().map(|(which, count)| (which.name().to_owned(), json!(count))).collect::<Map<_, _>>(),
        "reassembled": of.reassembled.0,
        "incomplete": of.reassembled.1,
        "unread_link": of.unread_link,
        "ended_by": of.ended_by.as_ref().map(ToString::to_string),
        "is_truncated": matches!(of.ended_by, Some(crate::file::Error::Truncated { .. })),
        "connections": of.connections.iter().map(|listed| connection(listed, of.times_ns.map_or(0, |times| times.0))).collect::<Vec<_>>(),
        "connection_sums": sums(of.connection_sums),
        "flows": of.flows.iter().map(|listed| flow(listed, of.times_ns.map_or(0, |times| times.0))).collect::<Vec<_>>(),
        "flow_sums": sums(of.flow_sums),
        "paths": of.paths.iter().map(|each| path(each, of.times_ns.map_or(0, |times| times.0))).collect::<Vec<_>>(),
    })
}

fn sums((count, rest, evicted): (u64, Rest, u64)) -> Value {
    json!({
        "count": count,
        "evicted": evicted,
        "unlisted": { "count": rest.count, "packets": rest.packets, "octets": rest.octets },
    })
}

fn connection(listed: &Listed<Between>, first_ns: i64) -> Value {
    let of: &Connection = &listed.what.connection;
    let (begin_ns, end_ns) = of.times_ns.unwrap_or((first_ns, first_ns));
    let spent = of.limits.spent_ns(begin_ns, end_ns);
    let limits: Map<String, Value> = Cause::ALL
        .iter()
        .zip(spent)
        .map(|(cause, ns)| (cause.name().to_owned(), json!(ns)))
        .collect();
    json!({
        "number": listed.number,
        "first_packet": listed.first_packet,
        "is_evicted": listed.is_evicted,
        "begin_ns": begin_ns.saturating_sub(first_ns),
        "duration_ns": end_ns.saturating_sub(begin_ns),
        "handshake_ns": of.handshake_ns,
        "answer_ns": of.answer_ns,
        "refused_ns": of.refused_ns,
        "is_scaled": of.is_scaled,
        "pauses": { "count": of.pauses.0, "sum_ns": of.pauses.1, "most_ns": of.pauses.2 },
        "limits_ns": limits,
        "ends": ([0, 1].map(|end| half(listed, end, end_ns))),
    })
}

fn path(of: &Path, first_ns: i64) -> Value {
    let direction = |each: &Direction| {
        let (begin_ns, end_ns) = each.times_ns.unwrap_or((first_ns, first_ns));
        json!({
            "segments": each.segments,
            "packet_octets": each.packet_octets,
            "octets": each.octets,
            "begin_ns": begin_ns.saturating_sub(first_ns),
            "duration_ns": end_ns.saturating_sub(begin_ns),
            "spacing_ps": spacing(&each.spacing),
        })
    };
    json!({
        "addresses": of.addresses.map(|address| address.to_string()),
        "connections": of.connections,
        "directions": [direction(&of.directions[0]), direction(&of.directions[1])],
    })
}

/// Time by cause that an end spent.
fn waits(of: &[Spent; CAUSES]) -> Value {
    let waits = Cause::ALL.iter().zip(of).filter(|(_, spent)| spent.count > 0);
    let waits = waits.map(|(cause, Spent { ns, count, most_ns })| {
        (cause.name().to_owned(), json!({ "ns": ns, "count": count, "most_ns": most_ns }))
    });
    Value::Object(waits.collect())
}

fn half(listed: &Listed<Between>, end: usize, last_ns: i64) -> Value {
    let connection = &listed.what.connection;
    let of: &Half = &connection.halves[end];
    let at = listed.what.ends[end];
    let mut found = counts(of);
    let others = json!({
        "address": at.address.to_string(),
        "port": at.port,
        "segment": connection.segment_octets(end),
        "window_least": of.windows.map(|windows| windows.0),
        "window_most": of.windows.map(|windows| windows.1),
        "window_first": of.first_window,
        "wanted_segment": of.wanted_segment,
        "away_ns": connection.away_ns(end),
        "loss_episodes": connection.limits.loss_episodes(end),
        "ack_delay": delays(&of.ack_delay),
        "round_trip": delays(&of.round_trip),
        "loss_round_trip": delays(&of.loss_round_trip),
        "spacing_ps": spacing(&of.spacing),
        "trains_ps": spacing(&of.trains),
        "waits": waits(&connection.limits.spent(end, last_ns)),
        "held": connection.limits.held(end).map(|(sizes, delayed_ns)| json!({ "sizes": sizes, "delayed_ns": delayed_ns })),
        "rounds": rounds(connection.limits.rounds(end)),
        "series": series(&of.series),
    });
    if let (Value::Object(found), Value::Object(others)) = (&mut found, others) {
        found.extend(others);
    }
    found
}

fn counts(of: &Half) -> Value {
    json!({
        "segments": of.segments,
        "syns": of.syns,
        "resets": of.resets,
        "copies": of.copies,
        "data_segments": of.data_segments,
        "first_payload": of.first_payload,
        "octets": of.octets,
        "numbers": of.numbers(),
        "resent": of.resent,
        "resent_octets": of.resent_octets,
        "resent_guessed": of.resent_guessed,
        "needless": of.needless,
        "reported_duplicate": of.reported_duplicate,
        "late": of.late,
        "holes": of.holes,
        "uncaptured_octets": of.uncaptured_octets,
        "duplicate_acks": of.duplicate_acks,
        "zero_windows": of.zero_windows,
        "probes": of.probes,
        "keep_alives": of.keep_alives,
        "bare_acks": of.bare_acks,
        "covering_acks": of.covering_acks,
        "covered_segments": of.covered_segments,
        "most_covered": of.most_covered,
        "most_in_flight": of.most_in_flight,
        "largest_payload": of.largest_payload,
        "forgotten": of.forgotten,
        "has_closed": of.has_closed,
        "has_reset": of.has_reset,
    })
}

fn delays(of: &Delays) -> Value {
    let mut found = Map::new();
    found.insert("count".to_owned(), json!(of.count()));
    found.insert("mean_ns".to_owned(), json!(of.mean_ns()));
    found.insert("least_ns".to_owned(), json!(of.least_ns()));
    found.insert("most_ns".to_owned(), json!(of.most_ns()));
    for (name, share) in QUANTILES {
        found.insert(format!("{name}_ns"), json!(of.quantile_ns(share)));
    }
    found.insert("filled".to_owned(), json!(of.filled()));
    Value::Object(found)
}

fn spacing(of: &Delays) -> Value {
    json!({ "count": of.count(), "p10": of.quantile_ns(0.1), "p50": of.quantile_ns(0.5), "p90": of.quantile_ns(0.9) })
}

fn rounds(of: Rounds) -> Value {
    json!({ "all": of.all, "steady": of.steady, "steady_octets": of.steady_octets, "steps": of.steps })
}

fn series(of: &Series) -> Value {
    let column =
        |pick: fn(&crate::series::Slice) -> u64| of.slices().iter().map(pick).collect::<Vec<u64>>();
    json!({
        "width_ns": of.width_ns(),
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

fn flow(listed: &Listed<FromTo>, first_ns: i64) -> Value {
    let FromTo { source, destination, mark, priority, flow } = &listed.what;
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
        "kind": if matches!(source, crate::explain::Station::Ip(_)) { "udp" } else { "raw" },
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
