//! Network ports.
//!
//! A port lends its own memory to be filled with what is to be sent, and to be read where something
//! has arrived, so nothing is allocated or copied for each frame on our side. Payloads begin with
//! the mark; the headers that a port puts before it (Ethernet, IP, UDP) stay in the port.

pub mod bulk;
pub mod credited;
pub mod memory;
mod messages;
pub mod packet;
pub mod ring;
pub mod system;
pub mod tap;
pub mod tcp;
pub mod tcp_info;
pub mod udp;
pub mod xdp;

use crate::Error;
use crate::wire::MacAddress;
use ethermeter_ethernet::Carrier;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use tcp_info::TcpInfo;

/// Kind of port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PortKind {
    /// UDP over IPv4 or IPv6.
    #[default]
    Udp,
    /// A TCP connection.
    Tcp,
    /// Raw frames through `AF_PACKET`.
    Packet,
    /// Raw frames through `AF_XDP`.
    Xdp,
}

/// Properties of a kind of port.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "properties that do not depend on each other")]
pub struct PortTraits {
    /// Word in the protocol: the name of the kind, in kebab case.
    pub word: &'static str,
    /// What frames carry their payloads in, over IPv4 and over IPv6.
    pub carriers: [Carrier; 2],
    /// Octets of the longest frame. A datagram counts as one frame, though IP may cut it up.
    pub longest_frame_octets: u32,
    /// Whether it is a connection of two stations, with a role of its own at each end.
    pub is_connection: bool,
    /// Whether it can join a multicast group.
    pub joins_groups: bool,
    /// Whether several flows of a host can use it.
    pub is_shared: bool,
    /// Whether it knows when a frame has left ([`NetworkPort::is_clear`]), which voice needs.
    pub knows_departures: bool,
}

/// Octets of the frame of the longest datagram: 46 around 65 507 of payload.
const LONGEST_DATAGRAM_FRAME: u32 = 65_553;

impl PortKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Udp, Self::Tcp, Self::Packet, Self::Xdp];

    /// Properties of the kind.
    #[must_use]
    pub const fn traits(self) -> PortTraits {
        match self {
            Self::Udp => PortTraits {
                word: "udp",
                carriers: [Carrier::UdpOverIpv4, Carrier::UdpOverIpv6],
                longest_frame_octets: LONGEST_DATAGRAM_FRAME,
                is_connection: false,
                joins_groups: true,
                is_shared: true,
                knows_departures: true,
            },
            Self::Tcp => PortTraits {
                word: "tcp",
                carriers: [Carrier::TcpOverIpv4, Carrier::TcpOverIpv6],
                longest_frame_octets: LONGEST_DATAGRAM_FRAME,
                is_connection: true,
                joins_groups: false,
                is_shared: true,
                knows_departures: false,
            },
            Self::Packet => PortTraits {
                word: "packet",
                carriers: [Carrier::Raw; 2],
                longest_frame_octets: 9018,
                is_connection: false,
                joins_groups: true,
                is_shared: true,
                knows_departures: true,
            },
            Self::Xdp => PortTraits {
                word: "xdp",
                carriers: [Carrier::Raw; 2],
                longest_frame_octets: 1518,
                is_connection: false,
                joins_groups: false,
                is_shared: false,
                knows_departures: false,
            },
        }
    }

    /// Word of the kind in the protocol.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.traits().word
    }

    /// Words of all kinds that `has`, for a message: `"udp" or "packet"`.
    #[must_use]
    pub fn words(has: impl Fn(PortTraits) -> bool) -> String {
        let kinds = Self::ALL.map(Self::traits).into_iter().filter(|&traits| has(traits));
        kinds.map(|traits| format!("{:?}", traits.word)).collect::<Vec<_>>().join(" or ")
    }

    /// What frames between stations of this version of IP carry their payloads in.
    #[must_use]
    pub const fn carrier(self, is_ipv4: bool) -> Carrier {
        let [over_ipv4, over_ipv6] = self.traits().carriers;
        if is_ipv4 { over_ipv4 } else { over_ipv6 }
    }

    /// Whether frames are our own, with our `EtherType` and no IP.
    #[must_use]
    pub const fn is_raw(self) -> bool {
        matches!(self.carrier(true), Carrier::Raw)
    }
}

/// Where a station can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationAddress {
    /// An Ethernet address; raw frames.
    Mac(MacAddress),
    /// An IP address and port, unicast, multicast or broadcast.
    Socket(SocketAddr),
}

impl StationAddress {
    /// Whether both are of one station, whatever their ports.
    #[must_use]
    pub fn is_station_of(self, other: Self) -> bool {
        match (self, other) {
            (Self::Socket(one), Self::Socket(other)) => one.ip() == other.ip(),
            (Self::Mac(one), Self::Mac(other)) => one == other,
            _ => false,
        }
    }
}

impl fmt::Display for StationAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(mac) => mac.fmt(formatter),
            Self::Socket(socket) => socket.fmt(formatter),
        }
    }
}

/// Something that arrived.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedPayload<'a> {
    /// From the mark on; padding may follow.
    pub payload: &'a [u8],
    /// The sender.
    pub from: StationAddress,
    /// When the kernel saw it, in the host's time, where it says so.
    pub stamped_ns: Option<u64>,
    /// Hop limit on arrival, where the port asks for it.
    pub hop_limit: Option<u8>,
}

/// How long to wait for something to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWait {
    /// Not at all: the caller spins.
    No,
    /// Until something comes, or about this many milliseconds.
    Milliseconds(u16),
}

/// What happened at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortCounters {
    /// Frames that the kernel took.
    pub taken: u64,
    /// Times that it took none because the socket's room was full (`EAGAIN`); nothing is lost by
    /// that.
    pub found_full: u64,
    /// Times that it refused for want of memory or room in a queue (`ENOBUFS`); nothing is lost by
    /// that either.
    pub no_buffers: u64,
    /// Frames that it took and then could not send.
    pub failed: u64,
    /// Frames that arrived and were handed on.
    pub handed_on: u64,
    /// Frames that arrived at the socket when it had no more room.
    pub dropped_at_socket: u64,
    /// Arrivals that were not for us: cut, or of another type.
    pub unexpected: u64,
    /// By how much the wall clock, with which the kernel stamps arrivals, was set since the port
    /// was opened, in nanoseconds; 0 without stamps.
    pub clock_stepped_ns: u64,
}

/// A network port.
pub trait NetworkPort {
    /// What frames carry their payloads in.
    fn carrier(&self) -> Carrier;

    /// Octets of the longest payload that it can send.
    fn longest_payload(&self) -> usize;

    /// Most frames that one call of [`NetworkPort::send`] takes.
    fn batch(&self) -> usize;

    /// Send to `at` from now on.
    ///
    /// # Errors
    /// If the address is of another kind than the port's.
    fn aim(&mut self, at: StationAddress) -> Result<(), Error>;

    /// Send up to `count` frames, at most a batch, in order. `fill(i, room)` writes the payload of
    /// the i-th and returns its length in octets.
    ///
    /// Returns how many the kernel took. It may be none, and `fill` may have been called for more
    /// than that: those were not sent.
    ///
    /// # Errors
    /// If sending is impossible rather than not possible just now.
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        fill: F,
    ) -> Result<usize, Error>;

    /// Hand on what has arrived; returns how many.
    ///
    /// # Errors
    /// If nothing will ever arrive any more.
    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        take: F,
    ) -> Result<usize, Error>;

    /// Whether all frames that it took have left for the wire, or are lost: none waits in the
    /// socket or in the queue of its interface.
    ///
    /// # Errors
    /// If the kernel does not report it, or the kind of port does not know.
    fn is_clear(&mut self) -> Result<bool, Error> {
        Err(Error::refused(
            "port",
            "of a kind that cannot tell when a frame has left",
            "UDP or raw frames by packet sockets",
        ))
    }

    /// What TCP says of the connection; `None` of a port that has none.
    ///
    /// # Errors
    /// If the kernel does not report it.
    fn tcp(&self) -> Result<Option<TcpInfo>, Error> {
        Ok(None)
    }

    /// What happened so far.
    ///
    /// # Errors
    /// If the kernel does not report it.
    fn counters(&mut self) -> Result<PortCounters, Error>;
}
