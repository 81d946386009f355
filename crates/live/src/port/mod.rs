//! Network ports.
//!
//! A port lends its own memory to be filled with what is to be sent, and to be read where something
//! has arrived, so nothing is allocated or copied for each frame on our side. Payloads begin with
//! the mark; what a port puts before it (Ethernet, IP, UDP headers) nobody else sees.

pub mod memory;
pub mod packet;
pub mod ring;
pub mod system;
pub mod tap;
pub mod tcp;
pub mod tcp_info;
pub mod udp;
pub mod xdp;

use crate::wire::Mac;
use crate::Error;
use ethermeter_ethernet::Carrier;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use tcp_info::TcpInfo;

/// Where a station can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// An Ethernet address; raw frames.
    Mac(Mac),
    /// An IP address and port, unicast, multicast or broadcast.
    Socket(SocketAddr),
}

impl Address {
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

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(mac) => mac.fmt(formatter),
            Self::Socket(socket) => socket.fmt(formatter),
        }
    }
}

/// Something that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// From the mark on; padding may follow.
    pub payload: &'a [u8],
    /// Who sent it.
    pub from: Address,
    /// When the kernel saw it, in the host's time, where it says so.
    pub stamped_ns: Option<u64>,
}

/// How long to wait for something to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: the caller spins.
    No,
    /// Until something comes, or about this many milliseconds.
    Milliseconds(u16),
}

/// What happened at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
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
    pub strange: u64,
    /// By how much the wall clock, with which the kernel stamps arrivals, was set since the port
    /// was opened, in nanoseconds; 0 without stamps.
    pub clock_stepped_ns: u64,
}

/// A network port.
pub trait Port {
    /// What frames carry their payloads in.
    fn carrier(&self) -> Carrier;

    /// Octets of the longest payload that it can send.
    fn longest_payload(&self) -> usize;

    /// Most frames that one call of [`Port::send`] takes.
    fn batch(&self) -> usize;

    /// Send to `at` from now on.
    ///
    /// # Errors
    /// If the address is of another kind than the port's.
    fn aim(&mut self, at: Address) -> Result<(), Error>;

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
    fn receive<F: FnMut(&Arrival<'_>)>(&mut self, wait: Wait, take: F) -> Result<usize, Error>;

    /// Whether all frames that it took have left for the wire, or are lost: none waits in the
    /// socket or in the queue of its interface.
    ///
    /// # Errors
    /// If the kernel does not say, or the port is of a kind of which nobody can.
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
