//! What an explanation needs of a packet, without the packet: so that many can be read before the first is taken in.

use crate::file::Packet;
use crate::flow::{mark, Mark, RAW};
use crate::packet::{frame, read_packet, End, Other, Tcp, Transport};
use std::fmt::{Display, Formatter};

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Station {
    /// Of UDP.
    Ip(End),
    /// Of raw frames.
    Mac([u8; 6]),
}

impl Display for Station {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ip(end) => end.fmt(to),
            Self::Mac(octets) => {
                let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
                write!(to, "{}", octets.join(":"))
            }
        }
    }
}

/// Between whom a flow is, and its mark.
pub(crate) type FlowKey = (Station, Station, Option<Mark>);

/// A packet as an explanation needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    /// See [`Packet::time_ns`].
    pub(crate) time_ns: Option<i64>,
    /// Octets that it had.
    pub(crate) original: u32,
    /// A part of it was kept only.
    pub(crate) is_cut: bool,
    /// What it is.
    pub(crate) what: What,
}

/// What a packet is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A segment of TCP from the first end to the second, with so many octets of payload.
    Segment((End, End), Tcp, u32),
    /// A packet of UDP, or a raw frame, with its number if it has a mark, and so many octets of payload.
    Datagram(FlowKey, Option<u64>, u32),
    /// Something else.
    Other(Other),
}

impl Noted {
    /// Note a packet.
    pub(crate) fn of(packet: &Packet<'_>) -> Self {
        let what = match read_packet(packet) {
            Ok((found, body)) => match found.transport {
                Transport::Tcp(tcp) => What::Segment((found.source, found.destination), tcp, found.payload),
                Transport::Udp => {
                    datagram(Station::Ip(found.source), Station::Ip(found.destination), found.payload, body)
                }
            },
            Err(Other::Protocol) => match frame(packet).filter(|frame| frame.kind == RAW) {
                Some(frame) => {
                    let cut = packet.original.saturating_sub(u32::try_from(packet.data.len()).unwrap_or(u32::MAX));
                    let octets = u32::try_from(frame.payload.len()).unwrap_or(u32::MAX).saturating_add(cut);
                    datagram(Station::Mac(frame.source), Station::Mac(frame.destination), octets, frame.payload)
                }
                None => What::Other(Other::Protocol),
            },
            Err(other) => What::Other(other),
        };
        let is_cut = (packet.data.len() as u64) < u64::from(packet.original);
        Self { time_ns: packet.time_ns, original: packet.original, is_cut, what }
    }
}

fn datagram(source: Station, destination: Station, octets: u32, body: &[u8]) -> What {
    let (mark, number) = mark(body).unzip();
    What::Datagram((source, destination, mark), number, octets)
}
