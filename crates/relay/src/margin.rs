//! How long before a time one must stop sleeping.

/// Learns from how late one wakes: what 49 of 50 wakings do not exceed, and a quarter more. The few
/// that are later still are not worth spinning for before every frame.
///
/// And being awake is paid for with sleep: as much as was slept, of which a millisecond can be
/// saved up. So a relay whose frames follow each other closely leaves half of a processor to
/// others, whatever its priority. Its frames are a little late then, which costs nothing of their
/// rate.
#[derive(Clone, Copy, Debug)]
pub struct SleepMargin {
    late_ns: u64,
    saved_ns: u64,
}

/// Longest spin before a time.
pub const LONGEST_NS: u64 = 60_000;
const SHORTEST_NS: u64 = 5_000;
/// After a waking that was later than what is known, one step up for each of these down after the
/// others: they balance where one of 50 is.
const STEPS_UP: u64 = 49;
const STEP_NS: u64 = 40;
const MOST_SAVED_NS: u64 = 1_000_000;

impl Default for SleepMargin {
    /// The longest, until something is known.
    fn default() -> Self {
        Self { late_ns: LONGEST_NS, saved_ns: MOST_SAVED_NS }
    }
}

impl SleepMargin {
    /// The margin of one that has been awake for `awake_ns` since its last sleep.
    #[inline]
    #[must_use]
    pub fn ns(&self, awake_ns: u64) -> u64 {
        let learnt_ns = (self.late_ns + self.late_ns / 4).clamp(SHORTEST_NS, LONGEST_NS);
        learnt_ns.min(self.saved_ns.saturating_sub(awake_ns))
    }

    /// After being awake for `awake_ns`, `slept_ns` were slept, whatever ended them.
    #[inline]
    pub fn rest(&mut self, awake_ns: u64, slept_ns: u64) {
        self.saved_ns = (self.saved_ns.saturating_sub(awake_ns) + slept_ns).min(MOST_SAVED_NS);
    }

    /// A sleep ended `late_ns` after its time.
    #[inline]
    pub fn learn(&mut self, late_ns: u64) {
        self.late_ns = if late_ns > self.late_ns {
            (self.late_ns + STEPS_UP * STEP_NS).min(LONGEST_NS)
        } else {
            self.late_ns.saturating_sub(STEP_NS)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethermeter_traffic::{Purpose, Stream};

    #[test]
    fn it_begins_at_the_longest_and_shrinks_to_what_is_needed() {
        let mut margin = SleepMargin::default();
        assert_eq!(margin.ns(0), LONGEST_NS);
        (0..2000).for_each(|_| margin.learn(8_000));
        // around 8 us by at most a step up, and a quarter more
        assert!((9_900..=12_500).contains(&margin.ns(0)), "{}", margin.ns(0));
        (0..2000).for_each(|_| margin.learn(0));
        assert_eq!(margin.ns(0), SHORTEST_NS);
    }

    #[test]
    fn late_wakings_make_it_grow_to_the_longest_and_no_further() {
        let mut margin = SleepMargin::default();
        (0..2000).for_each(|_| margin.learn(0));
        (0..100).for_each(|_| margin.learn(u64::MAX));
        assert_eq!(margin.ns(0), LONGEST_NS);
    }

    #[test]
    fn one_waking_in_fifty_is_later_than_what_it_has_learnt() {
        let (mut margin, mut chance) =
            (SleepMargin::default(), Stream::new(1, 0, Purpose::Service));
        let later = (0..200_000)
            .filter(|&index| {
                let late_ns = chance.below(20_000);
                let is_later = late_ns > margin.late_ns;
                margin.learn(late_ns);
                index >= 10_000 && is_later
            })
            .count();
        // Steps down and up cancel but for where it begins and ends, at most 60 us of 40 ns: 190
        // 000 / 50, within 1500 / 50 of it.
        assert!((3_770..=3_830).contains(&later), "{later}");
    }

    #[test]
    fn being_awake_is_paid_for_with_as_much_sleep() {
        // A frame is due every 67 us, and no wake-up is late: what is left of the time
        // after the margin is slept.
        let mut margin = SleepMargin::default();
        let (mut awake_ns, mut slept_ns) = (0, 0);
        for _ in 0..10_000 {
            let spun_ns = margin.ns(0);
            margin.rest(spun_ns, 67_000 - spun_ns);
            awake_ns += spun_ns;
            slept_ns += 67_000 - spun_ns;
        }
        assert!(awake_ns <= slept_ns + MOST_SAVED_NS, "{awake_ns} {slept_ns}");
        assert!(slept_ns <= awake_ns + MOST_SAVED_NS, "{awake_ns} {slept_ns}");
    }

    #[test]
    fn who_has_been_awake_for_all_he_has_saved_spins_no_longer() {
        let margin = SleepMargin::default();
        assert_eq!(margin.ns(MOST_SAVED_NS - 10_000), 10_000);
        assert_eq!(margin.ns(u64::MAX), 0);
    }
}
