//! A host that talks: when it calls with the next packet of its voice, and with what.

use super::plant::Plant;
use super::scenario::Flow;
use ethermeter_traffic::packets::{HostSamples, Packets, VoicePacket};
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Offer, Purpose, Stream, Window};

/// The voice of a flow.
#[derive(Debug)]
pub(super) struct Talker {
    packets: Packets,
    /// From a packet's being wanted to its call.
    service: Times,
    chance: Stream,
    window: Window,
    end: u64,
    /// Packets whose oldest sample was made within the measured window.
    offered: u64,
}

impl Talker {
    /// The voice of the flow with this number, if it has a coder.
    pub fn of(flow: &Flow, plant: &Plant, number: u32, window: Window) -> Option<Box<Self>> {
        let spec = flow.voice()?;
        Some(Box::new(Self {
            packets: Packets::new(spec, Stream::new(plant.seed, number, Purpose::Arrival), window),
            service: flow.service.clone(),
            chance: Stream::new(plant.seed, number, Purpose::Service),
            window,
            end: plant.phases.end_ps,
            offered: 0,
        }))
    }

    /// The next packet, when the one before has left the host at `ended`; nothing if the coder stops before there is enough. What will be in it is not known yet.
    pub fn next(&mut self, ended: u64) -> Option<Offer> {
        let wanted = self.packets.wanted_ps()?.max(ended);
        let ready_ps = wanted.saturating_add(self.service.draw(&mut self.chance));
        Some(Offer { ready_ps, arrived_ps: ready_ps, bits: 0 })
    }

    /// The host calls.
    pub fn call(&mut self, now: u64) -> VoicePacket {
        let packet = self.packets.call(now);
        let window = self.window.measure_from_ps..self.window.measure_to_ps;
        self.offered += u64::from(window.contains(&packet.oldest_ps));
        packet
    }

    /// Packets offered within the measured window, by their oldest sample. None is ever refused.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// What became of the samples of the measured window at their host, when nothing more happens.
    pub fn finish(&self) -> HostSamples {
        self.packets.finish(self.end)
    }
}
