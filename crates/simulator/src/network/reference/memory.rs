//! Memory of ports in, and the PAUSE frames by which they ask for silence.

use super::{Charge, Engine, Event};
use crate::network::compiled::{NONE, PAUSE_OCTETS};

impl Engine<'_> {
    pub(super) fn charge(&mut self, charge: Charge) -> u32 {
        if let Some(id) = self.spare_charges.pop() {
            self.charges[id as usize] = charge;
            return id;
        }
        self.charges.push(charge);
        u32::try_from(self.charges.len() - 1).expect("memory would be full before")
    }

    pub(super) fn release(&mut self, now: u64, id: u32) {
        if id == NONE {
            return;
        }
        let charge = &mut self.charges[id as usize];
        charge.copies -= 1;
        if charge.copies > 0 {
            return;
        }
        let Charge { port, octets, .. } = *charge;
        self.spare_charges.push(id);
        let memory = &mut self.memories[port as usize];
        memory.used -= octets;
        let pause = self.compiled.ports[port as usize].buffer.and_then(|buffer| buffer.pause);
        if memory.asked.is_some() && pause.is_some_and(|pause| memory.used <= pause.low_octets) {
            memory.asked = None;
            self.servers[port as usize].urgent = Some(0);
            self.serve(now, port);
        }
    }

    /// Ask the peer for silence, now and again.
    pub(super) fn ask(&mut self, now: u64, port: u32) {
        let quanta = self.compiled.ports[port as usize]
            .buffer
            .and_then(|b| b.pause)
            .expect("a port with PAUSE")
            .quanta;
        let memory = &mut self.memories[port as usize];
        memory.times += 1;
        let asked = memory.times;
        memory.asked = Some(asked);
        self.schedule(now + self.silence(port, quanta) / 2, Event::AskAgain { port, asked });
        self.servers[port as usize].urgent = Some(quanta);
        self.serve(now, port);
    }

    /// A quantum is 512 bits (802.3-2022 § 31B.2).
    pub(super) fn silence(&self, port: u32, quanta: u16) -> u64 {
        u64::from(quanta) * 64 * self.compiled.timings[port as usize].per_octet
    }

    pub(super) fn send_pause(&mut self, now: u64, port: u32, quanta: u16) {
        let timing = self.compiled.timings[port as usize];
        let octets = u32::try_from(PAUSE_OCTETS).expect("small");
        let end = now + timing.service(octets);
        self.counters.ports[port as usize].pauses_sent += u64::from(self.counters.within(end));
        self.schedule(end + timing.gap, Event::Free { resource: port });
        self.schedule(end + timing.delay, Event::Pause { port: port ^ 1, quanta });
    }

    pub(super) fn pause(&mut self, now: u64, port: u32, quanta: u16) {
        self.counters.ports[port as usize].pauses_received += u64::from(self.counters.within(now));
        self.servers[port as usize].paused_until = now + self.silence(port, quanta);
        self.serve(now, port);
    }
}
