//! Signals on the line, and between MAC, sublayer and PHY of a node.

use super::compiled::small;

/// Number of a frame on a medium. After 2^32 frames numbers begin again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameNumber(u32);

impl FrameNumber {
    /// The number that so many frames later have.
    #[must_use]
    pub(crate) fn after(self, frames: usize) -> Self {
        Self(self.0.wrapping_add(small(frames)))
    }

    /// How many frames earlier the first of the two is.
    #[must_use]
    pub fn since(self, first: Self) -> usize {
        self.0.wrapping_sub(first.0) as usize
    }
}

/// What is on the line of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symbol {
    /// Nothing.
    #[default]
    Silence,
    /// A beacon.
    Beacon,
    /// A line that is held.
    Commit,
    /// A frame, by its number.
    Data(FrameNumber),
    /// What the PHY sends after a frame.
    End,
}

/// What the PHY of a node receives of the others. Of several signals at once it receives none, but
/// goes on with a frame that it received before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heard {
    /// Nothing, or what cannot be received.
    #[default]
    Nothing,
    /// A beacon.
    Beacon,
    /// The line is held.
    Commit,
    /// A frame.
    Data,
}

/// What a node puts on the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sending {
    /// Nothing.
    #[default]
    Nothing,
    /// A beacon: a cycle begins.
    Beacon,
    /// It holds the line.
    Commit,
    /// A frame.
    Data,
}

/// Signals from the PHY and the MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a signal of the standard")]
pub struct Inputs {
    /// Carrier, its own included.
    pub carrier: bool,
    /// Carrier of others.
    pub others: bool,
    /// Carrier of others while it sends.
    pub collision: bool,
    /// What it receives of the others; nothing while it sends.
    pub heard: Heard,
    /// Whether the MAC sends.
    pub mac_sends: bool,
}
