//! What a host's clock shows.

use crate::time::{Instant, Span};
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::clocks::ClockSpec;

const BILLION: i128 = 1_000_000_000;

/// What a clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub offset: Span,
    pub drift_ppb: i64,
}

impl Clock {
    /// A clock that is never wrong.
    pub const TRUE: Self = Self { offset: Span::ZERO, drift_ppb: 0 };

    /// The clock of node `node` under `seed`.
    pub fn new(spec: &ClockSpec, seed: u64, node: u32) -> Self {
        // Stations that draw are numbered from 0; nodes that have clocks from the other end.
        let mut chance = Stream::new(seed, u32::MAX - node, Purpose::Clock);
        let mut within =
            |spread: u64| chance.below(2 * spread + 1).cast_signed() - spread.cast_signed();
        Self {
            offset: Span::from_signed_ps(spec.offset_ps + within(spec.offset_spread_ps)),
            drift_ppb: spec.drift_ppb + within(spec.drift_spread_ppb),
        }
    }

    /// What it shows at a true time, exact to the picosecond below: `at + offset + ⌊at · drift⌋`.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // a trial ends by 2^62 ps, and a clock gains 2 parts in 1000 of it at most
    pub fn reading_at(self, at: Instant) -> Instant {
        let gained = (i128::from(at.ps()) * i128::from(self.drift_ppb)).div_euclid(BILLION);
        at + self.offset + Span::from_signed_ps(gained as i64)
    }

    /// The same as frames carry it: whole nanoseconds modulo 2^48.
    #[inline]
    pub fn reading_ns(self, at: Instant) -> u64 {
        let shown = (self.reading_at(at) - Instant::ZERO).signed_ps();
        shown.div_euclid(1000).cast_unsigned() & ((1 << 48) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethermeter_trial::clocks::{MOST_DRIFT_PPB, MOST_OFFSET_PS};
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000_000;

    fn clock(offset_ps: i64, drift_ppb: i64) -> Clock {
        Clock { offset: Span::from_signed_ps(offset_ps), drift_ppb }
    }

    /// What a clock shows, in picoseconds.
    fn reading(clock: Clock, at_ps: u64) -> i64 {
        (clock.reading_at(Instant::from_ps(at_ps)) - Instant::ZERO).signed_ps()
    }

    #[test]
    fn a_clock_is_ahead_by_its_offset_and_what_it_has_gained() {
        let gaining = clock(-250, 50_000);
        assert_eq!(reading(gaining, 0), -250);
        // 50 us in each second.
        assert_eq!(reading(gaining, 2 * S), 2 * S.cast_signed() - 250 + 100_000_000);
        // One of 20 000 ps is a whole one; what is begun is not counted, and of a loss it is.
        assert_eq!((reading(gaining, 19_999), reading(gaining, 20_000)), (19_749, 19_751));
        let losing = clock(0, -50_000);
        assert_eq!(
            (reading(losing, 1), reading(losing, 20_000), reading(losing, 20_001)),
            (0, 19_999, 19_999)
        );
    }

    #[test]
    fn frames_carry_nanoseconds_modulo_two_to_the_48() {
        assert_eq!(Clock::TRUE.reading_ns(Instant::from_ps(1999)), 1);
        assert_eq!(clock(-1, 0).reading_ns(Instant::ZERO), (1 << 48) - 1);
    }

    #[test]
    fn spread_clocks_are_within_their_spread_and_differ_by_node_and_seed() {
        let spec = ClockSpec {
            offset_ps: 7,
            drift_ppb: -9,
            offset_spread_ps: 1_000_000,
            drift_spread_ppb: 100,
        };
        let clocks: Vec<Clock> = (0..20)
            .flat_map(|seed| (0..20).map(move |node| (seed, node)))
            .map(|(s, n)| Clock::new(&spec, s, n))
            .collect();
        for (at, clock) in clocks.iter().enumerate() {
            assert!(
                (clock.offset.signed_ps() - 7).abs() <= 1_000_000
                    && (clock.drift_ppb + 9).abs() <= 100
            );
            assert!(!clocks[..at].contains(clock), "{clock:?}");
        }
        // 400 uniform draws: the least and the largest are within 5% of the ends but in 2 ·
        // 0.975^400 of all cases, 1 in 12 000.
        let offsets = || clocks.iter().map(|clock| clock.offset.signed_ps());
        let ends = (offsets().min(), offsets().max());
        assert!(ends.0 < Some(-949_993) && ends.1 > Some(950_007), "{ends:?}");
        assert_eq!(
            Clock::new(&ClockSpec { offset_ps: 7, ..ClockSpec::default() }, 1, 2),
            clock(7, 0)
        );
    }

    proptest! {
        #[test]
        fn no_clock_goes_back(at in 0u64..(1 << 62), step in 0u64..1_000_000, offset_ps in -MOST_OFFSET_PS..MOST_OFFSET_PS, drift_ppb in -MOST_DRIFT_PPB..MOST_DRIFT_PPB) {
            let clock = clock(offset_ps, drift_ppb);
            prop_assert!(reading(clock, at) <= reading(clock, at + step));
        }
    }
}
