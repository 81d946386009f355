//! Networks: what joins what, and what nodes, links and flows contradict of each other.

use super::domains;
use crate::fault::Faults;
use crate::flows::{Address, Flow};
use crate::medium::{Backoff, Mac, Medium, Stations};
use crate::nodes::{Buffer, Class, Kind, Link, Node};
use crate::scenario::Scenario;
use ethermeter_traffic::classes::faults_of_classes;
use ethermeter_traffic::lengths::Lengths;
use std::collections::BTreeMap;

const MOST_NODES: i128 = 1000;
const MOST_FLOWS: i128 = 20_000;
/// A PAUSE frame (802.3-2022 annex 31B).
const PAUSE_OCTETS: u64 = 64;
/// Picoseconds in a second.
const SECOND_PS: u128 = 1_000_000_000_000;

/// Add the faults of a network; `is_in_range` says whether each number is.
pub(super) fn check(scenario: &Scenario, is_in_range: bool, faults: &mut Faults) {
    for (index, node) in scenario.nodes.iter().enumerate() {
        if node.count != 1 {
            let key = format!("nodes[{index}].count");
            faults.add_value(&key, node.count, "must be 1 in a network");
        }
    }
    faults.range("nodes", count(scenario.nodes.len()), 1, MOST_NODES);
    faults.range("flows", count(scenario.flows.len()), 1, MOST_FLOWS);
    for (number, medium) in scenario.media.iter().enumerate() {
        faults.within("media", |faults| {
            faults.within(number, |faults| check_medium(medium, faults));
        });
    }
    let mut wires = Wires::new(scenario);
    let is_named = wires.name(faults);
    if is_named && is_in_range {
        wires.check_classes(faults);
    }
    let is_joined = is_named && wires.join(faults);
    for (index, node) in scenario.nodes.iter().enumerate() {
        faults.within("nodes", |faults| {
            faults.within(index, |faults| {
                faults.within("kind", |faults| check_node(&node.kind, faults));
            });
        });
    }
    let mut are_sound = true;
    for (index, flow) in scenario.flows.iter().enumerate() {
        faults.within("flows", |faults| {
            are_sound &= faults.within(index, |faults| wires.check_flow(flow, is_in_range, faults));
        });
    }
    if is_in_range && is_joined {
        domains::check(scenario, faults);
        if are_sound {
            wires.check_pauses(faults);
            wires.check_back_pressures(faults);
        }
    }
}

fn count(length: usize) -> u64 {
    length as u64
}

/// A medium of a network, where every station is a node of its own.
fn check_medium(medium: &Medium, faults: &mut Faults) {
    if medium.mac.csma_cd().is_none() {
        faults.add("mac", "must be csma_cd or plca in a network");
    }
    if let Mac::CsmaCd(constants) = medium.mac
        && constants.turnaround_ps > 0
    {
        faults.add("mac.csma_cd.turnaround_ps", "must be 0 in a network");
    }
    for (number, stations) in medium.stations.iter().enumerate() {
        faults.within("stations", |faults| {
            faults.within(number, |faults| {
                check_stations(stations, medium.delay_ps.len(), faults);
                let has_plca = matches!(medium.mac, Mac::Plca(_));
                if stations.plca.is_some() && !has_plca {
                    faults.add("plca", "must not be given on a medium without PLCA");
                }
            });
        });
    }
}

fn check_stations(stations: &Stations, points: usize, faults: &mut Faults) {
    if stations.points.len() != 1 {
        let allowed = "must be one point: each node of a network has its own entry";
        faults.add_value("points", stations.points.len(), allowed);
    }
    if let Some(point) = stations.points.iter().find(|&&point| point as usize >= points) {
        faults.add_value("points", point, format!("must be below {points}"));
    }
    if stations.clock_error_ppb != 0 {
        let allowed = "must be absent in a network: the clocks of its media are perfect";
        faults.add("clock_error_ppb", allowed);
    }
    match stations.backoff {
        Backoff::Python { .. } => {
            faults.add("backoff", "must not be a function in Python in a network");
        }
        Backoff::LoadRegister { .. } => {
            let allowed = "must not be a load register in a network, whose media have no clocks";
            faults.add("backoff", allowed);
        }
        _ => {}
    }
}

/// What the settings of one node contradict.
fn check_node(kind: &Kind, faults: &mut Faults) {
    match kind {
        Kind::Host(host) => {
            for (index, stage) in host.send.iter().enumerate() {
                if stage.queue_frames.is_some() {
                    let key = format!("host.send[{index}].queue_frames");
                    let allowed =
                        "must not be given: an application waits for room in its host's ring";
                    faults.add(&key, allowed);
                }
            }
        }
        Kind::Switch(switch) => {
            if switch.ingress.as_ref().is_some_and(|stage| stage.resource.is_some()) {
                let allowed = "must not be given: each port has its own";
                faults.add("switch.ingress.resource", allowed);
            }
        }
        Kind::Router(_) | Kind::Hub(_) => {}
    }
    faults.within(name_of(kind), |faults| {
        faults.within("classes", |faults| check_classes(classes_of(kind), faults));
    });
}

fn check_classes(classes: &[Class], faults: &mut Faults) {
    for fault in faults_of_classes(classes) {
        let key = fault.class.map_or(String::new(), |at| format!("[{at}].{}", fault.key));
        faults.add_found(&key, fault.value, fault.allowed);
    }
}

/// The links of a network and those of the stations of its media, which are joined to a hub.
struct Wires<'s> {
    scenario: &'s Scenario,
    /// Nodes, then media, by name.
    names: BTreeMap<&'s str, usize>,
    /// Both ends of each link, then of each station.
    ends: Vec<[usize; 2]>,
    /// A number for each node and medium, common to those that links join.
    set: Vec<usize>,
}

impl<'s> Wires<'s> {
    fn new(scenario: &'s Scenario) -> Self {
        let nodes = scenario.nodes.iter().map(|node| node.name.as_str());
        let media = scenario.media.iter().map(|medium| medium.name.as_str());
        let names: BTreeMap<&str, usize> = nodes.chain(media).zip(0..).collect();
        let set = (0..scenario.nodes.len() + scenario.media.len()).collect();
        Self { scenario, names, ends: Vec::new(), set }
    }

    fn node(&self, index: usize) -> Option<&'s Node> {
        self.scenario.nodes.get(index)
    }

    /// Find both ends of each link. Whether all have names of nodes.
    fn name(&mut self, faults: &mut Faults) -> bool {
        let before = faults.count();
        let nodes = self.scenario.nodes.len();
        for (index, link) in self.scenario.links.iter().enumerate() {
            let ends = [0, 1].map(|side| {
                let name = &link.ends[side].node;
                let known = self.names.get(name.as_str()).copied().filter(|end| *end < nodes);
                if known.is_none() {
                    let key = format!("links[{index}].ends[{side}].node");
                    faults.add_value(&key, format!("{name:?}"), "must be the name of a node");
                }
                known.unwrap_or(0)
            });
            self.ends.push(ends);
        }
        for (number, medium) in self.scenario.media.iter().enumerate() {
            for (station, stations) in medium.stations.iter().enumerate() {
                let name = stations.node.as_str();
                let known = self.names.get(name).copied().filter(|end| *end < nodes);
                let is_hub = known.is_some_and(|end| self.is_hub(end));
                if known.is_none() || is_hub {
                    let key = format!("media[{number}].stations[{station}].node");
                    let allowed = if is_hub {
                        "must be a host, a switch or a router"
                    } else {
                        "must be the name of a node"
                    };
                    faults.add_value(&key, format!("{name:?}"), allowed);
                }
                self.ends.push([known.unwrap_or(0), nodes + number]);
            }
        }
        faults.count() == before
    }

    fn is_hub(&self, node: usize) -> bool {
        self.node(node).is_some_and(|node| matches!(node.kind, Kind::Hub(_)))
    }

    /// Join the ends of all links. Whether they are a forest in which each host has one.
    fn join(&mut self, faults: &mut Faults) -> bool {
        let before = faults.count();
        let mut used = vec![0; self.set.len()];
        for end in self.ends.iter().flatten() {
            used[*end] += 1;
        }
        for (index, node) in self.scenario.nodes.iter().enumerate() {
            if matches!(node.kind, Kind::Host(_)) && used[index] != 1 {
                let key = format!("nodes[{index}]");
                faults.add_value(&key, used[index], "a host must have one link");
            }
        }
        for (index, ends) in self.ends.clone().into_iter().enumerate() {
            let link = self.scenario.links.get(index);
            let has_hub = ends.iter().any(|end| self.is_hub(*end));
            if has_hub && link.is_some_and(|link| !link.half_duplex) {
                let key = format!("links[{index}].half_duplex");
                faults.add(&key, "must be true: a hub's links are");
            }
            let [from, into] = ends.map(|end| self.set[end]);
            if from == into {
                self.add_loop(index, ends, faults);
            }
            for number in &mut self.set {
                if *number == from {
                    *number = into;
                }
            }
        }
        faults.count() == before
    }

    /// A second way between two nodes would let flooded frames multiply for ever.
    fn add_loop(&self, index: usize, ends: [usize; 2], faults: &mut Faults) {
        let names = ends.map(|end| match self.node(end) {
            Some(node) => &node.name,
            None => &self.scenario.media[end - self.scenario.nodes.len()].name,
        });
        let allowed = format!(
            "closes a loop between {:?} and {:?}, which other links join already; there is no spanning tree here, so each pair of nodes must have one way",
            names[0], names[1]
        );
        faults.add(&self.ends_key(index), allowed);
    }

    /// Path of the key of what a link, or a station, joins.
    fn ends_key(&self, index: usize) -> String {
        let Some(mut station) = index.checked_sub(self.scenario.links.len()) else {
            return format!("links[{index}].ends");
        };
        for (number, medium) in self.scenario.media.iter().enumerate() {
            if station < medium.stations.len() {
                return format!("media[{number}].stations[{station}].node");
            }
            station -= medium.stations.len();
        }
        unreachable!("every link after those of the scenario is of a station")
    }

    fn host(&self, name: &str, key: &str, faults: &mut Faults) -> Option<usize> {
        let known = self.names.get(name).copied().filter(|end| *end < self.scenario.nodes.len());
        let Some(index) = known else {
            faults.add_value(key, format!("{name:?}"), "must be the name of a node");
            return None;
        };
        if !matches!(self.scenario.nodes[index].kind, Kind::Host(_)) {
            faults.add_value(key, format!("{name:?}"), "must be a host");
            return None;
        }
        Some(index)
    }

    fn check_flow(&self, flow: &Flow, is_in_range: bool, faults: &mut Faults) {
        if is_in_range {
            flow.check_octets(faults);
        }
        let from = self.host(&flow.from, "from", faults);
        if flow.is_onto_medium() || (flow.address == Address::Unicast && flow.to.len() != 1) {
            let allowed = "must be one host, or several with a group's address";
            faults.add_value("to", format!("{:?}", flow.to), allowed);
        }
        for (number, name) in flow.to.iter().enumerate() {
            let key = format!("to[{number}]");
            let to = self.host(name, &key, faults);
            if let (Some(from), Some(to)) = (from, to) {
                let is_joined = self.set[from] == self.set[to];
                if to == from || !is_joined || flow.to[..number].contains(name) {
                    let allowed = format!(
                        "must be another host that {:?} is joined to, named once",
                        flow.from
                    );
                    faults.add_value(&key, format!("{name:?}"), allowed);
                }
            }
        }
        let around = from.and_then(|from| self.around(from));
        if let (true, Some(around)) = (is_in_range, around)
            && let Err(fault) = flow.shaping(around, "")
        {
            faults.add(&fault.path.to_string(), fault.allowed);
        }
    }

    /// Octets of preamble and gap at the link of a host.
    fn around(&self, host: usize) -> Option<u64> {
        let index = self.ends.iter().position(|ends| ends.contains(&host))?;
        if let Some(link) = self.scenario.links.get(index) {
            return Some(link.preamble_octets + link.gap_octets);
        }
        let medium = &self.scenario.media[self.ends[index][1] - self.scenario.nodes.len()];
        let constants = medium.mac.csma_cd()?;
        Some(constants.preamble_bits / 8 + constants.gap_bits / 8)
    }

    /// Idle slopes beyond a link.
    fn check_classes(&self, faults: &mut Faults) {
        for (index, ends) in self.ends.iter().enumerate() {
            let link = self.scenario.links.get(index);
            for node in ends.iter().filter_map(|end| self.node(*end).map(|node| (*end, node))) {
                let (at, Node { kind, .. }) = node;
                let classes = classes_of(kind);
                if classes.is_empty() {
                    continue;
                }
                let key = format!("nodes[{at}].kind.{}.classes", name_of(kind));
                // A port at any other link has one queue for all frames.
                let Some(link) = link.filter(|link| !link.half_duplex) else { continue };
                let slopes: u128 =
                    classes.iter().filter_map(|class| class.idle_slope_bps).map(u128::from).sum();
                let octet_ps = u128::from(link.ps_per_octet);
                if slopes * octet_ps >= 8 * SECOND_PS {
                    let allowed = format!(
                        "must have idle slopes that sum to less than the rate of every link, here {} bit/s",
                        8 * SECOND_PS / octet_ps
                    );
                    faults.add_value(&key, slopes, allowed);
                }
            }
        }
    }

    /// Back-pressure is for half-duplex links.
    fn check_back_pressures(&self, faults: &mut Faults) {
        for (number, node) in self.scenario.nodes.iter().enumerate() {
            let given = buffer_of(&node.kind).and_then(|buffer| buffer.back_pressure);
            let mut links = self.ends.iter().zip(&self.scenario.links);
            let has_link = links.any(|(ends, link)| link.half_duplex && ends.contains(&number));
            if given.is_some() && !has_link {
                let key =
                    format!("nodes[{number}].kind.{}.buffer.back_pressure", name_of(&node.kind));
                faults.add(&key, "must not be given for a node without a half-duplex link");
            }
        }
    }

    /// A PAUSE that comes too late for what is on its way would lose frames.
    fn check_pauses(&self, faults: &mut Faults) {
        let longest = longest(&self.scenario.flows);
        for (index, link) in self.scenario.links.iter().enumerate() {
            for end in self.ends[index] {
                let kind = &self.scenario.nodes[end].kind;
                let key = format!("nodes[{end}].kind.{}.buffer", name_of(kind));
                if let Some(buffer) = buffer_of(kind) {
                    faults.within_path(&key, |faults| check_pause(buffer, link, longest, faults));
                }
            }
        }
    }
}

fn check_pause(buffer: Buffer, link: &Link, longest: u64, faults: &mut Faults) {
    let Some(pause) = buffer.pause else { return };
    if link.half_duplex {
        let allowed = "must not be given on a half-duplex link (802.3-2022 annex 31B)";
        faults.add("pause", allowed);
        return;
    }
    let headroom = pause_headroom(longest, link);
    if pause.high_octets + headroom > buffer.octets {
        let allowed = format!(
            "must be at least {} for frames of up to {longest} octets, {headroom} more than pause.high, so that what is under way finds room",
            pause.high_octets + headroom
        );
        faults.add_value("octets", buffer.octets, allowed);
    }
    let requested = u64::from(pause.quanta) * 64 * link.ps_per_octet;
    if requested < 4 * headroom * link.ps_per_octet {
        let allowed = format!("must be at least {} here", (4 * headroom).div_ceil(64));
        faults.add_value("pause.quanta", pause.quanta, allowed);
    }
}

/// Octets that may still come after the decision to send a PAUSE: it waits for a frame and its gap,
/// is 64 octets long, both ways take their time, and the peer has just begun a frame.
fn pause_headroom(longest: u64, link: &Link) -> u64 {
    let around = link.preamble_octets + link.gap_octets;
    let way = (2 * link.delay_ps).div_ceil(link.ps_per_octet);
    2 * (longest + around) + PAUSE_OCTETS + around + way
}

/// Longest frame that any flow sends.
fn longest(flows: &[Flow]) -> u64 {
    let mut longest = PAUSE_OCTETS;
    for flow in flows {
        if let Some(transfer) = &flow.transfer {
            longest = longest
                .max(transfer.longest_frame() + u64::from(flow.message_framing().tag_octets));
            continue;
        }
        let responses = flow.response.iter().map(|response| &response.frames);
        for lengths in std::iter::once(&flow.frames).chain(responses) {
            let all = match lengths {
                Lengths::Fixed { bits } => std::slice::from_ref(bits),
                Lengths::Mix { bits, .. } => bits,
                Lengths::Samples { max_bits, .. } => std::slice::from_ref(max_bits),
            };
            for bits in all {
                flow.message_framing()
                    .frames_of(bits / 8, |octets, _, _| longest = longest.max(octets.into()));
            }
        }
    }
    longest
}

fn name_of(kind: &Kind) -> &'static str {
    match kind {
        Kind::Host(_) => "host",
        Kind::Switch(_) => "switch",
        Kind::Router(_) => "router",
        Kind::Hub(_) => "hub",
    }
}

fn classes_of(kind: &Kind) -> &[Class] {
    match kind {
        Kind::Host(host) => &host.classes,
        Kind::Switch(switch) => &switch.classes,
        Kind::Router(router) => &router.classes,
        Kind::Hub(_) => &[],
    }
}

fn buffer_of(kind: &Kind) -> Option<Buffer> {
    match kind {
        Kind::Host(host) => host.buffer,
        Kind::Switch(switch) => switch.buffer,
        Kind::Router(_) | Kind::Hub(_) => None,
    }
}
