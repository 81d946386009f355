//! Voice stations where the study's formulas, a hand calculation or a law says what they must do.
#![allow(clippy::cast_precision_loss)]

use ethermeter_simulator::time::Span;
use crate::common::{
    add_group, constants, groups, mean_s, saturated, set_groups, simulate, Group, MS, S, US,
};
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use crate::common::traces;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::coder::Spurts;
use ethermeter_trial::counts::StationVoice;
use ethermeter_trial::flows::Flow;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff, Stations};
use ethermeter_trial::{Counts, Trial};
use proptest::prelude::*;

const BIT_3: u64 = 340_000; // 2.94 Mb/s
const UNIT: u64 = 38_080_000; // the coders of 1982 make 16 bits every n units

fn coder(units: u64) -> Arrivals {
    Arrivals::Coder { sample_bits: 16, sample_ps: units * UNIT, spurts: None }
}

fn samples(overhead_bits: u64, min_octets: u64, max_octets: u64) -> Lengths {
    Lengths::Samples { overhead_bits, min_bits: 8 * min_octets, max_bits: 8 * max_octets, buffers: None, discard_after_ps: None }
}

/// `stations` voice stations on 550 m of the experimental Ethernet, for 12 s.
fn voice(stations: usize, arrivals: Arrivals, frames: Lengths) -> Trial {
    let mut trial = saturated(stations, 544, 2_750_000, 0);
    trial.scenario.media[0].bit_ps = BIT_3;
    let constants = constants(&mut trial);
    (constants.slot_bits, constants.gap_bits, constants.gap_part1_bits) = (112, 1, 0);
    (constants.preamble_bits, constants.jam_bits) = (1, 8);
    let flow = &mut trial.scenario.flows[0];
    (flow.arrivals, flow.frames) = (arrivals, frames);
    trial.scenario.phases.spread_ps = 100 * MS;
    trial
}

fn run(trial: &Trial) -> (Counts, StationVoice) {
    let outcome = simulate(trial).expect("a valid trial");
    let voice = outcome.stations.voice.clone().expect("voice");
    (outcome, voice)
}

#[test]
fn one_coder_alone_sends_the_shortest_packets_and_its_delay_is_dmin() {
    // Gonsalves 1982, section 3.3: P' = Pmin / (1 - R/C), Dmin = 8 P'/R, with all of the packet
    // samples; of a header, Dmin has none.
    for (units, octets, overhead_bits) in
        [(4, 64, 0), (4, 128, 0), (4, 512, 0), (6, 64, 0), (4, 64, 48), (4, 128, 48)]
    {
        let (outcome, voice) = run(&voice(1, coder(units), samples(overhead_bits, octets, 1024)));
        let sample_s = units as f64 * 38.08e-6;
        let rate = 16.0 / sample_s;
        let shortest_bits = 8.0 * octets as f64 / (1.0 - rate * 0.34e-6);
        let dmin_s = (shortest_bits - overhead_bits as f64) / rate;
        // A packet is whole samples, so it is less than one shorter. In the formula a sample takes
        // its time, here it is there at once, so that the first costs nothing: a sample less, and
        // the 16 bits that the packet may be shorter on the medium, with 1 of preamble.
        let bits = outcome.stations.bits[0] as f64 / outcome.stations.frames[0] as f64;
        assert!((bits - shortest_bits).abs() < 16.0, "{bits} {shortest_bits}");
        let voice_delay_s = mean_s(voice.voice_delay_ps[0], voice.voice_frames[0]);
        assert!((voice_delay_s - dmin_s).abs() <= sample_s + 17.0 * 0.34e-6, "{units} {octets}");
        // All packets are alike, so samples wait as packets do.
        let sample_delay_s = mean_s(voice.sample_delay_ps[0], voice.samples_sent[0]);
        assert!((sample_delay_s / voice_delay_s - 1.0).abs() < 0.01);
        assert_eq!((outcome.stations.collisions[0], voice.samples_lost[0]), (0, 0));
        // 10 s of samples, to one.
        assert!((voice.samples[0] as f64 - 10.0 / sample_s).abs() <= 1.0);
    }
}

/// Whether a transmission of one comes close to one of the other: within the propagation and the
/// gap after it.
fn meet(first: &[Attempt], second: &[Attempt]) -> bool {
    let margin = Span::from_ps(2_750_000 + BIT_3);
    first
        .iter()
        .any(|a| second.iter().any(|b| a.start <= b.end + margin && b.start <= a.end + margin))
}

#[test]
fn two_coders_whose_packets_never_meet_do_as_each_alone() {
    let mut apart = 0;
    for seed in 0..12 {
        let mut trial = Trial { seed, ..voice(2, coder(4), samples(48, 64, 1024)) };
        let talks = groups(&trial)[0].with(|stations, _| stations.points = vec![0]);
        // Draws belong to a station's number, so the one that is left out is replaced by one that
        // never has a frame.
        let (arrivals, frames) = (
            Arrivals::Regular { period_ps: 1000 * S, phase_ps: None, jitter_ps: None },
            Lengths::Fixed { bits: 544 },
        );
        let mute = talks.sending(arrivals, frames);
        trial.scenario.phases.end_ps = S;
        trial.scenario.phases.stop_ps = S;
        trial.scenario.phases.measure_from_ps = 0;
        trial.scenario.phases.measure_to_ps = S;
        let mut attempts = |first: &Group, second: &Group| {
            set_groups(&mut trial, &[first.clone(), second.clone()]);
            let [(outcome, trace), _] = traces(&trial).expect("a valid trial");
            (outcome, trace)
        };
        let (_, first) = attempts(&talks, &mute);
        let (_, second) = attempts(&mute, &talks);
        let (outcome, both) = attempts(&talks, &talks);
        if meet(&first, &second) {
            continue;
        }
        apart += 1;
        assert_eq!(outcome.stations.collisions, [0, 0]);
        for (station, alone) in [(0, first), (1, second)] {
            let of_it: Vec<Attempt> =
                both.iter().copied().filter(|a| a.station.number() == station).collect();
            assert_eq!(of_it, alone);
        }
    }
    // Alone, each sends 0.17 ms of 4.7: they stay apart with a probability of about 0.93, and the
    // seeds are fixed.
    assert!(apart >= 6, "{apart}");
}

#[test]
fn beyond_what_the_segment_carries_delays_stay_below_dmax_and_what_is_not_carried_is_lost() {
    let (outcome, voice) = run(&voice(40, coder(4), samples(48, 64, 1024)));
    // 509 samples of 152.32 us: nothing older is ever sent.
    let dmax_ps = 509 * 4 * UNIT;
    let longest = voice.voice_delay.last().expect("frames");
    assert!(longest.0 <= dmax_ps, "{longest:?}");
    let bits: u64 = outcome.stations.bits.iter().sum::<u64>()
        - 48 * outcome.stations.frames.iter().sum::<u64>();
    let total = |counts: &[u64]| counts.iter().sum::<u64>();
    // What frames carried is what was delivered, but for the frames that cross the edges of the
    // window, one a station and edge.
    assert!((bits / 16).abs_diff(total(&voice.samples_delivered)) <= 40 * 509);
    assert_eq!(
        total(&voice.samples),
        total(&voice.samples_delivered)
            + total(&voice.samples_lost)
            + total(&voice.samples_buffered)
    );
    // 40 coders offer 1.43 times what the medium carries, so a third is lost at least, but for what
    // the buffers take up once.
    let lost = total(&voice.samples_lost) as f64 / total(&voice.samples) as f64;
    let least =
        1.0 - 2_941_176.5 / (40.0 * 16.0 / 152.32e-6) - 40.0 * 509.0 / total(&voice.samples) as f64;
    assert!(lost >= least, "{lost} {least}");
}

#[test]
fn the_overloaded_experimental_ethernet_carries_what_was_published() {
    // Gonsalves 1982, section 4.1: 32 coders of 105 kb/s, frames from 64 to 1024 bytes, 60 s: 95%
    // of the capacity, header and checksum not counted. Nothing is fitted: no turnaround time, no
    // gap but the one bit without which the medium is not defined. (The delay, 78 ms, is missed by
    // far, and so is its evenness; with frames from 512 bytes on, it carries 97%. See the example
    // `voice`.)
    let mut trial = voice(32, coder(4), samples(48, 64, 1024));
    trial.scenario.media[0].stations[0].backoff =
        Backoff::LoadRegister { bits: 8, clock_ps: UNIT, ticks: true };
    // Along the cable, at eight positions.
    let delay = |p: u64, q: u64| 2_750_000 / 7 * p.abs_diff(q);
    trial.scenario.media[0].delay_ps =
        (0..8).map(|p| (0..8).map(|q| delay(p, q)).collect()).collect();
    trial.scenario.media[0].stations[0].points = (0..32).map(|station| station % 8).collect();
    trial.scenario.phases.measure_to_ps = 61 * S;
    (trial.scenario.phases.stop_ps, trial.scenario.phases.end_ps) = (61 * S, 61 * S);
    let (outcome, _) = run(&trial);
    let bits: u64 = outcome.stations.bits.iter().sum::<u64>()
        - 48 * outcome.stations.frames.iter().sum::<u64>();
    let throughput = bits as f64 * BIT_3 as f64 / outcome.window_ps as f64;
    assert!((0.945..0.955).contains(&throughput), "{throughput}");
}

#[test]
fn a_frame_grows_while_it_waits_and_nothing_else_does() {
    // A jabbering data station holds the medium for 20 ms at a time; 10 Mb/s, 64 kb/s coders.
    let mut trial = saturated(1, 200_000, US, 5 * MS);
    let frames =
        Lengths::Samples { overhead_bits: 144, min_bits: 144 + 20 * 16, max_bits: 144 + 2000 * 16, buffers: None, discard_after_ps: None };
    let arrivals = Arrivals::Coder { sample_bits: 16, sample_ps: 250 * US, spurts: None };
    let talks = groups(&trial)[0].sending(arrivals, frames).with(|stations, flow| {
        (stations.points, flow.service) = (vec![0; 3], Times::Constant { ps: 0 });
    });
    add_group(&mut trial, talks);
    let [(outcome, trace), _] = traces(&trial).expect("a valid trial");
    for attempt in trace.iter().filter(|a| a.ending == Ending::Delivered) {
        if attempt.station.number() == 0 {
            assert_eq!((attempt.length.0, attempt.samples), (200_000, 0));
            continue;
        }
        // From the oldest sample to the end, a sample every 250 us.
        let made = (attempt.end - attempt.arrived).ps().div_ceil(250 * US);
        assert_eq!((attempt.length.0, u64::from(attempt.samples)), (144 + made * 16, made));
    }
    let voice = outcome.stations.voice.expect("voice");
    assert_eq!(voice.samples[0], 0);
    assert_eq!(voice.voice_frames[0], 0);
    assert!(voice.samples_lost.iter().all(|&lost| lost == 0));
    assert!(
        outcome.stations.bits[1] > outcome.stations.frames[1] * (144 + 20 * 16 + 64),
        "they grew by samples"
    );
}

/// Packets of one length in buffers.
fn fixed(octets: u64, buffers: u32, discard_after_ps: Option<u64>) -> Lengths {
    let bits = 8 * octets;
    Lengths::Samples {
        overhead_bits: 0,
        min_bits: bits,
        max_bits: bits,
        buffers: Some(buffers),
        discard_after_ps,
    }
}

#[test]
fn alone_a_coder_with_two_buffers_loses_nothing_and_its_delay_is_packet_time_and_transmission() {
    for (units, octets) in [(4, 64), (4, 512), (6, 32)] {
        let (outcome, voice) = run(&voice(1, coder(units), fixed(octets, 2, None)));
        // From the first of the packet's samples to the last, then a bit of preamble and the packet.
        let gathering_ps = (octets / 2 - 1) * units * UNIT;
        let delay_ps = gathering_ps + (1 + 8 * octets) * BIT_3;
        let frames = u128::from(voice.voice_frames[0]);
        assert_eq!(voice.voice_delay_ps[0], frames * u128::from(delay_ps));
        assert_eq!(outcome.stations.bits[0], outcome.stations.frames[0] * 8 * octets);
        assert_eq!((outcome.stations.collisions[0], voice.samples_lost[0]), (0, 0));
        assert!(voice.samples_buffered[0] < octets);
        let load = ((1 + 8 * octets) * BIT_3 + BIT_3) as f64 / (octets / 2 * units * UNIT) as f64;
        assert!((outcome.stations.offered_load[0] / load - 1.0).abs() < 0.01);
    }
}

#[test]
fn a_packet_that_waited_longer_than_the_deadline_is_not_sent() {
    let deadline_ps = 15 * MS;
    let sent_ps = (1 + 512) * BIT_3;
    for deadline in [None, Some(deadline_ps)] {
        let (_, voice) = run(&voice(34, coder(4), fixed(64, 8, deadline)));
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        let lost = sum(&voice.samples_lost);
        assert_eq!(
            sum(&voice.samples),
            sum(&voice.samples_delivered) + lost + sum(&voice.samples_buffered)
        );
        // 34 coders offer 1.2 times what the medium carries.
        assert!(lost * 10 > sum(&voice.samples));
        let longest = voice.voice_delay.last().expect("frames").0;
        assert_eq!(longest <= deadline_ps + sent_ps, deadline.is_some(), "{longest}");
    }
}

#[test]
fn silence_is_not_sent() {
    let spurts = Spurts { talk_mean_ps: 1.2e12, silence_mean_ps: 1.8e12 };
    let arrivals = Arrivals::Coder { sample_bits: 16, sample_ps: 250 * US, spurts: Some(spurts) };
    let frames = Lengths::Samples { overhead_bits: 48, min_bits: 512, max_bits: 8192, buffers: None, discard_after_ps: None };
    let (outcome, voice) = run(&voice(20, arrivals, frames));
    let made: u64 = voice.samples.iter().sum();
    // Twenty coders for 10 s: time of talk has variance 200 s · 2 (A B)² / (A + B)³ = 69 s², a
    // spread of 8.3 s, of 80 s; four of them.
    assert!((made as f64 * 250e-6 - 80.0).abs() < 4.0 * 8.3, "{made}");
    assert_eq!(voice.samples_lost.iter().sum::<u64>(), 0);
    // Nothing waits for the next spurt, more than a second later.
    assert!(voice.voice_delay.last().expect("frames").1 < 100 * MS);
    assert!(outcome.stations.offered_load.iter().all(|&g| g < 0.02));
}

#[test]
fn a_coder_is_refused_with_what_does_not_go_with_it() {
    let sound = voice(1, coder(4), samples(48, 64, 1024));
    assert!(simulate(&sound).is_ok());
    let fault = |trial: Trial, path: &str| {
        let error = simulate(&trial).expect_err(path).to_string();
        assert!(error.starts_with(path), "{error}");
    };
    let refused = |change: &dyn Fn(&mut Flow), key: &str| {
        let mut trial = sound.clone();
        change(&mut trial.scenario.flows[0]);
        fault(trial, &format!("flows[0].{key}"));
    };
    let refused_station = |change: &dyn Fn(&mut Stations), key: &str| {
        let mut trial = sound.clone();
        change(&mut trial.scenario.media[0].stations[0]);
        fault(trial, &format!("media[0].stations[0].{key}"));
    };
    refused(&|g| g.frames = Lengths::Fixed { bits: 544 }, "frames");
    refused(&|g| g.arrivals = Arrivals::Saturated {}, "arrivals");
    refused(&|g| g.frames = samples(48, 64, 63), "frames");
    refused(&|g| g.frames = samples(9000, 64, 1024), "frames");
    refused(
        &|g| g.frames = Lengths::Samples { overhead_bits: 48, min_bits: 57, max_bits: 63, buffers: None, discard_after_ps: None },
        "frames",
    );
    refused(
        &|g| g.arrivals = Arrivals::Coder { sample_bits: 16, sample_ps: 16 * BIT_3, spurts: None },
        "arrivals.sample_ps",
    );
    refused(
        &|g| g.arrivals = Arrivals::Coder { sample_bits: 0, sample_ps: US, spurts: None },
        "arrivals",
    );
    refused(&|g| g.frames = fixed(64, 1, None), "frames");
    refused(&|g| g.frames = fixed(64, 2, Some(US)), "frames");
    let short = Some(Spurts { talk_mean_ps: 1.0, silence_mean_ps: 1e12 });
    refused(
        &|g| g.arrivals = Arrivals::Coder { sample_bits: 16, sample_ps: UNIT, spurts: short },
        "arrivals",
    );
    refused(&|g| g.queue_frames = Some(3), "queue_frames");
    refused_station(&|s| s.after_attempt_limit = AfterAttemptLimit::Discard, "after_attempt_limit");
    refused_station(
        &|s| s.after_late_collision = AfterLateCollision::Discard,
        "after_late_collision",
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_sample_is_delivered_lost_or_buffered(
        // One octet more than the shortest packet, that the whole samples of it fit.
        stations in 1usize..40, units in 1u64..12, min in 8u64..200, more in 1u64..900, seed: u64, from_ms in 0u64..500, ms in 1u64..700,
        bit_ps in prop_oneof![Just(BIT_3), Just(100_000u64), Just(10_000)],
    ) {
        let mut trial = Trial { seed, ..voice(stations, coder(units), samples(48, min, min + more)) };
        trial.scenario.media[0].bit_ps = bit_ps;
        let phases = &mut trial.scenario.phases;
        (phases.measure_from_ps, phases.measure_to_ps) = (from_ms * MS, (from_ms + ms) * MS);
        (phases.stop_ps, phases.end_ps) = (S, 2 * S);
        let (outcome, voice) = run(&trial);
        for station in 0..stations {
            let counted = voice.samples_delivered[station] + voice.samples_lost[station] + voice.samples_buffered[station];
            prop_assert_eq!(voice.samples[station], counted);
            prop_assert!(voice.samples_buffered[station] <= min + more);
        }
        prop_assert_eq!(outcome.media[0].time_ps.iter().sum::<u64>(), outcome.window_ps);
        let frames: u64 = outcome.stations.frames.iter().sum();
        prop_assert_eq!(voice.voice_delay.iter().map(|b| b.2).sum::<u64>(), frames);
    }
}
