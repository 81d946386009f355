//! How to wait for absolute times, and how well that went.

use super::rest::{ON_TIME_NS, RestKind, Rests};
use crate::time::{PS_PER_NS, Timeline};
use ethermeter_traffic::{Distribution, Histogram};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// What to do before a time that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacerStep {
    /// Sleep until this time, then ask again.
    SleepUntil(u64),
    /// Look at the clock again.
    Spin,
    /// It is time.
    Now,
}

/// How to wait for absolute times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacer {
    /// How long before the time the sleep ends and the spinning begins.
    pub margin_ns: u64,
    /// The longest time without a sleep, after which the sender is forced to sleep. Without it, a
    /// real-time sender that is always late would keep its processor from all other programs.
    pub longest_spin_ns: u64,
    /// How long a forced sleep is.
    pub forced_sleep_ns: u64,
    /// Times that are closer together than this are spun through, as long as that is paid for with
    /// rests. Every rest may end too late.
    pub spin_through_ns: u64,
    /// How long before the first time rests are tried out and the processor is watched; 0: not at
    /// all.
    pub trial_ns: u64,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            margin_ns: 60_000,
            longest_spin_ns: 20_000_000,
            forced_sleep_ns: 50_000,
            spin_through_ns: 0,
            trial_ns: 0,
        }
    }
}

/// For each time of rest, so many of the same length may be spun through. The kernel stops
/// real-time threads that leave others less than a twentieth of a processor, for milliseconds.
const AWAKE_PER_RESTED: u64 = 7;

/// Longest sleep between two looks at the stop flag: far below the second within which a sender
/// falls silent.
const LONGEST_SLEEP_NS: u64 = 50_000_000;

impl Pacer {
    /// For one that must be on time and has a processor for it: sleeps less, and wakes earlier.
    #[must_use]
    pub fn punctual() -> Self {
        Self {
            margin_ns: 120_000,
            spin_through_ns: 300_000,
            trial_ns: 60_000_000,
            ..Self::default()
        }
    }

    /// For one of many that share few processors with real-time priority: wakes earlier, for a
    /// processor that has slept wakes up late, and never spins longer than that.
    #[must_use]
    pub fn sharing() -> Self {
        Self { margin_ns: 90_000, ..Self::default() }
    }

    /// What to do at `now_ns` before `due_ns`.
    #[inline]
    #[must_use]
    pub fn step(&self, now_ns: u64, due_ns: u64) -> PacerStep {
        if now_ns >= due_ns {
            return PacerStep::Now;
        }
        let wake_ns = due_ns.saturating_sub(self.margin_ns);
        if now_ns >= wake_ns {
            return PacerStep::Spin;
        }
        PacerStep::SleepUntil(wake_ns.min(now_ns + LONGEST_SLEEP_NS))
    }
}

/// A pacer at work.
#[derive(Debug)]
pub struct Pacing<'a, T> {
    pub(super) pacer: Pacer,
    pub(super) time: &'a T,
    awake_since_ns: u64,
    rested_ns: u64,
    forced_sleeps: u64,
    rests: Rests,
}

impl<'a, T: Timeline> Pacing<'a, T> {
    /// Wait by `pacer` on `time`.
    pub fn new(pacer: Pacer, time: &'a T) -> Self {
        Self {
            pacer,
            time,
            awake_since_ns: time.now_ns(),
            rested_ns: 0,
            forced_sleeps: 0,
            rests: Rests::default(),
        }
    }

    /// Wait until `due_ns`; returns the time then, or `None` if `stop` was set meanwhile.
    #[inline]
    pub fn wait_until(&mut self, due_ns: u64, stop: &AtomicBool) -> Option<u64> {
        let mut now_ns = self.time.now_ns();
        if now_ns.saturating_sub(self.awake_since_ns) > self.pacer.longest_spin_ns {
            now_ns = self.sleep(now_ns, now_ns + self.pacer.forced_sleep_ns);
            self.forced_sleeps += 1;
        }
        let wait_ns = due_ns.saturating_sub(now_ns);
        let is_close = wait_ns < self.pacer.spin_through_ns;
        if is_close
            && wait_ns > 0
            && now_ns - self.awake_since_ns > AWAKE_PER_RESTED * self.rested_ns
        {
            now_ns = self.rest(self.rests.better(), now_ns, due_ns);
        }
        let pacer = if is_close { Pacer { margin_ns: wait_ns, ..self.pacer } } else { self.pacer };
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            match pacer.step(now_ns, due_ns) {
                PacerStep::Now => return Some(now_ns),
                PacerStep::Spin => {
                    self.time.spin();
                    now_ns = self.time.now_ns();
                }
                PacerStep::SleepUntil(wake_ns) => now_ns = self.sleep(now_ns, wake_ns),
            }
        }
    }

    /// Rest before `due_ns`, and remember whether that ended too late; returns the time then.
    pub(super) fn rest(&mut self, rest: RestKind, now_ns: u64, due_ns: u64) -> u64 {
        let until_ns = rest.until_ns(now_ns, due_ns);
        match rest {
            RestKind::Sleep => self.time.sleep_until(until_ns),
            RestKind::Yield => self.time.yield_until(until_ns),
        }
        self.awake_since_ns = self.time.now_ns();
        self.rested_ns = self.awake_since_ns.saturating_sub(now_ns);
        self.rests.record(rest, self.awake_since_ns.saturating_sub(due_ns), due_ns - now_ns);
        self.awake_since_ns
    }

    fn sleep(&mut self, now_ns: u64, wake_ns: u64) -> u64 {
        self.time.sleep_until(wake_ns);
        self.awake_since_ns = self.time.now_ns();
        self.rested_ns = self.awake_since_ns.saturating_sub(now_ns);
        self.awake_since_ns
    }

    /// Times that the sender was forced to sleep although something was due.
    #[must_use]
    pub fn forced_sleeps(&self) -> u64 {
        self.forced_sleeps
    }

    /// The rests between times close together, those of a trial included.
    #[must_use]
    pub fn rests(&self) -> Rests {
        self.rests
    }
}

/// How far from their times frames were sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacingCounts {
    /// Frames that have a time.
    pub frames: u64,
    /// Share of them within 5 us of it.
    pub share_on_time: Option<f64>,
    /// Largest lateness.
    pub worst_ns: u64,
    /// Lateness.
    pub lateness: Distribution,
    /// Times that the role was forced to sleep although something was due.
    pub forced_sleeps: u64,
    /// Whether it had real-time priority, if it was to ask for that.
    pub real_time: Option<bool>,
}

/// How far from their times frames were sent, while they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Achieved {
    lateness: Histogram,
    within: u64,
    frames: u64,
    worst_ns: u64,
}

impl Achieved {
    /// Count a frame that was due at `due_ns` and sent at `sent_ns`, never before.
    #[inline]
    pub fn record(&mut self, due_ns: u64, sent_ns: u64) {
        let late_ns = sent_ns.saturating_sub(due_ns);
        self.frames += 1;
        self.within += u64::from(late_ns <= ON_TIME_NS);
        self.worst_ns = self.worst_ns.max(late_ns);
        self.lateness.record(late_ns * PS_PER_NS);
    }

    /// The counts, with those of the pacer.
    #[allow(clippy::cast_precision_loss)] // a share
    pub fn counts(&self, forced_sleeps: u64) -> PacingCounts {
        PacingCounts {
            frames: self.frames,
            share_on_time: (self.frames > 0).then(|| self.within as f64 / self.frames as f64),
            worst_ns: self.worst_ns,
            lateness: (&self.lateness).into(),
            forced_sleeps,
            real_time: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::testing::Ticking;
    use proptest::prelude::*;

    const PACER: Pacer = Pacer {
        margin_ns: 60_000,
        longest_spin_ns: 10_000_000,
        forced_sleep_ns: 50_000,
        spin_through_ns: 0,
        trial_ns: 0,
    };

    proptest! {
        #[test]
        fn nothing_is_sent_before_its_time_nor_a_tick_after_if_the_sleep_ends_within_the_margin(
            gaps in proptest::collection::vec(1000..1_000_000u64, 1..50),
            oversleep_ns in 0..59_000u64,
            tick_ns in 1..500u64,
        ) {
            let time = Ticking::new(tick_ns, oversleep_ns);
            let mut pacing = Pacing::new(PACER, &time);
            let mut achieved = Achieved::default();
            let stop = AtomicBool::new(false);
            let mut due_ns = 1_000_000;
            for gap_ns in gaps {
                due_ns += gap_ns;
                let sent_ns = pacing.wait_until(due_ns, &stop).expect("not stopped");
                prop_assert!(sent_ns >= due_ns && sent_ns <= due_ns + 2 * tick_ns, "{} {}", due_ns, sent_ns);
                achieved.record(due_ns, sent_ns);
            }
            prop_assert_eq!(achieved.counts(0).share_on_time, Some(1.0));
        }
    }

    #[test]
    fn times_close_together_are_spun_through_and_an_eighth_is_slept() {
        let time = Ticking::new(100, 30_000);
        let mut pacing = Pacing::new(Pacer::punctual(), &time);
        let (mut sleeps, mut late) = (0, 0);
        let begin_ns = time.now_ns();
        for frame in 1..=10_000 {
            let (due_ns, slept_ns) = (begin_ns + frame * 100_000, time.slept_ns.get());
            let sent_ns = pacing.wait_until(due_ns, &AtomicBool::new(false)).expect("not stopped");
            late += u64::from(sent_ns > due_ns + 200);
            sleeps += u64::from(time.slept_ns.get() > slept_ns);
        }
        assert_eq!((late, pacing.forced_sleeps()), (0, 0));
        // A quarter of 100 us and the oversleep are asleep, 55 us; seven times that may be spun,
        // which ends within the fourth wait after it.
        assert!((10_000 / 5..=10_000 / 4).contains(&sleeps), "{sleeps}");
        assert!(time.slept_ns.get() >= 1_000_000_000 / 10, "{}", time.slept_ns.get());
    }

    #[test]
    fn a_punctual_sender_leaves_twice_as_long_for_waking_up() {
        let time = Ticking::new(10, 110_000);
        let mut pacing = Pacing::new(Pacer::punctual(), &time);
        for frame in 1..100 {
            let due_ns = frame * 1_000_000;
            let sent_ns = pacing.wait_until(due_ns, &AtomicBool::new(false)).expect("not stopped");
            assert!(sent_ns <= due_ns + 20, "{due_ns} {sent_ns}");
        }
    }

    #[test]
    fn an_oversleep_beyond_the_margin_is_recorded() {
        let time = Ticking::new(10, 70_000);
        let mut pacing = Pacing::new(PACER, &time);
        let mut achieved = Achieved::default();
        let sent_ns = pacing.wait_until(1_000_000, &AtomicBool::new(false)).expect("not stopped");
        achieved.record(1_000_000, sent_ns);
        assert_eq!(
            (achieved.frames, achieved.counts(0).share_on_time, achieved.worst_ns),
            (1, Some(0.0), 10_010)
        );
    }

    #[test]
    fn most_of_a_long_wait_is_slept() {
        let time = Ticking::new(100, 20_000);
        let mut pacing = Pacing::new(PACER, &time);
        pacing.wait_until(1_000_000, &AtomicBool::new(false));
        assert!(time.slept_ns.get() > 900_000);
    }

    #[test]
    fn a_sender_that_is_always_late_is_forced_to_sleep_now_and_then() {
        let time = Ticking::new(1000, 0);
        let mut pacing = Pacing::new(PACER, &time);
        let stop = AtomicBool::new(false);
        for _ in 0..50_000 {
            pacing.wait_until(0, &stop);
        }
        // 50 ms of looks at the clock, one forced sleep each 10 ms
        assert!((4..=5).contains(&pacing.forced_sleeps()), "{}", pacing.forced_sleeps());
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let time = Ticking::new(100, 0);
        assert_eq!(Pacing::new(PACER, &time).wait_until(u64::MAX, &AtomicBool::new(true)), None);
    }
}
