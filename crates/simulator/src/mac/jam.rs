//! The jam: how a transmission that collides goes on and ends (802.3-2022 § 4.2.3.2.4).

use crate::identity::StationId;
use crate::time::{Instant, Span};

/// A transmission on the medium.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// Who sends.
    pub sender: StationId,
    /// When its first bit leaves.
    pub start: Instant,
    /// When its last bit, of frame or jam, leaves.
    pub end: Instant,
    /// How often its end has changed; what was scheduled for another end is void.
    pub version: u32,
    /// When the sender heard that it collides.
    pub collision: Option<Instant>,
}

impl Transmission {
    /// A transmission that has just begun.
    #[must_use]
    pub fn new(sender: StationId, start: Instant, end: Instant) -> Self {
        Self { sender, start, end, version: 0, collision: None }
    }

    /// The sender hears another signal: it completes the preamble, then jams. Whether
    /// its end has changed.
    #[must_use]
    pub fn collide(&mut self, now: Instant, preamble: Span, jam: Span) -> bool {
        let is_new = self.collision.is_none() && now < self.end;
        if is_new {
            self.collision = Some(now);
            self.end = now.max(self.start + preamble) + jam;
            self.version += 1;
        }
        is_new
    }

    /// Whether a collision that was heard then is late.
    #[must_use]
    pub fn is_late(&self, heard: Instant, slot: Span) -> bool {
        heard - self.start > slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ps(ps: u64) -> Span {
        Span::from_ps(ps)
    }

    const fn at(ps: u64) -> Instant {
        Instant::from_ps(ps)
    }

    #[test]
    fn a_collision_completes_the_preamble_and_is_late_beyond_the_slot() {
        let mut sent = Transmission::new(StationId::new(0), at(100), at(10_000));
        assert!(sent.collide(at(110), ps(64), ps(32)));
        assert!(!sent.collide(at(120), ps(64), ps(32)));
        assert_eq!((sent.end, sent.version, sent.collision), (at(196), 1, Some(at(110))));
        assert!(!sent.is_late(at(612), ps(512)) && sent.is_late(at(613), ps(512)));
    }
}
