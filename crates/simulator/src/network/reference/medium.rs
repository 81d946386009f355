//! Half-duplex ports: each is a `csma_cd` machine, with the constants of 802.3 at 10 and 100 Mb/s
//! from `ethernet`. A frame sent without collision comes to all other ports of the domain.

use super::{Copy, Engine, Event};
use crate::mac::access::{Access, Next};
use crate::mac::csma_cd::{Retry, Sent};
use crate::network::compiled::{Domain, NONE, SLOT_OCTETS, TIMING};
use crate::network::frame::Loss;
use ethermeter_trial::medium::Backoff;

const BACKOFF: Backoff = Backoff::Exponential { limit: TIMING.backoff_limit };

impl Engine<'_> {
    fn domain(&self, port: u32) -> (&Domain, usize) {
        let (domain, number) = self.compiled.domain_of[port as usize];
        (&self.compiled.domains[domain as usize], number as usize)
    }

    /// The other ports of the domain, and how much later each hears.
    fn others(&self, port: u32) -> Vec<(u32, u64)> {
        let (domain, number) = self.domain(port);
        let all = domain.members.iter().copied().zip(domain.delay[number].iter().copied());
        all.filter(|(other, _)| *other != port).collect()
    }

    /// A port takes up a frame.
    pub fn contend(&mut self, now: u64, port: u32, copy: u32) {
        let contender = &mut self.contenders[port as usize];
        contender.copy = copy;
        contender.attempts = 0;
        // Not at once: what else happens in this instant is heard first by no station, as between
        // other ports.
        self.schedule(now, Event::Ready { port });
    }

    pub(super) fn handle_medium(&mut self, now: u64, event: Event) {
        match event {
            Event::Ready { port } => {
                let next = self.contenders[port as usize].mac.ready();
                self.follow(now, port, next);
            }
            Event::TimerOver { port, number } => {
                let next = self.contenders[port as usize].mac.timer_over(number);
                self.follow(now, port, next);
            }
            Event::CarrierOn { port } => {
                if let Some(own) = self.contenders[port as usize].mac.carrier_on() {
                    self.collide(now, own);
                }
            }
            Event::CarrierOff { port, sent, version } => {
                if self.sent[sent].version == version {
                    let next = self.contenders[port as usize].mac.carrier_off();
                    self.follow(now, port, next);
                }
            }
            Event::SendOver { sent, version } => self.send_over(now, sent, version),
            other => unreachable!("no event of a medium: {other:?}"),
        }
    }

    fn follow(&mut self, now: u64, port: u32, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Timer { number, after } => {
                self.schedule(now + after.cast_unsigned(), Event::TimerOver { port, number });
            }
            Next::Start => self.transmit(now, port),
        }
    }

    fn transmit(&mut self, now: u64, port: u32) {
        let domain = self.domain(port).0;
        let octets = self.copies[self.contenders[port as usize].copy as usize].frame.octets;
        let end = now + domain.preamble + u64::from(octets) * domain.octet;
        let id = self.sent.len();
        self.sent.push(Sent::new(port, now.cast_signed(), end.cast_signed()));
        let contender = &mut self.contenders[port as usize];
        contender.attempts += 1;
        let hears_carrier = contender.mac.send(id);
        for (other, delay) in self.others(port) {
            self.schedule(now + delay, Event::CarrierOn { port: other });
        }
        self.schedule_end(id);
        if hears_carrier {
            self.collide(now, id);
        }
    }

    fn schedule_end(&mut self, id: usize) {
        let Sent { sender, end, version, .. } = self.sent[id];
        let end = end.cast_unsigned();
        self.schedule(end, Event::SendOver { sent: id, version });
        for (other, delay) in self.others(sender) {
            self.schedule(end + delay, Event::CarrierOff { port: other, sent: id, version });
        }
    }

    fn collide(&mut self, now: u64, id: usize) {
        let domain = self.domain(self.sent[id].sender).0;
        let (preamble, jam) = (domain.preamble, TIMING.jam.0 / 8 * domain.octet);
        if self.sent[id].collide(now.cast_signed(), preamble.cast_signed(), jam.cast_signed()) {
            self.schedule_end(id);
        }
    }

    fn send_over(&mut self, now: u64, id: usize, version: u32) {
        let sent = self.sent[id];
        if version != sent.version {
            return;
        }
        let port = sent.sender;
        let slot = (SLOT_OCTETS * self.domain(port).0.octet).cast_signed();
        let contender = &mut self.contenders[port as usize];
        let copy = contender.copy;
        if let Some(heard) = sent.collision {
            let counted = u64::from(self.counters.within(now));
            let figures = &mut self.counters.ports[port as usize];
            figures.collisions += counted;
            figures.late_collisions += counted * u64::from(sent.is_late(heard, slot));
            let retry = Retry { backoff: BACKOFF, attempt_limit: TIMING.attempt_limit, slot };
            if retry.is_allowed(contender.attempts) {
                let wait = retry.wait(contender.attempts, &mut contender.chance);
                self.schedule(now + wait.cast_unsigned(), Event::Ready { port });
            } else {
                self.give_up(now, port);
            }
        } else {
            let octets = self.copies[copy as usize].frame.octets;
            self.counters.port_sent(port, octets, sent.start.cast_unsigned(), now);
            self.depart(now, port, copy);
            self.spread(now, port, copy);
        }
        let next = self.contenders[port as usize].mac.send_over();
        self.follow(now, port, next);
    }

    /// The port gives up its frame.
    pub(super) fn give_up(&mut self, now: u64, port: u32) {
        let copy = self.contenders[port as usize].copy;
        self.depart(now, port, copy);
        self.copies[copy as usize].charge = NONE; // given back as it left
        self.lose(now, copy, Loss::Attempts);
    }

    /// The port has done with its frame.
    pub(super) fn depart(&mut self, now: u64, port: u32, copy: u32) {
        let it = self.copies[copy as usize];
        self.on_host_route(&it, now, now);
        self.leave_medium(now, port);
        self.schedule(now, Event::Free { resource: port });
    }

    /// What was sent comes to all others.
    fn spread(&mut self, now: u64, port: u32, copy: u32) {
        let Copy { frame, route, .. } = self.copies[copy as usize];
        self.end(copy);
        let others = self.others(port);
        let Some(more) = others.len().checked_sub(1) else {
            return self.counters.lost(&frame, Loss::Filtered);
        };
        self.counters.copied(&frame, more as u64);
        for (other, delay) in others {
            let at = now + delay;
            let mut frame = frame;
            self.compiled.copied_to(&mut frame, other);
            let id = self.copy(frame, route, at, at, NONE);
            self.schedule(at, Event::Reach { copy: id, port: other });
        }
    }
}
