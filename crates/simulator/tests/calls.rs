//! Stations that send in calls: by both implementations, and by laws.

use crate::common::{Group, IEEE_10, MS, S, segment, traces};
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use ethermeter_simulator::plan::Plan;
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_simulator::identity::StationId;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::admission::Calls;
use ethermeter_traffic::coder::Spurts;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_trial::medium::Mac;
use ethermeter_trial::{Counts, Trial};
use proptest::prelude::*;

const SAMPLE_PS: u64 = 250_000_000; // 16 bits at 64 kb/s

fn calls(every_ps: u64, mean_ps: f64, most: Option<u32>) -> Calls {
    let duration = Times::Exponential { offset_ps: 0, mean_ps };
    Calls { every_ps, duration, most, listen_ps: None }
}

fn voice(stations: usize, spurts: Option<Spurts>, calls: Calls) -> Group {
    let samples = Lengths::Samples {
        overhead_bits: 0,
        min_bits: 512,
        max_bits: 8192,
        buffers: None,
        discard_after_ps: None,
    };
    let coder = Arrivals::Coder { sample_bits: 16, sample_ps: SAMPLE_PS, spurts };
    Group::saturated((0..8).cycle().take(stations).collect(), 512)
        .sending(coder, samples)
        .with(|_, flow| {
            flow.service = Times::Uniform { low_ps: 0, high_ps: 40_000_000 };
            flow.calls = Some(calls);
        })
}

fn data(stations: usize, mean_ps: f64, calls: Calls) -> Group {
    Group::saturated((0..8).cycle().take(stations).collect(), 8000)
        .sending(Arrivals::Poisson { mean_ps }, Lengths::Fixed { bits: 8000 })
        .with(|_, flow| flow.calls = Some(calls))
}

/// A cable of 10 Mb/s that is 8 µs long, for 20 s of which the last 15 are measured.
fn trial(groups: &[Group], bit_ps: u64) -> Trial {
    let at = |p: u64, q: u64| p.abs_diff(q) * 1_000_000 + 500_000;
    let delays = (0..8).map(|p| (0..8).map(|q| at(p, q)).collect()).collect();
    let mut trial = segment(bit_ps, Mac::CsmaCd(IEEE_10), delays, groups, 20 * S);
    trial.scenario.phases.measure_from_ps = 5 * S;
    trial
}

fn both(trial: &Trial) -> (Counts, Vec<Attempt>) {
    let [fast, reference] = traces(trial).expect("a valid trial");
    assert_eq!(fast.1, reference.1);
    assert_eq!(fast.0, reference.0);
    fast
}

#[test]
fn stations_send_what_they_make_in_their_calls_and_nothing_else() {
    let groups =
        [voice(12, None, calls(300 * MS, 2e12, Some(9))), data(6, 5e10, calls(S, 2e12, Some(9)))];
    let trial = trial(&groups, 100_000);
    let (counts, attempts) = both(&trial);
    let segment = CompiledSegment::new(&trial).expect("a valid trial");
    let of = counts.stations.calls.as_ref().expect("calls");
    let voice = counts.stations.voice.as_ref().expect("voice");
    let mut sent = 0;
    for station in StationId::first(segment.stations()) {
        let its = segment.calls_of(station).expect("each has some");
        let is_its = |a: &&Attempt| a.station == station && a.ending == Ending::Delivered;
        for frame in attempts.iter().filter(is_its) {
            // A packet begins with its first sample, a message of data comes.
            let arrived = frame.arrived.ps();
            assert!(its.calls.iter().any(|call| (call.from_ps..call.until_ps).contains(&arrived)));
            sent += 1;
        }
        let at = station.index();
        assert_eq!((of.offered[at], of.refused[at]), (its.offered, its.refused));
        let lying = |ps: u64| ps.clamp(5 * S, 20 * S);
        let call_ps: u64 =
            its.calls.iter().map(|call| lying(call.until_ps) - lying(call.from_ps)).sum();
        assert_eq!(of.call_ps[at], call_ps);
        if at < 12 {
            let expected = call_ps / SAMPLE_PS;
            assert!(voice.samples[at].abs_diff(expected) <= its.calls.len() as u64 + 1);
            let known = voice.samples_delivered[at] + voice.samples_lost[at];
            assert_eq!(voice.samples[at], known + voice.samples_buffered[at]);
        }
    }
    assert!(sent > 10_000);
    assert!(of.refused.iter().sum::<u64>() > 3);
}

#[test]
fn a_call_that_never_ends_is_a_station_that_always_sends() {
    // The first call comes early and lasts to the end; its station has no other.
    let forever = Calls {
        every_ps: MS,
        duration: Times::Constant { ps: 1000 * S },
        most: None,
        listen_ps: None,
    };
    let (counts, _) = both(&trial(&[voice(5, None, forever)], 100_000));
    let of = counts.stations.calls.as_ref().expect("calls");
    assert_eq!(of.call_ps, [15 * S; 5]);
    assert_eq!(of.offered, of.refused);
    let mut always = trial(&[voice(5, None, calls(S, 1e12, None))], 100_000);
    always.scenario.flows[0].calls = None;
    let (without, _) = both(&always);
    let samples = |counts: &Counts| counts.stations.voice.as_ref().expect("voice").samples.clone();
    for (one, other) in samples(&counts).iter().zip(samples(&without)) {
        assert!(one.abs_diff(other) <= 1, "15 s of samples, to the phase of the coder");
    }
    assert_eq!(counts.stations.offered_load, without.stations.offered_load);
}

#[test]
fn media_of_other_kinds_and_sources_without_a_rate_have_no_calls() {
    let mut other = trial(&[voice(3, None, calls(S, 1e12, None))], 100_000);
    other.scenario.flows[0].arrivals = Arrivals::Saturated {};
    other.scenario.flows[0].frames = Lengths::Fixed { bits: 512 };
    let fault = Plan::check(&other).expect_err("saturated").to_string();
    assert!(fault.contains("calls"), "{fault}");
    for (most, listen_ps, key) in [(None, Some(S), "listen_ps"), (Some(0), None, "most")] {
        let wrong = Calls { listen_ps, ..calls(S, 1e12, most) };
        let fault = Plan::check(&trial(&[voice(3, None, wrong)], 100_000)).expect_err(key);
        assert!(fault.to_string().contains(key), "{fault}");
    }
    let fault = Plan::check(&trial(&[voice(3, None, calls(1, 1e12, None))], 100_000));
    assert!(fault.expect_err("too often").to_string().contains("every_ps"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn both_implementations_have_the_same_calls(
        seed in 0u64..1000,
        bit_ps in prop_oneof![Just(100_000u64), Just(340_000)],
        (talk, listen) in (any::<bool>(), any::<bool>()),
        (every_ms, mean_ms) in (20u64..500, 50u64..4000),
        most in prop_oneof![Just(None), (1u32..40).prop_map(Some)],
    ) {
        let spurts = talk.then_some(Spurts { talk_mean_ps: 4e11, silence_mean_ps: 6e11 });
        #[allow(clippy::cast_precision_loss)]
        let mut of = calls(every_ms * MS, (mean_ms * MS) as f64, most);
        of.listen_ps = (listen && most.is_some()).then_some(300 * MS);
        let groups = [voice(30, spurts, of.clone()), data(10, 2e10, of)];
        let mut trial = Trial { seed, ..trial(&groups, bit_ps) };
        let phases = &mut trial.scenario.phases;
        (phases.stop_ps, phases.end_ps) = (3 * S, 3 * S);
        (phases.measure_from_ps, phases.measure_to_ps) = (S, 3 * S);
        both(&trial);
    }
}
