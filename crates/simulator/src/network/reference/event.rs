//! What happens at a moment, and what comes first of what happens in one.

use crate::network::compiled::NONE;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The frame in service has left a resource.
    Left { resource: u32 },
    /// A resource can serve the next frame.
    Free { resource: u32 },
    /// A half-duplex port may try to send.
    Ready { port: u32 },
    /// The timer of medium access with this number is over at a port.
    TimerOver { port: u32, number: u64 },
    /// A transmission begins to be heard at a port.
    CarrierOn { port: u32 },
    /// A transmission, in its version, is no longer heard at a port.
    CarrierOff { port: u32, sent: usize, version: u32 },
    /// A transmission, in its version, is over.
    SendOver { sent: usize, version: u32 },
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
    /// A copy comes to a port from a half-duplex medium.
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
    pub fn order(self) -> (u8, u32) {
        match self {
            Self::Left { resource } => (0, resource),
            Self::Free { resource } => (1, resource),
            Self::Ready { port } => (2, port),
            Self::TimerOver { port, .. } => (3, port),
            Self::CarrierOn { port } => (4, port),
            Self::CarrierOff { port, .. } => (5, port),
            Self::SendOver { .. } => (5, NONE),
            Self::Pause { port, .. } | Self::Wake { port } | Self::AskAgain { port, .. } => {
                (6, port)
            }
            Self::Gather { stage, .. } => (7, stage),
            Self::Interrupt { stage, .. } => (11, stage),
            Self::Reach { port, .. } => (7, port),
            Self::Arrive { lane, .. } => (7, lane),
            Self::Send { flow } => (8, flow),
            Self::Answer { receiver } => (9, receiver),
            Self::TimeOut { flow, .. } => (10, flow),
            Self::Transfer { flow } => (12, flow),
        }
    }
}
