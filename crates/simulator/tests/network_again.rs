//! What is sent again: broadcasts by hosts that received them, requests by their senders.

use crate::common::network::{fixed, host, link, phases, ping_pong, run, switch, trial};
use crate::common::{IEEE_10, MS, S, US};
use ethermeter_trial::{Counts, Trial};
use ethermeter_trial::counts::FlowCounts;
use proptest::prelude::*;
use serde_json::{json, Value};

const OCTET: u64 = 800_000;

/// Messages that begin with the trial.
fn every(period_ps: u64) -> Value {
    json!({"kind": "regular", "period_ps": period_ps, "phase_ps": 0})
}

/// A message as the trial begins, and no other.
fn once() -> Value {
    every(10 * S)
}

/// One broadcast of a correct host to another, among so many that send broadcasts again.
fn storm(faulty: usize, rebroadcast: &Value, on_medium: bool) -> Counts {
    let mut nodes = vec![host("sender", &json!({})), host("correct", &json!({}))];
    nodes.extend((0..faulty).map(|number| {
        host(&format!("f{number}"), &json!({"ring": 1_000_000, "rebroadcast": rebroadcast}))
    }));
    let names: Vec<String> =
        nodes.iter().map(|node| node["name"].as_str().expect("a name").to_owned()).collect();
    let flow = json!({"name": "b", "from": "sender", "to": ["correct"], "address": "broadcast",
        "frames": fixed(64), "arrivals": once()});
    if !on_medium {
        let links: Vec<Value> = names.iter().map(|name| link(name, "s", OCTET, 0)).collect();
        nodes.push(switch("s", &json!({})));
        return run(&trial(7, &nodes, &links, &[flow], &phases(100 * MS)));
    }
    run(&on_bus(trial(7, &nodes, &[], &[flow], &phases(100 * MS)), &names))
}

/// The same network with these hosts on a segment, 1 us from each other.
fn on_bus(mut trial: Trial, names: &[String]) -> Trial {
    let station = |(point, node): (usize, &String)| {
        json!({"node": node, "points": [point], "after_attempt_limit": "resume"})
    };
    let row = |a| (0..names.len()).map(|b| if a == b { 0 } else { US }).collect::<Vec<_>>();
    let medium = json!({"name": "bus", "bit_ps": 100_000, "mac": {"csma_cd": IEEE_10},
        "delay_ps": (0..names.len()).map(row).collect::<Vec<_>>(),
        "stations": names.iter().enumerate().map(station).collect::<Vec<_>>()});
    trial.scenario.media.push(serde_json::from_value(medium).expect("a medium"));
    trial
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each of n hosts sends what it hears of the n - 1 others, until a frame has gone h hops:
    /// n (1 + (n - 1) + … + (n - 1)^(h - 1)) frames. The correct host hears each of them, and then
    /// there is silence.
    #[test]
    fn a_hop_count_ends_a_storm(faulty in 1..5usize, hops in 1..4u32, on_medium: bool) {
        let counts = storm(faulty, &json!({"hops": hops}), on_medium);
        let flow = &counts.flows[0];
        let n = faulty as u64;
        let expected = n * (0..hops).map(|hop| (n - 1).pow(hop)).sum::<u64>();
        prop_assert_eq!(flow.resent, expected);
        prop_assert_eq!((flow.messages, flow.duplicates), (1, expected));
        prop_assert_eq!((flow.balance.sent, flow.balance.in_flight), (1 + expected, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Clients of a segment, or of a switch with a slow link to the server, whose requests are sent
    /// again too early: both implementations are equal, frame by frame.
    #[test]
    fn requests_that_are_sent_again_are_equal_in_both_implementations(
        seed: u64,
        clients in 1..9usize,
        after_us in 1_000..40_000u64,
        factor in 1..4u32,
        keep: bool,
        tries in prop::option::of(1..5u32),
        timeout_ms in prop::option::of(1..60u64),
        on_medium: bool,
        has_lengths: bool,
    ) {
        let mut names: Vec<String> = (0..clients).map(|number| format!("c{number}")).collect();
        names.push("server".to_owned());
        let mut nodes: Vec<Value> = names.iter().map(|name| host(name, &json!({}))).collect();
        let flow = |name: &String| {
            let mut flow = ping_pong(name, "server", 1024, 64);
            flow["arrivals"] = json!({"kind": "poisson", "mean_ps": 5 * MS});
            if has_lengths {
                flow["framing"] = json!({"udp": {"mtu_octets": 400}});
            }
            flow["response"]["timeout_ps"] = json!(timeout_ms.map(|time_ms| time_ms * MS));
            flow["response"]["retransmit"] =
                json!({"after_ps": after_us * US, "factor": factor, "keep": keep, "tries": tries});
            flow
        };
        let flows: Vec<Value> = names[..clients].iter().map(flow).collect();
        if on_medium {
            run(&on_bus(trial(seed, &nodes, &[], &flows, &phases(300 * MS)), &names));
        } else {
            let links: Vec<Value> = names.iter().map(|name| link(name, "s", OCTET, US)).collect();
            nodes.push(switch("s", &json!({"queue_frames": 4})));
            run(&trial(seed, &nodes, &links, &flows, &phases(300 * MS)));
        }
    }
}

#[test]
fn two_hosts_keep_as_many_frames_for_ever_and_three_fill_the_segment() {
    // Each of two hosts answers the other's copy: two frames are always under way or being sent.
    let two = &storm(2, &json!({}), false).flows[0];
    // A copy goes over two links: 2 * 72 octets of 800 ns. The first comes to the hosts after that.
    let round = 2 * 72 * OCTET;
    assert_eq!(two.resent, 2 * (100 * MS / round));
    let three = storm(3, &json!({}), true);
    let media = &three.media[0];
    // One that wins has sent all that it had before the others, which have backed off, try again:
    // the segment is idle then, and there is always more to send.
    let idle = media.time_ps[4];
    assert!(idle < 40 * MS, "{media:?}");
    let flow = &three.flows[0];
    assert!(flow.balance.in_flight > flow.resent / 4, "{flow:?}");
}

#[test]
fn frames_that_find_no_room_in_the_ring_are_lost() {
    let nodes = [
        host("sender", &json!({})),
        host("faulty", &json!({"ring": 2, "rebroadcast": {}})),
        host("correct", &json!({})),
        switch("s", &json!({})),
    ];
    // The faulty host's link takes a hundred times as long.
    let links = [
        link("sender", "s", OCTET, 0),
        link("s", "faulty", OCTET, 0),
        link("correct", "s", OCTET, 0),
    ];
    let slow = json!({"name": "software", "fixed_ps": 10 * MS});
    let mut nodes = nodes.to_vec();
    nodes[1]["kind"]["host"]["send"] = json!([slow]);
    let flow = json!({"name": "b", "from": "sender", "to": ["correct"], "address": "broadcast",
        "frames": fixed(64), "arrivals": every(MS)});
    let counts = run(&trial(7, &nodes, &links, &[flow], &phases(100 * MS)));
    let flow = &counts.flows[0];
    // A hundred broadcasts but the last reach it; it sends ten of them, and two wait.
    assert!((10..=12).contains(&flow.resent), "{flow:?}");
    assert_eq!(flow.balance.lost[0], 100 - flow.resent, "{flow:?}");
}

/// One request of 64 octets over a link, 115.2 us there and back, to a host that thinks for 10 ms.
fn request(retransmit: &Value) -> FlowCounts {
    let nodes = [host("a", &json!({})), host("b", &json!({}))];
    let mut flow = ping_pong("a", "b", 64, 64);
    flow["arrivals"] = once();
    flow["response"]["think"] = json!({"kind": "constant", "ps": 10 * MS});
    flow["response"]["retransmit"] = retransmit.clone();
    let trial = trial(1, &nodes, &[link("a", "b", OCTET, 0)], &[flow], &phases(100 * MS));
    run(&trial).flows.remove(0)
}

#[test]
fn a_request_is_sent_again_until_its_answer_has_come() {
    let sent = |retransmit: Value| {
        let flow = request(&retransmit);
        (flow.resent, flow.duplicates, flow.answers, flow.completed, flow.timed_out)
    };
    // At 0, 3, 6 and 9 ms; each copy is answered, one after the other.
    assert_eq!(sent(json!({"after_ps": 3 * MS})), (3, 3, 4, 1, 0));
    // At 0, 3 and 9 ms.
    assert_eq!(sent(json!({"after_ps": 3 * MS, "factor": 2})), (2, 2, 3, 1, 0));
    // At 0, 3 and 7 ms: the next wait would be 6 ms.
    let limited = json!({"after_ps": 3 * MS, "factor": 2, "longest_ps": 4 * MS});
    assert_eq!(sent(limited), (2, 2, 3, 1, 0));
    // At 0 and 3 ms, given up at 6 ms; its answers come too late.
    assert_eq!(sent(json!({"after_ps": 3 * MS, "tries": 2})), (1, 1, 2, 0, 1));
    let flow = request(&json!({"after_ps": 3 * MS}));
    assert_eq!(flow.round_trip.sum_ps, u128::from(10 * MS + 2 * 72 * OCTET));
    assert_eq!(flow.messages, 1);
}

#[test]
fn a_time_is_kept_until_a_request_is_answered_at_once() {
    let nodes = [host("a", &json!({})), host("b", &json!({}))];
    let resent = |keep: bool| {
        let mut flow = ping_pong("a", "b", 64, 64);
        flow["arrivals"] = every(100 * MS);
        flow["response"]["think"] = json!({"kind": "constant", "ps": 10 * MS});
        flow["response"]["retransmit"] =
            json!({"after_ps": 3 * MS, "factor": 2, "keep": keep});
        let links = [link("a", "b", OCTET, 0)];
        let trial = trial(1, &nodes, &links, &[flow], &phases(400 * MS));
        run(&trial).flows[0].resent
    };
    // Sent after 0, 3 and 9 ms, each time anew; or the second waits for 12 ms, which is enough, so
    // that the third begins anew, and the fourth is as the second.
    assert_eq!((resent(false), resent(true)), (8, 4));
}

#[test]
fn a_wait_that_is_long_enough_changes_nothing() {
    let of = |retransmit: Value| {
        let names: Vec<String> = (0..5).map(|number| format!("h{number}")).collect();
        let mut nodes: Vec<Value> = names.iter().map(|name| host(name, &json!({}))).collect();
        let links: Vec<Value> = names.iter().map(|name| link(name, "s", OCTET, US)).collect();
        nodes.push(switch("s", &json!({"queue_frames": 3})));
        let flows: Vec<Value> = (1..5)
            .map(|number| {
                let mut flow = ping_pong(&names[number], &names[0], 400, 1500);
                flow["name"] = json!(names[number]);
                flow["response"]["timeout_ps"] = json!(20 * MS);
                flow["response"]["retransmit"] = retransmit.clone();
                flow
            })
            .collect();
        run(&trial(3, &nodes, &links, &flows, &phases(S))).flows
    };
    let without = of(Value::Null);
    assert!(without.iter().map(|flow| flow.completed).sum::<u64>() > 500);
    assert_eq!(of(json!({"after_ps": 20 * MS, "tries": 1})), without);
}
