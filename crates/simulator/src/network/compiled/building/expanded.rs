//! A network with its shared media as hubs, to which their stations have half-duplex links: so paths,
//! ports and routes are those of any network.

use crate::medium::compiled::check_medium;
use crate::segment::group::check_contention;
use ethermeter_trial::medium::{Medium, Stations};
use ethermeter_trial::nodes::{End, Hub, Kind, Link, Node};
use ethermeter_trial::{Fault, Trial};

/// Nodes and links of a trial, with a hub for each medium and a link for each station on it.
pub(super) struct Expanded {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
}

impl Expanded {
    pub fn new(trial: &Trial) -> Result<Self, Fault> {
        let scenario = &trial.scenario;
        let mut expanded = Self { nodes: scenario.nodes.clone(), links: scenario.links.clone() };
        for (number, medium) in scenario.media.iter().enumerate() {
            let path = format!("media[{number}]");
            check_medium(medium, &path)?;
            expanded.nodes.push(Node {
                name: medium.name.clone(),
                count: 1,
                kind: Kind::Hub(Hub::default()),
            });
            for (station, stations) in medium.stations.iter().enumerate() {
                let key = format!("{path}.stations[{station}]");
                check_contention(stations, medium.delay_ps.len(), &key)?;
                expanded.links.push(link(medium, stations));
            }
        }
        Ok(expanded)
    }
}

/// The link of a station. Preamble and gap are those of the medium in whole octets; they count
/// where a flow is shaped, and the medium itself has its own.
fn link(medium: &Medium, stations: &Stations) -> Link {
    let constants = crate::mac::constants(&medium.mac);
    let end = |node: &str| End { node: node.to_owned(), module: 0 };
    Link {
        ends: [end(&stations.node), end(&medium.name)],
        ps_per_octet: 8 * medium.bit_ps,
        delay_ps: 0,
        preamble_octets: constants.preamble_bits / 8,
        gap_octets: constants.gap_bits / 8,
        half_duplex: true,
    }
}
