//! Answers to groups, round trips by responder, and stages with recovery and random times, against
//! hand calculations.

use crate::common::network::{
    count, fixed, host, link, mean_s, phases, regular, run, saturated, stream, switch, trial,
};
use crate::common::{MS, US};
use ethermeter_trial::Counts;
use serde_json::{json, Value};

/// Time of a frame of 64 octets with preamble at 1 Gb/s.
const WIRE: u64 = 72 * 8000;
/// The same with the gap.
const SPACE: u64 = 84 * 8000;

/// Host a asks b and c of four hosts at a switch; answers are cast so.
fn asked(cast: &str) -> Counts {
    let names = ["a", "b", "c", "d"];
    let mut nodes: Vec<Value> = names.map(|name| host(name, &json!({}))).to_vec();
    nodes.push(switch("s", &json!({})));
    let links: Vec<Value> = names.iter().map(|name| link(name, "s", 8000, 0)).collect();
    let flow = json!({"name": "ask", "from": "a", "to": ["b", "c"], "address": "multicast",
        "frames": fixed(64), "arrivals": saturated(),
        "response": {"frames": fixed(64), "address": cast}});
    run(&trial(1, &nodes, &links, &[flow], &phases(MS)))
}

#[test]
fn each_responder_has_its_round_trips() {
    let flow = &asked("unicast").flows[0];
    // Both answers are at the switch after four wires; the second waits for the first.
    let [first, second] = &flow.responder_round_trip[..] else { panic!("{flow:?}") };
    assert_eq!(first[0].0, 4 * WIRE);
    assert_eq!(second[0].0, 4 * WIRE + SPACE);
    let of = |buckets: &[(u64, u64, u64)]| buckets.iter().map(|bucket| bucket.2).sum::<u64>();
    assert_eq!(of(first) + of(second), flow.answer_round_trip.count);
    assert_eq!(of(second), flow.completed);
}

#[test]
fn answers_to_a_group_come_to_its_members_and_answers_to_all_to_everybody() {
    let [one, group, all] = ["unicast", "multicast", "broadcast"].map(|cast| asked(cast).flows[0].clone());
    // Answers to all load only the wires of hosts that did not ask: round trips stay.
    assert_eq!(one.round_trip, group.round_trip);
    assert_eq!(one.round_trip, all.round_trip);
    // Of a request d ignores its copy. Each of two answers comes to one, or to all three others.
    let requests = |flow: &ethermeter_trial::counts::FlowCounts| flow.completed;
    assert!(one.balance.lost[3].abs_diff(requests(&one)) <= 1, "{one:?}");
    for flow in [&group, &all] {
        assert!(flow.balance.lost[3].abs_diff(5 * requests(flow)) <= 5, "{flow:?}");
        assert!(flow.balance.copied.abs_diff(6 * requests(flow)) <= 6, "{flow:?}");
    }
}

/// A stream of frames of 64 octets every 20 us through a receiving stage.
fn received(stage: &Value, arrivals: &Value, length: u64) -> Counts {
    let nodes = [host("a", &json!({})), host("b", &json!({"receive": [stage]}))];
    run(&trial(7, &nodes, &[link("a", "b", 8000, 0)], &[stream("a", "b", 64, arrivals)], &phases(length)))
}

#[test]
fn a_stage_recovers_after_a_frame_without_delaying_it() {
    let stage = json!({"name": "update", "fixed_ps": 5 * US, "recovery_ps": 7 * US});
    let alone = received(&stage, &regular(20 * US), MS);
    assert_eq!(alone.flows[0].one_way.max_ps, WIRE + 5 * US);
    let dense = received(&stage, &saturated(), MS);
    let between = &dense.flows[0].between_arrivals;
    assert_eq!(between.sum_ps, u128::from(between.count * 12 * US));
}

#[test]
fn an_occasional_time_comes_as_often_as_it_says_and_a_random_one_to_each_frame() {
    let late = json!({"name": "s", "fixed_ps": US, "random": {"one_in": 10, "time": {"kind": "constant", "ps": 5 * US}}});
    let flow = &received(&late, &regular(20 * US), 1000 * MS).flows[0];
    let frames = count(flow.messages);
    let more = (mean_s(&flow.one_way) * 1e12 - count(WIRE + US)) / count(5 * US);
    // Four standard deviations of a share of one in ten.
    assert!((more - 0.1).abs() < 4.0 * (0.09 / frames).sqrt(), "{more}");
    assert_eq!(flow.one_way.max_ps, WIRE + 6 * US);
    let each = json!({"name": "s", "random": {"time": {"kind": "uniform", "low_ps": US, "high_ps": 3 * US}}});
    let flow = &received(&each, &regular(20 * US), 1000 * MS).flows[0];
    let mean = mean_s(&flow.one_way) * 1e6 - 0.576;
    assert!((mean - 2.0).abs() < 4.0 * (1.0 / 3.0 / count(flow.messages)).sqrt(), "{mean}");
}
