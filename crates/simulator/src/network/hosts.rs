//! The hosts of a network as both engines run them: what applications do when their time has come,
//! and what follows for the engine to schedule.

use super::applications::{Applications, Message, Overdue, Reaction};
use super::compiled::CompiledNetwork;
use super::counters::Counters;
use super::frame::{Frame, Loss};
use crate::identity::{AddressId, FlowId, NodeId, ReceiverId, RouteId};
use crate::time::Instant;

/// What an engine has for its hosts, and how it schedules what they wait for.
pub(super) trait Hosts {
    /// The network, its applications, and what is counted.
    fn parts(&mut self) -> (&CompiledNetwork, &mut Applications, &mut Counters);

    /// The next message of a flow comes then.
    fn schedule_send(&mut self, flow: FlowId, at: Instant);

    /// A receiver answers then.
    fn schedule_answer(&mut self, receiver: ReceiverId, at: Instant);

    /// A sender waits until then for the answers to a message, or for those to its last
    /// transmission.
    fn schedule_time_out(&mut self, flow: FlowId, message: u32, at: Instant);

    /// A transfer or a comparison of clocks may wake at another time than before.
    fn schedule_wake(&mut self, flow: FlowId);

    /// A frame enters the first stage of its host's route.
    fn put_in(&mut self, now: Instant, route: RouteId, frame: Frame);

    /// Schedule the first messages of all flows, and the first wakes.
    fn begin(&mut self) {
        let (_, applications, _) = self.parts();
        let (flows, waking) = (applications.flow_count(), applications.waking_count());
        for flow in FlowId::first(flows as usize) {
            let next = self.parts().1.next(flow);
            self.proceed(flow, next);
        }
        for flow in FlowId::first(waking as usize) {
            self.schedule_wake(flow);
        }
    }

    /// The next message of a flow comes then, if there is one.
    #[inline]
    fn proceed(&mut self, flow: FlowId, next: Option<Instant>) {
        if let Some(at) = next {
            self.schedule_send(flow, at);
        }
    }

    /// The time of a flow's message has come.
    #[inline]
    fn send(&mut self, now: Instant, flow: FlowId) {
        let (compiled, applications, _) = self.parts();
        let route = compiled.send_route(applications.sender(flow));
        let message = applications.send(flow, now);
        self.proceed(flow, message.next);
        if let Some(until) = message.until {
            self.schedule_time_out(flow, message.frame.message, until);
        }
        if message.is_frame {
            self.put_in(now, route, message.frame);
        } else {
            self.put_in_frames(now, route, &message);
        }
    }

    /// The frames of a message enter the first stage of their host's route.
    #[inline(never)]
    fn put_in_frames(&mut self, now: Instant, route: RouteId, message: &Message) {
        // As a rule there is one: the first needs no list.
        let mut first = None;
        let mut more = Vec::new();
        message.cut(|frame| match first {
            None => first = Some(frame),
            Some(_) => more.push(frame),
        });
        for frame in first.into_iter().chain(more) {
            self.put_in(now, route, frame);
        }
    }

    /// The time of a receiver's answer has come.
    fn answer(&mut self, now: Instant, receiver: ReceiverId) {
        let mut frames = Vec::new();
        let (compiled, applications, _) = self.parts();
        let route = compiled.send_route(applications.host_of(receiver));
        applications.answer(receiver, now, |frame| frames.push(frame));
        for frame in frames {
            self.put_in(now, route, frame);
        }
    }

    /// The time is out for the answers to a message.
    fn time_out(&mut self, now: Instant, flow: FlowId, message: u32) {
        let (compiled, applications, counters) = self.parts();
        match applications.time_out(flow, message, now, counters) {
            Overdue::Nothing => {}
            Overdue::Next(next) => self.proceed(flow, next),
            Overdue::Again(at) => {
                let mut frames = Vec::new();
                let route = compiled.send_route(applications.sender(flow));
                applications.send_again(flow, |frame| frames.push(frame));
                self.schedule_time_out(flow, message, at);
                for frame in frames {
                    self.put_in(now, route, frame);
                }
            }
        }
    }

    /// A broadcast frame has come to a host that sends it again.
    fn rebroadcast(&mut self, now: Instant, frame: &Frame, host: NodeId) {
        let (compiled, applications, counters) = self.parts();
        let node = &compiled.nodes[host];
        let Some(rebroadcast) = node.rebroadcast.filter(|_| frame.broadcast) else { return };
        if rebroadcast.hops.is_some_and(|hops| frame.hops >= hops) {
            return;
        }
        let route = compiled.send_route(host);
        let copy = Frame {
            from: host,
            source: AddressId::from(host.number()),
            hops: frame.hops.saturating_add(1),
            ..*frame
        };
        if !applications.waits_again(host, node.ring) {
            counters.sent(&copy);
            return counters.lost(&copy, Loss::Queue);
        }
        if copy.fragment + 1 == copy.fragments {
            counters.resent(copy.flow, now);
        }
        self.put_in(now, route, copy);
    }

    /// A transfer or a comparison of clocks does what is due.
    fn wake(&mut self, now: Instant, flow: FlowId) {
        let (_, applications, counters) = self.parts();
        applications.wake(flow, now, counters);
        self.transfer(now, flow);
    }

    /// Send what a transfer, or a comparison of clocks, has to send.
    #[cold]
    fn transfer(&mut self, now: Instant, flow: FlowId) {
        loop {
            let (compiled, applications, _) = self.parts();
            let Some((host, frame)) = applications.take_frame(flow, now) else { break };
            let route = compiled.send_route(host);
            self.put_in(now, route, frame);
        }
        self.schedule_wake(flow);
    }

    /// A frame passes a stage `hop` of a route and is over there at `end`; the stage is free at
    /// `free`. Its application hears of the first and the last stage of its host.
    #[inline]
    fn pass(&mut self, frame: &Frame, (route, hop): (RouteId, u32), end: Instant, free: Instant) {
        let compiled = self.parts().0;
        if Some(route) == compiled.nodes[frame.from].send {
            let route = compiled.routes[route];
            let (is_first, is_last) = (hop == route.first, hop + 1 == route.after);
            self.leave(frame, is_first.then_some(free), is_last.then_some(end));
        }
    }

    /// A frame leaves the first stage of the host that sends it, which is free then, or the last
    /// one, or an only one.
    #[inline]
    fn leave(&mut self, frame: &Frame, free: Option<Instant>, end: Option<Instant>) {
        if free.is_some() || end.is_some() {
            let next = self.parts().1.left(frame, free, end);
            self.proceed(frame.flow, next);
        }
    }

    /// A frame comes to the application of a host.
    #[inline]
    fn deliver(&mut self, now: Instant, frame: &Frame, host: NodeId) {
        let (_, applications, counters) = self.parts();
        counters.trace(frame, host, now);
        match applications.deliver(frame, host, now, counters) {
            Reaction::Nothing => {}
            Reaction::Answer { receiver, at } => self.schedule_answer(receiver, at),
            Reaction::Next { flow, at } => self.schedule_send(flow, at),
            Reaction::Transfer => self.transfer(now, frame.flow),
        }
    }
}
