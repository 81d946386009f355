//! What happens at a moment, and what comes first of what happens in one.

use crate::event_queue::Ranked;
use crate::identity::{CopyId, FlowId, PortId, ReceiverId, ResourceId, StageId};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The frame in service has left a resource.
    Left { resource: ResourceId },
    /// A resource can serve the next frame.
    Free { resource: ResourceId },
    /// A PAUSE frame has come to a port.
    Pause { port: PortId, quanta: u16 },
    /// A port's silence is over.
    Wake { resource: ResourceId },
    /// A port that wants silence asks again.
    AskAgain { port: PortId, asked: u64 },
    /// A copy has passed a stage after which frames wait for each other.
    Gather { copy: CopyId, stage: StageId },
    /// The first of a batch, the one with this number, has waited long enough.
    Interrupt { stage: StageId, batch: u64 },
    /// A copy comes to a port from a shared medium.
    Reach { copy: CopyId, port: PortId, lane: u32 },
    /// A copy comes to its next stage, or to the end of its route.
    Arrive { copy: CopyId, lane: u32 },
    /// A flow's next message.
    Send { flow: FlowId },
    /// A receiver's answer.
    Answer { receiver: ReceiverId },
    /// A flow waits no longer for answers to a message.
    TimeOut { flow: FlowId, message: u32 },
    /// A transfer, or a comparison of clocks, has something to do by itself.
    Transfer { flow: FlowId },
}

impl Event {
    /// Its rank, and what comes first among equals.
    fn order(self) -> (u8, u32) {
        match self {
            Self::Left { resource } => (0, resource.number()),
            Self::Free { resource } => (1, resource.number()),
            Self::Wake { resource } => (2, resource.number()),
            Self::Pause { port, .. } | Self::AskAgain { port, .. } => (2, port.number()),
            Self::Gather { stage, .. } => (3, stage.number()),
            Self::Interrupt { stage, .. } => (7, stage.number()),
            Self::Reach { lane, .. } | Self::Arrive { lane, .. } => (3, lane),
            Self::Send { flow } => (4, flow.number()),
            Self::Answer { receiver } => (5, receiver.number()),
            Self::TimeOut { flow, .. } => (6, flow.number()),
            Self::Transfer { flow } => (8, flow.number()),
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
