//! Events of a bus, and the order in which those of one instant are taken:
//!
//! 1. A frame is ready at the MAC, and then gaps are over: what the MAC begins in the instant in
//!    which an opportunity of its node begins goes out in it.
//! 2. Timers of the sublayer, those of the delay line first. What a node decides, it decides before
//!    it hears what arrives in that instant.
//! 3. Carrier that ends is heard before carrier that begins: two nodes that use opportunities which
//!    follow each other leave a silence between them, however short.
//! 4. The MAC has sent its frame, or its jam.

use super::timers::Timer;

/// What is on the line of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Symbol {
    /// Nothing.
    #[default]
    Silence,
    /// A beacon.
    Beacon,
    /// A line that is held.
    Commit,
    /// A frame, by its number.
    Data(u32),
    /// What the PHY sends after a frame.
    End,
}

/// What happens at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A frame, or its next attempt, is ready at the MAC.
    Ready { station: u32 },
    /// The gap with this number is over.
    GapOver { station: u32, number: u64 },
    /// The first bit leaves of a MAC that has decided to start a turnaround time ago.
    FirstBit { station: u32 },
    /// A timer of the sublayer is over.
    TimerOver { station: u32, timer: Timer, number: u64 },
    /// The line of a node changes, as it is heard at a station.
    Hear { station: u32, from: u32, symbol: Symbol },
    /// The end delimiter of a node is over.
    DelimiterOver { station: u32 },
    /// The MAC has sent its frame or jam, in this version.
    MacOver { station: u32, version: u32 },
    /// PLCA is switched on or off, or the node falls silent or not.
    Switch { station: u32 },
}

impl Event {
    /// The station at which it happens.
    pub(super) fn station(self) -> u32 {
        match self {
            Self::Ready { station }
            | Self::GapOver { station, .. }
            | Self::FirstBit { station }
            | Self::TimerOver { station, .. }
            | Self::Hear { station, .. }
            | Self::DelimiterOver { station }
            | Self::MacOver { station, .. }
            | Self::Switch { station } => station,
        }
    }

    /// Whether opportunities that end in its instant end before it.
    pub(super) fn follows_opportunities(self) -> bool {
        self.rank() > 3
    }

    /// Its rank among the events of an instant.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Switch { .. } | Self::Ready { .. } => 0,
            Self::GapOver { .. } | Self::FirstBit { .. } => 1,
            Self::TimerOver { timer, .. } if timer <= Timer::Commit => 2,
            Self::TimerOver { .. } | Self::DelimiterOver { .. } => 3,
            Self::Hear { symbol: Symbol::Silence, .. } => 4,
            Self::Hear { .. } => 5,
            Self::MacOver { .. } => 6,
        }
    }
}

/// An event at its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) at: i64,
    /// Its rank, and its number among all events.
    order: u64,
    pub(super) event: Event,
}

impl Entry {
    /// The event with this number, below 2⁵⁶.
    pub(super) fn new(at: i64, serial: u64, event: Event) -> Self {
        Self { at, order: u64::from(event.rank()) << 56 | serial, event }
    }

    fn key(&self) -> (i64, u64) {
        (self.at, self.order)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
