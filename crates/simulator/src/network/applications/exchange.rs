//! Requests that receivers answer: what is under way to each receiver, its answers, and what the
//! sender of a request does when they have come, or when the time is out.

use super::{Activity, Applications, Reaction, cut, ready_at};
use crate::identity::{AddressId, FlowId, NodeId, ReceiverId};
use crate::network::counters::Counters;
use crate::network::frame::Frame;
use crate::time::{Instant, Span};
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Source, Stream};
use ethermeter_trial::flows::{Address, Response, Retransmit};
use std::collections::VecDeque;

/// What follows for a request whose time is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::network) enum Overdue {
    /// It is answered.
    Nothing,
    /// It is given up; the next message comes then, if there is one.
    Next(Option<Instant>),
    /// It is sent again, and waits until then.
    Again(Instant),
}

/// A source whose messages every receiver answers, and the request that is under way.
#[derive(Debug)]
pub(super) struct Exchange {
    pub source: Source,
    request: Option<Request>,
    timeout: Option<Span>,
    retransmit: Option<Retransmit>,
    /// How often the time between two transmissions has grown.
    steps: u32,
}

#[derive(Debug)]
struct Request {
    octets: u64,
    missing: u32,
    latest: Instant,
    deadline: Instant,
    born: Instant,
    /// How often it was sent.
    transmissions: u32,
}

impl Exchange {
    pub fn new(source: Source, response: &Response) -> Self {
        Self {
            source,
            request: None,
            timeout: response.timeout_ps.map(Span::from_ps),
            retransmit: response.retransmit,
            steps: 0,
        }
    }

    /// A request of so many octets goes to so many receivers. Until when its sender waits, if there
    /// is an end.
    pub fn begin(
        &mut self,
        (octets, missing): (u64, u32),
        born: Instant,
        now: Instant,
    ) -> Option<Instant> {
        let deadline = self.timeout.map_or(Instant::NEVER, |timeout| now + timeout);
        let latest = Instant::ZERO;
        let request = Request { octets, missing, latest, deadline, born, transmissions: 1 };
        let until = self.waits_until(&request, now);
        self.request = Some(request);
        (until < Instant::NEVER).then_some(until)
    }

    /// Until when the sender waits after a transmission.
    fn waits_until(&self, request: &Request, now: Instant) -> Instant {
        self.retransmit.map_or(request.deadline, |retransmit| {
            let wait = Span::from_ps(retransmit.wait_ps(self.steps));
            now.saturating_add(wait).min(request.deadline)
        })
    }

    /// A request is over; whether its first transmission was answered.
    fn end(&mut self, is_first: bool) {
        if is_first || !self.retransmit.is_some_and(|retransmit| retransmit.keep) {
            self.steps = 0;
        }
    }

    /// The time is out after the last transmission.
    fn is_overdue(&mut self, now: Instant) -> Overdue {
        let Some(mut request) = self.request.take() else { return Overdue::Nothing };
        let goes_on = self.retransmit.is_some_and(|retransmit| {
            now < request.deadline && retransmit.tries.is_none_or(|it| request.transmissions < it)
        });
        self.steps = self.steps.saturating_add(1);
        if !goes_on {
            self.end(false);
            return Overdue::Next(None);
        }
        request.transmissions += 1;
        let until = self.waits_until(&request, now);
        self.request = Some(request);
        Overdue::Again(until)
    }
}

/// Numbers of messages that came to a receiver, a bit of each.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<u64>);

impl Seen {
    /// Whether it is new. Not the highest number so far: an earlier message that was overtaken is
    /// new, too.
    pub fn insert(&mut self, message: u32) -> bool {
        let (word, bit) = ((message / 64) as usize, 1 << (message % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

/// What is under way to one receiver, and what it answers.
#[derive(Debug)]
pub(super) struct Receiver {
    pub flow: FlowId,
    pub number: u16,
    pub host: NodeId,
    pub gathering: Gathering,
    pub last: Option<Instant>,
    /// What came, where a message may come again.
    pub seen: Option<Seen>,
    /// The same of its answers, at the other end.
    pub returning: Gathering,
    /// The last message to which its answer has come to the sender.
    pub answered: Option<u32>,
    pub answer: Option<(Times, Lengths, Stream, Stream)>,
    pub thinks_until: Instant,
    /// Messages to answer, and their transmissions.
    pub pending: VecDeque<(u32, u8)>,
    /// To whom it answers.
    pub address: Address,
    pub destination: AddressId,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathering {
    pub message: u32,
    pub attempt: u8,
    pub fragments: u16,
    pub octets: u64,
}

impl Gathering {
    /// Take in a fragment. The octets of the message's frames, if it is whole.
    #[inline]
    pub fn take(&mut self, frame: &Frame) -> Option<u64> {
        if frame.fragments == 1 {
            return Some(u64::from(frame.octets));
        }
        if frame.fragment == 0 {
            let Frame { message, attempt, .. } = *frame;
            *self = Self { message, attempt, ..Self::default() };
        }
        let is_of_it = (self.message, self.attempt) == (frame.message, frame.attempt);
        if !is_of_it || self.fragments != frame.fragment {
            return None; // a fragment before it was lost
        }
        self.fragments += 1;
        self.octets += u64::from(frame.octets);
        (self.fragments == frame.fragments).then_some(self.octets)
    }
}

impl Applications {
    /// A receiver sends its answer.
    pub fn answer(&mut self, receiver: ReceiverId, now: Instant, mut each: impl FnMut(Frame)) {
        let it = &mut self.receivers[receiver];
        let (message, attempt) = it.pending.pop_front().expect("an answer whose time has come");
        let (_, lengths, _, chance) = it.answer.as_mut().expect("a receiver that answers");
        let octets = lengths.draw(chance) / 8;
        let app = &self.flows[it.flow];
        let is_unicast = it.address == Address::Unicast;
        let frame = Frame {
            flow: it.flow,
            from: it.host,
            to: is_unicast.then_some(app.from),
            source: AddressId::from(it.host.number()),
            destination: is_unicast.then_some(it.destination),
            octets: 0,
            message,
            fragments: 1,
            fragment: 0,
            answer: Some(it.number),
            broadcast: it.address == Address::Broadcast,
            hops: 0,
            attempt,
            padding: 0,
            samples: 0,
            born: now,
        };
        cut(app.framing, octets, frame, &mut each);
    }

    /// The time is out for a message, or for the answers to its last transmission.
    pub fn time_out(
        &mut self,
        flow: FlowId,
        message: u32,
        now: Instant,
        counters: &mut Counters,
    ) -> Overdue {
        let app = &mut self.flows[flow];
        let Activity::Exchange(exchange) = &mut app.activity else { return Overdue::Nothing };
        if app.messages != message + 1 {
            return Overdue::Nothing;
        }
        let found = exchange.is_overdue(now);
        match found {
            Overdue::Nothing => found,
            Overdue::Again(_) => {
                counters.resent(flow, now);
                found
            }
            Overdue::Next(_) => {
                counters.timed_out(flow, now);
                app.next = exchange.source.next_in_batches(now.ps());
                Overdue::Next(app.next.map(ready_at))
            }
        }
    }

    /// The frames of the request that is under way, once more.
    pub fn send_again(&mut self, flow: FlowId, mut each: impl FnMut(Frame)) {
        let app = &self.flows[flow];
        let Activity::Exchange(exchange) = &app.activity else { return };
        let request = exchange.request.as_ref().expect("a request that is sent again");
        #[allow(clippy::cast_possible_truncation)] // modulo 256
        let attempt = (request.transmissions - 1) as u8;
        let frame = app.frame(flow, app.messages - 1, attempt, request.born);
        cut(app.framing, request.octets, frame, &mut each);
    }

    pub(super) fn deliver_answer(
        &mut self,
        frame: &Frame,
        number: u16,
        now: Instant,
        counters: &mut Counters,
    ) -> Reaction {
        let app = &mut self.flows[frame.flow];
        let it = &mut self.receivers[app.first_receiver.index() + usize::from(number)];
        let Some(octets) = it.returning.take(frame) else { return Reaction::Nothing };
        counters.answered(frame.flow, octets, frame.born, now);
        let Activity::Exchange(exchange) = &mut app.activity else { return Reaction::Nothing };
        let Some(request) = &mut exchange.request else { return Reaction::Nothing };
        if app.messages != frame.message + 1 || now >= request.deadline {
            return Reaction::Nothing; // it comes too late
        }
        if it.answered.replace(frame.message) == Some(frame.message) {
            return Reaction::Nothing; // it answers an earlier transmission, too
        }
        request.missing -= 1;
        request.latest = request.latest.max(now);
        counters.answer_came(frame.flow, number, request.born, now);
        if request.missing > 0 {
            return Reaction::Nothing;
        }
        let (born, latest, is_first) = (request.born, request.latest, request.transmissions == 1);
        counters.completed(frame.flow, born, latest);
        exchange.request = None;
        exchange.end(is_first);
        app.next = exchange.source.next_in_batches(latest.ps());
        app.next.map_or(Reaction::Nothing, |offer| Reaction::Next {
            flow: frame.flow,
            at: ready_at(offer),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn a_message_that_was_overtaken_is_new() {
        let mut seen = Seen::default();
        let came = [5, 3, 70, 5, 4, 3].map(|message| seen.insert(message));
        assert_eq!(came, [true, true, true, false, true, false]);
    }
}
