//! Ask, and time the answer.

use super::Attention;
use crate::clock::Exchange;
use crate::pacing::{Pacer, Pacing};
use crate::port::Port;
use crate::time::{Timeline, PS_PER_NS};
use crate::wire::{Kind, Mark, MarkWindow, MARK_OCTETS, SEQUENCE_LIMIT};
use crate::{Error, Face};
use ethermeter_traffic::Histogram;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be asked.
#[derive(Clone, Copy, Debug)]
pub struct AskPlan {
    /// The experiment.
    pub experiment: u16,
    /// The stream.
    pub stream: u16,
    /// Octets of a request's payload.
    pub payload_octets: usize,
    /// When the first is sent, in the host's time.
    pub begin_ns: u64,
    /// When it ends, in the host's time.
    pub until_ns: u64,
    /// Requests.
    pub requests: u64,
    /// Least time from one request to the next; without answers outstanding they follow each other at once with 0.
    pub interval_ns: u64,
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
    /// Requests without an answer in time.
    pub lost: u64,
    /// Frames that came and were not the expected answer: late ones among them.
    pub strange: u64,
    /// From before a request is handed to the kernel to after its answer has been read, in picoseconds.
    pub round_trip: Histogram,
    /// The shortest, in nanoseconds.
    pub fastest_ns: Option<u64>,
    /// Four times of each exchange, where the answer had room for its two.
    pub exchanges: Vec<Exchange>,
}

/// Ask one request after the other, until the time is over, the requests are, or `stop` is set.
///
/// # Errors
/// If the payload has no room for a mark or is longer than the port's, or if sending or receiving is impossible.
pub fn ask<P: Port, T: Timeline>(
    port: &mut P,
    time: &T,
    face: Face,
    plan: &AskPlan,
    stop: &AtomicBool,
) -> Result<Asked, Error> {
    if !(MARK_OCTETS..=port.longest_payload()).contains(&plan.payload_octets) {
        let allowed = format!("{MARK_OCTETS} to {} octets", port.longest_payload());
        return Err(Error::refused("payload", plan.payload_octets, allowed));
    }
    let mut asked = Asked {
        requests: 0,
        answered: 0,
        lost: 0,
        strange: 0,
        round_trip: Histogram::default(),
        fastest_ns: None,
        exchanges: Vec::with_capacity(plan.exchanges),
    };
    let mut pacing = Pacing::new(Pacer::default(), time);
    let mut due_ns = plan.begin_ns;
    for number in 0..plan.requests.min(SEQUENCE_LIMIT) {
        let Some(now_ns) = pacing.wait_until(due_ns.min(plan.until_ns), stop) else { break };
        if now_ns >= plan.until_ns {
            break;
        }
        due_ns = now_ns.max(due_ns).saturating_add(plan.interval_ns);
        let mark = Mark {
            kind: Kind::Request,
            experiment: plan.experiment,
            stream: plan.stream,
            sequence: number,
            sent_ns: face.shows(now_ns),
        };
        let taken = port.send(1, |_, room| {
            mark.emit(room);
            plan.payload_octets
        })?;
        if taken == 0 {
            continue;
        }
        asked.requests += 1;
        asked.await_answer(port, time, face, plan, (mark, now_ns), stop)?;
    }
    Ok(asked)
}

impl Asked {
    #[inline]
    fn await_answer<P: Port, T: Timeline>(
        &mut self,
        port: &mut P,
        time: &T,
        face: Face,
        plan: &AskPlan,
        (request, sent_ns): (Mark, u64),
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        let expected = Mark { kind: Kind::Response, ..request };
        let mut returned = None;
        loop {
            port.receive(plan.attention.wait(), |arrival| {
                let window = MarkWindow::checked(arrival.payload).ok();
                match window.filter(|window| returned.is_none() && Mark::parse(window) == Ok(expected)) {
                    Some(window) => returned = Some((time.now_ns(), arrival.stamped_ns, window.turn())),
                    None => self.strange += 1,
                }
            })?;
            if let Some((returned_ns, stamped_ns, turn)) = returned {
                let round_trip_ns = returned_ns - sent_ns;
                self.answered += 1;
                self.round_trip.record(round_trip_ns * PS_PER_NS);
                self.fastest_ns = Some(self.fastest_ns.map_or(round_trip_ns, |fastest| fastest.min(round_trip_ns)));
                if let Some(turn) = turn.filter(|_| self.exchanges.len() < plan.exchanges) {
                    self.exchanges.push(Exchange {
                        asked_ns: request.sent_ns,
                        received_ns: turn.received_ns,
                        answered_ns: turn.answered_ns,
                        returned_ns: face.shows(stamped_ns.unwrap_or(returned_ns)),
                    });
                }
                return Ok(());
            }
            if time.now_ns() > sent_ns.saturating_add(plan.patience_ns) || stop.load(Ordering::Relaxed) {
                self.lost += 1;
                return Ok(());
            }
        }
    }
}
