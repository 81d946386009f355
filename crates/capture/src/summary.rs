//! What an explanation needs of a packet, without the packet: so that many can be read before the
//! first is taken in.

use crate::copies::Fingerprint;
use crate::file::{LinkType, Packet};
use crate::flow::{FlowMark, RAW, mark};
use crate::index::Seeds;
use crate::packet::{
    EndAddress, IpFragment, PacketContents, TcpHeader, TransportHeader, TransportPacket,
    UnreadPacket, frame, priority, read_packet,
};
use std::fmt::{Display, Formatter};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowEndpoint {
    /// Of UDP.
    Ip(EndAddress),
    /// Of raw frames.
    Mac([u8; 6]),
}

impl Display for FlowEndpoint {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ip(end) => end.fmt(to),
            Self::Mac(octets) => {
                let octets: Vec<String> =
                    octets.iter().map(|octet| format!("{octet:02x}")).collect();
                write!(to, "{}", octets.join(":"))
            }
        }
    }
}

/// What the packets of a flow have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowKey {
    pub(crate) source: FlowEndpoint,
    pub(crate) destination: FlowEndpoint,
    pub(crate) mark: Option<FlowMark>,
    /// See [`priority`].
    pub(crate) priority: Option<u8>,
}

impl Hash for FlowKey {
    // Flows that differ in their priority only are few, and are compared.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.source, self.destination, self.mark).hash(state);
    }
}

/// The two ends of a connection, the lower one first: words, which are compared and hashed faster
/// than addresses are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndpointPair {
    low: [u64; 2],
    high: [u64; 2],
    /// Port of each, and whether each address is of IPv6.
    ports: u64,
}

impl EndpointPair {
    /// The pair of two ends, and whether the first is the lower one.
    pub(crate) fn of(first: EndAddress, second: EndAddress) -> (Self, bool) {
        let (a, b) = (words(first), words(second));
        let is_low = a <= b;
        let (low, high) = if is_low { (a, b) } else { (b, a) };
        let ports = low.2 | high.2 << 32;
        (Self { low: [low.0, low.1], high: [high.0, high.1], ports }, is_low)
    }

    /// Both ends of the pair.
    pub(crate) fn ends(&self) -> (EndAddress, EndAddress) {
        (end(self.low, self.ports), end(self.high, self.ports >> 32))
    }

    fn is_short(&self) -> bool {
        self.ports & (SIX | SIX << 32) == 0
    }
}

/// Marks IPv6 beside a port.
const SIX: u64 = 1 << 16;

fn words(end: EndAddress) -> (u64, u64, u64) {
    let port = u64::from(end.port);
    match end.address {
        IpAddr::V4(address) => (0, address.to_bits().into(), port),
        #[allow(clippy::cast_possible_truncation)] // the halves
        IpAddr::V6(address) => {
            ((address.to_bits() >> 64) as u64, address.to_bits() as u64, SIX | port)
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // what was put together there
fn end(address: [u64; 2], port: u64) -> EndAddress {
    let long = u128::from(address[0]) << 64 | u128::from(address[1]);
    let address = if port & SIX == 0 {
        IpAddr::V4(Ipv4Addr::from_bits(address[1] as u32))
    } else {
        IpAddr::V6(Ipv6Addr::from_bits(long))
    };
    EndAddress { address, port: port as u16 }
}

impl Hash for EndpointPair {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.ports);
        if self.is_short() {
            state.write_u64(self.low[1] << 32 | self.high[1]);
        } else {
            self.low.iter().chain(&self.high).for_each(|word| state.write_u64(*word));
        }
    }
}

/// A packet as an explanation needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketSummary {
    /// See [`Packet::time_ns`].
    pub(crate) time_ns: Option<i64>,
    /// Octets that it had.
    pub(crate) original: u32,
    /// It is truncated.
    pub(crate) is_cut: bool,
    /// How a copy of it is recognised; nothing of packets that are numbered, or not explained.
    pub(crate) fingerprint: Option<Fingerprint>,
    /// Which fragment of which addresses' packet it is.
    pub(crate) fragment: Option<(IpFragment, (IpAddr, IpAddr))>,
    /// What it is; of the first fragment, what its packet is.
    pub(crate) kind: PacketKind,
}

/// What a packet is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PacketKind {
    /// A segment of TCP between two ends, whether from the lower one, with so many octets of
    /// payload.
    Segment(EndpointPair, bool, TcpHeader, u32),
    /// A packet of UDP, or a raw frame, with its number if it has a mark, and so many octets of
    /// payload.
    Datagram(FlowKey, Option<u64>, u32),
    /// Something else.
    Other(UnreadPacket),
}

/// What a copy has in common with its packet.
struct ComparedContents<'a> {
    addresses: (IpAddr, IpAddr),
    identification: u32,
    octets: u32,
    fragment: u32,
    priority: u8,
    contents: [&'a [u8]; 2],
}

impl Hash for ComparedContents<'_> {
    // Written out, since it is done for every packet: whole words.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for address in [self.addresses.0, self.addresses.1] {
            match address {
                IpAddr::V4(address) => state.write_u64(address.to_bits().into()),
                IpAddr::V6(address) => state.write_u128(address.to_bits()),
            }
        }
        state.write_u64(u64::from(self.identification) << 32 | u64::from(self.octets));
        state.write_u64(u64::from(self.fragment) << 8 | u64::from(self.priority));
        self.contents.iter().for_each(|octets| state.write(octets));
    }
}

/// Octets of a packet's contents that a copy has in common with it: headers, and some payload.
const COMPARED: usize = 128;

impl PacketSummary {
    /// Note a packet; fingerprints depend on `seeds`.
    pub(crate) fn of(packet: &Packet<'_>, seeds: &Seeds) -> Self {
        let mut summary = Self {
            time_ns: packet.time_ns,
            original: packet.original,
            is_cut: (packet.data.len() as u64) < u64::from(packet.original),
            fingerprint: None,
            fragment: None,
            kind: PacketKind::Other(UnreadPacket::Protocol),
        };
        match read_packet(packet) {
            Ok(read) => {
                summary.fragment = read.fragment.map(|fragment| (fragment, read.addresses));
                summary.kind = match read.headers {
                    Some(headers) => of_headers(packet, &headers, read.body),
                    None => PacketKind::Other(UnreadPacket::Fragment),
                };
                // Numbers tell of copies what they are.
                if !matches!(summary.kind, PacketKind::Datagram(FlowKey { mark: Some(_), .. }, ..))
                {
                    summary.fingerprint = Some(fingerprint(packet, &read, seeds));
                }
            }
            Err(UnreadPacket::Protocol) => {
                if let Some(frame) = frame(packet).filter(|frame| frame.kind == RAW) {
                    let cut = packet
                        .original
                        .saturating_sub(u32::try_from(packet.data.len()).unwrap_or(u32::MAX));
                    let octets =
                        u32::try_from(frame.payload.len()).unwrap_or(u32::MAX).saturating_add(cut);
                    let ends =
                        (FlowEndpoint::Mac(frame.source), FlowEndpoint::Mac(frame.destination));
                    summary.kind = datagram(packet, ends, octets, frame.payload);
                }
            }
            Err(other) => summary.kind = PacketKind::Other(other),
        }
        summary
    }
}

fn of_headers(packet: &Packet<'_>, transport_packet: &TransportPacket, body: &[u8]) -> PacketKind {
    match transport_packet.transport {
        TransportHeader::Tcp(tcp) => {
            let (pair, is_low) =
                EndpointPair::of(transport_packet.source, transport_packet.destination);
            PacketKind::Segment(pair, is_low, tcp, transport_packet.payload)
        }
        TransportHeader::Udp => {
            let ends = (
                FlowEndpoint::Ip(transport_packet.source),
                FlowEndpoint::Ip(transport_packet.destination),
            );
            datagram(packet, ends, transport_packet.payload, body)
        }
    }
}

fn fingerprint(packet: &Packet<'_>, read: &PacketContents<'_>, seeds: &Seeds) -> Fingerprint {
    // Without the checksum: an interface may still have to write it.
    let checksum = match read.headers.map(|headers| headers.transport) {
        Some(TransportHeader::Tcp(_)) => 16,
        Some(TransportHeader::Udp) => 6,
        None => COMPARED,
    };
    let compared = &read.contents[..read.contents.len().min(COMPARED)];
    let (before, after) = compared.split_at(checksum.min(compared.len()));
    let after = after.get(2..).unwrap_or_default();
    let hash = seeds.long_hash(&ComparedContents {
        addresses: read.addresses,
        identification: read.identification,
        octets: read.octets,
        // Offsets are multiples of eight.
        fragment: read
            .fragment
            .map_or(0, |fragment| fragment.offset | 2 | u32::from(fragment.has_more)),
        // Frames of another priority are another flow.
        priority: match read.headers.map(|headers| headers.transport) {
            Some(TransportHeader::Udp) => priority(packet).map_or(0, |priority| 1 + priority),
            _ => 0,
        },
        contents: [before, after],
    });
    let has_contents = match read.headers {
        Some(TransportPacket { transport: TransportHeader::Tcp(tcp), payload, .. }) => {
            payload > 0 || tcp.syn || tcp.fin
        }
        _ => false,
    };
    // Cooked captures of all interfaces have each packet's.
    let interface = match (packet.link, packet.data.get(4..8)) {
        (LinkType::Cooked2, Some(&[a, b, c, d])) => u32::from_be_bytes([a, b, c, d]),
        _ => packet.interface,
    };
    Fingerprint {
        source: source_of(read.addresses.0),
        identification: read.identification,
        hash,
        interface,
        hops: read.hops,
        is_fragment: read.fragment.is_some(),
        has_contents,
    }
}

/// A word for an address. Two that share one are two sources whose identifications tell nothing.
fn source_of(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => address.to_bits().wrapping_mul(0x9E37_79B1).rotate_left(16),
        IpAddr::V6(_) => 0,
    }
}

fn datagram(
    packet: &Packet<'_>,
    (source, destination): (FlowEndpoint, FlowEndpoint),
    octets: u32,
    body: &[u8],
) -> PacketKind {
    let (mark, number) = mark(body).unzip();
    let key = FlowKey { source, destination, mark, priority: priority(packet) };
    PacketKind::Datagram(key, number, octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_end() -> impl Strategy<Value = EndAddress> {
        // Few of them, and of both versions with the same bits, so that some are alike.
        (any::<bool>(), 0u32..3, 0u16..3).prop_map(|(is_six, bits, port)| {
            let address = if is_six {
                IpAddr::V6(Ipv6Addr::from_bits(u128::from(bits) << 62 | u128::from(bits)))
            } else {
                IpAddr::V4(Ipv4Addr::from_bits(bits))
            };
            EndAddress { address, port }
        })
    }

    proptest! {
        #[test]
        fn a_pair_has_its_ends_whichever_is_named_first(first in any_end(), second in any_end()) {
            let ((pair, is_low), (same, is_high)) = (EndpointPair::of(first, second), EndpointPair::of(second, first));
            prop_assert_eq!(pair, same);
            prop_assert_eq!(is_low == is_high, first == second);
            prop_assert_eq!(pair.ends(), if is_low { (first, second) } else { (second, first) });
            let seeds = Seeds::default();
            prop_assert_eq!(seeds.hash(&pair), seeds.hash(&same));
        }
    }
}
