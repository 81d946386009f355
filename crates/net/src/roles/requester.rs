//! Send requests, and time their responses.

use super::requests::{DueRequest, RequestTraffic};
use crate::clock::{Exchange, Relation};
use crate::pacing::{Achieved, Pacer, Pacing, PacingCounts};
use crate::port::{NetworkPort, ReceivedPayload, StationAddress};
use crate::time::{PS_PER_NS, Timeline};
use crate::wire::{Mark, MarkKind, MarkWindow, SEQUENCE_LIMIT};
use crate::{Error, SkewedClock};
use ethermeter_traffic::clock::rounds::or_nan;
use ethermeter_traffic::{Batches, Distribution, Histogram};
use ethermeter_trial::roles::ReceiveMode;
use serde::{Deserialize, Serialize};
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
    pub responders: &'a [StationAddress],
    /// Requests, and when they come.
    pub requests: RequestTraffic<'a>,
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
    pub attention: ReceiveMode,
}

/// Counts of a requester.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequesterCounts {
    /// Requests that the kernel took.
    pub requests: u64,
    /// Responses that arrived in time.
    pub answered: u64,
    /// Responses that did not come in time: of each request, of every station that is to answer it.
    pub lost: u64,
    /// Frames that arrived and were not the expected response, late responses among them.
    pub unexpected: u64,
    /// Shortest round trip.
    pub fastest_ns: Option<u64>,
    /// From before a request is handed to the kernel to after its response has been read.
    pub round_trip: Distribution,
    /// From a request's coming to its source to the last of its responses, where all arrived: the
    /// round trip and the time in the queue of the source. The lateness of the host is not in it.
    pub since_arrival: Distribution,
    /// Requests that had come by the end and were still in the queue of the source.
    pub queued: u64,
    /// How far from their times requests were sent that have one.
    pub pacing: PacingCounts,
    /// Relation of the clocks, from the exchanges.
    pub clock: Option<RequesterClock>,
    /// Requests with all responses in time.
    pub complete: u64,
    /// By station, where requests go to a group.
    pub by_station: Vec<StationResponses>,
    /// By batch of the transmission.
    pub batches: Vec<RequestBatch>,
    /// From a request to the last of its responses, where all arrived; only of a group.
    pub group_round_trip: Option<Distribution>,
    /// Four times of each exchange, where the response had room for its two.
    #[serde(skip)]
    pub exchanges: Vec<Exchange>,
}

/// Relation of a responder's clock to a requester's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequesterClock {
    /// How far the responder's clock is ahead, in the middle of the exchanges.
    #[serde(deserialize_with = "or_nan")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub offset_ns: f64,
    /// Largest error of that.
    #[serde(deserialize_with = "or_nan")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub uncertainty_ns: f64,
    /// By how much it gains.
    #[serde(deserialize_with = "or_nan")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub drift: f64,
    /// Exchanges that contradict it.
    pub contradictions: usize,
}

/// Requests, by the batch of the transmission in which they were sent. The counts of all batches
/// add up to those of the transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestBatch {
    /// Requests that the kernel took.
    pub requests: u64,
    /// Requests with all responses in time.
    pub complete: u64,
    /// Sum of the times from their coming to the source to the last of their responses.
    pub since_arrival_ps: u64,
}

/// Responses of a station of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationResponses {
    /// Address of the station.
    pub station: String,
    /// Responses of the station that arrived in time.
    pub answered: u64,
    /// From before a request is handed to the kernel to after its response has been read.
    pub round_trip: Distribution,
}

/// Requests while they are sent.
struct Requester {
    counts: RequesterCounts,
    round_trip: Histogram,
    since_arrival: Histogram,
    group_round_trip: Histogram,
    by_station: Vec<(u64, Histogram)>,
    batches: Batches<RequestBatch>,
    achieved: Achieved,
}

/// A request whose answers are awaited.
struct UnansweredRequest {
    request: Mark,
    sent_ns: u64,
    /// When it was first tried to send it.
    tried_ns: u64,
    /// What it had waited by its time for those before it.
    waited_ps: u64,
    /// Stations whose responses are still to come; one entry without a group.
    missing: Vec<bool>,
    left: usize,
}

const NO_REQUEST: Mark =
    Mark { kind: MarkKind::Request, experiment: 0, stream: 0, sequence: 0, sent_ns: 0 };

/// After a refusal, the time until the next attempt, as of senders.
const AFTER_REFUSAL_NS: u64 = 20_000;

/// Ask one request after the other, until the time is over, the requests are, or `stop` is set.
///
/// # Errors
/// If a length has no room for a mark or is longer than the port's, or if sending or receiving is
/// impossible.
pub fn request<P: NetworkPort, T: Timeline>(
    port: &mut P,
    time: &T,
    own_clock: SkewedClock,
    plan: &RequestPlan<'_>,
    stop: &AtomicBool,
) -> Result<RequesterCounts, Error> {
    let mut supply = plan.requests.over(port, plan.begin_ns, plan.until_ns)?;
    let is_scheduled = supply.is_scheduled();
    let mut requester = Requester::new(plan);
    let mut outstanding = UnansweredRequest::nothing(plan.responders.len().max(1));
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
            requester.achieved.record(request.due_ns, now_ns);
        }
        requester.counts.requests += 1;
        if let Some(batch) = requester.batches.at(since_ps(plan, sent_ns)) {
            batch.requests += 1;
        }
        requester.await_responses(port, time, own_clock, plan, &mut outstanding, stop)?;
        next = supply.next(&request, sent_ns, time.now_ns());
    }
    let queued = supply.queued(requester.counts.requests);
    Ok(requester.counted(plan, pacing.forced_sleeps(), queued))
}

/// From the beginning to a moment.
#[inline]
fn since_ps(plan: &RequestPlan<'_>, at_ns: u64) -> u64 {
    at_ns.saturating_sub(plan.begin_ns).saturating_mul(PS_PER_NS)
}

impl RequesterClock {
    /// Relation by these exchanges; `None` of too few.
    #[must_use]
    pub fn of(exchanges: &[Exchange]) -> Option<Self> {
        let at_ns = exchanges.get(exchanges.len() / 2)?.requested_ns;
        let relation = Relation::fitted(exchanges).ok()?;
        Some(Self {
            offset_ns: relation.offset_ns(at_ns),
            uncertainty_ns: relation.uncertainty_ns(at_ns),
            drift: relation.drift(),
            contradictions: relation.contradictions(),
        })
    }
}

impl UnansweredRequest {
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
    fn send<P: NetworkPort, T: Timeline>(
        &mut self,
        port: &mut P,
        time: &T,
        own_clock: SkewedClock,
        plan: &RequestPlan<'_>,
        (sequence, request): (u64, &DueRequest),
        stop: &AtomicBool,
    ) -> Result<Option<u64>, Error> {
        loop {
            let now_ns = time.now_ns();
            if stop.load(Ordering::Relaxed) || now_ns >= plan.until_ns {
                return Ok(None);
            }
            let mark = Mark {
                kind: MarkKind::Request,
                experiment: plan.experiment,
                stream: plan.stream,
                sequence,
                sent_ns: own_clock.reading_at(now_ns),
            };
            let sent = port.send(1, |_, room| {
                mark.emit(room);
                request.payload_octets
            })?;
            if sent > 0 {
                (self.request, self.sent_ns, self.left) = (mark, now_ns, self.missing.len());
                self.missing.fill(true);
                return Ok(Some(now_ns));
            }
            time.sleep_until(now_ns + AFTER_REFUSAL_NS);
        }
    }

    /// Which station's awaited answer this is, if it is one.
    #[inline]
    fn answered_by(&self, arrival: &ReceivedPayload<'_>, plan: &RequestPlan<'_>) -> Option<usize> {
        let mark = Mark::read(arrival.payload).ok()?;
        if mark != (Mark { kind: MarkKind::Response, ..self.request }) {
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

impl Requester {
    fn new(plan: &RequestPlan<'_>) -> Self {
        let exchanges = Vec::with_capacity(plan.exchanges);
        Self {
            counts: RequesterCounts { exchanges, ..RequesterCounts::default() },
            round_trip: Histogram::default(),
            since_arrival: Histogram::default(),
            group_round_trip: Histogram::default(),
            by_station: vec![(0, Histogram::default()); plan.responders.len()],
            batches: Batches::new(0, since_ps(plan, plan.until_ns), plan.batches),
            achieved: Achieved::default(),
        }
    }

    fn counted(self, plan: &RequestPlan<'_>, forced_sleeps: u64, queued: u64) -> RequesterCounts {
        let by_station = plan.responders.iter().zip(&self.by_station);
        let by_station = by_station.map(|(station, (answered, round_trip))| StationResponses {
            station: station.to_string(),
            answered: *answered,
            round_trip: round_trip.into(),
        });
        RequesterCounts {
            round_trip: (&self.round_trip).into(),
            since_arrival: (&self.since_arrival).into(),
            queued,
            pacing: self.achieved.counts(forced_sleeps),
            clock: RequesterClock::of(&self.counts.exchanges),
            by_station: by_station.collect(),
            batches: self.batches.counted(),
            group_round_trip: (!plan.responders.is_empty())
                .then(|| (&self.group_round_trip).into()),
            ..self.counts
        }
    }

    #[inline]
    fn await_responses<P: NetworkPort, T: Timeline>(
        &mut self,
        port: &mut P,
        time: &T,
        own_clock: SkewedClock,
        plan: &RequestPlan<'_>,
        outstanding: &mut UnansweredRequest,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        loop {
            port.receive(plan.attention.into(), |arrival| {
                match outstanding.answered_by(arrival, plan) {
                    Some(station) => {
                        outstanding.missing[station] = false;
                        outstanding.left -= 1;
                        self.take(arrival, station, outstanding, time.now_ns(), own_clock, plan);
                    }
                    None => self.counts.unexpected += 1,
                }
            })?;
            if outstanding.left == 0 {
                return Ok(());
            }
            if time.now_ns() > outstanding.sent_ns.saturating_add(plan.timeout_ns)
                || stop.load(Ordering::Relaxed)
            {
                self.counts.lost += outstanding.left as u64;
                return Ok(());
            }
        }
    }

    #[inline]
    fn take(
        &mut self,
        arrival: &ReceivedPayload<'_>,
        station: usize,
        outstanding: &UnansweredRequest,
        returned_ns: u64,
        own_clock: SkewedClock,
        plan: &RequestPlan<'_>,
    ) {
        let round_trip_ns = returned_ns - outstanding.sent_ns;
        let taken_ps = round_trip_ns * PS_PER_NS;
        let counts = &mut self.counts;
        counts.answered += 1;
        self.round_trip.record(taken_ps);
        counts.fastest_ns =
            Some(counts.fastest_ns.map_or(round_trip_ns, |fastest| fastest.min(round_trip_ns)));
        if let Some((answered, round_trip)) = self.by_station.get_mut(station) {
            *answered += 1;
            round_trip.record(taken_ps);
        }
        if outstanding.left == 0 {
            counts.complete += 1;
            let since_tried_ps = (returned_ns - outstanding.tried_ns) * PS_PER_NS;
            let since_arrival_ps = outstanding.waited_ps.saturating_add(since_tried_ps);
            self.since_arrival.record(since_arrival_ps);
            if let Some(batch) = self.batches.at(since_ps(plan, outstanding.sent_ns)) {
                batch.complete += 1;
                batch.since_arrival_ps = batch.since_arrival_ps.saturating_add(since_arrival_ps);
            }
            if !plan.responders.is_empty() {
                self.group_round_trip.record(taken_ps);
            }
        }
        let turn = MarkWindow::checked(arrival.payload).ok().and_then(|window| window.turn());
        if let Some(turn) = turn.filter(|_| counts.exchanges.len() < plan.exchanges) {
            counts.exchanges.push(Exchange {
                requested_ns: outstanding.request.sent_ns,
                received_ns: turn.received_ns,
                answered_ns: turn.answered_ns,
                returned_ns: own_clock.reading_at(arrival.stamped_ns.unwrap_or(returned_ns)),
            });
        }
    }
}
