//! A packet's headers as one flat value: source, destination and contents, as far as captured.

mod layers;

use crate::file::{LinkType, Packet};
use std::fmt::{Display, Formatter};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

pub use layers::{Encapsulation, IpFragment, UnreadPacket};
use layers::{TCP, UDP};

/// Octets of the largest payload that is believed: no window has room for more (RFC 7323, section
/// 2.3).
pub(crate) const MOST_PAYLOAD: u32 = 1 << 30;

/// One end of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndAddress {
    /// Address of the end.
    pub address: IpAddr,
    /// Port of the end.
    pub port: u16,
}

// Written out, since it is done for both ends of every packet: two words, or three, and not each
// octet for itself.
impl Hash for EndAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.address {
            IpAddr::V4(address) => {
                state.write_u64(u64::from(address.to_bits()) << 16 | u64::from(self.port));
            }
            IpAddr::V6(address) => {
                state.write_u128(address.to_bits());
                state.write_u64(u64::from(self.port));
            }
        }
    }
}

impl Display for EndAddress {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(to)
    }
}

/// A packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportPacket {
    /// Who sends.
    pub source: EndAddress,
    /// Who shall receive.
    pub destination: EndAddress,
    /// Octets of payload that the packet had, however many were captured.
    pub payload: u32,
    /// What the transport adds.
    pub transport: TransportHeader,
}

/// Contents of a transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportHeader {
    /// UDP: nothing more.
    Udp,
    /// TCP.
    Tcp(TcpHeader),
}

/// A TCP header (RFC 9293, section 3.1), with the options that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // flags of the header
pub struct TcpHeader {
    /// Sequence number of the first octet of payload, or of SYN.
    pub sequence: u32,
    /// Next octet that is expected, if `ack`.
    pub acknowledgment: u32,
    /// Window as it stands in the header, not scaled.
    pub window: u16,
    /// The flags.
    pub syn: bool,
    /// See `syn`.
    pub ack: bool,
    /// See `syn`.
    pub fin: bool,
    /// See `syn`.
    pub rst: bool,
    /// Largest segment that the sender wants to receive (RFC 9293, section 3.7.1).
    pub largest_segment: Option<u16>,
    /// Bits by which the sender's windows are to be shifted (RFC 7323, section 2).
    pub window_shift: Option<u8>,
    /// The segment's time and the one it echoes (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
    /// Whether there are selective acknowledgements (RFC 2018).
    pub selective: bool,
    /// Numbers that arrived once more, if it says so (RFC 2883): what was sent again had not been
    /// lost.
    pub duplicate: Option<(u32, u32)>,
    /// Whether some of its options were not captured.
    pub has_cut_options: bool,
}

/// Read a packet's headers.
///
/// # Errors
/// With what it is instead.
pub fn headers(packet: &Packet<'_>) -> Result<TransportPacket, UnreadPacket> {
    let contents = read_packet(packet)?;
    if contents.fragment.is_some() {
        return Err(UnreadPacket::Fragment);
    }
    contents.headers.ok_or(UnreadPacket::Protocol)
}

/// Addresses of the sender and the receiver of an IP packet, fragments too, of a tunnel those of
/// its ends; `None` of others.
#[must_use]
pub fn addresses(packet: &Packet<'_>) -> Option<(IpAddr, IpAddr)> {
    layers::outermost(packet).ok().map(|ip| (ip.source, ip.destination))
}

/// Octets of the Ethernet frame of a packet, destination address to check sequence: what captures
/// leave out is added, and padding up to the shortest frame. `None` of a link that is not read.
#[must_use]
pub fn frame_octets(packet: &Packet<'_>) -> Option<u32> {
    const ADDRESSES_AND_TYPE: u32 = 14;
    const CHECK_SEQUENCE: u32 = 4;
    const SHORTEST: u32 = 64;
    let contents = packet.original.checked_sub(packet.link.header_octets()?)?;
    Some((contents + ADDRESSES_AND_TYPE + CHECK_SEQUENCE).max(SHORTEST))
}

/// A TCP or UDP packet, or a fragment of one.
#[derive(Clone, Copy, Debug)]
pub struct PacketContents<'a> {
    /// Its headers; of a fragment `None` unless it is the first. The payload of a first fragment is
    /// what this fragment has of it.
    pub headers: Option<TransportPacket>,
    /// Payload of the transport as far as it was captured.
    pub body: &'a [u8],
    /// Which fragment it is; `None` of whole packets.
    pub fragment: Option<IpFragment>,
    /// Addresses of the sender and the receiver.
    pub addresses: (IpAddr, IpAddr),
    /// Identification of its IP packet, 0 if it has none.
    pub identification: u32,
    /// Time to live of the packet, or hop limit.
    pub hops: u8,
    /// Contents of its IP packet as far as captured: the transport's header and payload.
    pub contents: &'a [u8],
    /// Octets that those had.
    pub octets: u32,
}

/// Read a packet of TCP or UDP, or a fragment of one, whatever it is encapsulated in.
///
/// # Errors
/// With what it is instead.
pub fn read_packet<'a>(packet: &Packet<'a>) -> Result<PacketContents<'a>, UnreadPacket> {
    let ip = layers::innermost(packet)?;
    let mut contents = PacketContents {
        headers: None,
        body: &[],
        fragment: ip.fragment,
        addresses: (ip.source, ip.destination),
        identification: ip.identification,
        hops: ip.hops,
        contents: ip.payload.octets,
        octets: ip.payload.length,
    };
    if ip.fragment.is_some_and(|fragment| fragment.offset > 0) {
        return match ip.protocol {
            TCP | UDP => Ok(contents),
            _ => Err(UnreadPacket::Fragment),
        };
    }
    let (ports, header, transport) = match ip.protocol {
        TCP => tcp(ip.payload.octets)?,
        UDP => {
            let header: &[u8; 8] = ip.payload.octets.first_chunk().ok_or(UnreadPacket::Broken)?;
            (ports_of(header), 8, TransportHeader::Udp)
        }
        _ if ip.fragment.is_some() => return Err(UnreadPacket::Fragment),
        _ => return Err(UnreadPacket::Protocol),
    };
    contents.body = ip.payload.octets.get(header..).unwrap_or_default();
    let header = u32::try_from(header).map_err(|_| UnreadPacket::Broken)?;
    let payload = ip.payload.length.checked_sub(header).ok_or(UnreadPacket::Broken)?;
    if payload > MOST_PAYLOAD {
        return Err(UnreadPacket::Broken);
    }
    contents.headers = Some(TransportPacket {
        source: EndAddress { address: ip.source, port: ports.0 },
        destination: EndAddress { address: ip.destination, port: ports.1 },
        payload,
        transport,
    });
    Ok(contents)
}

fn ports_of(header: &[u8]) -> (u16, u16) {
    (u16::from_be_bytes([header[0], header[1]]), u16::from_be_bytes([header[2], header[3]]))
}

/// Ports, octets of the header, and contents of a TCP header; its options as far as captured.
fn tcp(octets: &[u8]) -> Result<((u16, u16), usize, TransportHeader), UnreadPacket> {
    let header: &[u8; 20] = octets.first_chunk().ok_or(UnreadPacket::Broken)?;
    let word = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let length = usize::from(header[12] >> 4) * 4;
    if length < 20 {
        return Err(UnreadPacket::Broken);
    }
    let is_set = |bit: u8| header[13] & bit != 0;
    let mut tcp = TcpHeader {
        sequence: word(4),
        acknowledgment: word(8),
        window: u16::from_be_bytes([header[14], header[15]]),
        fin: is_set(1),
        syn: is_set(2),
        rst: is_set(4),
        ack: is_set(16),
        has_cut_options: octets.len() < length,
        ..TcpHeader::default()
    };
    tcp.read_options(&octets[20..length.min(octets.len())]);
    Ok((ports_of(header), length, TransportHeader::Tcp(tcp)))
}

impl TcpHeader {
    /// Read options (RFC 9293, section 3.1). One of a kind that is not known, or of another length
    /// than its kind has, is passed over by its length; a length that cannot be ends them, and what
    /// preceded stands.
    fn read_options(&mut self, mut options: &[u8]) {
        while let Some((&kind, rest)) = options.split_first() {
            match kind {
                0 => return,
                1 => {
                    options = rest;
                    continue;
                }
                _ => {}
            }
            let Some(value) =
                options.get(1).and_then(|length| options.get(2..usize::from(*length)))
            else {
                return;
            };
            options = &options[value.len() + 2..];
            match (kind, value) {
                (2, &[high, low]) => self.largest_segment = Some(u16::from_be_bytes([high, low])),
                // More than 14 is taken as 14 (RFC 7323, section 2.3).
                (3, &[bits]) => self.window_shift = Some(bits.min(14)),
                (5, blocks) if !blocks.is_empty() && blocks.len() % 8 == 0 => {
                    let mut blocks = blocks.chunks_exact(8).map(pair);
                    self.selective = true;
                    if let Some(first) = blocks.next() {
                        self.duplicate = duplicate(self.acknowledgment, first, blocks.next());
                    }
                }
                (8, both) if both.len() == 8 => self.timestamps = Some(pair(both)),
                _ => {}
            }
        }
    }
}

/// Two numbers of 32 bits.
fn pair(octets: &[u8]) -> (u32, u32) {
    let word = |at: usize| {
        u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
    };
    (word(0), word(4))
}

/// The first block, if it lies below the acknowledgement or within the second: then it tells of a
/// duplicate (RFC 2883, section 4).
fn duplicate(
    acknowledgment: u32,
    first: (u32, u32),
    second: Option<(u32, u32)>,
) -> Option<(u32, u32)> {
    let up_to = |a: u32, b: u32| b.wrapping_sub(a) < 1 << 31;
    let is_below = up_to(first.1, acknowledgment);
    let is_within =
        second.is_some_and(|second| up_to(second.0, first.0) && up_to(first.1, second.1));
    (is_below || is_within).then_some(first)
}

/// Addresses of an Ethernet frame, its type behind any tags, and its payload.
#[must_use]
pub fn frame<'a>(packet: &Packet<'a>) -> Option<EthernetFrame<'a>> {
    if packet.link != LinkType::Ethernet {
        return None;
    }
    let (&destination, rest) = packet.data.split_first_chunk::<6>()?;
    let (&source, mut rest) = rest.split_first_chunk::<6>()?;
    loop {
        let (&kind, payload) = rest.split_first_chunk::<2>()?;
        let kind = u16::from_be_bytes(kind);
        if kind != 0x8100 && kind != 0x88a8 {
            return Some(EthernetFrame { source, destination, kind, payload });
        }
        rest = payload.get(2..)?;
    }
}

/// Priority of an Ethernet frame, 0 to 7: the PCP of its outermost tag (802.1Q-2022 § 9.6); `None`
/// without a tag.
#[must_use]
pub fn priority(packet: &Packet<'_>) -> Option<u8> {
    if packet.link != LinkType::Ethernet {
        return None;
    }
    match packet.data.get(12..15)? {
        [0x81, 0x00, control] | [0x88, 0xa8, control] => Some(control >> 5),
        _ => None,
    }
}

/// An Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetFrame<'a> {
    /// Address of the sender.
    pub source: [u8; 6],
    /// Address of the receiver.
    pub destination: [u8; 6],
    /// Type of the frame's contents.
    pub kind: u16,
    /// What follows, as far as it was captured, padding too.
    pub payload: &'a [u8],
}
