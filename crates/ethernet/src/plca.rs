//! PLCA of 10BASE-T1S: each number once, with the clause that it comes from.

use crate::units::Bits;

/// Timers of PLCA and lengths of its signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlcaTiming {
    /// What the PHY sends after a frame: the symbols that end it.
    pub end_delimiter: Bits,
    /// `beacon_timer`: length of a beacon.
    pub beacon: Bits,
    /// `beacon_det_timer`: a shorter carrier is taken for a beacon.
    pub beacon_detection: Bits,
    /// `invalid_beacon_timer`: a beacon that was not decoded is forgotten after it.
    pub invalid_beacon: Bits,
    /// Longest part of a frame that the delay line holds.
    pub delay_line: Bits,
    /// `pending_timer`: how long a node that met a logical collision waits.
    pub pending: Bits,
    /// `commit_timer`: how long a node holds the line for its MAC.
    pub commit: Bits,
    /// `plca_status_timer`: how long the status stays OK without cycles.
    pub status: Bits,
    /// Default of `to_timer`: an opportunity that is not used.
    pub opportunity: Bits,
    /// Default of `burst_timer`: how long the line is held for the next frame of a burst.
    pub burst: Bits,
}

/// PLCA of 802.3-2022 clause 148.
pub const PLCA: PlcaTiming = PlcaTiming {
    end_delimiter: Bits(8),
    beacon: Bits(20),
    beacon_detection: Bits(22),
    invalid_beacon: Bits(40),
    delay_line: Bits(396),
    pending: Bits(512),
    commit: Bits(288),
    status: Bits(130_090),
    opportunity: Bits(32),
    burst: Bits(128),
};

/// `(field, source)` for every field of [`PLCA`].
pub const PLCA_SOURCES: &[(&str, &str)] = &[
    ("end_delimiter", "802.3-2022 clause 147: two symbols of four bits end a frame"),
    ("beacon", "802.3-2022 clause 148: beacon_timer 20 bit times"),
    ("beacon_detection", "802.3-2022 clause 148: beacon_det_timer 22 bit times"),
    ("invalid_beacon", "P802.3da: invalid_beacon_timer 3.6 to 4.4 us; the middle"),
    ("delay_line", "802.3-2022 clause 148: a delay line of up to 99 nibbles"),
    ("pending", "802.3-2022 clause 148: pending_timer 512 bit times"),
    ("commit", "802.3-2022 clause 148: commit_timer 288 bit times"),
    ("status", "P802.3da: plca_status_timer 130 090 bit times"),
    ("opportunity", "802.3-2022 § 30.16.1.1.5: 32 bit times"),
    ("burst", "802.3-2022 clause 30.16: 128 bit times"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_source() {
        assert_eq!(PLCA_SOURCES.len(), 10);
    }

    #[test]
    fn a_line_is_held_longer_than_a_gap_and_a_beacon_is_shorter_than_its_detection() {
        let gap = crate::standard("10base-t1s").expect("a known standard").timing.gap;
        assert!(PLCA.commit > gap && PLCA.burst > gap);
        assert!(PLCA.beacon < PLCA.beacon_detection);
    }
}
