//! The medium access of the experimental Ethernet: turnaround times and load registers, by hand.

use ethermeter_simulator::time::{Instant, Span};
use crate::common::{constants, groups, saturated, set_groups, simulate, US};
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use ethermeter_simulator::segment::station::Station;
use crate::common::traces;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::times::Times;
use ethermeter_trial::medium::Backoff;
use ethermeter_trial::Trial;

const TURNAROUND: u64 = 15 * US;

/// Two stations at one position, 1 us apart, without a gap, each with one frame of 544 bits; the
/// second is ready `later_ps` after the first.
fn two(later_ps: u64) -> Trial {
    let mut trial = saturated(1, 544, US, 0);
    let constants = constants(&mut trial);
    (constants.turnaround_ps, constants.gap_bits, constants.gap_part1_bits) = (TURNAROUND, 0, 0);
    trial.scenario.phases.stop_ps = later_ps + 1;
    let first = groups(&trial)[0].clone();
    // A process that fills the first buffer in `later_ps`.
    let generator = Some(ethermeter_traffic::generator::Generator {
        buffers: 1,
        time: Times::Constant { ps: later_ps },
    });
    let service = Times::Constant { ps: 1_000_000 * US };
    let first = first.with(|_, flow| flow.service = service);
    let second = first.with(|_, flow| {
        (flow.generator, flow.arrivals) = (generator, Arrivals::Saturated {});
    });
    set_groups(&mut trial, &[first, second]);
    trial
}

fn attempts(trial: &Trial) -> Vec<Attempt> {
    let [(_, fast), (_, reference)] = traces(trial).expect("a valid trial");
    assert_eq!(fast, reference);
    fast
}

fn us(time: Instant) -> u64 {
    time.ps() / US
}

#[test]
fn a_station_ready_on_an_idle_medium_starts_a_turnaround_time_later_whatever_comes_meanwhile() {
    // The first is ready at 0, its first bit leaves at 15 us and is heard at 16 us. Who is ready
    // until then has decided.
    for later in [1, 7, 15, 16] {
        let trace = attempts(&two(later * US));
        assert_eq!(
            (us(trace[0].start), us(trace[1].start)),
            (15, 15 + later),
            "{later}"
        );
        assert!(trace[..2].iter().all(|a| a.ending == Ending::Collided), "{later}");
    }
}

#[test]
fn a_station_that_hears_carrier_first_starts_a_turnaround_time_after_its_end() {
    let trace = attempts(&two(17 * US));
    assert!(trace.iter().all(|a| a.ending == Ending::Delivered));
    // 60.8 us from 15 us on, heard 1 us later, and 15 us of turnaround.
    assert_eq!(trace[1].start, trace[0].end + Span::from_ps(16 * US));
}

#[test]
fn who_is_ready_when_the_medium_has_just_fallen_silent_owes_nothing_but_its_turnaround_time() {
    let trace = attempts(&two(90 * US));
    assert_eq!(us(trace[1].start), 105);
}

#[test]
fn no_gap_needs_a_turnaround_time() {
    let mut trial = two(US);
    constants(&mut trial).turnaround_ps = 0;
    let error = simulate(&trial).expect_err("no gap and no turnaround time").to_string();
    assert!(error.starts_with("media[0].mac.csma_cd.gap_bits"), "{error}");
}

const UNIT: u64 = 38_080_000;

/// A station of the experimental Ethernet with a load register. It has a frame at time 0.
fn alto(seed: u64, clock_ps: u64, ticks: bool) -> Station {
    let mut trial = saturated(1, 544, US, 0);
    trial.seed = seed;
    trial.scenario.media[0].bit_ps = 340_000;
    constants(&mut trial).slot_bits = 112;
    trial.scenario.media[0].stations[0].backoff =
        Backoff::LoadRegister { bits: 8, clock_ps, ticks };
    let compiled = CompiledSegment::new(&trial).expect("a valid trial");
    Station::all(&compiled).0.pop().expect("one station")
}

/// Sixteen collisions of one frame, the ends of their jams at odd times: each end, and when the
/// station is ready again.
fn collisions(station: &mut Station) -> Vec<(Instant, Instant, Ending)> {
    let mut at = Instant::ZERO;
    let mut all = Vec::new();
    for _ in 0..16 {
        let end = at + Span::from_ps(12_345_677);
        let (attempt, ready) = station.collide(at, end, false);
        all.push((end, ready, attempt.ending));
        at = ready + Span::from_ps(777_777);
    }
    all
}

#[test]
fn one_clock_explains_every_wait_of_a_host() {
    for (seed, clock_ps) in (0..20).zip([UNIT, 595_000, 170_000].into_iter().cycle()) {
        let all = collisions(&mut alto(seed, clock_ps, false));
        // What the clock may have shown at time 0: every wait leaves only what has its bits in
        // common with it.
        let may_be = |clock: u64| {
            (1u32..).zip(&all[..15]).all(|(n, &(end, ready, _))| {
                let slots = (ready - end).ps() / UNIT;
                ((clock + end.ps()) / clock_ps) & ((1 << n.min(8)) - 1) == slots
            })
        };
        assert!(all[..15].iter().all(|(end, ready, _)| (*ready - *end).ps() % UNIT == 0));
        assert!((0..256 * 64).any(|step| may_be(step * clock_ps / 64)), "{seed} {clock_ps}");
    }
}

#[test]
fn waits_end_with_the_ticks_of_the_hosts_own_clock() {
    let mut phases = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let with = collisions(&mut alto(seed, UNIT, true));
        let mut of_it: Vec<u64> = with[..15]
            .iter()
            .filter(|(end, ready, _)| ready > end)
            .map(|(_, ready, _)| ready.ps() % UNIT)
            .collect();
        assert!(of_it.len() > 5);
        of_it.dedup();
        assert_eq!(of_it.len(), 1, "always at the same phase");
        phases.insert(of_it[0]);
        // The first wait is the same number of units, less what had passed since the last tick.
        let (end, without, _) = collisions(&mut alto(seed, UNIT, false))[0];
        let less = without - with[0].1;
        assert!(
            if without == end { less == Span::ZERO } else { (0..UNIT).contains(&less.ps()) },
            "{less:?}"
        );
    }
    assert!(phases.len() > 15, "every host has its own");
}

#[test]
fn the_load_register_holds_eight_bits_and_overflows_after_sixteen_collisions() {
    let longest: Vec<u64> = (0..500).fold(vec![0; 15], |longest, seed| {
        let all = collisions(&mut alto(seed, 595_000, false));
        assert!(all[..15].iter().all(|c| c.2 == Ending::Collided));
        assert_eq!(all[15].2, Ending::Resumed);
        longest
            .iter()
            .zip(&all)
            .map(|(&most, (end, ready, _))| most.max((*ready - *end).ps() / UNIT))
            .collect()
    });
    for (n, most) in (1..).zip(longest) {
        let bound = (1 << n.min(8)) - 1;
        // Of 500 even draws the largest is below 0.97 of the range with a probability below 1e-6.
        assert!(most <= bound && most * 100 >= bound * 97, "{n}: {most}");
    }
}

#[test]
fn the_first_waits_of_many_hosts_are_even_but_later_ones_follow_from_them() {
    let waits = |seed: u64| {
        let all = collisions(&mut alto(seed, UNIT, false));
        [0, 1, 2].map(|n: usize| (all[n].1 - all[n].0).ps() / UNIT)
    };
    let all: Vec<[u64; 3]> = (0..8000).map(waits).collect();
    // Binomial(8000, 1/2): four standard deviations are 179.
    let ones = all.iter().filter(|w| w[0] == 1).count();
    assert!(ones.abs_diff(4000) < 179, "{ones}");
    // The clock read 4 k + r, so it waits r and collides again a third of a unit later: then it
    // reads 4 k + 2 r, or one more, and never 3 above a multiple of 4. A fresh draw would give that
    // in a quarter of all cases.
    assert!(all.iter().all(|w| w[2] % 4 != 3));
}
