//! Layers of a packet down to its innermost IP header: links, tags, tunnels, IP and its extensions.

use crate::file::{LinkType, Packet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Layers that a packet may have: more are not read.
const MOST_LAYERS: usize = 16;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// What became of a packet that has no such headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadPacket {
    /// It begins with something that is not read.
    Link(u16),
    /// It is no IP, or its IP is no TCP or UDP.
    Protocol,
    /// A fragment of an IP packet.
    Fragment,
    /// It is in an encapsulation that is not read.
    Encapsulation(Encapsulation),
    /// Too little of it was captured, or its headers contradict themselves.
    Broken,
}

/// An encapsulation whose contents are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encapsulation {
    /// Encapsulating security payload (RFC 4303): encrypted.
    Esp,
    /// `MACsec` (802.1AE): encrypted, perhaps.
    Macsec,
    /// L2TP version 3 over IP (RFC 3931).
    L2tp,
    /// A pseudowire in MPLS, or another payload that is no IP (RFC 4385).
    Pseudowire,
    /// GRE of a version or with a payload that is not read.
    Gre,
    /// PPP whose contents are compressed or spread over several links.
    Ppp,
    /// Provider backbone bridges (802.1ah), or VN tags.
    BackboneBridge,
    /// Network service header (RFC 8300).
    Nsh,
    /// More layers than are read.
    Deep,
}

impl Encapsulation {
    /// Name of the encapsulation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Esp => "ESP (IPsec)",
            Self::Macsec => "MACsec",
            Self::L2tp => "L2TPv3",
            Self::Pseudowire => "MPLS pseudowire",
            Self::Gre => "GRE",
            Self::Ppp => "compressed or multilink PPP",
            Self::BackboneBridge => "backbone bridge or VN tag",
            Self::Nsh => "NSH",
            Self::Deep => "more than 16 layers",
        }
    }
}

/// What follows some layer: as far as it was captured, and how long it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemainingOctets<'a> {
    pub(super) octets: &'a [u8],
    pub(super) length: u32,
}

impl<'a> RemainingOctets<'a> {
    fn new(packet: &Packet<'a>) -> Self {
        let captured = u32::try_from(packet.data.len()).unwrap_or(u32::MAX);
        Self { octets: packet.data, length: packet.original.max(captured) }
    }

    /// What follows its first `octets`.
    pub(super) fn after(self, octets: usize) -> Result<Self, UnreadPacket> {
        let rest = self.octets.get(octets..).ok_or(UnreadPacket::Broken)?;
        let before = u32::try_from(octets).map_err(|_| UnreadPacket::Broken)?;
        Ok(Self { octets: rest, length: self.length.saturating_sub(before) })
    }

    /// What a header says is its length, padding left out.
    fn of_length(self, length: u32) -> Self {
        let captured = self.octets.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        Self { octets: &self.octets[..captured], length }
    }

    fn octet(self, at: usize) -> Result<u8, UnreadPacket> {
        self.octets.get(at).copied().ok_or(UnreadPacket::Broken)
    }

    fn word(self, at: usize) -> Result<u16, UnreadPacket> {
        Ok(u16::from_be_bytes(self.array(at)?))
    }

    fn array<const N: usize>(self, at: usize) -> Result<[u8; N], UnreadPacket> {
        self.octets.get(at..).and_then(<[u8]>::first_chunk).copied().ok_or(UnreadPacket::Broken)
    }
}

/// What a layer begins with.
#[derive(Clone, Copy, Debug)]
enum Layer {
    Ethernet,
    /// Contents of an `EtherType`.
    Type(u16),
    Ip,
    /// 802.2, with SNAP perhaps.
    Llc,
    Ppp,
    /// A PPP protocol number.
    PppProtocol,
    CiscoHdlc,
    FrameRelay,
    Mpls,
}

/// Which fragment of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpFragment {
    /// Identification of the IP packet.
    pub identification: u32,
    /// Protocol of its contents.
    pub protocol: u8,
    /// Where in the contents it begins, in octets.
    pub offset: u32,
    /// Octets of the contents that it has.
    pub octets: u32,
    /// Whether others follow.
    pub has_more: bool,
}

/// The innermost IP packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpPacket<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) protocol: u8,
    /// Identification of IPv4, or of a fragment of IPv6; 0 of others.
    pub(super) identification: u32,
    /// Time to live, or hop limit.
    pub(super) hops: u8,
    pub(super) fragment: Option<IpFragment>,
    pub(super) payload: RemainingOctets<'a>,
}

/// The innermost IP packet of a packet, whatever surrounds it.
pub(super) fn innermost<'a>(packet: &Packet<'a>) -> Result<IpPacket<'a>, UnreadPacket> {
    walk(packet, true)
}

/// The outermost IP packet of a packet.
pub(super) fn outermost<'a>(packet: &Packet<'a>) -> Result<IpPacket<'a>, UnreadPacket> {
    walk(packet, false)
}

fn walk<'a>(packet: &Packet<'a>, through_tunnels: bool) -> Result<IpPacket<'a>, UnreadPacket> {
    let (mut layer, mut rest) = outer(packet.link, RemainingOctets::new(packet))?;
    for _ in 0..MOST_LAYERS {
        (layer, rest) = match layer {
            Layer::Ethernet => (Layer::Type(rest.word(12)?), rest.after(14)?),
            Layer::Type(kind) => of_type(kind, rest)?,
            Layer::Llc => llc(rest)?,
            Layer::Ppp => ppp(rest)?,
            Layer::PppProtocol => ppp_protocol(rest)?,
            Layer::CiscoHdlc => (Layer::Type(rest.word(2)?), rest.after(4)?),
            Layer::FrameRelay => frame_relay(rest)?,
            Layer::Mpls => mpls(rest)?,
            Layer::Ip => {
                let ip = ip(rest)?;
                match tunnel(&ip)? {
                    Some(inner) if through_tunnels => inner,
                    _ => return Ok(ip),
                }
            }
        };
    }
    Err(UnreadPacket::Encapsulation(Encapsulation::Deep))
}

fn outer(
    link: LinkType,
    rest: RemainingOctets<'_>,
) -> Result<(Layer, RemainingOctets<'_>), UnreadPacket> {
    Ok(match link {
        LinkType::Ethernet => (Layer::Ethernet, rest),
        LinkType::Ip => (Layer::Ip, rest),
        LinkType::Cooked => (Layer::Type(rest.word(14)?), rest.after(16)?),
        LinkType::Cooked2 => (Layer::Type(rest.word(0)?), rest.after(20)?),
        LinkType::Loopback => (Layer::Ip, rest.after(4)?),
        LinkType::Ppp => (Layer::Ppp, rest),
        LinkType::PppWithDirection => (Layer::Ppp, rest.after(1)?),
        LinkType::PppoE => (Layer::Type(0x8864), rest),
        LinkType::CiscoHdlc => (Layer::CiscoHdlc, rest),
        LinkType::FrameRelay => (Layer::FrameRelay, rest),
        LinkType::Mpls => (Layer::Mpls, rest),
        LinkType::Llc => (Layer::Llc, rest),
        LinkType::Fddi => (Layer::Llc, rest.after(13)?),
        LinkType::TokenRing => (Layer::Llc, rest.after(token_ring(rest)?)?),
        LinkType::Other(number) => return Err(UnreadPacket::Link(number)),
    })
}

/// Octets of a token ring header: a source route is announced by the first bit of the source.
fn token_ring(rest: RemainingOctets<'_>) -> Result<usize, UnreadPacket> {
    let is_routed = rest.octet(8)? & 0x80 != 0;
    Ok(14 + if is_routed { usize::from(rest.octet(14)? & 0x1f) } else { 0 })
}

/// What an `EtherType` announces.
fn of_type(
    kind: u16,
    rest: RemainingOctets<'_>,
) -> Result<(Layer, RemainingOctets<'_>), UnreadPacket> {
    Ok(match kind {
        // The length of an 802.3 frame, behind which there may be padding.
        0..=1500 => (Layer::Llc, rest.of_length(u32::from(kind))),
        0x0800 | 0x86dd => (Layer::Ip, rest),
        // 802.1Q, 802.1ad, and what was used before it.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => (Layer::Type(rest.word(2)?), rest.after(4)?),
        // PPPoE, session (RFC 2516, section 4): version, type and code, session, length.
        0x8864 => {
            let length = u32::from(rest.word(4)?);
            (Layer::PppProtocol, rest.after(6)?.of_length(length))
        }
        0x8847 | 0x8848 => (Layer::Mpls, rest),
        0x6558 => (Layer::Ethernet, rest),
        0x880b => (Layer::Ppp, rest),
        0x88e5 => return Err(UnreadPacket::Encapsulation(Encapsulation::Macsec)),
        0x88e7 | 0x8926 => return Err(UnreadPacket::Encapsulation(Encapsulation::BackboneBridge)),
        0x894f => return Err(UnreadPacket::Encapsulation(Encapsulation::Nsh)),
        _ => return Err(UnreadPacket::Protocol),
    })
}

/// 802.2 (section 3.2) and its SNAP (IEEE 802-2014, section 9.2.3).
fn llc(rest: RemainingOctets<'_>) -> Result<(Layer, RemainingOctets<'_>), UnreadPacket> {
    if rest.length < 3 {
        return Err(UnreadPacket::Protocol);
    }
    match rest.array::<3>(0)? {
        [0xaa, 0xaa, 0x03] => match rest.array::<3>(3)? {
            // An EtherType; the second is of bridges that tunnel frames (802.1H).
            [0, 0, 0 | 0xf8] => Ok((Layer::Type(rest.word(6)?), rest.after(8)?)),
            // Bridged Ethernet (RFC 2684, section 5.2): with and without its check sequence.
            [0, 0x80, 0xc2] if matches!(rest.word(6)?, 1 | 7) => {
                Ok((Layer::Ethernet, rest.after(10)?))
            }
            _ => Err(UnreadPacket::Protocol),
        },
        [0x06, 0x06, 0x03] => Ok((Layer::Ip, rest.after(3)?)),
        _ => Err(UnreadPacket::Protocol),
    }
}

/// PPP, in HDLC-like frames (RFC 1662) or without, or Cisco's own.
fn ppp(rest: RemainingOctets<'_>) -> Result<(Layer, RemainingOctets<'_>), UnreadPacket> {
    Ok(match rest.array::<2>(0)? {
        [0xff, 0x03] => (Layer::PppProtocol, rest.after(2)?),
        [0x0f | 0x8f, 0] => (Layer::CiscoHdlc, rest),
        _ => (Layer::PppProtocol, rest),
    })
}

/// A protocol number of PPP, of one octet if that is odd (RFC 1661, section 2).
fn ppp_protocol(rest: RemainingOctets<'_>) -> Result<(Layer, RemainingOctets<'_>), UnreadPacket> {
    let first = rest.octet(0)?;
    let (number, length) = if first & 1 == 1 { (u16::from(first), 1) } else { (rest.word(0)?, 2) };
    let layer = match number {
        0x0021 | 0x0057 => Layer::Ip,
        0x0281 | 0x0283 => Layer::Mpls,
        // Van Jacobson's compression, multilink, compressed datagrams, robust header compression.
        0x002d | 0x002f | 0x003d | 0x00fb | 0x00fd | 0x0003 | 0x0005 => {
            return Err(UnreadPacket::Encapsulation(Encapsulation::Ppp));
        }
        _ => return Err(UnreadPacket::Protocol),
    };
    Ok((layer, rest.after(length)?))
}

/// Frame relay (Q.922) with RFC 2427, or Cisco's encapsulation.
fn frame_relay(rest: RemainingOctets<'_>) -> Result<(Layer, RemainingOctets<'_>), UnreadPacket> {
    // The lowest bit of the last octet of the address is set.
    let address = (0..4).find(|at| rest.octet(*at).is_ok_and(|octet| octet & 1 == 1));
    let rest = rest.after(address.ok_or(UnreadPacket::Broken)? + 1)?;
    if rest.octet(0)? != 0x03 {
        return Ok((Layer::Type(rest.word(0)?), rest.after(2)?));
    }
    let padded = if rest.octet(1)? == 0 { 2 } else { 1 };
    match rest.octet(padded)? {
        0xcc | 0x8e => Ok((Layer::Ip, rest.after(padded + 1)?)),
        0xcf => Ok((Layer::PppProtocol, rest.after(padded + 1)?)),
        // SNAP: organisation and type.
        0x80 => match rest.array::<3>(padded + 1)? {
            [0, 0, 0] => Ok((Layer::Type(rest.word(padded + 4)?), rest.after(padded + 6)?)),
            [0, 0x80, 0xc2] if matches!(rest.word(padded + 4)?, 1 | 7) => {
                Ok((Layer::Ethernet, rest.after(padded + 6)?))
            }
            _ => Err(UnreadPacket::Protocol),
        },
        _ => Err(UnreadPacket::Protocol),
    }
}

/// MPLS (RFC 3032): labels up to the bottom of the stack; what follows has no type.
fn mpls(rest: RemainingOctets<'_>) -> Result<(Layer, RemainingOctets<'_>), UnreadPacket> {
    let mut at = 0;
    while rest.octet(at + 2)? & 1 == 0 {
        at += 4;
    }
    let rest = rest.after(at + 4)?;
    match rest.octet(0)? >> 4 {
        4 | 6 => Ok((Layer::Ip, rest)),
        _ => Err(UnreadPacket::Encapsulation(Encapsulation::Pseudowire)),
    }
}

fn ip(rest: RemainingOctets<'_>) -> Result<IpPacket<'_>, UnreadPacket> {
    match rest.octet(0)? >> 4 {
        4 => ipv4(rest),
        6 => ipv6(rest),
        _ => Err(UnreadPacket::Broken),
    }
}

fn ipv4(rest: RemainingOctets<'_>) -> Result<IpPacket<'_>, UnreadPacket> {
    let header: [u8; 20] = rest.array(0)?;
    let header_octets = usize::from(header[0] & 0x0f) * 4;
    let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
    // A sender that leaves cutting to its interface leaves the length at 0, and so does one whose
    // packet is longer than the field can say.
    let total = if total == 0 { rest.length } else { total };
    let length = total.checked_sub(u32::from(header[0] & 0x0f) * 4).ok_or(UnreadPacket::Broken)?;
    if header_octets < 20 {
        return Err(UnreadPacket::Broken);
    }
    let (identification, flags) = (
        u32::from(u16::from_be_bytes([header[4], header[5]])),
        u16::from_be_bytes([header[6], header[7]]),
    );
    let (offset, has_more) = (u32::from(flags & 0x1fff) * 8, flags & 0x2000 != 0);
    let protocol = header[9];
    let fragment = (offset > 0 || has_more).then_some(IpFragment {
        identification,
        protocol,
        offset,
        octets: length,
        has_more,
    });
    let address = |at: usize| {
        IpAddr::V4(Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]))
    };
    Ok(IpPacket {
        source: address(12),
        destination: address(16),
        protocol,
        identification,
        hops: header[8],
        fragment,
        payload: rest.after(header_octets)?.of_length(length),
    })
}

fn ipv6(rest: RemainingOctets<'_>) -> Result<IpPacket<'_>, UnreadPacket> {
    let header: [u8; 40] = rest.array(0)?;
    let stated = u32::from(u16::from_be_bytes([header[4], header[5]]));
    let address = |at: usize| {
        let octets: [u8; 16] = std::array::from_fn(|octet| header[at + octet]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    let mut ip = IpPacket {
        source: address(8),
        destination: address(24),
        protocol: header[6],
        identification: 0,
        hops: header[7],
        fragment: None,
        payload: rest.after(40)?,
    };
    if stated > 0 {
        ip.payload = ip.payload.of_length(stated);
    } else if let Some(jumbo) = jumbo_length(&ip)? {
        ip.payload = ip.payload.of_length(jumbo);
    } // Otherwise it is as long as the frame: Linux leaves the option out where it cuts.
    for _ in 0..MOST_LAYERS {
        let payload = ip.payload;
        let octets = match ip.protocol {
            // Hop-by-hop options, routing, destination options, mobility, host identity, shim.
            0 | 43 | 60 | 135 | 139 | 140 => (usize::from(payload.octet(1)?) + 1) * 8,
            51 => (usize::from(payload.octet(1)?) + 2) * 4,
            44 => 8,
            _ => break,
        };
        let next = payload.octet(0)?;
        ip.payload = payload.after(octets)?;
        if ip.protocol == 44 {
            let [offset_high, offset_low, id @ ..]: [u8; 6] = payload.array(2)?;
            let offset_field = u16::from_be_bytes([offset_high, offset_low]);
            let (offset, has_more) = (u32::from(offset_field & 0xfff8), offset_field & 1 == 1);
            ip.identification = u32::from_be_bytes(id);
            ip.protocol = next;
            if offset > 0 || has_more {
                ip.fragment = Some(IpFragment {
                    identification: ip.identification,
                    protocol: next,
                    offset,
                    octets: ip.payload.length,
                    has_more,
                });
                break;
            }
        }
        ip.protocol = next;
    }
    Ok(ip)
}

/// Length of a jumbogram by its hop-by-hop option (RFC 2675, section 2).
fn jumbo_length(ip: &IpPacket<'_>) -> Result<Option<u32>, UnreadPacket> {
    if ip.protocol != 0 {
        return Ok(None);
    }
    let end = (usize::from(ip.payload.octet(1)?) + 1) * 8;
    let mut at = 2;
    while at + 2 <= end {
        let kind = ip.payload.octet(at)?;
        if kind == 0 {
            at += 1;
            continue;
        }
        let length = usize::from(ip.payload.octet(at + 1)?);
        if kind == 0xc2 && length == 4 {
            return Ok(Some(u32::from_be_bytes(ip.payload.array(at + 2)?)));
        }
        at += 2 + length;
    }
    Ok(None)
}

/// What is inside an IP packet that is a tunnel's; nothing of others. Of fragments only the first
/// has a header, and none is read.
fn tunnel<'a>(ip: &IpPacket<'a>) -> Result<Option<(Layer, RemainingOctets<'a>)>, UnreadPacket> {
    if ip.fragment.is_some() {
        return Ok(None);
    }
    Ok(Some(match ip.protocol {
        TCP => return Ok(None),
        UDP => return udp_tunnel(ip.payload),
        4 | 41 => (Layer::Ip, ip.payload),
        47 => gre(ip.payload)?,
        97 => (Layer::Ethernet, ip.payload.after(2)?),
        137 => (Layer::Mpls, ip.payload),
        50 => return Err(UnreadPacket::Encapsulation(Encapsulation::Esp)),
        // In IPv4; in IPv6 it is an extension.
        51 => return authenticated(ip),
        115 => return Err(UnreadPacket::Encapsulation(Encapsulation::L2tp)),
        _ => return Ok(None),
    }))
}

/// Behind an authentication header (RFC 4302) in IPv4, as far as it is a tunnel.
fn authenticated<'a>(
    ip: &IpPacket<'a>,
) -> Result<Option<(Layer, RemainingOctets<'a>)>, UnreadPacket> {
    let rest = ip.payload.after((usize::from(ip.payload.octet(1)?) + 2) * 4)?;
    match ip.payload.octet(0)? {
        4 | 41 => Ok(Some((Layer::Ip, rest))),
        _ => Err(UnreadPacket::Encapsulation(Encapsulation::Esp)),
    }
}

/// GRE (RFC 2784, 2890), PPTP's (RFC 2637), and mirrored frames (ERSPAN).
fn gre(rest: RemainingOctets<'_>) -> Result<(Layer, RemainingOctets<'_>), UnreadPacket> {
    let (flags, kind) = (rest.word(0)?, rest.word(2)?);
    let field = |bit: u16| if flags & bit == 0 { 0 } else { 4 };
    let version = flags & 7;
    // Source routes of version 0 are deprecated; their length is in themselves.
    if version > 1 || flags & 0x4000 != 0 {
        return Err(UnreadPacket::Encapsulation(Encapsulation::Gre));
    }
    // Checksum, key, sequence number, and of version 1 the acknowledgement.
    let acknowledgement = if version == 1 { field(0x0080) } else { 0 };
    let inner = rest.after(4 + field(0x8000) + field(0x2000) + field(0x1000) + acknowledgement);
    match kind {
        // ERSPAN of type I has no sequence number and no header; of type II eight octets.
        0x88be if flags & 0x1000 == 0 => Ok((Layer::Ethernet, inner?)),
        0x88be => Ok((Layer::Ethernet, inner?.after(8)?)),
        // Of type III twelve, and eight more if its last bit says so.
        0x22eb => {
            let inner = inner?;
            let optional = if inner.octet(11)? & 1 == 1 { 8 } else { 0 };
            Ok((Layer::Ethernet, inner.after(12 + optional)?))
        }
        0x0000 => Err(UnreadPacket::Protocol), // a keep-alive
        kind => of_type(kind, inner?),
    }
}

/// Tunnels in UDP, by their ports and a header that fits: VXLAN (RFC 7348), Geneve (RFC 8926),
/// GTP-U (3GPP TS 29.281).
fn udp_tunnel(
    udp: RemainingOctets<'_>,
) -> Result<Option<(Layer, RemainingOctets<'_>)>, UnreadPacket> {
    let port = udp.word(2)?;
    let Ok(rest) = udp.after(8) else { return Ok(None) };
    Ok(match port {
        // The second is what Linux used first.
        4789 | 8472 => match rest.array::<8>(0) {
            Ok([0x08, 0, 0, 0, _, _, _, 0]) => Some((Layer::Ethernet, rest.after(8)?)),
            _ => None,
        },
        6081 => match rest.array::<8>(0) {
            Ok([first, _, high, low, .., 0]) if first >> 6 == 0 => {
                let kind = u16::from_be_bytes([high, low]);
                Some((Layer::Type(kind), rest.after(8 + usize::from(first) * 4)?))
            }
            _ => None,
        },
        2152 => gtp(rest)?,
        _ => None,
    })
}

/// A user's packet in GTP-U (section 5.1); nothing of other messages.
fn gtp(rest: RemainingOctets<'_>) -> Result<Option<(Layer, RemainingOctets<'_>)>, UnreadPacket> {
    let Ok([flags, 0xff]) = rest.array::<2>(0) else { return Ok(None) };
    if flags >> 4 != 3 {
        return Ok(None);
    }
    let mut at = if flags & 7 != 0 { 12 } else { 8 };
    if flags & 4 != 0 {
        // Extension headers, each with the type of the next as its last octet.
        for _ in 0..MOST_LAYERS {
            if rest.octet(at - 1)? == 0 {
                break;
            }
            at += usize::from(rest.octet(at)?).max(1) * 4;
        }
    }
    Ok(Some((Layer::Ip, rest.after(at)?)))
}
