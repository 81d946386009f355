//! A frame on its way, and what can become of it.

use crate::identity::{AddressId, FlowId, NodeId};
use crate::time::Instant;

/// One copy of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Flow it belongs to.
    pub flow: FlowId,
    /// Host that sent it.
    pub from: NodeId,
    /// Host for which it is; none of a group.
    pub to: Option<NodeId>,
    /// Address of the last router or host.
    pub source: AddressId,
    /// Address of the next router or host; none of a group.
    pub destination: Option<AddressId>,
    /// Destination address to FCS.
    pub octets: u32,
    /// Number of its message within the flow, and of its fragments how many there are and which
    /// this is.
    pub message: u32,
    pub fragments: u16,
    pub fragment: u16,
    /// Which receiver answers with it; a request or a stream's frame without.
    pub answer: Option<u16>,
    pub broadcast: bool,
    /// How many hosts have sent it again, as a broadcast that they received.
    pub hops: u8,
    /// Which transmission of its message it belongs to, from 0, modulo 256.
    pub attempt: u8,
    /// Octets that fill it up to the shortest frame, as far as framing says.
    pub padding: u8,
    /// Of a packet of voice: samples in it that were made within the measured window. Of the copies
    /// that a switch or a hub makes, the one on the way to its receiver has them.
    pub samples: u16,
    /// When its message arrived at the sender; of a packet of voice, when its oldest sample was
    /// made.
    pub born: Instant,
}

/// Why a copy of a frame ends before its destination, in the order of
/// [`ethermeter_trial::counts::LOSSES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// No room at a stage or at a port out.
    Queue,
    /// No room in the memory of a port in.
    Buffer,
    /// Its destination is where it arrived from, as a switch knows or as a router with a group.
    Filtered,
    /// A host for which it is not.
    Ignored,
    /// The attempt limit of a half-duplex port.
    Attempts,
    /// A port of a shared medium did not receive it whole.
    Damaged,
}
