//! Traffic classes at a port against hand calculations.
//!
//! Links have 1 Gb/s, 8000 ps an octet, without propagation. A frame of 980 octets with its tag keeps
//! a wire for 8 µs: 8 octets of preamble, the frame, and 12 octets of gap, which nobody waits for.

use crate::common::network::{assert_same, balances, host, link, phases, stream, switch, trial};
use crate::common::{MS, US};
use crate::common::network::{traces, Traced};
use ethermeter_simulator::plan::Plan;
use ethermeter_trial::Trial;
use serde_json::{json, Value};

const OCTET: u64 = 8000;
const GAP: u64 = 12 * OCTET;
/// A frame of a flow with a priority that takes 8 µs with preamble, tag and gap.
const OCTETS: u64 = 976;
const FRAME: u64 = 8 * US;

fn class(priorities: &[u8]) -> Value {
    json!({"priorities": priorities})
}

/// A class above another, of priority 7 and of all others.
fn two(high: &Value, low: &Value) -> Value {
    let with = |priorities: &[u8], more: &Value| {
        let mut class = class(priorities);
        let more = more.as_object().expect("a table").clone();
        class.as_object_mut().expect("a table").extend(more);
        class
    };
    json!([with(&[7], high), with(&[0, 1, 2, 3, 4, 5, 6], low)])
}

/// One frame at a time.
fn once(name: &str, octets: u64, priority: Option<u8>, at: u64) -> Value {
    let arrivals = json!({"kind": "regular", "period_ps": 1000 * MS, "phase_ps": at});
    let mut flow = stream("a", "b", octets, &arrivals);
    (flow["name"], flow["priority"]) = (json!(name), json!(priority));
    flow
}

/// Frames of 8 µs, so many at once.
fn burst(name: &str, priority: u8, frames: u64, at: u64) -> Value {
    let octets = frames * FRAME / OCTET;
    let arrivals =
        json!({"kind": "token_bucket", "rate_bps": 1, "burst_octets": octets, "phase_ps": at});
    let mut flow = stream("a", "b", OCTETS, &arrivals);
    (flow["name"], flow["priority"]) = (json!(name), json!(priority));
    flow
}

/// Two hosts on a link, the sender with classes.
fn at_a_host(classes: &Value, flows: &[Value]) -> Trial {
    let nodes = [host("a", &json!({"classes": classes})), host("b", &json!({}))];
    trial(1, &nodes, &[link("a", "b", OCTET, 0)], flows, &phases(MS))
}

/// Both implementations, which must agree.
fn outcome(trial: &Trial) -> Traced {
    let (reference, fast) = traces(trial).expect("a valid trial");
    balances(&reference);
    assert_same(&reference, &fast.expect("nothing that only the reference knows"));
    reference
}

/// Flows of what is delivered, and when.
fn delivered(outcome: &Traced) -> Vec<(u32, u64)> {
    outcome.trace.iter().map(|delivery| (delivery.flow.number(), delivery.at_ps)).collect()
}

/// When a frame of 8 µs is delivered that begins at a time.
fn end(begin: u64) -> u64 {
    begin + FRAME - GAP
}

#[test]
fn a_higher_class_goes_first_but_interrupts_no_frame_and_tags_are_four_octets() {
    let classes = json!([class(&[7]), class(&[3, 4, 5, 6]), class(&[0, 1, 2])]);
    let flows = [
        once("low", 1000, None, 0),
        once("middle", 500, Some(3), US),
        once("high", 100, Some(7), 2 * US),
    ];
    let found = outcome(&at_a_host(&classes, &flows));
    let low = (8 + 1000) * OCTET;
    let high = low + GAP + (8 + 104) * OCTET;
    let middle = high + GAP + (8 + 504) * OCTET;
    assert_eq!(delivered(&found), [(0, low), (2, high), (1, middle)]);
    assert_eq!(found.flows.iter().map(|flow| flow.octets).collect::<Vec<_>>(), [1000, 504, 104]);
    assert_eq!(found.flows[1].data_octets, 500 - 18);
    let counts: Vec<_> =
        found.ports[0].classes.iter().map(|class| (class.arrived, class.frames)).collect();
    assert_eq!(counts, [(1, 1), (1, 1), (1, 1)]);
    assert_eq!((found.ports[0].queue_most, found.ports[0].queue_octets_most), (3, 1608));
}

#[test]
fn deficit_round_robin_shares_a_wire_by_quanta() {
    // One frame a turn against two. The first frame goes before the others are there.
    let classes = two(&json!({"quantum_octets": 1000}), &json!({"quantum_octets": 2000}));
    let flows = [burst("a", 7, 6, 0), burst("b", 0, 6, 0)];
    let found = delivered(&outcome(&at_a_host(&classes, &flows)));
    let order: Vec<u32> = found.iter().map(|(flow, _)| *flow).collect();
    assert_eq!(order, [0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0]);
    assert!(found.iter().zip(0..).all(|((_, at), number)| *at == end(number * FRAME)));
}

#[test]
fn a_deficit_is_carried_over_turns_and_lost_with_an_empty_queue() {
    // A quantum of half a frame: every other turn.
    let classes = two(&json!({"quantum_octets": 500}), &json!({"quantum_octets": 1000}));
    let flows = [burst("a", 7, 3, 0), burst("b", 0, 3, 0), burst("late", 7, 1, 90 * US)];
    let found = delivered(&outcome(&at_a_host(&classes, &flows)));
    let order: Vec<u32> = found.iter().map(|(flow, _)| *flow).collect();
    assert_eq!(order, [0, 1, 1, 0, 1, 0, 2]);
    // Alone it gets its turns one after the other, at once.
    assert_eq!(found[6].1, end(90 * US));
    // The first frame goes before the others are there. Two thirds of its quantum of three frames
    // are lost with the queue that it empties, so that the next turn is the other's.
    let classes = two(&json!({"quantum_octets": 3000}), &json!({"quantum_octets": 3000}));
    let flows = [burst("a", 7, 5, 0), burst("b", 0, 5, 0)];
    let found = delivered(&outcome(&at_a_host(&classes, &flows)));
    let order: Vec<u32> = found.iter().map(|(flow, _)| *flow).collect();
    assert_eq!(order, [0, 1, 1, 1, 0, 0, 0, 1, 1, 0]);
}

#[test]
fn a_credit_based_shaper_waits_until_its_credit_is_back() {
    // A quarter of the wire: a frame of 8000 bits costs 6000 while 8 µs give 2000; 24 µs at 250 Mb/s
    // give them back.
    let classes = two(&json!({"idle_slope_bps": 250_000_000}), &json!({}));
    let found = outcome(&at_a_host(&classes, &[burst("a", 7, 3, 0)]));
    assert_eq!(delivered(&found), [(0, end(0)), (0, end(32 * US)), (0, end(64 * US))]);
}

#[test]
fn credit_grows_beyond_zero_behind_a_lower_frame_and_is_lost_when_nothing_waits() {
    let classes = two(&json!({"idle_slope_bps": 250_000_000}), &json!({}));
    let flows = [
        burst("a", 7, 3, 0),
        once("low", OCTETS, Some(0), 31 * US),
        burst("again", 7, 2, 200 * US),
    ];
    let found = delivered(&outcome(&at_a_host(&classes, &flows)));
    // The second frame may begin at 32 µs, but waits until 39. Its credit is 1750 bits then, 4250
    // below zero after it, and zero at 64 µs, as without the lower frame. Long after it is zero, not
    // more: the second of the last two waits for all of its credit.
    let expected = [
        (0, end(0)),
        (1, end(31 * US)),
        (0, end(39 * US)),
        (0, end(64 * US)),
        (2, end(200 * US)),
        (2, end(232 * US)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_class_without_a_shaper_goes_before_a_shaped_one_whose_credit_grows_meanwhile() {
    let all: &[u8] = &[0, 1, 2, 3, 4, 5];
    let mut shaped = class(&[6]);
    shaped["idle_slope_bps"] = json!(250_000_000);
    let classes = json!([class(&[7]), shaped, class(all)]);
    let flows = [burst("shaped", 6, 3, 0), burst("strict", 7, 2, 31 * US)];
    let found = delivered(&outcome(&at_a_host(&classes, &flows)));
    // The credit is back at 32 µs, but the first strict frame has begun, and the second one goes
    // before all others at 39. At 47 the credit is 3750 bits, 2250 below zero after the second
    // frame, and zero again at 64 µs.
    let expected =
        [(0, end(0)), (1, end(31 * US)), (1, end(39 * US)), (0, end(47 * US)), (0, end(64 * US))];
    assert_eq!(found, expected);
}

#[test]
fn each_class_has_its_own_room_and_every_frame_of_it_is_accounted_for() {
    // Frames that come every 8 µs leave every 80 µs; room for two, and for four.
    let classes = two(&json!({"queue_frames": 2}), &json!({}));
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch("s", &json!({"classes": classes, "queue_frames": 4})),
    ];
    let links = [link("a", "s", OCTET, 0), link("b", "s", 10 * OCTET, 0)];
    let flows = [burst("low", 0, 10, 0), burst("high", 7, 5, 100 * US)];
    let found = outcome(&trial(1, &nodes, &links, &flows, &phases(300 * US)));
    let out = &found.ports[3];
    // The high frames come from 108 to 140 µs, while the second low one is sent from 88 to 168 µs:
    // two find room. Of the low ones, which come until 80 µs, the first four do.
    let [high, low] = [out.classes[0], out.classes[1]];
    assert_eq!((high.arrived, high.dropped, high.queue_most), (5, 3, 2));
    assert_eq!((low.arrived, low.dropped, low.queue_most), (10, 6, 4));
    // By 300 µs four frames have left, at 88, 168, 248 µs: two low and one high.
    assert_eq!((high.frames, low.frames), (1, 2));
    let waiting =
        |class: ethermeter_trial::counts::ClassCounts| class.arrived - class.frames - class.dropped;
    assert_eq!((waiting(high), waiting(low)), (1, 2));
}

#[test]
fn classes_that_contradict_each_other_or_their_link_are_refused() {
    let flows = [once("x", 100, Some(1), 0)];
    let fault = |classes: Value| {
        let fault = Plan::check(&at_a_host(&classes, &flows)).expect_err("a fault");
        assert!(fault.path.to_string().starts_with("nodes[0].kind.host.classes"), "{}", fault.path);
        fault.to_string()
    };
    let all: &[u8] = &[0, 1, 2, 3, 4, 5, 6, 7];
    assert!(fault(json!([class(&all[1..])])).contains("0 is in 0"));
    assert!(fault(json!([class(all), class(&[7])])).contains("7 is in 2"));
    let slope = |bps: u64| json!({"idle_slope_bps": bps});
    assert!(fault(two(&slope(1_000_000_000), &json!({}))).contains("here 1000000000 bit/s"));
    assert!(fault(two(&json!({"quantum_octets": 0}), &json!({}))).contains("at least 1"));
    assert!(fault(two(&json!({"queue_frames": 0}), &json!({}))).contains("at least 1"));
    let both = json!({"quantum_octets": 9, "idle_slope_bps": 9});
    assert!(fault(two(&both, &json!({}))).contains("without quantum_octets"));
    let mut priority = at_a_host(&json!([class(all)]), &flows);
    priority.scenario.flows[0].priority = Some(8);
    assert_eq!(Plan::check(&priority).expect_err("a fault").path, "flows[0].priority");
    priority.scenario.flows[0].priority = Some(7);
    priority.scenario.links[0].half_duplex = true;
    priority.scenario.links[0].ps_per_octet = 80_000;
    // Classes are those of ports at full-duplex links; others have one queue.
    assert_eq!(Plan::check(&priority), Ok(()));
}

#[test]
fn a_bucket_that_does_not_hold_the_longest_message_is_refused() {
    let mut flow = burst("x", 7, 1, 0);
    flow["arrivals"]["burst_octets"] = json!(999);
    let classes = json!([class(&[0, 1, 2, 3, 4, 5, 6, 7])]);
    let fault = Plan::check(&at_a_host(&classes, &[flow])).expect_err("a fault");
    assert_eq!(fault.path, "flows[0].arrivals");
    assert!(fault.allowed.to_string().contains("1000 octets on the wire"), "{fault}");
    let mut flow = once("x", 100, None, 0);
    flow["shaper"] = json!({"rate_bps": 0, "burst_octets": 1000});
    let fault = Plan::check(&at_a_host(&classes, &[flow])).expect_err("a fault");
    assert_eq!(fault.path, "flows[0].shaper.rate_bps");
}
