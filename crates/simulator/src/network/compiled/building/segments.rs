//! Shared media within a network, whose stations are ports: segments, and half-duplex links with the
//! hubs between them.

use super::super::{NONE, Role, Segment, small};
use super::Builder;
use crate::mac::csma_cd::Retry;
use crate::medium::compiled::{CompiledMedium, signed};
use crate::plca::compiled::CompiledPlca;
use ethermeter_ethernet::timing::{HalfDuplexTiming, IEEE_10};
use ethermeter_trial::Fault;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff, Mac, Stations};
use ethermeter_trial::nodes::Kind;
use std::collections::BTreeMap;

/// The constants of half-duplex links, of which slot, jam and limits are those at 100 Mb/s, too.
const TIMING: HalfDuplexTiming = IEEE_10;

/// The shortest frame, 802.3-2022 § 3.2.7.
const LEAST_BITS: u64 = 512;

impl Builder<'_> {
    pub fn segments(&mut self) -> Result<(), Fault> {
        self.compiled.segment_of = vec![(NONE, NONE); self.compiled.ports.len()];
        let mut port = small(2 * self.trial.scenario.links.len());
        for (number, medium) in self.trial.scenario.media.iter().enumerate() {
            let path = format!("media[{number}]");
            for station in 0..small(medium.stations.len()) {
                self.compiled.segment_of[(port + 2 * station) as usize] = (small(number), station);
            }
            let compiled = CompiledMedium::new(medium, &path)?;
            let plca = match &medium.mac {
                Mac::Plca(plca) => Some(CompiledPlca::new(medium, plca, LEAST_BITS, &path)?),
                _ => None,
            };
            let retry = |stations: &Stations| Retry {
                backoff: stations.backoff.clone(),
                attempt_limit: stations.attempt_limit,
                slot: compiled.slot,
            };
            self.compiled.segments.push(Segment {
                ports: (0..small(medium.stations.len()))
                    .map(|station| port + 2 * station)
                    .collect(),
                is_of_links: false,
                retries: medium.stations.iter().map(retry).collect(),
                after_attempt_limit: medium
                    .stations
                    .iter()
                    .map(|s| s.after_attempt_limit)
                    .collect(),
                after_late_collision: medium
                    .stations
                    .iter()
                    .map(|s| s.after_late_collision)
                    .collect(),
                medium: compiled,
                plca,
            });
            port += 2 * small(medium.stations.len());
        }
        Ok(())
    }

    /// The half-duplex links that are one collision domain are a shared medium of the ports at their
    /// ends; those of hubs only repeat.
    pub fn half_duplex_links(&mut self) {
        for first in 0..small(self.compiled.ports.len()) {
            let port = self.compiled.ports[first as usize];
            if !port.half_duplex
                || self.compiled.segment_of[first as usize].0 != NONE
                || self.compiled.nodes[port.node as usize].role == Role::Hub
            {
                continue;
            }
            let heard = self.heard_from(first).into_iter().map(|(port, _)| port);
            let mut ports: Vec<u32> = heard.chain([first]).collect();
            ports.sort_unstable();
            let link = &self.links_of()[first as usize / 2];
            let number = small(self.compiled.segments.len());
            let mut delays = Vec::new();
            for (station, &port) in ports.iter().enumerate() {
                let heard: BTreeMap<u32, u64> = self.heard_from(port).into_iter().collect();
                let row = ports.iter().map(|port| heard.get(port).copied().unwrap_or(0));
                delays.extend(row.map(signed));
                self.compiled.segment_of[port as usize] = (number, small(station));
            }
            let (bit_ps, stations) = (link.ps_per_octet / 8, ports.len());
            let retry = Retry {
                backoff: Backoff::Exponential { limit: TIMING.backoff_limit },
                attempt_limit: TIMING.attempt_limit,
                slot: signed(TIMING.slot.0 * bit_ps),
            };
            let gap = signed(8 * link.gap_octets * bit_ps);
            self.compiled.segments.push(Segment {
                ports,
                is_of_links: true,
                retries: vec![retry; stations],
                after_attempt_limit: vec![AfterAttemptLimit::Discard; stations],
                after_late_collision: vec![AfterLateCollision::Backoff; stations],
                medium: CompiledMedium::of_links(delays, bit_ps, 8 * link.preamble_octets, gap),
                plca: None,
            });
        }
    }

    /// Who hears what `port` sends on its half-duplex link, and how much later.
    fn heard_from(&self, port: u32) -> Vec<(u32, u64)> {
        let mut found = Vec::new();
        let mut waiting = vec![(port, 0)];
        while let Some((port, before)) = waiting.pop() {
            let after = before + self.links_of()[port as usize / 2].delay_ps;
            let peer = port ^ 1;
            let node = self.compiled.ports[peer as usize].node;
            match &self.config(node).kind {
                Kind::Hub(hub) => waiting.extend(
                    self.compiled.nodes[node as usize]
                        .ports
                        .iter()
                        .filter(|p| **p != peer)
                        .map(|p| (*p, after + hub.delay_ps)),
                ),
                _ => found.push((peer, after)),
            }
        }
        found
    }
}
