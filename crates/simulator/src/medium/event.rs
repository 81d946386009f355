//! Events of a medium, and the order in which those of one instant are taken:
//!
//! 1. A frame is ready at the MAC, and then gaps are over: what the MAC begins in the instant in
//!    which an opportunity of its node begins goes out in it.
//! 2. Timers of the sublayer, those of the delay line first. What a node decides, it decides before
//!    it hears what arrives in that instant.
//! 3. Carrier that ends is heard before carrier that begins: two nodes that use opportunities which
//!    follow each other leave a silence between them, however short. Where carrier joins, a MAC is
//!    told of the end of carrier when all of the instant has happened.
//! 4. The MAC has sent its frame, or its jam.

use super::access::Timer;
use super::signals::Symbol;
use crate::event_queue::Ranked;
use crate::identity::StationId;

/// What happens at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<T> {
    /// A frame, or its next attempt, is ready at the MAC.
    Ready { station: StationId },
    /// The gap with this number is over.
    GapOver { station: StationId, number: u64 },
    /// The first bit leaves of a MAC that has decided to start a turnaround time ago.
    FirstBit { station: StationId },
    /// A timer of the sublayer is over.
    TimerOver { station: StationId, timer: T, number: u64 },
    /// The line of a node changes, as it is heard at a station.
    Hear { station: StationId, from: StationId, symbol: Symbol },
    /// The end delimiter of a node is over.
    DelimiterOver { station: StationId },
    /// The MAC has sent its frame or jam, in this version.
    MacOver { station: StationId, version: u32 },
    /// PLCA is switched on or off, or the node falls silent or not.
    Switch { station: StationId },
    /// The cable begins or ceases to send the signal of a station back.
    CableFault { station: StationId },
    /// The own signal comes back to a station, or no longer.
    Echo { station: StationId, is_on: bool },
}

impl<T: Timer> Event<T> {
    /// The station at which it happens.
    pub(crate) fn station(self) -> StationId {
        match self {
            Self::Ready { station }
            | Self::GapOver { station, .. }
            | Self::FirstBit { station }
            | Self::TimerOver { station, .. }
            | Self::Hear { station, .. }
            | Self::DelimiterOver { station }
            | Self::MacOver { station, .. }
            | Self::Switch { station }
            | Self::CableFault { station }
            | Self::Echo { station, .. } => station,
        }
    }

    /// Whether opportunities that end in its instant end before it.
    pub(crate) fn follows_opportunities(self) -> bool {
        self.rank() > 3
    }
}

impl<T: Timer> Ranked for Event<T> {
    fn rank(&self) -> u8 {
        match self {
            Self::Switch { .. } | Self::CableFault { .. } | Self::Ready { .. } => 0,
            Self::GapOver { .. } | Self::FirstBit { .. } => 1,
            Self::TimerOver { timer, .. } if timer.is_first() => 2,
            Self::TimerOver { .. } | Self::DelimiterOver { .. } => 3,
            Self::Hear { symbol: Symbol::Silence, .. } | Self::Echo { is_on: false, .. } => 4,
            Self::Hear { .. } | Self::Echo { .. } => 5,
            Self::MacOver { .. } => 6,
        }
    }
}
