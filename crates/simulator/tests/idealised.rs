//! Idealised worlds against the theories that assume them: reference values, closed forms written
//! plainly, and cases done by hand.
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

#[path = "idealised/worlds.rs"]
mod worlds;

use ethermeter_simulator::idealised::{run, Trial};
use ethermeter_simulator::segment::station::Ending;
use ethermeter_simulator::{simulate_idealised, Watch};
use ethermeter_trial::medium::Backoff;
use ethermeter_trial::Counts;
use serde_json::{json, Value};
use std::f64::consts::E;
use worlds::{
    agree, delay, lost_share, poisson, replicated, saturated, stretch, thinking, utilisation, wait,
    with_lengths, SLOT,
};

fn outcome(trial: &Trial) -> Counts {
    simulate_idealised(trial).expect("a valid trial")
}

fn slotted(collision_slots: u64, persistence: Value, idle: Value, population: Value) -> Value {
    json!({"world": "slotted", "slot_ps": SLOT, "collision_slots": collision_slots, "persistence": persistence, "idle": idle,
           "population": population})
}

fn infinite(g: f64) -> Value {
    json!({"infinite": {"attempts_per_slot": g}})
}

fn finite(retransmission: f64, first: &str) -> Value {
    json!({"finite": {"retransmission": retransmission, "first": first}})
}

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

fn adaptive(slot_bits: u64, clear_bits: u64, policy: &str, empty: &str) -> Value {
    json!({"world": "adaptive", "slot_ps": slot_bits * SLOT, "clear_ps": clear_bits * SLOT, "policy": policy, "empty": empty})
}

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
        trial.scenario.groups[0].backoff = serde_json::from_value(rule.clone()).expect("a rule");
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

// ---- Without slots ----

const PACKET: f64 = 1e8; // picoseconds, of which even a thousandth of the time between attempts has some

fn coyle_liu(propagation: f64, collision: f64, sensing_rate: f64) -> Value {
    json!({"world": "unslotted", "propagation_ps": (propagation * PACKET) as u64, "access": {"non-persistent":
        {"collision_ps": (collision * PACKET) as u64, "sensing_mean_ps": PACKET / sensing_rate}}})
}

fn takagi_kleinrock(propagation: f64, abort: f64, unnoticed: bool, load: Option<f64>) -> Value {
    json!({"world": "unslotted", "propagation_ps": (propagation * PACKET) as u64, "access": {"one-persistent":
        {"abort_ps": (abort * PACKET) as u64, "simultaneous_starts_unnoticed": unnoticed,
         "infinite_mean_ps": load.map(|g| PACKET / g)}}})
}

/// Users whose packets take [`PACKET`] ps and who think so long in the mean, in packet times.
fn unslotted(users: usize, thinks: f64, packets: u64, world: Value) -> Trial {
    let mut trial = saturated(users, 1, 0, &stretch(packets, world));
    worlds::in_picoseconds(&mut trial, PACKET as u64, packets, thinks);
    trial
}

#[test]
fn fifty_users_who_sense_again_do_as_coyle_and_liu_say() {
    for (sensing, throughput, packets) in [
        (0.05, 0.5862, 35.30),
        (0.2, 0.7214, 19.31),
        (0.5, 0.7845, 13.73),
        (1.0, 0.8155, 11.31),
        (2.0, 0.8241, 10.67),
    ] {
        let outcome = outcome(&unslotted(50, 50.0, 1_000_000, coyle_liu(0.04, 0.04, sensing)));
        agree(utilisation(&outcome), throughput, 0.5e-4, &format!("S at {sensing}"));
        // The theory counts a packet until it has passed everybody.
        let delay = delay(&outcome).times(1.0 / (PACKET / SLOT as f64)).plus(0.04);
        agree(delay, packets, 0.005, &format!("D at {sensing}"));
    }
}

#[test]
fn an_extreme_load_does_not_break_users_who_sense_again_slowly() {
    for (load, throughput) in [(10.0, 0.8284), (100.0, 0.8353)] {
        let outcome = outcome(&unslotted(50, 50.0 / load, 400_000, coyle_liu(0.04, 0.04, 0.2)));
        agree(utilisation(&outcome), throughput, 0.5e-4, &format!("{load}"));
    }
}

/// Takagi and Kleinrock 1985, 1-persistent without slots, as a chain of periods with one start and
/// with several. `unnoticed`: several that start at once do not notice it by themselves.
fn one_persistent(a: f64, b: f64, load: f64, unnoticed: bool) -> f64 {
    let (g, c) = (load, a + b);
    let x = 1.0 - (-2.0 * a * g).exp();
    let y = 1.0 - (-2.0 * a * g).exp() * (1.0 + 2.0 * a * g);
    let quiet = (-a * g).exp();
    let p11 =
        quiet * (-g).exp() * (1.0 + g) + (-c * g).exp() * (x / 2.0 + c * g * x / 2.0 + y / 4.0);
    let p21 = (-c * g).exp() * (1.0 + c * g);
    let one = quiet * (1.0 + a + (-g).exp() / g)
        + (1.0 - quiet) * (2.0 * a + b)
        + (1.0 - quiet * (1.0 + a * g)) / g
        + (-c * g).exp() * x / (2.0 * g);
    if unnoticed {
        return p11 * quiet / one;
    }
    let single = p21 / (1.0 - p11 + p21);
    let several = 2.0 * a + b + (-c * g).exp() / g;
    single * quiet / (single * one + (1.0 - single) * several)
}

#[test]
fn unslotted_one_persistent_carries_what_takagi_and_kleinrock_say() {
    for (a, b, load, digits, printed) in [
        (0.01, 0.01, 0.5, 5, 0.41417),
        (0.01, 0.01, 1.0, 5, 0.60422),
        (0.01, 0.01, 2.0, 5, 0.71870),
        (0.01, 0.01, 10.0, 5, 0.88028),
        (0.01, 0.01, 100.0, 5, 0.80699),
        (0.01, 0.01, 30.9, 4, 0.9208),
        (0.01, 0.1, 8.4, 4, 0.8011),
        (0.01, 1.0, 1.01, 4, 0.5273),
        (0.001, 0.001, 309.0, 4, 0.9915),
        (0.1, 0.1, 2.0, 4, 0.5788),
    ] {
        let theory = one_persistent(a, b, load, false);
        assert!((theory - printed).abs() <= 0.5 * 0.1f64.powi(digits), "{a} {b} {load}: {theory}");
        let world = takagi_kleinrock(a, b, false, Some(load));
        agree(
            utilisation(&outcome(&unslotted(10, 0.0, 300_000, world))),
            theory,
            0.0,
            &format!("{a} {b} {load}"),
        );
    }
}

#[test]
fn simultaneous_starts_that_nobody_notices_give_two_peaks() {
    for (a, b, load, printed) in
        [(0.01, 0.01, 54.0, 0.2487), (0.01, 0.001, 79.0, 0.3447), (0.001, 0.001, 548.0, 0.2572)]
    {
        let theory = one_persistent(a, b, load, true);
        // The load of the peak is printed in whole units.
        let peak = (-5..=5)
            .map(|tenth| one_persistent(a, b, load + f64::from(tenth) / 10.0, true))
            .fold(theory, f64::max);
        assert!((peak - printed).abs() <= 0.5e-4, "{a} {b} {load}: {peak}");
        let between = one_persistent(a, b, load / 10.0, true);
        let first = one_persistent(a, b, 1.03, true);
        assert!(between < theory && between < first);
        for (load, theory) in [(1.03, first), (load / 10.0, between), (load, theory)] {
            let world = takagi_kleinrock(a, b, true, Some(load));
            agree(
                utilisation(&outcome(&unslotted(10, 0.0, 900_000, world))),
                theory,
                0.0,
                &format!("{a} {b} {load}"),
            );
        }
    }
}

#[test]
fn a_finite_population_carries_what_takagi_and_kleinrock_say() {
    for (users, values) in [
        (2usize, [0.61663, 0.98271, 0.96253]),
        (5, [0.61610, 0.87455, 0.90352]),
        (10, [0.61071, 0.87476, 0.87871]),
        (50, [0.60558, 0.87862, 0.84424]),
    ] {
        for (load, printed) in [1.0, 10.0, 100.0].into_iter().zip(values) {
            let world = takagi_kleinrock(0.01, 0.01, false, None);
            let outcome = outcome(&unslotted(users, users as f64 / load, 300_000, world));
            agree(utilisation(&outcome), printed, 0.5e-5, &format!("{users} {load}"));
        }
    }
}

// ---- Polling ----

#[test]
fn polled_queues_wait_as_the_closed_forms_say() {
    // Twenty queues, 5 us of walk each, packets of 50 and 300 us: mean 100 us, and the second
    // moment of exponential ones.
    for (load, printed) in
        [(0.3f64, [113.214, 115.357, 117.883]), (0.7, [394.167, 405.833, 459.434])]
    {
        for (discipline, printed) in ["exhaustive", "gated", "limited"].into_iter().zip(printed) {
            let (n, walk) = (20.0f64, 5.0f64);
            let (lambda, round) = (load / 100.0, n * walk);
            let theory = match discipline {
                "exhaustive" => (lambda * 2e4 + round * (1.0 - load / n)) / (2.0 * (1.0 - load)),
                "gated" => (lambda * 2e4 + round * (1.0 + load / n)) / (2.0 * (1.0 - load)),
                _ => {
                    (lambda * 2e4 + round * (1.0 + load / n)) / (2.0 * (1.0 - load - lambda * walk))
                }
            };
            assert!((theory - printed).abs() <= 0.5e-3, "{discipline} {load}: {theory}");
            let world = json!({"world": "polling", "walk_ps": 5 * SLOT, "discipline": discipline});
            let trial = poisson(20, 50, n / lambda, None, &stretch(10_000_000, world));
            let trial = with_lengths(trial, &[50, 300], &[0.8, 0.2]);
            agree(replicated(&trial, wait), theory, 0.0, &format!("{discipline} {load}"));
        }
    }
}

#[test]
fn one_polled_queue_is_a_queue_with_vacations() {
    // Pollaczek and Khinchine, and half a walk; with the shortest walk, nothing more.
    for (walk, extra) in [(10 * SLOT, 5.0), (1, 0.0)] {
        let (load, packet) = (0.6, 100.0);
        let theory = load * packet / (2.0 * (1.0 - load)) + extra;
        let world = json!({"world": "polling", "walk_ps": walk, "discipline": "exhaustive"});
        let trial = poisson(1, 100, packet / load, None, &stretch(4_000_000, world));
        agree(replicated(&trial, wait), theory, 0.0, &format!("{walk}"));
    }
}

// ---- By hand ----

/// One of each world, short, with three stations.
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
            &stretch(50_000, json!({"world": "polling", "walk_ps": SLOT, "discipline": "gated"})),
        ),
        poisson(
            3,
            20,
            90.0,
            None,
            &stretch(50_000, json!({"world": "polling", "walk_ps": SLOT, "discipline": "limited"})),
        ),
    ]
}

#[test]
fn every_frame_offered_is_delivered_lost_or_still_there() {
    for mut trial in some_of_each() {
        // All is in the window, and the stop leaves time for what waits.
        let phases = &mut trial.scenario.phases;
        phases.measure_from_ps = 0;
        phases.stop_ps = phases.end_ps / 2;
        phases.measure_to_ps = phases.end_ps;
        let (outcome, trace) = run(&trial, &Watch::default(), true).expect("a valid trial");
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        let (frames, discarded) = (sum(&outcome.stations.frames), sum(&outcome.stations.discarded));
        assert!(frames > 50, "{:?}", trial.idealised);
        let gone = frames + discarded + sum(&outcome.stations.dropped);
        assert_eq!(sum(&outcome.stations.offered), gone, "{:?}", trial.idealised);
        assert_eq!(outcome.medium.time_ps.iter().sum::<u64>(), outcome.window_ps);
        assert_eq!(frames + sum(&outcome.stations.collisions), trace.len() as u64);
        let delivered = trace.iter().filter(|attempt| attempt.ending == Ending::Delivered);
        let bits: u64 = delivered.clone().map(|attempt| attempt.bits).sum();
        assert_eq!(sum(&outcome.stations.bits), bits);
        assert_eq!(
            outcome.medium.time_ps[0],
            delivered.map(|attempt| (attempt.end - attempt.start).cast_unsigned()).sum::<u64>()
        );
        assert!(trace.windows(2).all(|pair| pair[0].start <= pair[1].start));
        assert!(
            trace
                .iter()
                .all(|a| a.arrived <= a.taken_up && a.taken_up <= a.start && a.start < a.end),
            "{:?}",
            trial.idealised
        );
    }
}

#[test]
fn littles_law_holds_in_every_world() {
    for mut trial in some_of_each() {
        // From an empty to an empty world it is an identity: time waited by frames delivered or
        // given up.
        let phases = &mut trial.scenario.phases;
        phases.measure_from_ps = 0;
        phases.stop_ps = phases.end_ps / 2;
        phases.measure_to_ps = phases.end_ps;
        let (outcome, trace) = run(&trial, &Watch::default(), true).expect("a valid trial");
        let gone = trace
            .iter()
            .filter(|attempt| matches!(attempt.ending, Ending::Delivered | Ending::Discarded));
        let waited: i64 = gone.map(|attempt| attempt.end - attempt.taken_up).sum();
        let waiting = outcome.stations.waiting_ps.iter().sum::<u64>() as f64;
        assert!(
            (waiting - waited as f64).abs() <= 1e-9 * waited as f64,
            "{:?}: {waiting} {waited}",
            trial.idealised
        );
    }
}

#[test]
fn no_two_transmissions_that_succeed_overlap() {
    for trial in some_of_each() {
        let (_, trace) = run(&trial, &Watch::default(), true).expect("a valid trial");
        let mut busy_until = 0;
        for attempt in &trace {
            if attempt.ending == Ending::Delivered {
                assert!(attempt.start >= busy_until, "{:?}", trial.idealised);
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
        assert_ne!(trace, other.1, "{:?}", trial.idealised);
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
        assert_eq!(long[..sure], short[..sure], "{:?}", trial.idealised);
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
        if world["policy"] == "binary-exponential" && world["clear_ps"] != 0 {
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
        world[key] = value;
        world
    };
    let polling = json!({"world": "polling", "walk_ps": 1, "discipline": "gated"});
    for (world, words) in [
        (json!({"world": "tokens"}), &["tokens", "slotted", "polling"][..]),
        (json!({}), &["world"]),
        (changed("slot_ps", json!(0)), &["idealised.slot_ps", "from 1 to", "got 0"]),
        (changed("slot_ps", json!(SLOT * 3)), &["groups[0].frames", "whole slots", "got 20 bits"]),
        (changed("slot_ps", json!(-1)), &["-1"]),
        (changed("collision_slots", json!(0)), &["idealised.collision_slots", "from 1", "got 0"]),
        (
            changed("persistence", json!("maybe")),
            &["persistence", "maybe", "\"non\" or a probability"],
        ),
        (changed("persistence", json!(2)), &["persistence", "2", "\"non\" or a probability"]),
        (changed("persistence", json!(0.5)), &["idealised.idle", "null"]),
        (changed("idle", Value::Null), &["idealised.idle", "same-slot", "whole-slot"]),
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
            &["idealised.persistence", "1e-12 to 1", "1.5"],
        ),
        (
            slotted(2, json!("non"), json!("whole-slot"), finite(0.0, "immediate")),
            &["retransmission", "got 0"],
        ),
        (
            slotted(2, json!("non"), json!("whole-slot"), infinite(1e-13)),
            &["attempts_per_slot", "from 1e-9", "got 0.0000000000001"],
        ),
        (adaptive(0, 0, "one-over-e", "at-once"), &["idealised.slot_ps", "got 0"]),
        (adaptive(1, 0, "two-over-e", "at-once"), &["two-over-e", "one-over-e"]),
        (coyle_liu(0.04, 0.03, 1.0), &["collision_ps", "from 4000000", "got 3000000"]),
        (coyle_liu(0.0, 0.03, 1.0), &["propagation_ps", "from 1", "got 0"]),
        (takagi_kleinrock(0.1, 0.1, false, Some(1e9)), &["infinite_mean_ps", "1 ps to 1000 s"]),
        (polling, &["groups[0].arrivals", "saturated"]),
    ] {
        let error = worlds::refused(world.clone());
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
        json!({"world": "unslotted", "propagation_ps": 20_000, "access": {"one-persistent":
            {"abort_ps": 30_000, "simultaneous_starts_unnoticed": true, "infinite_mean_ps": 7e6}}}),
        json!({"world": "polling", "walk_ps": 20_000, "discipline": "gated"}),
    ] {
        let good = worlds::line(3, 20, &stretch(100, world)).to_string();
        let (mut refused, mut ran) = (0, 0);
        for (at, byte) in
            (0..good.len()).flat_map(|at| b"019-.x\"{".iter().map(move |&byte| (at, byte)))
        {
            let mut line = good.clone().into_bytes();
            line[at] = byte;
            let line = String::from_utf8(line).expect("ASCII");
            match Trial::from_line(&line).and_then(|trial| simulate_idealised(&trial)) {
                Ok(outcome) => {
                    assert_eq!(
                        outcome.medium.time_ps.iter().sum::<u64>(),
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
    trial.scenario.groups[0].backoff = Backoff::Exponential { limit: 30 };
    let error = simulate_idealised(&trial).expect_err("a backoff of 34 years").to_string();
    assert!(error.starts_with("groups[0].backoff: must not last longer than"), "{error}");
    assert!(error.contains("got slots of 1000000000000 ps"), "{error}");
}

#[test]
fn the_segments_own_gap_and_preamble_are_refused() {
    let mut trial =
        saturated(1, 20, 0, &stretch(1000, adaptive(1, 0, "one-of-waiting", "at-once")));
    trial.scenario.segment.gap_bits = 96;
    let error = simulate_idealised(&trial).expect_err("a gap").to_string();
    assert_eq!(error, "segment.gap_bits: must be 0 in an idealised world, got 96");
}

#[test]
fn a_priority_wait_is_refused() {
    let mut trial =
        saturated(1, 20, 0, &stretch(1000, adaptive(1, 0, "one-of-waiting", "at-once")));
    trial.scenario.groups[0].priority_wait_ps = 1;
    let error = simulate_idealised(&trial).expect_err("a wait").to_string();
    assert_eq!(error, "groups[0].priority_wait_ps: must be 0 in an idealised world, got 1");
}
