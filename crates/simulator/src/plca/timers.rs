//! The timers of a node: they are started, stopped and run out. The caller gives the time.

use crate::medium::access::Started;
use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// A timer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Delay line: the frame in it is as long as the line.
    Hold,
    /// Delay line: it is empty.
    Flush,
    /// `pending_timer`.
    Pending,
    /// `commit_timer`.
    Commit,
    /// `beacon_timer`.
    Beacon,
    /// `beacon_det_timer`.
    BeaconDetection,
    /// `invalid_beacon_timer`.
    InvalidBeacon,
    /// `to_timer`.
    Opportunity,
    /// `burst_timer`.
    Burst,
    /// `plca_status_timer`.
    Status,
}

/// How many timers there are.
pub const TIMERS: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Course {
    #[default]
    Stopped,
    Runs,
    Done,
}

/// The timers of a node.
#[derive(Clone, Debug)]
pub struct Timers {
    durations: [Span; TIMERS],
    numbers: [u64; TIMERS],
    courses: [Course; TIMERS],
    pub(super) started: VecDeque<Started<Timer>>,
    /// The time that the caller gave last.
    now: Instant,
    /// When the time is over within which a carrier is as short as a beacon.
    detected_at: Instant,
}

impl crate::medium::access::Timer for Timer {
    fn is_first(self) -> bool {
        self <= Self::Commit // those of the delay line
    }

    fn is_restarted(self) -> bool {
        self == Self::Opportunity
    }
}

impl Timers {
    /// Timers of these durations, none of which runs.
    #[must_use]
    pub fn new(durations: [Span; TIMERS]) -> Self {
        Self {
            durations,
            numbers: [0; TIMERS],
            courses: [Course::Stopped; TIMERS],
            started: VecDeque::with_capacity(TIMERS),
            now: Instant::ZERO,
            detected_at: Instant::NEVER,
        }
    }

    /// Tell the time.
    pub(super) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// Start `beacon_det_timer`. That it is over brings nothing about, so it has no event.
    pub(super) fn start_detection(&mut self) {
        self.detected_at = self.now + self.durations[Timer::BeaconDetection as usize];
    }

    /// Whether `beacon_det_timer` is over.
    pub(super) fn is_detection_done(&self) -> bool {
        self.now >= self.detected_at
    }

    pub(super) fn start(&mut self, timer: Timer) {
        self.start_for(timer, self.durations[timer as usize]);
    }

    pub(super) fn start_for(&mut self, timer: Timer, after: Span) {
        let index = timer as usize;
        self.numbers[index] += 1;
        self.courses[index] = Course::Runs;
        self.started.push_back(Started { timer, number: self.numbers[index], after });
    }

    /// Let a timer that runs end `after` from now instead.
    pub(super) fn prolong(&mut self, timer: Timer, after: Span) {
        let number = self.numbers[timer as usize];
        let not_taken =
            |started: &&mut Started<Timer>| (started.timer, started.number) == (timer, number);
        match self.started.iter_mut().find(not_taken) {
            Some(started) => started.after = after,
            None => self.start_for(timer, after),
        }
    }

    /// How long a timer runs.
    pub(super) fn duration(&self, timer: Timer) -> Span {
        self.durations[timer as usize]
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.numbers[timer as usize] += 1;
        self.courses[timer as usize] = Course::Stopped;
    }

    pub(super) fn is_done(&self, timer: Timer) -> bool {
        self.courses[timer as usize] == Course::Done
    }

    /// The number of the start, if the timer runs.
    pub(super) fn running(&self, timer: Timer) -> Option<u64> {
        let index = timer as usize;
        (self.courses[index] == Course::Runs).then_some(self.numbers[index])
    }

    /// A start of a timer is over. Whether it still counts.
    pub(super) fn end(&mut self, timer: Timer, number: u64) -> bool {
        let index = timer as usize;
        let counts = self.numbers[index] == number && self.courses[index] == Course::Runs;
        if counts {
            self.courses[index] = Course::Done;
        }
        counts
    }
}
