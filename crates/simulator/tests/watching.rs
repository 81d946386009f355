//! Progress of simulations under way, and how each engine is stopped from another thread.
//!
//! Every trial here would go on for minutes or hours, so one that does not stop is found out.

use ethermeter_simulator::{
    idealised, network, simulate_idealised_watched, simulate_reference_watched, simulate_watched,
    Error, Trial, Watch,
};
use serde_json::{json, Value};

const US: u64 = 1_000_000;
const S: u64 = 1_000_000 * US;
const LONG: u64 = 10_000 * S;

/// Start a simulation, wait until it shows progress, stop it, and return the share that it had
/// shown.
fn stopped<T: Send>(simulate: impl FnOnce(&Watch) -> Result<T, Error> + Send) -> f64 {
    let watch = Watch::default();
    std::thread::scope(|scope| {
        let engine = scope.spawn(|| simulate(&watch));
        while watch.share() == 0.0 {
            assert!(!engine.is_finished(), "it ended before it showed any progress");
            std::thread::yield_now();
        }
        watch.stop();
        let found = engine.join().expect("no panic");
        assert!(matches!(found, Err(Error::Stopped)));
    });
    watch.share()
}

fn phases(end: u64) -> Value {
    json!({"begin_ps": 0, "stop_ps": end, "measure_from_ps": 0, "measure_to_ps": end, "end_ps": end, "spread_ps": 0})
}

/// Stations on a segment of 10 Mb/s, half of them at each of two places.
fn segment(stations: usize, arrivals: &Value, delay_ps: u64) -> Trial {
    serde_json::from_value(json!({"seed": 5, "scenario": {
        "segment": {"bit_ps": 100_000, "slot_bits": 512, "gap_bits": 96, "gap_part1_bits": 64, "preamble_bits": 64, "jam_bits": 32,
                    "delay_ps": [[delay_ps / 10, delay_ps], [delay_ps, delay_ps / 10]]},
        "groups": [{"name": "host", "places": (0..stations).map(|i| i % 2).collect::<Vec<_>>(), "frames": {"kind": "fixed", "bits": 512},
            "arrivals": arrivals, "generator": null, "queue_frames": null, "service": {"kind": "constant", "ps": 0},
            "backoff": {"rule": "exponential", "limit": 10}, "attempt_limit": 16, "after_attempt_limit": "resume",
            "after_late_collision": "backoff"}],
        "phases": phases(LONG), "batches": 20}}))
    .expect("a trial of the right shape")
}

#[test]
fn a_segment_is_stopped_by_the_fast_engine_and_by_the_reference() {
    for arrivals in [json!({"kind": "saturated"}), json!({"kind": "poisson", "mean_ps": 50e6})] {
        let trial = segment(24, &arrivals, 10 * US);
        let share = stopped(|watch| simulate_watched(&trial, watch));
        assert!(share > 0.0 && share < 1.0, "{share}");
        stopped(|watch| simulate_reference_watched(&trial, watch));
    }
}

#[test]
fn a_storm_that_lasts_is_stopped() {
    // Signals travel for longer than a frame, so the medium is hardly ever silent everywhere.
    let trial = segment(40, &json!({"kind": "saturated"}), 3000 * US);
    stopped(|watch| simulate_watched(&trial, watch));
}

#[test]
fn more_stations_than_any_segment_has_are_stopped() {
    let trial = segment(1024, &json!({"kind": "saturated"}), 10 * US);
    stopped(|watch| simulate_watched(&trial, watch));
}

#[test]
fn networks_are_stopped_by_both_engines() {
    let network = |switch: Value| -> network::Trial {
        let link = |host: &str| json!({"ends": [{"node": host}, {"node": "s"}], "ps_per_octet": 8000, "delay_ps": 0});
        serde_json::from_value(json!({"seed": 5, "scenario": {
            "network": {"nodes": [{"name": "a", "kind": {"host": {}}}, {"name": "b", "kind": {"host": {}}}, {"name": "s", "kind": {"switch": switch}}],
                        "links": [link("a"), link("b")]},
            "flows": [{"name": "f", "from": "a", "to": ["b"], "frames": {"kind": "fixed", "bits": 512}, "arrivals": {"kind": "poisson", "mean_ps": US}}],
            "phases": phases(LONG)}}))
        .expect("a trial of the right shape")
    };
    for switch in
        [json!({"learning": "known"}), json!({"learning": "known", "buffer": {"octets": 100_000}})]
    {
        let trial = network(switch);
        let share = stopped(|watch| network::simulate_watched(&trial, watch));
        assert!(share > 0.0 && share < 1.0, "{share}");
    }
}

#[test]
fn idealised_worlds_are_stopped() {
    let slot = US;
    let slotted = |persistence: Value, idle: Value, population: Value| json!({"world": "slotted", "slot_ps": slot, "collision_slots": 2, "persistence": persistence, "idle": idle, "population": population});
    let adaptive = |policy: &str| json!({"world": "adaptive", "slot_ps": slot, "clear_ps": 0, "policy": policy, "empty": "at-once"});
    let unslotted =
        |access: Value| json!({"world": "unslotted", "propagation_ps": slot, "access": access});
    let persistent = |mean: Value| json!({"one-persistent": {"abort_ps": slot, "simultaneous_starts_unnoticed": false, "infinite_mean_ps": mean}});
    let thinks = json!({"kind": "exponential", "offset_ps": 0, "mean_ps": 500 * slot});
    let poisson = json!({"kind": "poisson", "mean_ps": 100 * slot});
    let saturated = json!({"kind": "saturated"});
    let none = json!({"kind": "constant", "ps": 0});
    let worlds = [
        (
            &saturated,
            &none,
            slotted(
                json!("non"),
                json!("same-slot"),
                json!({"infinite": {"attempts_per_slot": 0.1}}),
            ),
        ),
        (
            &saturated,
            &thinks,
            slotted(
                json!("non"),
                json!("whole-slot"),
                json!({"finite": {"retransmission": 0.01, "first": "immediate"}}),
            ),
        ),
        (&saturated, &none, adaptive("one-of-waiting")),
        (&saturated, &none, adaptive("binary-exponential")),
        (
            &saturated,
            &thinks,
            unslotted(
                json!({"non-persistent": {"collision_ps": slot, "sensing_mean_ps": 25 * slot}}),
            ),
        ),
        (&saturated, &none, unslotted(persistent(json!(10 * slot)))),
        (&saturated, &thinks, unslotted(persistent(Value::Null))),
        // One that is overloaded: a station that may send all it has is served for ever.
        (&poisson, &none, json!({"world": "polling", "walk_ps": slot, "discipline": "exhaustive"})),
    ];
    for (arrivals, service, world) in worlds {
        let trial: idealised::Trial = idealised::Trial::from_line(
            &json!({"id": "x", "series": "s", "replication": 0, "seed": 11, "engine": "simulation", "point": {}, "scenario": {
                "segment": {"bit_ps": slot, "slot_bits": 1, "gap_bits": 0, "gap_part1_bits": 0, "preamble_bits": 0, "jam_bits": 0, "delay_ps": [[0]]},
                "groups": [{"name": "user", "places": vec![0; 10], "frames": {"kind": "fixed", "bits": 20}, "arrivals": arrivals, "generator": null,
                    "queue_frames": null, "service": service, "backoff": {"rule": "exponential", "limit": 10}, "attempt_limit": 16,
                    "after_attempt_limit": "resume", "after_late_collision": "backoff"}],
                "phases": phases(LONG), "batches": 20, "idealised": world}})
            .to_string(),
        )
        .expect("a trial");
        let share = stopped(|watch| simulate_idealised_watched(&trial, watch));
        assert!(share < 1.0, "{world}: {share}");
    }
}

#[test]
fn a_watch_changes_no_result() {
    let mut trial = segment(24, &json!({"kind": "saturated"}), 10 * US);
    trial.scenario.phases = serde_json::from_value(phases(S)).expect("phases");
    let watch = Watch::default();
    let outcome = simulate_watched(&trial, &watch).expect("a valid trial");
    assert!(watch.share() > 0.9);
    let reference = simulate_reference_watched(&trial, &Watch::default()).expect("a valid trial");
    assert_eq!(format!("{outcome:?}"), format!("{reference:?}"));
}
