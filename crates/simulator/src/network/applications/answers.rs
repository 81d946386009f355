//! Answers to requests, and what the sender of a request does when they have come, or when the time
//! is out.

use super::exchange::Overdue;
use super::{Activity, Applications, Reaction, cut, ready_at};
use crate::identity::{AddressId, FlowId, ReceiverId};
use crate::network::counters::Counters;
use crate::network::frame::Frame;
use crate::time::Instant;
use ethermeter_trial::flows::Address;

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
