//! Voice on the experimental Ethernet: delay, throughput and loss against the number of coders, as
//! in tables 4.1 of Gonsalves 1982.
//!
//! Arguments: the turnaround time in microseconds, and `outside` to have the overhead outside of the
//! minimum and maximum lengths.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Group, S, US, segment, simulate};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_trial::Trial;
use ethermeter_trial::medium::{Backoff, CsmaCd, Mac};

const UNIT: u64 = 38_080_000;
const OVERHEAD: u64 = 48;

fn trial(stations: u32, min_octets: u64, turnaround_ps: u64, is_outside: bool, seed: u64) -> Trial {
    let points = 8;
    let delay = |p: u32, q: u32| 2_750_000 / u64::from(points - 1) * u64::from(p.abs_diff(q));
    let delays = (0..points).map(|p| (0..points).map(|q| delay(p, q)).collect()).collect();
    let beside = if is_outside { OVERHEAD } else { 0 };
    let constants = CsmaCd {
        slot_bits: 112,
        gap_bits: u64::from(turnaround_ps == 0),
        gap_part1_bits: 0,
        preamble_bits: 1,
        jam_bits: 8,
        turnaround_ps,
    };
    let group = Group::saturated((0..stations).map(|i| i % points).collect(), 1)
        .sending(
            Arrivals::Coder { sample_bits: 16, sample_ps: 4 * UNIT, spurts: None },
            Lengths::Samples {
                overhead_bits: OVERHEAD,
                min_bits: 8 * min_octets + beside,
                max_bits: 8 * 1024 + beside,
                buffers: None,
                discard_after_ps: None,
            },
        )
        .with(|stations, _| {
            stations.backoff = Backoff::LoadRegister { bits: 8, clock_ps: UNIT, ticks: true };
        });
    let mut trial = segment(340_000, Mac::CsmaCd(constants), delays, &[group], 25 * S);
    trial.seed = seed;
    trial.scenario.phases.measure_from_ps = 5 * S;
    trial.scenario.phases.spread_ps = 100_000 * US;
    trial
}

/// Throughput and loss as parts of 1, delay in ms.
#[allow(clippy::cast_precision_loss)]
fn point(stations: u32, min_octets: u64, turnaround_ps: u64, is_outside: bool) -> [f64; 4] {
    let seeds = 4;
    let mut means = [0.0; 4];
    for seed in 0..seeds {
        let outcome = simulate(&trial(stations, min_octets, turnaround_ps, is_outside, seed))
            .expect("a valid trial");
        let voice = outcome.stations.voice.expect("voice");
        let total = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        let frames = total(&outcome.stations.frames);
        let data = total(&outcome.stations.bits) - OVERHEAD as f64 * frames;
        let mean_ms = |sums: &[u128], n: f64| sums.iter().sum::<u128>() as f64 * 1e-9 / n;
        let of_this = [
            data * 340_000.0 / outcome.window_ps as f64,
            mean_ms(&voice.voice_delay_ps, frames),
            total(&voice.samples_lost) / total(&voice.samples),
            mean_ms(&voice.sample_delay_ps, total(&voice.samples_sent)),
        ];
        for (mean, this) in means.iter_mut().zip(of_this) {
            *mean += this / seeds as f64;
        }
    }
    means
}

fn main() {
    let turnaround_us = std::env::args().nth(1).and_then(|a| a.parse::<u64>().ok()).unwrap_or(0);
    let is_outside = std::env::args().any(|a| a == "outside");
    for min_octets in [64, 128, 512] {
        println!(
            "minimum {min_octets} bytes, turnaround {turnaround_us} us, overhead {}",
            if is_outside { "outside" } else { "inside" }
        );
        println!("{:>4} {:>8} {:>10} {:>14} {:>8}", "N", "T %", "D ms", "of samples ms", "L %");
        let curve: Vec<(u32, [f64; 4])> = (1..=36)
            .filter(|n| *n == 1 || *n >= 10)
            .map(|n| (n, point(n, min_octets, turnaround_us * US, is_outside)))
            .collect();
        for (n, [t, d, l, s]) in &curve {
            println!("{n:>4} {:>8.2} {d:>10.2} {s:>14.2} {:>8.3}", 100.0 * t, 100.0 * l);
        }
        for loss in [0.01, 0.05] {
            let Some(after) = curve.iter().position(|(_, p)| p[2] >= loss).filter(|&i| i > 0)
            else {
                continue;
            };
            let ((stations, low), (_, high)) = (curve[after - 1], curve[after]);
            let share = (loss - low[2]) / (high[2] - low[2]);
            let between = |k: usize| low[k] + share * (high[k] - low[k]);
            println!(
                "  L = {loss}: N {:.1}, T {:.1} %, D {:.1} ms, of samples {:.1} ms",
                f64::from(stations) + share,
                100.0 * between(0),
                between(1),
                between(3)
            );
        }
    }
}
