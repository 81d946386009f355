//! Idealised MACs with slots against the theories that assume them: reference values, closed forms
//! written plainly, and cases done by hand.
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

use crate::common::idealised::{
    adaptive, agree, delay, finite, infinite, lost_share, outcome, poisson, replicated, saturated,
    slotted, stretch, thinking, utilisation, with_lengths,
};
use serde_json::{json, Value};
use std::f64::consts::E;

// ---- Slotted, infinite population ----

/// Tobagi and Hunt 1980, non-persistent: packets of `t` slots, collisions of `gam`, `g` attempts a
/// slot.
fn non_persistent(t: f64, gam: f64, g: f64, same_slot: bool) -> f64 {
    let one = g * (-g).exp();
    let idle = if same_slot { (-g).exp() } else { 1.0 };
    t * one / (one * (t + 1.0) + (1.0 - (-g).exp() - one) * gam + idle)
}

/// Tobagi and Hunt 1980, p-persistent, by backward recursion on how many are ready; p = 1 is
/// 1-persistent.
fn persistent(t: f64, gam: f64, g: f64, p: f64) -> f64 {
    let most = (g * (t + 1.0).max(gam) + 12.0 * (g * (t + 1.0)).sqrt() + 40.0) as usize;
    let poisson = |mean: f64| {
        let mut weights = vec![(-mean).exp()];
        (1..=most).for_each(|k| weights.push(weights[k - 1] * mean / k as f64));
        weights
    };
    let (newcomers, q) = (poisson(g), 1.0 - p);
    let (mut succeeds, mut idles) = (vec![0.0; most + 1], vec![0.0; most + 1]);
    for n in (0..=most).rev() {
        let none = q.powf(n as f64);
        let one = if n == 0 { 0.0 } else { n as f64 * p * q.powf(n as f64 - 1.0) };
        let later =
            |values: &[f64]| (1..=most - n).map(|j| newcomers[j] * values[n + j]).sum::<f64>();
        let stays = 1.0 - none * newcomers[0];
        succeeds[n] = (one + none * later(&succeeds)) / stays;
        idles[n] = none * (1.0 + later(&idles)) / stays;
    }
    let mean = |slots: f64, values: &[f64]| {
        poisson(g * slots).iter().zip(values).map(|(w, v)| w * v).sum::<f64>()
    };
    let (long, short) = (t + 1.0, gam);
    let success = mean(short, &succeeds) / (1.0 - mean(long, &succeeds) + mean(short, &succeeds));
    success * t
        / (success * (long + mean(long, &idles)) + (1.0 - success) * (short + mean(short, &idles)))
}

/// Kleinrock and Tobagi 1975, slotted 1-persistent without collision detection.
fn kleinrock_tobagi(a: f64, load: f64) -> f64 {
    let quiet = (-a * load).exp();
    let ends = (-load * (1.0 + a)).exp();
    load * ends * (1.0 + a - quiet) / ((1.0 + a) * (1.0 - quiet) + a * ends)
}

#[test]
fn slotted_non_persistent_carries_what_tobagi_and_hunt_say() {
    // (packet slots, collision slots, attempts a packet time, same slot, throughput as printed)
    for (t, gam, load, same_slot, printed) in [
        (1000u64, 2u64, 768.0, true, 0.9967),
        (1000, 1001, 44.0, true, 0.9560),
        (100, 2, 76.8, true, 0.9680),
        (100, 2, 65.3, false, 0.9545),
        (100, 4, 58.0, true, 0.9602),
        (100, 4, 52.8, false, 0.9480),
        (100, 10, 39.2, true, 0.9452),
        (100, 101, 13.45, true, 0.8655),
        (20, 2, 15.4, true, 0.8580),
        (20, 21, 5.61, true, 0.7193),
        (10, 2, 7.68, true, 0.7513),
        (10, 11, 3.76, true, 0.6245),
    ] {
        let g = load / t as f64;
        let theory = non_persistent(t as f64, gam as f64, g, same_slot);
        assert!((theory - printed).abs() <= 0.5e-4, "{t} {gam} {load}: {theory} {printed}");
        let idle = if same_slot { "same-slot" } else { "whole-slot" };
        let world = slotted(gam, json!("non"), json!(idle), infinite(g));
        let trial = saturated(10, t, 0, &stretch(4_000_000, world));
        agree(utilisation(&outcome(&trial)), theory, 0.0, &format!("{t} {gam} {load} {idle}"));
    }
}

#[test]
fn slotted_persistent_carries_what_tobagi_and_hunt_say() {
    for (t, gam, load, p, printed) in [
        (100u64, 2u64, 50.5, 1.0, 0.9478),
        (100, 4, 25.5, 1.0, 0.9159),
        (100, 101, 1.02, 1.0, 0.5308),
        (20, 2, 10.1, 1.0, 0.7842),
        (10, 2, 4.34, 1.0, 0.6505),
        (10, 11, 0.93, 1.0, 0.4724),
        (100, 2, 10.0, 0.1, 0.9197),
        (100, 2, 18.0, 0.1, 0.9168),
        (100, 2, 150.0, 0.1, 0.9443),
    ] {
        let g = load / t as f64;
        let theory = persistent(t as f64, gam as f64, g, p);
        assert!((theory - printed).abs() <= 0.5e-4, "{t} {gam} {load} {p}: {theory} {printed}");
        let trial = saturated(
            10,
            t,
            0,
            &stretch(4_000_000, slotted(gam, json!(p), Value::Null, infinite(g))),
        );
        agree(utilisation(&outcome(&trial)), theory, 0.0, &format!("{t} {gam} {load} {p}"));
    }
}

#[test]
fn without_collision_detection_one_persistent_is_that_of_kleinrock_and_tobagi() {
    for (t, load) in [(20u64, 0.5), (20, 2.0), (100, 0.5)] {
        let theory = kleinrock_tobagi(1.0 / t as f64, load);
        let world = slotted(t + 1, json!(1), Value::Null, infinite(load / t as f64));
        agree(
            utilisation(&outcome(&saturated(1, t, 0, &stretch(4_000_000, world)))),
            theory,
            0.0,
            &format!("{t} {load}"),
        );
    }
}

#[test]
fn packets_of_two_lengths_share_the_capacity_as_their_mean_says() {
    for (alpha, printed, short) in
        [(0.99, 0.7670, 0.6966), (0.9, 0.8516, 0.4034), (0.5, 0.9432, 0.0857)]
    {
        let g = 0.768_04;
        let mean = alpha * 10.0 + (1.0 - alpha) * 100.0;
        let theory = non_persistent(mean, 2.0, g, true);
        assert!((theory - printed).abs() <= 0.5e-4, "{alpha}: {theory}");
        let world = slotted(2, json!("non"), json!("same-slot"), infinite(g));
        let trial = with_lengths(
            saturated(10, 10, 0, &stretch(4_000_000, world)),
            &[10, 100],
            &[alpha, 1.0 - alpha],
        );
        agree(utilisation(&outcome(&trial)), theory, 0.0, &format!("{alpha}"));
        assert!((theory * alpha * 10.0 / mean - short).abs() <= 0.5e-4);
    }
}

// ---- Slotted, finite population ----

#[test]
fn fifty_users_get_the_throughput_and_delay_of_tobagi_and_hunt() {
    for (generation, throughput, slots) in [
        (2e-5, 0.099_77, 117.6),
        (5e-5, 0.248_13, 150.5),
        (1e-4, 0.488_13, 243.2),
        (1.5e-4, 0.703_12, 444.5),
        (2e-4, 0.850_52, 878.7),
        (3e-4, 0.929_53, 2045.7),
        (1e-3, 0.951_34, 4255.8),
    ] {
        let world = slotted(2, json!("non"), json!("whole-slot"), finite(0.01, "immediate"));
        let outcome = outcome(&thinking(50, 100, generation, &stretch(60_000_000, world)));
        agree(utilisation(&outcome), throughput, 0.5e-5, &format!("S at {generation}"));
        // The theory's delay lasts one slot longer, until the packet has passed everybody.
        agree(delay(&outcome).plus(1.0), slots, 0.05, &format!("D at {generation}"));
    }
}

#[test]
fn users_with_packets_of_two_lengths_get_the_throughput_and_delay_of_tobagi_and_hunt() {
    let world = slotted(4, json!("non"), json!("whole-slot"), finite(0.05, "immediate"));
    let trial =
        with_lengths(thinking(20, 10, 0.002, &stretch(30_000_000, world)), &[10, 100], &[0.5, 0.5]);
    let outcome = outcome(&trial);
    agree(utilisation(&outcome), 0.910_228, 0.5e-6, "S");
    agree(delay(&outcome).plus(1.0), 708.5, 0.05, "D");
}

/// Users with one buffer whose new packets wait as after a collision (Tasaka 1986), exactly: the
/// chain of who waits, from idle slot to idle slot. Returns throughput, delay in slots, and the
/// share of packets lost.
fn one_buffer(users: usize, generation: f64, p: f64, t: f64, gam: f64) -> (f64, f64, f64) {
    // How many wait after `slots` more, beyond the `from` who wait: each other user with the same
    // probability.
    let joined = |from: usize, slots: f64| -> Vec<f64> {
        let others = users - from;
        let comes = 1.0 - (1.0 - generation).powf(slots);
        let mut weights = vec![0.0; users + 1];
        let mut weight = (1.0 - comes).powf(others as f64);
        for k in 0..=others {
            weights[from + k] = weight;
            weight *= (others - k) as f64 / (k + 1) as f64 * comes / (1.0 - comes);
        }
        weights
    };
    // Sum over the slots of a stretch of how many wait at its start.
    let area = |from: usize, slots: f64| {
        let stay = (1.0 - (1.0 - generation).powf(slots)) / generation;
        users as f64 * slots - (users - from) as f64 * stay
    };
    let alone = |x: usize| if x == 0 { 0.0 } else { x as f64 * p * (1.0 - p).powf(x as f64 - 1.0) };
    let nobody = |x: usize| (1.0 - p).powf(x as f64);
    let mut share = vec![1.0 / (users + 1) as f64; users + 1];
    for _ in 0..4000 {
        let mut next = vec![0.0; users + 1];
        for (x, &weight) in share.iter().enumerate() {
            let (one, none) = (alone(x), nobody(x));
            for (y, w) in joined(x, 1.0).into_iter().enumerate() {
                next[y] += weight * none * w;
            }
            for (y, w) in joined(x, t + 2.0).into_iter().enumerate() {
                next[y.saturating_sub(1)] += weight * one * w;
            }
            for (y, w) in joined(x, 1.0 + gam).into_iter().enumerate() {
                next[y] += weight * (1.0 - one - none) * w;
            }
        }
        share = next;
    }
    let (mut packets, mut slots, mut waiting) = (0.0, 0.0, 0.0);
    for (x, &weight) in share.iter().enumerate() {
        let (one, none) = (alone(x), nobody(x));
        packets += weight * one;
        for (probability, length) in [(none, 1.0), (one, t + 2.0), (1.0 - one - none, 1.0 + gam)] {
            slots += weight * probability * length;
            waiting += weight * probability * area(x, length);
        }
    }
    (packets * t / slots, waiting / packets, 1.0 - packets / slots / (users as f64 * generation))
}

#[test]
fn users_with_one_buffer_and_delayed_first_attempts_do_as_tasaka_says() {
    // THEORY's simulation of these is 0.1% (throughput) and 1% (delay) off its chain, and so must
    // be the exact one.
    for (generation, p, throughput, slots, lost) in
        [(1e-4, 0.01, 0.4836, 340.2, 0.0329), (5e-4, 0.02, 0.9548, 3237.0, 0.6181)]
    {
        let (s, d, loss) = one_buffer(50, generation, p, 100.0, 2.0);
        assert!(
            (s / throughput - 1.0).abs() < 1e-3
                && (d / slots - 1.0).abs() < 1e-2
                && (loss - lost).abs() < 2e-3,
            "{s} {d} {loss}"
        );
        let world = slotted(2, json!("non"), json!("whole-slot"), finite(p, "delayed"));
        let mean_slots = -1.0 / (-generation).ln_1p();
        let outcome = outcome(&poisson(50, 100, mean_slots, Some(1), &stretch(60_000_000, world)));
        agree(utilisation(&outcome), s, 0.0, &format!("S at {generation}"));
        agree(delay(&outcome).plus(1.0), d, 0.0, &format!("D at {generation}"));
        let world = slotted(2, json!("non"), json!("whole-slot"), finite(p, "delayed"));
        let trial = poisson(50, 100, mean_slots, Some(1), &stretch(8_000_000, world));
        agree(replicated(&trial, lost_share), loss, 0.0, &format!("loss at {generation}"));
    }
}

#[test]
fn users_whose_buffers_are_always_full_all_contend() {
    let (n, p, t, gam) = (20.0f64, 0.05f64, 100.0, 101.0);
    let one = n * p * (1.0 - p).powf(n - 1.0);
    let some = 1.0 - (1.0 - p).powf(n) - one;
    let theory = one * t / (1.0 + one * (t + 1.0) + some * gam);
    let world =
        stretch(40_000_000, slotted(101, json!("non"), json!("whole-slot"), finite(p, "delayed")));
    // 20 users, of whom each sends one in 3500 slots: with a packet every 20 slots no buffer of
    // four ever empties.
    agree(utilisation(&outcome(&poisson(20, 100, 20.0, Some(4), &world))), theory, 0.0, "full");
    // With one in 500 slots they sometimes do; Tasaka's chain, which is 0.1% off the simulation of
    // then, gives this.
    let mean_slots = -1.0 / (-0.002f64).ln_1p();
    agree(
        utilisation(&outcome(&poisson(20, 100, mean_slots, Some(4), &world))),
        0.5737,
        0.5737e-3,
        "nearly full",
    );
}

// ---- Contention that adapts ----

#[test]
fn continuously_queued_stations_have_the_efficiency_of_metcalfe_and_boggs() {
    // 3 Mb/s and 16 us: a slot of 48 bits
    for (stations, bits, printed) in [
        (2usize, 4096u64, 0.9884),
        (2, 48, 0.5000),
        (3, 512, 0.8951),
        (4, 1024, 0.9396),
        (5, 48, 0.4096),
        (10, 4096, 0.9818),
        (10, 512, 0.8709),
        (32, 48, 0.3737),
        (64, 1024, 0.9263),
        (256, 48, 0.3686),
        (256, 512, 0.8616),
    ] {
        let q = stations as f64;
        let acquisition = (1.0 - 1.0 / q).powf(q - 1.0);
        let theory = bits as f64 / (bits as f64 + (1.0 - acquisition) / acquisition * 48.0);
        assert!((theory - printed).abs() <= 1e-4, "{stations} {bits}: {theory}");
        let world = stretch(40_000_000, adaptive(48, 0, "one-of-waiting", "at-once"));
        agree(
            utilisation(&outcome(&saturated(stations, bits, 0, &world))),
            theory,
            0.0,
            &format!("{stations} {bits}"),
        );
    }
}

#[test]
fn the_response_time_is_that_of_almes_and_lazowska() {
    // 3 Mb/s and 16 us; times in ms, at 3000 bits a ms
    for (bits, load, printed_ms) in [
        (512u64, 0.1, 0.1803),
        (512, 0.5, 0.2747),
        (512, 0.7, 0.5040),
        (1024, 0.5, 0.5289),
        (2048, 0.6, 1.2312),
        (4096, 0.7, 3.0437),
    ] {
        let world = stretch(1_000_000 * bits, adaptive(48, 0, "one-of-waiting", "at-once"));
        let outcome = outcome(&poisson(10, bits, bits as f64 / load * 10.0, None, &world));
        agree(delay(&outcome).times(1.0 / 3000.0), printed_ms, 0.5e-4, &format!("{bits} {load}"));
    }
}

/// Lam 1980: mean time from arrival to the end of the packet and the silence after it, for lengths
/// with these weights, in units of `tau`.
fn lam(lambda: f64, lengths: &[(f64, f64)]) -> f64 {
    let sum = |f: &dyn Fn(f64) -> f64| {
        lengths.iter().map(|&(length, weight)| weight * f(length)).sum::<f64>()
    };
    let (mean, square, laplace) = (sum(&|x| x), sum(&|x| x * x), sum(&|x| (-lambda * x).exp()));
    let rho = lambda * (mean + 1.0 + 2.0 * E);
    let service_square =
        square + (4.0 * E + 2.0) * mean + (1.0 + 4.0 * E) + 4.0 * E * (2.0 * E - 1.0);
    let w = (-2.0 * lambda).exp();
    lambda * service_square / (2.0 * (1.0 - rho)) + mean + 2.0 * E + 2.0
        - (1.0 - w) * (1.0 - 2.0 * lambda) / (lambda * (laplace * (-1.0 - lambda).exp() - 1.0 + w))
}

#[test]
fn the_delay_is_that_of_lam() {
    // Packets of 100 or, mixed, of 50 and 300 propagation times (mean 100, and the second moment of
    // exponential ones).
    let fixed = [(100.0, 1.0)];
    let mixed = [(50.0, 0.8), (300.0, 0.2)];
    for (lengths, load) in
        [(&fixed[..], 0.1), (&fixed, 0.5), (&fixed, 0.8), (&mixed, 0.3), (&mixed, 0.7)]
    {
        let world = stretch(160_000_000, adaptive(2, 1, "one-over-e", "next-slot"));
        let mut trial = poisson(10, 100, 100.0 / load * 10.0, None, &world);
        if lengths.len() > 1 {
            trial = with_lengths(trial, &[50, 300], &[0.8, 0.2]);
        }
        // The silence after the packet is one propagation time.
        agree(
            delay(&outcome(&trial)).plus(1.0),
            lam(load / 100.0, lengths),
            0.0,
            &format!("{load} {}", lengths.len()),
        );
    }
}

#[test]
fn two_stations_that_wait_no_slot_or_one_waste_two_and_a_half_slots_a_packet() {
    // Both are ready when a packet ends, and collide until they draw different waits: 2 collisions
    // in the mean. Of the draws in vain, of which there is 1 in the mean, half are of one slot, and
    // leave it idle.
    for rule in
        [json!({"rule": "constant", "slots": 2}), json!({"rule": "exponential", "limit": 1})]
    {
        let world = stretch(20_000_000, adaptive(1, 0, "binary-exponential", "at-once"));
        let mut trial = saturated(2, 10, 0, &world);
        trial.scenario.media[0].stations[0].backoff =
            serde_json::from_value(rule.clone()).expect("a rule");
        agree(utilisation(&outcome(&trial)), 10.0 / 12.5, 0.0, &rule.to_string());
    }
}

#[test]
fn stations_that_double_their_backoff_capture_the_medium_and_those_that_know_how_many_wait_do_not()
{
    let [known, doubled] = ["one-of-waiting", "binary-exponential"].map(|policy| {
        let outcome = outcome(&saturated(
            20,
            48,
            0,
            &stretch(20_000_000, adaptive(48, 0, policy, "at-once")),
        ));
        let stations = &outcome.stations;
        let frames = stations.frames[0] as f64;
        let mean = stations.delay_ps[0] as f64 / frames;
        (stations.delay_ps2[0] as f64 / frames - mean * mean).sqrt() / mean
    });
    // Each packet is that of a station with probability 1/20: its delay is a geometric number of
    // cycles, whose spread is its mean at most.
    assert!(known < 1.1, "{known}");
    assert!(doubled > 2.0 * known, "{doubled} {known}");
}
