//! Send requests, and time their responses.

use super::attention::Attention;
use super::requests::{Request, Requests};
use crate::clock::Exchange;
use crate::pacing::{Achieved, Pacer, Pacing};
use crate::port::{Address, Arrival, Port};
use crate::time::{Timeline, PS_PER_NS};
use crate::wire::{Kind, Mark, MarkWindow, SEQUENCE_LIMIT};
use crate::{Error, SkewedClock};
use ethermeter_traffic::{Batches, Histogram};
use std::sync::atomic::{AtomicBool, Ordering};

/// The requests of a role.
#[derive(Clone, Copy, Debug)]
pub struct RequestPlan<'a> {
    /// The experiment.
    pub experiment: u16,
    /// The stream.
    pub stream: u16,
    /// Stations that answer each request, which goes to a group of them; the only one at the other
    /// end without.
    pub responders: &'a [Address],
    /// Requests, and when they come.
    pub requests: Requests<'a>,
    /// When it begins, in the host's time.
    pub begin_ns: u64,
    /// When it ends, in the host's time.
    pub until_ns: u64,
    /// Equal parts of the time between, at least 1, in which requests are counted by when they were
    /// sent.
    pub batches: u32,
    /// After so many requests it ends, too.
    pub most_requests: u64,
    /// An answer that takes longer is lost.
    pub timeout_ns: u64,
    /// Exchanges of times that are kept, the first ones; for a clock.
    pub exchanges: usize,
    /// How it waits for answers.
    pub attention: Attention,
}

/// Counts of a requester.
#[derive(Clone, Debug)]
pub struct RequesterCounts {
    /// Requests that the kernel took.
    pub requests: u64,
    /// Responses that came in time.
    pub answered: u64,
    /// Responses that did not come in time: of each request, of every station that is to answer it.
    pub lost: u64,
    /// Frames that came and were not the expected answer: late ones among them.
    pub strange: u64,
    /// From before a request is handed to the kernel to after its answer has been read, in
    /// picoseconds.
    pub round_trip: Histogram,
    /// From a request's coming to its source to the last of its answers, where all came, in
    /// picoseconds: the round trip and what it waited for those before it. How late the host was
    /// with it is not in this.
    pub since_arrival: Histogram,
    /// How far from their times requests were sent that have one of their own.
    pub achieved: Achieved,
    /// How often the requester slept although a request was due.
    pub breaths: u64,
    /// Requests that had come by the end and were not asked.
    pub unasked: u64,
    /// The shortest, in nanoseconds.
    pub fastest_ns: Option<u64>,
    /// Four times of each exchange, where the answer had room for its two.
    pub exchanges: Vec<Exchange>,
    /// By station, where requests go to a group.
    pub by_station: Vec<StationResponses>,
    /// Requests that all stations answered in time.
    pub complete: u64,
    /// From a request to the last of its answers, where all came, in picoseconds; only of a group.
    pub whole_round: Histogram,
    /// The same by batch.
    pub batches: Batches<RequestBatch>,
}

/// What came of the requests that were sent in one part of the time. Added over all parts each
/// figure is that of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestBatch {
    /// Requests that the kernel took.
    pub requests: u64,
    /// Those that all stations answered in time.
    pub complete: u64,
    /// The sum of the times from their coming to the source to the last of their answers, in
    /// picoseconds.
    pub since_arrival_ps: u128,
}

/// What one station of a group has answered.
#[derive(Clone, Debug)]
pub struct StationResponses {
    /// Where it is.
    pub station: Address,
    /// Its answers that came in time.
    pub answered: u64,
    /// From before a request is handed to the kernel to after its answer has been read, in
    /// picoseconds.
    pub round_trip: Histogram,
}

/// A request whose answers are awaited.
struct Outstanding {
    request: Mark,
    sent_ns: u64,
    /// When it was first tried to send it.
    tried_ns: u64,
    /// What it had waited by its time for those before it.
    waited_ps: u64,
    /// Whose answers are still to come; one of anybody, where there is no group.
    missing: Vec<bool>,
    left: usize,
}

const NO_REQUEST: Mark =
    Mark { kind: Kind::Request, experiment: 0, stream: 0, sequence: 0, sent_ns: 0 };

/// After a refusal, the time until the next attempt, as of senders.
const AFTER_REFUSAL_NS: u64 = 20_000;

/// Ask one request after the other, until the time is over, the requests are, or `stop` is set.
///
/// # Errors
/// If a length has no room for a mark or is longer than the port's, or if sending or receiving is
/// impossible.
pub fn request<P: Port, T: Timeline>(
    port: &mut P,
    time: &T,
    own_clock: SkewedClock,
    plan: &RequestPlan<'_>,
    stop: &AtomicBool,
) -> Result<RequesterCounts, Error> {
    let mut supply = plan.requests.over(port, plan.begin_ns, plan.until_ns)?;
    let is_scheduled = supply.is_scheduled();
    let mut counts = RequesterCounts::nothing(plan);
    let mut outstanding = Outstanding::nothing(plan.responders.len().max(1));
    let mut pacing = Pacing::new(Pacer::default(), time);
    let mut next = supply.first();
    for number in 0..plan.most_requests.min(SEQUENCE_LIMIT) {
        let Some(request) = next else { break };
        let Some(now_ns) = pacing.wait_until(request.due_ns.min(plan.until_ns), stop) else {
            break;
        };
        if now_ns >= plan.until_ns {
            break;
        }
        (outstanding.tried_ns, outstanding.waited_ps) = (now_ns, request.waited_ps);
        let Some(sent_ns) =
            outstanding.send(port, time, own_clock, plan, (number, &request), stop)?
        else {
            break;
        };
        if is_scheduled {
            counts.achieved.record(request.due_ns, now_ns);
        }
        counts.requests += 1;
        if let Some(batch) = counts.batches.at(since_ps(plan, sent_ns)) {
            batch.requests += 1;
        }
        counts.await_responses(port, time, own_clock, plan, &mut outstanding, stop)?;
        next = supply.next(&request, sent_ns, time.now_ns());
    }
    counts.breaths = pacing.breaths();
    counts.unasked = supply.unasked(counts.requests);
    Ok(counts)
}

/// From the beginning to a moment.
#[inline]
fn since_ps(plan: &RequestPlan<'_>, at_ns: u64) -> u64 {
    at_ns.saturating_sub(plan.begin_ns).saturating_mul(PS_PER_NS)
}

impl StationResponses {
    fn of(station: Address) -> Self {
        Self { station, answered: 0, round_trip: Histogram::default() }
    }
}

impl Outstanding {
    fn nothing(stations: usize) -> Self {
        Self {
            request: NO_REQUEST,
            sent_ns: 0,
            tried_ns: 0,
            waited_ps: 0,
            missing: vec![false; stations],
            left: 0,
        }
    }

    /// Hand a request over as soon as the port takes it; returns when, or nothing if it has to end
    /// before.
    #[inline]
    fn send<P: Port, T: Timeline>(
        &mut self,
        port: &mut P,
        time: &T,
        own_clock: SkewedClock,
        plan: &RequestPlan<'_>,
        (sequence, request): (u64, &Request),
        stop: &AtomicBool,
    ) -> Result<Option<u64>, Error> {
        loop {
            let now_ns = time.now_ns();
            if stop.load(Ordering::Relaxed) || now_ns >= plan.until_ns {
                return Ok(None);
            }
            let mark = Mark {
                kind: Kind::Request,
                experiment: plan.experiment,
                stream: plan.stream,
                sequence,
                sent_ns: own_clock.reading_at(now_ns),
            };
            let taken = port.send(1, |_, room| {
                mark.emit(room);
                request.payload_octets
            })?;
            if taken > 0 {
                (self.request, self.sent_ns, self.left) = (mark, now_ns, self.missing.len());
                self.missing.fill(true);
                return Ok(Some(now_ns));
            }
            time.sleep_until(now_ns + AFTER_REFUSAL_NS);
        }
    }

    /// Which station's awaited answer this is, if it is one.
    #[inline]
    fn answered_by(&self, arrival: &Arrival<'_>, plan: &RequestPlan<'_>) -> Option<usize> {
        let mark = Mark::read(arrival.payload).ok()?;
        if mark != (Mark { kind: Kind::Response, ..self.request }) {
            return None;
        }
        let station = if plan.responders.is_empty() {
            0
        } else {
            plan.responders.iter().position(|station| station.is_station_of(arrival.from))?
        };
        self.missing[station].then_some(station)
    }
}

impl RequesterCounts {
    fn nothing(plan: &RequestPlan<'_>) -> Self {
        Self {
            requests: 0,
            answered: 0,
            lost: 0,
            strange: 0,
            round_trip: Histogram::default(),
            since_arrival: Histogram::default(),
            achieved: Achieved::default(),
            breaths: 0,
            unasked: 0,
            fastest_ns: None,
            exchanges: Vec::with_capacity(plan.exchanges),
            by_station: plan
                .responders
                .iter()
                .map(|&station| StationResponses::of(station))
                .collect(),
            complete: 0,
            whole_round: Histogram::default(),
            batches: Batches::new(0, since_ps(plan, plan.until_ns), plan.batches),
        }
    }

    #[inline]
    fn await_responses<P: Port, T: Timeline>(
        &mut self,
        port: &mut P,
        time: &T,
        own_clock: SkewedClock,
        plan: &RequestPlan<'_>,
        outstanding: &mut Outstanding,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        loop {
            port.receive(plan.attention.wait(), |arrival| {
                match outstanding.answered_by(arrival, plan) {
                    Some(station) => {
                        outstanding.missing[station] = false;
                        outstanding.left -= 1;
                        self.take(arrival, station, outstanding, time.now_ns(), own_clock, plan);
                    }
                    None => self.strange += 1,
                }
            })?;
            if outstanding.left == 0 {
                return Ok(());
            }
            if time.now_ns() > outstanding.sent_ns.saturating_add(plan.timeout_ns)
                || stop.load(Ordering::Relaxed)
            {
                self.lost += outstanding.left as u64;
                return Ok(());
            }
        }
    }

    #[inline]
    fn take(
        &mut self,
        arrival: &Arrival<'_>,
        station: usize,
        outstanding: &Outstanding,
        returned_ns: u64,
        own_clock: SkewedClock,
        plan: &RequestPlan<'_>,
    ) {
        let round_trip_ns = returned_ns - outstanding.sent_ns;
        let taken_ps = round_trip_ns * PS_PER_NS;
        self.answered += 1;
        self.round_trip.record(taken_ps);
        self.fastest_ns =
            Some(self.fastest_ns.map_or(round_trip_ns, |fastest| fastest.min(round_trip_ns)));
        if let Some(responder) = self.by_station.get_mut(station) {
            responder.answered += 1;
            responder.round_trip.record(taken_ps);
        }
        if outstanding.left == 0 {
            self.complete += 1;
            let since_tried_ps = (returned_ns - outstanding.tried_ns) * PS_PER_NS;
            let since_arrival_ps = outstanding.waited_ps.saturating_add(since_tried_ps);
            self.since_arrival.record(since_arrival_ps);
            if let Some(batch) = self.batches.at(since_ps(plan, outstanding.sent_ns)) {
                batch.complete += 1;
                batch.since_arrival_ps += u128::from(since_arrival_ps);
            }
            if !plan.responders.is_empty() {
                self.whole_round.record(taken_ps);
            }
        }
        let turn = MarkWindow::checked(arrival.payload).ok().and_then(|window| window.turn());
        if let Some(turn) = turn.filter(|_| self.exchanges.len() < plan.exchanges) {
            self.exchanges.push(Exchange {
                requested_ns: outstanding.request.sent_ns,
                received_ns: turn.received_ns,
                answered_ns: turn.answered_ns,
                returned_ns: own_clock.reading_at(arrival.stamped_ns.unwrap_or(returned_ns)),
            });
        }
    }
}
