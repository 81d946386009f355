//! What a real-time sender learns in the milliseconds before its first time: which rest is better, and when its processor is taken away.
//!
//! The kernel's tick, and that of the host of a virtual machine, come at regular times and take 25 to 50 us each on some machines. The times of a regular source keep
//! their distance to a tick whose period is a multiple of theirs, so all or none of the frames that come with a tick are late: with 100 us between frames, one
//! frame of 40 meets each tick of 4 ms. A regular source has a random phase; it is shifted to where the processor was not taken away.

use super::{Pacing, Rest, ON_TIME_NS};
use crate::time::{Timeline, NS_PER_S};
use serde::Serialize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// When a spinning thread did not get the processor for more than [`ON_TIME_NS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    found: Vec<Range<u64>>,
}

/// What a trial found and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// How long the processor was watched.
    pub watched_ns: u64,
    /// How often it was taken away for more than [`ON_TIME_NS`].
    pub stalls: u64,
    /// For how long in all.
    pub stalled_ns: u64,
    /// The rest that was better.
    pub rest: Rest,
    /// By how much the times of a regular source were shifted, less than its period.
    pub shift_ns: u64,
}

/// Most stalls that are remembered; more of them in a trial leave no quiet time anyway.
const MOST_STALLS: usize = 1024;
/// A rest is tried each so often, of both kinds in turn, …
const TRY_EACH_NS: u64 = 500_000;
/// … before a time so far away.
const TRY_WAIT_NS: u64 = 100_000;
/// Sources with longer periods are not shifted: a trial sees too few of their times.
const LONGEST_PERIOD_NS: u64 = NS_PER_S / 50;
/// Shifts that are compared.
const SHIFTS: usize = 64;

impl Stalls {
    fn new() -> Self {
        Self { found: Vec::with_capacity(MOST_STALLS) }
    }

    /// Remember that nothing ran between two looks at the clock, if that was long.
    #[inline]
    fn look(&mut self, before_ns: u64, now_ns: u64) {
        if now_ns - before_ns > ON_TIME_NS && self.found.len() < MOST_STALLS {
            self.found.push(before_ns..now_ns);
        }
    }

    /// By how much to shift times that come each `period_ns` from `first_ns` on, so that the fewest of them fall into stalls like these: the middle of the longest
    /// stretch of shifts with the fewest; 0 if no shift is better than another.
    #[must_use]
    pub fn quiet_shift_ns(&self, first_ns: u64, period_ns: u64) -> u64 {
        if period_ns == 0 || period_ns > LONGEST_PERIOD_NS {
            return 0;
        }
        let shift_ns = |index: usize| period_ns * index as u64 / SHIFTS as u64;
        let late: [usize; SHIFTS] = std::array::from_fn(|index| self.met_ns(first_ns + shift_ns(index), period_ns));
        let fewest = late.iter().min().copied().unwrap_or_default();
        if late.iter().all(|&of_shift| of_shift == fewest) {
            return 0;
        }
        // Twice around, for a stretch may lie across the end of a period.
        let (mut longest, mut length) = (0..0, 0);
        for index in 0..2 * SHIFTS {
            length = if late[index % SHIFTS] == fewest { length + 1 } else { 0 };
            if length > longest.len() && length <= SHIFTS {
                longest = index + 1 - length..index + 1;
            }
        }
        shift_ns((longest.start + longest.len() / 2) % SHIFTS)
    }

    /// How many of the stalls make a time late that comes each `period_ns`, once at `at_ns`.
    fn met_ns(&self, at_ns: u64, period_ns: u64) -> usize {
        let is_met = |stall: &&Range<u64>| {
            let begin = stall.start % period_ns;
            let until_time_ns = (at_ns % period_ns + period_ns - begin) % period_ns;
            until_time_ns + ON_TIME_NS < stall.end - stall.start
        };
        self.found.iter().filter(is_met).count()
    }
}

impl<T: Timeline> Pacing<'_, T> {
    /// Watch the processor for the pacer's trial before `begin_ns`, and try out rests; nothing if the pacer has no trial, there is no time for it, or `stop` is set
    /// meanwhile. The shift is to be found from the stalls by those who know the times.
    pub fn try_out(&mut self, begin_ns: u64, stop: &AtomicBool) -> Option<(Trial, Stalls)> {
        let from_ns = begin_ns.saturating_sub(self.pacer.trial_ns);
        if self.pacer.trial_ns == 0 || self.time.now_ns() > from_ns {
            return None;
        }
        let mut now_ns = self.wait_until(from_ns, stop)?;
        let mut stalls = Stalls::new();
        let (mut watched_ns, mut tried) = (0, 0);
        while now_ns + TRY_EACH_NS + TRY_WAIT_NS < begin_ns {
            let rest = if tried % 2 == 0 { Rest::Sleep } else { Rest::Yield };
            self.rest(rest, now_ns, now_ns + TRY_WAIT_NS);
            tried += 1;
            let mut before_ns = self.time.now_ns();
            let until_ns = before_ns + TRY_EACH_NS;
            watched_ns += TRY_EACH_NS;
            while before_ns < until_ns {
                if stop.load(Ordering::Relaxed) {
                    return None;
                }
                self.time.spin();
                now_ns = self.time.now_ns();
                stalls.look(before_ns, now_ns);
                before_ns = now_ns;
            }
        }
        let stalled_ns = stalls.found.iter().map(|stall| stall.end - stall.start).sum();
        let rest = self.rests().better();
        let trial = Trial { watched_ns, stalls: stalls.found.len() as u64, stalled_ns, rest, shift_ns: 0 };
        Some((trial, stalls))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pacer;
    use super::*;
    use crate::time::testing::Ticking;
    use proptest::prelude::*;

    const TICK_NS: u64 = 4_000_000;

    /// Ticks each 4 ms that take 30 us, and a host's each 10 ms that take 45 us and begin 770 us later.
    fn ticks() -> Stalls {
        let own = (0..15).map(|tick| tick * TICK_NS..tick * TICK_NS + 30_000);
        let of_host = (0..6).map(|tick| 770_000 + tick * 10_000_000..815_000 + tick * 10_000_000);
        Stalls { found: own.chain(of_host).collect() }
    }

    #[test]
    fn times_are_shifted_to_between_the_ticks() {
        for first_ns in [0, 10_000, 50_000, 99_999, 123_456_789] {
            let due_ns = (first_ns + ticks().quiet_shift_ns(first_ns, 100_000)) % 100_000;
            // Of each 100 us, 0 to 30 are the tick's and 70 to 115 the host's, the last 5 of which make nothing late.
            assert!((25_000..70_000).contains(&due_ns), "{first_ns}: {due_ns}");
            assert!((40_000..55_000).contains(&due_ns), "{first_ns}: {due_ns} is not in the middle");
        }
    }

    #[test]
    fn times_are_not_shifted_where_it_makes_no_difference() {
        assert_eq!(Stalls::default().quiet_shift_ns(5, 100_000), 0);
        assert_eq!(ticks().quiet_shift_ns(5, LONGEST_PERIOD_NS + 1), 0);
        assert_eq!(ticks().quiet_shift_ns(5, 0), 0);
        let always = Stalls { found: vec![0..1_000_000; 3] };
        assert_eq!(always.quiet_shift_ns(5, 100_000), 0);
    }

    proptest! {
        #[test]
        fn shifted_times_meet_no_more_stalls_than_others(
            stalls in proptest::collection::vec((0..60_000_000u64, 5001..200_000u64), 0..60),
            first_ns in 0..1_000_000_000u64,
            period_ns in 1000..LONGEST_PERIOD_NS,
        ) {
            let stalls = Stalls { found: stalls.into_iter().map(|(from, length)| from..from + length).collect() };
            let shift_ns = stalls.quiet_shift_ns(first_ns, period_ns);
            prop_assert!(shift_ns < period_ns);
            let met = stalls.met_ns(first_ns + shift_ns, period_ns);
            prop_assert!(met <= stalls.met_ns(first_ns, period_ns));
        }
    }

    #[test]
    fn a_trial_ends_before_the_first_time_and_chooses_by_what_it_measured() {
        // Sleeps end 90 us late, when 75 are left; yields on time.
        let time = Ticking::new(100, 90_000);
        let mut pacing = Pacing::new(Pacer::punctual(), &time);
        let (trial, stalls) = pacing.try_out(100_000_000, &AtomicBool::new(false)).expect("there is time");
        assert!(time.now_ns() < 100_000_000, "{}", time.now_ns());
        assert_eq!((trial.rest, trial.stalls), (Rest::Yield, 0));
        assert_eq!(stalls, Stalls::default());
        let rests = pacing.rests();
        assert!(rests.slept.missed == rests.slept.rests && rests.slept.rests > 40, "{rests:?}");
        assert!(rests.yielded.missed == 0 && rests.yielded.rests > 40, "{rests:?}");
    }

    #[test]
    fn a_trial_sees_stalls() {
        let time = Ticking::new(100, 30_000).stalling(TICK_NS, 30_000);
        let mut pacing = Pacing::new(Pacer::punctual(), &time);
        let (trial, stalls) = pacing.try_out(100_000_000, &AtomicBool::new(false)).expect("there is time");
        assert!((10..=15).contains(&trial.stalls), "{trial:?}");
        assert!(trial.stalled_ns >= 30_000 * trial.stalls, "{trial:?}");
        let due_ns = stalls.quiet_shift_ns(0, 100_000);
        assert!((26_000..100_000).contains(&due_ns), "{due_ns}");
        assert_eq!(trial.rest, Rest::Sleep);
    }

    #[test]
    fn there_is_no_trial_without_time_for_it_or_for_an_ordinary_sender_or_after_a_stop() {
        let stop = AtomicBool::new(false);
        let time = Ticking::new(100, 0);
        assert!(Pacing::new(Pacer::punctual(), &time).try_out(1_000_000, &stop).is_none());
        assert!(Pacing::new(Pacer::default(), &time).try_out(1_000_000_000, &stop).is_none());
        assert!(time.now_ns() < 1_000_000);
        assert!(Pacing::new(Pacer::punctual(), &time).try_out(1_000_000_000, &AtomicBool::new(true)).is_none());
    }
}
