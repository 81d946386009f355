//! Voice in networks against hand calculations and bounds. Its laws over random networks are with
//! those of all flows, in `network_laws.rs`.

use crate::common::network::trial;
use crate::common::{simulate, S, US};
use crate::common::network::{traces, Traced};
use ethermeter_trial::counts::{FlowCounts, FlowVoice, LOSSES};
use ethermeter_trial::Trial;
use serde_json::{json, Value};

/// Octets around the data of UDP: 18 of Ethernet, 20 of IP, 8 of UDP; preamble and gap.
const AROUND: u64 = 46;
const PREAMBLE: u64 = 8;
const GAP: u64 = 12;
/// Octets of RTP's header.
const RTP: u64 = 12;
/// A sample of an octet every 125 us: 64 kb/s.
const SAMPLE: u64 = 125 * US;

fn phases(from: u64, to: u64, end: u64) -> Value {
    json!({"begin_ps": 0, "stop_ps": to, "measure_from_ps": from, "measure_to_ps": to, "end_ps": end, "spread_ps": 0})
}

fn host(name: &str) -> Value {
    json!({"name": name, "kind": {"host": {}}})
}

fn link(a: &str, b: &str, ps_per_octet: u64) -> Value {
    json!({"ends": [{"node": a}, {"node": b}], "ps_per_octet": ps_per_octet, "delay_ps": 700})
}

/// A coder of 64 kb/s over RTP, with packets of `least` to `most` samples.
fn voice(from: &str, to: &str, least: u64, most: u64) -> Value {
    json!({"name": format!("{from} to {to}"), "from": from, "to": [to], "framing": {"udp": {"mtu_octets": 1500}},
        "arrivals": {"kind": "coder", "sample_bits": 8, "sample_ps": SAMPLE, "spurts": null},
        "frames": {"kind": "samples", "overhead_bits": 8 * RTP, "min_bits": 8 * (RTP + least), "max_bits": 8 * (RTP + most)}})
}

/// Both implementations agree where both exist, and no sample is unaccounted for.
fn run(trial: &Trial) -> Traced {
    let (reference, fast) = traces(trial).expect("a valid trial");
    if let Some(fast) = fast {
        assert_eq!(
            (&reference.flows, &reference.ports, &reference.trace),
            (&fast.flows, &fast.ports, &fast.trace)
        );
    }
    for flow in &reference.flows {
        let it = of(flow);
        assert_eq!(
            it.host.made,
            it.delivered + it.host.lost + sum(it.lost) + it.host.left + it.under_way,
            "{it:?}"
        );
    }
    reference
}

fn of(flow: &FlowCounts) -> &FlowVoice {
    flow.voice.as_ref().expect("voice")
}

fn sum(lost: [u64; LOSSES.len()]) -> u64 {
    lost.iter().sum()
}

#[test]
fn a_coder_alone_sends_the_least_packets_and_its_delay_is_that_of_the_hand() {
    for (least, ps_per_octet) in [(160, 80_000), (80, 800_000), (1, 8000), (160, 4_000_000)] {
        let nodes = [host("a"), host("b")];
        let flows = [voice("a", "b", least, 1000)];
        let outcome = run(&trial(
            3,
            &nodes,
            &[link("a", "b", ps_per_octet)],
            &flows,
            &phases(S, 11 * S, 12 * S),
        ));
        let (flow, it) = (&outcome.flows[0], of(&outcome.flows[0]));
        // 10 s of samples, all of which come; the last of them gather until the coder stops.
        assert_eq!(it.host.made, 80_000);
        assert_eq!((it.host.lost, sum(it.lost), it.under_way), (0, 0, 0));
        assert!(it.host.left < least);
        // From the oldest sample to the newest, then preamble and frame, then the way. Each packet
        // has `least` samples, so each sample waits as long.
        let octets = (AROUND + RTP + least).max(64);
        let delay = u128::from((least - 1) * SAMPLE + (PREAMBLE + octets) * ps_per_octet + 700);
        assert_eq!(it.voice_delay.sum_ps, delay * u128::from(it.voice_delay.count));
        assert_eq!(it.sample_delay.sum_ps, delay * u128::from(it.sample_delay.count));
        assert_eq!(
            (flow.octets, flow.data_octets),
            (flow.messages * octets, flow.messages * (RTP + least))
        );
        // So many whole packets, but for the two that the edges of the window cut.
        assert!(flow.offered.abs_diff(80_000 / least) <= 1 && flow.offered == it.voice_delay.count);
    }
}

#[test]
fn service_time_is_from_wanting_to_calling_and_what_comes_meanwhile_goes_with_it() {
    // 2.5 ms are twenty samples more.
    let mut flow = voice("a", "b", 160, 1000);
    flow["service"] = json!({"kind": "constant", "ps": 2_500 * US});
    // The coder goes on beyond the window, so that no packet of it finds the coder stopped.
    let mut phases = phases(S, 11 * S, 13 * S);
    phases["stop_ps"] = json!(12 * S);
    let outcome =
        run(&trial(3, &[host("a"), host("b")], &[link("a", "b", 80_000)], &[flow], &phases));
    let it = &outcome.flows[0];
    assert_eq!(it.data_octets, it.messages * (RTP + 180));
    assert_eq!(
        of(it).voice_delay.sum_ps,
        u128::from((159 * SAMPLE) + 2_500 * US + (8 + 46 + 12 + 180) * 80_000 + 700)
            * u128::from(of(it).voice_delay.count)
    );
}

#[test]
fn a_wire_slower_than_the_coder_carries_full_packets_without_a_break_and_the_rest_is_lost_at_the_host(
) {
    // 32 kb/s: 250 us an octet. A call comes when the packet before has left, and waits for the gap
    // only.
    let (octet, most) = (250 * US, 400);
    let outcome = run(&trial(
        5,
        &[host("a"), host("b")],
        &[link("a", "b", octet)],
        &[voice("a", "b", 160, most)],
        &phases(10 * S, 110 * S, 120 * S),
    ));
    let it = of(&outcome.flows[0]);
    let packet = (PREAMBLE + AROUND + RTP + most) * octet;
    let cycle = packet + GAP * octet;
    // Utilisation is what gaps leave, to a packet and a gap of the 100 s.
    let busy = 100 * S / cycle * packet;
    assert!(
        outcome.ports[0].busy_ps.abs_diff(busy) <= cycle,
        "{} {busy}",
        outcome.ports[0].busy_ps
    );
    // Each cycle carries `most` samples; up to one cycle more or less, at each edge.
    assert!(it.delivered.abs_diff(100 * S / cycle * most) <= 2 * most, "{it:?}");
    assert_eq!(sum(it.lost), 0);
    // The oldest sample was made `most` - 1 samples or up to one more before the call; the packet
    // then waits for the gap.
    let (low, high) = ((most - 1) * SAMPLE, most * SAMPLE);
    let mean = it.voice_delay.sum_ps / u128::from(it.voice_delay.count);
    let wire = u128::from(cycle + 700);
    assert!(u128::from(low) + wire <= mean && mean <= u128::from(high) + wire, "{mean}");
}

/// Two coders into a switch whose only other wire is slow, with `buffer` at each port.
fn into_a_slow_wire(most: u64, ps_per_octet: u64, buffer: &Value) -> Traced {
    let switch = json!({"name": "s", "kind": {"switch": {"learning": "known", "buffer": buffer}}});
    let nodes = [host("a"), host("b"), host("c"), switch];
    let links = [link("a", "s", 80_000), link("b", "s", 80_000), link("c", "s", ps_per_octet)];
    let flows = [voice("a", "c", 20, most), voice("b", "c", 20, most)];
    run(&trial(11, &nodes, &links, &flows, &phases(10 * S, 60 * S, 70 * S)))
}

fn pausing() -> Value {
    json!({"octets": 10_000, "pause": {"high_octets": 400, "low_octets": 200, "quanta": 65535}})
}

#[test]
fn hosts_whose_wires_are_paused_send_longer_packets_and_lose_only_beyond_the_longest() {
    // Packets of 20 samples take 98 octets on the wire; 2 x 400 of them a second, of 160 kb/s that
    // carry 204. With n samples each, two hosts need 2 x 8000 (78 + n) / n octets a second of 20
    // 000: n = 312 at least.
    let octet = 50 * US;
    let longer = into_a_slow_wire(1000, octet, &pausing());
    assert!(longer.ports[0].pauses_received > 100 && longer.ports[2].pauses_received > 100);
    for flow in &longer.flows {
        let it = of(flow);
        assert_eq!((it.host.lost, sum(it.lost), it.under_way), (0, 0, 0), "{it:?}");
        // All are there but those that gather at the end.
        assert!(it.host.made - it.delivered < 1000);
        assert!(flow.data_octets > flow.messages * (RTP + 200), "{flow:?}");
    }
    // Both together no more than the wire carries.
    let together = |outcome: &Traced| {
        outcome.flows.iter().map(|flow| flow.octets + flow.messages * (PREAMBLE + GAP)).sum::<u64>()
    };
    assert!(together(&longer) <= 50 * S / octet + 3 * 1098);
    // Where packets may not grow so long, the wire is full, and what it does not carry is lost at
    // the hosts, and only there. Packets are not all of the longest: the one that waits at a
    // silenced wire was called as soon as it had the least.
    let most = 100;
    let shorter = into_a_slow_wire(most, octet, &pausing());
    let out = &shorter.ports[5];
    let full = out.busy_ps + out.frames * GAP * octet;
    assert!(full.abs_diff(50 * S) <= 2 * (78 + most) * octet, "{full}");
    let delivered: u64 = shorter.flows.iter().map(|flow| of(flow).delivered).sum();
    // To the packets that are between host and wire at either edge: those in the switch, at most
    // its memory's, and one of each host.
    let between = (2 * 10_000 / (AROUND + RTP) + 2) * most;
    assert!(delivered <= 50 * S / ((78 + most) * octet) * most + between, "{delivered}");
    for flow in &shorter.flows {
        let it = of(flow);
        assert!(it.host.lost > 0 && sum(it.lost) == 0, "{it:?}");
    }
}

#[test]
fn without_pause_a_host_does_not_know_and_the_switch_loses() {
    // 98 octets of packets each 2.5 ms from each: 1/2.5 ms x 2 x 98 / 20 000 = 3.92 times what the
    // wire carries.
    let switch =
        json!({"name": "s", "kind": {"switch": {"learning": "known", "queue_frames": 10}}});
    let nodes = [host("a"), host("b"), host("c"), switch];
    let links = [link("a", "s", 80_000), link("b", "s", 80_000), link("c", "s", 50 * US)];
    let flows = [voice("a", "c", 20, 1000), voice("b", "c", 20, 1000)];
    let outcome = run(&trial(11, &nodes, &links, &flows, &phases(10 * S, 60 * S, 70 * S)));
    let (made, lost) =
        outcome.flows.iter().map(of).fold((0, 0), |(m, l), it| (m + it.host.made, l + it.lost[0]));
    assert!(outcome
        .flows
        .iter()
        .all(|flow| of(flow).host.lost == 0 && flow.data_octets == flow.messages * (RTP + 20)));
    // One of 3.92 goes: lost are 1 - 1 / 3.92, to the queue of ten and a packet at either end.
    let carried = 50 * S / (98 * 50 * US) * 20;
    assert!((made - lost).abs_diff(carried) <= 14 * 20, "{made} {lost} {carried}");
}

#[test]
fn spurts_leave_packets_short_and_padded() {
    let mut flow = voice("a", "b", 160, 1000);
    // Spurts of 5 ms on average, silences of 45: packets of 160 samples are rarely filled.
    flow["arrivals"]["spurts"] = json!({"talk_mean_ps": 5e9, "silence_mean_ps": 45e9});
    let outcome = run(&trial(
        3,
        &[host("a"), host("b")],
        &[link("a", "b", 80_000)],
        &[flow],
        &phases(S, 101 * S, 102 * S),
    ));
    let (flow, it) = (&outcome.flows[0], of(&outcome.flows[0]));
    assert_eq!(flow.data_octets, flow.messages * (RTP + 160));
    assert_eq!(it.host.made, it.delivered + it.host.left);
    assert!(it.delivered < flow.messages * 80, "{it:?}");
}

#[test]
fn what_of_voice_cannot_be_is_refused_by_its_key() {
    let refusal = |path: &str, value: Value| {
        let mut flow = voice("a", "b", 160, 1000);
        *path.split('.').fold(&mut flow, |at, key| &mut at[key]) = value;
        let trial =
            trial(1, &[host("a"), host("b")], &[link("a", "b", 80_000)], &[flow], &phases(0, S, S));
        simulate(&trial).expect_err("a fault").to_string()
    };
    let fixed = json!({"kind": "fixed", "bits": 800});
    let response = json!({"frames": fixed, "think": {"kind": "constant", "ps": 0}});
    let cases = [
        ("frames", fixed, "flows[0].arrivals: must be of kind coder where"),
        (
            "arrivals",
            json!({"kind": "saturated"}),
            "flows[0].arrivals: must be of kind coder where",
        ),
        ("response", response, "flows[0].response: must not be given with a coder"),
        ("queue_frames", json!(3), "flows[0].queue_frames: must not be given with a coder"),
        ("address", json!("multicast"), "flows[0].address: must be unicast with a coder"),
        (
            "frames.max_bits",
            json!(8 * 1473),
            "max_bits at most 11776 so that a packet goes in one frame",
        ),
        ("framing", json!("frame"), "overhead_bits at least 144"),
        (
            "arrivals.sample_bits",
            json!(12),
            "flows[0].arrivals: must have sample_bits of whole octets, got 12",
        ),
        (
            "frames.max_bits",
            json!(8 * 100),
            "flows[0].frames: must have overhead_bits below max_bits",
        ),
    ];
    for (path, value, expected) in cases {
        let message = refusal(path, value);
        assert!(message.contains(expected), "{message}");
    }
}
