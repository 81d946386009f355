//! Data streams over TCP and UDP.

use super::control::{COOKIE_OCTETS, LONGEST_CALL, connected};
use crate::Error;
use ethermeter_net::pacing::{Pacer, Pacing};
use ethermeter_net::port::bulk::{BulkResult, BulkStream};
use ethermeter_net::port::udp::{UdpOptions, UdpPort};
use ethermeter_net::port::{NetworkPort, ReceiveWait};
use ethermeter_net::time::{NS_PER_S, Timeline, WallClock};
use ethermeter_traffic::sequence::{Account, Sequence};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a client sends to open a stream of datagrams, and what servers answer.
const HELLO: u32 = 0x3637_3839;
const ANSWERS: [u32; 2] = [0x3938_3736, 987_654_321];
/// Octets before the payload of a datagram: seconds, microseconds, number of 64 bits.
pub(super) const HEADER: usize = 16;
/// Datagrams with higher numbers than a test can have are not of this test.
const MOST_NUMBER: u64 = 1 << 40;
/// Longest wait for a datagram, so that the flags are looked at.
const DATAGRAM_WAIT: ReceiveWait = ReceiveWait::Milliseconds(50);
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
    Tcp(BulkStream),
    Udp(Box<UdpPort>),
}

impl TestStream {
    /// Open a TCP stream; returns it and how long the connection took to open.
    pub fn tcp(
        to: SocketAddr,
        cookie: &[u8; COOKIE_OCTETS],
        timeout_ns: u64,
        time: &impl Timeline,
    ) -> Result<(Self, u64), Error> {
        let (stream, opened_in_ns) = connected(to, timeout_ns, time)?;
        let stream = BulkStream::over(stream, Some(LONGEST_CALL))?;
        // A new connection has room for it.
        if stream.write(cookie)? != BulkResult::Octets(COOKIE_OCTETS) {
            return Err(Error::Closed("the server closed the connection".into()));
        }
        Ok((Self::Tcp(stream), opened_in_ns))
    }

    /// Open a stream of datagrams of so many octets; returns it and how long the server took to
    /// answer.
    pub fn udp(
        to: SocketAddr,
        octets: usize,
        timeout_ns: u64,
        time: &impl Timeline,
        stop: &AtomicBool,
    ) -> Result<(Self, u64), Error> {
        let local = match to.ip() {
            IpAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            IpAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let mut port = UdpPort::open(&UdpOptions {
            peer: Some(to),
            stamps: true,
            longest_payload: octets,
            batch: 1,
            ..UdpOptions::at(local)
        })?;
        let begin_ns = time.now_ns();
        send_datagram(&mut port, &HELLO.to_ne_bytes(), time, &StreamFlags::default())?;
        let mut is_answered = false;
        while !is_answered {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            if time.now_ns() - begin_ns > timeout_ns {
                let text = "no answer over UDP; is its port closed to UDP by a firewall?";
                return Err(Error::Peer(format!("{to}: {text}")));
            }
            unless_refused(&mut port)?;
            port.receive(DATAGRAM_WAIT, |datagram| {
                // In the octet order of the server's processor.
                if let Ok(octets) = <[u8; 4]>::try_from(datagram.payload) {
                    let words = [u32::from_be_bytes(octets), u32::from_le_bytes(octets)];
                    is_answered |= words.iter().any(|word| ANSWERS.contains(word));
                }
            })?;
        }
        Ok((Self::Udp(Box::new(port)), time.now_ns() - begin_ns))
    }

    /// Another handle of its connection, to ask TCP about it meanwhile; `None` of datagrams.
    pub fn account(&self) -> Option<Result<TcpStream, Error>> {
        match self {
            Self::Tcp(stream) => {
                let copied = stream.stream().try_clone();
                Some(copied.map_err(Error::system("preparing a connection")))
            }
            Self::Udp(_) => None,
        }
    }

    /// Send until the time is over: blocks of `octets`, at `rate_bps` if it is not 0.
    pub fn send(
        &mut self,
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
                Self::Udp(port) => {
                    let wall_us = wall.wall_ns(time.now_ns()) / 1000;
                    number += 1;
                    write_header(&mut block, wall_us, number);
                    let is_taken = send_datagram(port, &block, time, phases)?;
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
        &mut self,
        octets: usize,
        time: &impl Timeline,
        shared: &StreamProgress,
        phases: &StreamFlags,
    ) -> Result<StreamEnd, Error> {
        let worked_before_ns = time.worked_ns();
        let account = match self {
            Self::Tcp(stream) => {
                read_octets(stream, octets, shared, phases)?;
                None
            }
            Self::Udp(port) => {
                let mut arrivals = DatagramArrivals::new();
                while !phases.is_closed.load(Ordering::Relaxed) {
                    port.receive(DATAGRAM_WAIT, |datagram| {
                        let at_ns = datagram.stamped_ns.unwrap_or_else(|| time.now_ns());
                        if arrivals.count(datagram.payload, at_ns) {
                            let octets = datagram.payload.len() as u64;
                            shared.octets.fetch_add(octets, Ordering::Relaxed);
                            shared.datagrams.fetch_add(1, Ordering::Relaxed);
                        }
                    })?;
                }
                Some((arrivals.sequence, arrivals.jitter_s))
            }
        };
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

/// Read what comes until the other end closes the connection, or `is_closed`.
fn read_octets(
    stream: &BulkStream,
    octets: usize,
    shared: &StreamProgress,
    phases: &StreamFlags,
) -> Result<(), Error> {
    let mut room = vec![0; octets.max(1 << 16)];
    while !phases.is_closed.load(Ordering::Relaxed) {
        match stream.read(&mut room)? {
            BulkResult::Octets(octets) => {
                shared.octets.fetch_add(octets as u64, Ordering::Relaxed);
            }
            BulkResult::Nothing => {}
            BulkResult::Closed | BulkResult::Reset => {
                return if phases.is_over.load(Ordering::Relaxed) { Ok(()) } else { Err(ended()) };
            }
        }
    }
    Ok(())
}

/// Write a block; returns whether all of it was taken before the end.
fn write_block(
    stream: &BulkStream,
    block: &[u8],
    phases: &StreamFlags,
    shared: &StreamProgress,
) -> Result<bool, Error> {
    let is_over = || phases.is_over.load(Ordering::Relaxed);
    let written = stream.write_block(block, |octets| {
        shared.octets.fetch_add(octets as u64, Ordering::Relaxed);
        !is_over()
    })?;
    let is_whole = written == block.len();
    if is_whole || is_over() { Ok(is_whole) } else { Err(ended()) }
}

fn ended() -> Error {
    Error::Peer("the server closed a data connection during the test".into())
}

/// Send a datagram; returns whether it was taken before the end.
fn send_datagram(
    port: &mut UdpPort,
    datagram: &[u8],
    time: &impl Timeline,
    phases: &StreamFlags,
) -> Result<bool, Error> {
    while !port.send_one(datagram)? {
        if phases.is_over.load(Ordering::Relaxed) {
            return Ok(false);
        }
        unless_refused(port)?;
        // A queue is full: it has room again soon.
        time.sleep_until(time.now_ns() + NS_PER_S / 20_000);
    }
    Ok(true)
}

/// An error if the server's host has refused a datagram.
fn unless_refused(port: &mut UdpPort) -> Result<(), Error> {
    if port.counters()?.failed > 0 {
        return Err(Error::Closed("the server closed its UDP port".into()));
    }
    Ok(())
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
