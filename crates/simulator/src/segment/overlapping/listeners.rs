//! Who hears the same at a position, and when they defer by it.

use crate::identity::PositionId;
use crate::mac::csma_cd::Gap;
use crate::time::{Instant, Span};

/// A signal at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    pub on: Instant,
    pub off: Instant,
    /// Its burst.
    pub burst: usize,
}

/// The signals at a position.
#[derive(Clone, Debug)]
pub(super) struct Signals {
    /// In the order of their arrival.
    pub list: Vec<Arrival>,
    /// When the last of them is over.
    pub last: Instant,
}

impl Signals {
    pub const NONE: Self = Self { list: Vec::new(), last: Instant::PAST };

    pub fn clear(&mut self) {
        self.list.clear();
        self.last = Instant::PAST;
    }

    #[inline]
    pub fn add(&mut self, signal: Arrival) {
        self.last = self.last.max(signal.off);
        // Signals arrive nearly in the order in which they were sent, so each is soon in its
        // position.
        let mut at = self.list.len();
        self.list.push(signal);
        while at > 0 && self.list[at - 1] > signal {
            self.list[at] = self.list[at - 1];
            at -= 1;
        }
        self.list[at] = signal;
    }
}

/// The last time in which stations defer: from carrier until gap and wait after it are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deferral {
    pub carrier_off: Instant,
    /// The gap after an own transmission: carrier does not restart it.
    pub is_unwatched: bool,
}

impl Deferral {
    /// Of those who never heard anything.
    pub const NONE: Self = Self { carrier_off: Instant::PAST, is_unwatched: false };

    /// What it becomes with a signal, in the order of arrivals, and when the signal begins another
    /// one, if it does; else [`Instant::PAST`].
    #[inline]
    fn hear(self, signal: &Arrival, gap: Gap) -> (Instant, Self) {
        let off = self.carrier_off;
        if signal.on <= off || (signal.on < off + gap.part1 && !self.is_unwatched) {
            return (Instant::PAST, Self { carrier_off: off.max(signal.off), ..self });
        }
        // What begins in the rest of a gap is noticed if it is still there when the gap is over.
        let begin = signal.on.max(off + gap.length);
        if signal.off < begin {
            return (Instant::PAST, self);
        }
        (begin, Self { carrier_off: signal.off, is_unwatched: false })
    }
}

/// When those who hear the same decide to start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    /// The one who is ready first.
    pub first: Instant,
    /// Gap and wait are over: who is ready before decides then, and others when they are ready, if
    /// that is no later than `until`.
    pub over: Instant,
    /// When the next signal begins.
    pub until: Instant,
}

/// Stations at a position that hear the same.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    pub position: PositionId,
    /// The burst in which they sent, until it is forgotten: they do not hear it any more.
    pub own: Option<usize>,
    /// Bursts before it in which one of them sent last, if others at its position still heard that
    /// when it sent again.
    pub before: Vec<usize>,
    /// By signals that began before `cut`.
    pub deferral: Deferral,
    pub cut: Instant,
    /// When the first of them is ready.
    pub first_ready: Instant,
    pub decided: Decided,
}

impl Listener {
    /// Those at a position who have not sent.
    pub fn at(position: PositionId) -> Self {
        Self {
            position,
            own: None,
            before: Vec::new(),
            deferral: Deferral::NONE,
            cut: Instant::PAST,
            first_ready: Instant::NEVER,
            decided: Decided { first: Instant::NEVER, over: Instant::NEVER, until: Instant::NEVER },
        }
    }

    /// Those of a burst whose carrier goes off then.
    pub fn of_burst(position: PositionId, burst: usize, carrier_off: Instant, gap: Gap) -> Self {
        let deferral = Deferral { carrier_off, is_unwatched: !gap.is_watched_after_own };
        Self { own: Some(burst), deferral, ..Self::at(position) }
    }

    /// Whether they sent in a burst, and so do not hear it.
    #[inline]
    pub fn is_own(&self, burst: usize) -> bool {
        self.own == Some(burst) || self.before.contains(&burst)
    }

    /// Whether they start before all signals but their own are over, and a gap after.
    #[inline]
    pub fn starts_within(&self, signals: &Signals, gap: Span) -> bool {
        let first = self.decided.first;
        let mut others = signals.list.iter().filter(|of| !self.is_own(of.burst));
        first < signals.last + gap && others.any(|signal| first < signal.off + gap)
    }

    /// Work out when they decide to start, as far as is known.
    #[inline]
    pub fn decide(&mut self, signals: &Signals, gap: Gap) {
        let mut deferral = self.deferral;
        let mut until = Instant::NEVER;
        if self.first_ready < signals.last.max(deferral.carrier_off) + gap.length {
            for signal in &signals.list {
                if signal.on < self.cut || self.is_own(signal.burst) {
                    continue;
                }
                let first = self.first_ready.max(deferral.carrier_off + gap.length);
                let (begin, next) = deferral.hear(signal, gap);
                if first <= begin {
                    until = begin;
                    break;
                }
                deferral = next;
            }
        }
        let over = deferral.carrier_off + gap.length;
        self.decided = Decided { first: self.first_ready.max(over), over, until };
    }

    /// Hear for good what begins before `cut`, where nothing that begins before is to come and all
    /// who decided before have started.
    pub fn hear_until(&mut self, cut: Instant, signals: &Signals, gap: Gap) {
        let mut heard_until = cut;
        for signal in signals.list.iter().take_while(|signal| signal.on < cut) {
            if signal.on < self.cut || self.is_own(signal.burst) {
                continue;
            }
            let (begin, next) = self.deferral.hear(signal, gap);
            if begin >= cut {
                heard_until = signal.on;
                break;
            }
            self.deferral = next;
        }
        self.cut = heard_until;
        // Without a gap, what begins to be heard with the end of a signal still joins it.
        if self.deferral.carrier_off + gap.length < cut {
            self.deferral = Deferral::NONE;
        }
    }
}
