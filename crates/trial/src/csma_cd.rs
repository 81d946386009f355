//! Constants of CSMA/CD.

use serde::{Deserialize, Serialize};

/// Constants of CSMA/CD, in bits unless the name says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CsmaCd {
    /// Slot time: the unit of backoff, and the time after which a collision is late; 1 to 2²⁴.
    pub slot_bits: u64,
    /// Inter-frame gap, 0 to 2²⁴; at least 1 if there is no turnaround time.
    pub gap_bits: u64,
    /// First part of the gap, in which carrier restarts the gap; at most the gap.
    pub gap_part1_bits: u64,
    /// Preamble and start-of-frame delimiter, 0 to 2²⁴.
    pub preamble_bits: u64,
    /// Jam, 1 to 2²⁴.
    pub jam_bits: u64,
    /// Turnaround time in picoseconds, at most 10¹² (1 s): from a station's decision to transmit to
    /// its first bit. The station does not hear what arrives in it.
    #[serde(default)]
    pub turnaround_ps: u64,
}
