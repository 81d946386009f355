//! Slots and transmissions a second of one processor, one line for each idealised MAC.
//!
//! The MACs are those of docs/reference/idealised-media.md at loads that occupy them; `slots` is
//! the simulated time in their unit of contention.

#![allow(clippy::cast_precision_loss)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Group, cpu_seconds, segment, simulate};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::times::Times;
use ethermeter_trial::Trial;
use serde_json::{Value, json};

const SLOT: u64 = 1_000_000;

fn trial(
    stations: usize,
    bits: u64,
    arrivals: &Arrivals,
    service: &Times,
    slots: u64,
    mac: &Value,
) -> Trial {
    let group = Group::saturated(vec![0; stations], bits).with(|_, flow| {
        (flow.arrivals, flow.service) = (arrivals.clone(), service.clone());
    });
    let mac = serde_json::from_value(mac.clone()).expect("a MAC");
    Trial { seed: 1, ..segment(SLOT, mac, vec![vec![0]], &[group], slots * SLOT) }
}

#[expect(clippy::too_many_lines, reason = "one line a model")]
fn main() {
    let saturated = Arrivals::Saturated {};
    let poisson = |slots: f64| Arrivals::Poisson { mean_ps: slots * SLOT as f64 };
    let none = Times::Constant { ps: 0 };
    let thinks = |slots: f64| Times::Exponential { offset_ps: 0, mean_ps: slots * SLOT as f64 };
    let slotted = |persistence: Value, idle: Value, population: Value| {
        json!({"slotted": {"slot_ps": SLOT, "collision_slots": 2, "persistence": persistence, "idle": idle,
               "population": population}})
    };
    let infinite = |g: f64| json!({"infinite": {"attempts_per_slot": g}});
    let adaptive = |policy: &str| json!({"adaptive": {"slot_ps": SLOT, "clear_ps": 0, "policy": policy, "empty": "at-once"}});
    let unslotted =
        |access: Value| json!({"unslotted": {"propagation_ps": SLOT, "access": access}});
    let polling = json!({"polling": {"walk_ps": SLOT, "discipline": "exhaustive"}});
    let again = json!({"non-persistent": {"collision_ps": SLOT, "sensing_mean_ps": 25 * SLOT}});
    let at_end = |mean: Value| json!({"one-persistent": {"abort_ps": SLOT, "simultaneous_starts_unnoticed": false, "infinite_mean_ps": mean}});
    let finite = slotted(
        json!("non"),
        json!("whole-slot"),
        json!({"finite": {"retransmission": 0.01, "first": "immediate"}}),
    );
    for (name, trial) in [
        (
            "slotted non-persistent, infinite, T=100 G=76.8",
            trial(
                10,
                100,
                &saturated,
                &none,
                40_000_000,
                &slotted(json!("non"), json!("same-slot"), infinite(0.768)),
            ),
        ),
        (
            "slotted 1-persistent, infinite, T=100 G=50",
            trial(
                10,
                100,
                &saturated,
                &none,
                40_000_000,
                &slotted(json!(1), Value::Null, infinite(0.5)),
            ),
        ),
        (
            "slotted 0.1-persistent, infinite, T=100 G=10",
            trial(
                10,
                100,
                &saturated,
                &none,
                40_000_000,
                &slotted(json!(0.1), Value::Null, infinite(0.1)),
            ),
        ),
        (
            "slotted, finite, 50 users, T=100",
            trial(50, 100, &saturated, &thinks(5e3), 100_000_000, &finite),
        ),
        (
            "slotted, finite, 50 users, T=1, all contention",
            trial(50, 1, &saturated, &none, 100_000_000, &finite),
        ),
        (
            "adaptive, one of 24, T=1",
            trial(24, 1, &saturated, &none, 10_000_000, &adaptive("one-of-waiting")),
        ),
        (
            "adaptive, one over e, T=1, load 0.1",
            trial(1, 1, &poisson(10.0), &none, 40_000_000, &adaptive("one-over-e")),
        ),
        (
            "adaptive, backoff, 24 stations, T=1",
            trial(24, 1, &saturated, &none, 10_000_000, &adaptive("binary-exponential")),
        ),
        (
            "unslotted non-persistent, 50 users, T=25",
            trial(50, 25, &saturated, &thinks(1250.0), 20_000_000, &unslotted(again)),
        ),
        (
            "unslotted 1-persistent, infinite, T=100 G=10",
            trial(
                10,
                100,
                &saturated,
                &none,
                40_000_000,
                &unslotted(at_end(json!(10.0 * SLOT as f64))),
            ),
        ),
        (
            "unslotted 1-persistent, 50 users, T=100 G=10",
            trial(
                50,
                100,
                &saturated,
                &thinks(500.0),
                100_000_000,
                &unslotted(at_end(Value::Null)),
            ),
        ),
        (
            "polling, 20 queues, T=20, load 0.7",
            trial(20, 20, &poisson(570.0), &none, 100_000_000, &polling),
        ),
    ] {
        let slots = trial.scenario.phases.end_ps as f64 / SLOT as f64;
        let start = cpu_seconds();
        let outcome = simulate(&trial).expect("a valid trial");
        let seconds = cpu_seconds() - start;
        let utilisation = outcome.media[0].time_ps[0] as f64 / outcome.window_ps as f64;
        let events = outcome.events as f64;
        println!(
            "{name:50} {:6.1} M slots/s  {:5.1} M transmissions/s  utilisation {utilisation:.4}",
            slots / seconds / 1e6,
            events / seconds / 1e6
        );
    }
}
