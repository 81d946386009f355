//! Rules of the caller's own: with the draws of built-in ones they give the same counts.

use crate::common::{segment, Group, IEEE_10, S};
use ethermeter_simulator::custom::{Custom, CustomBackoff, Rule};
use ethermeter_simulator::plan::Plan;
use ethermeter_simulator::{simulate, simulate_with, Error, Watch};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::custom::{CustomFrame, CustomSource, PythonFunction};
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::Stream;
use ethermeter_trial::medium::{Backoff, Mac};
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::{Counts, Trial};
use std::sync::{Arc, Mutex};

const MEAN_PS: f64 = 2e9;

/// The standard's backoff and a Poisson source, by the draws of the station; what they do after
/// `most` calls is to fail.
#[derive(Debug)]
struct Own {
    chance: Stream,
    left: u32,
    watch: Arc<Watch>,
}

impl Own {
    fn goes_on(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.watch.stop();
        }
        self.left > 0
    }
}

impl CustomBackoff for Own {
    #[allow(clippy::cast_precision_loss)] // at most 1024
    fn slots(&mut self, collisions: u32) -> Option<f64> {
        self.goes_on().then(|| self.chance.below(1 << collisions.min(10)) as f64)
    }
}

impl CustomSource for Own {
    fn next(&mut self) -> Option<CustomFrame> {
        let wait_ps = self.chance.exponential_ps(MEAN_PS);
        self.goes_on().then_some(CustomFrame { wait_ps, bits: None })
    }
}

struct Rules {
    watch: Arc<Watch>,
    most: u32,
}

impl Rules {
    fn own(&self, chance: Stream) -> Own {
        Own { chance, left: self.most, watch: Arc::clone(&self.watch) }
    }
}

impl Custom for Rules {
    fn backoff(&self, rule: &Rule<'_>, chance: Stream) -> Arc<Mutex<dyn CustomBackoff>> {
        assert_eq!(*rule.function, function("standard"));
        Arc::new(Mutex::new(self.own(chance)))
    }

    fn source(
        &self,
        rule: &Rule<'_>,
        range_bits: (u64, u64),
        chance: Stream,
    ) -> Arc<Mutex<dyn CustomSource>> {
        assert_eq!((rule.function, range_bits), (&function("poisson"), (512, 12_144)));
        Arc::new(Mutex::new(self.own(chance)))
    }
}

fn function(name: &str) -> PythonFunction {
    PythonFunction { name: name.into(), sha256: "ab".into() }
}

/// Ten stations; with rules of our own, or with the built-in ones that these copy.
fn trial(own_backoff: bool, own_source: bool, queue_frames: Option<u32>) -> Trial {
    let group = Group::saturated(vec![0, 1, 0, 1, 0, 1, 0, 1, 0, 1], 512).with(|stations, flow| {
        flow.frames = Lengths::Mix { bits: vec![512, 12_144], weights: vec![3.0, 1.0] };
        flow.queue_frames = queue_frames;
        flow.arrivals = Arrivals::Poisson { mean_ps: MEAN_PS };
        if own_source {
            flow.arrivals = Arrivals::Python { function: Box::new(function("poisson")) };
        }
        if own_backoff {
            stations.backoff = Backoff::Python { function: Box::new(function("standard")) };
        }
    });
    let delays = vec![vec![0, 5_000_000], vec![5_000_000, 0]];
    segment(100_000, Mac::CsmaCd(IEEE_10), delays, &[group], S / 2)
}

fn own(trial: &Trial, most: u32) -> Result<(Counts, Implementation), Error> {
    let watch = Arc::new(Watch::default());
    let rules = Rules { watch: Arc::clone(&watch), most };
    simulate_with(trial, &watch, Some(&rules))
}

#[test]
fn rules_with_the_draws_of_the_built_in_ones_give_their_counts() {
    for queue_frames in [None, Some(1), Some(4)] {
        let built_in = trial(false, false, queue_frames);
        let (expected, ran) = simulate(&built_in, &Watch::default()).expect("a valid trial");
        assert_eq!(ran, Implementation::Fast);
        let collisions: u64 = expected.stations.collisions.iter().sum();
        assert!(collisions > 500, "{collisions}");
        for (own_backoff, own_source) in [(true, false), (false, true), (true, true)] {
            let (found, ran) =
                own(&trial(own_backoff, own_source, queue_frames), u32::MAX).expect("valid");
            assert_eq!(ran, Implementation::Reference);
            let mut found = found;
            if own_source {
                // What is offered is counted, instead of known from the rate.
                let load: f64 = found.stations.offered_load.iter().sum();
                let known: f64 = expected.stations.offered_load.iter().sum();
                assert!((load / known - 1.0).abs() < 0.1, "{load} {known}");
                found.stations.offered_load.clone_from(&expected.stations.offered_load);
                found.cautions.clone_from(&expected.cautions);
            }
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn without_rules_of_our_own_the_fast_implementation_runs_all_the_same() {
    let built_in = trial(false, false, None);
    let (found, ran) = own(&built_in, 1).expect("a valid trial");
    assert_eq!(ran, Implementation::Fast);
    assert_eq!(found, simulate(&built_in, &Watch::default()).expect("a valid trial").0);
}

#[test]
fn a_rule_that_fails_stops_its_trial() {
    for (own_backoff, own_source) in [(true, false), (false, true)] {
        let stopped = own(&trial(own_backoff, own_source, None), 7);
        assert!(matches!(stopped, Err(Error::Stopped)));
    }
}

#[test]
fn a_trial_with_rules_of_the_callers_own_is_sound_and_refused_where_nobody_makes_them() {
    for (own_backoff, own_source, path) in
        [(true, false, "media[0].stations[0].backoff"), (false, true, "flows[0].arrivals")]
    {
        let trial = trial(own_backoff, own_source, None);
        assert_eq!(Plan::check(&trial), Ok(()));
        match simulate(&trial, &Watch::default()) {
            Err(Error::Fault(fault)) => assert_eq!(fault.path, path),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_fraction_of_a_slot_is_a_time_to_the_picosecond() {
    use ethermeter_simulator::mac::backoff::Retry;
    use ethermeter_simulator::time::Span;
    let ps = Span::from_ps;
    let retry = Retry { backoff: Backoff::None {}, attempt_limit: 16, slot: ps(51_200_001) };
    assert_eq!(retry.fractional_slots(0.0), Span::ZERO);
    assert_eq!(retry.fractional_slots(0.5), ps(25_600_001));
    assert_eq!(retry.fractional_slots(2.25), ps(2 * 51_200_001 + 12_800_000));
    // Exact beyond 2^53 ps.
    assert_eq!(retry.fractional_slots(1_073_741_823.0), ps(1_073_741_823 * 51_200_001));
    let long = Retry { slot: Span::ENDLESS, ..retry };
    assert_eq!(long.fractional_slots(1e9), Span::ENDLESS);
}
