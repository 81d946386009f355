//! The interfaces of a capture file.

const NS: i128 = 1_000_000_000;

/// What a captured packet begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    Ip,
    /// Linux cooked capture (version 1).
    Cooked,
    /// Linux cooked capture (version 2).
    Cooked2,
    /// Four octets of address family, as on BSD's loopback.
    Loopback,
    /// PPP, with or without the address and control of HDLC-like frames.
    Ppp,
    /// An octet of direction, and PPP.
    PppWithDirection,
    /// A `PPPoE` header.
    PppoE,
    /// Cisco's HDLC.
    CiscoHdlc,
    /// Frame relay.
    FrameRelay,
    /// Labels of MPLS.
    Mpls,
    /// A header of 802.2, such as that of ATM (RFC 2684).
    Llc,
    /// An FDDI header.
    Fddi,
    /// A token ring header.
    TokenRing,
    /// Something that is not read, by its number in the registry.
    Other(u16),
}

impl LinkType {
    pub(super) fn of(number: u16) -> Self {
        match number {
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            0 | 108 => Self::Loopback,
            9 | 50 | 166 => Self::Ppp,
            204 => Self::PppWithDirection,
            51 => Self::PppoE,
            104 => Self::CiscoHdlc,
            107 => Self::FrameRelay,
            219 => Self::Mpls,
            100 => Self::Llc,
            10 => Self::Fddi,
            6 => Self::TokenRing,
            other => Self::Other(other),
        }
    }

    /// Number of the link type in the registry.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::Loopback => 0,
            Self::Ethernet => 1,
            Self::Ip => 101,
            Self::Cooked => 113,
            Self::Cooked2 => 276,
            Self::Ppp => 9,
            Self::PppWithDirection => 204,
            Self::PppoE => 51,
            Self::CiscoHdlc => 104,
            Self::FrameRelay => 107,
            Self::Mpls => 219,
            Self::Llc => 100,
            Self::Fddi => 10,
            Self::TokenRing => 6,
            Self::Other(number) => number,
        }
    }

    /// Octets before the network's header, where they are fixed.
    pub(crate) fn header_octets(self) -> Option<u32> {
        match self {
            Self::Ethernet => Some(14),
            Self::Ip => Some(0),
            Self::Cooked => Some(16),
            Self::Cooked2 => Some(20),
            Self::Loopback | Self::CiscoHdlc => Some(4),
            Self::PppoE | Self::Llc => Some(8),
            _ => None,
        }
    }
}

/// Packets that a capture itself lost, as it says in its statistics (pcapng); nothing where it says
/// nothing. What is lost so was not lost by the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureDrops {
    /// By interfaces, for want of room there.
    pub by_interface: Option<u64>,
    /// By the system, for want of room for them until they are read.
    pub by_system: Option<u64>,
}

impl CaptureDrops {
    pub(super) fn and(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| {
            if a.is_none() && b.is_none() {
                return None;
            }
            Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0)))
        };
        Self {
            by_interface: sum(self.by_interface, other.by_interface),
            by_system: sum(self.by_system, other.by_system),
        }
    }
}

/// Description of an interface in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterfaceDescription {
    pub(super) link: LinkType,
    pub(super) snap: u32,
    pub(super) resolution: Resolution,
    pub(super) offset_s: i64,
    /// Rate of the link, if the file has it.
    pub(super) speed_bps: Option<u64>,
    /// Latest statistics of the interface.
    pub(super) dropped: CaptureDrops,
}

/// Units of an interface's times in a second, as a power of 10 or of 2.
#[derive(Clone, Copy, Debug)]
pub(super) enum Resolution {
    Decimal(u32),
    Binary(u32),
}

impl Resolution {
    /// Nanoseconds of a time, or `None` beyond what 64 bits hold.
    pub(super) fn ns(self, units: u64, offset_s: i64) -> Option<i64> {
        let ns = match self {
            Self::Decimal(exponent @ 0..=9) => {
                i128::from(units).checked_mul(10i128.pow(9 - exponent))?
            }
            Self::Decimal(exponent) => i128::from(units) / 10i128.checked_pow(exponent - 9)?,
            Self::Binary(exponent) => (i128::from(units) * NS).checked_shr(exponent)?,
        };
        i64::try_from(ns + i128::from(offset_s) * NS).ok()
    }
}
