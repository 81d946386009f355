//! A line of a plan in the form of segments and networks apart, as a [`Trial`].

use crate::idealised::{self, Idealised};
use crate::network;
use crate::scenario::{read_id, Error, Group, Scenario};
use ethermeter_trial::flows::{Address, Flow, Framing};
use ethermeter_trial::medium::{CsmaCd, Mac, Medium, Stations};
use ethermeter_trial::nodes::{Host, Kind, Node};
use ethermeter_trial::scenario::Settings;
use ethermeter_trial::Trial;

/// Read a line of a plan.
///
/// # Errors
/// If it is not JSON of the right shape, or not for the simulator.
pub fn from_line(line: &str) -> Result<Trial, Error> {
    let (id, is_network, is_idealised) = read_id(line)?;
    if is_network {
        return network::Trial::from_line(line).map(|trial| of_network(id, trial));
    }
    if is_idealised {
        let idealised::Trial { seed, scenario, idealised } = idealised::Trial::from_line(line)?;
        let mac = match idealised {
            Idealised::Slotted(slotted) => Mac::Slotted(slotted),
            Idealised::Adaptive(adaptive) => Mac::Adaptive(adaptive),
            Idealised::Unslotted(unslotted) => Mac::Unslotted(unslotted),
            Idealised::Polling(polling) => Mac::Polling(polling),
        };
        return Ok(of_segment(id, seed, scenario, mac));
    }
    let crate::scenario::Trial { seed, scenario } = crate::scenario::Trial::from_line(line)?;
    let segment = &scenario.segment;
    let mac = Mac::CsmaCd(CsmaCd {
        slot_bits: segment.slot_bits,
        gap_bits: segment.gap_bits,
        gap_part1_bits: segment.gap_part1_bits,
        preamble_bits: segment.preamble_bits,
        jam_bits: segment.jam_bits,
        turnaround_ps: segment.deaf_ps,
    });
    Ok(of_segment(id, seed, scenario, mac))
}

fn of_network(id: String, trial: network::Trial) -> Trial {
    let network::Trial { seed, scenario } = trial;
    let network::scenario::Scenario { network, flows, phases, batches } = scenario;
    let network::scenario::Network { nodes, links, clocks } = network;
    let media = Vec::new();
    let scenario =
        ethermeter_trial::Scenario { nodes, links, media, flows, clocks, phases, batches };
    Trial { id, seed, scenario, settings: Settings::default() }
}

fn of_segment(id: String, seed: u64, scenario: Scenario, mac: Mac) -> Trial {
    let Scenario { segment, groups, phases, batches } = scenario;
    let (mut nodes, mut stations, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    for group in groups {
        let is_taken = |name: &str| nodes.iter().any(|node: &Node| node.name == name);
        let mut name = group.name.clone();
        while is_taken(&name) {
            name.push('\'');
        }
        let count = u32::try_from(group.places.len()).unwrap_or(u32::MAX);
        nodes.push(Node { name: name.clone(), count, kind: Kind::Host(Host::default()) });
        let (on_medium, flow) = of_group(name, group);
        stations.push(on_medium);
        flows.push(flow);
    }
    let medium = Medium {
        name: "segment".into(),
        bit_ps: segment.bit_ps,
        mac,
        delay_ps: segment.delay_ps,
        stations,
    };
    let scenario = ethermeter_trial::Scenario {
        nodes,
        links: Vec::new(),
        media: vec![medium],
        flows,
        clocks: ethermeter_trial::clocks::Comparing::NotCompared,
        phases,
        batches,
    };
    Trial { id, seed, scenario, settings: Settings::default() }
}

fn of_group(node: String, group: Group) -> (Stations, Flow) {
    let stations = Stations {
        node: node.clone(),
        points: group.places,
        clock_error_ppb: group.clock_error_ppb,
        priority_wait_ps: group.priority_wait_ps,
        backoff: group.backoff,
        attempt_limit: group.attempt_limit,
        after_attempt_limit: group.after_attempt_limit,
        after_late_collision: group.after_late_collision,
    };
    let flow = Flow {
        name: group.name,
        from: node,
        to: Vec::new(),
        address: Address::Unicast,
        frames: group.frames,
        framing: Framing::Frame,
        codec: None,
        arrivals: group.arrivals,
        generator: group.generator,
        queue_frames: group.queue_frames,
        service: group.service,
        response: None,
        transfer: None,
    };
    (stations, flow)
}
