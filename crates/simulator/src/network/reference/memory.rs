//! Memory of ports in, and the PAUSE frames by which they ask for silence.

use super::{Charge, Engine, Event};
use crate::identity::{ChargeId, PortId};
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
        let memory = &mut self.memories[port];
        memory.used -= octets;
        let pause = self.compiled.ports[port].buffer.and_then(|buffer| buffer.pause);
        if memory.asked.is_some() && pause.is_some_and(|pause| memory.used <= pause.low_octets) {
            memory.asked = None;
            self.servers[port.wire()].urgent = Some(0);
            self.serve(now, port.wire());
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
