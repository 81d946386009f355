//! Networks against queueing theory, and flow control and hubs against hand calculations.

use crate::common::network::{
    count, fixed, half, host, hub, link, mean_s, pausing, phases, regular, run, saturated, stream,
    switch, trial,
};
use crate::common::{discard, segment, simulate, Group, IEEE_10, MS, S};
use ethermeter_trial::counts::LOSSES;
use ethermeter_trial::medium::Mac;
use serde_json::{json, Value};

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
        // The mean service of the frames that arrived is their own; its error adds to the wait's,
        // and shows in the interval.
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
        with.flows.iter().all(|flow| flow.balance.lost == [0; LOSSES.len()] && flow.messages > 0),
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
    assert_eq!(flow.balance.lost, [0; LOSSES.len()]);
    // The sender is held: it has sent no more than was taken and the buffer holds.
    assert!(flow.balance.sent <= flow.messages + 64_000 / 64 + 2);
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
            let group = Group::saturated(vec![0; 5], 8 * 512);
            let mac = Mac::CsmaCd(IEEE_10);
            let mut trial = segment(100_000, mac, vec![vec![1_000_000]], &[group], 2 * S);
            trial.seed = seed + 100;
            discard(&mut trial);
            count(simulate(&trial).expect("a valid trial").stations.frames.iter().sum())
        })
        .collect();
    let ((here, half), (there, half_there)) = (interval(&hub_frames), interval(&segment_frames));
    assert!((here - there).abs() < half + half_there, "{here} ± {half}, {there} ± {half_there}");
    assert!(half < 0.02 * here, "{here} ± {half}");
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
