//! Clocks of hosts in networks: by hand, against their true delays, each implementation against the
//! other.

use crate::common::network::{fixed, regular, trial};
use crate::common::{MS, S, US};
use crate::common::network::{traces, Traced};
use ethermeter_trial::clocks::Comparing;
use ethermeter_trial::counts::{SignedDelays, SynchronisedDelays};
use ethermeter_trial::Trial;
use proptest::prelude::*;
use serde_json::{json, Value};

fn flow(name: &str, from: &str, to: &[&str], octets: u64, arrivals: &Value) -> Value {
    let address = if to.len() > 1 { "multicast" } else { "unicast" };
    json!({"name": name, "from": from, "to": to, "address": address, "frames": fixed(octets), "arrivals": arrivals})
}

/// `settle`, `transmit`, and a drain as long as the settling; measured is all of the transmission.
fn phases(settle: u64, transmit: u64) -> Value {
    json!({"begin_ps": settle, "stop_ps": settle + transmit, "measure_from_ps": settle, "measure_to_ps": settle + transmit,
        "end_ps": 2 * settle + transmit, "spread_ps": 0})
}

/// Hosts at a switch, over links of 10 Mb/s; `clocks` by name.
fn star(
    seed: u64,
    hosts: &[&str],
    clocks: &Value,
    comparing: bool,
    flows: &[Value],
    phases: &Value,
) -> Trial {
    let host = |name: &&str| {
        let mut host = json!({});
        if let Some(clock) = clocks.get(*name) {
            host["clock"] = clock.clone();
        }
        json!({"name": name, "kind": {"host": host}})
    };
    let switch = json!({"name": "s", "kind": {"switch": {"learning": "known"}}});
    let nodes: Vec<Value> = hosts.iter().map(host).chain([switch]).collect();
    let link =
        |name: &&str| json!({"ends": [{"node": name}, {"node": "s"}], "ps_per_octet": 800_000});
    let links: Vec<Value> = hosts.iter().map(link).collect();
    let mut trial = trial(seed, &nodes, &links, flows, phases);
    if comparing {
        trial.scenario.clocks = Comparing::Compared;
    }
    trial
}

/// Both implementations, which must agree and balance.
fn run(trial: &Trial) -> Traced {
    let (reference, fast) = traces(trial).expect("a valid trial");
    let of_flows = reference.flows.iter().map(|flow| &flow.balance);
    for b in of_flows.chain(reference.clock_pairs.iter().map(|comparison| &comparison.balance)) {
        assert_eq!(
            b.sent + b.copied,
            b.delivered + b.lost.iter().sum::<u64>() + b.in_flight,
            "{b:?}"
        );
    }
    let fast = fast.expect("nothing that only the reference knows");
    assert_eq!(reference.trace, fast.trace);
    assert_eq!(reference.flows, fast.flows);
    assert_eq!(reference.ports, fast.ports);
    assert_eq!(reference.clock_pairs, fast.clock_pairs);
    reference
}

fn clock_delay(outcome: &Traced, flow: usize) -> &SignedDelays {
    &outcome.flows[flow].clocks.as_ref().expect("a flow that is read").clock
}

fn compared(outcome: &Traced, flow: usize) -> &SynchronisedDelays {
    outcome.flows[flow]
        .clocks
        .as_ref()
        .and_then(|clocks| clocks.synchronised.as_ref())
        .expect("a compared flow")
}

#[allow(clippy::cast_precision_loss)] // below a second
fn ns(ps: u64) -> f64 {
    ps as f64 / 1e3
}

fn clock(offset_ps: i64, drift_ppb: i64) -> Value {
    json!({"offset_ps": offset_ps, "drift_ppb": drift_ppb})
}

#[test]
fn clocks_that_only_differ_shift_every_delay_by_their_difference() {
    // The receiver is 250 ms behind, the sender 3 us ahead.
    let clocks = json!({"a": clock(3_000_000, 0), "b": clock(-250_000_000_000, 0)});
    let poisson = json!({"kind": "poisson", "mean_ps": 2e9});
    let of = |clocks: &Value| {
        run(&star(
            5,
            &["a", "b"],
            clocks,
            false,
            &[flow("f", "a", &["b"], 1000, &poisson)],
            &phases(MS, S),
        ))
    };
    let outcome = of(&clocks);
    let (truth, read) = (&outcome.flows[0].one_way, clock_delay(&outcome, 0));
    let shift = -250_003_000_000i64;
    assert!(truth.count > 300 && truth.buckets.len() > 10);
    assert_eq!(
        (read.count, read.sum_ps),
        (truth.count, truth.sum_ps.cast_signed() + i128::from(shift) * i128::from(truth.count))
    );
    let shifted: Vec<_> = truth
        .buckets
        .iter()
        .map(|&(low, high, count)| (low.cast_signed() + shift, high.cast_signed() + shift, count))
        .collect();
    assert_eq!(read.buckets, shifted);
    // Nothing else is otherwise.
    let mut without = of(&json!({}));
    assert!(without.flows[0].clocks.is_none());
    without.counts.flows[0].clocks.clone_from(&outcome.flows[0].clocks);
    assert_eq!(
        (&without.flows, &without.ports, &without.trace),
        (&outcome.flows, &outcome.ports, &outcome.trace)
    );
}

#[test]
fn clocks_that_drift_apart_make_delays_grow_by_the_drift() {
    // 50 ppm: 50 ns in each ms. Messages at 1 ms, 2 ms, …, 100 ms each take two frames' times, 1008
    // octets of 800 ns.
    let outcome = run(&star(
        1,
        &["a", "b"],
        &json!({"b": clock(0, 50_000)}),
        false,
        &[flow("f", "a", &["b"], 1000, &regular(MS + 100 * US))],
        &phases(0, 101 * MS),
    ));
    let delay = 2 * 1008 * 800_000u64;
    let read = clock_delay(&outcome, 0);
    assert_eq!(outcome.flows[0].one_way.sum_ps, u128::from(delay) * u128::from(read.count));
    let arrivals: Vec<u64> = outcome
        .trace
        .iter()
        .filter(|d| d.flow.number() == 0 && d.at_ps < 101 * MS)
        .map(|d| d.at_ps)
        .collect();
    assert_eq!(arrivals.len() as u64, read.count);
    // What it has gained when a message comes, in whole picoseconds: every 20 000th.
    let expected: i128 = arrivals.iter().map(|at| i128::from(delay + at / 20_000)).sum();
    assert_eq!(read.sum_ps, expected);
    let first = i64::try_from(delay + arrivals[0] / 20_000).expect("small");
    let last = i64::try_from(delay + arrivals[arrivals.len() - 1] / 20_000).expect("small");
    let (low, high) = (read.buckets[0], read.buckets[read.buckets.len() - 1]);
    assert!(
        low.0 <= first && first < low.1 && high.0 <= last && last < high.1,
        "{first} {last} {low:?} {high:?}"
    );
    // A sender that is slow by as much shows the same growth but for its time in between.
    let slow = run(&star(
        1,
        &["a", "b"],
        &json!({"a": clock(0, -50_000)}),
        false,
        &[flow("f", "a", &["b"], 1000, &regular(MS + 100 * US))],
        &phases(0, 101 * MS),
    ));
    let expected: i128 =
        arrivals.iter().map(|at| i128::from(delay + (at - delay).div_ceil(20_000))).sum();
    assert_eq!(clock_delay(&slow, 0).sum_ps, expected);
}

#[test]
fn only_streams_with_a_clock_at_an_end_are_read() {
    let mut asked = flow("ask", "a", &["b"], 100, &regular(MS));
    asked["response"] = json!({"frames": fixed(100), "think": {"kind": "constant", "ps": 0}});
    let flows = [
        flow("f", "c", &["d"], 100, &regular(MS)),
        asked,
        flow("g", "c", &["b"], 100, &regular(MS)),
    ];
    let outcome = run(&star(
        1,
        &["a", "b", "c", "d"],
        &json!({"b": clock(7, 0)}),
        false,
        &flows,
        &phases(0, 50 * MS),
    ));
    let read: Vec<bool> = outcome.flows.iter().map(|flow| flow.clocks.is_some()).collect();
    assert_eq!(read, [false, false, true]);
    assert!(outcome.clock_pairs.is_empty());
    assert!(outcome.flows[2].clocks.as_ref().is_some_and(|clocks| clocks.synchronised.is_none()));
}

#[test]
fn an_idle_symmetric_path_is_compared_to_a_nanosecond_or_two_and_so_is_its_bound_by_hand() {
    let clocks = json!({"a": clock(S.cast_signed(), 25_000), "b": clock(0, -25_000)});
    let flows = [flow("f", "a", &["b"], 96, &regular(40 * MS + 77 * US))];
    let outcome = run(&star(3, &["a", "b"], &clocks, true, &flows, &phases(100 * MS, S)));
    let comparison = &outcome.clock_pairs[0];
    assert_eq!((comparison.sender, comparison.receiver), (0, 1));
    // Rounds of 25 ms have requests at 0, 2, …, 24 ms; the transmission one each 100 ms; then
    // settling's again.
    assert_eq!(
        (comparison.requests, comparison.answered, comparison.lost),
        (4 * 13 + 10 + 4 * 13, 4 * 13 + 10 + 4 * 13, 0)
    );
    let estimate = comparison.estimate.expect("enough exchanges");
    assert_eq!(estimate.contradictions, 0);
    // A frame of 96 octets takes 104 octets of 800 ns on each of two links each way: 332.8 us there
    // and back.
    let half_ns = 2.0 * 104.0 * 800.0;
    assert!((estimate.fastest_round_trip_ns - 2.0 * half_ns).abs() < 40.0, "{estimate:?}");
    // Sender's clock over the receiver's, in the middle of the window at 0.6 s: 1 s, and 50 us in
    // each second.
    assert!((estimate.offset_ns - (1e9 + 30_000.0)).abs() < 3.0, "{estimate:?}");
    assert!(
        (estimate.drift - 50e-6).abs() < 1e-8 && estimate.drift_uncertainty > 0.0,
        "{estimate:?}"
    );
    // Weights are positive and sum to 1 in the middle: half a round trip by the receiver's clock,
    // 25 ppm too slow, and a nanosecond or two of rounding.
    assert!((estimate.uncertainty_ns - half_ns * (1.0 - 25e-6)).abs() < 3.0, "{estimate:?}");
    let of = compared(&outcome, 0);
    assert_eq!((of.unrelated, of.before_sent, of.delays.count), (0, 0, outcome.flows[0].messages));
    // The path is as long there as back: the estimate is right to the last nanoseconds, though the
    // bound cannot know it.
    assert!(of.error_most_ps < 60_000, "{of:?}");
    assert!(of.delay_uncertainty_ns >= Some(estimate.uncertainty_ns));
}

#[test]
fn a_path_that_is_loaded_one_way_is_estimated_wrong_by_no_more_than_is_stated() {
    // The data themselves hold the answers up, which go their way; requests find theirs empty.
    // Delays are estimated too small.
    let clocks = json!({"a": clock(S.cast_signed(), 50_000)});
    let load = json!({"kind": "poisson", "mean_ps": 1.35e9}); // 1526 octets of 800 ns: 90%
    let outcome = run(&star(
        11,
        &["a", "b"],
        &clocks,
        true,
        &[flow("f", "a", &["b"], 1518, &load)],
        &phases(0, 2 * S),
    ));
    let of = compared(&outcome, 0);
    // Without a settling nothing is known of the first.
    assert!(of.unrelated > 0 && of.delay_uncertainty_ns.is_none(), "{of:?}");
    let outcome = run(&star(
        11,
        &["a", "b"],
        &clocks,
        true,
        &[flow("f", "a", &["b"], 1518, &load)],
        &phases(100 * MS, 2 * S),
    ));
    let of = compared(&outcome, 0);
    let bound_ns = of.delay_uncertainty_ns.expect("known from the settling on");
    let error_ns = ns(of.error_most_ps);
    assert!(error_ns > 1e3 && error_ns <= bound_ns, "{error_ns} {bound_ns}");
    assert_eq!(compared(&outcome, 0).delays.count + of.unrelated, outcome.flows[0].messages);
}

#[test]
fn comparisons_without_room_lose_exchanges_and_say_so() {
    // Two saturated sources into one port of 4 frames: most requests that share it are lost.
    let flows = [
        flow("f", "a", &["b"], 1518, &json!({"kind": "saturated"})),
        flow("g", "c", &["b"], 1518, &json!({"kind": "saturated"})),
    ];
    let mut trial =
        star(2, &["a", "b", "c"], &json!({"b": clock(5, 0)}), true, &flows, &phases(100 * MS, S));
    for node in &mut trial.scenario.nodes {
        if let ethermeter_trial::nodes::Kind::Switch(switch) = &mut node.kind {
            switch.queue_frames = Some(4);
        }
    }
    let outcome = run(&trial);
    assert_eq!(outcome.clock_pairs.len(), 2);
    for comparison in &outcome.clock_pairs {
        assert_eq!(comparison.requests, comparison.answered + comparison.lost);
        let b = &comparison.balance;
        assert!(b.lost.iter().sum::<u64>() <= comparison.lost, "{comparison:?}");
    }
    assert!(outcome.clock_pairs.iter().any(|comparison| comparison.lost > 0));
}

#[test]
fn a_group_is_read_by_the_clock_of_each_receiver() {
    let clocks = json!({"b": clock(1000, 0), "c": clock(-5000, 0)});
    let flows = [flow("f", "a", &["b", "c"], 500, &regular(5 * MS))];
    let outcome =
        run(&star(4, &["a", "b", "c"], &clocks, true, &flows, &phases(100 * MS, 200 * MS)));
    let (truth, read) = (&outcome.flows[0].one_way, clock_delay(&outcome, 0));
    assert_eq!(read.count, truth.count);
    assert_eq!(read.sum_ps, truth.sum_ps.cast_signed() - 4000 * i128::from(read.count / 2));
    assert!(read.buckets.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    assert_eq!(outcome.clock_pairs.len(), 2);
    let of = compared(&outcome, 0);
    assert!(of.estimate.is_none() && of.delay_uncertainty_ns.is_some());
}

#[test]
fn clocks_out_of_range_are_refused_with_their_key() {
    let refused = |clock: &Value| {
        let clocks = json!({"b": clock});
        let trial = star(
            1,
            &["a", "b"],
            &clocks,
            false,
            &[flow("f", "a", &["b"], 100, &regular(MS))],
            &phases(0, MS),
        );
        traces(&trial).expect_err("out of range").to_string()
    };
    for (key, value) in [
        ("offset_ps", json!(-10_000_000_000_001i64)),
        ("drift_ppb", json!(1_000_001)),
        ("offset_spread_ps", json!(10_000_000_000_001u64)),
        ("drift_spread_ppb", json!(1_000_001)),
    ] {
        let message = refused(&json!({ key: value }));
        assert!(
            message.starts_with(&format!("nodes[1].kind.host.clock.{key}: must be")),
            "{message}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_truth_is_within_the_stated_bound_whatever_the_clocks_and_the_load(
        seed: u64, offsets in any::<[i64; 3]>(), drifts in any::<[i64; 3]>(), load in 0.05f64..1.2, back in 0.05f64..1.2, room in 3u32..60,
    ) {
        let of = |at: usize| clock(offsets[at] % 1_000_000_000_000, drifts[at] % 100_000);
        let clocks = json!({"a": of(0), "b": of(1), "c": of(2)});
        let arrivals = |share: f64| json!({"kind": "poisson", "mean_ps": 526.0 * 800_000.0 / share});
        let flows = [
            flow("there", "a", &["b"], 506, &arrivals(load)), flow("back", "b", &["a"], 506, &arrivals(back)),
            flow("beside", "c", &["b"], 506, &arrivals(0.3)),
        ];
        let mut trial = star(seed % (1 << 40), &["a", "b", "c"], &clocks, true, &flows, &phases(120 * MS, 500 * MS));
        for node in &mut trial.scenario.nodes {
            if let ethermeter_trial::nodes::Kind::Switch(switch) = &mut node.kind {
                switch.queue_frames = Some(room);
            }
        }
        let outcome = run(&trial);
        prop_assert_eq!(outcome.clock_pairs.len(), 3);
        for (at, flow) in outcome.flows.iter().enumerate() {
            let of = compared(&outcome, at);
            prop_assert_eq!(of.contradictions, 0);
            prop_assert_eq!(of.delays.count + of.unrelated, flow.messages);
            let Some(bound_ns) = of.delay_uncertainty_ns else { continue };
            // The bound is of the relation of two clocks at a time. A delay is by the receiver's
            // clock, which goes wrong by 100 ppm of it at most; a bound by one clock is by the
            // other 200 ppm more; the message was sent that long before; and three times are
            // rounded to a nanosecond.
            let longest_ns = flow.one_way.buckets.last().map_or(0.0, |bucket| ns(bucket.1));
            let estimate = of.estimate.expect("one receiver");
            let allowed_ns = bound_ns * 1.0002 + longest_ns * (1e-4 + estimate.drift_uncertainty) + 3.0;
            prop_assert!(ns(of.error_most_ps) <= allowed_ns, "{:?} {}", of, allowed_ns);
        }
    }
}
