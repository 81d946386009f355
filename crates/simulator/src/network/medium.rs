//! Half-duplex ports: medium access event by event, as in [`crate::reference`], by the same
//! procedures (802.3-2022 § 4.2.8), with the constants of 10 and 100 Mb/s: slot 512 bits, jam 32
//! bits, 16 attempts, backoff over at most 2^10 slots, a gap whose first two thirds are watched.
//! What is sent in peace comes to all other ports of the domain.

use super::frame::Loss;
use super::plant::{Domain, NONE, SLOT_OCTETS};
use super::reference::{Copy, Engine, Event};
use ethermeter_traffic::Stream;

const ATTEMPT_LIMIT: u32 = 16;
const BACKOFF_LIMIT: u32 = 10;
const JAM_OCTETS: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deference {
    Silent,
    Busy,
    GapPart1,
    GapPart2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transmission {
    Idle,
    Waiting,
    Sending(usize),
}

/// Medium access of a port.
#[derive(Debug)]
pub(super) struct Mac {
    deference: Deference,
    transmission: Transmission,
    heard: u32,
    was_transmitting: bool,
    gap: u64,
    copy: u32,
    attempts: u32,
    chance: Stream,
}

impl Mac {
    pub fn new(chance: Stream) -> Self {
        Self {
            deference: Deference::Silent,
            transmission: Transmission::Idle,
            heard: 0,
            was_transmitting: false,
            gap: 0,
            copy: NONE,
            attempts: 0,
            chance,
        }
    }
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    port: u32,
    start: u64,
    end: u64,
    version: u32,
    collision: Option<u64>,
}

impl Engine<'_> {
    fn domain(&self, port: u32) -> (&Domain, usize) {
        let (domain, number) = self.plant.domain_of[port as usize];
        (&self.plant.domains[domain as usize], number as usize)
    }

    /// The other ports of the domain, and how much later each hears.
    fn others(&self, port: u32) -> Vec<(u32, u64)> {
        let (domain, number) = self.domain(port);
        let all = domain.members.iter().copied().zip(domain.delay[number].iter().copied());
        all.filter(|(other, _)| *other != port).collect()
    }

    /// A port takes up a frame.
    pub fn contend(&mut self, now: u64, port: u32, copy: u32) {
        let mac = &mut self.macs[port as usize];
        mac.copy = copy;
        mac.attempts = 0;
        // Not at once: what else happens in this instant is heard first by nobody, as between other
        // ports.
        self.schedule(now, Event::Ready { port });
    }

    pub fn handle_medium(&mut self, now: u64, event: Event) {
        match event {
            Event::Ready { port } => {
                self.macs[port as usize].transmission = Transmission::Waiting;
                if self.macs[port as usize].deference == Deference::Silent {
                    self.transmit(now, port);
                }
            }
            Event::GapOver { port, gap } => self.gap_over(now, port, gap),
            Event::CarrierOn { port } => self.carrier_on(now, port),
            Event::CarrierOff { port, sent, version } => {
                if self.sent[sent].version == version {
                    self.macs[port as usize].heard -= 1;
                    self.perhaps_silent(now, port);
                }
            }
            Event::SendOver { sent, version } => self.send_over(now, sent, version),
            other => unreachable!("no event of a medium: {other:?}"),
        }
    }

    fn transmit(&mut self, now: u64, port: u32) {
        let domain = self.domain(port).0;
        let octets = self.copies[self.macs[port as usize].copy as usize].frame.octets;
        let end = now + domain.preamble + u64::from(octets) * domain.octet;
        let id = self.sent.len();
        self.sent.push(Sent { port, start: now, end, version: 0, collision: None });
        let mac = &mut self.macs[port as usize];
        mac.transmission = Transmission::Sending(id);
        mac.deference = Deference::Busy;
        mac.was_transmitting = true;
        mac.attempts += 1;
        let ignored = mac.heard > 0;
        for (other, delay) in self.others(port) {
            self.schedule(now + delay, Event::CarrierOn { port: other });
        }
        self.schedule_end(id);
        if ignored {
            self.collide(now, id);
        }
    }

    fn schedule_end(&mut self, id: usize) {
        let Sent { port, end, version, .. } = self.sent[id];
        self.schedule(end, Event::SendOver { sent: id, version });
        for (other, delay) in self.others(port) {
            self.schedule(end + delay, Event::CarrierOff { port: other, sent: id, version });
        }
    }

    /// The sender hears another: it completes the preamble, then jams (§ 4.2.3.2.4).
    fn collide(&mut self, now: u64, id: usize) {
        let port = self.sent[id].port;
        let domain = self.domain(port).0;
        let (preamble, jam) = (domain.preamble, JAM_OCTETS * domain.octet);
        let sent = &mut self.sent[id];
        if sent.collision.is_none() && now < sent.end {
            sent.collision = Some(now);
            sent.end = now.max(sent.start + preamble) + jam;
            sent.version += 1;
            self.schedule_end(id);
        }
    }

    fn carrier_on(&mut self, now: u64, port: u32) {
        let mac = &mut self.macs[port as usize];
        mac.heard += 1;
        match mac.deference {
            Deference::Silent => {
                mac.deference = Deference::Busy;
                mac.was_transmitting = false;
            }
            Deference::GapPart1 if !mac.was_transmitting => mac.deference = Deference::Busy,
            Deference::GapPart1 | Deference::GapPart2 | Deference::Busy => {}
        }
        if let Transmission::Sending(id) = self.macs[port as usize].transmission {
            self.collide(now, id);
        }
    }

    fn perhaps_silent(&mut self, now: u64, port: u32) {
        let part1 = self.domain(port).0.gap / 3 * 2;
        let mac = &mut self.macs[port as usize];
        let sending = matches!(mac.transmission, Transmission::Sending(_));
        if mac.deference != Deference::Busy || mac.heard > 0 || sending {
            return;
        }
        mac.gap += 1;
        let gap = mac.gap;
        mac.deference = Deference::GapPart1;
        self.schedule(now + part1, Event::GapOver { port, gap });
    }

    fn gap_over(&mut self, now: u64, port: u32, gap: u64) {
        let whole = self.domain(port).0.gap;
        let mac = &mut self.macs[port as usize];
        if mac.gap != gap {
            return; // a gap that was broken off
        }
        match mac.deference {
            Deference::GapPart1 => {
                mac.deference = Deference::GapPart2;
                self.schedule(now + whole - whole / 3 * 2, Event::GapOver { port, gap });
            }
            Deference::GapPart2 if mac.transmission == Transmission::Waiting => {
                self.transmit(now, port);
            }
            Deference::GapPart2 if mac.heard > 0 => {
                mac.deference = Deference::Busy;
                mac.was_transmitting = false;
            }
            Deference::GapPart2 => mac.deference = Deference::Silent,
            Deference::Busy => {} // carrier came back in the first part
            Deference::Silent => unreachable!("a gap ends once"),
        }
    }

    fn send_over(&mut self, now: u64, id: usize, version: u32) {
        let Sent { port, start, version: current, collision, .. } = self.sent[id];
        if version != current {
            return;
        }
        let slot = SLOT_OCTETS * self.domain(port).0.octet;
        let mac = &mut self.macs[port as usize];
        mac.transmission = Transmission::Idle;
        let copy = mac.copy;
        if let Some(heard) = collision {
            let counted = u64::from(self.account.within(now));
            let figures = &mut self.account.ports[port as usize];
            figures.collisions += counted;
            figures.late_collisions += counted * u64::from(heard - start > slot);
            if mac.attempts < ATTEMPT_LIMIT {
                let wait = mac.chance.below(1 << mac.attempts.min(BACKOFF_LIMIT)) * slot;
                self.schedule(now + wait, Event::Ready { port });
            } else {
                self.depart(now, port, copy);
                self.copies[copy as usize].charge = NONE; // given back as it left
                self.lose(now, copy, Loss::Attempts);
            }
        } else {
            let octets = self.copies[copy as usize].frame.octets;
            self.account.port_sent(port, octets, start, now);
            self.depart(now, port, copy);
            self.spread(now, port, copy);
        }
        self.perhaps_silent(now, port);
    }

    /// The port has done with its frame.
    fn depart(&mut self, now: u64, port: u32, copy: u32) {
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
            return self.account.lost(&frame, Loss::Filtered);
        };
        self.account.copied(&frame, more as u64);
        for (other, delay) in others {
            let at = now + delay;
            let mut frame = frame;
            self.plant.copied_to(&mut frame, other);
            let id = self.copy(frame, route, at, at, NONE);
            self.schedule(at, Event::Reach { copy: id, port: other });
        }
    }
}
