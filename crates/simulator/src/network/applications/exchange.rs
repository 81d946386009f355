//! Requests that receivers answer: the request that is under way, and what is under way to each
//! receiver.

use crate::identity::{AddressId, FlowId, NodeId};
use crate::network::frame::Frame;
use crate::time::{Instant, Span};
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Purpose, Source, Stream};
use ethermeter_trial::flows::Flow;
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
    pub request: Option<Request>,
    timeout: Option<Span>,
    retransmit: Option<Retransmit>,
    /// How often the time between two transmissions has grown.
    steps: u32,
}

#[derive(Debug)]
pub(super) struct Request {
    pub octets: u64,
    pub missing: u32,
    pub latest: Instant,
    pub deadline: Instant,
    pub born: Instant,
    /// How often it was sent.
    pub transmissions: u32,
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
            let until_ps = now.ps().saturating_add(retransmit.wait_ps(self.steps));
            Instant::saturating_from_ps(until_ps).min(request.deadline)
        })
    }

    /// A request is over; whether its first transmission was answered.
    pub fn end(&mut self, is_first: bool) {
        if is_first || !self.retransmit.is_some_and(|retransmit| retransmit.keep) {
            self.steps = 0;
        }
    }

    /// The time is out after the last transmission.
    pub fn is_overdue(&mut self, now: Instant) -> Overdue {
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

impl Receiver {
    /// A receiver of a flow by its number there: its host, the address to which it answers, and
    /// the seed and the number of its streams.
    pub fn new(
        (flow_id, number): (FlowId, u16),
        (host, destination): (NodeId, AddressId),
        flow: &Flow,
        (seed, station): (u64, u32),
    ) -> Self {
        let stream = |purpose| Stream::new(seed, station, purpose);
        let answer = flow.response.as_ref().map(|Response { frames, think, .. }| {
            let streams = (stream(Purpose::Service), stream(Purpose::Length));
            (think.clone(), frames.clone(), streams.0, streams.1)
        });
        Self {
            flow: flow_id,
            number,
            host,
            gathering: Gathering::default(),
            last: None,
            seen: None,
            returning: Gathering::default(),
            answered: None,
            answer,
            thinks_until: Instant::ZERO,
            pending: VecDeque::new(),
            address: flow.response.as_ref().map_or(Address::Unicast, |it| it.address),
            destination,
        }
    }
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
