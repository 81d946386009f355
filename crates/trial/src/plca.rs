//! PLCA: physical layer collision avoidance of 10BASE-T1S (802.3-2022 clause 148), beside CSMA/CD on
//! one bus.

use crate::csma_cd::CsmaCd;
use serde::{Deserialize, Serialize};

/// A bus whose nodes may use PLCA. Constants in bits unless the name says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plca {
    /// The MAC above PLCA, and of nodes without it.
    pub csma_cd: CsmaCd,
    /// What the PHY sends after a frame and a jam, at most the gap: it is carrier, but not received.
    pub end_delimiter_bits: u64,
    /// `beacon_timer`: length of a beacon, 1 to 2¹⁰.
    pub beacon_bits: u64,
    /// `beacon_det_timer`: a carrier that is shorter is taken for a beacon; above the beacon, at
    /// most 2¹⁰.
    pub beacon_detection_bits: u64,
    /// `invalid_beacon_timer`: a beacon that was not decoded is forgotten after it; 1 to 2¹⁰.
    pub invalid_beacon_bits: u64,
    /// Length of the delay line, from 1, below the shortest frame with its preamble.
    pub delay_line_bits: u64,
    /// `pending_timer`, 1 to 2¹⁶.
    pub pending_bits: u64,
    /// `commit_timer`, above the gap, at most 2¹⁶.
    pub commit_bits: u64,
    /// `plca_status_timer`: how long after the last cycle the status stays OK; 1 to 2²⁴.
    pub status_bits: u64,
    /// From the MII to the line in picoseconds, at most 10⁷.
    #[serde(default)]
    pub transmit_ps: u64,
    /// From the begin of a signal on the line to carrier in picoseconds, at most 10⁷.
    #[serde(default)]
    pub carrier_on_ps: u64,
    /// From the end of a signal on the line to the end of carrier in picoseconds, at most 10⁷.
    #[serde(default)]
    pub carrier_off_ps: u64,
    /// Probability that a node does not hear a beacon, 0 to 1.
    #[serde(default)]
    pub beacon_loss: f64,
    /// Probability that a bit of a frame is wrong, 0 to 0.01. A frame with a wrong bit is damaged.
    #[serde(default)]
    pub bit_error_rate: f64,
    /// Whether a station that hears a collision jams at once; by 802.3-2022 § 4.2.3.2.4 it
    /// completes its preamble before.
    #[serde(default)]
    pub jams_at_once: bool,
    /// Whether a station owes a gap after each backoff, however long nothing was heard; by
    /// 802.3-2022 § 4.2.3.2.1 it starts at once if its gap is over.
    #[serde(default)]
    pub gap_after_backoff: bool,
}

/// PLCA of a group of stations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlcaNodes {
    /// Opportunities of each station, by number from 0 to 254; the station with 0 is the
    /// coordinator.
    pub ids: Vec<Vec<u8>>,
    /// Opportunities of a cycle, 1 to 255; of importance for the coordinator.
    pub node_count: u8,
    /// `to_timer`: length of an opportunity that is not used, in bits; 1 to 255.
    pub opportunity_bits: u8,
    /// Frames that may follow the first of an opportunity, 0 to 255.
    #[serde(default)]
    pub burst_count: u8,
    /// `burst_timer`: how long the line is held for the next frame, in bits; 0 to 255.
    pub burst_bits: u8,
    /// Whether the stations use CSMA/CD while there are no beacons.
    #[serde(default = "falls_back")]
    pub falls_back: bool,
    /// When PLCA is switched off; the stations use CSMA/CD then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<Interval>,
}

fn falls_back() -> bool {
    true
}

/// An interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Its begin, in picoseconds.
    pub from_ps: u64,
    /// Its end, in picoseconds.
    pub to_ps: u64,
}
