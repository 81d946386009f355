//! Worlds for tests: saturated stations on a 10 Mb/s segment.

use ethermeter_simulator::scenario::{Group, Scenario, Segment};
use ethermeter_simulator::Trial;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff};
use ethermeter_trial::Phases;

pub const US: u64 = 1_000_000;
pub const MS: u64 = 1000 * US;
pub const S: u64 = 1000 * MS;

/// `stations` saturated stations at one place, `delay_ps` apart, with frames of `bits` and a
/// constant service time.
pub fn saturated(stations: usize, bits: u64, delay_ps: u64, service_ps: u64) -> Trial {
    Trial {
        seed: 7,
        scenario: Scenario {
            segment: Segment {
                bit_ps: 100_000,
                slot_bits: 512,
                gap_bits: 96,
                gap_part1_bits: 64,
                preamble_bits: 64,
                jam_bits: 32,
                turnaround_ps: 0,
                delay_ps: vec![vec![delay_ps]],
            },
            groups: vec![Group {
                name: "host".into(),
                places: vec![0; stations],
                frames: Lengths::Fixed { bits },
                arrivals: Arrivals::Saturated {},
                generator: None,
                queue_frames: None,
                clock_error_ppb: 0,
                priority_wait_ps: 0,
                service: Times::Constant { ps: service_ps },
                backoff: Backoff::Exponential { limit: 10 },
                attempt_limit: 16,
                after_attempt_limit: AfterAttemptLimit::Resume,
                after_late_collision: AfterLateCollision::Backoff,
            }],
            phases: Phases {
                begin_ps: 0,
                stop_ps: 12 * S,
                measure_from_ps: S,
                measure_to_ps: 11 * S,
                end_ps: 12 * S,
                spread_ps: 0,
            },
            batches: 20,
        },
    }
}

/// Mean of `count` times whose sum is `sum_ps`, in seconds.
#[allow(dead_code, clippy::cast_precision_loss)] // of some tests
pub fn mean_s(sum_ps: u128, count: u64) -> f64 {
    sum_ps as f64 / count as f64 * 1e-12
}
