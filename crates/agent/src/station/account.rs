//! Results of roles, as JSON. Times of a role are since the beginning of the transmission.

use ethermeter_live::clock::Relation;
use ethermeter_live::pacing::{Achieved, Priority};
use ethermeter_live::roles::{
    RequestBatch, RequesterCounts, ResponderCounts, Sent, SpeechCounts, StreamBatch, Sunk, Talked,
};
use ethermeter_traffic::{Batches, Histogram};
use serde_json::{json, Value};

fn since(at_ns: Option<u64>, begin_ns: u64) -> Option<i64> {
    at_ns.map(|at_ns| at_ns.wrapping_sub(begin_ns).cast_signed())
}

/// A histogram: its filled buckets as least and most picoseconds and count, and some quantiles.
pub(super) fn histogram(histogram: &Histogram) -> Value {
    let at = |share| histogram.quantile_ps(share);
    json!({
        "total": histogram.total(),
        "quantiles_ps": {"0.01": at(0.01), "0.5": at(0.5), "0.9": at(0.9), "0.99": at(0.99), "0.999": at(0.999), "1": at(1.0)},
        "buckets": histogram.filled(),
    })
}

/// A column over batches.
pub(super) fn column<B, T>(parts: &[B], pick: impl Fn(&B) -> T) -> Vec<T> {
    parts.iter().map(pick).collect()
}

fn of_stream_batches(batches: &Batches<StreamBatch>) -> Value {
    let parts = batches.counted();
    json!({
        "frames": column(&parts, |part| part.frames),
        "payload_octets": column(&parts, |part| part.payload_octets),
        "delays": column(&parts, |part| part.delays),
        "delay_sum_ns": column(&parts, |part| part.delay_ns),
        "spacings": column(&parts, |part| part.spacings),
        "spacing_sum_ns": column(&parts, |part| part.spacing_ns),
    })
}

fn of_asked_batches(batches: &Batches<RequestBatch>) -> Value {
    let parts = batches.counted();
    // What is less than a nanosecond of a whole part's sum is left out.
    let sum_ns =
        |part: &RequestBatch| u64::try_from(part.since_arrival_ps / 1000).unwrap_or(u64::MAX);
    json!({
        "requests": column(&parts, |part| part.requests),
        "complete": column(&parts, |part| part.complete),
        "since_arrival_sum_ns": column(&parts, sum_ns),
    })
}

pub(super) fn of_sent(sent: &Sent, begin_ns: u64, priority: Option<Priority>) -> Value {
    json!({
        "frames": sent.frames,
        "payload_octets": sent.payload_octets,
        "untaken": sent.untaken,
        "first_ns": since(sent.first_ns, begin_ns),
        "last_ns": since(sent.last_ns, begin_ns),
        "pacing": pacing(&sent.achieved, sent.breaths, priority),
        "rests": sent.rests,
        "trial": sent.trial,
    })
}

/// How far from their times frames were sent.
fn pacing(achieved: &Achieved, breaths: u64, priority: Option<Priority>) -> Value {
    json!({
        "frames": achieved.frames(),
        "share_on_time": achieved.share_on_time(),
        "worst_ns": achieved.worst_ns(),
        "lateness": histogram(achieved.lateness()),
        "breaths": breaths,
        "real_time": priority.map(|priority| priority == Priority::Fifo),
    })
}

/// Of voice: what a stream has, and its samples.
pub(super) fn of_talked(talked: &Talked, begin_ns: u64, priority: Option<Priority>) -> Value {
    json!({
        "frames": talked.packets,
        "payload_octets": talked.payload_octets,
        "untaken": talked.untaken,
        "first_ns": since(talked.first_ns, begin_ns),
        "last_ns": since(talked.last_ns, begin_ns),
        "pacing": pacing(&talked.achieved, talked.breaths, priority),
        "voice": {
            "samples": talked.samples,
            "most_samples": talked.most_samples,
            "waited": talked.waited,
            "wait": histogram(&talked.wait),
            "measured": {
                "packets": talked.measured_packets,
                "made": talked.measured.made,
                "sent": talked.measured.sent,
                "lost": talked.measured.lost,
                "left": talked.measured.left,
            },
        },
    })
}

fn of_speech(speech: &SpeechCounts) -> Value {
    json!({
        "packets": speech.packets,
        "samples": speech.samples,
        "measured": {
            "packets": speech.measured_packets,
            "samples": speech.measured,
            "voice_delay": histogram(&speech.voice_delay),
            "sample_delay": histogram(&speech.sample_delay),
        },
    })
}

pub(super) fn of_sunk(sunk: &Sunk, begin_ns: u64) -> Value {
    let streams: Vec<Value> = sunk
        .streams
        .iter()
        .map(|stream| {
            let account = stream.sequence.account(None);
            json!({
                "received": account.received,
                "highest_sequence": account.sent.checked_sub(1),
                "reordered": account.reordered,
                "duplicate": account.duplicate,
                "late": account.late,
                "foreign": account.foreign,
                "gaps": account.gaps,
                "longest_gap": account.longest_gap,
                "farthest_reordered": account.farthest_reordered,
                "measured": {
                    "frames": stream.frames,
                    "payload_octets": stream.payload_octets,
                    "first_ns": since(stream.first_ns, begin_ns),
                    "last_ns": since(stream.last_ns, begin_ns),
                    "goodput_bps": stream.goodput_bps(),
                    "delay": histogram(&stream.delay),
                    "before_sent": stream.before_sent,
                    "unrelated": stream.unrelated,
                    "spacing": histogram(&stream.spacing),
                    "batches": of_stream_batches(&stream.batches),
                },
                "voice": (stream.speech.packets > 0).then(|| of_speech(&stream.speech)),
            })
        })
        .collect();
    json!({
        "stream": streams.into_iter().next(),
        "strange": sunk.strange,
        "unmarked": sunk.unmarked,
        "longest_absence_ns": sunk.longest_absence_ns,
    })
}

pub(super) fn of_asked(asked: &RequesterCounts) -> Value {
    let middle =
        asked.exchanges.get(asked.exchanges.len() / 2).map(|exchange| exchange.requested_ns);
    let clock = Relation::fitted(&asked.exchanges).ok().zip(middle).map(|(relation, at_ns)| {
        json!({
            "offset_ns": relation.offset_ns(at_ns),
            "uncertainty_ns": relation.uncertainty_ns(at_ns),
            "drift": relation.drift(),
            "contradictions": relation.contradictions(),
        })
    });
    let by_station: Vec<Value> = asked
        .by_station
        .iter()
        .map(|one| {
            json!({"station": one.station.to_string(), "answered": one.answered, "round_trip": histogram(&one.round_trip)})
        })
        .collect();
    json!({
        "requests": asked.requests,
        "answered": asked.answered,
        "lost": asked.lost,
        "strange": asked.strange,
        "fastest_ns": asked.fastest_ns,
        "round_trip": histogram(&asked.round_trip),
        "since_arrival": histogram(&asked.since_arrival),
        "unasked": asked.unasked,
        "pacing": pacing(&asked.achieved, asked.breaths, None),
        "clock": clock,
        "complete": asked.complete,
        "by_station": by_station,
        "batches": of_asked_batches(&asked.batches),
        "whole_round": (!asked.by_station.is_empty()).then(|| histogram(&asked.whole_round)),
    })
}

pub(super) fn of_echoed(echoed: &ResponderCounts) -> Value {
    let ResponderCounts {
        requests,
        request_octets,
        answered,
        untaken,
        not_allowed,
        strange,
        unanswered,
        achieved,
    } = echoed;
    json!({
        "requests": requests,
        "request_octets": request_octets,
        "answered": answered,
        "untaken": untaken,
        "not_allowed": not_allowed,
        "strange": strange,
        "unanswered": unanswered,
        "pacing": pacing(achieved, 0, None),
    })
}
