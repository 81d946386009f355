//! What happens at a moment, and what comes first of what happens in one.

use crate::queue::Ranked;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The frame in service has left a resource.
    Left { resource: u32 },
    /// A resource can serve the next frame.
    Free { resource: u32 },
    /// A PAUSE frame has come to a port.
    Pause { port: u32, quanta: u16 },
    /// A port's silence is over.
    Wake { port: u32 },
    /// A port that wants silence asks again.
    AskAgain { port: u32, asked: u64 },
    /// A copy has passed a stage after which frames wait for each other.
    Gather { copy: u32, stage: u32 },
    /// The first of a batch, the one with this number, has waited long enough.
    Interrupt { stage: u32, batch: u64 },
    /// A copy comes to a port from a shared medium.
    Reach { copy: u32, port: u32 },
    /// A copy comes to its next stage, or to the end of its route.
    Arrive { copy: u32, lane: u32 },
    /// A flow's next message.
    Send { flow: u32 },
    /// A receiver's answer.
    Answer { receiver: u32 },
    /// A flow waits no longer for answers to a message.
    TimeOut { flow: u32, message: u32 },
    /// A transfer, or a comparison of clocks, has something to do by itself.
    Transfer { flow: u32 },
}

impl Event {
    /// Its rank, and what comes first among equals.
    fn order(self) -> (u8, u32) {
        match self {
            Self::Left { resource } => (0, resource),
            Self::Free { resource } => (1, resource),
            Self::Pause { port, .. } | Self::Wake { port } | Self::AskAgain { port, .. } => {
                (2, port)
            }
            Self::Gather { stage, .. } => (3, stage),
            Self::Reach { port, .. } => (3, port),
            Self::Interrupt { stage, .. } => (7, stage),
            Self::Arrive { lane, .. } => (3, lane),
            Self::Send { flow } => (4, flow),
            Self::Answer { receiver } => (5, receiver),
            Self::TimeOut { flow, .. } => (6, flow),
            Self::Transfer { flow } => (8, flow),
        }
    }
}

/// Events of this rank and of higher ones come after what happens on links in their instant.
pub(super) const AFTER_LINKS: u8 = 2;

impl Ranked for Event {
    fn rank(&self) -> u8 {
        self.order().0
    }

    fn identity(&self) -> u32 {
        self.order().1
    }
}
