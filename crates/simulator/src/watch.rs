//! Progress of a simulation under way, for other threads, and how they stop it.
//!
//! An engine writes the simulated time that it has reached every `EVENTS` events and reads
//! whether it shall stop. Neither changes a result.

use crate::error::Error;
use crate::time::Instant;
use ethermeter_trial::Phases;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Events between two looks of an engine at its watch: a few milliseconds at most, too many to cost
/// anything.
const EVENTS: u32 = 1024;

/// What engine and other threads share about a trial.
#[derive(Debug, Default)]
pub struct Watch {
    begin_ps: AtomicU64,
    end_ps: AtomicU64,
    now_ps: AtomicU64,
    stopped: AtomicBool,
}

impl Watch {
    /// Share of the simulated time that is over, from 0 to 1.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a share for people
    pub fn share(&self) -> f64 {
        let [begin, end, now] =
            [&self.begin_ps, &self.end_ps, &self.now_ps].map(|time| time.load(Relaxed));
        let over = now.clamp(begin, end.max(begin)) - begin;
        over as f64 / end.saturating_sub(begin).max(1) as f64
    }

    /// End the simulation soon, with [`Error::Stopped`].
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Whether it shall end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Begin a trial. Its engine asks the result after every event whether to go on.
    pub(crate) fn begin(&self, phases: &Phases) -> Poll<'_> {
        self.begin_ps.store(phases.begin_ps, Relaxed);
        self.now_ps.store(phases.begin_ps, Relaxed);
        self.end_ps.store(phases.end_ps, Relaxed);
        Poll { watch: self, left: EVENTS }
    }
}

/// An engine's view of its watch.
pub(crate) struct Poll<'w> {
    watch: &'w Watch,
    left: u32,
}

impl Poll<'_> {
    /// Whether to go on after one more event; `now` is the simulated time.
    #[inline]
    pub(crate) fn goes_on(&mut self, now: Instant) -> bool {
        self.left -= 1;
        self.left > 0 || self.look(now)
    }

    /// Before an engine sums up: whether it ended.
    ///
    /// # Errors
    /// [`Error::Stopped`] if not.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.watch.stopped.load(Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, now: Instant) -> bool {
        // Overlapping contentions do not know the time until the first of them starts.
        self.watch.now_ps.fetch_max(now.ps(), Relaxed);
        let stopped = self.watch.stopped.load(Relaxed);
        // Once stopped it stays so: every later event looks again.
        self.left = if stopped { 1 } else { EVENTS };
        !stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(begin_ps: u64, end_ps: u64) -> Phases {
        Phases {
            begin_ps,
            stop_ps: end_ps,
            measure_from_ps: begin_ps,
            measure_to_ps: end_ps,
            end_ps,
            spread_ps: 0,
        }
    }

    fn at(ps: u64) -> Instant {
        Instant::from_ps(ps)
    }

    #[test]
    fn the_share_goes_from_nothing_to_all() {
        let watch = Watch::default();
        assert!(watch.share() == 0.0);
        let mut poll = watch.begin(&phases(100, 200));
        assert!(watch.share() == 0.0);
        for _ in 0..EVENTS {
            assert!(poll.goes_on(at(150)));
        }
        assert!((watch.share() - 0.5).abs() < 1e-12);
        for _ in 0..EVENTS {
            assert!(poll.goes_on(at(250)));
        }
        assert!((watch.share() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_stopped_engine_stays_stopped() {
        let watch = Watch::default();
        let mut poll = watch.begin(&phases(0, 1));
        watch.stop();
        assert_eq!((0..EVENTS).filter(|_| !poll.goes_on(at(0))).count(), 1);
        assert!(!poll.goes_on(at(0)) && !poll.goes_on(at(0)));
        assert!(matches!(poll.check(), Err(Error::Stopped)));
    }
}
