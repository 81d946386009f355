//! Shared media within a network: the bus of each, whose nodes are ports.

use super::super::{NONE, Segment, small};
use super::Builder;
use crate::mac::csma_cd::Retry;
use crate::medium::compiled::CompiledMedium;
use crate::plca::compiled::CompiledPlca;
use ethermeter_trial::Fault;
use ethermeter_trial::medium::{Mac, Stations};
use ethermeter_trial::nodes::Kind;

/// The shortest frame, 802.3-2022 § 3.2.7.
const LEAST_BITS: u64 = 512;

impl Builder<'_> {
    /// Media are named among nodes, and their stations are nodes.
    pub fn name_segments(&mut self) -> Result<(), Fault> {
        let nodes = self.trial.scenario.nodes.len();
        let media = &self.trial.scenario.media;
        for (number, medium) in media.iter().enumerate() {
            for (station, stations) in medium.stations.iter().enumerate() {
                let key = format!("media[{number}].stations[{station}].node");
                let node = self.node(&stations.node, &key)?;
                if matches!(self.config(node).kind, Kind::Hub(_)) {
                    let allowed = "must be a host, a switch or a router";
                    return Err(Fault::new(key, allowed).got(format!("{:?}", stations.node)));
                }
            }
        }
        for (number, medium) in media.iter().enumerate() {
            if self.names.insert(medium.name.as_str(), small(nodes + number)).is_some() {
                return Err(Fault::new(format!("media[{number}].name"), "must be unique")
                    .got(format!("{:?} again", medium.name)));
            }
        }
        Ok(())
    }

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
                _ if compiled.turnaround > 0 => {
                    let key = format!("{path}.mac.csma_cd.turnaround_ps");
                    return Err(Fault::new(key, "must be 0 in a network"));
                }
                _ => None,
            };
            let retry = |stations: &Stations| Retry {
                backoff: stations.backoff.clone(),
                attempt_limit: stations.attempt_limit,
                slot: compiled.slot,
            };
            self.compiled.segments.push(Segment {
                first_port: port,
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
}
