//! Delivered frames per second of one processor on buses of 10BASE-T1S, cycle by cycle (contention by
//! contention without PLCA) and event by event.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Bus, S, US, cpu_seconds};
use ethermeter_simulator::Watch;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_trial::Trial;
use ethermeter_trial::scenario::Implementation;

/// Nodes that together offer a share of the line in frames of 64 octets with preamble and gap:
/// 67.2 µs each.
#[allow(clippy::cast_precision_loss)]
fn offering(nodes: u32, load: f64) -> Bus {
    let mean_ps = 67.2 * US as f64 * f64::from(nodes) / load;
    Bus::of(nodes).with(|_, _, flow| flow.arrivals = Arrivals::Poisson { mean_ps })
}

/// The same without PLCA.
fn contending(bus: Bus) -> Bus {
    bus.with(|_, stations, _| stations.plca = None)
}

fn trial(mut bus: Bus, length_ps: u64, implementation: Implementation) -> Trial {
    bus.length_ps = length_ps;
    let mut trial = bus.trial();
    trial.settings.implementation = implementation;
    trial
}

/// Frames per second of the processor, the best of some runs.
#[allow(clippy::cast_precision_loss)]
fn rate(trial: &Trial, runs: u32) -> f64 {
    let run = |_| {
        let begun = cpu_seconds();
        let (counts, _) =
            ethermeter_simulator::simulate(trial, &Watch::default()).expect("a valid trial");
        let frames: u64 = counts.stations.frames.iter().sum();
        frames as f64 / (cpu_seconds() - begun)
    };
    (0..runs).map(run).fold(0.0, f64::max)
}

fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<28} {:>12} {:>12} {:>8}", "bus", "fast", "reference", "ratio");
    for (name, bus, fast_ps, reference_ps) in [
        ("8 nodes, saturated", Bus::of(8), 200 * S, 2 * S),
        ("40 nodes, saturated", Bus::of(40), 200 * S, S),
        ("40 nodes, load 10%", offering(40, 0.1), 500 * S, S),
        ("40 nodes, load 50%", offering(40, 0.5), 200 * S, S),
        ("8 nodes, load 10%", offering(8, 0.1), 500 * S, 2 * S),
        ("8 nodes, load 1%", offering(8, 0.01), 5000 * S, 5 * S),
        ("8 nodes, load 0.1%", offering(8, 0.001), 9000 * S, 10 * S),
        ("9 nodes, CSMA/CD, load 50%", contending(offering(9, 0.5)), 200 * S, S),
        ("9 nodes, CSMA/CD, saturated", contending(Bus::of(9)), 200 * S, S),
        ("40 nodes, CSMA/CD, load 90%", contending(offering(40, 0.9)), 200 * S, S),
    ] {
        if !only.is_empty() && !only.iter().any(|o| o == name) {
            continue;
        }
        let fast = rate(&trial(bus.clone(), fast_ps, Implementation::Fast), 3);
        let reference = rate(&trial(bus, reference_ps, Implementation::Reference), 1);
        println!("{name:<28} {fast:>12.0} {reference:>12.0} {:>8.0}", fast / reference);
    }
}
