//! Channel time of a medium.

use crate::time::{Instant, Span};

/// What takes the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A beacon.
    Beacon,
    /// A line that is held.
    Commit,
    /// The preamble of a frame that was sent to its end, or its end delimiter.
    Preamble,
    /// Such a frame.
    Frame,
    /// A frame that collided, with its jam.
    Collision,
}

/// Something on the line: from its first to its last bit at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signal {
    /// First bit.
    pub start: Instant,
    /// Last bit.
    pub end: Instant,
    /// What it is.
    pub kind: Kind,
}

/// Channel time of a bus: each moment of the window belongs to the signal that began first among
/// those under way; without one it is an opportunity within cycles, or idle.
#[derive(Clone, Debug, Default)]
pub struct Line {
    from: Instant,
    to: Instant,
    covered: Instant,
    /// The gap that follows a signal; 0 with PLCA.
    owed: Span,
    gap_until: Instant,
    gap: Span,
    /// By kind.
    taken: [Span; 5],
    opportunity: Span,
    /// Since when cycles go on.
    active_since: Option<Instant>,
    /// When cycles went on before, as far as it is not counted yet.
    active: Vec<(Instant, Instant)>,
}

impl Line {
    /// Nothing counted yet. Of a bus on which nobody uses PLCA, `gap` is the gap that follows a
    /// signal; else it is 0.
    #[must_use]
    pub fn new(from: Instant, to: Instant, gap: Span) -> Self {
        Self { from, to, covered: from, owed: gap, ..Self::default() }
    }

    /// Cycles begin or cease.
    pub fn set_active(&mut self, now: Instant, is_active: bool) {
        match (self.active_since, is_active) {
            (None, true) => self.active_since = Some(now),
            (Some(since), false) => {
                self.active.push((since, now));
                self.active_since = None;
            }
            _ => {}
        }
    }

    /// Count a signal. Signals come in the order of their starts.
    pub fn record(&mut self, signal: Signal) {
        let start = signal.start.clamp(self.covered, self.to);
        self.pass_silence(start);
        let end = signal.end.clamp(start, self.to);
        self.taken[signal.kind as usize] += end - start;
        self.covered = end;
        self.gap_until = self.gap_until.max(signal.end + self.owed);
    }

    /// Count what took the line from then on, by kind, while cycles went on. Either all of it lies
    /// within the window or nothing.
    pub fn record_cycles(&mut self, from: Instant, to: Instant, taken: [Span; 5]) {
        if from < self.from || to > self.to {
            return;
        }
        self.pass_silence(from);
        for (sum, time) in self.taken.iter_mut().zip(taken) {
            *sum += time;
        }
        self.opportunity += to - from - taken.iter().copied().sum();
        self.covered = to;
    }

    fn pass_silence(&mut self, until: Instant) {
        self.gap += (self.gap_until.min(until) - self.covered).max(Span::ZERO);
        let silent = |&(from, to): &(Instant, Instant)| {
            (to.min(until) - from.max(self.covered)).max(Span::ZERO)
        };
        self.opportunity += self.active.iter().map(silent).sum();
        self.active.retain(|&(_, to)| to > until);
        if let Some(since) = self.active_since {
            self.opportunity += (until - since.max(self.covered)).max(Span::ZERO);
        }
        self.covered = until;
    }

    /// The times of the medium (frame, preamble, gap, collision, idle), and those of PLCA (beacon,
    /// commit, opportunity).
    #[must_use]
    pub fn finish(mut self) -> ([Span; 5], [Span; 3]) {
        self.pass_silence(self.to);
        let [beacon, commit, preamble, frame, collision] = self.taken;
        let taken: Span = self.taken.iter().copied().sum();
        let idle = self.to - self.from - taken - self.gap - self.opportunity;
        ([frame, preamble, self.gap, collision, idle], [beacon, commit, self.opportunity])
    }
}
