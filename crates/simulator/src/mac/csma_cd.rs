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
//! *Transmitting* holds the frame: `Idle → (ready) → Waiting → (not deferring) → Starting →
//! (turnaround time) → Sending → …`. A station that has decided to start hears nothing more until
//! its first bit leaves; the standards know no such time.

use super::access::{Access, Next};
use crate::time::Span;

/// The silence that a station owes before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Inter-frame gap and priority wait.
    pub length: Span,
    /// Its first part, in which carrier restarts it.
    pub part1: Span,
    /// Whether carrier does so too after an own transmission.
    pub is_watched_after_own: bool,
}

impl Gap {
    /// An inter-frame gap with its first part, and a priority wait.
    #[must_use]
    pub fn new(gap: Span, part1: Span, wait: Span) -> Self {
        let length = gap + wait;
        if wait > Span::ZERO {
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
enum Transmitting {
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
    transmission: Transmitting,
    signals_heard: u32,
    was_transmitting: bool,
    /// Number of the last gap.
    gap: u64,
}

impl CsmaCd {
    /// A station that is silent and owes this gap.
    #[must_use]
    pub fn new(owed: Gap) -> Self {
        Self {
            owed,
            deference: Deference::Silent,
            transmission: Transmitting::Idle,
            signals_heard: 0,
            was_transmitting: false,
            gap: 0,
        }
    }

    /// Whether a frame waits until it may start.
    pub(crate) fn is_waiting(&self) -> bool {
        self.transmission == Transmitting::Waiting
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
        self.transmission = Transmitting::Waiting;
        self.deference = Deference::Busy;
        self.perhaps_silent()
    }

    /// The gap is over, and nothing waits for it.
    fn end_gap(&mut self) {
        if self.signals_heard > 0 {
            self.deference = Deference::Busy;
            self.was_transmitting = false;
        } else {
            self.deference = Deference::Silent;
        }
    }

    fn perhaps_silent(&mut self) -> Next {
        let gap = self.owed;
        let sending =
            matches!(self.transmission, Transmitting::Starting | Transmitting::Sending(_));
        if self.deference != Deference::Busy || self.signals_heard > 0 || sending {
            return Next::Nothing;
        }
        self.gap += 1;
        let after = if gap.part1 > Span::ZERO {
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
        self.transmission = Transmitting::Waiting;
        if self.deference == Deference::Silent { Next::Start } else { Next::Nothing }
    }

    fn start(&mut self) {
        self.transmission = Transmitting::Starting;
        self.deference = Deference::Busy;
    }

    fn withdraw(&mut self) {
        self.transmission = Transmitting::Idle;
        if self.deference == Deference::GapPart2 {
            self.end_gap(); // its end was the decision to start
        }
    }

    fn send(&mut self, transmission: usize) -> bool {
        self.transmission = Transmitting::Sending(transmission);
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
            Transmitting::Sending(transmission) => Some(transmission),
            _ => None,
        }
    }

    fn carrier_off(&mut self) -> Next {
        self.signals_heard -= 1;
        self.perhaps_silent()
    }

    fn send_over(&mut self) -> Next {
        self.transmission = Transmitting::Idle;
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
            Deference::GapPart2 if self.transmission == Transmitting::Waiting => {
                return Next::Start;
            }
            Deference::GapPart2 => self.end_gap(),
            Deference::Busy => {} // carrier returned in the first part
            Deference::Silent => unreachable!("a gap ends once"),
        }
        Next::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Gap = Gap { length: ps(96), part1: ps(64), is_watched_after_own: false };

    const fn ps(ps: u64) -> Span {
        Span::from_ps(ps)
    }

    #[test]
    fn a_station_defers_to_carrier_and_to_the_whole_gap_after_it() {
        let mut mac = CsmaCd::new(GAP);
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.ready(), Next::Nothing);
        assert_eq!(mac.carrier_off(), Next::Timer { number: 1, after: ps(64) });
        assert_eq!(mac.timer_over(1), Next::Timer { number: 1, after: ps(32) });
        // In the second part carrier is ignored: it starts, and collides.
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.timer_over(1), Next::Start);
        assert!(mac.send(0));
    }

    #[test]
    fn a_frame_that_is_withdrawn_leaves_the_gap_over() {
        let mut mac = CsmaCd::new(GAP);
        assert_eq!(mac.ready(), Next::Start);
        mac.withdraw();
        assert_eq!(mac.ready(), Next::Start);
        mac.withdraw();
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.ready(), Next::Nothing);
        assert_eq!(mac.carrier_off(), Next::Timer { number: 1, after: ps(64) });
        assert_eq!(mac.timer_over(1), Next::Timer { number: 1, after: ps(32) });
        assert_eq!(mac.carrier_on(), None);
        // It would collide with what began in the second part, but has nothing to send.
        assert_eq!(mac.timer_over(1), Next::Start);
        mac.withdraw();
        assert_eq!(mac.ready(), Next::Nothing);
        assert_eq!(mac.carrier_off(), Next::Timer { number: 2, after: ps(64) });
    }

    #[test]
    fn carrier_in_the_first_part_restarts_the_gap_but_not_after_an_own_transmission() {
        let mut mac = CsmaCd::new(GAP);
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.carrier_off(), Next::Timer { number: 1, after: ps(64) });
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.carrier_off(), Next::Timer { number: 2, after: ps(64) });
        assert_eq!(mac.timer_over(1), Next::Nothing);
        assert_eq!(mac.timer_over(2), Next::Timer { number: 2, after: ps(32) });
        assert_eq!(mac.timer_over(2), Next::Nothing);
        assert_eq!(mac.ready(), Next::Start);
        assert!(!mac.send(5));
        assert_eq!(mac.send_over(), Next::Timer { number: 3, after: ps(64) });
        assert_eq!(mac.carrier_on(), None);
        assert_eq!(mac.timer_over(3), Next::Timer { number: 3, after: ps(32) });
    }
}
