//! The half-duplex standards: each number once, with the clause or paper it comes from.

use crate::units::{BitTime, Bits, Octets};

/// What a station must know of its medium to contend for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfDuplexTiming {
    /// Duration of one bit.
    pub bit: BitTime,
    /// Slot time: the unit of backoff, and the time after which a collision is late.
    pub slot: Bits,
    /// Inter-frame gap: silence owed after carrier, before a transmission.
    pub gap: Bits,
    /// First part of the gap, in which returning carrier restarts it; 0 means that carrier is
    /// ignored in all of it.
    pub gap_part1: Bits,
    /// Preamble and start-of-frame delimiter, completed even when a collision is heard in them.
    pub preamble: Bits,
    /// Bits sent after a collision was heard (and after the preamble), so that everybody hears it.
    pub jam: Bits,
    /// Shortest frame, destination address to FCS.
    pub min_frame: Bits,
    /// Longest frame, destination address to FCS.
    pub max_frame: Bits,
    /// Length of the frame check sequence.
    pub fcs: Bits,
    /// Longest round trip between two stations that the standard allows.
    pub max_round_trip: Bits,
    /// Transmissions tried before the frame is given up, the first included.
    pub attempt_limit: u32,
    /// Collisions after which the backoff range no longer doubles.
    pub backoff_limit: u32,
    /// Most stations on a segment.
    pub max_stations: u32,
}

/// A field, and where its number comes from.
pub type Source = (&'static str, &'static str);

/// A standard by its name, with the source of each number.
#[derive(Clone, Copy, Debug)]
pub struct Standard {
    /// Name used in experiment files.
    pub name: &'static str,
    /// The numbers.
    pub timing: HalfDuplexTiming,
    /// For every field of [`HalfDuplexTiming`], in lists that standards may share.
    pub sources: &'static [&'static [Source]],
}

const DIX_10: HalfDuplexTiming = HalfDuplexTiming {
    bit: BitTime(100_000),
    slot: Bits(512),
    gap: Bits(96),
    gap_part1: Bits(0),
    preamble: Octets(8).bits(),
    jam: Bits(32),
    min_frame: Octets(64).bits(),
    max_frame: Octets(1500 + 14 + 4).bits(),
    fcs: Octets(4).bits(),
    max_round_trip: Bits(464),
    attempt_limit: 16,
    backoff_limit: 10,
    max_stations: 1024,
};

/// The timing of 802.3-2022 at 10 Mb/s; slot, jam, attempt and backoff limit are those of 100 Mb/s,
/// too.
pub const IEEE_10: HalfDuplexTiming =
    HalfDuplexTiming { gap_part1: Bits(64), max_round_trip: Bits(511), ..DIX_10 };

/// Sources of what the half-duplex MAC of 802.3 has at every rate up to 100 Mb/s.
const CLAUSE_4: &[Source] = &[
    ("slot", "802.3-2022 § 4.4.2: slotTime 512 bit times"),
    ("gap", "802.3-2022 § 4.4.2: interPacketGap 96 bits"),
    ("gap_part1", "802.3-2022 § 4.2.3.2.1: at most two thirds of the gap; the upper end"),
    ("preamble", "802.3-2022 § 3.2.1, 3.2.2: 7 octets and the delimiter"),
    ("jam", "802.3-2022 § 4.4.2: jamSize 32 bits"),
    ("min_frame", "802.3-2022 § 4.4.2: minFrameSize 512 bits"),
    ("max_frame", "802.3-2022 § 4.4.2: maxBasicFrameSize 1518 octets"),
    ("fcs", "802.3-2022 § 3.2.9: 32 bits"),
    ("attempt_limit", "802.3-2022 § 4.4.2: attemptLimit 16"),
    ("backoff_limit", "802.3-2022 § 4.4.2: backoffLimit 10"),
];

/// Every half-duplex standard that is known here.
pub const STANDARDS: &[Standard] = &[
    Standard {
        name: "dix-10",
        timing: DIX_10,
        sources: &[&[
            ("bit", "DIX Ethernet 1.0 (1980): 10 Mb/s"),
            ("slot", "DIX Ethernet 1.0 (1980): 512 bit times"),
            ("gap", "DIX Ethernet 1.0 (1980): 9.6 us"),
            ("gap_part1", "DIX Ethernet 1.0 (1980): carrier is not watched during the gap"),
            ("preamble", "DIX Ethernet 1.0 (1980): 64 bits"),
            ("jam", "DIX Ethernet 1.0 (1980): 32 to 48 bits; the lower end"),
            ("min_frame", "DIX Ethernet 1.0 (1980): 64 octets"),
            ("max_frame", "DIX Ethernet 1.0 (1980): 1500 octets of data + 14 + 4"),
            ("fcs", "DIX Ethernet 1.0 (1980): 32 bits"),
            ("max_round_trip", "Boggs, Mogul, Kent 1988, section 2.1: 464 bit times"),
            ("attempt_limit", "DIX Ethernet 1.0 (1980): 16"),
            ("backoff_limit", "DIX Ethernet 1.0 (1980): 10"),
            ("max_stations", "DIX Ethernet 1.0 (1980): 1024"),
        ]],
    },
    Standard {
        name: "ieee-10",
        timing: IEEE_10,
        sources: &[
            CLAUSE_4,
            &[
                ("bit", "802.3-2022 § 4.4.2: 10 Mb/s"),
                (
                    "max_round_trip",
                    "802.3-2022 § 13.4.1: path delay value 575 bit times, less 64 of preamble",
                ),
                ("max_stations", "802.3-2022 § 13.1: 1024"),
            ],
        ],
    },
    Standard {
        name: "ieee-100",
        timing: HalfDuplexTiming {
            bit: BitTime(10_000),
            gap_part1: Bits(64),
            max_round_trip: Bits(512),
            ..DIX_10
        },
        sources: &[
            CLAUSE_4,
            &[
                ("bit", "802.3-2022 § 4.4.2: 100 Mb/s"),
                ("max_round_trip", "802.3-2022 § 29.3.1.4: path delay value 512 bit times"),
                ("max_stations", "802.3-2022 § 29.1: 1024"),
            ],
        ],
    },
    Standard {
        name: "10base-t1s",
        timing: HalfDuplexTiming { max_round_trip: Bits(3), max_stations: 255, ..IEEE_10 },
        sources: &[
            CLAUSE_4,
            &[
                ("bit", "802.3-2022 clause 147: 10 Mb/s"),
                (
                    "max_round_trip",
                    "802.3-2022 clause 147: mixing segments of at least 25 m are supported; twice 25 m at \
                     5 ns/m, rounded up",
                ),
                ("max_stations", "802.3-2022 clause 148: plca_node_count up to 255"),
            ],
        ],
    },
    Standard {
        name: "experimental-3",
        timing: HalfDuplexTiming {
            bit: BitTime(340_000),
            slot: Bits(112),
            gap: Bits(1),
            gap_part1: Bits(0),
            preamble: Bits(1),
            jam: Bits(8),
            min_frame: Octets(1 + 1 + 2 + 2).bits(),
            max_frame: Octets(1 + 1 + 2 + 1024 + 2).bits(),
            fcs: Octets(2).bits(),
            max_round_trip: Bits(47),
            attempt_limit: 16,
            backoff_limit: 8,
            max_stations: 256,
        },
        sources: &[&[
            ("bit", "Alto hardware manual: two 170 ns clocks a bit, 2.94 Mb/s"),
            ("slot", "Gonsalves 1982, section 2.2: unit of backoff 38.08 us"),
            ("gap", "assumption: no gap is specified; one bit of station turn-around"),
            ("gap_part1", "assumption: no gap is specified"),
            ("preamble", "Metcalfe and Boggs 1976: one sync bit"),
            ("jam", "assumption: a brief jam; its length is not published"),
            ("min_frame", "Metcalfe and Boggs 1976: two addresses, type and CRC, no minimum"),
            ("max_frame", "Gonsalves 1982: packets up to 1024 bytes of data"),
            ("fcs", "Metcalfe and Boggs 1976: 16 bits"),
            ("max_round_trip", "Metcalfe and Boggs 1976: slot of 16 us on 1 km"),
            ("attempt_limit", "Gonsalves 1982: 16 collisions, then load overflow"),
            ("backoff_limit", "Gonsalves 1982: load register ANDed with 8 bits of the clock"),
            ("max_stations", "Metcalfe and Boggs 1976: 8-bit addresses"),
        ]],
    },
];

/// The standard called `name`.
#[must_use]
pub fn standard(name: &str) -> Option<&'static Standard> {
    STANDARDS.iter().find(|standard| standard.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_number_has_a_source() {
        for standard in STANDARDS {
            let fields: BTreeSet<_> =
                standard.sources.concat().iter().map(|source| source.0).collect();
            assert_eq!(
                (fields.len(), standard.sources.concat().len()),
                (13, 13),
                "{}",
                standard.name
            );
        }
    }

    #[test]
    fn a_collision_is_always_noticed_by_the_shortest_frame() {
        for standard in STANDARDS.iter().filter(|s| s.name != "experimental-3") {
            let t = standard.timing;
            assert!(t.max_round_trip <= t.preamble + t.min_frame, "{}", standard.name);
            assert!(t.gap_part1.0 * 3 <= t.gap.0 * 2, "{}", standard.name);
        }
    }

    #[test]
    fn the_experimental_ethernet_waits_in_units_of_38_08_us_and_needs_340_ns_a_bit() {
        // Gonsalves 1982, section 2.2: 2.94 Mb/s, 38.08 us, 2.75 us end to end; the Alto's clock is
        // 170 ns.
        let t = standard("experimental-3").expect("a known standard").timing;
        assert_eq!((t.bit.0, t.bit.ps_for(t.slot)), (2 * 170_000, Some(38_080_000)));
        assert!(t.bit.ps_for(t.max_round_trip).is_some_and(|ps| ps >= 2 * 2_750_000));
        assert_eq!((t.attempt_limit, t.preamble, t.min_frame), (16, Bits(1), Octets(6).bits()));
    }

    #[test]
    fn the_maximum_rate_of_minimal_frames_is_14_881_a_second() {
        let t = standard("ieee-10").expect("a known standard").timing;
        let cycle = t.bit.ps_for(t.preamble + t.min_frame + t.gap).expect("short");
        assert_eq!(crate::units::PS_PER_S / cycle, 14_880);
    }
}
