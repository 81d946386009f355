//! Back-pressure at half-duplex links and a memory of all ports, against hand calculations and laws.

use crate::common::network::{
    half, host, link, phases, regular, run, saturated, stream, switch, trial,
};
use crate::common::{MS, US};
use ethermeter_trial::Counts;
use ethermeter_trial::counts::FlowCounts;
use serde_json::{Value, json};

/// At 10 Mb/s, an octet takes 800 ns.
const OCTET: u64 = 800_000;

/// Hosts a, at 100 Mb/s, and b, at a half-duplex link of 10 Mb/s, at a switch with this memory; a sends
/// to b frames of 1000 octets each `every`, and b as much as it can.
fn uneven(buffer: &Value, every: u64) -> Counts {
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch("s", &json!({"buffer": buffer})),
    ];
    let links = [link("a", "s", 80_000, 0), half("b", "s", OCTET, 0)];
    let flows = [stream("a", "b", 1000, &regular(every)), stream("b", "a", 1000, &saturated())];
    run(&trial(3, &nodes, &links, &flows, &phases(2000 * MS)))
}

fn delivered(counts: &Counts) -> [u64; 2] {
    [0, 1].map(|flow: usize| counts.flows[flow].messages)
}

fn lost(flow: &FlowCounts) -> u64 {
    flow.balance.lost[1] // no room in the memory of a port in
}

#[test]
fn a_host_is_silent_for_as_long_as_a_shared_memory_is_filled_from_elsewhere() {
    let buffer = json!({"octets": 20_000, "shared": true,
        "back_pressure": {"high_octets": 10_000, "low_octets": 5_000}});
    // What comes for b takes 500 us and its wire 815 us, so the memory is full for ever.
    let [to_b, from_b] = delivered(&uneven(&buffer, 500 * US));
    // All of the wire is a's: a frame each (1000 + 8 + 12) octets.
    let most = 2000 * MS / (1020 * OCTET);
    assert!(to_b.abs_diff(most) <= 25, "{to_b} of {most}");
    assert!(from_b <= 25, "{from_b} frames while the memory was filled");
    // A memory of each port is that of b's frames alone, which leave at once.
    let own = json!({"octets": 20_000,
        "back_pressure": {"high_octets": 10_000, "low_octets": 5_000}});
    let [_, from_b] = delivered(&uneven(&own, 500 * US));
    assert!(from_b > 100, "{from_b}");
    // Without back-pressure b sends now and then, and what it sends finds no room.
    let without = uneven(&json!({"octets": 20_000, "shared": true}), 500 * US);
    assert!(lost(&without.flows[1]) > 100, "{:?}", without.flows[1].balance);
}

#[test]
fn no_back_pressure_is_as_if_it_were_not_there() {
    // The memory never holds so much.
    let plain = uneven(&json!({"octets": 1_000_000}), 20_000 * US);
    let idle = uneven(
        &json!({"octets": 1_000_000, "shared": true,
            "back_pressure": {"high_octets": 900_000, "low_octets": 1000}}),
        20_000 * US,
    );
    assert_eq!(plain.flows, idle.flows);
}

/// b and c of half-duplex links send to a, whose link is as slow as theirs.
fn into_one(buffer: &Value) -> Counts {
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        host("c", &json!({})),
        switch("s", &json!({"buffer": buffer})),
    ];
    let links = ["a", "b", "c"].map(|name| half(name, "s", OCTET, 0));
    let flows = ["b", "c"].map(|name| stream(name, "a", 500, &saturated()));
    run(&trial(5, &nodes, &links, &flows, &phases(1000 * MS)))
}

#[test]
fn back_pressure_loses_nothing_where_the_memory_has_room_for_what_is_under_way() {
    // A frame of each may be under way when the links are kept busy.
    let buffer = |with: Value| {
        let mut buffer = json!({"octets": 8_000});
        buffer.as_object_mut().expect("a table").extend(with.as_object().expect("one").clone());
        buffer
    };
    let pressed = json!({"back_pressure": {"high_octets": 6_000, "low_octets": 3_000}});
    for more in [json!({}), json!({"shared": true})] {
        let mut with = pressed.clone();
        with.as_object_mut().expect("a table").extend(more.as_object().expect("one").clone());
        let counts = into_one(&buffer(with));
        let sent: u64 = counts.flows.iter().map(|flow| flow.messages).sum();
        // The wire of a carries all that fits.
        let most = 1000 * MS / (520 * OCTET);
        assert!(sent + 25 >= most, "{sent} of {most}");
        let losses: Vec<u64> = counts.flows.iter().map(lost).collect();
        assert_eq!(losses, [0, 0], "{more}");
    }
    let without = into_one(&buffer(json!({})));
    assert!(without.flows.iter().map(lost).sum::<u64>() > 100);
}

#[test]
fn a_host_that_was_held_sends_a_gap_after_the_line_is_free() {
    // One frame of a fills the memory beyond the mark until its last octet has left for b; meanwhile b
    // gets a frame to send, which goes out a gap later.
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch("s", &json!({"buffer": {"octets": 4000, "shared": true,
            "back_pressure": {"high_octets": 500, "low_octets": 0}}})),
    ];
    let links = [link("a", "s", 80_000, 0), half("b", "s", OCTET, 0)];
    let late = json!({"kind": "regular", "period_ps": 500 * MS, "phase_ps": 300 * US});
    let early = json!({"kind": "regular", "period_ps": 500 * MS, "phase_ps": 0});
    let flows = [stream("a", "b", 1000, &early), stream("b", "a", 100, &late)];
    let counts = run(&trial(1, &nodes, &links, &flows, &phases(400 * MS)));
    // a: its wire of 1008 octets, then the switch's. b waits from 300 us until that is over, and the
    // gap of 12 octets; then 108 octets to the switch and 108 to a.
    let free = 1008 * 80_000 + 1008 * OCTET;
    let expected = free - 300 * US + 12 * OCTET + 108 * OCTET + 108 * 80_000;
    assert_eq!(counts.flows[1].one_way.max_ps, expected);
}
