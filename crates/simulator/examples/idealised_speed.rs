//! Slots and transmissions a second of one processor, one line for each idealised world.
//!
//! The worlds are those of docs/formats.md at loads that occupy them; `slots` is the simulated time
//! in their unit of contention.

#![allow(clippy::cast_precision_loss)]

use ethermeter_simulator::idealised::Trial;
use ethermeter_simulator::simulate_idealised;
use serde_json::{json, Value};

const SLOT: u64 = 1_000_000;

fn trial(
    stations: usize,
    bits: u64,
    arrivals: &Value,
    service: &Value,
    slots: u64,
    world: &Value,
) -> Trial {
    let end = slots * SLOT;
    let line = json!({
    "id": "x", "series": "s", "replication": 0, "seed": 1, "engine": "simulation", "point": {},
    "scenario": {
        "segment": {"bit_ps": SLOT, "slot_bits": 1, "gap_bits": 0, "gap_part1_bits": 0, "preamble_bits": 0, "jam_bits": 0,
                    "delay_ps": [[0]]},
        "groups": [{"name": "user", "places": vec![0; stations], "frames": {"kind": "fixed", "bits": bits},
            "arrivals": arrivals, "generator": null, "queue_frames": null, "service": service,
            "backoff": {"rule": "exponential", "limit": 10}, "attempt_limit": 16,
            "after_attempt_limit": "resume", "after_late_collision": "backoff"}],
        "phases": {"begin_ps": 0, "stop_ps": end, "measure_from_ps": 0, "measure_to_ps": end, "end_ps": end, "spread_ps": 0},
        "batches": 20, "idealised": world,
    }});
    Trial::from_line(&line.to_string()).expect("a trial")
}

/// Processor time of this process, which other load on the machine inflates less than the time of
/// day.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds") * 1e-9
}

#[expect(clippy::too_many_lines, reason = "one line a model")]
fn main() {
    let saturated = json!({"kind": "saturated"});
    let poisson = |slots: f64| json!({"kind": "poisson", "mean_ps": slots * SLOT as f64});
    let none = json!({"kind": "constant", "ps": 0});
    let thinks =
        |slots: f64| json!({"kind": "exponential", "offset_ps": 0, "mean_ps": slots * SLOT as f64});
    let slotted = |persistence: Value, idle: Value, population: Value| {
        json!({"world": "slotted", "slot_ps": SLOT, "collision_slots": 2, "persistence": persistence, "idle": idle,
               "population": population})
    };
    let infinite = |g: f64| json!({"infinite": {"attempts_per_slot": g}});
    let adaptive = |policy: &str| json!({"world": "adaptive", "slot_ps": SLOT, "clear_ps": 0, "policy": policy, "empty": "at-once"});
    let unslotted =
        |access: Value| json!({"world": "unslotted", "propagation_ps": SLOT, "access": access});
    let polling = json!({"world": "polling", "walk_ps": SLOT, "discipline": "exhaustive"});
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
        let outcome = simulate_idealised(&trial).expect("a valid trial");
        let seconds = cpu_seconds() - start;
        let utilisation = outcome.medium.time_ps[0] as f64 / outcome.window_ps as f64;
        let events = outcome.events as f64;
        println!(
            "{name:50} {:6.1} M slots/s  {:5.1} M transmissions/s  utilisation {utilisation:.4}",
            slots / seconds / 1e6,
            events / seconds / 1e6
        );
    }
}
