//! Data streams over TCP and UDP.

use super::control::{COOKIE_OCTETS, LONGEST_CALL, closed, connected, is_early};
use crate::Error;
use ethermeter_net::pacing::{Pacer, Pacing};
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::time::{NS_PER_S, Timeline, WallClock};
use ethermeter_traffic::sequence::{Account, Sequence};
use nix::errno::Errno;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a client sends to open a stream of datagrams, and what servers answer.
const HELLO: u32 = 0x3637_3839;
const ANSWERS: [u32; 2] = [0x3938_3736, 987_654_321];
/// Octets before the payload of a datagram: seconds, microseconds, number of 64 bits.
pub(super) const HEADER: usize = 16;
/// Datagrams with higher numbers than a test can have are not of this test.
const MOST_NUMBER: u64 = 1 << 40;
/// Numbers of datagrams that are remembered, to tell duplicates from reordered ones.
const MEMORY: usize = 1 << 16;

/// Counts of a stream that others may read while it runs.
#[derive(Debug, Default)]
pub(super) struct StreamProgress {
    /// Octets of payload that were handed to the system, or read.
    pub octets: AtomicU64,
    /// Datagrams of it.
    pub datagrams: AtomicU64,
}

/// Flags that end streams.
#[derive(Debug, Default)]
pub(super) struct StreamFlags {
    /// Nothing more is sent.
    pub is_over: AtomicBool,
    /// Nothing more is read.
    pub is_closed: AtomicBool,
}

/// Result of a stream of this host.
#[derive(Debug, Default)]
pub(super) struct StreamEnd {
    /// Processor time of its thread.
    pub worked_ns: u64,
    /// Datagrams received, by their numbers.
    pub account: Option<(Sequence, f64)>,
}

impl StreamEnd {
    /// Datagrams received of those that the server sent, and the jitter of their arrivals in s.
    pub fn received(&self, sent: u64) -> Option<(Account, f64)> {
        self.account.as_ref().map(|(sequence, jitter_s)| {
            (sequence.account(Some(sent.max(sequence.next_expected()))), *jitter_s)
        })
    }
}

/// A stream that is open.
pub(super) enum TestStream {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl TestStream {
    /// Open a TCP stream; returns it and how long the connection took to open.
    pub fn tcp(
        to: SocketAddr,
        cookie: &[u8; COOKIE_OCTETS],
        timeout_ns: u64,
        time: &impl Timeline,
    ) -> Result<(Self, u64), Error> {
        let (mut stream, opened_in_ns) = connected(to, timeout_ns, time)?;
        let prepared = || Error::system("preparing a connection");
        stream.set_write_timeout(Some(LONGEST_CALL)).map_err(prepared())?;
        stream.set_read_timeout(Some(LONGEST_CALL)).map_err(prepared())?;
        stream.write_all(cookie).map_err(|error| closed(&error))?;
        Ok((Self::Tcp(stream), opened_in_ns))
    }

    /// Open a stream of datagrams; returns it and how long the server took to answer.
    pub fn udp(
        to: SocketAddr,
        timeout_ns: u64,
        time: &impl Timeline,
        stop: &AtomicBool,
    ) -> Result<(Self, u64), Error> {
        let local = match to.ip() {
            IpAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            IpAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let opening = || Error::system("opening a UDP socket");
        let socket = UdpSocket::bind(local).map_err(opening())?;
        socket.connect(to).map_err(opening())?;
        socket.set_read_timeout(Some(LONGEST_CALL)).map_err(opening())?;
        socket.set_write_timeout(Some(LONGEST_CALL)).map_err(opening())?;
        let begin_ns = time.now_ns();
        socket.send(&HELLO.to_ne_bytes()).map_err(|error| closed(&error))?;
        let mut room = [0; 64];
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            if time.now_ns() - begin_ns > timeout_ns {
                let text = "no answer over UDP; is its port closed to UDP by a firewall?";
                return Err(Error::Peer(format!("{to}: {text}")));
            }
            match socket.recv(&mut room) {
                // In the octet order of the server's processor.
                Ok(4) => {
                    let octets = [room[0], room[1], room[2], room[3]];
                    let words = [u32::from_be_bytes(octets), u32::from_le_bytes(octets)];
                    if words.iter().any(|word| ANSWERS.contains(word)) {
                        return Ok((Self::Udp(socket), time.now_ns() - begin_ns));
                    }
                }
                Ok(_) => {}
                Err(error) if is_early(&error) => {}
                Err(error) => return Err(closed(&error)),
            }
        }
    }

    /// What TCP knows of it; `None` of datagrams.
    pub fn info(&self) -> Result<Option<TcpInfo>, Error> {
        match self {
            Self::Tcp(stream) => Ok(Some(TcpInfo::of(stream)?)),
            Self::Udp(_) => Ok(None),
        }
    }

    /// Send until the time is over: blocks of `octets`, at `rate_bps` if it is not 0.
    pub fn send(
        &self,
        octets: usize,
        rate_bps: u64,
        begin_ns: u64,
        time: &impl Timeline,
        shared: &StreamProgress,
        phases: &StreamFlags,
    ) -> Result<StreamEnd, Error> {
        let worked_before_ns = time.worked_ns();
        let mut schedule = BlockSchedule::new(octets, rate_bps, begin_ns);
        let wall = WallClock::compared(time);
        let mut block: Vec<u8> = (0..=u8::MAX).cycle().take(octets).collect();
        let mut number = 0u64;
        let mut pacing = Pacing::new(Pacer::default(), time);
        while !phases.is_over.load(Ordering::Relaxed) {
            if let Some(due_ns) = schedule.next()
                && pacing.wait_until(due_ns, &phases.is_over).is_none()
            {
                break;
            }
            let written = match self {
                Self::Tcp(stream) => write_block(stream, &block, phases, shared)?,
                Self::Udp(socket) => {
                    let wall_us = wall.wall_ns(time.now_ns()) / 1000;
                    number += 1;
                    write_header(&mut block, wall_us, number);
                    let is_taken = send_datagram(socket, &block, time, phases)?;
                    if is_taken {
                        shared.octets.fetch_add(octets as u64, Ordering::Relaxed);
                        shared.datagrams.fetch_add(1, Ordering::Relaxed);
                    }
                    is_taken
                }
            };
            if !written {
                break;
            }
        }
        Ok(StreamEnd { worked_ns: time.worked_ns() - worked_before_ns, account: None })
    }

    /// Read until nothing more is to be read.
    pub fn receive(
        &self,
        octets: usize,
        time: &impl Timeline,
        shared: &StreamProgress,
        phases: &StreamFlags,
    ) -> Result<StreamEnd, Error> {
        let worked_before_ns = time.worked_ns();
        let mut room = vec![0; octets.max(1 << 16)];
        let mut arrivals = DatagramArrivals::new();
        while !phases.is_closed.load(Ordering::Relaxed) {
            let read = match self {
                Self::Tcp(stream) => {
                    let mut stream: &TcpStream = stream;
                    stream.read(&mut room)
                }
                Self::Udp(socket) => socket.recv(&mut room),
            };
            match (read, self) {
                (Ok(0), Self::Tcp(_)) if phases.is_over.load(Ordering::Relaxed) => break,
                (Ok(0), Self::Tcp(_)) => {
                    let text = "the server closed a data connection during the test";
                    return Err(Error::Peer(text.into()));
                }
                (Ok(octets), Self::Tcp(_)) => {
                    shared.octets.fetch_add(octets as u64, Ordering::Relaxed);
                }
                (Ok(octets), Self::Udp(_)) => {
                    if arrivals.count(&room[..octets], time.now_ns()) {
                        shared.octets.fetch_add(octets as u64, Ordering::Relaxed);
                        shared.datagrams.fetch_add(1, Ordering::Relaxed);
                    }
                }
                (Err(error), _) if is_early(&error) => {}
                (Err(_), _) if phases.is_over.load(Ordering::Relaxed) => break,
                (Err(error), _) => return Err(closed(&error)),
            }
        }
        let account =
            matches!(self, Self::Udp(_)).then_some((arrivals.sequence, arrivals.jitter_s));
        Ok(StreamEnd { worked_ns: time.worked_ns() - worked_before_ns, account })
    }
}

/// Datagrams that arrive: their numbers, and the jitter of RFC 3550, section 6.4.1.
struct DatagramArrivals {
    sequence: Sequence,
    jitter_s: f64,
    transit_us: Option<i64>,
}

impl DatagramArrivals {
    fn new() -> Self {
        Self { sequence: Sequence::new(0, MEMORY), jitter_s: 0.0, transit_us: None }
    }

    /// Count a datagram; returns whether it is one of the test.
    #[allow(clippy::cast_precision_loss)] // differences of transit times, in microseconds
    fn count(&mut self, datagram: &[u8], now_ns: u64) -> bool {
        let Some((sent_us, number)) = read_header(datagram) else { return false };
        if !(1..MOST_NUMBER).contains(&number) {
            return false;
        }
        self.sequence.arrive(number - 1);
        let arrived_us = i64::try_from(now_ns / 1000).expect("since boot");
        let transit_us = arrived_us.wrapping_sub(sent_us);
        if let Some(before_us) = self.transit_us.replace(transit_us) {
            let differs_s = transit_us.wrapping_sub(before_us).unsigned_abs() as f64 / 1e6;
            self.jitter_s += (differs_s - self.jitter_s) / 16.0;
        }
        true
    }
}

/// Write the header of a datagram.
fn write_header(datagram: &mut [u8], wall_us: u64, number: u64) {
    let seconds = u32::try_from(wall_us / 1_000_000).unwrap_or(u32::MAX);
    let rest_us = u32::try_from(wall_us % 1_000_000).expect("below a million");
    datagram[..4].copy_from_slice(&seconds.to_be_bytes());
    datagram[4..8].copy_from_slice(&rest_us.to_be_bytes());
    datagram[8..HEADER].copy_from_slice(&number.to_be_bytes());
}

/// Time of sending in microseconds and number of a datagram; `None` if it is too short.
pub(super) fn read_header(datagram: &[u8]) -> Option<(i64, u64)> {
    let word = |at: usize| Some(u32::from_be_bytes(datagram.get(at..at + 4)?.try_into().ok()?));
    let number = u64::from_be_bytes(datagram.get(8..HEADER)?.try_into().ok()?);
    Some((i64::from(word(0)?) * 1_000_000 + i64::from(word(4)?), number))
}

/// Times at which blocks are due.
struct BlockSchedule {
    /// Picoseconds of a block; 0 without a rate.
    block_ps: u128,
    begin_ns: u64,
    blocks: u128,
}

impl BlockSchedule {
    fn new(octets: usize, rate_bps: u64, begin_ns: u64) -> Self {
        let bits = octets as u128 * 8;
        let block_ps =
            if rate_bps == 0 { 0 } else { bits * 1_000_000_000_000 / u128::from(rate_bps) };
        Self { block_ps, begin_ns, blocks: 0 }
    }

    /// When the next block is due; `None` without a rate.
    fn next(&mut self) -> Option<u64> {
        if self.block_ps == 0 {
            return None;
        }
        let since_ns = u64::try_from(self.blocks * self.block_ps / 1000).unwrap_or(u64::MAX);
        self.blocks += 1;
        Some(self.begin_ns.saturating_add(since_ns))
    }
}

/// Write a block; returns whether all of it was taken before the end.
fn write_block(
    mut stream: &TcpStream,
    block: &[u8],
    phases: &StreamFlags,
    shared: &StreamProgress,
) -> Result<bool, Error> {
    let mut written = 0;
    while written < block.len() {
        if phases.is_over.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match stream.write(&block[written..]) {
            Ok(octets) => {
                written += octets;
                shared.octets.fetch_add(octets as u64, Ordering::Relaxed);
            }
            Err(error) if is_early(&error) => {}
            Err(_) if phases.is_over.load(Ordering::Relaxed) => return Ok(false),
            Err(error) => return Err(closed(&error)),
        }
    }
    Ok(true)
}

/// Send a datagram; returns whether it was taken before the end.
fn send_datagram(
    socket: &UdpSocket,
    datagram: &[u8],
    time: &impl Timeline,
    phases: &StreamFlags,
) -> Result<bool, Error> {
    loop {
        match socket.send(datagram) {
            Ok(_) => return Ok(true),
            Err(_) if phases.is_over.load(Ordering::Relaxed) => return Ok(false),
            Err(error) if is_early(&error) => {}
            // A queue is full: it has room again soon.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {
                time.sleep_until(time.now_ns() + NS_PER_S / 20_000);
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let text = "the server closed its UDP port during the test";
                return Err(Error::Peer(text.into()));
            }
            Err(error) => return Err(Error::system("sending a datagram")(error)),
        }
    }
}

/// How long a receiver of datagrams goes on after the end, for what is under way.
pub(super) const LINGER_NS: u64 = 200_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn jitter_is_that_of_rfc_3550_by_hand() {
        let mut arrivals = DatagramArrivals::new();
        let mut datagram = [0; 32];
        // Transit times of 1000, 1016 and 1000 us, since an arbitrary common time.
        for (number, (sent_us, transit_us)) in
            [(0, 1000), (10_000, 1016), (20_000, 1000)].into_iter().enumerate()
        {
            write_header(&mut datagram, sent_us, number as u64 + 1);
            assert!(arrivals.count(&datagram, (sent_us + transit_us) * 1000));
        }
        // 16 us / 16 = 1 us; then 1 + (16 - 1) / 16.
        assert!((arrivals.jitter_s - 1.9375e-6).abs() < 1e-12, "{}", arrivals.jitter_s);
        assert_eq!(arrivals.sequence.account(Some(4)).missing, 1);
    }

    #[test]
    fn a_rate_is_kept_over_any_time() {
        // 1250 octets at 10 Mb/s: one each millisecond.
        let mut schedule = BlockSchedule::new(1250, 10_000_000, 7);
        let due: Vec<_> = (0..3).map(|_| schedule.next()).collect();
        assert_eq!(due, [Some(7), Some(1_000_007), Some(2_000_007)]);
        assert_eq!(BlockSchedule::new(1250, 0, 7).next(), None);
    }

    proptest! {
        #[test]
        fn datagrams_of_any_octets_are_counted_or_not(datagram in prop::collection::vec(any::<u8>(), 0..40), now_ns in 0..u64::MAX / 2) {
            let mut arrivals = DatagramArrivals::new();
            let is_counted = arrivals.count(&datagram, now_ns);
            prop_assert!(datagram.len() >= HEADER || !is_counted);
        }
    }
}
