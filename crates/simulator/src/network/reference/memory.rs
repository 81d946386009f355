//! Memory of ports in, and how they ask for silence: by PAUSE frames, or by carrier on half-duplex
//! links.

use super::{Charge, Engine, Event};
use crate::identity::{ChargeId, PortId, StationId};
use crate::network::compiled::PAUSE_OCTETS;
use crate::time::{Instant, Span};

impl Engine<'_> {
    pub(super) fn charge(&mut self, charge: Charge) -> ChargeId {
        if let Some(id) = self.spare_charges.pop() {
            self.charges[id] = charge;
            return id;
        }
        self.charges.push(charge);
        ChargeId::new(self.charges.len() - 1)
    }

    pub(super) fn release(&mut self, now: Instant, charge: Option<ChargeId>) {
        let Some(id) = charge else { return };
        let charge = &mut self.charges[id];
        charge.copies -= 1;
        if charge.copies > 0 {
            return;
        }
        let Charge { port, octets, .. } = *charge;
        self.spare_charges.push(id);
        let memory = &mut self.memories[self.compiled.memory_of(port)];
        memory.used -= octets;
        let used = memory.used;
        let carrier = self.compiled.ports[port].buffer.and_then(|buffer| buffer.back_pressure);
        if carrier.is_some_and(|of| used <= of.low_octets) {
            self.hold_links(now, port, false);
        }
        let memory = &mut self.memories[port];
        let pause = self.compiled.ports[port].buffer.and_then(|buffer| buffer.pause);
        if memory.asked.is_some() && pause.is_some_and(|pause| memory.used <= pause.low_octets) {
            memory.asked = None;
            self.servers[port.wire()].urgent = Some(0);
            self.serve(now, port.wire());
        }
    }

    /// Keep the half-duplex links busy whose ports have the memory of this one, or no longer.
    pub(super) fn hold_links(&mut self, now: Instant, port: PortId, is_held: bool) {
        let compiled = self.compiled;
        let of = compiled.memory_of(port);
        if std::mem::replace(&mut self.memories[of].holds, is_held) == is_held {
            return;
        }
        let node = &compiled.nodes[compiled.ports[port].node];
        for &own in node.ports.iter().filter(|&&own| compiled.memory_of(own) == of) {
            let Some((number, station)) = compiled.segment_of[own] else { continue };
            let segment = &compiled.segments[number as usize];
            if !segment.is_of_links {
                continue;
            }
            for other in StationId::first(segment.stations() as usize) {
                if other != station {
                    self.media[number as usize].hold(now, other, is_held);
                }
            }
            self.look_at_medium(number as usize);
        }
    }

    /// Ask the peer for silence, now and again.
    pub(super) fn ask(&mut self, now: Instant, port: PortId) {
        let quanta = self.compiled.ports[port]
            .buffer
            .and_then(|b| b.pause)
            .expect("a port with PAUSE")
            .quanta;
        let memory = &mut self.memories[port];
        memory.times += 1;
        let asked = memory.times;
        memory.asked = Some(asked);
        self.schedule(now + self.silence(port, quanta) / 2, Event::AskAgain { port, asked });
        self.servers[port.wire()].urgent = Some(quanta);
        self.serve(now, port.wire());
    }

    /// A quantum is 512 bits (802.3-2022 § 31B.2).
    pub(super) fn silence(&self, port: PortId, quanta: u16) -> Span {
        self.compiled.timings[port.stage()].per_octet * (u64::from(quanta) * 64)
    }

    pub(super) fn send_pause(&mut self, now: Instant, port: PortId, quanta: u16) {
        let timing = self.compiled.timings[port.stage()];
        let octets = u32::try_from(PAUSE_OCTETS).expect("small");
        let end = now + timing.service(octets);
        self.counters.ports[port].pauses_sent += u64::from(self.counters.within(end));
        self.schedule(end + timing.gap, Event::Free { resource: port.wire() });
        self.schedule(end + timing.delay, Event::Pause { port: port.peer(), quanta });
    }

    pub(super) fn pause(&mut self, now: Instant, port: PortId, quanta: u16) {
        self.counters.ports[port].pauses_received += u64::from(self.counters.within(now));
        self.servers[port.wire()].paused_until = now + self.silence(port, quanta);
        self.serve(now, port.wire());
    }
}
