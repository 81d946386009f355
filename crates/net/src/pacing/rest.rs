//! How a real-time sender leaves others their share of its processor between times that are close
//! together.
//!
//! Both kinds of rest may end too late, for other reasons. A sleep halts a processor that has
//! nothing else to do, and waking a halted processor takes long on a virtual machine. A sender that
//! yields keeps the processor running, but another program that wants it gets it for milliseconds.
//! Which is better depends on the machine and on what else runs there, so it is measured: each rest
//! counts the times that it made the sender miss.

use serde::{Deserialize, Serialize};

/// A frame is on time if it is sent within this of its time.
pub const ON_TIME_NS: u64 = 5000;

/// A kind of rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RestKind {
    /// Sleep for a quarter of the wait; three quarters are left for waking up.
    #[default]
    Sleep,
    /// Spin at ordinary priority until shortly before the time.
    Yield,
}

/// Time left for regaining real-time priority.
const RAISE_NS: u64 = 15_000;

impl RestKind {
    /// When a rest that begins at `now_ns` is to end, before `due_ns`.
    pub(super) fn until_ns(self, now_ns: u64, due_ns: u64) -> u64 {
        match self {
            Self::Sleep => due_ns - (due_ns - now_ns) / 4 * 3,
            Self::Yield => due_ns.saturating_sub(RAISE_NS).max(now_ns),
        }
    }
}

/// Rests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestCounts {
    /// How many.
    pub rests: u64,
    /// Times missed by more than [`ON_TIME_NS`]: those at the ends of rests, and the next ones if a
    /// rest ended later still.
    pub missed: u64,
}

/// Rests of both kinds: all of them, and the last ones, by which the better kind is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rests {
    /// Asleep.
    pub slept: RestCounts,
    /// At ordinary priority.
    pub yielded: RestCounts,
    #[serde(skip)]
    last: [RestCounts; 2],
}

/// When so many rests of a kind are remembered, half of them are forgotten, so that the choice
/// follows what else runs on the processor.
const REMEMBERED: u64 = 256;

impl Rests {
    /// Count a rest before a time that was `wait_ns` away, which ended so long after that time.
    pub(super) fn record(&mut self, rest: RestKind, late_ns: u64, wait_ns: u64) {
        let missed = if late_ns <= ON_TIME_NS { 0 } else { 1 + late_ns / wait_ns.max(1) };
        let all = match rest {
            RestKind::Sleep => &mut self.slept,
            RestKind::Yield => &mut self.yielded,
        };
        let last = &mut self.last[rest as usize];
        for tried in [all, &mut *last] {
            tried.rests += 1;
            tried.missed += missed;
        }
        if last.rests >= REMEMBERED {
            *last = RestCounts { rests: last.rests / 2, missed: last.missed / 2 };
        }
    }

    /// The kind that lately missed fewer times a rest; sleep if they are equal.
    #[must_use]
    pub fn better(&self) -> RestKind {
        let [slept, yielded] = self.last;
        // A rest that has never been tried is taken to miss every other time: (missed + 1) / (rests
        // + 2), Laplace's rule of succession.
        let cost = |counts: RestCounts, other: RestCounts| {
            u128::from(counts.missed + 1) * u128::from(other.rests + 2)
        };
        if cost(yielded, slept) < cost(slept, yielded) { RestKind::Yield } else { RestKind::Sleep }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WAIT_NS: u64 = 100_000;

    fn rests(slept_late_ns: &[u64], yielded_late_ns: &[u64]) -> Rests {
        let mut rests = Rests::default();
        for &late_ns in slept_late_ns {
            rests.record(RestKind::Sleep, late_ns, WAIT_NS);
        }
        for &late_ns in yielded_late_ns {
            rests.record(RestKind::Yield, late_ns, WAIT_NS);
        }
        rests
    }

    #[test]
    fn where_nothing_was_measured_it_sleeps() {
        assert_eq!(Rests::default().better(), RestKind::Sleep);
        assert_eq!(rests(&[0; 50], &[0; 50]).better(), RestKind::Sleep);
    }

    #[test]
    fn where_waking_up_takes_long_it_yields() {
        assert_eq!(rests(&[0, 0, 30_000, 0, 0, 0, 20_000, 0], &[0; 8]).better(), RestKind::Yield);
    }

    #[test]
    fn where_others_take_the_processor_for_milliseconds_it_sleeps() {
        let rests = rests(&[0, 6000, 0, 0, 0, 0, 6000, 0], &[0, 0, 0, 3_000_000, 0, 0, 0, 0]);
        assert_eq!((rests.slept.missed, rests.yielded.missed), (2, 31));
        assert_eq!(rests.better(), RestKind::Sleep);
    }

    #[test]
    fn the_choice_follows_what_begins_to_run_meanwhile() {
        let mut rests = rests(&[0, 0, 9000, 0, 0, 0, 0, 0, 0, 0], &[0; 1000]);
        assert_eq!(rests.better(), RestKind::Yield);
        let mut yields = 0;
        while rests.better() == RestKind::Yield {
            rests.record(RestKind::Yield, 3_000_000, WAIT_NS);
            yields += 1;
        }
        assert!(yields <= 2, "{yields}");
        assert_eq!(rests.yielded.rests, 1000 + yields);
    }

    proptest! {
        #[test]
        fn a_rest_ends_within_the_wait(now_ns in 0..u64::MAX / 2, wait_ns in 0..10_000_000u64) {
            for rest in [RestKind::Sleep, RestKind::Yield] {
                let until_ns = rest.until_ns(now_ns, now_ns + wait_ns);
                prop_assert!((now_ns..=now_ns + wait_ns).contains(&until_ns));
            }
        }

        #[test]
        fn the_kind_that_missed_less_in_as_many_rests_is_chosen(
            late in proptest::collection::vec((0..2_000_000u64, 0..2_000_000u64), 1..200),
        ) {
            let (slept, yielded): (Vec<u64>, Vec<u64>) = late.into_iter().unzip();
            let rests = rests(&slept, &yielded);
            let expected = if rests.yielded.missed < rests.slept.missed { RestKind::Yield } else { RestKind::Sleep };
            prop_assert_eq!(rests.better(), expected);
        }
    }
}
