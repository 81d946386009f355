//! Networks against hand calculations, queueing theory, laws, and each implementation against the
//! other.

use ethermeter_simulator::network::{simulate, traces, Traced, Trial};
use ethermeter_simulator::Watch;
use ethermeter_trial::counts::{Delays, FlowBatch};
use ethermeter_trial::Counts;
use proptest::prelude::*;
use serde_json::{json, Value};

const US: u64 = 1_000_000;
const MS: u64 = 1000 * US;
const S: u64 = 1000 * MS;

fn phases(length: u64) -> Value {
    json!({"begin_ps": 0, "stop_ps": length, "measure_from_ps": 0, "measure_to_ps": length, "end_ps": length, "spread_ps": 0})
}

fn trial(seed: u64, nodes: &[Value], links: &[Value], flows: &[Value], phases: &Value) -> Trial {
    serde_json::from_value(json!({"seed": seed, "scenario": {
        "network": {"nodes": nodes, "links": links}, "flows": flows, "phases": phases}}))
    .expect("a trial of the right shape")
}

fn host(name: &str, host: &Value) -> Value {
    json!({"name": name, "kind": {"host": host}})
}

fn switch(name: &str, switch: &Value) -> Value {
    let mut switch = switch.clone();
    if switch.get("learning").is_none() {
        switch["learning"] = json!("known");
    }
    json!({"name": name, "kind": {"switch": switch}})
}

fn link(a: &str, b: &str, ps_per_octet: u64, delay_ps: u64) -> Value {
    json!({"ends": [{"node": a}, {"node": b}], "ps_per_octet": ps_per_octet, "delay_ps": delay_ps})
}

fn fixed(octets: u64) -> Value {
    json!({"kind": "fixed", "bits": octets * 8})
}

fn stream(from: &str, to: &str, octets: u64, arrivals: &Value) -> Value {
    json!({"name": format!("{from} to {to}"), "from": from, "to": [to], "frames": fixed(octets), "arrivals": arrivals})
}

fn saturated() -> Value {
    json!({"kind": "saturated"})
}

fn regular(period_ps: u64) -> Value {
    json!({"kind": "regular", "period_ps": period_ps})
}

fn ping_pong(from: &str, to: &str, request: u64, response: u64) -> Value {
    json!({"name": "ping", "from": from, "to": [to], "frames": fixed(request), "arrivals": saturated(),
        "response": {"frames": fixed(response), "think": {"kind": "constant", "ps": 0}}})
}

/// Both implementations must balance; their outcomes must be the same where both exist.
fn run(trial: &Trial) -> Counts {
    let (reference, fast) = traces(trial).expect("a valid trial");
    balances(&reference);
    if let Some(fast) = fast {
        assert_same(&reference, &fast);
    }
    let outcome = simulate(trial).expect("a valid trial");
    assert_eq!((&outcome.flows, &outcome.ports), (&reference.flows, &reference.ports));
    outcome
}

#[allow(clippy::cast_precision_loss)]
fn mean_s(delays: &Delays) -> f64 {
    delays.sum_ps as f64 / delays.count as f64 * 1e-12
}

fn assert_same(reference: &Traced, fast: &Traced) {
    let differs = reference.trace.iter().zip(&fast.trace).position(|(a, b)| a != b);
    if let Some(at) = differs {
        panic!("delivery {at}: {:?} {:?}", reference.trace[at], fast.trace[at]);
    }
    assert_eq!(reference.trace.len(), fast.trace.len());
    assert_eq!(reference.ports, fast.ports);
    assert_eq!(reference.flows, fast.flows);
    assert_eq!(reference.nodes.flooded, fast.nodes.flooded);
}

fn balances(outcome: &Counts) {
    for flow in &outcome.flows {
        let b = &flow.balance;
        assert_eq!(
            b.sent + b.copied,
            b.delivered + b.lost.iter().sum::<u64>() + b.in_flight,
            "{b:?}"
        );
        for delays in [&flow.one_way, &flow.round_trip, &flow.between_arrivals] {
            assert_eq!(
                delays.count,
                delays.buckets.iter().map(|bucket| bucket.2).sum::<u64>(),
                "{delays:?}"
            );
        }
        if let Some(voice) = &flow.voice {
            let host = voice.host;
            assert_eq!(host.made, host.sent + host.lost + host.left, "{voice:?}");
            assert_eq!(
                host.sent,
                voice.delivered + voice.lost.iter().sum::<u64>() + voice.under_way,
                "{voice:?}"
            );
            assert_eq!(voice.sample_delay.count, voice.delivered, "{voice:?}");
        }
    }
}

/// A host of Hughes-Jones and Saka 2000: software, PCI at the measured rate (14 octets of header,
/// no FCS), interface.
fn pc() -> Value {
    // 26.32 us = 2 t_sw + 2 t_nic + 26 R_net + 28 R_pci with t_nic = 4.25 us leaves t_sw = 8.6975
    // us... in ps
    let software = (26_320_000 - 2 * 4_250_000 - 26 * 8000 - 28 * 7750) / 2;
    let pci = json!({"name": "pci", "resource": "pci", "ps_per_octet": 7750, "extra_octets": -4});
    let nic = json!({"name": "nic", "delay_ps": 4_250_000});
    let sw = json!({"name": "software", "fixed_ps": software});
    json!({"send": [sw, pci, nic], "receive": [nic, pci, sw]})
}

#[test]
fn two_hosts_give_equation_2_1_of_hughes_jones_and_saka() {
    // T(b) = 26.32 + 0.0235 b us; b user octets in a frame of b + 18.
    for user in [64u64, 512, 1500] {
        let nodes = [host("a", &pc()), host("b", &pc())];
        let links = [link("a", "b", 8000, 0)];
        let outcome = run(&trial(
            1,
            &nodes,
            &links,
            &[ping_pong("a", "b", user + 18, user + 18)],
            &phases(10 * MS),
        ));
        let flow = &outcome.flows[0];
        assert!(flow.completed > 50);
        let expected = 26_320_000 + u128::from(23_500 * user);
        assert_eq!(flow.one_way.sum_ps, expected * u128::from(flow.one_way.count));
        assert_eq!(flow.answer_one_way.sum_ps, expected * u128::from(flow.answer_one_way.count));
        assert_eq!(flow.round_trip.sum_ps, 2 * expected * u128::from(flow.completed));
    }
}

#[test]
fn an_alteon_switch_adds_storing_and_its_backplane() {
    // Switch alone: 6.119 + 0.0115 b us, of which 0.008 is the wire and 0.0035 the backplane.
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch(
            "s",
            &json!({"fabric": {"shared": {"name": "backplane", "ps_per_octet": 3500, "delay_ps": 1000}}}),
        ),
    ];
    let links = [link("a", "s", 8000, 0), link("b", "s", 8000, 0)];
    for octets in [64u64, 1518] {
        let outcome = run(&trial(
            1,
            &nodes,
            &links,
            &[ping_pong("a", "b", octets, octets)],
            &phases(10 * MS),
        ));
        let expected = u128::from(2 * 8000 * (octets + 8) + 3500 * octets + 1000);
        let flow = &outcome.flows[0];
        assert!(flow.completed > 100);
        assert_eq!(flow.one_way.sum_ps, expected * u128::from(flow.one_way.count));
    }
}

#[test]
fn a_switch_that_cuts_through_adds_its_header_only() {
    // Preamble and 14 octets, then the frame goes on while it comes in; at the same rate it costs
    // nothing more.
    let nodes =
        [host("a", &json!({})), host("b", &json!({})), switch("s", &json!({"overlap_octets": 14}))];
    let outcome = |rate_out: u64| {
        let links = [link("a", "s", 8000, 300), link("b", "s", rate_out, 500)];
        run(&trial(
            1,
            &nodes,
            &links,
            &[stream("a", "b", 1518, &regular(100 * US))],
            &phases(10 * MS),
        ))
    };
    let same = outcome(8000);
    assert_eq!(
        same.flows[0].one_way.sum_ps,
        u128::from(8000 * (8 + 14 + 8 + 1518) + 800u64) * u128::from(same.flows[0].one_way.count)
    );
    // A faster port out begins so late that it does not run dry: the last octet leaves when it has
    // come.
    let faster = outcome(800);
    assert_eq!(
        faster.flows[0].one_way.sum_ps,
        u128::from(8000 * (8 + 1518) + 800u64) * u128::from(faster.flows[0].one_way.count)
    );
    assert!(same.flows[0].messages >= 99);
}

#[test]
fn overlapped_stages_take_as_long_as_the_slowest_and_the_heads_of_the_others() {
    // Fast Ethernet of the Intel card: the wire starts 64 octets into the PCI transfer and does not
    // wait for it.
    let pci = json!({"name": "pci", "ps_per_octet": 7750, "overlap_octets": 64});
    let nodes = [host("a", &json!({"send": [pci]})), host("b", &json!({}))];
    let links = [link("a", "b", 80_000, 0)];
    let outcome =
        run(&trial(1, &nodes, &links, &[stream("a", "b", 1518, &regular(MS))], &phases(20 * MS)));
    assert_eq!(
        outcome.flows[0].one_way.sum_ps,
        u128::from(64 * 7750 + 80_000 * 1526u64) * u128::from(outcome.flows[0].one_way.count)
    );
}

#[test]
fn a_bus_in_bursts_pays_for_each_burst() {
    // 1514 octets in bursts of 380 are four.
    let pci = json!({"name": "pci", "ps_per_octet": 7575, "extra_octets": -4, "burst": {"octets": 380, "ps": 300_000}});
    let nodes = [host("a", &json!({})), host("b", &json!({"receive": [pci]}))];
    let links = [link("a", "b", 8000, 0)];
    let outcome =
        run(&trial(1, &nodes, &links, &[stream("a", "b", 1518, &regular(MS))], &phases(20 * MS)));
    let expected = u128::from(8000 * 1526 + 7575 * 1514 + 4 * 300_000u64);
    assert_eq!(
        outcome.flows[0].one_way.sum_ps,
        expected * u128::from(outcome.flows[0].one_way.count)
    );
}

#[test]
fn an_interrupt_for_several_frames_makes_the_first_wait_for_the_last_or_for_the_time() {
    let mean = |frames: u64, wait: u64| {
        let nic = json!({"receive": [{"name": "nic", "coalesce": {"frames": frames, "ps": wait}}]});
        let nodes = [host("a", &json!({})), host("b", &nic)];
        let outcome = run(&trial(
            1,
            &nodes,
            &[link("a", "b", 8000, 0)],
            &[stream("a", "b", 64, &regular(20 * US))],
            &phases(10 * MS),
        ));
        // What is left of a batch at the end may not have come.
        let flow = &outcome.flows[0];
        assert!(flow.messages > 490 && flow.balance.in_flight < 8);
        (flow.one_way.sum_ps, u128::from(flow.messages))
    };
    // 0.576 us on the wire. Four frames, 20 us apart: the first waits 60 us, the last not at all.
    let (sum, count) = mean(4, 100 * US);
    assert_eq!((sum, count % 4), (count * u128::from(576_000 + 30 * US), 0));
    // The time is over with the third: 50, 30 and 10 us.
    let (sum, count) = mean(8, 50 * US);
    assert_eq!((sum, count % 3), (count * u128::from(576_000 + 30 * US), 0));
    // Alone, each waits all of the time.
    let (sum, count) = mean(8, 15 * US);
    assert_eq!(sum, count * u128::from(576_000 + 15 * US));
}

#[test]
fn throughput_is_that_of_the_slowest_stage() {
    // Software of 12.5 us a frame: 80 000 frames a second, whatever the wire could do.
    let receive = json!({"receive": [{"name": "software", "fixed_ps": 12_500_000}]});
    let nodes = [host("a", &json!({})), host("b", &receive)];
    let outcome = run(&trial(
        1,
        &nodes,
        &[link("a", "b", 8000, 0)],
        &[stream("a", "b", 64, &saturated())],
        &phases(10 * MS),
    ));
    // One every 12.5 us from 0.576 us on.
    assert_eq!(outcome.flows[0].messages, (10 * MS - 576_000) / 12_500_000);
}

#[test]
fn many_to_one_gets_the_line_rate_and_drops_the_rest() {
    let mut nodes: Vec<Value> = ["a", "b", "c", "d"].map(|name| host(name, &json!({}))).to_vec();
    nodes.push(switch("s", &json!({"queue_frames": 20})));
    let links: Vec<Value> =
        (0..4).map(|i| link(["a", "b", "c", "d"][i], "s", 8000, 1000 + 17 * i as u64)).collect();
    let flows: Vec<Value> =
        ["a", "b", "c"].map(|name| stream(name, "d", 1518, &saturated())).to_vec();
    let outcome = run(&trial(1, &nodes, &links, &flows, &phases(100 * MS)));
    let received: u64 = outcome.flows.iter().map(|flow| flow.messages).sum();
    // First in at 12.208 us and the cable, then one every 1538 octets; out after as long again.
    let line = (100 * MS - 2 * 1526 * 8000) / (1538 * 8000);
    assert!(received.abs_diff(line) <= 1, "{received} {line}");
    assert_eq!(outcome.ports[7].queue_most, 20);
    // Two thirds are too much. Whose they are is up to phases: saturated senders of one rate stay
    // in step.
    let lost: u64 = outcome.flows.iter().map(|flow| flow.balance.lost[0]).sum();
    assert!((lost + 20).abs_diff(2 * received) <= 6, "{lost} {received}");
}

#[test]
fn minimal_frames_come_at_the_rate_that_each_link_is_known_for() {
    // 84 octet times a frame of 64: 14 880.95 a second at 10 Mb/s, and in proportion up to 400
    // Gb/s.
    for mbps in [10u64, 100, 1000, 2500, 10_000, 25_000, 40_000, 100_000, 400_000] {
        let links = [link("a", "b", 8_000_000 / mbps, 0)];
        let nodes = [host("a", &json!({})), host("b", &json!({}))];
        let length = 100 * S / mbps;
        let outcome =
            run(&trial(1, &nodes, &links, &[stream("a", "b", 64, &saturated())], &phases(length)));
        let expected = count(mbps) * 1_488.095_238 * count(length) / count(S);
        assert!((count(outcome.flows[0].messages) - expected).abs() < 1.0, "{mbps}: {expected}");
    }
}

#[test]
fn a_shared_backplane_limits_the_sum_and_a_crossbar_does_not() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let total = |fabric: &Value| {
        let mut nodes: Vec<Value> = names.map(|name| host(name, &json!({}))).to_vec();
        nodes.push(switch("s", &json!({"fabric": fabric})));
        let links: Vec<Value> = names
            .iter()
            .zip(0u64..)
            .map(|(name, i)| {
                json!({"ends": [{"node": name}, {"node": "s", "module": i}], "ps_per_octet": 8000, "delay_ps": 13 * i})
            })
            .collect();
        let flows = [("a", "b"), ("c", "d"), ("e", "f")]
            .map(|(from, to)| stream(from, to, 1518, &saturated()));
        let outcome = run(&trial(1, &nodes, &links, &flows, &phases(100 * MS)));
        outcome.flows.iter().map(|flow| flow.messages).sum::<u64>()
    };
    let line = 3 * (100 * MS / (1538 * 8000));
    let shared = total(&json!({"shared": {"name": "backplane", "ps_per_octet": 3500}}));
    let backplane = 100 * MS / (1518 * 3500);
    // At the end what is in the switch has not come yet: less than 100 us of it.
    assert!(shared <= backplane && shared + 20 >= backplane, "{shared} {backplane} {line}");
    let path = json!({"name": "link", "ps_per_octet": 6667});
    let crossbar = total(&json!({"crossbar": {"local": null, "inward": path, "outward": path}}));
    assert!(crossbar <= line && crossbar + 20 >= line, "{crossbar} {line}");
}

#[test]
fn modules_switch_locally_without_the_crossbar() {
    let stage = |ps: u64| json!({"name": "link", "ps_per_octet": ps});
    let fabric =
        json!({"crossbar": {"local": null, "inward": stage(4000), "outward": stage(4100)}});
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        host("c", &json!({})),
        switch("s", &json!({"fabric": fabric})),
    ];
    let ends = |name: &str, module: u64| json!({"ends": [{"node": name}, {"node": "s", "module": module}], "ps_per_octet": 80_000});
    let links = [ends("a", 0), ends("b", 0), ends("c", 1)];
    let flows = [stream("a", "b", 1518, &regular(MS)), stream("a", "c", 1518, &regular(MS))];
    let outcome = run(&trial(3, &nodes, &links, &flows, &phases(50 * MS)));
    let least = |flow: usize| {
        outcome.flows[flow].one_way.sum_ps / u128::from(outcome.flows[flow].one_way.count)
    };
    // Two streams with random phases on one link: apart, unless their phases are within a frame's
    // time; this seed's are not.
    assert_eq!(least(0), u128::from(2 * 80_000 * 1526u64));
    assert_eq!(least(1), u128::from(2 * 80_000 * 1526 + 8100 * 1518u64));
}

#[test]
fn streams_of_one_phase_meet_at_a_port_out_and_streams_half_a_period_apart_do_not() {
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        host("c", &json!({})),
        switch("s", &json!({})),
    ];
    let links = [link("a", "s", 80_000, 0), link("b", "s", 80_000, 0), link("c", "s", 80_000, 0)];
    let phased =
        |phase_us: u64| json!({"kind": "regular", "period_ps": 10 * MS, "phase_ps": phase_us * US});
    for (apart_us, waits) in [(0, true), (5000, false)] {
        let flows = [stream("a", "c", 1518, &phased(0)), stream("b", "c", 1518, &phased(apart_us))];
        for seed in 1..4 {
            let outcome = run(&trial(seed, &nodes, &links, &flows, &phases(100 * MS)));
            let sums: u128 = outcome.flows.iter().map(|flow| flow.one_way.sum_ps).sum();
            assert_eq!(
                outcome.flows.iter().map(|flow| flow.one_way.count).collect::<Vec<_>>(),
                [10, 10]
            );
            // Stored at the switch: two wires for each; of two that meet, one waits for the other's
            // frame, preamble and gap.
            let wait = u128::from(waits) * 10 * 80_000 * 1538;
            assert_eq!(sums, 20 * 2 * 80_000 * 1526 + wait);
        }
    }
}

#[test]
fn a_phase_of_a_whole_period_or_of_nothing_but_a_regular_source_is_refused() {
    let nodes = [host("a", &json!({})), host("b", &json!({}))];
    let with = |arrivals: Value| {
        json!({"seed": 1, "scenario": {"network": {"nodes": &nodes, "links": [link("a", "b", 8000, 0)]},
        "flows": [stream("a", "b", 64, &arrivals)], "phases": phases(MS)}})
    };
    let whole: Trial =
        serde_json::from_value(with(json!({"kind": "regular", "period_ps": US, "phase_ps": US})))
            .expect("the right shape");
    let fault = simulate(&whole).expect_err("a phase of a whole period").to_string();
    assert!(
        fault.contains("flows[0].arrivals: phase_ps must be below period_ps, 1000000, got 1000000"),
        "{fault}"
    );
    let poisson = json!({"kind": "poisson", "mean_ps": 1e9, "phase_ps": 0});
    assert!(serde_json::from_value::<Trial>(with(poisson)).is_err());
}

#[test]
fn a_switch_floods_until_it_has_learned_and_again_when_it_has_forgotten() {
    let names = ["a", "b", "c", "d"];
    let flooded = |age: u64, back: bool, addresses: u64| {
        let mut nodes: Vec<Value> = names.map(|name| host(name, &json!({}))).to_vec();
        nodes.push(switch(
            "s",
            &json!({"learning": {"learns": {"age_ps": age, "addresses": addresses}}}),
        ));
        let links: Vec<Value> =
            names.iter().zip(0..).map(|(name, i)| link(name, "s", 8000, 100 + i)).collect();
        let flow = if back {
            ping_pong("a", "b", 64, 64)
        } else {
            stream("a", "b", 64, &regular(100 * US))
        };
        let mut flow = flow;
        flow["service"] = json!({"kind": "constant", "ps": 100 * US});
        let outcome = run(&trial(1, &nodes, &links, &[flow], &phases(10 * MS)));
        (outcome.flows[0].clone(), outcome.nodes.flooded[4])
    };
    // b never speaks: all is flooded, to the two that ignore it too.
    let (silent, times) = flooded(S, false, 100);
    assert!(times >= 99 && silent.balance.copied == 2 * times, "{times} {silent:?}");
    assert!(silent.balance.lost[3] + 2 >= 2 * times);
    // b answers: once.
    assert_eq!(flooded(S, true, 100).1, 1);
    // b speaks every 102 us and is forgotten after 50: the request always finds it unknown.
    let (ages, times) = flooded(50 * US, true, 100);
    assert!(times >= ages.completed && ages.completed > 90, "{times} {ages:?}");
    // Room for one address, which is a's: b stays unknown.
    let (full, times) = flooded(S, true, 1);
    assert!(times >= full.completed && full.completed > 90);
}

#[test]
fn a_group_is_for_its_members_and_broadcast_costs_everybody() {
    let names = ["a", "b", "c", "d"];
    let outcome = |address: &str| {
        let mut nodes: Vec<Value> = names.map(|name| host(name, &json!({}))).to_vec();
        nodes.push(switch("s", &json!({})));
        let links: Vec<Value> =
            names.iter().zip(0..).map(|(name, i)| link(name, "s", 8000, 100 + i)).collect();
        let flow = json!({"name": "group", "from": "a", "to": ["b", "c"], "address": address, "frames": fixed(64), "arrivals": saturated(),
            "response": {"frames": fixed(1518), "think": {"kind": "constant", "ps": 0}}});
        run(&trial(1, &nodes, &links, &[flow], &phases(10 * MS)))
    };
    for address in ["multicast", "broadcast"] {
        let flow = &outcome(address).flows[0];
        assert!(flow.completed > 200);
        // The second answer waits for the first on the way to a: 1538 octets later, less what c's
        // cable delays its own.
        let mean = flow.round_trip.sum_ps / u128::from(flow.completed);
        let request = 72 * 8000 * 2 + 100;
        let first = 1526 * 8000 * 2 + 100;
        assert_eq!(mean, u128::from(request + 101 + first + 101 + 1538 * 8000u64), "{flow:?}");
        assert!(
            flow.balance.lost[3] >= flow.completed
                && flow.balance.copied == 2 * (flow.balance.lost[3].max(flow.completed + 1))
        );
    }
}

#[test]
fn datagrams_of_5000_octets_come_whole_or_not_at_all() {
    // ERG's segments over 10 Mb/s: four frames, 5178 octets with their FCS, preambles and gaps 80
    // more.
    let nodes =
        [host("a", &json!({})), host("b", &json!({})), switch("s", &json!({"queue_frames": 3}))];
    let mut flow = stream("a", "b", 5000, &saturated());
    flow["framing"] = json!({"udp": {"mtu_octets": 1500}});
    let whole = run(&trial(
        1,
        &nodes,
        &[link("a", "s", 800_000, 0), link("b", "s", 800_000, 0)],
        &[flow.clone()],
        &phases(S),
    ));
    let octets = 3 * 1518 + 606 + 4 * 20;
    let messages = S / (octets * 800_000);
    assert!(whole.flows[0].messages.abs_diff(messages) <= 1, "{messages} {:?}", whole.flows[0]);
    // Into a link of half the rate: every datagram loses a piece sooner or later, and only whole
    // ones count.
    let lossy = run(&trial(
        1,
        &nodes,
        &[link("a", "s", 800_000, 0), link("b", "s", 1_600_000, 0)],
        &[flow],
        &phases(S),
    ));
    let b = &lossy.flows[0].balance;
    assert!(b.lost[0] > 0 && 4 * lossy.flows[0].messages < b.delivered, "{b:?}");
}

#[test]
fn a_router_forwards_as_fast_as_it_can_and_no_faster() {
    let router = json!({"name": "r", "kind": {"router": {"forward": {"name": "cpu", "fixed_ps": 400 * US, "queue_frames": 50}}}});
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch("s", &json!({"learning": {"learns": {"age_ps": S, "addresses": 9}}})),
        router,
    ];
    let links = [link("a", "s", 80_000, 0), link("s", "r", 80_000, 0), link("r", "b", 80_000, 0)];
    let ping = run(&trial(1, &nodes, &links, &[ping_pong("a", "b", 64, 64)], &phases(S)));
    assert!(ping.flows[0].completed > 1000);
    assert_eq!(
        ping.flows[0].one_way.sum_ps / u128::from(ping.flows[0].one_way.count),
        u128::from(3 * 72 * 80_000 + 400 * US)
    );
    let full = run(&trial(1, &nodes, &links, &[stream("a", "b", 1518, &saturated())], &phases(S)));
    // 2500 a second, less the 0.24 ms to the router and the 0.12 from it.
    assert!(full.flows[0].messages.abs_diff(2499) <= 1, "{:?}", full.flows[0]);
    assert!(full.flows[0].balance.lost[0] > 1000);
}

#[test]
fn answers_that_are_lost_are_waited_for_no_longer_than_the_timeout() {
    // A full port towards b: requests are lost among the stream, and given up after 5 ms.
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        host("c", &json!({})),
        switch("s", &json!({"queue_frames": 4})),
    ];
    let links = [link("a", "s", 8000, 11), link("b", "s", 80_000, 22), link("c", "s", 8000, 33)];
    let mut ping = ping_pong("a", "b", 64, 64);
    ping["response"]["timeout_ps"] = json!(5 * MS);
    let outcome =
        run(&trial(1, &nodes, &links, &[ping, stream("c", "b", 1518, &saturated())], &phases(S)));
    let flow = &outcome.flows[0];
    assert!(flow.timed_out > 50, "{flow:?}");
    assert!(flow.timed_out * 5 <= 1000);
}

// Queueing theory

/// Means of `values`, and the half width of their interval at four standard errors.
#[allow(clippy::cast_precision_loss)]
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 4.0 * (variance / n).sqrt())
}

/// Mean wait in seconds on a link of 1 Gb/s without gap or preamble, at each of 40 seeds.
fn waits(frames: &Value, mean_ps: f64, mean_service_ps: f64) -> Vec<f64> {
    let bare = json!({"ends": [{"node": "a"}, {"node": "b"}], "ps_per_octet": 8000, "preamble_octets": 0, "gap_octets": 0});
    let warm = json!({"begin_ps": 0, "stop_ps": 2 * S, "measure_from_ps": S / 10, "measure_to_ps": 2 * S, "end_ps": 2 * S, "spread_ps": 0});
    (0..40)
        .map(|seed| {
            let mut flow = stream("a", "b", 64, &json!({"kind": "poisson", "mean_ps": mean_ps}));
            flow["frames"] = frames.clone();
            let nodes = [host("a", &json!({})), host("b", &json!({}))];
            let outcome =
                simulate(&trial(seed, &nodes, std::slice::from_ref(&bare), &[flow], &warm))
                    .expect("a valid trial");
            mean_s(&outcome.flows[0].one_way) * 1e12 - mean_service_ps
        })
        .collect()
}

#[test]
fn a_link_with_poisson_arrivals_waits_as_pollaczek_and_khinchine_say() {
    // M/D/1: W = rho S / 2 (1 - rho). M/G/1: W = lambda E[S^2] / 2 (1 - rho). S = 8 ns an octet.
    let service = |octets: f64| 8000.0 * octets;
    for rho in [0.3, 0.7, 0.9] {
        let s = service(1250.0);
        let (wait, half) = interval(&waits(&fixed(1250), s / rho, s));
        let expected = rho * s / (2.0 * (1.0 - rho));
        assert!(
            (wait - expected).abs() < half && half < 0.1 * expected,
            "rho {rho}: {wait} ± {half}, {expected}"
        );

        let (short, long) = (service(64.0), service(1518.0));
        let mean = 0.75f64.mul_add(short, 0.25 * long);
        let second = 0.75 * short * short + 0.25 * long * long;
        let mix = json!({"kind": "mix", "bits": [512, 12144], "weights": [3.0, 1.0]});
        // The mean service of the frames that came is their own; its error adds to the wait's, and
        // shows in the interval.
        let (wait, half) = interval(&waits(&mix, mean / rho, mean));
        let expected = rho / mean * second / (2.0 * (1.0 - rho));
        assert!(
            (wait - expected).abs() < half && half < 0.1 * expected,
            "rho {rho}: {wait} ± {half}, {expected}"
        );
    }
}

#[test]
fn a_second_pair_on_a_shared_backplane_adds_the_wait_of_one_that_comes_at_any_moment() {
    // Hughes-Jones and Saka 2000, section 4.1.4: 1500 octets take 5.3 us of the Alteon's backplane.
    // A stream that is regular, with a phase of its own, finds it taken by the other for s of its
    // period P: it waits s^2 / 2P on average over phases. (They expected 0.64 us and saw 1.1.)
    let names = ["a", "b", "c", "d"];
    let (service, period) = (3500 * 1518, 21_530_000);
    let mean_us = |seed: u64, pairs: usize| {
        let mut nodes: Vec<Value> = names.map(|name| host(name, &json!({}))).to_vec();
        nodes.push(switch(
            "s",
            &json!({"fabric": {"shared": {"name": "backplane", "ps_per_octet": 3500}}}),
        ));
        let links: Vec<Value> = names.iter().map(|name| link(name, "s", 8000, 0)).collect();
        let flows =
            [stream("a", "b", 1518, &regular(period)), stream("c", "d", 1518, &regular(period))];
        let outcome = run(&trial(seed, &nodes, &links, &flows[..pairs], &phases(2 * MS)));
        mean_s(&outcome.flows[0].one_way) * 1e6
    };
    let alone = mean_us(1, 1);
    let (wait, half) =
        interval(&(0..2000).map(|seed| mean_us(seed, 2) - alone).collect::<Vec<f64>>());
    let expected = count(service) * count(service) / (2.0 * count(period)) * 1e-6;
    assert!(
        (wait - expected).abs() < half && half < 0.25 * expected,
        "{wait} ± {half}, {expected}"
    );
}

#[test]
fn a_queue_beyond_all_time_is_still_on_its_way_at_the_end() {
    let slow = json!({"name": "slow", "fixed_ps": 1_000_000_000_000u64, "burst": {"octets": 1, "ps": 1_000_000_000_000u64}});
    let nodes = [host("a", &json!({})), host("b", &json!({"receive": [slow]}))];
    let outcome = run(&trial(
        1,
        &nodes,
        &[link("a", "b", 1, 0)],
        &[stream("a", "b", 1518, &saturated())],
        &phases(10 * MS / 10),
    ));
    let b = &outcome.flows[0].balance;
    assert!(b.sent > 500_000 && b.in_flight == b.sent);
}

// Flow control and half-duplex links

fn pausing(octets: u64, high: u64, low: u64) -> Value {
    json!({"octets": octets, "pause": {"high_octets": high, "low_octets": low, "quanta": 65535}})
}

#[test]
fn pause_makes_many_to_one_lossless_at_line_rate() {
    let names = ["a", "b", "c", "d"];
    let outcome = |buffer: &Value| {
        let mut nodes: Vec<Value> = names.map(|name| host(name, &json!({}))).to_vec();
        nodes.push(switch("s", &json!({"buffer": buffer})));
        let links: Vec<Value> =
            names.iter().zip(0..).map(|(name, i)| link(name, "s", 8000, 1000 + 17 * i)).collect();
        let flows: Vec<Value> =
            ["a", "b", "c"].map(|name| stream(name, "d", 1518, &saturated())).to_vec();
        run(&trial(1, &nodes, &links, &flows, &phases(100 * MS)))
    };
    let with = outcome(&pausing(32_000, 16_000, 8000));
    let received: u64 = with.flows.iter().map(|flow| flow.messages).sum();
    let line = (100 * MS - 2 * 1526 * 8000) / (1538 * 8000);
    assert!(received.abs_diff(line) <= 1, "{received} {line}");
    assert!(
        with.flows.iter().all(|flow| flow.balance.lost == [0; 5] && flow.messages > 0),
        "{:?}",
        with.flows
    );
    assert!([1, 3, 5]
        .iter()
        .all(|port| with.ports[*port].pauses_sent > 0 && with.ports[*port].buffer_most <= 32_000));
    assert!(with.ports[0].pauses_received > 0);
    // The same memory without flow control loses.
    let without = outcome(&json!({"octets": 32_000}));
    assert!(without.flows.iter().map(|flow| flow.balance.lost[1]).sum::<u64>() > 1000);
}

#[test]
fn a_slow_receiver_holds_its_sender_back_by_pause() {
    // 12.5 us a frame in the receiver, 64-octet frames at gigabit: 80 000 a second, none lost
    // (Hughes-Jones and Saka 2000, section 4.2).
    let receive = json!({"receive": [{"name": "software", "fixed_ps": 12_500_000}], "buffer": pausing(64_000, 4000, 2000)});
    let nodes = [host("a", &json!({})), host("b", &receive)];
    let outcome = run(&trial(
        1,
        &nodes,
        &[link("a", "b", 8000, 0)],
        &[stream("a", "b", 64, &saturated())],
        &phases(100 * MS),
    ));
    let flow = &outcome.flows[0];
    assert_eq!(flow.messages, (100 * MS - 576_000) / 12_500_000);
    assert_eq!(flow.balance.lost, [0; 5]);
    // The sender is held: it has sent no more than was taken and the buffer holds.
    assert!(flow.balance.sent <= flow.messages + 64_000 / 64 + 2);
}

fn half(a: &str, b: &str, ps_per_octet: u64, delay_ps: u64) -> Value {
    let mut link = link(a, b, ps_per_octet, delay_ps);
    link["half_duplex"] = json!(true);
    link
}

fn hub(name: &str) -> Value {
    json!({"name": name, "kind": {"hub": {}}})
}

#[test]
fn one_sender_on_a_hub_gets_what_a_link_gives() {
    // 10 Mb/s: one frame of 1518 octets every 1538 octet times, heard by everybody.
    let nodes = [host("a", &json!({})), host("b", &json!({})), host("c", &json!({})), hub("h")];
    let links = [
        half("a", "h", 800_000, 500_000),
        half("b", "h", 800_000, 500_000),
        half("c", "h", 800_000, 500_000),
    ];
    let outcome =
        run(&trial(1, &nodes, &links, &[stream("a", "b", 1518, &saturated())], &phases(S)));
    let flow = &outcome.flows[0];
    // The last may still be on the cable.
    assert!(flow.messages.abs_diff(S / (1538 * 800_000)) <= 1, "{flow:?}");
    assert_eq!(outcome.ports[0].collisions, 0);
    assert!(flow.balance.copied == flow.messages || flow.balance.copied == flow.messages + 1);
    // Each but the first is there when the one before ends, and waits for the gap.
    let each = 1526 * 800_000 + 1_000_000 + 12 * 800_000;
    assert_eq!(flow.one_way.sum_ps, u128::from(each * flow.messages - 12 * 800_000));
}

#[test]
fn saturated_stations_on_a_hub_share_as_those_on_a_segment_do() {
    // The same 5 stations of 10 Mb/s on a hub here and on a shared segment: goodput within the
    // intervals of 20 replications each.
    let names = ["a", "b", "c", "d", "e"];
    let hub_frames: Vec<f64> = (0..20)
        .map(|seed| {
            let mut nodes: Vec<Value> = names.map(|name| host(name, &json!({}))).to_vec();
            nodes.push(hub("h"));
            let links: Vec<Value> =
                names.iter().map(|name| half(name, "h", 800_000, 500_000)).collect();
            let flows: Vec<Value> =
                (0..5).map(|i| stream(names[i], names[(i + 1) % 5], 512, &saturated())).collect();
            let outcome = run(&trial(seed, &nodes, &links, &flows, &phases(2 * S)));
            count(outcome.flows.iter().map(|flow| flow.messages).sum())
        })
        .collect();
    let segment_frames: Vec<f64> = (0..20u64)
        .map(|seed| {
            let segment = json!({"bit_ps": 100_000, "slot_bits": 512, "gap_bits": 96, "gap_part1_bits": 64, "preamble_bits": 64,
                "jam_bits": 32, "delay_ps": [[1_000_000]]});
            let group = json!({"name": "host", "places": [0, 0, 0, 0, 0], "frames": fixed(512), "arrivals": saturated(), "generator": null,
                "queue_frames": null, "service": {"kind": "constant", "ps": 0}, "backoff": {"rule": "exponential", "limit": 10},
                "attempt_limit": 16, "after_attempt_limit": "discard", "after_late_collision": "backoff"});
            let trial: ethermeter_simulator::Trial = serde_json::from_value(
                json!({"seed": seed + 100, "scenario": {"segment": segment, "groups": [group], "phases": phases(2 * S), "batches": 1}}),
            )
            .expect("a trial");
            count(ethermeter_simulator::simulate(&trial).expect("a valid trial").stations.frames.iter().sum())
        })
        .collect();
    let ((here, half), (there, half_there)) = (interval(&hub_frames), interval(&segment_frames));
    assert!((here - there).abs() < half + half_there, "{here} ± {half}, {there} ± {half_there}");
    assert!(half < 0.02 * here, "{here} ± {half}");
}

#[allow(clippy::cast_precision_loss)]
fn count(frames: u64) -> f64 {
    frames as f64
}

#[test]
fn a_hub_on_a_switch_is_one_collision_domain() {
    // Two hosts on a hub send to one behind the switch: the switch's port only listens, and the sum
    // stays below 10 Mb/s.
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        host("c", &json!({})),
        hub("h"),
        switch("s", &json!({})),
    ];
    let links = [
        half("a", "h", 800_000, 1000),
        half("b", "h", 800_000, 1000),
        half("s", "h", 800_000, 1000),
        link("c", "s", 80_000, 1000),
    ];
    let flows = [stream("a", "c", 1518, &saturated()), stream("b", "c", 1518, &saturated())];
    let outcome = run(&trial(1, &nodes, &links, &flows, &phases(2 * S)));
    let frames = outcome.flows.iter().map(|flow| flow.messages).sum::<u64>();
    assert!(outcome.ports[0].collisions > 0);
    assert!(
        frames < 2 * S / (1538 * 800_000) && frames > 2 * S / (1538 * 800_000) * 8 / 10,
        "{frames}"
    );
}

// What is refused

fn refusal(nodes: &[Value], links: &[Value], flows: &[Value]) -> String {
    simulate(&trial(1, nodes, links, flows, &phases(MS))).expect_err("a contradiction").to_string()
}

#[test]
fn loops_are_refused_by_name() {
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch("s", &json!({})),
        switch("t", &json!({})),
        switch("u", &json!({})),
    ];
    let links = [
        link("a", "s", 8000, 0),
        link("s", "t", 8000, 0),
        link("t", "u", 8000, 0),
        link("b", "t", 8000, 0),
        link("u", "s", 8000, 0),
    ];
    let message = refusal(&nodes, &links, &[stream("a", "b", 64, &saturated())]);
    assert!(
        message.starts_with("network.links[4].ends: closes a loop between \"u\" and \"s\""),
        "{message}"
    );
}

#[test]
fn every_fault_names_its_key_and_what_was_allowed() {
    let nodes = || vec![host("a", &json!({})), host("b", &json!({})), switch("s", &json!({}))];
    let links = || vec![link("a", "s", 8000, 0), link("b", "s", 8000, 0)];
    let flow = || stream("a", "b", 64, &saturated());
    let change = |nodes: &[Value], links: &[Value], flow: Value, expected: &str| {
        let message = refusal(nodes, links, &[flow]);
        assert!(message.starts_with(expected) && message.contains("must"), "{message}");
    };
    change(&nodes(), &[link("a", "s", 8000, 0)], flow(), "network.nodes[1]: ");
    change(&nodes(), &[link("a", "x", 8000, 0)], flow(), "network.links[0].ends[1].node: ");
    change(
        &nodes(),
        &[link("a", "s", 0, 0), link("b", "s", 8000, 0)],
        flow(),
        "network.links[0].ps_per_octet: ",
    );
    change(&[host("a", &json!({})), host("a", &json!({}))], &[], flow(), "network.nodes[1].name: ");
    change(&nodes(), &links(), stream("a", "a", 64, &saturated()), "flows[0].to[0]: ");
    change(&nodes(), &links(), stream("s", "b", 64, &saturated()), "flows[0].from: ");
    change(&nodes(), &links(), stream("a", "b", 64, &regular(0)), "flows[0].arrivals: ");
    let mut odd = flow();
    odd["frames"] = json!({"kind": "fixed", "bits": 513});
    change(&nodes(), &links(), odd, "flows[0].frames: ");
    let small = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch("s", &json!({"buffer": pausing(2100, 2000, 1000)})),
    ];
    change(&small, &links(), flow(), "network.nodes[2].kind.buffer.octets: ");
    let busy = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch(
            "s",
            &json!({"buffer": {"octets": 9000, "pause": {"high_octets": 4000, "low_octets": 10, "quanta": 1}}}),
        ),
    ];
    change(&busy, &links(), flow(), "network.nodes[2].kind.buffer.pause.quanta: ");
    change(
        &nodes(),
        &[half("a", "s", 800_000, 30_000_000), link("b", "s", 8000, 0)],
        flow(),
        "network.links[0].delay_ps: ",
    );
    change(
        &[host("a", &json!({})), host("b", &json!({})), hub("s")],
        &links(),
        flow(),
        "network.links[0].half_duplex: ",
    );
}

#[test]
fn a_measured_window_has_from_one_to_a_thousand_batches_and_none_shorter_than_a_picosecond() {
    let nodes = [host("a", &json!({})), host("b", &json!({}))];
    let mut trial = trial(
        1,
        &nodes,
        &[link("a", "b", 8000, 0)],
        &[stream("a", "b", 64, &saturated())],
        &phases(MS),
    );
    assert_eq!(trial.scenario.batches, 20, "of plans that do not say");
    for (batches, length, most) in [(0, MS, 1000), (1001, MS, 1000), (8, 7, 7)] {
        (trial.scenario.batches, trial.scenario.phases.measure_to_ps) = (batches, length);
        let message = simulate(&trial).expect_err("a wrong number").to_string();
        assert_eq!(message, format!("batches: must be from 1 to {most}, got {batches}"));
    }
    (trial.scenario.batches, trial.scenario.phases.measure_to_ps) = (7, 7);
    assert_eq!(simulate(&trial).expect("a valid trial").flows[0].batches.len(), 7);
}

#[test]
fn the_example_of_the_formats_is_a_trial() {
    let text = include_str!("../../../docs/formats.md");
    let begin = text.find("{\"nodes\": [\n").expect("an example");
    let end = begin + text[begin..].find("```").expect("its end");
    let scenario: Value = serde_json::from_str(&text[begin..end]).expect("JSON");
    let [fast, reference] = ["fast", "reference"].map(|implementation| {
        let settings = json!({"implementation": implementation});
        let trial = json!({"id": "x", "seed": 1, "scenario": scenario, "settings": settings});
        let trial = ethermeter_trial::Trial::from_json(&trial.to_string()).expect("a trial");
        ethermeter_simulator::trial::simulate(&trial, &Watch::default()).expect("a valid trial")
    });
    assert_eq!((&fast.flows, &fast.ports), (&reference.flows, &reference.ports));
    balances(&fast);
    assert!(fast.flows[0].completed > 10);
}

#[test]
fn keys_that_nobody_knows_are_refused() {
    let line = |more: &str| {
        format!(
            "{{\"id\": \"x\", \"series\": \"\", \"replication\": 0, \"seed\": 1, \"engine\": \"simulation\", \"point\": {{}}, \"scenario\": {{\"network\": {{\"nodes\": [], \"links\": []}}, \"flows\": [], \"phases\": {}{more}}}}}",
            phases(1)
        )
    };
    assert!(Trial::from_line(&line("")).is_ok());
    assert_eq!(Trial::from_line(&line(", \"batches\": 3")).expect("a trial").scenario.batches, 3);
    let message =
        Trial::from_line(&line(", \"batch\": 3")).expect_err("an unknown key").to_string();
    assert!(message.contains("unknown field `batch`"), "{message}");
}

// Laws, over random networks

/// Random numbers for the shape of a network; what proptest varies is the seed.
struct Shape(u64);

impl Shape {
    fn below(&mut self, bound: u64) -> u64 {
        // Knuth's MMIX constants; the upper half is good enough to choose by.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("small")].clone()
    }

    fn stage(&mut self, name: &str) -> Value {
        let mut stage = json!({"name": name, "fixed_ps": self.below(3 * US), "ps_per_octet": self.below(9000), "delay_ps": self.below(2 * US)});
        if self.one_in(4) {
            stage["overlap_octets"] = json!(self.below(100));
        }
        if self.one_in(4) {
            stage["burst"] = json!({"octets": 100 + self.below(300), "ps": self.below(500_000)});
        }
        stage
    }

    fn host(&mut self) -> Value {
        let mut host = json!({"ring": 1 + self.below(6)});
        if self.one_in(2) {
            let bus = json!({"name": "bus", "resource": "bus", "ps_per_octet": 1000 + self.below(8000), "extra_octets": -4});
            let mut receive = self.stage("receive");
            if self.one_in(3) {
                receive["queue_frames"] = json!(1 + self.below(5));
            }
            host["send"] = json!([self.stage("software"), bus]);
            host["receive"] = json!([bus, receive]);
        }
        if self.one_in(5) {
            host["overlap_octets"] = json!(self.below(200));
        }
        host
    }

    fn switch(&mut self) -> Value {
        let fabric = match self.below(4) {
            0 => json!({"shared": self.stage("backplane")}),
            1 => {
                json!({"crossbar": {"local": self.stage("local"), "inward": self.stage("inward"), "outward": self.stage("outward")}})
            }
            _ => json!("ideal"),
        };
        let learning = if self.one_in(2) {
            json!({"learns": {"age_ps": 1 + self.below(2 * MS), "addresses": 1 + self.below(12)}})
        } else {
            json!("known")
        };
        let mut switch = json!({"learning": learning, "fabric": fabric});
        if self.one_in(2) {
            switch["queue_frames"] = json!(1 + self.below(10));
        }
        if self.one_in(3) {
            switch["queue_octets"] = json!(2000 + self.below(20_000));
        }
        if self.one_in(3) {
            switch["overlap_octets"] = json!(6 + self.below(60));
        }
        if self.one_in(3) {
            switch["ingress"] = self.stage("ingress");
        }
        switch
    }

    fn arrivals(&mut self) -> Value {
        match self.below(5) {
            0 => saturated(),
            1 => regular(20 * US + self.below(200 * US)),
            // Of one phase and one of two periods: senders meet.
            4 => {
                json!({"kind": "regular", "period_ps": (20 + self.below(2) * 20) * US, "phase_ps": self.below(2) * 5 * US})
            }
            2 => {
                json!({"kind": "on_off", "period_ps": 30 * US, "on_mean_ps": 3e8, "off_mean_ps": 5e8})
            }
            #[allow(clippy::cast_precision_loss)]
            _ => json!({"kind": "poisson", "mean_ps": (20 * US + self.below(200 * US)) as f64}),
        }
    }

    /// Some so slow that packets are the shortest, some faster than any wire.
    fn voice(&mut self, from: &str, to: &str) -> Value {
        let (overhead, least, room) = (18 + self.below(20), 1 + self.below(200), self.below(1000));
        let sample = 1 + self.below(10);
        let spurts = self.one_in(2).then(|| json!({"talk_mean_ps": 4e8, "silence_mean_ps": 2e8}));
        let mut flow = json!({"name": "voice", "from": from, "to": [to],
            "arrivals": {"kind": "coder", "sample_bits": 8 * sample, "sample_ps": 100_000 + self.below(10 * US), "spurts": spurts},
            "frames": {"kind": "samples", "overhead_bits": 8 * overhead, "min_bits": 8 * (overhead + least),
                "max_bits": 8 * (overhead + least + sample + room)}});
        if self.one_in(2) {
            flow["framing"] = json!({"udp": {"mtu_octets": 1500}});
        }
        if self.one_in(3) {
            flow["service"] = json!({"kind": "exponential", "offset_ps": 0, "mean_ps": 3e7});
        }
        flow
    }

    fn flow(&mut self, hosts: &[String]) -> Value {
        let from = self.pick(hosts);
        let others: Vec<String> = hosts.iter().filter(|name| **name != from).cloned().collect();
        if self.one_in(3) {
            let to = self.pick(&others);
            return self.voice(&from, &to);
        }
        let mut flow = json!({"name": "flow", "from": from, "to": [self.pick(&others)], "frames": {"kind": "mix",
            "bits": [512, 8 * (64 + self.below(1455)), 12144], "weights": [1.0, 1.0, 0.5]}, "arrivals": self.arrivals()});
        if self.one_in(4) {
            flow["address"] = self.pick(&[json!("multicast"), json!("broadcast")]);
            flow["to"] =
                json!(others[..=usize::try_from(self.below(others.len() as u64)).expect("small")]);
        }
        if self.one_in(4) {
            flow["framing"] = json!({"udp": {"mtu_octets": 300 + self.below(1201)}});
        }
        if self.one_in(3) {
            let think = json!({"kind": "uniform", "low_ps": 0, "high_ps": 20 * US});
            flow["response"] = json!({"frames": fixed(64 + self.below(1455)), "think": think, "timeout_ps": 200 * US + self.below(MS)});
        }
        flow
    }

    /// A tree of switches and routers with hosts; each flow is between hosts. `wire` finishes a
    /// link.
    fn network(&mut self, routers: bool, mut wire: impl FnMut(&mut Self, &mut Value)) -> Trial {
        let (inner, leaves) = (1 + self.below(4), 2 + self.below(6));
        // Equal cables and saturated sources: many things happen in one instant.
        let in_step = self.one_in(3);
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        for i in 0..inner {
            let node = if routers && self.one_in(5) {
                json!({"name": format!("s{i}"), "kind": {"router": {"forward": self.stage("forward"), "queue_frames": 1 + self.below(20)}}})
            } else {
                switch(&format!("s{i}"), &self.switch())
            };
            nodes.push(node);
            if i > 0 {
                links.push((format!("s{i}"), format!("s{}", self.below(i))));
            }
        }
        let hosts: Vec<String> = (0..leaves).map(|i| format!("h{i}")).collect();
        for name in &hosts {
            nodes.push(host(name, &self.host()));
            links.push((name.clone(), format!("s{}", self.below(inner))));
        }
        let links: Vec<Value> = links
            .into_iter()
            .map(|(a, b)| {
                let rate = self.pick(&[800u64, 8000, 8000, 80_000]);
                let mut link = json!({"ends": [{"node": a, "module": self.below(3)}, {"node": b, "module": self.below(3)}],
                    "ps_per_octet": rate, "delay_ps": self.below(3 * US)});
                if in_step {
                    (link["ps_per_octet"], link["delay_ps"]) = (json!(8000), json!(0));
                }
                wire(self, &mut link);
                link
            })
            .collect();
        let mut flows: Vec<Value> = (0..=self.below(6)).map(|_| self.flow(&hosts)).collect();
        if in_step {
            for flow in &mut flows {
                (flow["arrivals"], flow["frames"]) = (saturated(), fixed(64));
            }
        }
        let spread = if in_step { 0 } else { US };
        let phases = json!({"begin_ps": 0, "stop_ps": 3 * MS, "measure_from_ps": MS, "measure_to_ps": 3 * MS, "end_ps": 4 * MS, "spread_ps": spread});
        trial(self.below(1 << 30), &nodes, &links, &flows, &phases)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_implementations_deliver_the_same_at_the_same_time_and_every_frame_is_accounted_for(seed: u64) {
        let trial = Shape(seed).network(true, |_, _| {});
        let (reference, fast) = traces(&trial).expect("a valid trial");
        balances(&reference);
        let fast = fast.expect("nothing that only the reference knows");
        balances(&fast);
        assert_same(&reference, &fast);
    }

    #[test]
    fn clocks_are_read_alike_by_both_implementations_and_change_nothing_unless_they_are_compared(seed: u64) {
        use ethermeter_trial::nodes::Kind;
        let mut shape = Shape(seed);
        let mut trial = shape.network(true, |_, _| {});
        // Silence before and after, in which times are asked for each 2 ms.
        let phases = &mut trial.scenario.phases;
        (phases.begin_ps, phases.stop_ps, phases.end_ps) = (20 * MS, 23 * MS, 30 * MS);
        (phases.measure_from_ps, phases.measure_to_ps) = (21 * MS, 24 * MS);
        let without = traces(&trial).expect("a valid trial").0;
        for node in &mut trial.scenario.network.nodes {
            if let (Kind::Host(host), false) = (&mut node.kind, shape.one_in(3)) {
                let clock = json!({"offset_ps": shape.below(2 * S).cast_signed() - S.cast_signed(),
                    "drift_ppb": shape.below(200_001).cast_signed() - 100_000, "drift_spread_ppb": shape.below(1000)});
                host.clock = Some(serde_json::from_value(clock).expect("a clock"));
            }
        }
        let (mut read, fast) = traces(&trial).expect("a valid trial");
        assert_same(&read, &fast.expect("nothing that only the reference knows"));
        for (flow, bare) in read.counts.flows.iter_mut().zip(&without.flows) {
            if let Some(reading) = flow.clocks.take() {
                prop_assert_eq!(reading.clock.count, bare.one_way.count);
            }
        }
        assert_same(&read, &without);
        trial.scenario.network.clocks = serde_json::from_value(json!("compared")).expect("a word");
        let (reference, fast) = traces(&trial).expect("a valid trial");
        let fast = fast.expect("nothing that only the reference knows");
        balances(&reference);
        assert_same(&reference, &fast);
        prop_assert_eq!(&reference.clock_pairs, &fast.clock_pairs);
        for comparison in &reference.clock_pairs {
            let b = &comparison.balance;
            prop_assert_eq!(b.sent + b.copied, b.delivered + b.lost.iter().sum::<u64>() + b.in_flight);
            prop_assert!(comparison.answered + comparison.lost + 1 >= comparison.requests);
        }
        let is_compared = |flow: &ethermeter_trial::counts::FlowCounts| flow.clocks.as_ref().is_some_and(|r| r.synchronised.is_some());
        prop_assert_eq!(reference.flows.iter().any(is_compared), !reference.clock_pairs.is_empty());
    }

    #[test]
    fn a_batch_counts_what_is_counted_if_nothing_else_is_measured(seed: u64) {
        let mut shape = Shape(seed);
        let mut trial = shape.network(true, |_, _| {});
        let batches = 1 + shape.below(6);
        trial.scenario.batches = u32::try_from(batches).expect("few");
        let phases = trial.scenario.phases;
        let whole = run(&trial);
        let bound = |k: u64| phases.measure_from_ps + k * (phases.measure_to_ps - phases.measure_from_ps) / batches;
        let mut sums = vec![FlowBatch::default(); whole.flows.len()];
        for k in 0..batches {
            let mut only = trial.clone();
            only.scenario.batches = 1;
            (only.scenario.phases.measure_from_ps, only.scenario.phases.measure_to_ps) = (bound(k), bound(k + 1));
            for ((flow, alone), sum) in whole.flows.iter().zip(run(&only).flows).zip(&mut sums) {
                let part = flow.batches[usize::try_from(k).expect("few")];
                // The first arrival within a window has none before it there.
                prop_assert!(part.arrivals_between >= alone.between_arrivals.count);
                let own = FlowBatch { arrivals_between: 0, between_arrivals_ps: 0, ..part };
                let expected = FlowBatch {
                    offered: alone.offered,
                    dropped: alone.dropped,
                    arrived: alone.arrived,
                    messages: alone.messages,
                    frames: alone.frames,
                    octets: alone.octets,
                    data_octets: alone.data_octets,
                    completed: alone.completed,
                    timed_out: alone.timed_out,
                    one_way_ps: alone.one_way.sum_ps,
                    round_trip_ps: alone.round_trip.sum_ps,
                    ..FlowBatch::default()
                };
                prop_assert_eq!(own, expected);
                sum.offered += part.offered;
                sum.messages += part.messages;
                sum.one_way_ps += part.one_way_ps;
                sum.between_arrivals_ps += part.between_arrivals_ps;
                sum.arrivals_between += part.arrivals_between;
            }
        }
        for (flow, sum) in whole.flows.iter().zip(sums) {
            prop_assert_eq!((flow.offered, flow.messages, flow.one_way.sum_ps), (sum.offered, sum.messages, sum.one_way_ps));
            let between = &flow.between_arrivals;
            prop_assert_eq!((between.count, between.sum_ps), (sum.arrivals_between, sum.between_arrivals_ps));
        }
    }

    #[test]
    fn pause_loses_no_frame_and_never_stands_still(seed: u64) {
        let mut shape = Shape(seed);
        let mut trial = shape.network(false, |_, _| {});
        // Memory with flow control everywhere, and no other limit.
        for node in &mut trial.scenario.network.nodes {
            use ethermeter_trial::nodes::Kind;
            let buffer = serde_json::from_value(pausing(100_000, 1 + shape.below(60_000), 0)).expect("a buffer");
            match &mut node.kind {
                Kind::Switch(switch) => {
                    (switch.queue_frames, switch.queue_octets, switch.buffer) = (None, None, Some(buffer));
                }
                Kind::Host(host) => {
                    for stage in &mut host.receive {
                        stage.queue_frames = None;
                        if stage.overlap_octets.is_none() {
                            stage.coalesce = Some(serde_json::from_value(json!({"frames": 3, "ps": 40 * US})).expect("a wait"));
                        }
                    }
                    host.buffer = Some(buffer);
                }
                _ => {}
            }
        }
        // Nothing new after 3 ms; what is there then has come a second later, whoever was silent.
        trial.scenario.phases.end_ps = S;
        let outcome = run(&trial);
        for flow in &outcome.flows {
            let b = &flow.balance;
            prop_assert_eq!((b.lost[0], b.lost[1], b.lost[4]), (0, 0, 0));
            prop_assert_eq!(b.in_flight, 0, "{:?}", b);
        }
    }

    #[test]
    fn every_frame_is_accounted_for_where_links_are_half_duplex(seed: u64) {
        let mut shape = Shape(seed);
        let hub_at = shape.below(6);
        let mut trial = shape.network(true, |shape, link| {
            let on_hub = (0..2).any(|end| link["ends"][end]["node"] == format!("s{hub_at}").as_str());
            if on_hub || shape.one_in(2) {
                (link["half_duplex"], link["ps_per_octet"]) = (json!(true), json!(80_000));
                link["delay_ps"] = json!(shape.below(1_000_000));
            }
        });
        for node in &mut trial.scenario.network.nodes {
            if node.name == format!("s{hub_at}") {
                node.kind = ethermeter_trial::nodes::Kind::Hub(ethermeter_trial::nodes::Hub::default());
            }
        }
        let outcome = simulate(&trial).expect("a valid trial");
        balances(&outcome);
        prop_assert!(outcome.ports.iter().all(|port| port.late_collisions == 0));
    }
}
