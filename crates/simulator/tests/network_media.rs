//! Shared media within networks, contention by contention and event by event: attempts, deliveries and
//! counts are the same.

use crate::common::network::{
    Shape, Traced, assert_same, balances, fixed, host, known, link, phases, saturated, stream as octet_stream,
    switch, traces, trial,
};
use crate::common::transfer::{classic, plain, stream, transfer};
use crate::common::{IEEE_10, MS, US, clause_148};
use ethermeter_trial::Trial;
use ethermeter_trial::nodes::{Hub, Kind};
use proptest::prelude::*;
use serde_json::{Value, json};

const BIT: u64 = 100_000;

/// Both implementations; the fast one knows the network.
fn same(trial: &Trial) -> Traced {
    let (reference, fast) = traces(trial).expect("a valid trial");
    balances(&reference);
    let fast = fast.expect("nothing that only the reference knows");
    balances(&fast);
    assert_same(&reference, &fast);
    reference
}

impl Shape {
    /// Tables of the network laws, with half-duplex links, and perhaps a hub of one rate.
    fn half_duplex(&mut self) -> Trial {
        let hub_at = self.below(6);
        let octet = self.pick(&[80_000, 800_000]);
        let farthest = self.pick(&[1, 200_000, 10 * octet, 10 * octet]);
        let is_even = self.one_in(2);
        let mut trial = self.network(true, |shape, link| {
            let is_on_hub =
                (0..2).any(|end| link["ends"][end]["node"] == format!("s{hub_at}").as_str());
            if is_on_hub || shape.one_in(2) {
                (link["half_duplex"], link["ps_per_octet"]) = (json!(true), json!(octet));
                let delay = if is_even { farthest / 2 } else { shape.below(farthest) };
                link["delay_ps"] = json!(delay);
            }
        });
        for node in &mut trial.scenario.nodes {
            if node.name == format!("s{hub_at}") {
                node.kind = Kind::Hub(Hub::default());
            }
        }
        trial
    }

    fn station(&mut self, node: &str, point: usize, has_plca: bool, count: usize) -> Value {
        let mut station = json!({"node": node, "points": [point]});
        if has_plca {
            if !self.one_in(8) {
                station["plca"] = json!({"ids": [[point]], "node_count": count,
                    "opportunity_bits": 32, "burst_bits": 128});
            }
            return station;
        }
        if self.one_in(4) {
            station["attempt_limit"] = json!(1 + self.below(6));
        }
        if self.one_in(4) {
            station["after_attempt_limit"] = json!("resume");
        }
        if self.one_in(4) {
            station["priority_wait_ps"] = json!(self.below(40) * US);
        }
        if self.one_in(6) {
            station["jam_bits"] = json!(1 + self.below(100));
        }
        station
    }

    /// The network with a medium, of more hosts and perhaps of one of its switches.
    fn with_medium(&mut self, mut trial: Trial, has_plca: bool) -> Trial {
        let count = 2 + usize::try_from(self.below(7)).expect("few");
        let mut names: Vec<String> = (0..count).map(|number| format!("m{number}")).collect();
        let nodes = names.iter().map(|name| host(name, &json!({})));
        trial.scenario.nodes.extend(
            nodes.map(|node| serde_json::from_value(node).expect("a host")).collect::<Vec<_>>(),
        );
        let new = names.clone();
        if matches!(trial.scenario.nodes[0].kind, Kind::Switch(_)) && !self.one_in(4) {
            names.push("s0".to_owned());
            let linked = trial.scenario.nodes.iter().filter(|node| node.name.starts_with('h'));
            names.extend(linked.map(|node| node.name.clone()));
        }
        let stations = new.len() + usize::from(names.len() > new.len());
        // From links to beyond the standard, where collisions are late; with stations together.
        let far = self.pick(&[1, 100_000, 2 * US, 10 * US, 25 * US, 60 * US]);
        let ways: Vec<u64> = (0..stations).map(|_| self.below(far)).collect();
        let delay = |a: usize, b: usize| if a == b { 0 } else { ways[a] + ways[b] };
        let row = |a| (0..stations).map(|b| delay(a, b)).collect::<Vec<_>>();
        let mac = if has_plca {
            json!({"plca": clause_148()})
        } else {
            json!({"csma_cd": IEEE_10})
        };
        let on_medium: Vec<Value> = names[..stations]
            .iter()
            .enumerate()
            .map(|(point, name)| self.station(name, point, has_plca, stations))
            .collect();
        let medium = json!({"name": "bus", "bit_ps": BIT, "mac": mac,
            "delay_ps": (0..stations).map(row).collect::<Vec<_>>(), "stations": on_medium});
        trial.scenario.media.push(serde_json::from_value(medium).expect("a medium"));
        let senders: Vec<String> = names.into_iter().filter(|name| name != "s0").collect();
        for _ in 0..=self.below(8) {
            let mut flow = self.flow(&senders);
            if self.one_in(4) {
                (flow["frames"], flow["arrivals"]) = (fixed(64 + self.below(3)), saturated());
            }
            trial.scenario.flows.push(serde_json::from_value(flow).expect("a flow"));
        }
        if self.one_in(3) {
            let tcp = if self.one_in(2) { classic(20_000) } else { plain(8_000) };
            let copy = transfer(&senders[0], &senders[1], &stream(30_000), &tcp);
            trial.scenario.flows.push(serde_json::from_value(copy).expect("a flow"));
        }
        let phases = &mut trial.scenario.phases;
        (phases.stop_ps, phases.measure_to_ps, phases.end_ps) = (30 * MS, 30 * MS, 32 * MS);
        trial.give(&known()).expect("the only trace that trials here replay");
        trial
    }
}

impl Shape {
    /// Times that often fall together with what happens on a bus.
    fn timed_arrivals(&mut self) -> Value {
        match self.below(4) {
            0 => saturated(),
            1 => json!({"kind": "poisson", "mean_ps": (100 + self.below(9000)) * US}),
            2 => json!({"kind": "regular", "period_ps": (3 + self.below(400)) * 32 * BIT}),
            _ => json!({"kind": "regular", "period_ps": (500 + self.below(20_000)) * BIT,
                "phase_ps": self.below(500) * BIT}),
        }
    }

    /// A bus whose nodes are configured as they should be, perhaps with a switch and a host behind it.
    fn regular_bus(&mut self) -> Trial {
        let count = 2 + usize::try_from(self.below(8)).expect("few");
        let mut names: Vec<String> = (0..count).map(|number| format!("m{number}")).collect();
        let mut nodes: Vec<Value> = names.iter().map(|name| host(name, &json!({}))).collect();
        let mut links = Vec::new();
        let mut hosts = names.clone();
        if self.one_in(2) {
            nodes.extend([switch("gateway", &json!({})), host("far", &json!({}))]);
            links.push(link("gateway", "far", self.pick(&[80_000, 800_000]), self.below(2) * US));
            names.push("gateway".to_owned());
            hosts.push("far".to_owned());
        }
        let opportunities = names.len() as u64 + self.pick(&[0, 0, 1, 7]);
        let mut free: Vec<u64> = (0..opportunities).collect();
        let mut id = |shape: &mut Self| {
            free.remove(usize::try_from(shape.below(free.len() as u64)).expect("few"))
        };
        let mut ids: Vec<Vec<u64>> = names.iter().map(|_| vec![id(self)]).collect();
        if !ids.iter().any(|ids| ids.contains(&0)) {
            ids[0].push(0);
        }
        let gives_up = self.one_in(2);
        let station = |(point, ids): (usize, &Vec<u64>)| {
            let mut station = json!({"node": names[point], "points": [point], "plca": {"ids": [ids],
                "node_count": opportunities, "opportunity_bits": 32, "burst_bits": 128}});
            if gives_up && self.one_in(2) {
                station["attempt_limit"] = json!(1 + self.below(7));
                station["after_attempt_limit"] = json!(self.pick(&["resume", "discard"]));
            }
            station
        };
        let stations: Vec<Value> = ids.iter().enumerate().map(station).collect();
        let far = self.pick(&[1, 1, 100_000, 700_000]);
        let ways: Vec<u64> = names.iter().map(|_| self.below(far)).collect();
        let delay = |a: usize, b: usize| if a == b { 0 } else { ways[a] + ways[b] };
        let row = |a| (0..names.len()).map(|b| delay(a, b)).collect::<Vec<_>>();
        let mut constants = clause_148();
        constants.end_delimiter_bits = self.pick(&[8, 8, 0]);
        constants.transmit_ps = self.pick(&[0, 0, 120_000]);
        constants.carrier_off_ps = self.pick(&[0, 0, 150_000]);
        constants.carrier_on_ps = constants.carrier_off_ps + self.pick(&[0, 0, 100_000]);
        let medium = json!({"name": "bus", "bit_ps": BIT, "mac": {"plca": constants},
            "delay_ps": (0..names.len()).map(row).collect::<Vec<_>>(), "stations": stations});
        let mut flows = Vec::new();
        for from in &hosts {
            let others: Vec<&String> = hosts.iter().filter(|other| *other != from).collect();
            let to = self.pick(&others);
            let octets = self.pick(&[64, 64, 65, 200, 1518]);
            let mut flow = octet_stream(from, to, octets, &self.timed_arrivals());
            if self.one_in(4) {
                let response = fixed(64 + self.below(100));
                let think = json!({"kind": "constant", "ps": self.below(3) * 96 * BIT});
                flow["response"] = json!({"frames": response, "think": think});
            }
            flows.push(flow);
        }
        let mut times = phases(200 * MS);
        (times["measure_from_ps"], times["measure_to_ps"]) = (json!(50 * MS), json!(170 * MS));
        let mut trial = trial(self.0, &nodes, &links, &flows, &times);
        trial.scenario.media.push(serde_json::from_value(medium).expect("a medium"));
        trial
    }
}

#[test]
fn a_busy_bus_goes_on_by_cycles() {
    let names: Vec<String> = (0..8).map(|number| format!("h{number}")).collect();
    let nodes: Vec<Value> = names.iter().map(|name| host(name, &json!({}))).collect();
    let flows: Vec<Value> = (0..8)
        .map(|at| octet_stream(&names[at], &names[(at + 1) % 8], 64, &saturated()))
        .collect();
    let station = |at: usize| {
        json!({"node": names[at], "points": [0], "plca": {"ids": [[at]], "node_count": 8,
            "opportunity_bits": 32, "burst_bits": 128}})
    };
    let medium = json!({"name": "bus", "bit_ps": BIT, "mac": {"plca": clause_148()},
        "delay_ps": [[0]], "stations": (0..8).map(station).collect::<Vec<_>>()});
    let mut trial = trial(1, &nodes, &[], &flows, &phases(1000 * MS));
    trial.scenario.media.push(serde_json::from_value(medium).expect("a medium"));
    let (reference, fast) = traces(&trial).expect("a valid trial");
    let fast = fast.expect("a network without flow control");
    assert_same(&reference, &fast);
    assert!(fast.events * 4 < reference.events, "{} of {}", fast.events, reference.events);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn half_duplex_links_and_hubs_are_the_same(seed: u64) {
        same(&Shape(seed).half_duplex());
    }

    #[test]
    fn a_segment_of_csma_cd_is_the_same(seed: u64) {
        let mut shape = Shape(seed);
        let network = shape.network(true, |_, _| {});
        same(&shape.with_medium(network, false));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_bus_is_the_same(seed: u64) {
        let mut shape = Shape(seed);
        let network = shape.network(true, |_, _| {});
        same(&shape.with_medium(network, true));
    }

    #[test]
    fn a_regular_bus_is_the_same(seed: u64) {
        same(&Shape(seed).regular_bus());
    }

    #[test]
    fn media_beside_hubs_are_the_same(seed: u64) {
        let mut shape = Shape(seed);
        let network = shape.half_duplex();
        same(&shape.with_medium(network, false));
    }
}
