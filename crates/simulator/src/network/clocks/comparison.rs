//! A receiver that compares its clock with its sender's as in a live test: it asks for the time
//! over the network, at the moments and in the manner of [`ethermeter_traffic::clock::rounds`], one
//! request at a time.
//!
//! ```text
//! due ──► request ──► answered ──────► due again, an interval after the request
//!            └──────► timeout    ───► lost; the same
//! the round's end, and no request under way ──► fitted again, published ──► next round
//! ```
//!
//! What is published is used for what comes later than it. `fast` hears of a message before its
//! time has come: what comes after the round's end waits until it is known what was published.

use super::clock::Clock;
use crate::identity::{AddressId, FlowId, NodeId, ReceiverId};
use crate::network::compiled::CompiledNetwork;
use crate::network::frame::Frame;
use crate::time::{Instant, Span};
use ethermeter_traffic::clock::rounds::{ClockEstimate, FRAME_OCTETS, Pace, TIMEOUT_NS, Used};
use ethermeter_traffic::clock::{Exchange, Relation};
use ethermeter_traffic::skewed_clock::between_ns;
use ethermeter_trial::counts::{Balance, ClockPair};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

const PS_PER_NS: u64 = 1000;

const fn nanoseconds(ns: u64) -> Span {
    Span::from_ps(ns * PS_PER_NS)
}

/// A message that arrived.
#[derive(Clone, Copy, Debug)]
struct Heard {
    receiver: ReceiverId,
    born: Instant,
    now: Instant,
}

/// What is said of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub receiver: ReceiverId,
    pub true_delay: Span,
    /// `None` where nothing was known yet.
    pub delay_ns: Option<i64>,
}

/// A request whose answer is awaited.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    number: u32,
    requested_ns: u64,
    deadline: Instant,
}

/// A phase, and how often is asked in it, in picoseconds.
#[derive(Clone, Debug)]
struct Phase {
    span: Range<Instant>,
    interval: Span,
    round: Span,
}

#[derive(Debug)]
pub(in crate::network) struct Comparison {
    flow: FlowId,
    pair: (NodeId, NodeId),
    sender: Clock,
    receiver: Clock,
    /// Addresses on the way from the receiver to the sender, and back.
    destinations: [AddressId; 2],
    measured: Range<u64>,
    phases: VecDeque<Phase>,
    round_end: Instant,
    due: Instant,
    outstanding: Option<Outstanding>,
    /// Number of the last request that arrived at the sender, and its clock then.
    turn: (u32, u64),
    out: VecDeque<(NodeId, Frame)>,
    requests: u32,
    answered: u64,
    lost: u64,
    exchanges: Vec<Exchange>,
    used: Vec<Used>,
    /// What followed the round's end, and whether the round that was then is over.
    waiting: Vec<Heard>,
    is_news: bool,
}

impl Comparison {
    /// Between the nodes of `pair`, a sender and a receiver with these clocks.
    pub fn new(
        compiled: &CompiledNetwork,
        flow: FlowId,
        pair: (NodeId, NodeId),
        (sender, receiver): (Clock, Clock),
    ) -> Self {
        let times = compiled.phases;
        let phase = |span: Range<Instant>, pace: fn(u64) -> Pace| {
            let Pace { interval_ns, round_ns } = pace((span.end - span.start).ps() / PS_PER_NS);
            Phase { span, interval: nanoseconds(interval_ns), round: nanoseconds(round_ns) }
        };
        let [begin, stop, end] =
            [times.begin_ps, times.stop_ps, times.end_ps].map(Instant::from_ps);
        let phases = [
            phase(Instant::ZERO..begin, Pace::quiet),
            phase(begin..stop, Pace::busy),
            phase(stop..end, Pace::quiet),
        ];
        let mut made = Self {
            flow,
            pair,
            sender,
            receiver,
            destinations: [
                compiled.next_address(pair.1, pair.0),
                compiled.next_address(pair.0, pair.1),
            ],
            measured: times.measure_from_ps / PS_PER_NS..times.measure_to_ps / PS_PER_NS,
            phases: VecDeque::from(phases),
            round_end: Instant::ZERO,
            due: Instant::ZERO,
            outstanding: None,
            turn: (0, 0),
            out: VecDeque::new(),
            requests: 0,
            answered: 0,
            lost: 0,
            exchanges: Vec::new(),
            used: Vec::new(),
            waiting: Vec::new(),
            is_news: false,
        };
        made.next_round(Instant::ZERO);
        made
    }

    /// Sender and receiver.
    pub fn pair(&self) -> (NodeId, NodeId) {
        self.pair
    }

    /// When it next does something by itself.
    pub fn wakes(&self) -> Option<Instant> {
        match self.outstanding {
            Some(outstanding) => Some(outstanding.deadline),
            None if self.phases.is_empty() => None,
            None => Some(self.due.min(self.round_end)),
        }
    }

    /// Do what is due; what goes out waits in `take_frame`.
    pub fn wake(&mut self, now: Instant) {
        if let Some(outstanding) = self.outstanding {
            if now < outstanding.deadline {
                return;
            }
            self.lost += 1;
            self.outstanding = None;
        }
        if !self.phases.is_empty() && now >= self.round_end {
            self.publish(now);
            self.next_round(now);
        }
        if !self.phases.is_empty() && now >= self.due {
            self.ask(now);
        }
    }

    fn next_round(&mut self, now: Instant) {
        while let Some(phase) = self.phases.front() {
            let from = now.max(phase.span.start);
            if from < phase.span.end {
                (self.due, self.round_end) = (from, phase.span.end.min(from + phase.round));
                return;
            }
            self.phases.pop_front();
        }
        self.round_end = Instant::NEVER;
    }

    fn ask(&mut self, now: Instant) {
        let number = self.requests;
        self.requests += 1;
        self.due = now + self.phases[0].interval;
        let requested_ns = self.receiver.reading_ns(now);
        self.outstanding =
            Some(Outstanding { number, requested_ns, deadline: now + nanoseconds(TIMEOUT_NS) });
        self.put_out(number, now, false);
    }

    fn put_out(&mut self, message: u32, now: Instant, is_answer: bool) {
        let (sender, receiver) = self.pair;
        let (from, to) = if is_answer { (sender, receiver) } else { (receiver, sender) };
        let frame = Frame {
            flow: self.flow,
            from,
            to: Some(to),
            source: AddressId::from(from.number()),
            destination: Some(self.destinations[usize::from(is_answer)]),
            octets: FRAME_OCTETS,
            message,
            fragments: 1,
            fragment: 0,
            answer: is_answer.then_some(0),
            broadcast: false,
            hops: 0,
            attempt: 0,
            padding: 0,
            samples: 0,
            born: now,
        };
        self.out.push_back((from, frame));
    }

    /// The next frame to go out, if there is one, and its host.
    pub fn take_frame(&mut self) -> Option<(NodeId, Frame)> {
        self.out.pop_front()
    }

    /// A frame comes to its host.
    pub fn deliver(&mut self, frame: &Frame, now: Instant) {
        if frame.answer.is_none() {
            self.turn = (frame.message, self.sender.reading_ns(now));
            return self.put_out(frame.message, now, true);
        }
        let Some(outstanding) =
            self.outstanding.filter(|it| it.number == frame.message && now < it.deadline)
        else {
            return; // it comes too late
        };
        let (number, turned_ns) = self.turn;
        debug_assert_eq!(number, outstanding.number, "no later request is sent before");
        self.outstanding = None;
        self.answered += 1;
        self.exchanges.push(Exchange {
            requested_ns: outstanding.requested_ns,
            received_ns: turned_ns,
            answered_ns: turned_ns,
            returned_ns: self.receiver.reading_ns(now),
        });
        self.wake(now);
    }

    fn publish(&mut self, now: Instant) {
        if let Ok(relation) = Relation::fitted(&self.exchanges) {
            self.used.push(Used {
                since_ns: now.ps().div_ceil(PS_PER_NS),
                relation: Arc::new(relation),
            });
        }
        self.is_news = true;
    }

    /// A message of a stream comes to `receiver` within the measured window. What is said of it, if
    /// that is known by now.
    #[inline]
    pub fn hear(&mut self, receiver: ReceiverId, born: Instant, now: Instant) -> Option<Verdict> {
        let heard = Heard { receiver, born, now };
        if now <= self.round_end {
            return Some(self.verdict(heard));
        }
        self.waiting.push(heard);
        None
    }

    /// What is said of messages that had to wait, once more is known.
    pub fn judge(&mut self, mut each: impl FnMut(&Verdict)) {
        if !std::mem::take(&mut self.is_news) {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|heard| {
            let waits = heard.now > self.round_end;
            if !waits {
                each(&self.verdict(*heard));
            }
            waits
        });
        self.waiting = waiting;
    }

    #[inline]
    fn verdict(&self, heard: Heard) -> Verdict {
        let Heard { receiver, born, now } = heard;
        let known = self.used.iter().rev().find(|used| used.since_ns * PS_PER_NS < now.ps());
        let delay_ns = known.map(|used| {
            between_ns(
                used.relation.own_ns(self.sender.reading_ns(born)),
                self.receiver.reading_ns(now),
            )
        });
        Verdict { receiver, true_delay: now - born, delay_ns }
    }

    /// Nothing more happens: what waits is told by what is known.
    pub fn finish(&mut self) {
        (self.round_end, self.is_news) = (Instant::NEVER, true);
    }

    pub fn outcome(&self, balance: Balance) -> ClockPair {
        let shows = |host_ns: u64| self.receiver.reading_ns(Instant::ZERO + nanoseconds(host_ns));
        let last = Relation::fitted(&self.exchanges).ok();
        ClockPair {
            sender: self.pair.0.number(),
            receiver: self.pair.1.number(),
            requests: u64::from(self.requests),
            answered: self.answered,
            lost: self.lost,
            balance,
            estimate: last
                .map(|last| ClockEstimate::of(&last, &self.used, self.measured.clone(), shows)),
        }
    }
}
