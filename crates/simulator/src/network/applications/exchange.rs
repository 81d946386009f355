//! Requests that receivers answer: what is under way to each receiver, its answers, and what the
//! sender of a request does when they have come, or when the time is out.

use super::{Activity, Applications, Reaction, cut, ready_at};
use crate::identity::{AddressId, FlowId, NodeId, ReceiverId};
use crate::network::counters::Counters;
use crate::network::frame::Frame;
use crate::time::Instant;
use ethermeter_traffic::Stream;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Request {
    pub missing: u32,
    pub latest: Instant,
    pub deadline: Instant,
    pub born: Instant,
}

/// What is under way to one receiver, and what it answers.
#[derive(Debug)]
pub(super) struct Receiver {
    pub flow: FlowId,
    pub number: u16,
    pub host: NodeId,
    pub gathering: Gathering,
    pub last: Option<Instant>,
    /// The same of its answers, at the other end.
    pub returning: Gathering,
    pub answer: Option<(Times, Lengths, Stream, Stream)>,
    pub thinks_until: Instant,
    pub pending: VecDeque<u32>,
    pub destination: AddressId,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathering {
    pub message: u32,
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
            *self = Self { message: frame.message, ..Self::default() };
        }
        if self.message != frame.message || self.fragments != frame.fragment {
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
        let message = it.pending.pop_front().expect("an answer whose time has come");
        let (_, lengths, _, chance) = it.answer.as_mut().expect("a receiver that answers");
        let octets = lengths.draw(chance) / 8;
        let app = &self.flows[it.flow];
        let frame = Frame {
            flow: it.flow,
            from: it.host,
            to: Some(app.from),
            source: AddressId::from(it.host.number()),
            destination: Some(it.destination),
            octets: 0,
            message,
            fragments: 1,
            fragment: 0,
            answer: Some(it.number),
            broadcast: false,
            padding: 0,
            samples: 0,
            born: now,
        };
        cut(app.framing, octets, frame, &mut each);
    }

    /// The time is out for a message. When the next one comes.
    pub fn time_out(
        &mut self,
        flow: FlowId,
        message: u32,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Instant> {
        let app = &mut self.flows[flow];
        let Activity::Exchange { source, request, .. } = &mut app.activity else { return None };
        if request.is_none() || app.messages != message + 1 {
            return None;
        }
        *request = None;
        counters.timed_out(flow, now);
        app.next = source.next_in_batches(now.ps());
        app.next.map(ready_at)
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
        let Activity::Exchange { source, request: pending, .. } = &mut app.activity else {
            return Reaction::Nothing;
        };
        let Some(request) = pending else { return Reaction::Nothing };
        if app.messages != frame.message + 1 || now >= request.deadline {
            return Reaction::Nothing; // it comes too late
        }
        request.missing -= 1;
        request.latest = request.latest.max(now);
        counters.answer_came(frame.flow, request.born, now);
        if request.missing > 0 {
            return Reaction::Nothing;
        }
        let (born, latest) = (request.born, request.latest);
        counters.completed(frame.flow, born, latest);
        *pending = None;
        app.next = source.next_in_batches(latest.ps());
        app.next.map_or(Reaction::Nothing, |offer| Reaction::Next {
            flow: frame.flow,
            at: ready_at(offer),
        })
    }
}
