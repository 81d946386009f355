//! Progress of simulations under way, and how each engine is stopped from another thread.
//!
//! Every trial here would go on for minutes or hours, so one that does not stop is found out.

use crate::common::idealised::{adaptive, slotted};
use crate::common::{network, segment, whole, Bus, Group, IEEE_10, S, US};
use ethermeter_simulator::{simulate, Error, Watch};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::times::Times;
use ethermeter_trial::medium::Mac;
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::Trial;
use serde_json::{json, Value};

const LONG: u64 = 10_000 * S;

/// Start a simulation, wait until it shows progress, stop it, and return the share that it had
/// shown.
fn stopped(trial: &Trial) -> f64 {
    let watch = Watch::default();
    std::thread::scope(|scope| {
        let engine = scope.spawn(|| simulate(trial, &watch));
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

/// Stations on a segment of 10 Mb/s, half of them at each of two points.
fn stations(count: u32, arrivals: Arrivals, delay_ps: u64) -> Trial {
    let group = Group::saturated((0..count).map(|i| i % 2).collect(), 512)
        .with(|_, flow| flow.arrivals = arrivals);
    let delays = vec![vec![delay_ps / 10, delay_ps], vec![delay_ps, delay_ps / 10]];
    segment(100_000, Mac::CsmaCd(IEEE_10), delays, &[group], LONG)
}

fn by_reference(trial: &Trial) -> Trial {
    let mut trial = trial.clone();
    trial.settings.implementation = Implementation::Reference;
    trial
}

#[test]
fn a_segment_is_stopped_by_the_fast_engine_and_by_the_reference() {
    for arrivals in [Arrivals::Saturated {}, Arrivals::Poisson { mean_ps: 50e6 }] {
        let trial = stations(24, arrivals, 10 * US);
        let share = stopped(&trial);
        assert!(share > 0.0 && share < 1.0, "{share}");
        stopped(&by_reference(&trial));
    }
}

#[test]
fn overlapping_contention_that_lasts_is_stopped() {
    // Signals travel for longer than a frame, so the medium is hardly ever silent everywhere.
    stopped(&stations(40, Arrivals::Saturated {}, 3000 * US));
}

#[test]
fn more_stations_than_any_segment_has_are_stopped() {
    stopped(&stations(1024, Arrivals::Saturated {}, 10 * US));
}

#[test]
fn buses_are_stopped_by_both_implementations() {
    for bus in [Bus::of(8), Bus::of(3).with(|_, nodes, _| nodes.plca = None)] {
        let trial = Bus { length_ps: LONG, ..bus }.trial();
        for trial in [by_reference(&trial), trial] {
            let share = stopped(&trial);
            assert!(share > 0.0 && share < 1.0, "{share}");
        }
    }
}

#[test]
fn networks_are_stopped_by_both_engines() {
    let nodes = |switch| {
        let host = |name| network::host(name, &json!({}));
        [host("a"), host("b"), network::switch("s", &switch)]
    };
    let links = [network::link("a", "s", 8000, 0), network::link("b", "s", 8000, 0)];
    let flow = network::stream("a", "b", 64, &json!({"kind": "poisson", "mean_ps": US}));
    for switch in [json!({}), json!({"buffer": {"octets": 100_000}})] {
        let flows = std::slice::from_ref(&flow);
        let trial = network::trial(5, &nodes(switch), &links, flows, &network::phases(LONG));
        let share = stopped(&trial);
        assert!(share > 0.0 && share < 1.0, "{share}");
    }
}

#[test]
fn idealised_macs_are_stopped() {
    let slot = US; // also that of the builders
    let unslotted =
        |access: Value| json!({"unslotted": {"propagation_ps": slot, "access": access}});
    let persistent = |mean: Value| json!({"one-persistent": {"abort_ps": slot, "simultaneous_starts_unnoticed": false, "infinite_mean_ps": mean}});
    let thinks = Times::Exponential { offset_ps: 0, mean_ps: 500e6 };
    let poisson = Arrivals::Poisson { mean_ps: 100e6 };
    let saturated = Arrivals::Saturated {};
    let none = Times::Constant { ps: 0 };
    let macs = [
        (
            &saturated,
            &none,
            slotted(
                2,
                json!("non"),
                json!("same-slot"),
                json!({"infinite": {"attempts_per_slot": 0.1}}),
            ),
        ),
        (
            &saturated,
            &thinks,
            slotted(
                2,
                json!("non"),
                json!("whole-slot"),
                json!({"finite": {"retransmission": 0.01, "first": "immediate"}}),
            ),
        ),
        (&saturated, &none, adaptive(1, 0, "one-of-waiting", "at-once")),
        (&saturated, &none, adaptive(1, 0, "binary-exponential", "at-once")),
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
        (&poisson, &none, json!({"polling": {"walk_ps": slot, "discipline": "exhaustive"}})),
    ];
    for (arrivals, service, mac) in macs {
        let group = Group::saturated(vec![0; 10], 20).with(|_, flow| {
            (flow.arrivals, flow.service) = (arrivals.clone(), service.clone());
        });
        let read = serde_json::from_value(mac.clone()).expect("a MAC");
        let share = stopped(&segment(slot, read, vec![vec![0]], &[group], LONG));
        assert!(share < 1.0, "{mac}: {share}");
    }
}

#[test]
fn a_watch_changes_no_result() {
    let mut trial = stations(24, Arrivals::Saturated {}, 10 * US);
    trial.scenario.phases = whole(S);
    let watch = Watch::default();
    let (outcome, ran) = simulate(&trial, &watch).expect("a valid trial");
    assert_eq!(ran, Implementation::Fast);
    assert!(watch.share() > 0.9);
    let (reference, ran) =
        simulate(&by_reference(&trial), &Watch::default()).expect("a valid trial");
    assert_eq!(ran, Implementation::Reference);
    assert_eq!(format!("{outcome:?}"), format!("{reference:?}"));
}
