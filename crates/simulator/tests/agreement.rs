//! The fast and the reference implementation, on the same draws, give the same attempts and the
//! same figures.
//!
//! Times are drawn on coarse grids on purpose, so that simultaneous events are common, and segments
//! go far beyond what a standard allows, so that contentions overlap.

use ethermeter_simulator::time::{Instant, Span};
use crate::common::{constants, replayed, segment, Group, IEEE_10};
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use crate::common::traces;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::generator::Generator;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::coder::Spurts;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff, CsmaCd, Mac};
use ethermeter_trial::{Counts, Phases, Trial};
use proptest::prelude::*;
use std::ops::Range;

const BIT: u64 = 10;

fn metric(kind: u8, positions: &[u64], grid: u64) -> Vec<Vec<u64>> {
    let n = positions.len();
    let mut delays = vec![vec![0; n]; n];
    for (p, row) in delays.iter_mut().enumerate() {
        for (q, delay) in row.iter_mut().enumerate() {
            *delay = grid
                * match kind {
                    // on a cable, with taps
                    0 => positions[p].abs_diff(positions[q]) + 2 * positions[0].min(2),
                    // a star: all ways go through the hub
                    1 => positions[p] + positions[q],
                    // anything, made to obey the triangle inequality below
                    _ => {
                        (positions[p] * 7 + positions[q] * 7 + positions[p] * positions[q]) % 13
                            + u64::from(p != q)
                    }
                };
        }
    }
    for via in 0..n {
        for p in 0..n {
            for q in 0..n {
                if p != via && q != via {
                    delays[p][q] = delays[p][q].min(delays[p][via] + delays[via][q]);
                }
            }
        }
    }
    delays
}

/// Constants of a medium, and propagation between its attachment points.
fn medium() -> impl Strategy<Value = (CsmaCd, Vec<Vec<u64>>)> {
    (
        (1..=6usize).prop_flat_map(|n| prop::collection::vec(0u64..8, n)),
        0u8..3,
        prop_oneof![
            Just(0u64),
            Just(1),
            Just(5),
            Just(10),
            Just(50),
            Just(120),
            Just(640),
            0u64..3000
        ],
        prop_oneof![Just(512u64), 8u64..200],
        prop_oneof![Just(96u64), 1u64..150],
        0u64..=4,
        prop_oneof![Just(64u64), 0u64..100],
        prop_oneof![Just(32u64), 1u64..60],
        prop_oneof![3 => Just(0u64), 1 => Just(50), 1 => 1u64..4000],
    )
        .prop_map(
            |(
                positions,
                kind,
                grid,
                slot_bits,
                gap_bits,
                split,
                preamble_bits,
                jam_bits,
                turnaround_ps,
            )| {
                // Only stations with a turnaround time can do without a gap.
                let gap_bits = if turnaround_ps > 0 && split == 0 { 0 } else { gap_bits };
                let constants = CsmaCd {
                    slot_bits,
                    gap_bits,
                    gap_part1_bits: gap_bits * split / 4,
                    preamble_bits,
                    jam_bits,
                    turnaround_ps,
                };
                (constants, metric(kind, &positions, grid))
            },
        )
}

fn times() -> impl Strategy<Value = Times> {
    prop_oneof![
        Just(Times::Constant { ps: 0 }),
        (0u64..200).prop_map(|bits| Times::Constant { ps: bits * BIT }),
        (0u64..2000).prop_map(|low_ps| Times::Uniform { low_ps, high_ps: low_ps + 900 }),
        (0u64..500).prop_map(|offset_ps| Times::Exponential { offset_ps, mean_ps: 700.0 }),
        Just(Times::Measured { values_ps: vec![0, 640, 9600], weights: vec![1.0, 2.0, 0.5] }),
    ]
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        4 => Just(Arrivals::Saturated {}),
        1 => (1u64..3000).prop_map(|bits| Arrivals::Regular { period_ps: bits * BIT, phase_ps: None, jitter_ps: None }),
        // Stations of one phase meet at every period, and a source may be in phase with what takes
        // up its frames.
        1 => (1u64..3000, prop_oneof![Just(0), 0u64..3000])
            .prop_map(|(bits, phase)| Arrivals::Regular { period_ps: bits * BIT, phase_ps: Some(phase % bits * BIT), jitter_ps: None }),
        1 => (10.0..60_000.0).prop_map(|mean_ps| Arrivals::Poisson { mean_ps }),
        1 => (1u64..500).prop_map(|bits| Arrivals::OnOff { period_ps: bits * BIT, on_mean_ps: 9000.0, off_mean_ps: 20_000.0 }),
    ]
}

fn backoff() -> impl Strategy<Value = Backoff> {
    prop_oneof![
        5 => Just(Backoff::Exponential { limit: 10 }),
        1 => (0u32..6).prop_map(|limit| Backoff::Exponential { limit }),
        1 => (0u32..20).prop_map(|limit| Backoff::Linear { limit }),
        1 => (1u32..9).prop_map(|slots| Backoff::Constant { slots }),
        1 => Just(Backoff::None {}),
        2 => (1u32..9, 1u64..3000, any::<bool>())
            .prop_map(|(bits, clock_ps, ticks)| Backoff::LoadRegister { bits, clock_ps, ticks }),
    ]
}

/// A coder and its frames: now and then nearly as fast as the segment, or with room for no more
/// than makes a frame.
fn voice() -> impl Strategy<Value = (Lengths, Arrivals)> {
    let spurts = prop::option::of((30_000.0..200_000.0, 30_000.0..200_000.0)).prop_map(|means| {
        means.map(|(talk_mean_ps, silence_mean_ps)| Spurts { talk_mean_ps, silence_mean_ps })
    });
    (1u64..40, prop_oneof![3 => 1u64..60, 1 => Just(0)], 0u64..100, 1u64..30, 0u64..60, spurts)
        .prop_map(|(sample_bits, slower, overhead_bits, least, more, spurts)| {
            let min_bits = overhead_bits + least * sample_bits;
            let max_bits = min_bits + more * sample_bits + more % 3;
            let sample_ps = sample_bits * BIT * (1 + slower) + 2 + slower;
            (
                Lengths::Samples { overhead_bits, min_bits, max_bits, buffers: None, discard_after_ps: None },
                Arrivals::Coder { sample_bits, sample_ps, spurts },
            )
        })
}

/// A trace on a coarse grid of times, of messages with lengths or without.
fn traced() -> impl Strategy<Value = (Lengths, Arrivals)> {
    let messages = prop::collection::vec((prop_oneof![Just(0u64), 0u64..900], 0u16..3), 1..40);
    let speed = prop_oneof![2 => Just(1.0), 1 => Just(2.0), 1 => 0.3..3.0];
    (messages, any::<[bool; 3]>(), 0u64..2000, speed).prop_map(
        |(messages, [has_lengths, is_repeated, is_drawn], offset, speed)| {
            let add = |sum: &mut u64, gap: u64| {
                *sum += gap * BIT;
                Some(*sum)
            };
            let gaps = messages.iter().map(|(gap, _)| *gap).chain([1]);
            let times: Vec<u64> = gaps.scan(0, add).collect();
            let mut kinds: Vec<u16> = messages.iter().map(|(_, kind)| *kind).chain([0]).collect();
            kinds.truncate(if has_lengths { times.len() } else { 0 });
            let span = times[times.len() - 1] - times[0];
            if span == 0 {
                let frames = Lengths::Fixed { bits: 544 };
                return (frames, Arrivals::Saturated {});
            }
            let repeat = is_repeated.then_some(span + offset % 7 * BIT);
            let how = (repeat, (!is_drawn).then_some(offset * BIT), speed);
            let frames = Lengths::Mix { bits: vec![30, 544, 12_320], weights: vec![7.0, 1.0, 0.3] };
            (frames, replayed(&times, (&kinds, 3), how))
        },
    )
}

fn frames_and_arrivals() -> impl Strategy<Value = (Lengths, Arrivals)> {
    let lengths = prop_oneof![
        Just(Lengths::Fixed { bits: 544 }),
        (1u64..3000).prop_map(|bits| Lengths::Fixed { bits }),
        Just(Lengths::Mix { bits: vec![544, 12_320, 30], weights: vec![7.0, 1.0, 0.3] }),
    ];
    prop_oneof![6 => (lengths, arrivals()), 2 => voice(), 1 => traced()]
}

/// Often none, so that classes meet at one position; else slots, as one would choose, or anything.
fn priority_wait(slot_ps: u64) -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 2 => (1u64..4).prop_map(move |slots| slots * slot_ps), 1 => 1u64..3000, 1 => 1u64..30_000]
}

fn group(positions: usize, slot_ps: u64, members: Range<usize>) -> impl Strategy<Value = Group> {
    let limit = prop_oneof![Just(16u32), 1u32..6];
    (
        priority_wait(slot_ps),
        prop::collection::vec(0..u32::try_from(positions).expect("few"), members),
        frames_and_arrivals(),
        times(),
        backoff(),
        limit,
        any::<[bool; 3]>(),
        prop::option::of(1u32..5),
    )
        .prop_map(
            |(
                priority_wait_ps,
                positions,
                (frames, arrivals),
                service,
                backoff,
                attempt_limit,
                choices,
                room,
            )| {
                let [resume, give_up, generated] = choices;
                let saturated = arrivals == Arrivals::Saturated {};
                let is_voice = matches!(arrivals, Arrivals::Coder { .. });
                let (resume, give_up) = (resume || is_voice, give_up && !is_voice);
                let time = Times::Uniform { low_ps: 0, high_ps: 3000 };
                Group::saturated(positions, 1).with(|stations, flow| {
                    flow.frames = frames;
                    flow.generator = (saturated && generated)
                        .then_some(Generator { buffers: room.unwrap_or(15), time });
                    flow.queue_frames = room.filter(|_| !saturated && !is_voice);
                    flow.arrivals = arrivals;
                    flow.service = service;
                    stations.clock_error_ppb = if generated { 0 } else { 700_000 };
                    stations.priority_wait_ps = priority_wait_ps;
                    stations.backoff = backoff;
                    stations.attempt_limit = attempt_limit;
                    if !resume {
                        stations.after_attempt_limit = AfterAttemptLimit::Discard;
                    }
                    if give_up {
                        stations.after_late_collision = AfterLateCollision::Discard;
                    }
                })
            },
        )
}

/// Trials in which each of up to three groups has so many stations.
fn trial(members: Range<usize>) -> impl Strategy<Value = Trial> {
    medium()
        .prop_flat_map(move |(constants, delays)| {
            let group = group(delays.len(), constants.slot_bits * BIT, members.clone());
            let groups = prop::collection::vec(group, 1..4);
            (Just((constants, delays)), groups, any::<u64>(), 0u64..2000)
        })
        .prop_map(|((constants, delays), groups, seed, spread_ps)| {
            let mut trial = segment(BIT, Mac::CsmaCd(constants), delays, &groups, 750_000);
            trial.seed = seed;
            trial.scenario.batches = 7;
            trial.scenario.phases = Phases {
                begin_ps: 1000,
                stop_ps: 700_000,
                measure_from_ps: 100_003,
                measure_to_ps: 601_000,
                end_ps: 750_000,
                spread_ps,
            };
            trial
        })
}

/// Count again from the attempts, plainly.
fn recount(trial: &Trial, outcome: &Counts, trace: &[Attempt]) -> Result<(), TestCaseError> {
    let phases = trial.scenario.phases;
    let constants = *constants(&mut trial.clone());
    let at = Instant::from_ps;
    let (from, to) = (at(phases.measure_from_ps), at(phases.measure_to_ps));
    let [gap, preamble] =
        [constants.gap_bits, constants.preamble_bits].map(|bits| Span::from_ps(bits * BIT));
    let within = |start: Instant, end: Instant| (end.min(to) - start.max(from)).max(Span::ZERO);
    for station in 0..outcome.stations.frames.len() {
        let own = || trace.iter().filter(|a| a.station.index() == station);
        let counted = || own().filter(|a| (from..to).contains(&a.end));
        let delivered = |a: &&Attempt| a.ending == Ending::Delivered;
        prop_assert_eq!(
            outcome.stations.frames[station],
            counted().filter(delivered).count() as u64
        );
        prop_assert_eq!(
            outcome.stations.frames[station] + outcome.stations.collisions[station],
            counted().count() as u64
        );
        let charged: Span = own().filter(delivered).map(|a| within(a.start, a.end + gap)).sum();
        prop_assert_eq!(outcome.stations.charged_ps[station], charged.ps());
        let ended = own().filter(|a| matches!(a.ending, Ending::Delivered | Ending::Discarded));
        let waited: Span = ended.map(|a| within(a.taken_up, a.end)).sum();
        // What is still held at the end comes on top: at most one frame's share of the window.
        let rest = (Span::from_ps(outcome.stations.waiting_ps[station]) - waited).to_f64()
            / (to - from).to_f64();
        prop_assert!((-1e-12..=1.0 + 1e-12).contains(&rest), "{rest}");
        if let Some(last) = own().next_back().filter(|a| a.end >= to)
            && last.taken_up < to && matches!(last.ending, Ending::Delivered | Ending::Discarded) {
                prop_assert!(rest.abs() < 1e-12, "nothing was held that is not counted: {rest}");
            }
    }
    if let Some(voice) = &outcome.stations.voice {
        for station in 0..outcome.stations.frames.len() {
            let counted = voice.samples_delivered[station]
                + voice.samples_lost[station]
                + voice.samples_buffered[station];
            prop_assert_eq!(voice.samples[station], counted);
        }
        let ended = || {
            trace.iter().filter(|a| a.ending == Ending::Delivered && (from..to).contains(&a.end))
        };
        let total = |buckets: &[(u64, u64, u64)]| buckets.iter().map(|b| b.2).sum::<u64>();
        prop_assert_eq!(
            total(&voice.voice_delay),
            ended().filter(|a| a.samples > 0).count() as u64
        );
        prop_assert_eq!(
            total(&voice.sample_delay),
            ended().map(|a| u64::from(a.samples)).sum::<u64>()
        );
    }
    let (mut busy_until, mut time) = (Instant::ZERO, [Span::ZERO; 4]);
    for attempt in trace {
        if attempt.start > busy_until && busy_until > Instant::ZERO {
            time[2] += within(busy_until, attempt.start.min(busy_until + gap));
        }
        let begin = attempt.start.max(busy_until);
        if attempt.end > begin {
            if attempt.ending == Ending::Delivered {
                let frame = (attempt.start + preamble).clamp(begin, attempt.end);
                time[1] += within(begin, frame);
                time[0] += within(frame, attempt.end);
            } else {
                time[3] += within(begin, attempt.end);
            }
            busy_until = attempt.end;
        }
    }
    time[2] += if busy_until > Instant::ZERO { within(busy_until, busy_until + gap) } else { Span::ZERO };
    prop_assert_eq!(&outcome.media[0].time_ps[..4], &time.map(Span::ps)[..]);
    Ok(())
}

fn check_agreement(trial: &Trial) -> Result<(), TestCaseError> {
    let [(fast, fast_trace), (reference, reference_trace)] = traces(trial).expect("a valid trial");
    let first = fast_trace.iter().zip(&reference_trace).position(|(a, b)| a != b);
    prop_assert!(
        first.is_none() && fast_trace.len() == reference_trace.len(),
        "attempt {first:?} of {} / {}: fast {:?} reference {:?}",
        fast_trace.len(), reference_trace.len(),
        first.map(|i| &fast_trace[i.saturating_sub(3)..=i]), first.map(|i| &reference_trace[i.saturating_sub(3)..=i]),
    );
    // As text, so that "no samples" (NaN) equals itself.
    prop_assert_eq!(format!("{fast:?}"), format!("{reference:?}"));
    recount(trial, &fast, &fast_trace)?;
    prop_assert_eq!(fast.media[0].time_ps.iter().sum::<u64>(), fast.window_ps);
    prop_assert!(fast.media[0].time_ps[4] <= fast.window_ps, "idle time is not negative");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fast_and_reference_give_the_same_attempts(trial in trial(1..6)) {
        check_agreement(&trial)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, failure_persistence: None, ..ProptestConfig::default() })]

    /// So many stations have their starts in blocks, and collide in larger numbers.
    #[test]
    fn so_they_do_with_many_stations(trial in trial(25..50)) {
        check_agreement(&trial)?;
    }
}

/// Saturated stations at two ends, as far apart as the standard allows and farther: collisions of
/// one end overlap with those of the other.
fn two_ends() -> impl Strategy<Value = Trial> {
    let points = prop::collection::vec(0u32..2, 2..90);
    let delays = (0u64..400, 0u64..400, 400u64..3000);
    let bits = prop_oneof![Just(544u64), Just(12_320), 1u64..600];
    let limits = prop_oneof![Just(16u32), 1u32..6];
    (points, delays, bits, limits, 0u64..4000, prop_oneof![3 => Just(0u64), 1 => 1u64..300], any::<u64>())
        .prop_map(|(points, (one, other, between), bits, attempt_limit, high_ps, turnaround_ps, seed)| {
            let constants = CsmaCd { gap_part1_bits: seed % 97, turnaround_ps, ..IEEE_10 };
            let group = Group::saturated(points, bits).with(|stations, flow| {
                flow.service = Times::Uniform { low_ps: 0, high_ps };
                stations.attempt_limit = attempt_limit;
            });
            let delays = vec![vec![one, between], vec![between, other]];
            let trial = segment(BIT, Mac::CsmaCd(constants), delays, &[group], 1_000_000);
            Trial { seed, ..trial }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn so_they_do_at_two_ends(trial in two_ends()) {
        check_agreement(&trial)?;
    }
}

/// Signals travel for longer than anybody pauses, so the medium is never silent everywhere at once:
/// nothing could ever be forgotten if that had to wait until all is over. 60 000 attempts take a
/// second then, and weeks if all of them are kept.
fn run_contention_that_never_ends(priority_wait_ps: Option<u64>) {
    let group = |points, service_ps, attempt_limit| {
        Group::saturated(points, 1).with(|stations, flow| {
            flow.frames =
                Lengths::Mix { bits: vec![544, 12_320, 30], weights: vec![7.0, 1.0, 0.3] };
            flow.service = Times::Constant { ps: service_ps };
            stations.attempt_limit = attempt_limit;
            stations.after_attempt_limit = AfterAttemptLimit::Discard;
            stations.after_late_collision = AfterLateCollision::Discard;
        })
    };
    let mut groups = vec![group(vec![4, 3], 30, 1), group(vec![0, 4, 1, 2, 2], 0, 4)];
    groups.extend(priority_wait_ps.map(|wait| {
        group(vec![4, 0, 2, 2, 3], 0, 4).with(|stations, _| stations.priority_wait_ps = wait)
    }));
    let constants = CsmaCd {
        slot_bits: 22,
        gap_bits: 3,
        gap_part1_bits: 3,
        preamble_bits: 5,
        jam_bits: 29,
        turnaround_ps: 50,
    };
    let delays = metric(1, &[2, 3, 1, 5, 4], 1153);
    let mut trial = segment(BIT, Mac::CsmaCd(constants), delays, &groups, 7_500_000);
    (trial.seed, trial.scenario.batches) = (17, 7);
    trial.scenario.phases = Phases {
        begin_ps: 1000,
        stop_ps: 7_000_000,
        measure_from_ps: 100_003,
        measure_to_ps: 6_010_000,
        end_ps: 7_500_000,
        spread_ps: 879,
    };
    let [(fast, fast_trace), (reference, reference_trace)] = traces(&trial).expect("a valid trial");
    assert!(fast_trace.len() > 50_000, "{}", fast_trace.len());
    assert!(fast_trace == reference_trace);
    assert_eq!(format!("{fast:?}"), format!("{reference:?}"));
}

#[test]
fn contention_that_never_ends_is_exact_and_ends_in_time() {
    run_contention_that_never_ends(None);
}

/// Waits from one that others leave room for all the time to one that they hardly ever leave.
#[test]
fn so_is_one_in_which_some_wait_for_others() {
    for priority_wait_ps in [1, 200, 3000] {
        run_contention_that_never_ends(Some(priority_wait_ps));
    }
}

/// Stations at one position are as far apart as from others here, and frames shorter than that: one
/// may send while it hears a frame whose end all of them have heard before they hear the sender.
/// Such a frame is damaged, even if it is over before contentions are closed.
#[test]
fn a_frame_that_overlaps_at_a_sender_alone_is_damaged() {
    let frames = Group::saturated(vec![0; 3], 544).with(|stations, flow| {
        flow.arrivals = Arrivals::Poisson { mean_ps: 35_124.0 };
        flow.queue_frames = None;
        stations.priority_wait_ps = 5120;
    });
    let bits = Group::saturated(vec![0; 5], 1)
        .with(|_, flow| flow.service = Times::Exponential { offset_ps: 0, mean_ps: 700.0 });
    let constants = CsmaCd {
        slot_bits: 512,
        gap_bits: 0,
        gap_part1_bits: 0,
        preamble_bits: 3,
        jam_bits: 41,
        turnaround_ps: 50,
    };
    let mac = Mac::CsmaCd(constants);
    let mut trial = segment(BIT, mac, vec![vec![336]], &[frames, bits], 7_500_000);
    trial.seed = 17;
    let [(fast, fast_trace), (reference, reference_trace)] = traces(&trial).expect("a valid trial");
    assert_eq!(fast_trace, reference_trace);
    assert_eq!(format!("{fast:?}"), format!("{reference:?}"));
    assert!(fast_trace.iter().any(|attempt| attempt.damaged));
}
