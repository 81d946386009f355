//! A host that talks: when it calls with the next packet of its voice, and with what.

use super::compiled::CompiledNetwork;
use crate::time::Instant;
use ethermeter_traffic::packets::{HostSamples, Packets, VoicePacket};
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Batches, Offer, Purpose, Stream, Window};
use ethermeter_trial::flows::Flow;

/// The voice of a flow.
#[derive(Debug)]
pub(super) struct Talker {
    packets: Packets,
    /// From a packet's being wanted to its call.
    service: Times,
    chance: Stream,
    end: Instant,
    /// Packets, by when their oldest sample was made.
    offered: Batches<u64>,
}

impl Talker {
    /// The voice of the flow with this number, if it has a coder.
    pub fn of(
        flow: &Flow,
        compiled: &CompiledNetwork,
        number: u32,
        window: Window,
    ) -> Option<Box<Self>> {
        let spec = flow.voice()?;
        Some(Box::new(Self {
            packets: Packets::new(
                spec,
                Stream::new(compiled.seed, number, Purpose::Arrival),
                window,
            ),
            service: flow.service.clone(),
            chance: Stream::new(compiled.seed, number, Purpose::Service),
            end: Instant::from_ps(compiled.phases.end_ps),
            offered: compiled.batches(),
        }))
    }

    /// The next packet, when the one before has left the host at `ended`; nothing if the coder
    /// stops before there is enough. What will be in it is not known yet.
    pub fn next(&mut self, ended: Instant) -> Option<Offer> {
        let wanted = self.packets.wanted_ps()?.max(ended.ps());
        let ready_ps = wanted.saturating_add(self.service.draw(&mut self.chance));
        Some(Offer { ready_ps, arrived_ps: ready_ps, bits: 0 })
    }

    /// The host calls.
    pub fn call(&mut self, now: Instant) -> VoicePacket {
        let packet = self.packets.call(now.ps());
        if let Some(offered) = self.offered.at(packet.oldest_ps) {
            *offered += 1;
        }
        packet
    }

    /// Packets offered within each part of the measured window, by their oldest sample. None is
    /// ever refused.
    pub fn offered(&self) -> Vec<u64> {
        self.offered.counted()
    }

    /// What became of the samples of the measured window at their host, when nothing more happens.
    pub fn finish(&self) -> HostSamples {
        self.packets.finish(self.end.ps())
    }
}
