//! The host's clock. Only this file reads it, and sleeps by it.
//!
//! Times are nanoseconds of `CLOCK_MONOTONIC`, which all processes of a machine share and which is
//! never set. The kernel stamps frames with `CLOCK_REALTIME`; both are steered alike, so they
//! differ by a constant until the wall clock is set.

#![expect(clippy::disallowed_types, reason = "the clock of the machine stands here")]

use crate::pacing::priority;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;
/// Picoseconds in a nanosecond.
pub const PS_PER_NS: u64 = 1000;

/// Where a role's time comes from.
pub trait Timeline {
    /// The time.
    fn now_ns(&self) -> u64;

    /// The time of the wall clock, which stamps what the kernel receives.
    fn wall_ns(&self) -> u64 {
        self.now_ns()
    }

    /// Nanoseconds of a processor that the calling thread has had, in the system's calls too.
    fn worked_ns(&self) -> u64 {
        self.now_ns()
    }

    /// Give the processor away until `at_ns`, or until some time after it.
    fn sleep_until(&self, at_ns: u64);

    /// What is done between two looks at the clock while spinning.
    fn spin(&self) {}

    /// Spin at ordinary priority until `at_ns`, or until some time after it if another program
    /// wants the processor.
    fn yield_until(&self, at_ns: u64) {
        while self.now_ns() < at_ns {
            self.spin();
        }
    }
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostTime;

impl Timeline for HostTime {
    #[inline]
    fn now_ns(&self) -> u64 {
        read_ns(ClockId::CLOCK_MONOTONIC)
    }

    #[inline]
    fn wall_ns(&self) -> u64 {
        read_ns(ClockId::CLOCK_REALTIME)
    }

    #[inline]
    fn worked_ns(&self) -> u64 {
        read_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
    fn sleep_until(&self, at_ns: u64) {
        let at = TimeSpec::new(
            i64::try_from(at_ns / NS_PER_S).expect("seconds since boot"),
            i64::try_from(at_ns % NS_PER_S).expect("below a thousand million"),
        );
        // A signal wakes early; the caller looks at the clock again anyway.
        let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at);
    }

    #[inline]
    fn spin(&self) {
        std::hint::spin_loop();
    }

    fn yield_until(&self, at_ns: u64) {
        priority::while_ordinary(|| {
            while self.now_ns() < at_ns {
                self.spin();
            }
        });
    }
}

/// A larger difference of two comparisons is a step of the wall clock, and no inaccuracy of these.
pub const CLOCK_STEP_NS: u64 = 100_000;

/// How far the wall clock is ahead of the monotonic one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClock {
    ahead_ns: u64,
}

impl WallClock {
    /// Compare the clocks: the best of several readings, good to some ten nanoseconds.
    #[must_use]
    pub fn compared(time: &impl Timeline) -> Self {
        let reading = || {
            let before_ns = time.now_ns();
            let wall_ns = time.wall_ns();
            let after_ns = time.now_ns();
            (after_ns - before_ns, wall_ns.wrapping_sub(before_ns + (after_ns - before_ns) / 2))
        };
        let (_, ahead_ns) = (1..9).map(|_| reading()).fold(reading(), Ord::min);
        Self { ahead_ns }
    }

    /// The monotonic time of a wall clock time.
    #[inline]
    #[must_use]
    pub fn monotonic_ns(self, wall_ns: u64) -> u64 {
        wall_ns.wrapping_sub(self.ahead_ns)
    }

    /// The wall clock's time of a monotonic one.
    #[inline]
    #[must_use]
    pub fn wall_ns(self, monotonic_ns: u64) -> u64 {
        monotonic_ns.wrapping_add(self.ahead_ns)
    }

    /// By how much the wall clock was set since `earlier`, in nanoseconds: steps, not steering,
    /// which both clocks follow.
    #[must_use]
    pub fn stepped_ns(self, earlier: Self) -> u64 {
        let forward_ns = self.ahead_ns.wrapping_sub(earlier.ahead_ns);
        forward_ns.min(forward_ns.wrapping_neg())
    }
}

/// Largest error of the wall clock by the kernel, in nanoseconds; `None` where it is not
/// synchronised, or the kernel does not report it.
#[must_use]
#[expect(unsafe_code, reason = "a call that no safe wrapper knows")]
pub fn wall_clock_error_ns() -> Option<u64> {
    // SAFETY: a structure of integers, for which zero is a value; without modes nothing is set.
    let mut clock: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes the structure, which lives through the call.
    let state = unsafe { libc::adjtimex(&raw mut clock) };
    let is_synchronised =
        (0..libc::TIME_ERROR).contains(&state) && clock.status & libc::STA_UNSYNC == 0;
    let error_ns = u64::try_from(clock.maxerror).ok()?.saturating_mul(1000);
    is_synchronised.then_some(error_ns)
}

#[inline]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clocks")]
fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("clocks of Linux are always there");
    time.tv_sec().cast_unsigned() * NS_PER_S + time.tv_nsec().cast_unsigned()
}

#[cfg(test)]
pub(crate) mod testing {
    use super::Timeline;
    use std::cell::Cell;

    /// A clock that moves by a fixed time whenever it is read, and by an oversleep beyond the time
    /// that was asked for.
    #[expect(clippy::struct_field_names, reason = "the unit is part of every name")]
    pub struct Ticking {
        now_ns: Cell<u64>,
        pub tick_ns: u64,
        pub oversleep_ns: u64,
        pub slept_ns: Cell<u64>,
        stall_each_ns: u64,
        stall_ns: u64,
    }

    impl Ticking {
        pub fn new(tick_ns: u64, oversleep_ns: u64) -> Self {
            Self {
                now_ns: Cell::new(0),
                tick_ns,
                oversleep_ns,
                slept_ns: Cell::new(0),
                stall_each_ns: u64::MAX,
                stall_ns: 0,
            }
        }

        /// The same, but standing still for the reader of a time just after each multiple of
        /// `each_ns`.
        pub fn stalling(self, each_ns: u64, stall_ns: u64) -> Self {
            Self { stall_each_ns: each_ns, stall_ns, ..self }
        }
    }

    impl Timeline for Ticking {
        fn now_ns(&self) -> u64 {
            let (before_ns, now_ns) = (self.now_ns.get(), self.now_ns.get() + self.tick_ns);
            let is_stalled = before_ns / self.stall_each_ns < now_ns / self.stall_each_ns;
            self.now_ns.set(if is_stalled { now_ns + self.stall_ns } else { now_ns });
            self.now_ns.get()
        }

        fn sleep_until(&self, at_ns: u64) {
            let until_ns = self.now_ns.get().max(at_ns + self.oversleep_ns);
            self.slept_ns.set(self.slept_ns.get() + until_ns - self.now_ns.get());
            self.now_ns.set(until_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_before_the_time() {
        let time = HostTime;
        let at_ns = time.now_ns() + 200_000;
        time.sleep_until(at_ns);
        assert!(time.now_ns() >= at_ns);
    }

    #[test]
    fn a_wall_clock_time_has_its_monotonic_time() {
        let wall = WallClock::compared(&HostTime);
        let before_ns = HostTime.now_ns();
        let between_ns = wall.monotonic_ns(read_ns(ClockId::CLOCK_REALTIME));
        let after_ns = HostTime.now_ns();
        // The comparison is the middle of a reading that takes well below 10 us even on a busy
        // machine, as the best of nine.
        assert!(
            before_ns <= between_ns + 10_000 && between_ns <= after_ns + 10_000,
            "{before_ns} {between_ns} {after_ns}"
        );
        assert!(WallClock::compared(&HostTime).stepped_ns(wall) < 20_000);
    }

    #[test]
    fn a_step_is_as_large_forwards_as_backwards() {
        let at = |ahead_ns: u64| WallClock { ahead_ns };
        for (earlier, later) in [(5_000_000, 7_000_000), (7_000_000, 5_000_000)] {
            assert_eq!(at(later).stepped_ns(at(earlier)), 2_000_000);
        }
        // A wall clock that is set to before the host's start is ahead by less than nothing.
        assert_eq!(at(1_000u64.wrapping_neg()).stepped_ns(at(1_000)), 2_000);
        assert_eq!(at(3).stepped_ns(at(3)), 0);
    }
}
