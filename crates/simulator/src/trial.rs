//! A trial on the simulator that can run it.
//!
//! A scenario is a segment (one medium, and hosts that send onto it), or a network of links. Its
//! data move into the form that the simulator of each compiles; paths of faults are those of the
//! trial.

use crate::idealised::{self, Idealised};
use crate::network;
use crate::scenario::{Error, Group, Scenario, Segment};
use crate::segment::compiled::CompiledSegment;
use crate::segment::{fast, reference};
use crate::watch::Watch;
use ethermeter_trial::clocks::Comparing;
use ethermeter_trial::flows::{Address, Flow, Framing};
use ethermeter_trial::medium::{CsmaCd, Mac, Stations};
use ethermeter_trial::nodes::{Host, Kind};
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::{Counts, Fault, Trial};

/// Simulate a trial. Another thread may follow and stop it by `watch`.
///
/// # Errors
/// If the trial contradicts itself or leaves the range of what can be simulated;
/// [`Error::Stopped`] if it was stopped.
pub fn simulate(trial: &Trial, watch: &Watch) -> Result<Counts, Error> {
    let is_fast = trial.settings.implementation == Implementation::Fast;
    match Compiled::new(trial)? {
        Compiled::Network(network) if is_fast => {
            network::simulate_watched(&network, watch).map_err(network_error)
        }
        Compiled::Network(network) => {
            network::simulate_reference_watched(&network, watch).map_err(network_error)
        }
        Compiled::Segment(segment) if is_fast => Ok(fast::run(&segment, watch, false)?.0),
        Compiled::Segment(segment) => Ok(reference::run(&segment, watch)?.0),
        Compiled::Idealised(trial) => Ok(idealised::run(&trial, watch, false)?.0),
    }
}

/// Check a trial without running it.
///
/// # Errors
/// As [`simulate`].
pub fn check(trial: &Trial) -> Result<(), Error> {
    match Compiled::new(trial)? {
        Compiled::Network(trial) => network::check(&trial).map_err(network_error),
        Compiled::Segment(_) | Compiled::Idealised(_) => Ok(()),
    }
}

/// A trial in the form of its simulator; of segments it is checked.
#[allow(clippy::large_enum_variant)] // one a trial
enum Compiled {
    Segment(CompiledSegment),
    Idealised(idealised::Trial),
    Network(network::Trial),
}

impl Compiled {
    fn new(trial: &Trial) -> Result<Self, Fault> {
        match (trial.scenario.media.len(), trial.scenario.links.len()) {
            (0, _) => Ok(Self::Network(network_of(trial)?)),
            (1, 0) => Self::segment_of(trial),
            (media, _) => {
                let allowed = "must be one medium without links, or none";
                Err(Fault::new("media", allowed).got(format!("{media}")))
            }
        }
    }

    fn segment_of(trial: &Trial) -> Result<Self, Fault> {
        let medium = &trial.scenario.media[0];
        let constants = match medium.mac {
            Mac::CsmaCd(constants) => constants,
            // An idealised MAC has none of these; the least that a segment may have.
            _ => CsmaCd {
                slot_bits: 1,
                gap_bits: 0,
                gap_part1_bits: 0,
                preamble_bits: 0,
                jam_bits: 0,
                turnaround_ps: 0,
            },
        };
        let segment = Segment {
            bit_ps: medium.bit_ps,
            slot_bits: constants.slot_bits,
            gap_bits: constants.gap_bits,
            gap_part1_bits: constants.gap_part1_bits,
            preamble_bits: constants.preamble_bits,
            jam_bits: constants.jam_bits,
            turnaround_ps: constants.turnaround_ps,
            delay_ps: medium.delay_ps.clone(),
        };
        let (groups, flows) = groups_of(trial)?;
        let (phases, batches) = (trial.scenario.phases, trial.scenario.batches);
        let scenario = Scenario { segment, groups, phases, batches };
        let (name, mac) = match &medium.mac {
            Mac::CsmaCd(_) => {
                let trial = crate::scenario::Trial { seed: trial.seed, scenario };
                let world = CompiledSegment::new(&trial);
                return world.map(Self::Segment).map_err(|fault| moved(fault, "csma_cd", &flows));
            }
            Mac::Slotted(slotted) => ("slotted", Idealised::Slotted(slotted.clone())),
            Mac::Adaptive(adaptive) => ("adaptive", Idealised::Adaptive(*adaptive)),
            Mac::Unslotted(unslotted) => ("unslotted", Idealised::Unslotted(unslotted.clone())),
            Mac::Polling(polling) => ("polling", Idealised::Polling(*polling)),
        };
        let trial = idealised::Trial { seed: trial.seed, scenario, idealised: mac };
        idealised::check(&trial).map_err(|fault| moved(fault, name, &flows))?;
        Ok(Self::Idealised(trial))
    }
}

/// The groups of stations on the medium, and the index of the flow of each.
fn groups_of(trial: &Trial) -> Result<(Vec<Group>, Vec<usize>), Fault> {
    let scenario = &trial.scenario;
    if scenario.clocks != Comparing::NotCompared {
        return Err(Fault::new("clocks", "must be \"not_compared\" with a medium"));
    }
    let stations = &scenario.media[0].stations;
    let mut flow_of = Vec::with_capacity(stations.len());
    let mut groups = Vec::with_capacity(stations.len());
    for (index, station) in stations.iter().enumerate() {
        let path = |key: &str| format!("media[0].stations[{index}].{key}");
        if stations[..index].iter().any(|other| other.node == station.node) {
            return Err(Fault::new(path("node"), "must be attached once").got(&station.node));
        }
        let Some(node) = scenario.nodes.iter().find(|node| node.name == station.node) else {
            return Err(Fault::new(path("node"), "must be the name of a node").got(&station.node));
        };
        if node.count as usize != station.points.len() {
            let allowed = format!("must be a point for each of the node's {} hosts", node.count);
            return Err(Fault::new(path("points"), allowed).got(station.points.len()));
        }
        let mut flows =
            scenario.flows.iter().enumerate().filter(|(_, flow)| flow.from == node.name);
        let (Some((number, flow)), None) = (flows.next(), flows.next()) else {
            let allowed = "must be a host from which one flow goes";
            return Err(Fault::new(path("node"), allowed).got(&station.node));
        };
        check_flow(flow, number)?;
        flow_of.push(number);
        groups.push(group_of(station, flow));
    }
    for (index, node) in scenario.nodes.iter().enumerate() {
        if node.kind != Kind::Host(Host::default()) {
            let allowed = "must be a host without settings on a medium";
            return Err(Fault::new(format!("nodes[{index}].kind"), allowed));
        }
        if scenario.nodes[..index].iter().any(|other| other.name == node.name) {
            let allowed = "must be unique";
            return Err(Fault::new(format!("nodes[{index}].name"), allowed).got(&node.name));
        }
        if stations.iter().all(|station| station.node != node.name) {
            let allowed = "must be the node of stations on the medium";
            return Err(Fault::new(format!("nodes[{index}].name"), allowed).got(&node.name));
        }
    }
    if let Some(number) = (0..scenario.flows.len()).find(|number| !flow_of.contains(number)) {
        let from = &scenario.flows[number].from;
        let allowed = "must be the node of stations on the medium";
        return Err(Fault::new(format!("flows[{number}].from"), allowed).got(from));
    }
    Ok((groups, flow_of))
}

/// A flow onto a medium has no receiver, and nothing that needs one.
fn check_flow(flow: &Flow, number: usize) -> Result<(), Fault> {
    let absent = [
        ("to", flow.to.is_empty()),
        ("address", flow.address == Address::Unicast),
        ("framing", flow.framing == Framing::Frame),
        ("response", flow.response.is_none()),
        ("transfer", flow.transfer.is_none()),
    ];
    match absent.iter().find(|(_, is_absent)| !is_absent) {
        None => Ok(()),
        Some((key, _)) => {
            Err(Fault::new(format!("flows[{number}].{key}"), "must be absent on a medium"))
        }
    }
}

fn group_of(station: &Stations, flow: &Flow) -> Group {
    Group {
        name: flow.name.clone(),
        places: station.points.clone(),
        frames: flow.frames.clone(),
        arrivals: flow.arrivals.clone(),
        generator: flow.generator.clone(),
        queue_frames: flow.queue_frames,
        clock_error_ppb: station.clock_error_ppb,
        priority_wait_ps: station.priority_wait_ps,
        service: flow.service.clone(),
        backoff: station.backoff,
        attempt_limit: station.attempt_limit,
        after_attempt_limit: station.after_attempt_limit,
        after_late_collision: station.after_late_collision,
    }
}

/// A fault of a segment with the path of the trial's key; `flows` are the flows of the groups.
fn moved(fault: Fault, mac: &str, flows: &[usize]) -> Fault {
    let path = moved_path(&fault.path, mac, flows);
    Fault { path, ..fault }
}

fn moved_path(path: &str, mac: &str, flows: &[usize]) -> String {
    const OF_FLOWS: [&str; 5] = ["frames", "arrivals", "generator", "queue_frames", "service"];
    if let Some(key) = path.strip_prefix("segment.") {
        return match key {
            _ if key == "bit_ps" || key.starts_with("delay_ps") => format!("media[0].{key}"),
            _ => format!("media[0].mac.{mac}.{key}"),
        };
    }
    if let Some(key) = path.strip_prefix("idealised") {
        return format!("media[0].mac.{mac}{key}");
    }
    let Some(rest) = path.strip_prefix("groups") else { return path.to_owned() };
    let Some((index, key)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("].")) else {
        return format!("media[0].stations{rest}");
    };
    if OF_FLOWS.iter().any(|name| key.starts_with(name)) {
        let flow = index.parse().ok().and_then(|index: usize| flows.get(index));
        return format!("flows[{}].{key}", flow.copied().unwrap_or_default());
    }
    let key = if key == "places" { "points" } else { key };
    format!("media[0].stations[{index}].{key}")
}

fn network_of(trial: &Trial) -> Result<network::Trial, Fault> {
    let scenario = &trial.scenario;
    if let Some(index) = scenario.nodes.iter().position(|node| node.count != 1) {
        let count = scenario.nodes[index].count;
        let allowed = "must be 1 without a medium";
        return Err(Fault::new(format!("nodes[{index}].count"), allowed).got(count));
    }
    let network = network::scenario::Network {
        nodes: scenario.nodes.clone(),
        links: scenario.links.clone(),
        clocks: scenario.clocks,
    };
    let (flows, phases, batches) = (scenario.flows.clone(), scenario.phases, scenario.batches);
    let scenario = network::scenario::Scenario { network, flows, phases, batches };
    Ok(network::Trial { seed: trial.seed, scenario })
}

fn network_error(error: Error) -> Error {
    match error {
        Error::Fault(fault) => {
            let path = fault.path.strip_prefix("network.").unwrap_or(&fault.path).to_owned();
            Error::Fault(Fault { path, ..fault })
        }
        other => other,
    }
}
