//! The medium access of the experimental Ethernet: deaf times and load registers, by hand.

mod common;

use common::{saturated, US};
use ethermeter_simulator::scenario::Group;
use ethermeter_simulator::station::Ending;
use ethermeter_simulator::{simulate, traces, Attempt, Trial};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::times::Times;

const DEAF: u64 = 15 * US;

/// Two stations at one place, 1 us apart, without a gap, each with one frame of 544 bits; the second is ready `later_ps` after the first.
fn two(later_ps: u64) -> Trial {
    let mut trial = saturated(1, 544, US, 0);
    trial.scenario.segment.deaf_ps = DEAF;
    (trial.scenario.segment.gap_bits, trial.scenario.segment.gap_part1_bits) = (0, 0);
    trial.scenario.phases.stop_ps = later_ps + 1;
    let first = trial.scenario.groups[0].clone();
    // A process that fills the first buffer in `later_ps`.
    let generator = Some(ethermeter_traffic::source::Generator { buffers: 1, time: Times::Constant { ps: later_ps } });
    let service = Times::Constant { ps: 1_000_000 * US };
    trial.scenario.groups = vec![
        Group { service: service.clone(), ..first.clone() },
        Group { generator, service, arrivals: Arrivals::Saturated {}, ..first },
    ];
    trial
}

fn attempts(trial: &Trial) -> Vec<Attempt> {
    let [(_, fast), (_, reference)] = traces(trial).expect("a valid trial");
    assert_eq!(fast, reference);
    fast
}

fn us(time: i64) -> i64 {
    time / US.cast_signed()
}

#[test]
fn a_station_ready_on_an_idle_medium_starts_a_deaf_time_later_whatever_comes_meanwhile() {
    // The first is ready at 0, its first bit leaves at 15 us and is heard at 16 us. Who is ready until then has decided.
    for later in [1, 7, 15, 16] {
        let trace = attempts(&two(later * US));
        assert_eq!((us(trace[0].start), us(trace[1].start)), (15, 15 + later.cast_signed()), "{later}");
        assert!(trace[..2].iter().all(|a| a.ending == Ending::Collided), "{later}");
    }
}

#[test]
fn a_station_that_hears_carrier_first_starts_a_deaf_time_after_its_end() {
    let trace = attempts(&two(17 * US));
    assert!(trace.iter().all(|a| a.ending == Ending::Delivered));
    // 60.8 us from 15 us on, heard 1 us later, and 15 us deaf.
    assert_eq!(trace[1].start, trace[0].end + 16 * US.cast_signed());
}

#[test]
fn who_is_ready_when_the_medium_has_just_fallen_silent_owes_nothing_but_its_deaf_time() {
    let trace = attempts(&two(90 * US));
    assert_eq!(us(trace[1].start), 105);
}

#[test]
fn no_gap_is_only_for_the_deaf() {
    let mut trial = two(US);
    trial.scenario.segment.deaf_ps = 0;
    let error = simulate(&trial).expect_err("no gap and no deaf time").to_string();
    assert!(error.starts_with("segment.gap_bits"), "{error}");
}
