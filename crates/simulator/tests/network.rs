//! Networks against hand calculations.

use crate::common::network::{
    count, fixed, host, link, pausing, phases, ping_pong, regular, run, saturated, stream, switch,
    trial, TRACE,
};
use crate::common::{MS, S, US};
use ethermeter_trial::Counts;
use serde_json::{json, Value};

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
fn messages_of_a_trace_come_at_its_times_with_its_lengths() {
    // Frames of 64, 1518, 500, 64, 1518 and 500 octets at 0, 0, 95, 125, 395 and 500 us after the
    // offset of 5 us. With 20 octets around each and 80 ns an octet, they take 6.72, 123.04 and 41.6 us
    // of the wire: the second waits 6.72 us, the third until 129.76 us, the fourth until 171.36 us, the
    // last until 518.04 us.
    let nodes = [host("a", &json!({})), host("b", &json!({}))];
    let frames = json!({"kind": "mix", "bits": [512, 4000, 12144], "weights": [2.0, 2.0, 2.0]});
    let trace = |changes: &Value| {
        let mut arrivals = json!({"kind": "trace", "sha256": TRACE, "messages": 6, "offset_ps": 5 * US,
            "mean_ps": 1e8, "scv": 1.0, "envelope": []});
        for (key, value) in changes.as_object().expect("a table") {
            arrivals[key] = value.clone();
        }
        let flow =
            json!({"name": "f", "from": "a", "to": ["b"], "frames": frames, "arrivals": arrivals});
        run(&trial(1, &nodes, &[link("a", "b", 80_000, 0)], &[flow], &phases(10 * MS))).flows[0]
            .clone()
    };
    let wire = |octets: u64| u128::from((octets + 8) * 80_000);
    let flow = trace(&json!({}));
    let own = 2 * wire(64) + 2 * wire(500) + 2 * wire(1518);
    let waits = u128::from(6_720_000 + 34_760_000 + 46_360_000 + 18_040_000_u64);
    assert_eq!(flow.one_way.count, 6);
    assert_eq!(flow.one_way.sum_ps, own + waits);
    // At half the speed only the second waits.
    let slow = trace(&json!({"speed": 0.5}));
    assert_eq!(slow.one_way.sum_ps, own + u128::from(84 * 80_000u64));
    // Ten times in 10 ms, each as the first.
    let again = trace(&json!({"repeat_ps": MS}));
    assert_eq!(again.one_way.count, 60);
    assert_eq!(again.one_way.sum_ps, 10 * (own + waits));
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

/// Four hosts at a switch, of which a sends to a group of the others.
fn flooding(switch_of: &Value, arrivals: &Value) -> Counts {
    let names = ["a", "b", "c", "d"];
    let mut nodes: Vec<Value> = names.map(|name| host(name, &json!({}))).to_vec();
    nodes.push(switch("s", switch_of));
    let links: Vec<Value> = names.iter().map(|name| link(name, "s", 8000, 0)).collect();
    let flow = json!({"name": "group", "from": "a", "to": ["b", "c", "d"],
        "address": "multicast", "frames": fixed(64), "arrivals": arrivals});
    run(&trial(1, &nodes, &links, &[flow], &phases(10 * MS)))
}

#[test]
fn copies_on_a_path_for_floods_follow_one_another() {
    let flood = json!({"name": "flood", "fixed_ps": 10 * US, "ps_per_octet": 1000});
    let flow = &flooding(&json!({"flood": flood}), &regular(100 * US)).flows[0];
    // Two wires, and one, two and three times 10 us and 64 ns.
    let wires = 2 * 72 * 8000;
    let copy = 10 * US + 64_000;
    let each = [1, 2, 3].map(|copies| wires + copies * copy);
    let sum: u64 = each.iter().sum();
    assert_eq!(flow.one_way.max_ps, each[2]);
    assert_eq!(flow.one_way.sum_ps, u128::from(flow.messages / 3 * sum));
}

#[test]
fn a_path_for_floods_is_outside_flow_control_and_loses_what_its_queue_has_no_room_for() {
    let slow = |name: &str| json!({"name": name, "fixed_ps": 100 * US});
    let buffer = pausing(20_000, 2_000, 1_000);
    let mut flood = slow("flood");
    flood["queue_frames"] = json!(6);
    let own = flooding(&json!({"flood": flood, "buffer": buffer}), &saturated());
    let pauses = |counts: &Counts| counts.ports[1].pauses_sent;
    assert_eq!(pauses(&own), 0);
    assert!(own.flows[0].balance.lost[0] > 1000, "{:?}", own.flows[0].balance);
    // 10 ms, a copy in 100 us.
    assert!((97..=100).contains(&own.flows[0].messages), "{:?}", own.flows[0]);
    let fabric = json!({"shared": slow("backplane")});
    let shared = flooding(&json!({"fabric": fabric, "buffer": buffer}), &saturated());
    assert!(pauses(&shared) > 0);
    assert_eq!(shared.flows[0].balance.lost, [0; 6]);
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
