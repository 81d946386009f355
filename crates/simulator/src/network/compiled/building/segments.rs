//! Shared media within a network, whose stations are ports: segments, and half-duplex links with the
//! hubs between them.

use super::super::{Role, Segment, small};
use super::Builder;
use crate::identity::{PortId, StationId};
use crate::mac::backoff::{Retries, Retry};
use crate::mac::transmitter::Transmitter;
use crate::medium::compiled::CompiledMedium;
use crate::plca::compiled::CompiledPlca;
use crate::plca::schedule::Schedule;
use crate::time::Span;
use ethermeter_ethernet::timing::{HalfDuplexTiming, IEEE_10};
use ethermeter_ethernet::units::Octets;
use ethermeter_trial::Fault;
use ethermeter_trial::flows::Flow;
use ethermeter_trial::medium::{Backoff, Mac, Stations};
use ethermeter_trial::nodes::Kind;
use std::collections::BTreeMap;

/// The constants of half-duplex links, of which slot, jam and limits are those at 100 Mb/s, too.
const TIMING: HalfDuplexTiming = IEEE_10;

/// The shortest frame, 802.3-2022 § 3.2.7.
const LEAST_BITS: u64 = 512;

/// More than headers and tags of a frame have, and than a frame of clocks.
const HEADERS: Octets = Octets(256);

impl Builder<'_> {
    pub fn segments(&mut self) -> Result<(), Fault> {
        self.compiled.segment_of = vec![None; self.compiled.ports.len()];
        let (mut port, mut first_draw) = (small(2 * self.trial.scenario.links.len()), 0);
        for (number, medium) in self.trial.scenario.media.iter().enumerate() {
            let path = format!("media[{number}]");
            for station in StationId::first(medium.stations.len()) {
                let of_station = port as usize + 2 * station.index();
                self.compiled.segment_of[of_station] = Some((small(number), station));
            }
            let compiled = CompiledMedium::new(medium, &path)?;
            let plca = match &medium.mac {
                Mac::Plca(plca) => Some(CompiledPlca::new(medium, plca, LEAST_BITS, &path)?),
                _ => None,
            };
            let ports: Vec<PortId> = (0..small(medium.stations.len()))
                .map(|station| PortId::from(port + 2 * station))
                .collect();
            let transmitter = |(station, stations): (StationId, &Stations)| {
                let draws = (self.compiled.seed, first_draw + station.number());
                Transmitter::new(
                    station,
                    stations,
                    Retries::new(stations, compiled.slot, draws, None),
                )
            };
            let transmitters =
                StationId::first(ports.len()).zip(&medium.stations).map(transmitter).collect();
            let schedule =
                plca.as_ref().and_then(|plca| self.schedule(&compiled, plca, &medium.stations));
            self.compiled.segments.push(Segment {
                ports,
                first_draw,
                is_of_links: false,
                transmitters,
                medium: compiled,
                plca,
                schedule,
            });
            port += 2 * small(medium.stations.len());
            first_draw += small(medium.stations.len());
        }
        Ok(())
    }

    /// The cycles of a bus, if its nodes send one frame an opportunity, whole, and none gives a frame
    /// up in the cycle in which it comes.
    fn schedule(
        &self,
        medium: &CompiledMedium,
        plca: &CompiledPlca,
        stations: &[Stations],
    ) -> Option<Schedule> {
        let of_flow = |flow: &Flow| {
            let response = flow.response.as_ref().map_or(0, |of| of.frames.range_bits().1);
            let transfer =
                flow.transfer.as_ref().map_or(Octets(0), |it| Octets(it.longest_frame()));
            flow.frames.range_bits().1.max(response).max(transfer.bits().0)
        };
        let longest = self.trial.scenario.flows.iter().map(of_flow).max().unwrap_or(0);
        let most = longest + HEADERS.bits().0;
        let schedule = Schedule::on(medium, plca, |_| (LEAST_BITS, most))?;
        let is_whole = plca.beacon_loss <= 0.0
            && medium.phy.bit_error_rate <= 0.0
            && schedule.burst_counts.iter().all(|&count| count == 0);
        let tries_again = |(stations, ids): (&Stations, &Vec<usize>)| {
            stations.attempt_limit as usize > ids.len() + 1
        };
        let is_patient = stations.iter().zip(&schedule.ids).all(tries_again);
        (is_whole && is_patient).then_some(schedule)
    }

    /// The half-duplex links that are one collision domain are a shared medium of the ports at their
    /// ends; those of hubs only repeat.
    pub fn half_duplex_links(&mut self) {
        for first in PortId::first(self.compiled.ports.len()) {
            let port = self.compiled.ports[first];
            if !port.half_duplex
                || self.compiled.segment_of[first].is_some()
                || self.compiled.nodes[port.node].role == Role::Hub
            {
                continue;
            }
            let heard = self.heard_from(first).into_iter().map(|(port, _)| port);
            let mut ports: Vec<PortId> = heard.chain([first]).collect();
            ports.sort_unstable();
            let link = &self.links_of()[first.link()];
            let number = small(self.compiled.segments.len());
            let mut delays = Vec::new();
            for (station, &port) in ports.iter().enumerate() {
                let heard: BTreeMap<PortId, u64> = self.heard_from(port).into_iter().collect();
                let row = ports.iter().map(|port| heard.get(port).copied().unwrap_or(0));
                delays.extend(row.map(Span::from_ps));
                self.compiled.segment_of[port] = Some((number, StationId::new(station)));
            }
            let bit = Span::from_ps(link.ps_per_octet / 8);
            let retry = Retry {
                backoff: Backoff::Exponential { limit: TIMING.backoff_limit },
                attempt_limit: TIMING.attempt_limit,
                slot: bit * TIMING.slot,
            };
            let transmitter = |(station, &port): (StationId, &PortId)| {
                Transmitter::standard(
                    station,
                    Retries::drawn(retry.clone(), self.compiled.draws(port)),
                )
            };
            let transmitters = StationId::first(ports.len()).zip(&ports).map(transmitter).collect();
            let gap = bit * Octets(link.gap_octets).bits();
            let preamble = Octets(link.preamble_octets).bits();
            self.compiled.segments.push(Segment {
                first_draw: self.compiled.draws(ports[0]).1,
                ports,
                is_of_links: true,
                transmitters,
                medium: CompiledMedium::of_links(delays, bit, preamble, gap),
                plca: None,
                schedule: None,
            });
        }
    }

    /// Who hears what `port` sends on its half-duplex link, and how much later.
    fn heard_from(&self, port: PortId) -> Vec<(PortId, u64)> {
        let mut found = Vec::new();
        let mut waiting = vec![(port, 0)];
        while let Some((port, before)) = waiting.pop() {
            let after = before + self.links_of()[port.link()].delay_ps;
            let peer = port.peer();
            let node = self.compiled.ports[peer].node;
            match &self.config(node).kind {
                Kind::Hub(hub) => waiting.extend(
                    self.compiled.nodes[node]
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
