//! Delivered frames per second of one processor, saturated stations on the long net of 1988 (four
//! clusters, 12 us).

use ethermeter_simulator::scenario::{Group, Scenario, Segment};
use ethermeter_simulator::{simulate, Trial};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff};
use ethermeter_trial::Phases;

const US: u64 = 1_000_000;
const S: u64 = 1_000_000 * US;

fn trial(stations: u32, octets: u64, seconds: u64, places: u32, end_to_end_ns: u64) -> Trial {
    let delay = |p: u32, q: u32| {
        if places == 1 {
            end_to_end_ns * 1000
        } else {
            US + (end_to_end_ns * 1000 - US) * u64::from(p.abs_diff(q)) / u64::from(places - 1)
        }
    };
    Trial {
        seed: 1988,
        scenario: Scenario {
            segment: Segment {
                bit_ps: 100_000,
                slot_bits: 512,
                gap_bits: 96,
                gap_part1_bits: 0,
                preamble_bits: 64,
                jam_bits: 32,
                turnaround_ps: 0,
                delay_ps: (0..places).map(|p| (0..places).map(|q| delay(p, q)).collect()).collect(),
            },
            groups: vec![Group {
                name: "host".into(),
                places: (0..stations).map(|i| i % places).collect(),
                frames: Lengths::Fixed { bits: (octets + 4) * 8 },
                arrivals: Arrivals::Saturated {},
                generator: None,
                queue_frames: None,
                clock_error_ppb: 0,
                priority_wait_ps: 0,
                service: Times::Uniform { low_ps: 60 * US, high_ps: 90 * US },
                backoff: Backoff::Exponential { limit: 10 },
                attempt_limit: 16,
                after_attempt_limit: AfterAttemptLimit::Resume,
                after_late_collision: AfterLateCollision::Backoff,
            }],
            phases: Phases {
                begin_ps: 0,
                stop_ps: seconds * S,
                measure_from_ps: 0,
                measure_to_ps: seconds * S,
                end_ps: seconds * S,
                spread_ps: 0,
            },
            batches: 20,
        },
    }
}

/// Processor time of this process, which other load on the machine inflates less than the time of
/// day.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds") * 1e-9
}

#[allow(clippy::cast_precision_loss)]
fn main() {
    let only: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    println!(
        "{:>8} {:>6} {:>8} {:>12} {:>14} {:>12}",
        "stations", "bytes", "net us", "Mframe/s", "attempts/frame", "utilisation"
    );
    for (places, end_to_end_ns) in [(4, 6000), (1, 1500), (2, 22_500)] {
        for stations in [1, 2, 5, 10, 24] {
            for octets in [64, 1536] {
                if only.len() == 3 && only != [u64::from(places), u64::from(stations), octets] {
                    continue;
                }
                let seconds = if octets == 64 { 60 } else { 300 };
                let trial = trial(stations, octets, seconds, places, end_to_end_ns);
                let mut best = 0.0f64;
                let mut shown = (0.0, 0.0);
                for _ in 0..5 {
                    let begun = cpu_seconds();
                    let outcome = simulate(&trial).expect("a valid trial");
                    let frames: u64 = outcome.stations.frames.iter().sum();
                    best = best.max(frames as f64 / (cpu_seconds() - begun));
                    let charged: u64 = outcome.stations.charged_ps.iter().sum();
                    shown = (
                        outcome.events as f64 / frames as f64,
                        charged as f64 / outcome.window_ps as f64,
                    );
                }
                let net = 2 * end_to_end_ns / 1000;
                println!(
                    "{stations:>8} {octets:>6} {net:>8} {:>12.2} {:>14.2} {:>12.4}",
                    best / 1e6,
                    shown.0,
                    shown.1
                );
            }
        }
    }
}
