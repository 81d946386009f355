//! Constants of CSMA/CD.

use crate::fault::Faults;
use crate::limits::LONGEST_DELAY_PS;
use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// Most bits that a slot, gap, preamble or jam may have.
pub(crate) const LONGEST_BITS: i128 = 1 << 24;

/// Constants of CSMA/CD, in bits unless the name says otherwise.
#[table(together)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CsmaCd {
    /// Slot time: the unit of backoff, and the time after which a collision is late; 1 to 2²⁴.
    #[file(key = "slot", unit = "bits", least = 1, most = LONGEST_BITS)]
    pub slot_bits: u64,
    /// Inter-frame gap, 0 to 2²⁴; at least 1 if there is no turnaround time.
    #[file(key = "gap", unit = "bits", least = 0, most = LONGEST_BITS)]
    pub gap_bits: u64,
    /// First part of the gap, in which carrier restarts the gap; at most the gap.
    #[file(key = "gap_part1", unit = "bits", least = 0, most = LONGEST_BITS)]
    pub gap_part1_bits: u64,
    /// Preamble and start-of-frame delimiter, 0 to 2²⁴.
    #[file(key = "preamble", unit = "bits", least = 0, most = LONGEST_BITS)]
    pub preamble_bits: u64,
    /// Jam, 1 to 2²⁴.
    #[file(key = "jam", unit = "bits", least = 1, most = LONGEST_BITS)]
    pub jam_bits: u64,
    /// Turnaround time in picoseconds, at most 10¹² (1 s): from a station's decision to transmit to
    /// its first bit. The station does not hear what arrives in it.
    #[serde(default)]
    #[file(key = "turnaround", unit = "time", least = 0, most = LONGEST_DELAY_PS)]
    pub turnaround_ps: u64,
}

impl CsmaCd {
    fn check_together(&self, faults: &mut Faults) {
        // Without a gap and a turnaround time, a station could start in the very instant in which
        // it hears silence and carrier at once.
        if self.gap_bits == 0 && self.turnaround_ps == 0 {
            faults.add_value("gap_bits", 0, "must be at least 1 bit without a turnaround time");
        }
        faults.range("gap_part1_bits", self.gap_part1_bits, 0, self.gap_bits.into());
    }
}
