//! What a port of raw frames is to be.

use crate::wire::MacAddress;

/// How the kernel hands frames over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKind {
    /// One by one, at once (`TPACKET_V2`): for short delays.
    Frames,
    /// By the block, when it is full or a millisecond old (`TPACKET_V3`): for many frames.
    Blocks,
}

/// What a port of raw frames is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketOptions {
    /// The interface.
    pub interface: String,
    /// Where frames go.
    pub destination: MacAddress,
    /// A group that is listened to, too.
    pub group: Option<MacAddress>,
    /// Priority of what is sent, 0 to 7: in the tag of frames, and in queues of the host. Frames
    /// without one have no tag.
    pub priority: Option<u8>,
    /// Whether frames go to the interface directly, past its queue: faster, but a shaped queue does
    /// not see them.
    pub past_queue: bool,
    /// How arrivals are handed over.
    pub ring: RingKind,
    /// Octets of the longest payload: what the interface's MTU allows.
    pub longest_payload: usize,
    /// Frames a call.
    pub batch: usize,
    /// Octets of memory asked for, for frames waiting to be sent.
    pub room_octets: usize,
}

impl PacketOptions {
    /// A port on `interface` with what suits most uses.
    #[must_use]
    pub fn on(interface: &str, destination: MacAddress) -> Self {
        Self {
            interface: interface.to_owned(),
            destination,
            group: None,
            priority: None,
            past_queue: false,
            ring: RingKind::Frames,
            longest_payload: 1500,
            batch: 64,
            room_octets: 4 << 20,
        }
    }
}
