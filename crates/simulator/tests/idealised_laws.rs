//! Idealised MACs by hand and by laws, and their faults.
//!
//! A simulated value may be off by chance and a printed one by half a unit of its last digit, and
//! no more. Chance: batch means (64) or replications (32) give the standard error, and Student's t
//! the factor for an error probability of 5e-9 a point, which is below 1e-6 over the fewer than 200
//! points here. Seeds are fixed.
// Theories' symbols have one letter, counts become reals, and JSON is written where it is used.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::many_single_char_names,
    clippy::needless_pass_by_value
)]

use ethermeter_simulator::time::{Instant, Span};
use crate::common::idealised::{
    adaptive, agree, coyle_liu, finite, infinite, outcome, poisson, read_and_run, refused,
    replicated, saturated, slotted, stretch, takagi_kleinrock, thinking, trial, unslotted,
    utilisation, wait, PACKET, SLOT,
};
use crate::common::simulate;
use crate::common::idealised::run;
use ethermeter_simulator::mac::transmitter::Ending;
use ethermeter_simulator::Watch;
use ethermeter_trial::medium::Backoff;
use ethermeter_trial::Trial;
use serde_json::{json, Value};

/// One of each MAC, short, with three stations.
fn some_of_each() -> Vec<Trial> {
    let packets = 2000;
    vec![
        saturated(
            3,
            20,
            0,
            &stretch(50_000, slotted(2, json!("non"), json!("same-slot"), infinite(0.4))),
        ),
        saturated(
            3,
            20,
            0,
            &stretch(50_000, slotted(21, json!("non"), json!("whole-slot"), infinite(0.1))),
        ),
        saturated(3, 20, 0, &stretch(50_000, slotted(4, json!(0.2), Value::Null, infinite(0.2)))),
        thinking(
            3,
            20,
            0.01,
            &stretch(
                50_000,
                slotted(2, json!("non"), json!("whole-slot"), finite(0.1, "immediate")),
            ),
        ),
        poisson(
            3,
            20,
            70.0,
            Some(2),
            &stretch(50_000, slotted(2, json!("non"), json!("whole-slot"), finite(0.1, "delayed"))),
        ),
        poisson(
            3,
            20,
            80.0,
            None,
            &stretch(50_000, slotted(2, json!("non"), json!("whole-slot"), finite(0.2, "delayed"))),
        ),
        saturated(3, 20, 0, &stretch(50_000, adaptive(2, 0, "one-of-waiting", "at-once"))),
        poisson(
            3,
            20,
            90.0,
            Some(2),
            &stretch(50_000, adaptive(2, 1, "one-of-waiting", "next-slot")),
        ),
        poisson(3, 20, 120.0, None, &stretch(50_000, adaptive(2, 1, "one-over-e", "next-slot"))),
        poisson(
            3,
            20,
            90.0,
            Some(5),
            &stretch(50_000, adaptive(3, 0, "binary-exponential", "at-once")),
        ),
        unslotted(3, 2.0, packets, coyle_liu(0.05, 0.07, 0.5)),
        unslotted(3, 1.0, packets, takagi_kleinrock(0.05, 0.02, false, None)),
        unslotted(3, 1.0, packets, takagi_kleinrock(0.05, 0.02, true, None)),
        unslotted(3, 0.0, packets, takagi_kleinrock(0.05, 0.02, false, Some(1.5))),
        poisson(
            3,
            20,
            90.0,
            None,
            &stretch(50_000, json!({"polling": {"walk_ps": SLOT, "discipline": "gated"}})),
        ),
        poisson(
            3,
            20,
            90.0,
            None,
            &stretch(50_000, json!({"polling": {"walk_ps": SLOT, "discipline": "limited"}})),
        ),
    ]
}

/// Everything is in the window, and the stop leaves time for frames that wait.
fn measure_all(trial: &mut Trial) {
    let phases = &mut trial.scenario.phases;
    phases.measure_from_ps = 0;
    phases.stop_ps = phases.end_ps / 2;
    phases.measure_to_ps = phases.end_ps;
}

#[test]
fn every_frame_offered_is_delivered_lost_or_still_there() {
    for mut trial in some_of_each() {
        measure_all(&mut trial);
        let (outcome, trace) = run(&trial, &Watch::default(), true).expect("a valid trial");
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        let (frames, discarded) = (sum(&outcome.stations.frames), sum(&outcome.stations.discarded));
        assert!(frames > 50, "{:?}", trial.scenario.media[0].mac);
        let gone = frames + discarded + sum(&outcome.stations.dropped);
        assert_eq!(sum(&outcome.stations.offered), gone, "{:?}", trial.scenario.media[0].mac);
        assert_eq!(outcome.media[0].time_ps.iter().sum::<u64>(), outcome.window_ps);
        assert_eq!(frames + sum(&outcome.stations.collisions), trace.len() as u64);
        let delivered = trace.iter().filter(|attempt| attempt.ending == Ending::Delivered);
        let bits: u64 = delivered.clone().map(|attempt| attempt.length.0).sum();
        assert_eq!(sum(&outcome.stations.bits), bits);
        assert_eq!(
            outcome.media[0].time_ps[0],
            delivered.map(|attempt| (attempt.end - attempt.start).ps()).sum::<u64>()
        );
        assert!(trace.windows(2).all(|pair| pair[0].start <= pair[1].start));
        assert!(
            trace
                .iter()
                .all(|a| a.arrived <= a.taken_up && a.taken_up <= a.start && a.start < a.end),
            "{:?}",
            trial.scenario.media[0].mac
        );
    }
}

#[test]
fn littles_law_holds_in_every_world() {
    for mut trial in some_of_each() {
        // From an empty to an empty world it is an identity: time waited by frames delivered or
        // given up.
        measure_all(&mut trial);
        let (outcome, trace) = run(&trial, &Watch::default(), true).expect("a valid trial");
        let gone = trace
            .iter()
            .filter(|attempt| matches!(attempt.ending, Ending::Delivered | Ending::Discarded));
        let waited: Span = gone.map(|attempt| attempt.end - attempt.taken_up).sum();
        let waited = waited.to_f64();
        let waiting = outcome.stations.waiting_ps.iter().sum::<u64>() as f64;
        assert!(
            (waiting - waited).abs() <= 1e-9 * waited,
            "{:?}: {waiting} {waited}",
            trial.scenario.media[0].mac
        );
    }
}

#[test]
fn no_two_transmissions_that_succeed_overlap() {
    for trial in some_of_each() {
        let (_, trace) = run(&trial, &Watch::default(), true).expect("a valid trial");
        let mut busy_until = Instant::ZERO;
        for attempt in &trace {
            if attempt.ending == Ending::Delivered {
                assert!(attempt.start >= busy_until, "{:?}", trial.scenario.media[0].mac);
            }
            busy_until = busy_until.max(attempt.end);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    for trial in some_of_each() {
        let again = run(&trial, &Watch::default(), true).expect("a valid trial");
        let (first, trace) = run(&trial, &Watch::default(), true).expect("a valid trial");
        assert_eq!((format!("{first:?}"), &trace), (format!("{:?}", again.0), &again.1));
        let other = run(&Trial { seed: trial.seed + 1, ..trial.clone() }, &Watch::default(), true)
            .expect("a valid trial");
        assert_ne!(trace, other.1, "{:?}", trial.scenario.media[0].mac);
    }
}

#[test]
fn the_seed_alone_decides_and_not_the_length_of_the_trial() {
    for trial in some_of_each() {
        let (_, long) = run(&trial, &Watch::default(), true).expect("a valid trial");
        let mut shorter = trial.clone();
        shorter.scenario.phases.end_ps /= 2;
        shorter.scenario.phases.stop_ps = shorter.scenario.phases.end_ps;
        shorter.scenario.phases.measure_to_ps = shorter.scenario.phases.end_ps;
        let (_, short) = run(&shorter, &Watch::default(), true).expect("a valid trial");
        // What begins before the shorter one's end, less a packet and a contention about it, cannot
        // know of it.
        let sure = short.len() * 9 / 10;
        assert_eq!(long[..sure], short[..sure], "{:?}", trial.scenario.media[0].mac);
    }
}

#[test]
fn a_station_alone_never_collides_and_its_cycle_is_known() {
    // (world, exact length of a cycle in slots where all times are constant)
    let packet = 20;
    let non = |population| slotted(2, json!("non"), json!("whole-slot"), population);
    for (world, cycle) in [
        // think no time, be there at the end of the first idle slot, start at once: packet, slot of
        // propagation, slot
        (non(finite(1.0, "immediate")), 22),
        // … and wait for the second idle slot
        (non(finite(1.0, "delayed")), 23),
        (adaptive(5, 0, "one-of-waiting", "at-once"), 20),
        (adaptive(5, 3, "one-of-waiting", "at-once"), 23),
        (adaptive(5, 3, "one-over-e", "at-once"), 23),
        (adaptive(5, 0, "binary-exponential", "at-once"), 20),
        (adaptive(5, 3, "binary-exponential", "next-slot"), 25), // ready with the packet's end: the first slot after the silence, or the next
    ] {
        let outcome = outcome(&saturated(1, packet, 0, &stretch(46_000, world.clone())));
        assert_eq!(outcome.stations.collisions[0], 0);
        if world["adaptive"]["policy"] == "binary-exponential" && world["adaptive"]["clear_ps"] != 0
        {
            // it need not wait for another slot
            assert!((utilisation(&outcome).mean - 20.0 / 23.0).abs() < 1e-3);
            continue;
        }
        let cycles = outcome.window_ps / (cycle * SLOT);
        assert!(
            outcome.stations.frames[0].abs_diff(cycles) <= 1,
            "{world} {} {cycles}",
            outcome.stations.frames[0]
        );
    }
    // Without slots: packet, propagation, and no time to think.
    for world in [takagi_kleinrock(0.05, 0.05, false, None), coyle_liu(0.05, 0.05, 1.0)] {
        let mut trial = unslotted(1, 0.0, 10_000, world);
        trial.scenario.phases.measure_from_ps = 0;
        let outcome = outcome(&trial);
        let cycles = outcome.window_ps as f64 / PACKET / 1.05;
        assert!(
            (outcome.stations.frames[0] as f64 - cycles).abs() <= 1.0,
            "{} {cycles}",
            outcome.stations.frames[0]
        );
    }
}

#[test]
fn a_queue_of_one_station_alone_is_an_m_d_1_queue() {
    let world = stretch(40_000_000, adaptive(1, 0, "one-of-waiting", "at-once"));
    for load in [0.3, 0.7] {
        let one = outcome(&poisson(1, 100, 100.0 / load, None, &world));
        // Several frames of one station contend in the implied queue, so it is not this one; the
        // backoff of a station alone is.
        assert!(one.stations.collisions[0] > 0);
        let world = stretch(40_000_000, adaptive(1, 0, "binary-exponential", "at-once"));
        let trial = poisson(1, 100, 100.0 / load, None, &world);
        agree(
            replicated(&trial, wait),
            load * 100.0 / (2.0 * (1.0 - load)),
            0.0,
            &format!("{load}"),
        );
    }
}

#[test]
fn one_is_a_probability_however_it_is_written() {
    let of = |p: Value| {
        outcome(&saturated(3, 20, 0, &stretch(100_000, slotted(4, p, Value::Null, infinite(0.2)))))
    };
    assert_eq!(format!("{:?}", of(json!(1))), format!("{:?}", of(json!(1.0))));
}

#[test]
fn what_is_wrong_is_told_with_key_value_and_what_was_allowed() {
    let good = slotted(2, json!("non"), json!("same-slot"), infinite(0.4));
    let changed = |key: &str, value: Value| {
        let mut world = good.clone();
        world["slotted"][key] = value;
        world
    };
    let polling = json!({"polling": {"walk_ps": 1, "discipline": "gated"}});
    for (world, words) in [
        (json!({"tokens": {}}), &["tokens", "slotted", "polling"][..]),
        (json!({}), &["media[0].mac"]),
        (changed("slot_ps", json!(0)), &["media[0].mac.slotted.slot_ps", "from 1 to", "got 0"]),
        (changed("slot_ps", json!(SLOT * 3)), &["flows[0].frames", "whole slots", "got 20 bits"]),
        (changed("slot_ps", json!(-1)), &["-1"]),
        (
            changed("collision_slots", json!(0)),
            &["media[0].mac.slotted.collision_slots", "from 1", "got 0"],
        ),
        (
            changed("persistence", json!("maybe")),
            &["persistence", "maybe", "\"non\" or a probability"],
        ),
        (changed("persistence", json!(2)), &["persistence", "2", "\"non\" or a probability"]),
        (changed("persistence", json!(0.5)), &["media[0].mac.slotted.idle", "null"]),
        (changed("idle", Value::Null), &["media[0].mac.slotted.idle", "same-slot", "whole-slot"]),
        (changed("idle", json!("never")), &["never", "same-slot", "whole-slot"]),
        (changed("population", infinite(0.0)), &["attempts_per_slot", "got 0"]),
        (changed("population", finite(0.1, "immediate")), &["population.finite", "whole slots"]),
        (
            changed("population", json!({"infinite": {"attempts_per_slot": 1.0, "more": 1}})),
            &["more", "attempts_per_slot"],
        ),
        (changed("more", json!(1)), &["more", "slot_ps"]),
        (
            slotted(2, json!(1.5), Value::Null, infinite(0.4)),
            &["media[0].mac.slotted.persistence", "1e-12 to 1", "1.5"],
        ),
        (
            slotted(2, json!("non"), json!("whole-slot"), finite(0.0, "immediate")),
            &["retransmission", "got 0"],
        ),
        (
            slotted(2, json!("non"), json!("whole-slot"), infinite(1e-13)),
            &["attempts_per_slot", "from 1e-9", "got 0.0000000000001"],
        ),
        (adaptive(0, 0, "one-over-e", "at-once"), &["media[0].mac.adaptive.slot_ps", "got 0"]),
        (adaptive(1, 0, "two-over-e", "at-once"), &["two-over-e", "one-over-e"]),
        (coyle_liu(0.04, 0.03, 1.0), &["collision_ps", "from 4000000", "got 3000000"]),
        (coyle_liu(0.0, 0.03, 1.0), &["propagation_ps", "from 1", "got 0"]),
        (takagi_kleinrock(0.1, 0.1, false, Some(1e9)), &["infinite_mean_ps", "1 ps to 1000 s"]),
        (polling, &["flows[0].arrivals", "saturated"]),
    ] {
        let error = refused(world.clone());
        for word in words {
            assert!(error.contains(word), "{world}: {error:?} does not say {word:?}");
        }
    }
}

#[test]
fn a_damaged_line_is_refused_or_runs() {
    for world in [
        slotted(2, json!("non"), json!("whole-slot"), finite(0.1, "immediate")),
        slotted(2, json!("non"), json!("same-slot"), infinite(0.4)),
        adaptive(2, 1, "binary-exponential", "next-slot"),
        json!({"unslotted": {"propagation_ps": 20_000, "access": {"one-persistent":
            {"abort_ps": 30_000, "simultaneous_starts_unnoticed": true, "infinite_mean_ps": 7e6}}}}),
        json!({"polling": {"walk_ps": 20_000, "discipline": "gated"}}),
    ] {
        let good = trial(3, 20, &stretch(100, world)).to_string();
        let (mut refused, mut ran) = (0, 0);
        for (at, byte) in
            (0..good.len()).flat_map(|at| b"019-.x\"{".iter().map(move |&byte| (at, byte)))
        {
            let mut line = good.clone().into_bytes();
            line[at] = byte;
            let line = String::from_utf8(line).expect("ASCII");
            match read_and_run(&line) {
                Ok(outcome) => {
                    assert_eq!(
                        outcome.media[0].time_ps.iter().sum::<u64>(),
                        outcome.window_ps,
                        "{line}"
                    );
                    ran += 1;
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
        assert!(
            refused > 1000 && (ran > 100 || good.contains("polling")),
            "{refused} {ran} {good}"
        );
    }
}

#[test]
fn a_backoff_without_end_is_refused() {
    let mut trial = saturated(
        2,
        20,
        0,
        &stretch(1000, adaptive(1_000_000, 0, "binary-exponential", "at-once")),
    );
    trial.scenario.media[0].stations[0].backoff = Backoff::Exponential { limit: 30 };
    let error = simulate(&trial).expect_err("a backoff of 34 years").to_string();
    assert!(
        error.starts_with("media[0].stations[0].backoff: must not last longer than"),
        "{error}"
    );
    assert!(error.contains("got slots of 1000000000000 ps"), "{error}");
}

#[test]
fn constants_of_csma_cd_are_refused() {
    let mut mac = adaptive(1, 0, "one-of-waiting", "at-once");
    mac["adaptive"]["gap_bits"] = json!(96);
    let error = refused(mac);
    assert!(error.starts_with("media[0].mac"), "{error}");
    assert!(error.contains("unknown field `gap_bits`"), "{error}");
}

#[test]
fn a_priority_wait_is_refused() {
    let mut trial =
        saturated(1, 20, 0, &stretch(1000, adaptive(1, 0, "one-of-waiting", "at-once")));
    trial.scenario.media[0].stations[0].priority_wait_ps = 1;
    let error = simulate(&trial).expect_err("a wait").to_string();
    assert_eq!(
        error,
        "media[0].stations[0].priority_wait_ps: must be 0 with an idealised MAC, got 1"
    );
}
