//! Respond to requests.

use super::sender::check_lengths;
use crate::pacing::{Achieved, Pacer, Pacing, PacingCounts};
use crate::port::{NetworkPort, ReceivedPayload, StationAddress};
use crate::time::{PS_PER_NS, Timeline};
use crate::wire::{Mark, MarkKind, ResponderTimes};
use crate::{Error, SkewedClock};
use ethermeter_ethernet::Octets;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::roles::{Draws, ReceiveMode, Responses};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// The responses of a role.
pub struct ResponsePlan<'a> {
    /// The experiment; others are not answered.
    pub experiment: u16,
    /// The stream; any of the experiment without.
    pub stream: Option<u16>,
    /// Stations that may be answered: without this, a forged request would direct the response at
    /// another host.
    pub may_respond_to: &'a (dyn Fn(StationAddress) -> bool + Sync),
    /// The group that all responses go to; who asked without.
    pub group: Option<StationAddress>,
    /// How long responses are and when they come.
    pub responses: &'a Responses,
    /// Seed and number of the station: with those of a simulated station, the draws are its own.
    pub draws: Draws,
    /// When it ends, in the host's time.
    pub until_ns: u64,
    /// After so many answers it ends too.
    pub most_responses: u64,
    /// How it waits.
    pub attention: ReceiveMode,
}

/// Counts of a responder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponderCounts {
    /// Requests of the experiment that were read.
    pub requests: u64,
    /// Octets of their payloads.
    pub request_octets: u64,
    /// Responses that the kernel took.
    pub answered: u64,
    /// Responses that it had not taken by the end.
    pub unsent: u64,
    /// Requests of stations that may not be answered.
    pub not_allowed: u64,
    /// Frames that are neither requests of the experiment nor what is heard.
    pub unexpected: u64,
    /// Responses of other stations of the group that were read; none where responses go to who
    /// asked.
    #[serde(default)]
    pub heard: u64,
    /// Requests that were read and whose answers' times had not come by the end.
    pub unanswered: u64,
    /// How far from their times responses were sent that have one.
    pub pacing: PacingCounts,
}

/// A request that waits for its answer, between reading and sending.
#[derive(Clone, Copy)]
struct PendingRequest {
    mark: Mark,
    octets: usize,
    from: StationAddress,
    received_ns: u64,
}

/// Processing of one request after the other, with its time.
struct ThinkTime<'a> {
    /// `None` of responses as long as their requests and at once.
    responses: Option<&'a Responses>,
    overhead_octets: u64,
    lengths: Stream,
    times: Stream,
    until_ns: u64,
}

/// After a refusal, the time until the next attempt, as of senders.
const AFTER_REFUSAL_NS: u64 = 20_000;

/// Answer until the time is over, the answers are, `stop` is set, or the connection is closed.
///
/// # Errors
/// If an answer's length has no room for a mark or is longer than the port's, or if receiving or
/// sending is impossible.
pub fn respond<P: NetworkPort, T: Timeline>(
    port: &mut P,
    time: &T,
    own_clock: SkewedClock,
    plan: &ResponsePlan<'_>,
    stop: &AtomicBool,
) -> Result<ResponderCounts, Error> {
    if let Some(frames) = &plan.responses.frames {
        check_lengths(port, frames)?;
    }
    let is_over = |now_ns| stop.load(Ordering::Relaxed) || now_ns >= plan.until_ns;
    let mut thinker = ThinkTime::new(plan, port.carrier().overhead());
    let (mut counts, mut achieved) = (ResponderCounts::default(), Achieved::default());
    let mut waiting = Vec::with_capacity(port.batch());
    while counts.answered < plan.most_responses && !is_over(time.now_ns()) {
        waiting.clear();
        let received =
            port.receive(plan.attention.into(), |arrival| match request(arrival, plan, time) {
                Some(request) if (plan.may_respond_to)(request.from) => {
                    counts.requests += 1;
                    counts.request_octets += request.octets as u64;
                    waiting.push(request);
                }
                Some(_) => counts.not_allowed += 1,
                None if is_heard(arrival, plan) => counts.heard += 1,
                None => counts.unexpected += 1,
            });
        match received {
            Err(Error::Closed) => break,
            received => received?,
        };
        for request in &mut waiting {
            if thinker.think(request, time, plan.until_ns, stop, &mut achieved) {
                answer(port, time, own_clock, (plan, request), &mut counts, is_over)?;
            } else {
                counts.unanswered += 1;
            }
        }
    }
    counts.pacing = achieved.counts(0);
    Ok(counts)
}

impl<'a> ThinkTime<'a> {
    fn new(plan: &ResponsePlan<'a>, overhead: Octets) -> Self {
        let Draws { seed, station } = plan.draws;
        Self {
            responses: Some(plan.responses).filter(|&given| *given != Responses::default()),
            overhead_octets: overhead.0,
            lengths: Stream::new(seed, station, Purpose::Length),
            times: Stream::new(seed, station, Purpose::Service),
            until_ns: 0,
        }
    }

    /// Wait until a request is to be answered, and find how long the answer is; false if it has to
    /// end before.
    ///
    /// Meanwhile others wait in the port, which stamps them.
    #[inline]
    fn think<T: Timeline>(
        &mut self,
        request: &mut PendingRequest,
        time: &T,
        end_ns: u64,
        stop: &AtomicBool,
        achieved: &mut Achieved,
    ) -> bool {
        let Some(responses) = self.responses else { return true };
        let think_ps = responses.think.draw(&mut self.times);
        if let Some(frames) = &responses.frames {
            #[allow(clippy::cast_possible_truncation)] // lengths were checked against the port's
            let octets = (frames.draw(&mut self.lengths) / 8 - self.overhead_octets) as usize;
            request.octets = octets;
        }
        self.until_ns =
            self.until_ns.max(request.received_ns).saturating_add(think_ps.div_ceil(PS_PER_NS));
        if think_ps == 0 && self.until_ns <= time.now_ns() {
            return true;
        }
        // A responder sleeps whenever it waits for requests, so it needs no forced sleep.
        let Some(now_ns) =
            Pacing::new(Pacer::default(), time).wait_until(self.until_ns.min(end_ns), stop)
        else {
            return false;
        };
        let is_due = now_ns >= self.until_ns;
        if is_due {
            achieved.record(self.until_ns, now_ns);
        }
        is_due
    }
}

#[inline]
fn request<T: Timeline>(
    arrival: &ReceivedPayload<'_>,
    plan: &ResponsePlan<'_>,
    time: &T,
) -> Option<PendingRequest> {
    marked(arrival, plan, MarkKind::Request).map(|mark| PendingRequest {
        mark,
        octets: arrival.payload.len(),
        from: arrival.from,
        received_ns: arrival.stamped_ns.unwrap_or_else(|| time.now_ns()),
    })
}

/// The mark of a frame of the experiment and stream, if it is of this kind.
#[inline]
fn marked(arrival: &ReceivedPayload<'_>, plan: &ResponsePlan<'_>, kind: MarkKind) -> Option<Mark> {
    let mark = Mark::read(arrival.payload).ok()?;
    let is_ours = mark.experiment == plan.experiment
        && plan.stream.is_none_or(|stream| stream == mark.stream);
    (mark.kind == kind && is_ours).then_some(mark)
}

/// Whether it is a response to the group of another of its stations.
fn is_heard(arrival: &ReceivedPayload<'_>, plan: &ResponsePlan<'_>) -> bool {
    plan.group.is_some()
        && (plan.may_respond_to)(arrival.from)
        && marked(arrival, plan, MarkKind::Response).is_some()
}

/// Hand an answer over as soon as the port takes it, unless it has to end before.
#[inline]
fn answer<P: NetworkPort, T: Timeline>(
    port: &mut P,
    time: &T,
    own_clock: SkewedClock,
    (plan, request): (&ResponsePlan<'_>, &PendingRequest),
    counts: &mut ResponderCounts,
    is_over: impl Fn(u64) -> bool,
) -> Result<(), Error> {
    port.aim(plan.group.unwrap_or(request.from))?;
    loop {
        let sent = port.send(1, |_, room| {
            let octets = request.octets.min(room.len());
            Mark { kind: MarkKind::Response, ..request.mark }.emit(room);
            ResponderTimes {
                received_ns: own_clock.reading_at(request.received_ns),
                answered_ns: own_clock.reading_at(time.now_ns()),
            }
            .emit(&mut room[..octets]);
            octets
        })?;
        let now_ns = time.now_ns();
        if sent > 0 || is_over(now_ns) {
            counts.answered += sent as u64;
            counts.unsent += 1 - sent as u64;
            return Ok(());
        }
        time.sleep_until(now_ns + AFTER_REFUSAL_NS);
    }
}
