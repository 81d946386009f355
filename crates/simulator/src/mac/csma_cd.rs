//! CSMA/CD of one station, after the procedures of 802.3-2022 § 4.2.8: for segments, hubs and
//! half-duplex links, of any rate and standard.
//!
//! A station runs two processes. *Deference* watches the medium:
//!
//! ```text
//!          carrier, or own transmission
//! Silent ──────────────────────────────► Busy
//!   ▲                                      │ all of it gone
//!   │                                      ▼
//!   │            carrier, unless it transmitted itself (or waits for higher priority)
//!   │           ┌────────────────────── GapPart1 ◄─┐
//!   │           ▼                          │       │ (a gap whose first part is empty begins here ▼)
//!   │         Busy                         ▼       │
//!   └────────────────────────────────── GapPart2   carrier is ignored; at its end a waiting frame goes out,
//!                                                  and carrier still there makes it Busy again
//! ```
//!
//! A station with a priority wait has a gap that is longer by it and has no second part; it watches
//! carrier after its own transmissions, too.
//!
//! *Transmission* holds the frame: `Idle → (ready) → Waiting → (not deferring) → Starting →
//! (turnaround time) → Sending → …`. A station that has decided to start hears nothing more until
//! its first bit leaves; the standards know no such time.

use super::access::{Access, Next};
use ethermeter_traffic::Stream;
use ethermeter_trial::medium::Backoff;

/// The silence that a station owes before it starts, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Inter-frame gap and priority wait.
    pub length: i64,
    /// Its first part, in which carrier restarts it.
    pub part1: i64,
    /// Whether carrier does so too after an own transmission.
    pub is_watched_after_own: bool,
}

impl Gap {
    /// An inter-frame gap with its first part, and a priority wait.
    #[must_use]
    pub fn new(gap: i64, part1: i64, wait: i64) -> Self {
        let length = gap + wait;
        if wait > 0 {
            // A station that starts within it may be of higher priority, so it is watched to its
            // end.
            return Self { length, part1: length, is_watched_after_own: true };
        }
        Self { length, part1, is_watched_after_own: false }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Deference {
    #[default]
    Silent,
    Busy,
    GapPart1,
    GapPart2,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Transmission {
    #[default]
    Idle,
    Waiting,
    Starting,
    Sending(usize),
}

/// Medium access of one station.
#[derive(Clone, Copy, Debug)]
pub struct CsmaCd {
    owed: Gap,
    deference: Deference,
    transmission: Transmission,
    signals_heard: u32,
    was_transmitting: bool,
    gap: u64,
}

impl CsmaCd {
    /// A station that is silent and owes this gap.
    #[must_use]
    pub fn new(owed: Gap) -> Self {
        Self {
            owed,
            deference: Deference::Silent,
            transmission: Transmission::Idle,
            signals_heard: 0,
            was_transmitting: false,
            gap: 0,
        }
    }

    /// Whether a frame waits until it may start.
    pub(crate) fn is_waiting(&self) -> bool {
        self.transmission == Transmission::Waiting
    }

    /// Whether it owes no silence and hears nothing.
    pub(crate) fn is_silent(&self) -> bool {
        self.deference == Deference::Silent
    }

    /// The number of the gap under way, whether its first part is over, and whether it follows an
    /// own transmission.
    pub(crate) fn gap_under_way(&self) -> Option<(u64, bool, bool)> {
        let is_second = match self.deference {
            Deference::GapPart1 => false,
            Deference::GapPart2 => true,
            Deference::Silent | Deference::Busy => return None,
        };
        Some((self.gap, is_second, self.was_transmitting))
    }

    /// A frame is to be tried again, and a gap is owed though nothing may have been heard for long:
    /// no rule of the standard.
    pub(crate) fn ready_after_gap(&mut self) -> Next {
        self.transmission = Transmission::Waiting;
        self.deference = Deference::Busy;
        self.perhaps_silent()
    }

    fn perhaps_silent(&mut self) -> Next {
        let gap = self.owed;
        let sending =
            matches!(self.transmission, Transmission::Starting | Transmission::Sending(_));
        if self.deference != Deference::Busy || self.signals_heard > 0 || sending {
            return Next::Nothing;
        }
        self.gap += 1;
        let after = if gap.part1 > 0 {
            self.deference = Deference::GapPart1;
            gap.part1
        } else {
            self.deference = Deference::GapPart2;
            gap.length
        };
        Next::Timer { number: self.gap, after }
    }
}

impl Access for CsmaCd {
    fn ready(&mut self) -> Next {
        self.transmission = Transmission::Waiting;
        if self.deference == Deference::Silent { Next::Start } else { Next::Nothing }
    }

    fn start(&mut self) {
        self.transmission = Transmission::Starting;
        self.deference = Deference::Busy;
    }

    fn send(&mut self, transmission: usize) -> bool {
        self.transmission = Transmission::Sending(transmission);
        self.deference = Deference::Busy;
        self.was_transmitting = true;
        self.signals_heard > 0
    }

    fn carrier_on(&mut self) -> Option<usize> {
        self.signals_heard += 1;
        match self.deference {
            Deference::Silent => {
                self.deference = Deference::Busy;
                self.was_transmitting = false;
            }
            Deference::GapPart1 if !self.was_transmitting || self.owed.is_watched_after_own => {
                self.deference = Deference::Busy;
            }
            // In the second part, and in the first after an own transmission, carrier is not
            // watched.
            Deference::GapPart1 | Deference::GapPart2 | Deference::Busy => {}
        }
        match self.transmission {
            Transmission::Sending(transmission) => Some(transmission),
            _ => None,
        }
    }

    fn carrier_off(&mut self) -> Next {
        self.signals_heard -= 1;
        self.perhaps_silent()
    }

    fn send_over(&mut self) -> Next {
        self.transmission = Transmission::Idle;
        self.perhaps_silent()
    }

    /// A part of the gap `number` is over.
    fn timer_over(&mut self, number: u64) -> Next {
        let gap = self.owed;
        if self.gap != number {
            return Next::Nothing; // a gap that was broken off
        }
        match self.deference {
            Deference::GapPart1 => {
                self.deference = Deference::GapPart2;
                return Next::Timer { number, after: gap.length - gap.part1 };
            }
            Deference::GapPart2 if self.transmission == Transmission::Waiting => {
                return Next::Start;
            }
            Deference::GapPart2 if self.signals_heard > 0 => {
                self.deference = Deference::Busy;
                self.was_transmitting = false;
            }
            Deference::GapPart2 => self.deference = Deference::Silent,
            Deference::Busy => {} // carrier returned in the first part
            Deference::Silent => unreachable!("a gap ends once"),
        }
        Next::Nothing
    }
}

/// What follows a collision (§ 4.2.3.2.5).
#[derive(Clone, Debug)]
pub struct Retry {
    /// Rule for the number of slots to wait.
    pub backoff: Backoff,
    /// Attempts of a frame, the first included.
    pub attempt_limit: u32,
    /// Slot time in picoseconds.
    pub slot: i64,
}

impl Retry {
    /// Whether a frame may be tried again after so many attempts that collided.
    #[inline]
    #[must_use]
    pub fn is_allowed(&self, attempts: u32) -> bool {
        attempts < self.attempt_limit
    }

    /// Picoseconds from the end of the jam to the next attempt, drawn after so many attempts.
    #[inline]
    pub fn wait(&self, attempts: u32, chance: &mut Stream) -> i64 {
        self.slots(chance.below(self.backoff.range(attempts)))
    }

    /// Duration of a number of slots, at most [`LONGEST_WAIT`].
    #[inline]
    #[must_use]
    pub fn slots(&self, slots: u64) -> i64 {
        slots.cast_signed().saturating_mul(self.slot).min(LONGEST_WAIT)
    }

    /// The same of a number that need not be whole, to the nearest picosecond.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
    pub fn fractional_slots(&self, slots: f64) -> i64 {
        let part = (slots.fract() * self.slot as f64).round() as i64;
        (self.slots(slots.trunc() as u64) + part).min(LONGEST_WAIT)
    }
}

/// A wait beyond every simulated time, and far from overflow.
pub const LONGEST_WAIT: i64 = 1 << 62;

/// A transmission on the medium.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Who sends.
    pub sender: u32,
    /// When its first bit leaves.
    pub start: i64,
    /// When its last bit, of frame or jam, leaves.
    pub end: i64,
    /// How often its end has changed; what was scheduled for another end is void.
    pub version: u32,
    /// When the sender heard that it collides.
    pub collision: Option<i64>,
}

impl Sent {
    /// A transmission that has just begun.
    #[must_use]
    pub fn new(sender: u32, start: i64, end: i64) -> Self {
        Self { sender, start, end, version: 0, collision: None }
    }

    /// The sender hears another signal: it completes the preamble, then jams (§ 4.2.3.2.4). Whether
    /// its end has changed.
    #[must_use]
    pub fn collide(&mut self, now: i64, preamble: i64, jam: i64) -> bool {
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
    pub fn is_late(&self, heard: i64, slot: i64) -> bool {
        heard - self.start > slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Gap = Gap { length: 96, part1: 64, is_watched_after_own: false };

    #[test]
    fn a_station_defers_to_carrier_and_to_the_whole_gap_after_it() {
        let mut mac = CsmaCd::new(GAP);
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.ready(), Next::Nothing);
        assert_eq!(mac.carrier_off(), Next::Timer { number: 1, after: 64 });
        assert_eq!(mac.timer_over(1), Next::Timer { number: 1, after: 32 });
        // In the second part carrier is ignored: it starts, and collides.
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.timer_over(1), Next::Start);
        assert!(mac.send(0));
    }

    #[test]
    fn carrier_in_the_first_part_restarts_the_gap_but_not_after_an_own_transmission() {
        let mut mac = CsmaCd::new(GAP);
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.carrier_off(), Next::Timer { number: 1, after: 64 });
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.carrier_off(), Next::Timer { number: 2, after: 64 });
        assert_eq!(mac.timer_over(1), Next::Nothing);
        assert_eq!(mac.timer_over(2), Next::Timer { number: 2, after: 32 });
        assert_eq!(mac.timer_over(2), Next::Nothing);
        assert_eq!(mac.ready(), Next::Start);
        assert!(!mac.send(5));
        assert_eq!(mac.send_over(), Next::Timer { number: 3, after: 64 });
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.timer_over(3), Next::Timer { number: 3, after: 32 });
    }

    #[test]
    fn a_collision_completes_the_preamble_and_is_late_beyond_the_slot() {
        let mut mac = CsmaCd::new(GAP);
        assert_eq!(mac.ready(), Next::Start);
        assert!(!mac.send(3));
        assert_eq!(mac.carrier_on(), Some(3));
        let mut sent = Sent::new(0, 100, 10_000);
        assert!(sent.collide(110, 64, 32));
        assert!(!sent.collide(120, 64, 32));
        assert_eq!((sent.end, sent.version, sent.collision), (196, 1, Some(110)));
        assert!(!sent.is_late(612, 512) && sent.is_late(613, 512));
    }
}
