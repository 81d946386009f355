//! Idealised MACs without slots, and polling, against the theories that assume them: reference
//! values, closed forms written plainly, and cases done by hand.
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
    agree, coyle_liu, delay, outcome, poisson, replicated, stretch, takagi_kleinrock, unslotted,
    utilisation, wait, with_lengths, PACKET, SLOT,
};
use serde_json::json;

// ---- Without slots ----

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
            let world = json!({"polling": {"walk_ps": 5 * SLOT, "discipline": discipline}});
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
        let world = json!({"polling": {"walk_ps": walk, "discipline": "exhaustive"}});
        let trial = poisson(1, 100, packet / load, None, &stretch(4_000_000, world));
        agree(replicated(&trial, wait), theory, 0.0, &format!("{walk}"));
    }
}
