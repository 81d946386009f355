//! The relation of a sender's clock to ours, on the data path: exchanges of times before, after
//! and, seldom, during the transmission.
//!
//! When that is, and what follows from it: [`ethermeter_traffic::clock::rounds`], by which
//! simulated hosts go, too.

use super::policed_port::PolicedPort;
use super::schedule::ExperimentSchedule;
use crate::report::{ClockCounts, ExchangeCounts, RoleTotals};
use ethermeter_net::clock::{Exchange, Relation, SharedRelation};
use ethermeter_net::port::NetworkPort;
use ethermeter_net::roles::{ReceiveMode, RequestPlan, RequestTraffic, request};
use ethermeter_net::{Error, Timeline};
use ethermeter_traffic::clock::rounds::{self, ClockEstimate, Pace, Used};
use std::sync::Arc;

pub use rounds::FRAME_OCTETS;

/// What consent is asked for: frames a second, some more than are sent.
pub const MOST_FRAMES_PER_S: u64 = 1000;
/// Bits a second that consent is asked for.
pub const MOST_BPS: u64 = MOST_FRAMES_PER_S * 8 * FRAME_OCTETS as u64;

/// Exchange times from the beginning of the experiment to its end.
pub(super) fn keep<P: NetworkPort, T: Timeline>(
    port: &mut PolicedPort<'_, P, T>,
    schedule: &ExperimentSchedule<impl Timeline>,
    plan: &RequestPlan<'_>,
    payload_octets: usize,
    ongoing: &SharedRelation,
) -> Result<RoleTotals, Error> {
    let (transmit_ns, until_ns) = (schedule.transmit_ns(), schedule.until_ns());
    let drain_ns = transmit_ns.saturating_add(schedule.phases.transmit_ns);
    let is_busy = [false, true, false];
    let phases = [schedule.begin_ns..transmit_ns, transmit_ns..drain_ns, drain_ns..until_ns]
        .into_iter()
        .zip(is_busy);
    let stop = schedule.lease.flag();
    let mut exchanges: Vec<Exchange> = Vec::new();
    let (mut requests, mut answered, mut lost) = (0, 0, 0);
    let mut used: Vec<Used> = Vec::new();
    for (phase, is_busy) in phases {
        let length_ns = phase.end.saturating_sub(phase.start);
        let Pace { interval_ns, round_ns } =
            if is_busy { Pace::busy(length_ns) } else { Pace::quiet(length_ns) };
        let mut from_ns = phase.start.max(schedule.time.now_ns());
        while from_ns < phase.end && !schedule.lease.is_silent_at(schedule.time.now_ns()) {
            let to_ns = phase.end.min(from_ns.saturating_add(round_ns));
            let spaced = RequestTraffic::Spaced { payload_octets, interval_ns };
            let round =
                RequestPlan { requests: spaced, begin_ns: from_ns, until_ns: to_ns, ..*plan };
            let round_counts = request(port, &schedule.time, schedule.own_clock, &round, stop)?;
            (requests, answered, lost) = (
                requests + round_counts.requests,
                answered + round_counts.answered,
                lost + round_counts.lost,
            );
            exchanges.extend(round_counts.exchanges);
            if let Some(relation) = Relation::fitted(&exchanges).ok().map(Arc::new) {
                ongoing.publish(Arc::clone(&relation));
                used.push(Used { since_ns: schedule.time.now_ns(), relation });
            }
            from_ns = to_ns.max(schedule.time.now_ns());
        }
    }
    let measured = transmit_ns.saturating_add(schedule.phases.measure_from_ns)
        ..transmit_ns.saturating_add(schedule.phases.measure_to_ns);
    let counts = ExchangeCounts { requests, answered, lost, exchanges: exchanges.len() };
    let reading_at = |host_ns| schedule.own_clock.reading_at(host_ns);
    let relation = Relation::fitted(&exchanges)
        .ok()
        .map(|last| ClockEstimate::of(&last, &used, measured, reading_at));
    Ok(RoleTotals::Clock(Box::new(ClockCounts { counts, relation })))
}

/// Clock exchanges' plan but for its times.
pub(super) fn plan(experiment: u16, stream: u16, payload_octets: usize) -> RequestPlan<'static> {
    RequestPlan {
        experiment,
        stream,
        responders: &[],
        requests: RequestTraffic::Spaced { payload_octets, interval_ns: rounds::QUIET_NS },
        batches: 1,
        begin_ns: 0,
        until_ns: 0,
        most_requests: u64::MAX,
        timeout_ns: rounds::TIMEOUT_NS,
        exchanges: 1024,
        attention: ReceiveMode::Sleeping,
    }
}
