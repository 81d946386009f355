//! Octets in both directions at once over a TCP connection, without blocking calls: the caller has
//! a schedule of its own.

use super::connection::finish;
use super::policed_port::{PolicerWaits, SendProgress};
use super::schedule::ExperimentSchedule;
use super::series::ColumnSeries;
use super::transfer::{CHANCE_OCTETS, LONGEST_BLOCK_OCTETS, SAMPLE_NS, chance, columns, within};
use crate::consent::Policer;
use crate::report::{ConnectionCounts, PortUse};
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::{Error, Timeline};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// Octets a call.
const CALL_OCTETS: usize = 1 << 16;
/// The longest wait: after it the stop flag is looked at.
const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Times that are nearer than this are slept for and not left to a wait in whole milliseconds.
const NEAR_NS: u64 = 2_000_000;
/// What is slept at once then, or after having found no room in the permit's rates.
const SHORT_SLEEP_NS: u64 = 50_000;

/// The result of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadResult {
    /// As many octets as there were.
    Octets,
    /// The other end has closed the connection.
    Closed,
}

/// A connection, what is to be written to it, and what was read.
pub(super) struct BulkConnection<'a, T> {
    stream: &'a mut TcpStream,
    policer: &'a mut Policer,
    progress: &'a SendProgress,
    schedule: &'a ExperimentSchedule<T>,
    source: Vec<u8>,
    at: usize,
    unwritten: u64,
    written: u64,
    read: u64,
    buffer: Vec<u8>,
    writes: u64,
    held_back: PolicerWaits,
    refused: PolicerWaits,
    begin_ns: u64,
    samples: ColumnSeries<(u64, TcpInfo)>,
}

impl<'a, T: Timeline> BulkConnection<'a, T> {
    /// Over an open connection.
    pub fn over(
        stream: &'a mut TcpStream,
        policer: &'a mut Policer,
        progress: &'a SendProgress,
        schedule: &'a ExperimentSchedule<T>,
    ) -> Result<Self, Error> {
        stream
            .set_nonblocking(true)
            .map_err(|source| Error::System { doing: "preparing a TCP connection", source })?;
        let begin_ns = schedule.transmit_ns();
        Ok(Self {
            stream,
            policer,
            progress,
            schedule,
            source: chance(CHANCE_OCTETS, schedule.experiment),
            at: 0,
            unwritten: 0,
            written: 0,
            read: 0,
            buffer: vec![0; CALL_OCTETS],
            writes: 0,
            held_back: PolicerWaits::default(),
            refused: PolicerWaits::default(),
            begin_ns,
            samples: ColumnSeries::new(begin_ns, SAMPLE_NS),
        })
    }

    /// So many octets more are to be written.
    pub fn write(&mut self, octets: u64) {
        self.unwritten = self.unwritten.saturating_add(octets);
    }

    /// Octets that were read so far.
    pub fn read_octets(&self) -> u64 {
        self.read
    }

    /// Write what can be written, wait until something can be read or written or `due_ns` has come,
    /// and read what there is.
    pub fn work(&mut self, due_ns: Option<u64>, now_ns: u64) -> Result<ReadResult, Error> {
        if now_ns >= self.samples.due_ns() {
            let (written, info) = (self.written, TcpInfo::of(self.stream)?);
            self.samples.offer(now_ns, || (written, info));
        }
        let is_held_back = self.push(now_ns)?;
        let read = self.pull()?;
        if read != Some(0) {
            return Ok(read.map_or(ReadResult::Closed, |_| ReadResult::Octets));
        }
        self.rest(due_ns, is_held_back);
        Ok(if self.pull()?.is_some() { ReadResult::Octets } else { ReadResult::Closed })
    }

    /// Write within the permit's rates; whether these held anything back.
    fn push(&mut self, now_ns: u64) -> Result<bool, Error> {
        if self.policer.is_due(now_ns) {
            self.policer.follow(&TcpInfo::of(self.stream)?, now_ns);
        }
        while self.unwritten > 0 && !self.schedule.lease.is_silent_at(now_ns) {
            let unwritten = usize::try_from(self.unwritten).unwrap_or(usize::MAX).min(CALL_OCTETS);
            let room = within(self.policer, unwritten, now_ns);
            if room == 0 {
                self.held_back.refuse(1);
                return Ok(true);
            }
            match self.stream.write(&self.source[self.at..self.at + room]) {
                Ok(written) => {
                    self.policer.take(written);
                    self.held_back.pass(1);
                    self.refused.pass(1);
                    self.writes += 1;
                    self.unwritten -= written as u64;
                    self.written += written as u64;
                    self.progress.sent.fetch_add(1, Ordering::Relaxed);
                    self.at = (self.at + written) % (CHANCE_OCTETS - LONGEST_BLOCK_OCTETS);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Reading from a connection reports its error.
                Err(error) if is_passing(error.kind()) => {
                    self.refused.refuse(1);
                    return Ok(false);
                }
                Err(source) => {
                    return Err(Error::System { doing: "writing to a TCP connection", source });
                }
            }
        }
        Ok(false)
    }

    /// Read what there is: how many octets, or nothing if the connection was closed.
    fn pull(&mut self) -> Result<Option<u64>, Error> {
        let mut octets = 0;
        loop {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(read) => {
                    octets += read as u64;
                    self.read += read as u64;
                    self.progress.received.fetch_add(1, Ordering::Relaxed);
                    // A full buffer may not be all; the caller is to look at the time now and
                    // then.
                    if read < self.buffer.len() {
                        return Ok(Some(octets));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Some(octets)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_passing(error.kind()) => return Ok(None),
                Err(source) => {
                    return Err(Error::System { doing: "reading a TCP connection", source });
                }
            }
        }
    }

    fn rest(&self, due_ns: Option<u64>, is_held_back: bool) {
        let now_ns = self.schedule.time.now_ns();
        let until_ns = due_ns.unwrap_or(u64::MAX).min(now_ns + LONGEST_WAIT_NS);
        if is_held_back || until_ns < now_ns + NEAR_NS {
            self.schedule.time.sleep_until(until_ns.min(now_ns + SHORT_SLEEP_NS));
            return;
        }
        let mut events = PollFlags::POLLIN;
        events.set(PollFlags::POLLOUT, self.unwritten > 0);
        let milliseconds = u16::try_from((until_ns - now_ns) / 1_000_000).unwrap_or(1);
        // An interruption does not matter: the caller looks again.
        let _ =
            poll(&mut [PollFd::new(self.stream.as_fd(), events)], PollTimeout::from(milliseconds));
    }

    /// End the connection in order, and return its results.
    pub fn finish(mut self) -> Result<(ConnectionCounts, PortUse), Error> {
        let acknowledged_ns = finish(self.stream, self.schedule)?;
        let (written, info) = (self.written, TcpInfo::of(self.stream)?);
        self.samples
            .offer(self.samples.due_ns().max(self.schedule.time.now_ns()), || (written, info));
        let counts = ConnectionCounts {
            written_octets: self.written,
            read_octets: self.read,
            unwritten_octets: self.unwritten,
            acknowledged: acknowledged_ns.is_some(),
            permitted_octets_per_s: self.policer.payload_octets_per_s(),
            writes: self.writes,
            tcp: self.samples.course(self.begin_ns, columns),
        };
        let port = PortUse {
            held_back: Some(self.held_back.frames()),
            refused: Some(self.refused.frames()),
            ..PortUse::default()
        };
        Ok((counts, port))
    }
}

/// Whether reading, and not this error, reports the state of a connection.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}
