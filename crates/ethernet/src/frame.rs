//! The layout of a frame and of what is commonly carried in it: each length once, with its source.

use crate::units::Octets;

/// Preamble and start-of-frame delimiter (802.3-2022 § 3.1.1).
pub const PREAMBLE: Octets = Octets(7 + 1);
/// Destination address, source address, type (802.3-2022 § 3.1.1).
pub const HEADER: Octets = Octets(6 + 6 + 2);
/// Frame check sequence (802.3-2022 § 3.2.9).
pub const FCS: Octets = Octets(4);
/// What a frame has beside its payload: addresses, type and check sequence.
pub const OVERHEAD: Octets = Octets(HEADER.0 + FCS.0);
/// Inter-frame gap (802.3-2022 § 4.4.2: interPacketGap 96 bits).
pub const GAP: Octets = Octets(12);
/// Tag of 802.1Q: type and control information (§ 9.3).
pub const TAG: Octets = Octets(4);
/// Shortest frame, destination address to FCS (802.3-2022 § 4.4.2: minFrameSize 512 bits).
pub const SHORTEST: Octets = Octets(64);
/// Longest payload of a basic frame (802.3-2022 § 3.2.7).
pub const LONGEST_PAYLOAD: Octets = Octets(1500);
/// The first local experimental `EtherType`, for frames that never leave the network they are sent
/// in (IEEE Std 802; RFC 9542 lists it).
pub const LOCAL_EXPERIMENTAL_1: u16 = 0x88B5;
/// The second one.
pub const LOCAL_EXPERIMENTAL_2: u16 = 0x88B6;
/// `EtherType` of a tag of 802.1Q (§ 9.4, C-TAG).
pub const TAG_TYPE: u16 = 0x8100;
/// IPv4 header without options (RFC 791, section 3.1).
pub const IPV4_HEADER: Octets = Octets(20);
/// IPv6 header (RFC 8200, section 3).
pub const IPV6_HEADER: Octets = Octets(40);
/// UDP header (RFC 768).
pub const UDP_HEADER: Octets = Octets(8);
/// TCP header without options (RFC 9293, section 3.1).
pub const TCP_HEADER: Octets = Octets(20);

/// What a frame carries its payload in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// The payload is that of the frame.
    Raw,
    /// The same of a frame with a tag of 802.1Q.
    TaggedRaw,
    /// The payload is that of a UDP datagram over IPv4.
    UdpOverIpv4,
    /// The payload is that of a UDP datagram over IPv6.
    UdpOverIpv6,
    /// The payload is that of one TCP segment over IPv4, without options.
    TcpOverIpv4,
    /// The payload is that of one TCP segment over IPv6, without options.
    TcpOverIpv6,
}

impl Carrier {
    /// Octets of a frame, destination address to FCS, that are not payload or padding.
    #[must_use]
    pub const fn overhead(self) -> Octets {
        let inner = match self {
            Self::Raw => 0,
            Self::TaggedRaw => TAG.0,
            Self::UdpOverIpv4 => IPV4_HEADER.0 + UDP_HEADER.0,
            Self::UdpOverIpv6 => IPV6_HEADER.0 + UDP_HEADER.0,
            Self::TcpOverIpv4 => IPV4_HEADER.0 + TCP_HEADER.0,
            Self::TcpOverIpv6 => IPV6_HEADER.0 + TCP_HEADER.0,
        };
        Octets(HEADER.0 + inner + FCS.0)
    }

    /// Whether TCP carries the payload, and may send it again.
    #[must_use]
    pub const fn is_tcp(self) -> bool {
        matches!(self, Self::TcpOverIpv4 | Self::TcpOverIpv6)
    }

    /// The frame, destination address to FCS, that carries `payload`; padded if that is short, as
    /// one frame if that is long.
    #[must_use]
    pub const fn frame_of(self, payload: Octets) -> Octets {
        let frame = self.overhead().0 + payload.0;
        let shortest = self.shortest().0;
        Octets(if frame < shortest { shortest } else { frame })
    }

    /// The shortest frame: it is padded before it is tagged.
    #[must_use]
    pub const fn shortest(self) -> Octets {
        match self {
            Self::TaggedRaw => Octets(SHORTEST.0 + TAG.0),
            _ => SHORTEST,
        }
    }

    /// The longest payload that a frame of this length has room for, if any.
    #[must_use]
    pub const fn payload_of(self, frame: Octets) -> Option<Octets> {
        match frame.0.checked_sub(self.overhead().0) {
            Some(payload) => Some(Octets(payload)),
            None => None,
        }
    }
}

/// What a frame takes of the medium, with preamble and gap.
#[must_use]
pub const fn charged(frame: Octets) -> Octets {
    Octets(PREAMBLE.0 + frame.0 + GAP.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::standard;

    #[test]
    fn lengths_are_those_of_the_half_duplex_standard() {
        let timing = standard("ieee-10").expect("a known standard").timing;
        assert_eq!(PREAMBLE.bits(), timing.preamble);
        assert_eq!(GAP.bits(), timing.gap);
        assert_eq!(FCS.bits(), timing.fcs);
        assert_eq!(SHORTEST.bits(), timing.min_frame);
        assert_eq!(Carrier::Raw.frame_of(LONGEST_PAYLOAD).bits(), timing.max_frame);
    }

    #[test]
    fn eighteen_octets_of_udp_fill_the_shortest_frame_and_1472_the_longest() {
        let carrier = Carrier::UdpOverIpv4;
        assert_eq!(carrier.frame_of(Octets(18)), SHORTEST);
        assert_eq!(carrier.frame_of(Octets(0)), SHORTEST);
        assert_eq!(carrier.frame_of(Octets(1472)), Carrier::Raw.frame_of(LONGEST_PAYLOAD));
        assert_eq!(carrier.payload_of(Octets(1518)), Some(Octets(1472)));
        assert_eq!(carrier.payload_of(Octets(45)), None);
        assert_eq!(charged(SHORTEST), Octets(84));
    }

    #[test]
    fn a_carrier_adds_its_headers_to_the_18_octets_of_a_frame() {
        for (carrier, headers) in [
            (Carrier::Raw, 0),
            (Carrier::TaggedRaw, 4),
            (Carrier::UdpOverIpv4, 20 + 8),
            (Carrier::UdpOverIpv6, 40 + 8),
            (Carrier::TcpOverIpv4, 20 + 20),
            (Carrier::TcpOverIpv6, 40 + 20),
        ] {
            assert_eq!(carrier.overhead(), Octets(18 + headers), "{carrier:?}");
        }
    }

    #[test]
    fn a_tag_makes_a_frame_four_octets_longer_whether_it_is_padded_or_not() {
        let carrier = Carrier::TaggedRaw;
        assert_eq!(carrier.frame_of(Octets(1)), Octets(68));
        assert_eq!(carrier.frame_of(LONGEST_PAYLOAD), Octets(1522));
        assert_eq!(carrier.payload_of(Octets(68)), Some(Octets(46)));
    }
}
