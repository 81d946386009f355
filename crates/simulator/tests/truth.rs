//! What the simulator gives where theory, a hand calculation or a law says what it must be.
//!
//! Tolerances are those of the law (exact), or stated standard errors of the simulated mean.
#![allow(clippy::cast_precision_loss)]

use crate::common::{add_group, discard, groups, mean_s, replayed, saturated, simulate, MS, S, US};
use crate::common::traces;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_simulator::Watch;
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use ethermeter_simulator::plan::Plan;
use ethermeter_traffic::generator::Generator;
use ethermeter_traffic::times::Times;
use ethermeter_trial::medium::{AfterAttemptLimit, Backoff, CableFault};
use ethermeter_trial::{Counts, Trial};
use proptest::prelude::*;

fn run(trial: &Trial) -> Counts {
    simulate(trial).expect("a valid trial")
}

fn total(counts: &[u64]) -> u64 {
    counts.iter().sum()
}

fn utilisation(outcome: &Counts) -> f64 {
    total(&outcome.stations.charged_ps) as f64 / outcome.window_ps as f64
}

#[test]
fn one_station_without_service_time_fills_the_channel_exactly() {
    let outcome = run(&saturated(1, 544, 0, 0));
    assert_eq!(total(&outcome.stations.charged_ps), outcome.window_ps);
    // (64 + 544 + 96) bits a cycle of 70.4 us: frame, preamble and gap shares are those of their
    // bits, at any edge within one cycle
    let [frame, preamble, gap, collision, idle] = outcome.media[0].time_ps;
    assert_eq!((collision, idle), (0, 0));
    let cycle = 70_400_000;
    for (time, bits) in [(frame, 544), (preamble, 64), (gap, 96)] {
        assert!(
            (time / 100_000).abs_diff(outcome.window_ps / cycle * bits) <= 2 * bits,
            "{time} {bits}"
        );
    }
    // 10 s / 70.4 us
    assert!(total(&outcome.stations.frames).abs_diff(142_045) <= 1);
    // Taken up at the end of the one before: gap and packet.
    let delay_s = mean_s(outcome.stations.delay_ps[0].into(), outcome.stations.frames[0]);
    assert!((delay_s - 70.4e-6).abs() < 1e-18, "{delay_s}");
    // Σx² = (Σx)² / n only of equal delays.
    let stations = &outcome.stations;
    let (n, sum) = (u128::from(stations.frames[0]), u128::from(stations.delay_ps[0]));
    assert_eq!(n * stations.delay_ps2[0], sum * sum);
}

#[test]
fn a_station_that_replays_a_trace_sends_its_messages_when_the_channel_is_free() {
    // 544 bits at 10, 10 and 500 us after the begin: packet 60.8 us, gap 9.6 us.
    let times = [10 * US, 10 * US, 500 * US];
    let arrivals = replayed(&times, (&[], 1), (None, Some(0), 1.0));
    let mut trial = saturated(1, 544, 0, 0);
    trial.scenario.flows[0].arrivals = arrivals;
    trial.scenario.phases.measure_from_ps = trial.scenario.phases.begin_ps;
    let outcome = run(&trial);
    assert_eq!(outcome.stations.frames, [3]);
    // The second is taken up at the end of the first: gap and packet.
    assert_eq!(outcome.stations.delay_ps, [2 * 60_800_000 + 70_400_000]);
    trial.scenario.flows[0].queue_frames = Some(1);
    let outcome = run(&trial);
    assert_eq!((outcome.stations.frames[0], outcome.stations.dropped[0]), (2, 1));
    trial.scenario.flows[0].arrivals = Arrivals::Trace {
        sha256: "0".repeat(64),
        messages: 3,
        repeat_ps: None,
        offset_ps: None,
        speed: 1.0,
        mean_ps: 1e8,
        scv: 1.0,
        envelope: vec![],
        trace: None,
    };
    let fault = simulate(&trial).expect_err("not given").to_string();
    assert!(fault.contains("flows[0].arrivals: must replay a trace that is given"), "{fault}");
}

#[test]
fn one_station_with_service_time_repeats_packet_plus_service() {
    let outcome = run(&saturated(1, 12_320, 0, 77 * US));
    // packet 1238.4 us + 77 us
    let cycles = 10_000_000.0 / 1315.4;
    assert!((total(&outcome.stations.frames) as f64 - cycles).abs() <= 1.0);
    assert!((utilisation(&outcome) - 1248.0 / 1315.4).abs() < 1248.0 / 1e7);
}

#[test]
fn two_stations_with_service_time_above_the_gap_alternate_without_collision() {
    let delay = 5 * US;
    let mut trial = saturated(2, 544, delay, 20 * US);
    trial.scenario.phases.spread_ps = MS;
    let outcome = run(&trial);
    assert_eq!(total(&outcome.stations.collisions), 0);
    // Each defers to the other: one frame each 60.8 us + 5 us of propagation + 9.6 us of gap.
    let frames = 10_000_000.0 / 75.4;
    assert!((total(&outcome.stations.frames) as f64 - frames).abs() <= 1.0);
    assert!(outcome.stations.frames[0].abs_diff(outcome.stations.frames[1]) <= 1);
}

#[test]
fn littles_law_holds_for_every_station() {
    let outcome = run(&saturated(10, 544, 3 * US, 77 * US));
    for i in 0..10 {
        let rate = outcome.stations.frames[i] as f64 / 10.0;
        let counted =
            rate * mean_s(outcome.stations.delay_ps[i].into(), outcome.stations.frames[i]);
        // A frame that crosses an edge of the window counts in one and not in the other: two
        // frames' delays, of which the longest is in the histogram.
        let longest = outcome.media[0].transmission_delay.last().expect("frames").1 as f64 * 1e-12;
        let waiting = outcome.stations.waiting_ps[i] as f64 / outcome.window_ps as f64;
        assert!((waiting - counted).abs() <= 2.0 * longest / 10.0, "{i}");
    }
}

#[test]
fn channel_time_sums_to_the_window_and_success_to_the_frames() {
    let outcome = run(&saturated(24, 544, 3 * US, 77 * US));
    assert_eq!(outcome.media[0].time_ps.iter().sum::<u64>(), outcome.window_ps);
    let frames = total(&outcome.stations.frames);
    assert!((outcome.media[0].time_ps[0] / 54_400_000).abs_diff(frames) <= 1);
    assert_eq!(total(&outcome.media[0].attempts_per_frame), frames);
}

#[test]
fn equal_stations_get_equal_shares() {
    // Stations that differ in nothing: over many seeds, their mean shares agree within chance. With
    // 12 seeds of 10 s and a spread of at most 15% a run, the mean of a station has a standard
    // error of 4.4% of its share; the largest of ten deviations exceeds 3.5 of them with
    // probability below 0.5%, and the seeds are fixed.
    let seeds = 12;
    let mut shares = [0.0f64; 10];
    for seed in 0..seeds {
        let outcome = run(&Trial { seed, ..saturated(10, 544, 3 * US, 77 * US) });
        let frames = total(&outcome.stations.frames) as f64;
        for (share, &own) in shares.iter_mut().zip(&outcome.stations.frames) {
            *share += own as f64 / frames / seeds as f64;
        }
    }
    for share in shares {
        assert!((share - 0.1).abs() < 0.1 * 3.5 * 0.15 / (seeds as f64).sqrt(), "{shares:?}");
    }
}

#[test]
fn capture_comes_out_by_itself() {
    // Two saturated stations without service time: whoever wins once meets a rival with a longer
    // backoff, so that one of them sends long runs. A fair coin after each frame would give runs of
    // 2; capture gives many times that.
    let mut trial = saturated(2, 12_320, 3 * US, 0);
    trial.scenario.media[0].stations[0].after_attempt_limit = AfterAttemptLimit::Discard;
    let [(_, trace), _] = traces(&trial).expect("a valid trial");
    let senders: Vec<u32> = trace
        .iter()
        .filter(|a| a.ending == ethermeter_simulator::mac::transmitter::Ending::Delivered)
        .map(|a| a.station.number())
        .collect();
    let runs = 1 + senders.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(senders.len() > 10 * runs, "{} frames in {runs} runs", senders.len());
}

#[test]
fn a_frame_is_given_up_after_exactly_the_attempt_limit() {
    // Two stations that start together and never wait collide for ever.
    let mut trial = saturated(2, 544, 0, 0);
    trial.scenario.media[0].stations[0].backoff = Backoff::None {};
    trial.scenario.media[0].stations[0].after_attempt_limit = AfterAttemptLimit::Discard;
    trial.scenario.phases.stop_ps = 1; // one frame each
    let [(_, trace), _] = traces(&trial).expect("a valid trial");
    assert_eq!(trace.len(), 2 * 16);
    assert!(trace.iter().all(|a| (a.end - a.start).ps() == 9_600_000), "preamble, then jam: 96 bits");
}

#[test]
fn binary_exponential_backoff_waits_as_the_standard_says() {
    // Two stations that start together: after their n-th collision each waits r slots, r uniform
    // below 2^n, from the end of its jam, and both wait again if they drew the same. P(resolved at
    // the first) = 1/2.
    let resolved = (0..2000)
        .filter(|&seed| {
            let mut trial = saturated(2, 544, 0, 0);
            trial.scenario.phases.stop_ps = 1;
            let [(_, trace), _] = traces(&Trial { seed, ..trial }).expect("a valid trial");
            trace.len() == 4
        })
        .count();
    // Binomial(2000, 1/2): four standard deviations are 89.
    assert!(resolved.abs_diff(1000) < 90, "{resolved}");
}

#[test]
fn poisson_light_load_waits_like_m_d_1() {
    // One station: its queue is M/D/1 with service packet + gap; the response time excludes the gap
    // after the last frame.
    let mut trial = saturated(1, 544, 0, 0);
    let service = 70.4e-6;
    for load in [0.2, 0.5, 0.8] {
        trial.scenario.flows[0].arrivals = Arrivals::Poisson { mean_ps: service / load * 1e12 };
        let seeds = 8u32;
        let means: Vec<f64> = (0..seeds)
            .map(|seed| {
                let outcome = run(&Trial { seed: u64::from(seed), ..trial.clone() });
                mean_s(outcome.stations.response_ps[0].into(), outcome.stations.frames[0])
            })
            .collect();
        let mean = means.iter().sum::<f64>() / f64::from(seeds);
        let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / f64::from(seeds - 1);
        // Pollaczek-Khinchine: W = rho s / (2 (1 - rho))
        let theory = load * service / (2.0 * (1.0 - load)) + 60.8e-6;
        // 4.8 standard errors of the mean of eight: one in a thousand for Student's t with seven
        // degrees of freedom is 5.4
        assert!(
            (mean - theory).abs() < 5.4 * (variance / f64::from(seeds)).sqrt(),
            "{load}: {mean} {theory}"
        );
    }
}

#[test]
fn a_jabbering_station_leaves_nothing_to_the_others() {
    let mut trial = saturated(4, 544, 3 * US, 77 * US);
    let jabber = groups(&trial)[0].with(|stations, flow| {
        stations.points = vec![0];
        flow.frames = Lengths::Fixed { bits: 4_000_000_000 };
    });
    add_group(&mut trial, jabber);
    let outcome = run(&trial);
    // 400 s a frame: once it has the medium, it keeps it beyond the window.
    assert!(utilisation(&outcome) > 0.0);
    assert_eq!(total(&outcome.stations.frames), 0);
}

#[test]
fn the_queues_of_a_generator_are_as_full_as_littles_law_says() {
    // Boggs, Mogul, Kent 1988, figure 3: a buffer is refilled for 40 us in each cycle of 6.4 + 54.4
    // + 77 us, and in the output queue for the rest.
    let trial = |stations| {
        let mut trial = saturated(stations, 544, 3 * US, 77 * US);
        trial.scenario.flows[0].generator =
            Some(Generator { buffers: 15, time: Times::Constant { ps: 40 * US } });
        trial
    };
    for stations in [1, 5] {
        let outcome = run(&trial(stations));
        let found = outcome.stations.generator.as_ref().expect("a generator");
        for station in 0..stations {
            let (output, free) = (found.output_ps[station], found.transmitted_ps[station]);
            let filling = found.filling_ps[station];
            let window = u128::from(outcome.window_ps);
            assert_eq!(output + free + u128::from(filling), 15 * window);
            // The time of a frame in the queue: from when it is filled to when its end is served.
            let counted = &outcome.stations;
            let frames = counted.frames[station];
            let times = counted.response_ps[station] + frames * 77 * US;
            // At either end of the window fifteen buffers are there, each for as long as fifteen
            // packets take at most.
            let longest = outcome.media[0].transmission_delay.last().expect("frames").1;
            let most = 2 * 15 * 15 * (longest + 77 * US);
            assert!(output.abs_diff(times.into()) < most.into(), "{output} {times}");
            assert!(filling.abs_diff(frames * 40 * US) <= 2 * 40 * US);
        }
    }
    let alone = run(&trial(1)).stations.generator.expect("a generator");
    let mean = alone.output_ps[0] as f64 / (10 * S) as f64;
    assert!((mean - (15.0 - 40.0 / 137.8)).abs() < 1e-4, "{mean}");
    assert_eq!(alone.transmitted_ps, [0]);
    assert!(run(&saturated(1, 544, 0, 0)).stations.generator.is_none());
}

/// A fault of the cable at `delay_ps` from the only point.
fn cable_fault(from_ps: u64, to_ps: u64, delay_ps: u64) -> CableFault {
    CableFault { from_ps, to_ps, delay_ps: vec![delay_ps] }
}

fn run_by_reference(trial: &Trial) -> (Counts, Vec<Attempt>) {
    let plan = Plan::new(trial, None).expect("a valid trial");
    let run = plan.run_reference(&Watch::default(), true).expect("it is not stopped");
    (run.counts, run.attempts)
}

#[test]
fn an_attempt_on_an_open_cable_collides_with_what_comes_back_of_it() {
    // From a start to the end of the jam: what comes back in the preamble lets that end (6.4 us).
    for (delay, busy) in [(2 * US, 9_600_000), (10 * US, 23_200_000)] {
        let mut trial = saturated(1, 544, 0, 0);
        discard(&mut trial);
        trial.scenario.media[0].cable_fault = Some(cable_fault(0, 20 * S, delay));
        let (counts, attempts) = run_by_reference(&trial);
        assert!(attempts.iter().all(|attempt| (attempt.end - attempt.start).ps() == busy));
        assert_eq!(total(&counts.stations.frames), 0);
        let (collided, discarded) =
            (total(&counts.stations.collisions), total(&counts.stations.discarded));
        assert!(discarded > 10 && collided.abs_diff(16 * discarded) < 16, "{collided} {discarded}");
    }
}

#[test]
fn a_frame_that_is_on_the_cable_when_it_opens_collides_too() {
    let mut trial = saturated(1, 544, 0, 0);
    trial.scenario.media[0].cable_fault = Some(cable_fault(10 * US, 30 * US, 2 * US));
    let (_, attempts) = run_by_reference(&trial);
    // Sent from 0; what left from 10 on is back from 14 on, and the jam takes 3.2.
    let first = attempts[0];
    assert_eq!((first.start.ps(), first.end.ps()), (0, 17_200_000));
    assert_eq!(first.ending, Ending::Collided);
    // A backoff of none or one slot: in the first case the cable is still open.
    let delivered = attempts.iter().find(|attempt| attempt.ending == Ending::Delivered);
    assert!(delivered.expect("it is repaired").start.ps() >= 26_800_000);
}

#[test]
fn a_cable_that_opens_after_the_end_changes_nothing() {
    let whole = saturated(4, 544, 5 * US, 20 * US);
    let mut later = whole.clone();
    later.scenario.media[0].cable_fault = Some(cable_fault(13 * S, 14 * S, 5 * US));
    assert_eq!(run_by_reference(&whole).0, run_by_reference(&later).0);
    let plan = Plan::new(&later, None).expect("a valid trial");
    let fast = plan.try_run(&Watch::default(), false).expect("it is not stopped");
    assert!(fast.is_none(), "no fast program has an open cable");
    later.scenario.media[0].cable_fault = Some(cable_fault(S, 3 * S, 5 * US));
    let (repaired, _) = run_by_reference(&later);
    // Of the ten measured seconds two are lost, and the rest of a backoff of at most 1023 slots.
    let share = utilisation(&repaired) / utilisation(&run_by_reference(&whole).0);
    assert!((0.78..0.81).contains(&share), "{share}");
}

#[test]
fn a_segment_beyond_the_round_trip_says_so() {
    let outcome = run(&saturated(5, 544, 40 * US, 0));
    assert!(outcome.cautions.contains(&"beyond-round-trip".into()));
    assert!(total(&outcome.stations.late_collisions) > 0);
    assert!(outcome.cautions.contains(&"late-collision".into()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn efficiency_never_passes_one(
        stations in 1usize..30, bits in 512u64..13_000, delay in 0u64..23, service in 0u64..100, seed: u64,
        window_us in 1000u64..300_000, from_us in 0u64..10_000,
    ) {
        let mut trial = Trial { seed, ..saturated(stations, bits, delay * US, service * US) };
        trial.scenario.phases.measure_from_ps = from_us * US;
        trial.scenario.phases.measure_to_ps = (from_us + window_us) * US;
        trial.scenario.phases.stop_ps = S;
        trial.scenario.phases.end_ps = S;
        let outcome = run(&trial);
        prop_assert!(total(&outcome.stations.charged_ps) <= outcome.window_ps);
        prop_assert!(outcome.media[0].time_ps[0] + outcome.media[0].time_ps[1] <= outcome.window_ps);
        prop_assert_eq!(outcome.media[0].time_ps.iter().sum::<u64>(), outcome.window_ps);
        prop_assert!(outcome.stations.waiting_ps.iter().all(|&ps| ps <= outcome.window_ps));
    }

    #[test]
    fn any_text_is_a_trial_or_an_error(text in ".{0,400}") {
        prop_assert!(Trial::from_json(&text).is_err());
    }

    #[test]
    fn a_damaged_trial_is_an_error_or_runs(at in 0usize..2000, byte in 0u8..128, seed: u64) {
        let mut trial = Trial { seed, ..saturated(3, 544, US, US) };
        trial.scenario.phases = ethermeter_trial::Phases {
            begin_ps: 0, stop_ps: MS, measure_from_ps: 0, measure_to_ps: MS, end_ps: MS, spread_ps: 0,
        };
        let mut text = trial.to_json().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(text) = String::from_utf8(text)
            && let Ok(trial) = Trial::from_json(&text) {
                // A digit may have become another: then it is still a trial, or refused by name.
                // Only short ones are run.
                if trial.scenario.phases.end_ps <= 10 * MS {
                    let _ = simulate(&trial);
                }
            }
    }
}
