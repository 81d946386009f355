//! Messages over a TCP connection, each with its length before it.
//!
//! What becomes segments is up to TCP: a message is not a frame, and only its octets are ours to
//! count. TCP's own statistics of the connection comes from the kernel ([`TcpPort::info`]).

use super::bulk::{BulkResult, BulkStream};
use super::system::{held_octets, set_option};
use super::tcp_info::TcpInfo;
use super::{NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress};
use crate::Error;
use ethermeter_ethernet::Carrier;
use socket2::SockRef;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Octets of the length before a message, big-endian.
const LENGTH_OCTETS: usize = 4;
/// Octets of the longest message.
const LONGEST: usize = 1 << 20;
const BATCH: usize = 64;
const LONGEST_CALL: Duration = Duration::from_millis(50);

/// A connection with its buffers.
pub struct TcpPort {
    stream: BulkStream,
    peer: SocketAddr,
    /// What was taken and not yet written, of the last batch.
    outgoing: Vec<u8>,
    written: usize,
    longest_payload: usize,
    /// What was read and not yet handed on.
    incoming: Box<[u8]>,
    filled: usize,
    wait_ms: u16,
    counters: PortCounters,
}

/// What was written to a connection and is not yet acknowledged, in octets.
///
/// # Errors
/// If the kernel does not report it.
pub fn unacknowledged_octets(stream: &TcpStream) -> Result<u64, Error> {
    held_octets(stream)
}

/// Let a connection send no faster than so many octets of payload a second, what is sent again
/// included.
///
/// # Errors
/// If the system refuses.
pub fn set_pace(stream: &TcpStream, octets_per_s: u64) -> Result<(), Error> {
    set_option(
        stream,
        libc::SOL_SOCKET,
        libc::SO_MAX_PACING_RATE,
        &octets_per_s,
        "setting a connection's pace",
    )
}

/// Let a socket answer loss by the congestion control of this name (`TCP_CONGESTION`), which its
/// system has to have.
///
/// # Errors
/// If the system refuses; the message names those that it has.
pub fn set_congestion(socket: &impl AsFd, name: &str) -> Result<(), Error> {
    SockRef::from(socket).set_tcp_congestion(name.as_bytes()).map_err(|source| {
        let allowed = ["available", "allowed"].map(|which| {
            let path = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
            std::fs::read_to_string(path)
                .map_or_else(|_| "not known".into(), |names| names.trim().to_owned())
        });
        let allowed = format!(
            "one that this system has: {}; without CAP_NET_ADMIN: {} ({source})",
            allowed[0], allowed[1]
        );
        Error::refused("congestion", name, allowed)
    })
}

/// The name of a socket's congestion control.
///
/// # Errors
/// If the kernel does not report it.
pub fn congestion(socket: &impl AsFd) -> Result<String, Error> {
    let name = SockRef::from(socket)
        .tcp_congestion()
        .map_err(Error::system("asking for a congestion control"))?;
    let name = name.split(|&octet| octet == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// When a connection is closed from now on, whether what it still holds goes on to be sent. If not,
/// it is gone and the other end gets a reset.
///
/// # Errors
/// If the system refuses.
pub fn set_persistence(stream: &TcpStream, goes_on: bool) -> Result<(), Error> {
    let linger = libc::linger { l_onoff: i32::from(!goes_on), l_linger: 0 };
    set_option(stream, libc::SOL_SOCKET, libc::SO_LINGER, &linger, "choosing how a connection ends")
}

impl TcpPort {
    /// A port on an open connection, for messages of up to `longest_payload` octets.
    ///
    /// # Errors
    /// If the length is out of range, or the system refuses.
    pub fn on(stream: TcpStream, longest_payload: usize) -> Result<Self, Error> {
        if !(1..=LONGEST).contains(&longest_payload) {
            return Err(Error::refused(
                "longest payload",
                longest_payload,
                format!("1 to {LONGEST} octets"),
            ));
        }
        let preparing = || Error::system("preparing a TCP connection");
        stream.set_nodelay(true).map_err(preparing())?;
        let peer = stream.peer_addr().map_err(preparing())?;
        let room = BATCH * (LENGTH_OCTETS + longest_payload);
        Ok(Self {
            stream: BulkStream::over(stream, Some(LONGEST_CALL))?,
            peer,
            outgoing: Vec::with_capacity(room.min(1 << 20).max(LENGTH_OCTETS + longest_payload)),
            written: 0,
            longest_payload,
            incoming: vec![0; (2 * (LENGTH_OCTETS + longest_payload)).max(1 << 16)].into(),
            filled: 0,
            wait_ms: 0,
            counters: PortCounters::default(),
        })
    }

    /// Two ends of a connection on the loopback interface.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn pair_on_loopback() -> Result<(Self, Self), Error> {
        let connecting = || Error::system("connecting on the loopback interface");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(connecting())?;
        let one = TcpStream::connect(listener.local_addr().map_err(connecting())?)
            .map_err(connecting())?;
        let (other, _) = listener.accept().map_err(connecting())?;
        Ok((Self::on(one, 1460)?, Self::on(other, 1460)?))
    }

    /// TCP's statistics of the connection.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn info(&self) -> Result<TcpInfo, Error> {
        self.stream.info()
    }

    /// The connection itself.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        self.stream.stream()
    }

    /// Write what was taken; true when all of it is written.
    fn flush(&mut self) -> Result<bool, Error> {
        while self.written < self.outgoing.len() {
            match self.stream.write(&self.outgoing[self.written..])? {
                BulkResult::Octets(octets) => self.written += octets,
                BulkResult::Nothing => {
                    self.counters.found_full += 1;
                    return Ok(false);
                }
                BulkResult::Closed | BulkResult::Reset => return Err(Error::Closed),
            }
        }
        self.outgoing.clear();
        self.written = 0;
        Ok(true)
    }

    fn read(&mut self, wait: ReceiveWait) -> Result<BulkResult, Error> {
        let room = &mut self.incoming[self.filled..];
        match wait {
            ReceiveWait::No => self.stream.read_now(room),
            ReceiveWait::Milliseconds(milliseconds) => {
                if self.wait_ms != milliseconds {
                    let timeout = Duration::from_millis(u64::from(milliseconds.max(1)));
                    let waiting = Error::system("choosing how long a connection waits");
                    self.stream.stream().set_read_timeout(Some(timeout)).map_err(waiting)?;
                    self.wait_ms = milliseconds;
                }
                self.stream.read(room)
            }
        }
    }

    /// Hand on the whole messages that are there; returns how many.
    fn hand_on<F: FnMut(&ReceivedPayload<'_>)>(&mut self, mut take: F) -> Result<usize, Error> {
        let (mut at, mut messages) = (0, 0);
        while let Some((head, rest)) =
            self.incoming[at..self.filled].split_first_chunk::<LENGTH_OCTETS>()
        {
            let octets = u32::from_be_bytes(*head) as usize;
            if octets > self.longest_payload {
                return Err(Error::refused(
                    "message",
                    octets,
                    format!("at most {} octets", self.longest_payload),
                ));
            }
            let Some(payload) = rest.get(..octets) else { break };
            take(&ReceivedPayload {
                payload,
                from: StationAddress::Socket(self.peer),
                stamped_ns: None,
                hop_limit: None,
            });
            at += LENGTH_OCTETS + octets;
            messages += 1;
        }
        self.incoming.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(messages)
    }
}

impl NetworkPort for TcpPort {
    fn carrier(&self) -> Carrier {
        if self.peer.is_ipv4() { Carrier::TcpOverIpv4 } else { Carrier::TcpOverIpv6 }
    }

    fn longest_payload(&self) -> usize {
        self.longest_payload
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        if at == StationAddress::Socket(self.peer) {
            return Ok(());
        }
        Err(Error::refused("address", format!("{at:?}"), format!("the other end, {}", self.peer)))
    }

    /// Messages that are taken are written entirely by this call or, if TCP has no room for the
    /// rest of them, by the next; none is taken meanwhile.
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        if !self.flush()? {
            return Ok(0);
        }
        let mut sent = 0;
        let room = LENGTH_OCTETS + self.longest_payload;
        while sent < count.min(BATCH) && self.outgoing.len() + room <= self.outgoing.capacity() {
            let at = self.outgoing.len();
            self.outgoing.resize(at + room, 0);
            let octets = fill(sent, &mut self.outgoing[at + LENGTH_OCTETS..]);
            let length = u32::try_from(octets).expect("below the longest message");
            self.outgoing[at..at + LENGTH_OCTETS].copy_from_slice(&length.to_be_bytes());
            self.outgoing.truncate(at + LENGTH_OCTETS + octets);
            sent += 1;
        }
        self.flush()?;
        self.counters.taken += sent as u64;
        Ok(sent)
    }

    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        take: F,
    ) -> Result<usize, Error> {
        match self.read(wait)? {
            BulkResult::Octets(octets) => self.filled += octets,
            BulkResult::Nothing => return Ok(0),
            // Nothing more will come: what came before has been read.
            BulkResult::Closed | BulkResult::Reset => return Err(Error::Closed),
        }
        let messages = self.hand_on(take)?;
        self.counters.handed_on += messages as u64;
        Ok(messages)
    }

    fn tcp(&self) -> Result<Option<TcpInfo>, Error> {
        self.info().map(Some)
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.flush()?;
        Ok(self.counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_bounds_however_the_stream_is_cut() {
        let (mut one, mut other) = TcpPort::pair_on_loopback().expect("a connection");
        let lengths: Vec<usize> = (0..300).map(|index| index * 7 % 1461).collect();
        let (mut sent, mut received) = (0, Vec::new());
        while received.len() < lengths.len() {
            sent += one
                .send(lengths.len() - sent, |index, _| lengths[sent + index])
                .expect("a connection");
            other
                .receive(ReceiveWait::Milliseconds(1000), |arrival| {
                    received.push(arrival.payload.len());
                })
                .expect("a connection");
        }
        assert_eq!(received, lengths);
    }

    #[test]
    fn tcp_tells_of_its_connection() {
        let (one, _other) = TcpPort::pair_on_loopback().expect("a connection");
        let info = one.info().expect("what TCP says");
        assert!(info.congestion_window > 0 && info.segment_octets > 0, "{info:?}");
        assert_eq!(info.sent_again, 0);
    }

    #[test]
    fn a_connection_has_the_congestion_control_that_was_chosen() {
        let (one, _other) = TcpPort::pair_on_loopback().expect("a connection");
        // Every Linux has Reno, and lets everybody choose it.
        set_congestion(one.stream(), "reno").expect("a congestion control");
        assert_eq!(congestion(one.stream()).expect("its name"), "reno");
        let error =
            set_congestion(one.stream(), "none-such").expect_err("there is none").to_string();
        assert!(error.contains("none-such") && error.contains("reno"), "{error}");
        let is_wanted =
            std::fs::read_to_string("/proc/sys/net/ipv4/tcp_sack").expect("a setting").trim()
                != "0";
        assert_eq!(one.info().expect("what TCP says").is_selective, is_wanted);
    }

    #[test]
    fn what_a_connection_holds_is_told_until_it_is_acknowledged() {
        let (mut one, mut other) = TcpPort::pair_on_loopback().expect("a connection");
        assert_eq!(one.send(3, |_, _| 1000).expect("a connection"), 3);
        let mut messages = 0;
        while messages < 3 {
            messages +=
                other.receive(ReceiveWait::Milliseconds(1000), |_| ()).expect("a connection");
        }
        while unacknowledged_octets(one.stream()).expect("what TCP says") > 0 {
            std::thread::yield_now();
        }
        let info = one.info().expect("what TCP says");
        // Three messages with four octets of length each; kernels count the beginning of the
        // connection as one more.
        assert!((3012..=3013).contains(&info.acknowledged_octets), "{info:?}");
        assert_eq!((info.sent_octets, info.sent_again_octets), (3012, 0));
    }

    #[test]
    fn a_connection_without_persistence_ends_at_once_and_the_other_end_is_told() {
        let (one, mut other) = TcpPort::pair_on_loopback().expect("a connection");
        set_persistence(one.stream(), false).expect("an option");
        drop(one);
        assert!(matches!(
            other.receive(ReceiveWait::Milliseconds(1000), |_| ()),
            Err(Error::Closed)
        ));
    }

    #[test]
    fn an_end_that_has_gone_has_closed_the_connection() {
        let (mut one, other) = TcpPort::pair_on_loopback().expect("a connection");
        drop(other);
        assert!(matches!(one.receive(ReceiveWait::Milliseconds(1000), |_| ()), Err(Error::Closed)));
    }

    #[test]
    fn a_message_longer_than_the_port_is_an_error() {
        let (one, mut other) = TcpPort::pair_on_loopback().expect("a connection");
        let copy = one.stream().try_clone().expect("another handle");
        let mut one = TcpPort::on(copy, 2000).expect("a port");
        assert_eq!(one.send(1, |_, _| 1461).expect("a connection"), 1);
        let refused = other.receive(ReceiveWait::Milliseconds(1000), |_| ()).expect_err("an error");
        assert!(refused.to_string().contains("1460"), "{refused}");
    }
}
