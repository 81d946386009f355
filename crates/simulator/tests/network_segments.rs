//! Shared media within networks: against segments alone, by hand, and by laws.

use crate::common::network::{
    balances, host, hub, link, phases, regular, run, saturated, stream, switch, trial, Shape,
};
use crate::common::{clause_148, simulate, IEEE_10, MS, S, US};
use ethermeter_trial::counts::{PortCounts, LOSSES};
use ethermeter_trial::Trial;
use proptest::prelude::*;
use serde_json::{json, Value};

const BIT: u64 = 100_000;
const OCTET: u64 = 8 * BIT;

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("a few")
}

/// A medium with one point for each of these nodes, each so far from the middle.
fn medium(mac: &Value, stations: &[(&str, u64, Value)]) -> Value {
    let delay = |a: usize, b: usize| if a == b { 0 } else { stations[a].1 + stations[b].1 };
    let row = |a| (0..stations.len()).map(|b| delay(a, b)).collect::<Vec<_>>();
    let station = |(point, (node, _, more)): (usize, &(&str, u64, Value))| {
        let mut station = json!({"node": node, "points": [point]});
        for (key, value) in more.as_object().into_iter().flatten() {
            station[key] = value.clone();
        }
        station
    };
    json!({"name": "bus", "bit_ps": BIT, "mac": mac,
        "delay_ps": (0..stations.len()).map(row).collect::<Vec<_>>(),
        "stations": stations.iter().enumerate().map(station).collect::<Vec<_>>()})
}

fn with_medium(mut trial: Trial, medium: Value) -> Trial {
    trial.scenario.media.push(serde_json::from_value(medium).expect("a medium"));
    trial
}

fn csma_cd() -> Value {
    json!({"csma_cd": IEEE_10})
}

fn plca() -> Value {
    json!({"plca": clause_148()})
}

/// A node of a bus with `count` opportunities.
fn turn(id: u32, count: u32) -> Value {
    json!({"plca": {"ids": [[id]], "node_count": count, "opportunity_bits": 32, "burst_bits": 128}})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A segment alone, and the same one in a network with links besides, are equal attempt by
    /// attempt: their stations have the same draws.
    #[test]
    fn a_segment_in_a_network_is_the_segment_alone(
        seed: u64,
        stations in 2..6usize,
        loads: u64,
        far in 1..8_000_000u64,
        has_plca: bool,
    ) {
        let mut shape = Shape(loads);
        let names: Vec<String> = (0..stations).map(|number| format!("s{number}")).collect();
        let limits = [json!({"attempt_limit": 3}), json!({"after_late_collision": "backoff"})];
        let on_medium: Vec<(&str, u64, Value)> = names
            .iter()
            .zip(0..)
            .map(|(name, number)| {
                let mut more = shape.pick(&limits);
                if has_plca && !shape.one_in(6) {
                    more["plca"] = turn(number, small(stations))["plca"].clone();
                }
                (name.as_str(), shape.below(far), more)
            })
            .collect();
        let arrivals = |shape: &mut Shape| match shape.below(3) {
            0 => saturated(),
            _ => json!({"kind": "poisson", "mean_ps": (100 + shape.below(4000)) * US}),
        };
        let to_next = |(number, name): (usize, &String)| {
            let to = &names[(number + 1) % stations];
            stream(name, to, 64 + shape.below(1400), &arrivals(&mut shape))
        };
        let mut flows: Vec<Value> = names.iter().enumerate().map(to_next).collect();
        let mut nodes: Vec<Value> = names.iter().map(|name| host(name, &json!({}))).collect();
        let times = phases(100 * MS);
        let medium = medium(&if has_plca { plca() } else { csma_cd() }, &on_medium);
        let without_receiver = |flow: &Value| {
            let mut flow = flow.clone();
            flow["to"] = json!([]);
            flow
        };
        let onto_medium: Vec<Value> = flows.iter().map(without_receiver).collect();
        let alone = trial(seed, &nodes, &[], &onto_medium, &times);
        let alone = simulate(&with_medium(alone, medium.clone())).expect("a segment");
        nodes.extend(["x", "y"].map(|name| host(name, &json!({}))));
        flows.push(stream("x", "y", 500, &regular(MS)));
        let links = [link("x", "y", OCTET / 10, 50_000)];
        let within = run(&with_medium(trial(seed, &nodes, &links, &flows, &times), medium));
        prop_assert!(within.flows[stations].messages > 90);
        let mut media = within.media;
        if alone.media[0].response_time.is_none() {
            media[0].response_time = None; // not counted where every source is saturated
        }
        prop_assert_eq!(&media, &alone.media);
        let mut stations = within.stations;
        // A source that waits for its host is not yet at the port; what it would offer alone is
        // not known there.
        stations.offered.clone_from(&alone.stations.offered);
        stations.offered_load.clone_from(&alone.stations.offered_load);
        prop_assert_eq!(stations, alone.stations);
    }

    /// Frames balance whatever becomes of a bus: damaged frames, lost beacons, nodes that are
    /// silent, without PLCA, or with the ID of another.
    #[test]
    fn frames_balance_under_faults(seed: u64, of_shape: u64) {
        let mut shape = Shape(of_shape);
        let names = ["gateway", "a", "b", "c", "d"];
        let mut constants = clause_148();
        constants.bit_error_rate = shape.pick(&[0.0, 1e-5, 1e-4]);
        constants.beacon_loss = shape.pick(&[0.0, 0.01]);
        let stations: Vec<(&str, u64, Value)> = names
            .iter()
            .zip(0..)
            .map(|(&name, number)| {
                let id = if shape.one_in(8) { 1 } else { number };
                let mut more = if shape.one_in(6) { json!({}) } else { turn(id, 5) };
                if shape.one_in(6) {
                    more["down"] = json!([{"from_ps": 10 * MS, "to_ps": 30 * MS}]);
                }
                (name, shape.below(100_000), more)
            })
            .collect();
        let mut nodes = vec![switch("gateway", &json!({"queue_frames": 8})), host("far", &json!({}))];
        nodes.extend(names[1..].iter().map(|name| host(name, &json!({}))));
        let pairs = [("a", "far"), ("far", "b"), ("c", "d"), ("d", "far"), ("far", "a")];
        let flows: Vec<Value> = pairs
            .iter()
            .map(|(from, to)| {
                let arrivals = json!({"kind": "poisson", "mean_ps": (300 + shape.below(3000)) * US});
                stream(from, to, 64 + shape.below(1400), &arrivals)
            })
            .collect();
        let links = [link("gateway", "far", OCTET / 10, 50_000)];
        let times = phases(60 * MS);
        let mac = json!({"plca": constants});
        let counts =
            run(&with_medium(trial(seed, &nodes, &links, &flows, &times), medium(&mac, &stations)));
        prop_assert!(counts.flows.iter().any(|flow| flow.messages > 0));
    }
}

#[test]
fn a_frame_through_a_gateway_takes_both_ways_after_each_other() {
    let nodes = [host("a", &json!({})), host("far", &json!({})), switch("gateway", &json!({}))];
    let links = [link("gateway", "far", OCTET / 10, 2 * US)];
    let flows =
        [stream("a", "far", 64, &regular(10 * MS)), stream("far", "a", 500, &regular(7 * MS))];
    let stations = [("gateway", 0, json!({})), ("a", US, json!({}))];
    let network = trial(3, &nodes, &links, &flows, &phases(S));
    let counts = run(&with_medium(network, medium(&csma_cd(), &stations)));
    // 72 octets at 10 Mb/s, 1 µs of cable, and 72 octets at 100 Mb/s with 2 µs of cable; but a frame
    // that finds the other on the line waits for it and the gap, and may collide with it.
    let alone = [72 * OCTET + US + 72 * OCTET / 10 + 2 * US, 508 * (OCTET + OCTET / 10) + 3 * US];
    for (flow, alone) in counts.flows.iter().zip(alone) {
        let (low, high, _) = flow.one_way.buckets[0];
        assert!((low..high).contains(&alone), "{alone}: {:?}", flow.one_way);
        assert!(flow.arrived == flow.offered && flow.offered > 90, "{flow:?}");
    }
    assert_eq!((counts.ports.len(), counts.nodes.flooded.len()), (6, 3));
    // The gateway has the port after the link, the host the one after its.
    assert_eq!(counts.ports[2].frames, counts.flows[1].messages);
    assert_eq!(counts.ports[4].frames, counts.flows[0].messages);
    assert_eq!(counts.ports[3], PortCounts::default());
}

#[test]
fn saturated_nodes_of_a_bus_behind_a_gateway_have_its_longest_cycle() {
    // A coordinator and 8 nodes with 64 octets: 20 + 9 · 680 bit times, as on a segment. From the
    // head of the queue a frame waits 70.4 µs longer at most (theory `plca-2019`: 686.8 µs).
    let names: Vec<String> = (1..9).map(|number| format!("h{number}")).collect();
    let mut nodes = vec![switch("gateway", &json!({})), host("far", &json!({}))];
    nodes.extend(names.iter().map(|name| host(name, &json!({}))));
    let mut flows: Vec<Value> =
        names.iter().map(|name| stream(name, "far", 64, &saturated())).collect();
    flows.push(stream("far", "h1", 64, &regular(100 * US)));
    let mut stations = vec![("gateway", 0, turn(0, 9))];
    stations.extend((1..).zip(&names).map(|(id, name)| (name.as_str(), 0, turn(id, 9))));
    let links = [link("gateway", "far", OCTET / 10, 0)];
    // Before the first beacon they collide as nodes without PLCA do, and may wait for long.
    let mut times = phases(S + 500 * MS);
    times["measure_from_ps"] = json!(500 * MS);
    let network = trial(1, &nodes, &links, &flows, &times);
    let counts = run(&with_medium(network, medium(&plca(), &stations)));
    let cycles = S / (614 * US);
    for station in 0..9 {
        let port = &counts.ports[2 + 2 * station];
        assert!(port.frames.abs_diff(cycles) <= 2, "{station}: {port:?}");
        assert!(port.access_most_ps <= 6868 * US / 10, "{station}: {port:?}");
        assert!(port.used.abs_diff(cycles) <= 2 && port.collisions == 0, "{station}: {port:?}");
    }
    assert!(counts.flows[8].balance.in_flight > 1000, "more comes than an opportunity a cycle");
}

#[test]
fn damaged_frames_are_lost_by_their_bits() {
    let rate: f64 = 1e-4;
    let mut constants = clause_148();
    constants.bit_error_rate = rate;
    let nodes = [host("a", &json!({})), host("b", &json!({}))];
    let flows = [stream("a", "b", 200, &regular(MS))];
    let stations = [("a", 0, turn(0, 2)), ("b", 0, turn(1, 2))];
    let network = trial(9, &nodes, &[], &flows, &phases(20 * S));
    let mac = json!({"plca": constants});
    let counts = simulate(&with_medium(network, medium(&mac, &stations))).expect("a bus");
    balances(&counts);
    let balance = &counts.flows[0].balance;
    let damaged = balance.lost[LOSSES.iter().position(|&name| name == "damaged").expect("a cause")];
    assert_eq!(damaged + balance.delivered + balance.in_flight, balance.sent);
    // 1600 bits of 20 000 frames: binomial, five standard deviations
    let (frames, chance) = (20_000.0, 1.0 - (1.0 - rate).powi(1600));
    let deviation = (frames * chance * (1.0 - chance)).sqrt();
    #[allow(clippy::cast_precision_loss)]
    let found = damaged as f64;
    assert!((found - frames * chance).abs() < 5.0 * deviation, "{found} of {frames}");
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        hub("hub"),
        host("c", &json!({})),
        host("e", &json!({})),
        host("d", &json!({})),
    ];
    let flows = [stream("a", "b", 64, &saturated())];
    let three = |more: Value| [("a", 0, json!({})), ("b", 0, json!({})), ("e", 0, more)];
    let fault = |medium: Value, links: &[Value]| {
        let network = trial(1, &nodes, links, &flows, &phases(S));
        simulate(&with_medium(network, medium)).expect_err("a fault").to_string()
    };
    let cd = [link("c", "d", OCTET, 0)];
    for (medium, links, key) in [
        (
            medium(
                &json!({"polling": {"walk_ps": 1, "discipline": "exhaustive"}}),
                &three(json!({})),
            ),
            &cd[..],
            "media[0].mac",
        ),
        (medium(&csma_cd(), &three(turn(0, 2))), &cd[..], "media[0].stations[2].plca"),
        (
            medium(&csma_cd(), &three(json!({"clock_error_ppb": 5}))),
            &cd[..],
            "media[0].stations[2].clock_error_ppb",
        ),
        (
            medium(
                &csma_cd(),
                &three(json!({"backoff": {"rule": "load-register", "bits": 8, "clock_ps": 1, "ticks": true}})),
            ),
            &cd[..],
            "media[0].stations[2].backoff",
        ),
        (
            medium(&csma_cd(), &three(json!({"points": [7]}))),
            &cd[..],
            "media[0].stations[2].points",
        ),
        (
            medium(&csma_cd(), &three(json!({"points": [1, 1]}))),
            &cd[..],
            "media[0].stations[2].points",
        ),
        (medium(&csma_cd(), &three(json!({"node": "hub"}))), &cd[..], "media[0].stations[2].node"),
        (
            medium(&csma_cd(), &three(json!({"node": "nobody"}))),
            &cd[..],
            "media[0].stations[2].node",
        ),
    ] {
        let found = fault(medium, links);
        assert!(found.starts_with(key), "{key}: {found}");
    }
    let mut fast = IEEE_10;
    fast.turnaround_ps = 5;
    let found = fault(medium(&json!({"csma_cd": fast}), &three(json!({}))), &cd);
    assert!(found.starts_with("media[0].mac.csma_cd.turnaround_ps"), "{found}");
    let twice =
        medium(&csma_cd(), &[("a", 0, json!({})), ("b", 0, json!({})), ("a", 0, json!({}))]);
    assert!(fault(twice, &cd).contains("a host must have one link"));
}
