//! Trials for tests and examples: stations on a segment here, networks in [`network`].
#![allow(dead_code, reason = "each test uses some")]
#![allow(clippy::needless_pass_by_value, reason = "values are made for the call")]

pub mod idealised;
pub mod network;
pub mod transfer;

use ethermeter_simulator::mac::transmitter::Attempt;
use ethermeter_simulator::plan::Plan;
use ethermeter_simulator::{Error, Watch};
use ethermeter_traffic::Trace;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_trial::flows::Flow;
use ethermeter_trial::medium::{AfterAttemptLimit, CsmaCd, Mac, Stations};
use ethermeter_trial::nodes::Node;
use ethermeter_trial::plca::Plca;
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::{Counts, Phases, Trial};
use serde_json::json;
use std::sync::Arc;

pub const US: u64 = 1_000_000;
pub const MS: u64 = 1000 * US;
pub const S: u64 = 1000 * MS;

/// CSMA/CD at 10 Mb/s; a bit has 100 ns.
pub const IEEE_10: CsmaCd = CsmaCd {
    slot_bits: 512,
    gap_bits: 96,
    gap_part1_bits: 64,
    preamble_bits: 64,
    jam_bits: 32,
    turnaround_ps: 0,
};

/// Stations of one node, and the flow that each of them sends.
#[derive(Clone, Debug)]
pub struct Group {
    pub stations: Stations,
    pub flow: Flow,
}

impl Group {
    /// Saturated stations at these points with frames of `bits`, which resume after the attempt
    /// limit.
    pub fn saturated(points: Vec<u32>, bits: u64) -> Self {
        let stations = json!({"node": "", "points": points, "after_attempt_limit": "resume"});
        let flow = json!({"name": "", "from": "", "frames": {"kind": "fixed", "bits": bits},
            "arrivals": {"kind": "saturated"}});
        Self {
            stations: serde_json::from_value(stations).expect("stations"),
            flow: serde_json::from_value(flow).expect("a flow"),
        }
    }

    /// The same group with a change.
    pub fn with(&self, change: impl FnOnce(&mut Stations, &mut Flow)) -> Self {
        let mut group = self.clone();
        change(&mut group.stations, &mut group.flow);
        group
    }

    /// The same group with other traffic.
    pub fn sending(&self, arrivals: Arrivals, frames: Lengths) -> Self {
        self.with(|_, flow| (flow.arrivals, flow.frames) = (arrivals, frames))
    }
}

/// Arrivals of a trace of messages at these times; `kinds` has the index of the length of each among
/// `lengths` ones, and is empty if lengths are drawn. Repeated after `repeat_ps`, from a random offset
/// if `offset_ps` is `None`.
pub fn replayed(
    times_ps: &[u64],
    (kinds, lengths): (&[u16], usize),
    (repeat_ps, offset_ps, speed): (Option<u64>, Option<u64>, f64),
) -> Arrivals {
    let trace = Trace::new(times_ps.to_vec(), kinds.to_vec(), lengths).expect("a trace");
    let mut arrivals = Arrivals::Trace {
        sha256: "0".repeat(64),
        messages: times_ps.len() as u64,
        repeat_ps,
        offset_ps,
        speed,
        mean_ps: 1e9,
        scv: 1.0,
        envelope: vec![],
        trace: None,
    };
    arrivals.give(&Arc::new(trace), lengths).expect("as it should be");
    arrivals
}

/// Groups on one medium. Seed 7, 20 batches, measured throughout `length_ps`.
pub fn segment(
    bit_ps: u64,
    mac: Mac,
    delay_ps: Vec<Vec<u64>>,
    groups: &[Group],
    length_ps: u64,
) -> Trial {
    let medium = json!({"name": "medium", "bit_ps": bit_ps, "mac": mac, "delay_ps": delay_ps,
        "stations": []});
    let scenario = json!({"nodes": [], "media": [medium], "flows": [], "phases": whole(length_ps)});
    let trial = json!({"id": "x", "seed": 7, "scenario": scenario});
    let mut trial = serde_json::from_value(trial).expect("a trial of the right shape");
    set_groups(&mut trial, groups);
    trial
}

/// `stations` saturated stations at one point, `delay_ps` apart, with frames of `bits` and a
/// constant service time; 10 s are measured.
pub fn saturated(stations: usize, bits: u64, delay_ps: u64, service_ps: u64) -> Trial {
    use ethermeter_traffic::times::Times;
    let group = Group::saturated(vec![0; stations], bits)
        .with(|_, flow| flow.service = Times::Constant { ps: service_ps });
    let mac = Mac::CsmaCd(IEEE_10);
    let mut trial = segment(100_000, mac, vec![vec![delay_ps]], &[group], 12 * S);
    (trial.scenario.phases.measure_from_ps, trial.scenario.phases.measure_to_ps) = (S, 11 * S);
    trial
}

/// Phases of a trial that is measured from its begin to its end.
pub fn whole(length_ps: u64) -> Phases {
    Phases {
        begin_ps: 0,
        stop_ps: length_ps,
        measure_from_ps: 0,
        measure_to_ps: length_ps,
        end_ps: length_ps,
        spread_ps: 0,
    }
}

/// The groups on the medium.
pub fn groups(trial: &Trial) -> Vec<Group> {
    let (stations, flows) = (&trial.scenario.media[0].stations, &trial.scenario.flows);
    let pairs = stations.iter().cloned().zip(flows.iter().cloned());
    pairs.map(|(stations, flow)| Group { stations, flow }).collect()
}

/// Replace the groups on the medium, and their nodes.
pub fn set_groups(trial: &mut Trial, groups: &[Group]) {
    let scenario = &mut trial.scenario;
    scenario.nodes.clear();
    scenario.flows.clear();
    scenario.media[0].stations.clear();
    for (index, group) in groups.iter().enumerate() {
        let name = format!("host{index}");
        let node =
            json!({"name": name, "count": group.stations.points.len(), "kind": {"host": {}}});
        let node: Node = serde_json::from_value(node).expect("a node");
        scenario.nodes.push(node);
        let mut group = group.clone();
        (group.flow.name, group.flow.from) = (name.clone(), name.clone());
        group.stations.node = name;
        scenario.flows.push(group.flow);
        scenario.media[0].stations.push(group.stations);
    }
}

/// Add a group to the medium.
pub fn add_group(trial: &mut Trial, group: Group) {
    let mut all = groups(trial);
    all.push(group);
    set_groups(trial, &all);
}

/// Give up frames after the attempt limit.
pub fn discard(trial: &mut Trial) {
    trial.scenario.media[0].stations[0].after_attempt_limit = AfterAttemptLimit::Discard;
}

/// The constants of a trial of CSMA/CD.
pub fn constants(trial: &mut Trial) -> &mut CsmaCd {
    match &mut trial.scenario.media[0].mac {
        Mac::CsmaCd(constants) => constants,
        other => panic!("no CSMA/CD: {other:?}"),
    }
}

/// Simulate a trial without watching it.
pub fn simulate(trial: &Trial) -> Result<Counts, Error> {
    Ok(ethermeter_simulator::simulate(trial, &Watch::default())?.0)
}

/// The counts and the attempts of a trial on one medium, in the order of their starts, from the fast
/// and from the reference implementation.
pub fn traces(trial: &Trial) -> Result<[(Counts, Vec<Attempt>); 2], Error> {
    let (plan, watch) = (Plan::new(trial, None)?, Watch::default());
    let fast = plan.try_run(&watch, true)?.expect("there is a fast implementation");
    let runs = [fast, plan.run_reference(&watch, true)?];
    Ok(runs.map(|run| (run.counts, run.attempts)))
}

/// Processor time of this process, which other load on the machine inflates less than the time of
/// day.
pub fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds") * 1e-9
}

/// Mean of `count` times whose sum is `sum_ps`, in seconds.
#[allow(clippy::cast_precision_loss)]
pub fn mean_s(sum_ps: u128, count: u64) -> f64 {
    sum_ps as f64 / count as f64 * 1e-12
}

/// A bus of 10BASE-T1S.
#[derive(Clone, Debug)]
pub struct Bus {
    pub plca: Plca,
    pub delay_ps: Vec<Vec<u64>>,
    pub groups: Vec<Group>,
    pub length_ps: u64,
}

/// Constants of 802.3-2022 clause 148 and its PHY without latencies.
pub fn clause_148() -> Plca {
    let plca = json!({"csma_cd": IEEE_10, "end_delimiter_bits": 8, "beacon_bits": 20,
        "beacon_detection_bits": 22, "invalid_beacon_bits": 40, "delay_line_bits": 396,
        "pending_bits": 512, "commit_bits": 288, "status_bits": 130_090});
    serde_json::from_value(plca).expect("constants of PLCA")
}

impl Bus {
    /// This many nodes at one point with saturated frames of 64 octets, the first of them the
    /// coordinator; 200 ms.
    pub fn of(nodes: u32) -> Self {
        let groups = (0..nodes)
            .map(|id| {
                Group::saturated(vec![0], 512).with(|stations, _| {
                    let of_node = json!({"ids": [[id]], "node_count": nodes,
                        "opportunity_bits": 32, "burst_bits": 128});
                    stations.plca = Some(serde_json::from_value(of_node).expect("a node"));
                })
            })
            .collect();
        Self { plca: clause_148(), delay_ps: vec![vec![0]], groups, length_ps: 200 * MS }
    }

    /// The same bus with a change of each group, by its number.
    pub fn with(mut self, mut change: impl FnMut(usize, &mut Stations, &mut Flow)) -> Self {
        for (number, group) in self.groups.iter_mut().enumerate() {
            change(number, &mut group.stations, &mut group.flow);
        }
        self
    }

    /// With frames of this length.
    pub fn saturated(self, octets: u64) -> Self {
        self.with(|_, _, flow| flow.frames = Lengths::Fixed { bits: 8 * octets })
    }

    /// With sources that send a frame in 1000 s.
    pub fn idle(self) -> Self {
        self.with(|_, _, flow| flow.arrivals = Arrivals::Poisson { mean_ps: 1e15 })
    }

    pub fn trial(&self) -> Trial {
        let mac = Mac::Plca(self.plca.clone());
        segment(100_000, mac, self.delay_ps.clone(), &self.groups, self.length_ps)
    }
}

/// Run a bus by both implementations, which give the same counts.
pub fn run_bus(bus: &Bus) -> Counts {
    let counts = [Implementation::Fast, Implementation::Reference].map(|implementation| {
        let mut trial = bus.trial();
        trial.settings.implementation = implementation;
        let simulated = ethermeter_simulator::simulate(&trial, &Watch::default());
        let (counts, ran) = simulated.expect("a bus that can be simulated");
        assert_eq!(ran, implementation);
        counts
    });
    assert_eq!(counts[0], counts[1]);
    let [counts, _] = counts;
    counts
}
