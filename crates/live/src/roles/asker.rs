//! Ask, and time the answer.

use super::requests::{Request, Requests};
use super::Attention;
use crate::clock::Exchange;
use crate::pacing::{Achieved, Pacer, Pacing};
use crate::port::{Address, Arrival, Port};
use crate::time::{Timeline, PS_PER_NS};
use crate::wire::{Kind, Mark, MarkWindow, SEQUENCE_LIMIT};
use crate::{Error, Face};
use ethermeter_traffic::{Batches, Histogram};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be asked.
#[derive(Clone, Copy, Debug)]
pub struct AskPlan<'a> {
    /// The experiment.
    pub experiment: u16,
    /// The stream.
    pub stream: u16,
    /// Stations that answer each request, which goes to a group of them; the only one at the other
    /// end without.
    pub answerers: &'a [Address],
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
    pub patience_ns: u64,
    /// Exchanges of times that are kept, the first ones; for a clock.
    pub exchanges: usize,
    /// How it waits for answers.
    pub attention: Attention,
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Requests that the kernel took.
    pub requests: u64,
    /// Answers that came in time.
    pub answered: u64,
    /// Answers that did not come in time: of each request, of every station that is to answer it.
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
    /// How often the asker took a breath although something was due.
    pub breaths: u64,
    /// Requests that had come by the end and were not asked.
    pub unasked: u64,
    /// The shortest, in nanoseconds.
    pub fastest_ns: Option<u64>,
    /// Four times of each exchange, where the answer had room for its two.
    pub exchanges: Vec<Exchange>,
    /// By station, where requests go to a group.
    pub by_station: Vec<Answerer>,
    /// Requests that all stations answered in time.
    pub complete: u64,
    /// From a request to the last of its answers, where all came, in picoseconds; only of a group.
    pub whole_round: Histogram,
    /// The same in each part of the time.
    pub batches: Batches<AskedBatch>,
}

/// What came of the requests that were sent in one part of the time. Added over all parts each
/// figure is that of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedBatch {
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
pub struct Answerer {
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
pub fn ask<P: Port, T: Timeline>(
    port: &mut P,
    time: &T,
    face: Face,
    plan: &AskPlan<'_>,
    stop: &AtomicBool,
) -> Result<Asked, Error> {
    let mut supply = plan.requests.over(port, plan.begin_ns, plan.until_ns)?;
    let is_scheduled = supply.is_scheduled();
    let mut asked = Asked::nothing(plan);
    let mut outstanding = Outstanding::nothing(plan.answerers.len().max(1));
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
        let Some(sent_ns) = outstanding.send(port, time, face, plan, (number, &request), stop)?
        else {
            break;
        };
        if is_scheduled {
            asked.achieved.record(request.due_ns, now_ns);
        }
        asked.requests += 1;
        if let Some(batch) = asked.batches.at(since_ps(plan, sent_ns)) {
            batch.requests += 1;
        }
        asked.await_answers(port, time, face, plan, &mut outstanding, stop)?;
        next = supply.next(&request, sent_ns, time.now_ns());
    }
    asked.breaths = pacing.breaths();
    asked.unasked = supply.unasked(asked.requests);
    Ok(asked)
}

/// From the beginning to a moment.
#[inline]
fn since_ps(plan: &AskPlan<'_>, at_ns: u64) -> u64 {
    at_ns.saturating_sub(plan.begin_ns).saturating_mul(PS_PER_NS)
}

impl Answerer {
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
        face: Face,
        plan: &AskPlan<'_>,
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
                sent_ns: face.shows(now_ns),
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
    fn answered_by(&self, arrival: &Arrival<'_>, plan: &AskPlan<'_>) -> Option<usize> {
        let mark = Mark::read(arrival.payload).ok()?;
        if mark != (Mark { kind: Kind::Response, ..self.request }) {
            return None;
        }
        let station = if plan.answerers.is_empty() {
            0
        } else {
            plan.answerers.iter().position(|station| station.is_station_of(arrival.from))?
        };
        self.missing[station].then_some(station)
    }
}

impl Asked {
    fn nothing(plan: &AskPlan<'_>) -> Self {
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
            by_station: plan.answerers.iter().map(|&station| Answerer::of(station)).collect(),
            complete: 0,
            whole_round: Histogram::default(),
            batches: Batches::new(0, since_ps(plan, plan.until_ns), plan.batches),
        }
    }

    #[inline]
    fn await_answers<P: Port, T: Timeline>(
        &mut self,
        port: &mut P,
        time: &T,
        face: Face,
        plan: &AskPlan<'_>,
        outstanding: &mut Outstanding,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        loop {
            port.receive(plan.attention.wait(), |arrival| {
                match outstanding.answered_by(arrival, plan) {
                    Some(station) => {
                        outstanding.missing[station] = false;
                        outstanding.left -= 1;
                        self.take(arrival, station, outstanding, time.now_ns(), face, plan);
                    }
                    None => self.strange += 1,
                }
            })?;
            if outstanding.left == 0 {
                return Ok(());
            }
            if time.now_ns() > outstanding.sent_ns.saturating_add(plan.patience_ns)
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
        face: Face,
        plan: &AskPlan<'_>,
    ) {
        let round_trip_ns = returned_ns - outstanding.sent_ns;
        let taken_ps = round_trip_ns * PS_PER_NS;
        self.answered += 1;
        self.round_trip.record(taken_ps);
        self.fastest_ns =
            Some(self.fastest_ns.map_or(round_trip_ns, |fastest| fastest.min(round_trip_ns)));
        if let Some(answerer) = self.by_station.get_mut(station) {
            answerer.answered += 1;
            answerer.round_trip.record(taken_ps);
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
            if !plan.answerers.is_empty() {
                self.whole_round.record(taken_ps);
            }
        }
        let turn = MarkWindow::checked(arrival.payload).ok().and_then(|window| window.turn());
        if let Some(turn) = turn.filter(|_| self.exchanges.len() < plan.exchanges) {
            self.exchanges.push(Exchange {
                asked_ns: outstanding.request.sent_ns,
                received_ns: turn.received_ns,
                answered_ns: turn.answered_ns,
                returned_ns: face.shows(arrival.stamped_ns.unwrap_or(returned_ns)),
            });
        }
    }
}
