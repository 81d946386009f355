//! Traffic classes of an output port, and what is counted of each.

use serde::{Deserialize, Serialize};

/// A class of traffic at an output port: a queue of its own.
///
/// Classes are served in strict priority, without preemption: the first of a port is the highest.
/// Neighbours with a quantum share their level of priority by deficit round robin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Priorities (PCP of 802.1Q, 0 to 7) of its frames; a frame without a tag has priority 0. Each
    /// belongs to exactly one class of a port.
    pub priorities: Vec<u8>,
    /// Quantum of deficit round robin in octets on the wire (preamble, frame and gap), from 1;
    /// strict priority if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum_octets: Option<u32>,
    /// Rate of the credit-based shaper (802.1Q § 8.6.8.2) in bits per second, below that of the
    /// link; no shaper if absent. Only of classes before all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_slope_bps: Option<u64>,
    /// Queue limit in frames, one being sent included; that of the node if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_frames: Option<u32>,
    /// Queue limit in octets; that of the node if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_octets: Option<u64>,
}

/// What is counted of a class at a port, over the whole trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassCounts {
    /// Frames that came to the queue, those dropped included.
    pub arrived: u64,
    /// Frames sent, by their end.
    pub frames: u64,
    /// Octets of these frames, destination address to FCS.
    pub octets: u64,
    /// Frames dropped by the full queue of the class.
    pub dropped: u64,
    /// Most frames in the queue, one being sent included.
    pub queue_most: u64,
    /// Most octets in the queue, of frames from destination address to FCS.
    pub queue_octets_most: u64,
}
