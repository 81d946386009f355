//! Stations that let others of higher priority go first, by hand and by law.

use ethermeter_simulator::time::{Instant, Span};
use crate::common::{add_group, groups, saturated, set_groups, simulate, MS, S, US};
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use crate::common::traces;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::generator::Generator;
use ethermeter_traffic::times::Times;
use ethermeter_trial::medium::AfterAttemptLimit;
use ethermeter_trial::Trial;

const SLOT: u64 = 51_200_000;
/// Of a frame of 544 bits with its preamble, and of the gap after it.
const PACKET: u64 = 60_800_000;
const GAP: u64 = 9_600_000;

/// Stations at one position, 1 us apart, each with its priority wait and one frame of 544 bits,
/// which is ready at the time given.
fn each_with_one_frame(stations: &[(u64, u64)]) -> Trial {
    let mut trial = saturated(1, 544, US, 0);
    let host = groups(&trial)[0].clone();
    let last = stations.iter().map(|&(_, ready)| ready).max().expect("stations");
    trial.scenario.phases.stop_ps = last + 1;
    let groups: Vec<_> = stations
        .iter()
        .map(|&(priority_wait_ps, ready)| {
            host.with(|stations, flow| {
                stations.priority_wait_ps = priority_wait_ps;
                // A process that fills the first buffer at that time, and a host that is not ready
                // for another.
                let time = Times::Constant { ps: ready };
                flow.generator = Some(Generator { buffers: 1, time });
                flow.service = Times::Constant { ps: S };
                flow.arrivals = Arrivals::Saturated {};
            })
        })
        .collect();
    set_groups(&mut trial, &groups);
    trial
}

fn attempts(trial: &Trial) -> Vec<Attempt> {
    let [(_, fast), (_, reference)] = traces(trial).expect("a valid trial");
    assert_eq!(fast, reference);
    fast
}

/// Who sent, when, in picoseconds, and how it ended.
fn starts(trial: &Trial) -> Vec<(u32, u64, Ending)> {
    attempts(trial).iter().map(|a| (a.station.number(), a.start.ps(), a.ending)).collect()
}

#[test]
fn of_two_that_wait_for_the_same_frame_to_end_the_higher_goes_first_and_the_lower_begins_anew() {
    // All hear the end at 61.8 us. The higher starts a gap later, which the lower hears 1 us after
    // that, in its wait.
    let first_end = PACKET;
    let higher = first_end + US + GAP;
    let lower = higher + PACKET + US + GAP + SLOT;
    for order in [[(0, 0), (0, 10 * US), (SLOT, 10 * US)], [(0, 0), (0, 30 * US), (SLOT, 2 * US)]] {
        let expected = [
            (0, 0, Ending::Delivered),
            (1, higher, Ending::Delivered),
            (2, lower, Ending::Delivered),
        ];
        assert_eq!(starts(&each_with_one_frame(&order)), expected);
    }
}

#[test]
fn three_classes_that_wait_go_in_their_order() {
    let trial = each_with_one_frame(&[(0, 0), (2 * SLOT, 2 * US), (SLOT, 3 * US), (0, 4 * US)]);
    let order: Vec<u32> = attempts(&trial).iter().map(|a| a.station.number()).collect();
    assert_eq!(order, [0, 3, 2, 1]);
}

#[test]
fn a_station_alone_on_an_idle_medium_does_not_wait() {
    assert_eq!(starts(&each_with_one_frame(&[(SLOT, 0)])), [(0, 0, Ending::Delivered)]);
    // After another frame, silence is long enough when gap and wait have passed since its end was
    // heard; not a picosecond before.
    let over = PACKET + US + GAP + SLOT;
    for (ready, start) in
        [(over - 1, over), (over, over), (over + 1, over + 1), (PACKET + US, over), (70 * US, over)]
    {
        let trial = each_with_one_frame(&[(0, 0), (SLOT, ready)]);
        assert_eq!(starts(&trial)[1], (1, start, Ending::Delivered), "{ready}");
    }
}

#[test]
fn its_own_transmission_too_is_followed_by_gap_and_wait() {
    let mut trial = saturated(1, 544, US, 0);
    trial.scenario.media[0].stations[0].priority_wait_ps = SLOT;
    let cycle = Span::from_ps(PACKET + GAP + SLOT);
    let trace = attempts(&trial);
    assert!(trace.len() > 1000);
    assert!(trace.windows(2).all(|pair| pair[1].start - pair[0].start == cycle));
    // Its load is what it carries alone: packet and gap of each cycle, at any edge within one of
    // them.
    let outcome = simulate(&trial).expect("a valid trial");
    #[allow(clippy::cast_precision_loss)]
    let [share, edge] =
        [(PACKET + GAP) as f64 / cycle.to_f64(), cycle.to_f64() / outcome.window_ps as f64];
    assert!(
        (outcome.stations.offered_load[0] - share).abs() < 1e-12,
        "{}",
        outcome.stations.offered_load[0]
    );
    #[allow(clippy::cast_precision_loss)]
    let carried = outcome.stations.charged_ps[0] as f64 / outcome.window_ps as f64;
    assert!((carried - share).abs() <= edge, "{carried} {share}");
}

#[test]
fn the_wait_for_others_costs_the_channel_idle_time_and_no_gap() {
    let mut trial = saturated(1, 544, US, 0);
    trial.scenario.media[0].stations[0].priority_wait_ps = SLOT;
    // A hundred cycles to the picosecond, from the first start on.
    let cycle = PACKET + GAP + SLOT;
    (trial.scenario.phases.measure_from_ps, trial.scenario.phases.measure_to_ps) = (0, 100 * cycle);
    let outcome = simulate(&trial).expect("a valid trial");
    assert_eq!(
        outcome.media[0].time_ps,
        [100 * 54_400_000, 100 * 6_400_000, 100 * GAP, 0, 100 * SLOT]
    );
}

#[test]
fn who_has_just_sent_lets_a_higher_one_go_first_and_watches_its_gap_to_the_end() {
    // The lower sends at 0 and has the next frame at once; the higher is ready when it hears that.
    let mut trial = each_with_one_frame(&[(SLOT, 0), (0, 10 * US)]);
    trial.scenario.flows[0].generator = None;
    trial.scenario.flows[0].service = Times::Constant { ps: 0 };
    trial.scenario.phases.stop_ps = 100 * US;
    let higher = PACKET + US + GAP;
    let lower = higher + PACKET + US + GAP + SLOT;
    assert_eq!(
        starts(&trial)[1..3],
        [(1, higher, Ending::Delivered), (0, lower, Ending::Delivered)]
    );
    // Were it of the same class, it would be first by the 1 us that its end takes to the other, and
    // they would collide.
    trial.scenario.media[0].stations[0].priority_wait_ps = 0;
    assert_eq!(
        starts(&trial)[1..3],
        [(0, PACKET + GAP, Ending::Collided), (1, higher, Ending::Collided)]
    );
}

#[test]
fn classes_are_told_apart_if_their_waits_differ_by_more_than_propagation() {
    // Who hears the higher begin in the instant in which it decides has decided.
    for (difference, ending) in
        [(0, Ending::Collided), (US, Ending::Collided), (US + 1, Ending::Delivered)]
    {
        let trial = each_with_one_frame(&[(0, 0), (SLOT, 10 * US), (SLOT + difference, 10 * US)]);
        let trace = starts(&trial);
        assert_eq!(trace[1], (1, PACKET + US + GAP + SLOT, ending), "{difference}");
        assert_eq!(trace[2].2, ending, "{difference}");
    }
}

#[test]
fn classes_at_one_position_do_as_if_each_had_a_position_of_its_own() {
    let mut trial = saturated(3, 544, US, 30 * US);
    trial.scenario.phases.stop_ps = 200 * MS;
    let host = groups(&trial)[0].clone();
    let class = |priority_wait_ps, point| {
        host.with(|stations, _| {
            (stations.priority_wait_ps, stations.points) = (priority_wait_ps, vec![point; 3]);
        })
    };
    let mut apart = trial.clone();
    let classes = [class(SLOT, 0), class(0, 0), class(3 * SLOT, 0), class(SLOT, 0)];
    set_groups(&mut trial, &classes);
    let classes = [class(SLOT, 0), class(0, 1), class(3 * SLOT, 2), class(SLOT, 3)];
    set_groups(&mut apart, &classes);
    apart.scenario.media[0].delay_ps = vec![vec![US; 4]; 4];
    let (together, apart) = (attempts(&trial), attempts(&apart));
    assert!(together.len() > 1000);
    assert_eq!(together, apart);
}

#[test]
fn one_saturated_station_of_a_higher_class_leaves_nothing() {
    // It is ready whenever its gap is over, and the lower hears it before its wait is.
    let mut trial = saturated(1, 544, US, 0);
    let host = groups(&trial)[0].clone();
    let lower = host.with(|stations, _| {
        (stations.priority_wait_ps, stations.points) = (SLOT, vec![0; 3]);
    });
    add_group(&mut trial, lower);
    let outcome = simulate(&trial).expect("a valid trial");
    assert_eq!(outcome.stations.frames[1..], [0; 3]);
    assert_eq!(outcome.stations.charged_ps[0], outcome.window_ps);
}

#[test]
fn a_saturated_higher_class_leaves_what_its_backoff_leaves() {
    // After a first collision a frame is back within a slot of the jam's end. So a lower station,
    // which listens for a gap and a slot, finds silence for as long only after a collision of
    // frames that all had collided before (and after its own frames, as long as nobody is back).
    // Then it takes it, to the picosecond.
    let mut trial = saturated(6, 544, US, 0);
    trial.scenario.media[0].stations[0].after_attempt_limit = AfterAttemptLimit::Discard;
    trial.scenario.phases.spread_ps = MS;
    let higher = groups(&trial)[0].clone();
    let lower = higher.with(|stations, _| {
        (stations.priority_wait_ps, stations.points) = (SLOT, vec![0]);
    });
    add_group(&mut trial, lower);
    let [(outcome, trace), _] = traces(&trial).expect("a valid trial");
    let (lower, most) = (6, Span::from_ps(US + GAP + SLOT));
    let (mut silent, mut last_senders, mut last_attempts, mut taken) =
        (Instant::ZERO, Vec::new(), Vec::new(), 0u64);
    let mut lower_waits = true; // and does not back off
    for attempt in trace.iter().skip_while(|a| a.start.ps() < 2 * MS) {
        let is_lower = attempt.station.number() == lower;
        if attempt.start >= silent {
            if silent > Instant::ZERO && lower_waits {
                assert!(attempt.start <= silent + most, "{attempt:?}");
                // Its own end it hears at once.
                let propagation = if last_senders == [lower] { 0 } else { US };
                assert!(
                    !is_lower || attempt.start == silent + Span::from_ps(propagation + GAP + SLOT),
                    "{attempt:?}"
                );
            }
            if silent > Instant::ZERO && lower_waits && is_lower && last_senders != [lower] {
                assert!(
                    last_attempts.len() > 1 && last_attempts.iter().all(|&a| a >= 2),
                    "{last_attempts:?}"
                );
                taken += 1;
            }
            last_senders.clear();
            last_attempts.clear();
        }
        if is_lower {
            lower_waits = attempt.ending == Ending::Delivered;
        }
        last_senders.push(attempt.station.number());
        last_attempts.push(attempt.attempts);
        silent = silent.max(attempt.end);
    }
    assert!(taken > 100, "{taken}");
    let share = outcome.stations.frames[lower as usize];
    assert!(
        share > 0 && outcome.stations.frames[..6].iter().all(|&frames| frames > share),
        "{:?}",
        outcome.stations.frames
    );
    assert_eq!(outcome.media[0].time_ps.iter().sum::<u64>(), outcome.window_ps);
    let frames: u64 = outcome.stations.frames.iter().sum();
    assert!((outcome.media[0].time_ps[0] / 54_400_000).abs_diff(frames) <= 1);
}

#[test]
fn a_wait_is_at_most_a_second() {
    let mut trial = saturated(1, 544, US, 0);
    trial.scenario.media[0].stations[0].priority_wait_ps = S;
    simulate(&trial).expect("a second is allowed");
    trial.scenario.media[0].stations[0].priority_wait_ps = S + 1;
    let error = simulate(&trial).expect_err("more is not").to_string();
    assert_eq!(
        error,
        "media[0].stations[0].priority_wait_ps: must be from 0 to 1000000000000, got 1000000000001"
    );
}
