//! A packet's headers as one flat value: source, destination and contents, as far as captured.

use crate::file::{Link, Packet};
use etherparse::{
    EtherType, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, TransportSlice,
};
use std::fmt::{Display, Formatter};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// One end of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

// Written out, since it is done for both ends of every packet: two words, or three, and not each
// octet for itself.
impl Hash for End {
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

impl Display for End {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(to)
    }
}

/// A packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Who sends.
    pub source: End,
    /// Who shall receive.
    pub destination: End,
    /// Octets of payload that the packet had, however many were captured.
    pub payload: u32,
    /// What the transport adds.
    pub transport: Transport,
}

/// Contents of a transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP: nothing more.
    Udp,
    /// TCP.
    Tcp(Tcp),
}

/// A TCP header (RFC 9293, section 3.1), with the options that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // flags of the header
pub struct Tcp {
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
    /// Its time and the one it echoes (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
    /// Whether there are selective acknowledgements (RFC 2018).
    pub selective: bool,
    /// Numbers that arrived once more, if it says so (RFC 2883): what was sent again had not been
    /// lost.
    pub duplicate: Option<(u32, u32)>,
}

/// What became of a packet that has no such headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// It begins with something that is not read.
    Link(u16),
    /// It is no IP, or its IP is no TCP or UDP.
    Protocol,
    /// A fragment of an IP packet without its transport header.
    Fragment,
    /// Too little of it was captured, or its headers contradict themselves.
    Broken,
}

/// Read a packet's headers.
///
/// # Errors
/// With what it is instead.
pub fn headers(packet: &Packet<'_>) -> Result<Headers, Other> {
    read_packet(packet).map(|(found, _)| found)
}

/// The network header of a packet, and what follows.
fn sliced<'a>(packet: &Packet<'a>) -> Result<LaxSlicedPacket<'a>, Other> {
    let data = packet.data;
    match packet.link {
        Link::Ethernet => LaxSlicedPacket::from_ethernet(data).map_err(|_| Other::Broken),
        Link::Ip => LaxSlicedPacket::from_ip(data).map_err(|_| Other::Broken),
        Link::Cooked => cooked(data, 14, 16),
        Link::Cooked2 => cooked(data, 0, 20),
        Link::Loopback => {
            LaxSlicedPacket::from_ip(data.get(4..).ok_or(Other::Broken)?).map_err(|_| Other::Broken)
        }
        Link::Other(number) => Err(Other::Link(number)),
    }
}

/// Addresses of the sender and the receiver of an IP packet, fragments too; `None` of others.
#[must_use]
pub fn addresses(packet: &Packet<'_>) -> Option<(IpAddr, IpAddr)> {
    match sliced(packet).ok()?.net? {
        LaxNetSlice::Ipv4(ip) => {
            Some((ip.header().source_addr().into(), ip.header().destination_addr().into()))
        }
        LaxNetSlice::Ipv6(ip) => {
            Some((ip.header().source_addr().into(), ip.header().destination_addr().into()))
        }
        LaxNetSlice::Arp(_) => None,
    }
}

/// Octets of the Ethernet frame of a packet, destination address to check sequence: what captures
/// leave out is added, and padding up to the shortest frame. `None` of a link that is not read.
#[must_use]
pub fn frame_octets(packet: &Packet<'_>) -> Option<u32> {
    const ADDRESSES_AND_TYPE: u32 = 14;
    const CHECK_SEQUENCE: u32 = 4;
    const SHORTEST: u32 = 64;
    let before = match packet.link {
        Link::Ethernet => ADDRESSES_AND_TYPE,
        Link::Ip => 0,
        Link::Cooked => 16,
        Link::Cooked2 => 20,
        Link::Loopback => 4,
        Link::Other(_) => return None,
    };
    let contents = packet.original.checked_sub(before)?;
    Some((contents + ADDRESSES_AND_TYPE + CHECK_SEQUENCE).max(SHORTEST))
}

/// Read a packet's headers, and give the payload of the transport as far as it was captured.
///
/// # Errors
/// With what it is instead.
pub fn read_packet<'a>(packet: &Packet<'a>) -> Result<(Headers, &'a [u8]), Other> {
    let sliced = sliced(packet)?;
    let (source, destination, ip_payload) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let stated = u32::from(header.total_len()).checked_sub(u32::from(header.ihl()) * 4);
            // A sender that leaves cutting to its interface may leave the length at 0.
            let payload =
                stated.filter(|_| header.total_len() > 0).unwrap_or(captured(ip.payload().payload));
            let ends = (header.source_addr().into(), header.destination_addr().into());
            if ip.payload().fragmented {
                return Err(Other::Fragment);
            }
            (ends.0, ends.1, payload)
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let stated = u32::from(header.payload_length());
            let extensions = captured(ip.extensions().slice());
            let payload = if stated == 0 {
                captured(ip.payload().payload)
            } else {
                stated.saturating_sub(extensions)
            };
            if ip.payload().fragmented {
                return Err(Other::Fragment);
            }
            (IpAddr::from(header.source_addr()), IpAddr::from(header.destination_addr()), payload)
        }
        _ => return Err(if sliced.stop_err.is_some() { Other::Broken } else { Other::Protocol }),
    };
    let (ports, header, transport, body) = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            let ports = (tcp.source_port(), tcp.destination_port());
            (ports, u32::from(tcp.data_offset()) * 4, Transport::Tcp(read(tcp)), tcp.payload())
        }
        Some(TransportSlice::Udp(udp)) => {
            ((udp.source_port(), udp.destination_port()), 8, Transport::Udp, udp.payload())
        }
        _ => return Err(if sliced.stop_err.is_some() { Other::Broken } else { Other::Protocol }),
    };
    let found = Headers {
        source: End { address: source, port: ports.0 },
        destination: End { address: destination, port: ports.1 },
        payload: ip_payload.checked_sub(header).ok_or(Other::Broken)?,
        transport,
    };
    Ok((found, body))
}

/// Headers after a Linux cooked header: offset of its protocol field, and its length.
fn cooked(data: &[u8], protocol: usize, length: usize) -> Result<LaxSlicedPacket<'_>, Other> {
    let rest = data.get(length..).ok_or(Other::Broken)?;
    let number = u16::from_be_bytes([data[protocol], data[protocol + 1]]);
    Ok(LaxSlicedPacket::from_ether_type(EtherType(number), rest))
}

fn captured(slice: &[u8]) -> u32 {
    u32::try_from(slice.len()).expect("a packet has at most 262 144 octets")
}

fn read(tcp: &TcpSlice<'_>) -> Tcp {
    let mut found = Tcp {
        sequence: tcp.sequence_number(),
        acknowledgment: tcp.acknowledgment_number(),
        window: tcp.window_size(),
        syn: tcp.syn(),
        ack: tcp.ack(),
        fin: tcp.fin(),
        rst: tcp.rst(),
        ..Tcp::default()
    };
    // What cannot be read of the options ends them; what preceded stands.
    for option in tcp.options_iterator().map_while(Result::ok) {
        match option {
            TcpOptionElement::MaximumSegmentSize(octets) => found.largest_segment = Some(octets),
            // More than 14 is taken as 14 (RFC 7323, section 2.3).
            TcpOptionElement::WindowScale(bits) => found.window_shift = Some(bits.min(14)),
            TcpOptionElement::Timestamp(own, echoed) => found.timestamps = Some((own, echoed)),
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                found.selective = true;
                found.duplicate = duplicate(found.acknowledgment, first, rest[0]);
            }
            TcpOptionElement::Noop | TcpOptionElement::SelectiveAcknowledgementPermitted => {}
        }
    }
    found
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
pub fn frame<'a>(packet: &Packet<'a>) -> Option<Frame<'a>> {
    if packet.link != Link::Ethernet {
        return None;
    }
    let (&destination, rest) = packet.data.split_first_chunk::<6>()?;
    let (&source, mut rest) = rest.split_first_chunk::<6>()?;
    loop {
        let (&kind, payload) = rest.split_first_chunk::<2>()?;
        let kind = u16::from_be_bytes(kind);
        if kind != 0x8100 && kind != 0x88a8 {
            return Some(Frame { source, destination, kind, payload });
        }
        rest = payload.get(2..)?;
    }
}

/// Priority of an Ethernet frame, 0 to 7: the PCP of its outermost tag (802.1Q-2022 § 9.6); `None`
/// without a tag.
#[must_use]
pub fn priority(packet: &Packet<'_>) -> Option<u8> {
    if packet.link != Link::Ethernet {
        return None;
    }
    match packet.data.get(12..15)? {
        [0x81, 0x00, control] | [0x88, 0xa8, control] => Some(control >> 5),
        _ => None,
    }
}

/// An Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Address of the sender.
    pub source: [u8; 6],
    /// Address of the receiver.
    pub destination: [u8; 6],
    /// Its type.
    pub kind: u16,
    /// What follows, as far as it was captured, padding too.
    pub payload: &'a [u8],
}
