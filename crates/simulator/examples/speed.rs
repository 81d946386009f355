//! Delivered frames per second of one processor, saturated stations on the long net of 1988 (four
//! clusters, 12 us).

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Group, IEEE_10, S, US, cpu_seconds, segment, simulate};
use ethermeter_traffic::times::Times;
use ethermeter_trial::Trial;
use ethermeter_trial::medium::{CsmaCd, Mac};

fn trial(stations: u32, octets: u64, seconds: u64, points: u32, end_to_end_ns: u64) -> Trial {
    let delay = |p: u32, q: u32| {
        if points == 1 {
            end_to_end_ns * 1000
        } else {
            US + (end_to_end_ns * 1000 - US) * u64::from(p.abs_diff(q)) / u64::from(points - 1)
        }
    };
    let delays = (0..points).map(|p| (0..points).map(|q| delay(p, q)).collect()).collect();
    let group = Group::saturated((0..stations).map(|i| i % points).collect(), (octets + 4) * 8)
        .with(|_, flow| flow.service = Times::Uniform { low_ps: 60 * US, high_ps: 90 * US });
    let mac = Mac::CsmaCd(CsmaCd { gap_part1_bits: 0, ..IEEE_10 });
    let trial = segment(100_000, mac, delays, &[group], seconds * S);
    Trial { seed: 1988, ..trial }
}

#[allow(clippy::cast_precision_loss)]
fn main() {
    let only: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    println!(
        "{:>8} {:>6} {:>8} {:>12} {:>14} {:>12} {:>12}",
        "stations", "bytes", "net us", "Mframe/s", "attempts/frame", "Mattempt/s", "utilisation"
    );
    for (points, end_to_end_ns) in [(4, 6000), (1, 1500), (2, 22_500)] {
        for stations in [1, 2, 5, 10, 24, 200, 1024] {
            for octets in [64, 1536] {
                if only.len() == 3 && only != [u64::from(points), u64::from(stations), octets] {
                    continue;
                }
                let seconds =
                    if octets == 64 { 60 } else { 300 } / if stations > 24 { 6 } else { 1 };
                let trial = trial(stations, octets, seconds, points, end_to_end_ns);
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
                    "{stations:>8} {octets:>6} {net:>8} {:>12.2} {:>14.2} {:>12.2} {:>12.4}",
                    best / 1e6,
                    shown.0,
                    best * shown.0 / 1e6,
                    shown.1
                );
            }
        }
    }
}
