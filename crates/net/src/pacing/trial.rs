//! What a real-time sender learns in the milliseconds before its first time: which rest is better,
//! and how often its processor is taken away.
//!
//! The kernel's tick, and that of the host of a virtual machine, come at regular times and take 25
//! to 50 us each on some machines. The times of a regular source keep their distance to a tick
//! whose period is a multiple of theirs: with 100 us between frames, one frame of 40 meets each
//! tick of 4 ms, or none does.

use super::pacer::Pacing;
use super::rest::{ON_TIME_NS, RestKind};
use crate::time::Timeline;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a trial found and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacingTrial {
    /// How long the processor was watched.
    pub watched_ns: u64,
    /// How often it was taken away for more than [`ON_TIME_NS`].
    pub stalls: u64,
    /// For how long in all.
    pub stalled_ns: u64,
    /// The rest that was better.
    pub rest: RestKind,
}

/// A rest is tried each so often, of both kinds in turn, …
const TRY_EACH_NS: u64 = 500_000;
/// … before a time so far away.
const TRY_WAIT_NS: u64 = 100_000;

impl<T: Timeline> Pacing<'_, T> {
    /// Watch the processor for the pacer's trial before `begin_ns`, and try out rests; nothing if
    /// the pacer has no trial, there is no time for it, or `stop` is set meanwhile.
    pub fn try_out(&mut self, begin_ns: u64, stop: &AtomicBool) -> Option<PacingTrial> {
        let from_ns = begin_ns.saturating_sub(self.pacer.trial_ns);
        if self.pacer.trial_ns == 0 || self.time.now_ns() > from_ns {
            return None;
        }
        let mut now_ns = self.wait_until(from_ns, stop)?;
        let (mut watched_ns, mut stalls, mut stalled_ns, mut tried) = (0, 0, 0, 0);
        while now_ns + TRY_EACH_NS + TRY_WAIT_NS < begin_ns {
            let rest = if tried % 2 == 0 { RestKind::Sleep } else { RestKind::Yield };
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
                if now_ns - before_ns > ON_TIME_NS {
                    (stalls, stalled_ns) = (stalls + 1, stalled_ns + now_ns - before_ns);
                }
                before_ns = now_ns;
            }
        }
        Some(PacingTrial { watched_ns, stalls, stalled_ns, rest: self.rests().better() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::pacer::Pacer;
    use super::*;
    use crate::time::testing::Ticking;

    const TICK_NS: u64 = 4_000_000;

    #[test]
    fn a_trial_ends_before_the_first_time_and_chooses_by_what_it_measured() {
        // Sleeps end 90 us late, when 75 are left; yields on time.
        let time = Ticking::new(100, 90_000);
        let mut pacing = Pacing::new(Pacer::punctual(), &time);
        let trial = pacing.try_out(100_000_000, &AtomicBool::new(false)).expect("there is time");
        assert!(time.now_ns() < 100_000_000, "{}", time.now_ns());
        assert_eq!((trial.rest, trial.stalls), (RestKind::Yield, 0));
        let rests = pacing.rests();
        assert!(rests.slept.missed == rests.slept.rests && rests.slept.rests > 40, "{rests:?}");
        assert!(rests.yielded.missed == 0 && rests.yielded.rests > 40, "{rests:?}");
    }

    #[test]
    fn a_trial_counts_stalls() {
        let time = Ticking::new(100, 30_000).stalling(TICK_NS, 30_000);
        let mut pacing = Pacing::new(Pacer::punctual(), &time);
        let trial = pacing.try_out(100_000_000, &AtomicBool::new(false)).expect("there is time");
        assert!((10..=15).contains(&trial.stalls), "{trial:?}");
        assert!(trial.stalled_ns >= 30_000 * trial.stalls, "{trial:?}");
        assert_eq!(trial.rest, RestKind::Sleep);
    }

    #[test]
    fn there_is_no_trial_without_time_for_it_or_for_an_ordinary_sender_or_after_a_stop() {
        let stop = AtomicBool::new(false);
        let time = Ticking::new(100, 0);
        assert!(Pacing::new(Pacer::punctual(), &time).try_out(1_000_000, &stop).is_none());
        assert!(Pacing::new(Pacer::default(), &time).try_out(1_000_000_000, &stop).is_none());
        assert!(time.now_ns() < 1_000_000);
        assert!(
            Pacing::new(Pacer::punctual(), &time)
                .try_out(1_000_000_000, &AtomicBool::new(true))
                .is_none()
        );
    }
}
