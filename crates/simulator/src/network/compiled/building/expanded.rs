//! A network with its shared media as hubs, to which their stations have half-duplex links: so paths,
//! ports and routes are those of any network.

use crate::medium::compiled::check_medium;
use crate::segment::group::check_contention;
use ethermeter_trial::medium::{Backoff, Mac, Medium, Stations};
use ethermeter_trial::nodes::{End, Hub, Kind, Link, Node};
use ethermeter_trial::{Fault, Trial};

/// Nodes and links of a trial, with a hub for each medium and a link for each station on it.
pub(super) struct Expanded {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    /// Medium and station of each link after those of the scenario.
    stations: Vec<(usize, usize)>,
}

impl Expanded {
    pub fn new(trial: &Trial) -> Result<Self, Fault> {
        let scenario = &trial.scenario;
        let mut expanded = Self {
            nodes: scenario.nodes.clone(),
            links: scenario.links.clone(),
            stations: Vec::new(),
        };
        for (number, medium) in scenario.media.iter().enumerate() {
            let path = format!("media[{number}]");
            if !matches!(medium.mac, Mac::CsmaCd(_) | Mac::Plca(_)) {
                let allowed = "must be csma_cd or plca in a network";
                return Err(
                    Fault::new(format!("{path}.mac"), allowed).got(crate::mac::name(&medium.mac))
                );
            }
            check_medium(medium, &path)?;
            expanded.nodes.push(Node {
                name: medium.name.clone(),
                count: 1,
                kind: Kind::Hub(Hub::default()),
            });
            for (station, stations) in medium.stations.iter().enumerate() {
                check_station(medium, stations, &format!("{path}.stations[{station}]"))?;
                expanded.links.push(link(medium, stations));
                expanded.stations.push((number, station));
            }
        }
        Ok(expanded)
    }

    /// Path of the key of a link, or of a station on a medium.
    pub fn key(&self, link: usize) -> String {
        self.station(link).unwrap_or_else(|| format!("links[{link}]"))
    }

    /// Path of the key of what it joins.
    pub fn ends_key(&self, link: usize) -> String {
        let of_station = self.station(link).map(|key| format!("{key}.node"));
        of_station.unwrap_or_else(|| format!("links[{link}].ends"))
    }

    fn station(&self, link: usize) -> Option<String> {
        let at = link.checked_sub(self.links.len() - self.stations.len())?;
        let (medium, station) = self.stations[at];
        Some(format!("media[{medium}].stations[{station}]"))
    }
}

/// A station of a network is a node, and nothing of its own clock or voice.
fn check_station(medium: &Medium, stations: &Stations, key: &str) -> Result<(), Fault> {
    if stations.points.len() != 1 {
        let allowed = "must be one point: each node of a network has its own entry";
        return Err(Fault::new(format!("{key}.points"), allowed).got(stations.points.len()));
    }
    if stations.clock_error_ppb != 0 || matches!(stations.backoff, Backoff::LoadRegister { .. }) {
        let allowed = "must be absent in a network: the clocks of its media are perfect";
        return Err(Fault::new(format!("{key}.clock_error_ppb"), allowed));
    }
    if matches!(stations.backoff, Backoff::Python { .. }) {
        let allowed = "must not be a function in Python in a network";
        return Err(Fault::new(format!("{key}.backoff"), allowed));
    }
    check_contention(stations, medium.delay_ps.len(), key)
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
