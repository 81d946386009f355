//! The relation of a sender's clock to ours, on the data path: exchanges of times before, after and, seldom, during the transmission.
//!
//! While frames arrive, their delays are told by the best relation that is known then. In the end a better one is known, for it has seen what came after; the
//! difference of the two is part of the uncertainty that is stated.

use super::role::Schedule;
use crate::gate::Gate;
use ethermeter_live::clock::{Exchange, Ongoing, Relation};
use ethermeter_live::port::Port;
use ethermeter_live::roles::{ask, AskPlan, Attention, Requests};
use ethermeter_live::{Error, HostTime, Timeline};
use serde_json::{json, Value};
use std::ops::Range;
use std::sync::Arc;

/// Octets of a frame that asks, and of the one that answers: the shortest with room for two more times, over IPv4 and IPv6.
pub const FRAME_OCTETS: u32 = 96;
/// What consent is asked for: frames a second, some more than are sent.
pub const MOST_FRAMES_PER_S: u64 = 1000;
/// The same in bits a second.
pub const MOST_BPS: u64 = MOST_FRAMES_PER_S * 8 * FRAME_OCTETS as u64;
/// Least time between exchanges while nothing else is sent …
const QUIET_NS: u64 = 2_000_000;
/// … and while frames are.
const BUSY_NS: u64 = 100_000_000;
/// Exchanges in a phase, at most.
const MOST_OF_PHASE: u64 = 512;
/// How long is asked before the relation is fitted again.
const ROUND_NS: u64 = 100_000_000;
/// An answer that takes longer is of no use.
const PATIENCE_NS: u64 = 50_000_000;
/// A receiver uses a relation for so long after a better one is there: as long as it may wait for a frame, with some to spare.
const LATE_NS: u64 = 100_000_000;

/// Relations that were published, and since when they were in use.
struct Used {
    since_ns: u64,
    relation: Arc<Relation>,
}

/// Ask from the beginning of the experiment to its end.
pub(super) fn keep<P: Port, T: Timeline>(
    port: &mut Gate<'_, P, T>,
    schedule: &Schedule,
    plan: &AskPlan<'_>,
    payload_octets: usize,
    ongoing: &Ongoing,
) -> Result<Value, Error> {
    let (transmit_ns, until_ns) = (schedule.transmit_ns(), schedule.until_ns());
    let drain_ns = transmit_ns.saturating_add(schedule.phases.transmit_ns);
    let phases =
        [(schedule.begin_ns..transmit_ns, QUIET_NS), (transmit_ns..drain_ns, BUSY_NS), (drain_ns..until_ns, QUIET_NS)];
    let stop = schedule.leash.flag();
    let mut exchanges: Vec<Exchange> = Vec::new();
    let (mut requests, mut answered, mut lost) = (0, 0, 0);
    let mut used: Vec<Used> = Vec::new();
    for (phase, least_ns) in phases {
        let length_ns = phase.end.saturating_sub(phase.start);
        let interval_ns = least_ns.max(length_ns / MOST_OF_PHASE);
        // Four rounds at least before frames are sent, so that something is known by then.
        let round_ns = ROUND_NS.min(length_ns / 4).max(interval_ns);
        let mut from_ns = phase.start.max(HostTime.now_ns());
        while from_ns < phase.end && !schedule.leash.is_silent_at(HostTime.now_ns()) {
            let to_ns = phase.end.min(from_ns.saturating_add(round_ns));
            let spaced = Requests::Spaced { payload_octets, interval_ns };
            let round = AskPlan { requests: spaced, begin_ns: from_ns, until_ns: to_ns, ..*plan };
            let asked = ask(port, &HostTime, schedule.face, &round, stop)?;
            (requests, answered, lost) = (requests + asked.requests, answered + asked.answered, lost + asked.lost);
            exchanges.extend(asked.exchanges);
            if let Some(relation) = Relation::fitted(&exchanges).ok().map(Arc::new) {
                ongoing.publish(Arc::clone(&relation));
                used.push(Used { since_ns: HostTime.now_ns(), relation });
            }
            from_ns = to_ns.max(HostTime.now_ns());
        }
    }
    let measured = transmit_ns.saturating_add(schedule.phases.measure_from_ns)
        ..transmit_ns.saturating_add(schedule.phases.measure_to_ns);
    let counts = json!({"requests": requests, "answered": answered, "lost": lost, "exchanges": exchanges.len()});
    let told = Relation::fitted(&exchanges).ok().map(|last| tell(&last, &used, measured, schedule));
    Ok(json!({"counts": counts, "relation": told}))
}

/// Clock exchanges' plan but for its times.
pub(super) fn plan(experiment: u16, stream: u16, payload_octets: usize) -> AskPlan<'static> {
    AskPlan {
        experiment,
        stream,
        answerers: &[],
        requests: Requests::Spaced { payload_octets, interval_ns: QUIET_NS },
        begin_ns: 0,
        until_ns: 0,
        most_requests: u64::MAX,
        patience_ns: PATIENCE_NS,
        exchanges: 1024,
        attention: Attention::Sleeping,
    }
}

/// What is known in the end, in the middle of what is measured; and how wrong the delays are at most that were told by what was known before.
fn tell(last: &Relation, used: &[Used], measured: Range<u64>, schedule: &Schedule) -> Value {
    let middle = schedule.face.shows(measured.start + (measured.end - measured.start) / 2);
    json!({
        "at_ns": middle,
        "ahead_ns": last.ahead_ns(middle),
        "uncertainty_ns": last.uncertainty_ns(middle),
        "drift": last.drift(),
        "drift_uncertainty": last.drift_uncertainty(),
        "contradictions": last.contradictions(),
        "kept": last.kept(),
        "fastest_round_trip_ns": last.fastest_round_trip_ns(),
        "delay_uncertainty_ns": delay_uncertainty_ns(last, used, &measured, schedule),
    })
}

/// The most that a delay told within `measured` is wrong by; `None` if there was a time in it when no relation was known.
fn delay_uncertainty_ns(last: &Relation, used: &[Used], measured: &Range<u64>, schedule: &Schedule) -> Option<f64> {
    used.first().filter(|first| first.since_ns <= measured.start)?;
    let ends_ns = used.iter().skip(1).map(|next| next.since_ns.saturating_add(LATE_NS)).chain([u64::MAX]);
    let wrong_ns = used.iter().zip(ends_ns).filter_map(|(used, end_ns)| {
        // What is used for a frame is what is known when it is read, a little after it came.
        let since_ns = used.since_ns.saturating_sub(LATE_NS);
        let (from_ns, to_ns) = (since_ns.max(measured.start), end_ns.min(measured.end));
        // Both are lines, so they are farthest apart at an end; the bound is farthest from the exchanges, which is at an end, too.
        (from_ns < to_ns).then(|| {
            let at = |host_ns| {
                let face = schedule.face.shows(host_ns);
                (used.relation.ahead_ns(face) - last.ahead_ns(face)).abs() + last.uncertainty_ns(face)
            };
            f64::max(at(from_ns), at(to_ns))
        })
    });
    wrong_ns.reduce(f64::max)
}
