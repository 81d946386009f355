//! One end of a connection, of either protocol.

use super::endpoint::{Endpoint, Sent, TcpSegment};
use super::turns::Turns;
use crate::time::Instant;
use ethermeter_ethernet::units::Octets;
use ethermeter_trial::transfer::{HEADER_OCTETS, IPX_HEADER_OCTETS, Transfer};

#[derive(Debug)]
pub(super) enum End {
    Tcp(Box<Endpoint>),
    Ipx(Turns),
}

impl End {
    /// An end of a checked transfer; `asks` of the flow's `from`, `is_file` of what is answered.
    pub fn new(
        transfer: &Transfer,
        measured: (Instant, Instant),
        asks: bool,
        is_file: bool,
    ) -> Self {
        match (transfer.tcp, transfer.ipx) {
            (Some(tcp), _) => Self::Tcp(Box::new(Endpoint::new(tcp, measured))),
            (_, Some(ipx)) => Self::Ipx(Turns::new(ipx, measured, asks, is_file)),
            _ => unreachable!("a transfer over tcp or ipx"),
        }
    }

    /// Headers of a packet, without those of the frame.
    pub fn header_octets(transfer: &Transfer) -> Octets {
        Octets(transfer.tcp.map_or(IPX_HEADER_OCTETS, |tcp| HEADER_OCTETS + tcp.option_octets))
    }

    /// Octets that the application has read.
    pub fn taken(&self) -> Octets {
        match self {
            Self::Tcp(end) => end.taken(),
            Self::Ipx(end) => end.taken(),
        }
    }

    /// When it next has something to do by itself.
    pub fn wakes(&self) -> Option<Instant> {
        match self {
            Self::Tcp(end) => end.wakes(),
            Self::Ipx(end) => end.wakes(),
        }
    }

    /// The application has a message of so many octets for the other.
    pub fn write(&mut self, now: Instant, octets: Octets) {
        match self {
            Self::Tcp(end) => end.write(now, octets),
            Self::Ipx(end) => end.write(now, octets),
        }
    }

    /// The application writes no more.
    pub fn close(&mut self) {
        match self {
            Self::Tcp(end) => end.close(),
            Self::Ipx(end) => end.close(),
        }
    }

    /// Do what is due.
    pub fn wake(&mut self, now: Instant) {
        match self {
            Self::Tcp(end) => end.wake(now),
            Self::Ipx(end) => end.wake(now),
        }
    }

    /// A segment comes. Whether it brings something new.
    pub fn receive(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        match self {
            Self::Tcp(end) => end.receive(now, segment),
            Self::Ipx(end) => end.receive(now, segment),
        }
    }

    /// Whether a segment is to go out.
    pub fn has_segment(&self) -> bool {
        match self {
            Self::Tcp(end) => !end.out.is_empty(),
            Self::Ipx(end) => !end.out.is_empty(),
        }
    }

    /// The next segment to go out.
    pub fn take_segment(&mut self) -> Option<TcpSegment> {
        match self {
            Self::Tcp(end) => end.out.pop_front(),
            Self::Ipx(end) => end.out.pop_front(),
        }
    }

    pub fn counts(&self) -> Sent {
        match self {
            Self::Tcp(end) => end.counts,
            Self::Ipx(end) => end.counts,
        }
    }

    /// Congestion windows over time; IPX has none.
    pub fn finish_windows(&mut self) -> Vec<(u64, u64)> {
        match self {
            Self::Tcp(end) => end.windows.finish(),
            Self::Ipx(_) => Vec::new(),
        }
    }
}
