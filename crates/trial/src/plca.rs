//! PLCA: physical layer collision avoidance of 10BASE-T1S (802.3-2022 clause 148), beside CSMA/CD on
//! one bus.

use crate::csma_cd::CsmaCd;
use crate::fault::Faults;
use crate::limits::LONGEST_END_PS;
use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// Longest latency of a PHY: 100 bit times. Clause 147 allows about ten.
const LONGEST_LATENCY_PS: i128 = 10_000_000;

/// A bus whose nodes may use PLCA. Constants in bits unless the name says otherwise.
#[table(together)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plca {
    /// The MAC above PLCA, and of nodes without it.
    pub csma_cd: CsmaCd,
    /// What the PHY sends after a frame and a jam, at most the gap: it is carrier, but not received.
    #[file(key = "end_delimiter", unit = "bits", least = 0, most = 1 << 24)]
    pub end_delimiter_bits: u64,
    /// `beacon_timer`: length of a beacon, 1 to 2¹⁰.
    #[file(least = 1, most = 1 << 10)]
    pub beacon_bits: u64,
    /// `beacon_det_timer`: a carrier that is shorter is taken for a beacon; above the beacon, at
    /// most 2¹⁰.
    #[file(least = 1, most = 1 << 10)]
    pub beacon_detection_bits: u64,
    /// `invalid_beacon_timer`: a beacon that was not decoded is forgotten after it; 1 to 2¹⁰.
    #[file(least = 1, most = 1 << 10)]
    pub invalid_beacon_bits: u64,
    /// Length of the delay line, from 1, below the shortest frame with its preamble.
    #[file(least = 1, most = 1 << 16)]
    pub delay_line_bits: u64,
    /// `pending_timer`, 1 to 2¹⁶.
    #[file(least = 1, most = 1 << 16)]
    pub pending_bits: u64,
    /// `commit_timer`, above the gap, at most 2¹⁶.
    #[file(least = 1, most = 1 << 16)]
    pub commit_bits: u64,
    /// `plca_status_timer`: how long after the last cycle the status stays OK; 1 to 2²⁴.
    #[file(least = 1, most = 1 << 24)]
    pub status_bits: u64,
    /// From the MII to the line in picoseconds, at most 10⁷.
    #[serde(default)]
    #[file(key = "phy.transmit", unit = "time", least = 0, most = LONGEST_LATENCY_PS)]
    pub transmit_ps: u64,
    /// From the begin of a signal on the line to carrier in picoseconds, at most 10⁷.
    #[serde(default)]
    #[file(key = "phy.carrier_on", unit = "time", least = 0, most = LONGEST_LATENCY_PS)]
    pub carrier_on_ps: u64,
    /// From the end of a signal on the line to the end of carrier in picoseconds, at most 10⁷.
    #[serde(default)]
    #[file(key = "phy.carrier_off", unit = "time", least = 0, most = LONGEST_LATENCY_PS)]
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
#[table(together)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlcaNodes {
    /// Opportunities of each station, by number from 0 to 254; the station with 0 is the
    /// coordinator.
    #[file(key = "node-id", skip)]
    pub ids: Vec<Vec<u8>>,
    /// Opportunities of a cycle, 1 to 255; of importance for the coordinator.
    #[file(key = "node-cnt", least = 1, most = 255)]
    pub node_count: u8,
    /// `to_timer`: length of an opportunity that is not used, in bits; 1 to 255.
    #[file(key = "to-tmr", least = 1, most = 255)]
    pub opportunity_bits: u8,
    /// Frames that may follow the first of an opportunity, 0 to 255.
    #[serde(default)]
    #[file(key = "burst-cnt", least = 0, most = 255)]
    pub burst_count: u8,
    /// `burst_timer`: how long the line is held for the next frame, in bits; 0 to 255.
    #[file(key = "burst-tmr", least = 0, most = 255)]
    pub burst_bits: u8,
    /// Whether the stations use CSMA/CD while there are no beacons.
    #[serde(default = "falls_back")]
    #[file(key = "fall-back")]
    pub falls_back: bool,
    /// When PLCA is switched off; the stations use CSMA/CD then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<Interval>,
}

fn falls_back() -> bool {
    true
}

/// An interval of time.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Its begin, in picoseconds.
    pub from_ps: u64,
    /// Its end, in picoseconds.
    #[file(unit = "time", least = 1, most = LONGEST_END_PS)]
    pub to_ps: u64,
}

impl Plca {
    fn check_together(&self, faults: &mut Faults) {
        faults.range(
            "end_delimiter_bits",
            self.end_delimiter_bits,
            0,
            self.csma_cd.gap_bits.into(),
        );
        let least = i128::from(self.beacon_bits) + 1;
        faults.range("beacon_detection_bits", self.beacon_detection_bits, least, 1 << 10);
        let least = i128::from(self.csma_cd.gap_bits) + 1;
        faults.range("commit_bits", self.commit_bits, least, 1 << 16);
        if self.csma_cd.turnaround_ps > 0 {
            faults.add("csma_cd.turnaround_ps", "must be 0 with PLCA");
        }
        let shares =
            [("beacon_loss", self.beacon_loss, 1.0), ("bit_error_rate", self.bit_error_rate, 0.01)];
        for (name, value, most) in shares {
            if !(0.0..=most).contains(&value) {
                faults.add_value(name, value, format!("must be from 0 to {most}"));
            }
        }
    }
}

impl PlcaNodes {
    fn check_together(&self, faults: &mut Faults) {
        for (station, ids) in self.ids.iter().enumerate() {
            if ids.is_empty() || ids.contains(&255) {
                let allowed = "must have one or several numbers from 0 to 254 for each station";
                faults.add_value(&format!("ids[{station}]"), format!("{ids:?}"), allowed);
            }
        }
        faults.within("off", |faults| check_intervals(&self.off, faults));
    }
}

/// Intervals follow each other in time, and do not touch.
pub(crate) fn check_intervals(intervals: &[Interval], faults: &mut Faults) {
    let mut before = 0;
    for (number, interval) in intervals.iter().enumerate() {
        if interval.from_ps < before || interval.to_ps <= interval.from_ps {
            let allowed = "must begin after the interval before it, and end after it begins";
            let value = format!("{} to {} ps", interval.from_ps, interval.to_ps);
            faults.add_value(&format!("[{number}]"), value, allowed);
        }
        before = interval.to_ps.saturating_add(1);
    }
}
