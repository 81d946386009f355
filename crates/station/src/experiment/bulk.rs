//! Octets over a TCP connection within a permit's rates, in both directions if need be.
//!
//! Octets are pseudo-random, so that no link compresses them.

use super::connection::finish;
use super::policed_port::PolicerWaits;
use super::schedule::{ExperimentSchedule, since};
use super::series::ColumnSeries;
use crate::consent::Policer;
use crate::report::{BulkSenderCounts, ConnectionCounts, PortUse, TcpColumns};
use ethermeter_net::port::bulk::{BulkResult, BulkStream};
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::{Error, Timeline};
use ethermeter_trial::roles;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// How often TCP is asked about its connection, and octets are noted down.
pub(super) const SAMPLE_NS: u64 = 20_000_000;
/// Octets of a call that reads.
const READ_OCTETS: usize = 1 << 16;
/// The longest wait: after it the stop flag is looked at.
const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Times that are nearer than this are slept for and not left to a wait in whole milliseconds.
const NEAR_NS: u64 = 2_000_000;
/// What is slept at once then, or after having found no room in the permit's rates.
const SHORT_SLEEP_NS: u64 = 50_000;
/// The same where nothing is read, and no answer waits for it.
const AFTER_REFUSAL_NS: u64 = 200_000;
/// Octets from which blocks are cut; a prime number more than the longest block, so that blocks
/// differ.
const CHANCE_OCTETS: usize = LONGEST_BLOCK_OCTETS + 65_537;
/// Octets of the longest block.
const LONGEST_BLOCK_OCTETS: usize = roles::LONGEST_BLOCK_OCTETS as usize;

/// Octets that look like chance, the same in each run.
fn chance(octets: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut octets_of_chance = Vec::with_capacity(octets + 8);
    while octets_of_chance.len() < octets {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        octets_of_chance
            .extend_from_slice(&state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes());
    }
    octets_of_chance.truncate(octets);
    octets_of_chance
}

/// A connection, what is to be written to it, and what was read.
pub(super) struct BulkConnection<'a, T> {
    stream: BulkStream,
    policer: &'a mut Policer,
    schedule: &'a ExperimentSchedule<T>,
    source: Vec<u8>,
    at: usize,
    block_octets: usize,
    unwritten: u64,
    written: u64,
    read: u64,
    buffer: Vec<u8>,
    writes: u64,
    found_full: u64,
    held_back: PolicerWaits,
    refused: PolicerWaits,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    closed_by_other: bool,
    samples: ColumnSeries<(u64, TcpInfo)>,
}

impl<'a, T: Timeline> BulkConnection<'a, T> {
    /// Over an open connection, to which blocks of so many octets are written.
    pub fn over(
        stream: BulkStream,
        block_octets: usize,
        policer: &'a mut Policer,
        schedule: &'a ExperimentSchedule<T>,
    ) -> Self {
        Self {
            stream,
            policer,
            schedule,
            source: chance(CHANCE_OCTETS, schedule.experiment),
            at: 0,
            block_octets,
            unwritten: 0,
            written: 0,
            read: 0,
            buffer: vec![0; READ_OCTETS],
            writes: 0,
            found_full: 0,
            held_back: PolicerWaits::default(),
            refused: PolicerWaits::default(),
            first_ns: None,
            last_ns: None,
            closed_by_other: false,
            samples: ColumnSeries::new(schedule.transmit_ns(), SAMPLE_NS),
        }
    }

    /// So many octets more are to be written.
    pub fn write(&mut self, octets: u64) {
        self.unwritten = self.unwritten.saturating_add(octets);
    }

    /// Octets that were read so far.
    pub fn read_octets(&self) -> u64 {
        self.read
    }

    /// Write all that is to be written, from the beginning of the transmission to its end, unless
    /// the other end is gone before. For a stream whose calls wait.
    pub fn transmit(&mut self) -> Result<(), Error> {
        let begin_ns = self.schedule.transmit_ns();
        let end_ns = begin_ns.saturating_add(self.schedule.phases.transmit_ns);
        while self.unwritten > 0 && !self.closed_by_other {
            let now_ns = self.schedule.time.now_ns();
            if self.schedule.lease.is_silent_at(now_ns) || now_ns >= end_ns {
                break;
            }
            if now_ns < begin_ns {
                self.schedule.time.sleep_until(begin_ns.min(now_ns + LONGEST_WAIT_NS));
                continue;
            }
            self.sample(now_ns)?;
            match self.write_block(now_ns)? {
                None => self.schedule.time.sleep_until(now_ns + AFTER_REFUSAL_NS),
                Some(BulkResult::Octets(_) | BulkResult::Nothing) => {}
                Some(BulkResult::Closed | BulkResult::Reset) => self.closed_by_other = true,
            }
        }
        Ok(())
    }

    /// Write what can be written, wait until something can be read or written or `due_ns` has come,
    /// and read what there is; returns whether more may come. For a stream whose calls do not wait.
    pub fn work(&mut self, due_ns: Option<u64>, now_ns: u64) -> Result<bool, Error> {
        self.sample(now_ns)?;
        let mut result = Some(BulkResult::Octets(0));
        while self.unwritten > 0 && matches!(result, Some(BulkResult::Octets(_))) {
            // Reading tells whether the other end is gone.
            result = self.write_block(now_ns)?;
        }
        let read = self.pull()?;
        if read != Some(0) {
            return Ok(read.is_some());
        }
        self.rest(due_ns, result.is_none());
        Ok(self.pull()?.is_some())
    }

    fn sample(&mut self, now_ns: u64) -> Result<(), Error> {
        if now_ns >= self.samples.due_ns() {
            let (written, info) = (self.written, self.stream.info()?);
            self.samples.offer(now_ns, || (written, info));
        }
        Ok(())
    }

    /// Write a block, or as much of it as is within the permit's rates; nothing is tried if the
    /// rates or the lease allow nothing. All that is sent passes here.
    fn write_block(&mut self, now_ns: u64) -> Result<Option<BulkResult>, Error> {
        if self.schedule.lease.is_silent_at(now_ns) {
            return Ok(None);
        }
        if self.policer.is_due(now_ns) {
            self.policer.follow(&self.stream.info()?, now_ns);
        }
        let unwritten = usize::try_from(self.unwritten).unwrap_or(usize::MAX);
        let room = within(self.policer, unwritten.min(self.block_octets), now_ns);
        if room == 0 {
            self.held_back.refuse(1);
            return Ok(None);
        }
        let result = self.stream.write(&self.source[self.at..self.at + room])?;
        match result {
            BulkResult::Octets(written) => {
                self.policer.take(written);
                self.held_back.pass(1);
                self.refused.pass(1);
                self.writes += 1;
                self.unwritten -= written as u64;
                self.written += written as u64;
                self.schedule.progress.sent.fetch_add(1, Ordering::Relaxed);
                self.first_ns.get_or_insert(now_ns);
                self.last_ns = Some(self.schedule.time.now_ns());
                self.at = (self.at + written) % (CHANCE_OCTETS - LONGEST_BLOCK_OCTETS);
            }
            BulkResult::Nothing => {
                self.found_full += 1;
                self.refused.refuse(1);
            }
            BulkResult::Closed | BulkResult::Reset => {}
        }
        Ok(Some(result))
    }

    /// Read what there is: how many octets, or nothing if the connection was closed.
    fn pull(&mut self) -> Result<Option<u64>, Error> {
        let mut octets = 0;
        loop {
            match self.stream.read(&mut self.buffer)? {
                BulkResult::Octets(read) => {
                    octets += read as u64;
                    self.read += read as u64;
                    self.schedule.progress.received.fetch_add(1, Ordering::Relaxed);
                    // A full buffer may not be all; the caller is to look at the time now and
                    // then.
                    if read < self.buffer.len() {
                        return Ok(Some(octets));
                    }
                }
                BulkResult::Nothing => return Ok(Some(octets)),
                BulkResult::Closed | BulkResult::Reset => return Ok(None),
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
        let mut fds = [PollFd::new(self.stream.stream().as_fd(), events)];
        let _ = poll(&mut fds, PollTimeout::from(milliseconds));
    }

    /// End the connection in order, and return what was sent.
    pub fn finish(mut self) -> Result<(BulkSenderCounts, PortUse), Error> {
        let stream = self.stream.stream();
        let acknowledged_ns =
            if self.closed_by_other { None } else { finish(stream, self.schedule)? };
        self.sample(self.samples.due_ns().max(self.schedule.time.now_ns()))?;
        let begin_ns = self.schedule.transmit_ns();
        let counts = BulkSenderCounts {
            octets: self.written,
            first_ns: since(self.first_ns, begin_ns),
            last_ns: since(self.last_ns, begin_ns),
            acknowledged_ns: since(acknowledged_ns, begin_ns),
            acknowledged: acknowledged_ns.is_some(),
            closed_by_other: self.closed_by_other,
            permitted_octets_per_s: self.policer.payload_octets_per_s(),
            found_full: self.found_full,
            writes: self.writes,
            tcp: self.samples.course(begin_ns, columns),
        };
        let port = PortUse {
            held_back: Some(self.held_back.frames()),
            refused: Some(self.refused.frames()),
            ..PortUse::default()
        };
        Ok((counts, port))
    }

    /// The same, with what was read.
    pub fn finish_both(self) -> Result<(ConnectionCounts, PortUse), Error> {
        let (read_octets, unwritten_octets) = (self.read, self.unwritten);
        let (sent, port) = self.finish()?;
        let counts = ConnectionCounts {
            written_octets: sent.octets,
            read_octets,
            unwritten_octets,
            acknowledged: sent.acknowledged,
            permitted_octets_per_s: sent.permitted_octets_per_s,
            writes: sent.writes,
            tcp: sent.tcp,
        };
        Ok((counts, port))
    }
}

/// Octets of a block of `most` that are within the permit's rates: whole segments, or the last
/// piece.
fn within(policer: &mut Policer, most: usize, now_ns: u64) -> usize {
    let segment = usize::try_from(policer.segment_octets()).unwrap_or(usize::MAX);
    if most <= segment {
        return if policer.room(most, now_ns) > 0 { most } else { 0 };
    }
    let segments = usize::try_from(policer.room(segment, now_ns)).unwrap_or(usize::MAX);
    most.min(segments.saturating_mul(segment))
}

fn columns(rows: &[(u64, (u64, TcpInfo))]) -> TcpColumns {
    macro_rules! column {
        ($name:ident) => {
            rows.iter().map(|(_, (_, info))| u64::from(info.$name)).collect::<Vec<u64>>()
        };
    }
    TcpColumns {
        octets: rows.iter().map(|(_, (octets, _))| *octets).collect::<Vec<u64>>(),
        round_trip_us: column!(round_trip_us),
        round_trip_deviation_us: column!(round_trip_deviation_us),
        least_round_trip_us: column!(least_round_trip_us),
        congestion_window: column!(congestion_window),
        slow_start_threshold: column!(slow_start_threshold),
        segment_octets: column!(segment_octets),
        sent_again: column!(sent_again),
        acknowledged_octets: column!(acknowledged_octets),
        delivery_octets_per_s: column!(delivery_octets_per_s),
        busy_us: column!(busy_us),
        receiver_limited_us: column!(receiver_limited_us),
        buffer_limited_us: column!(buffer_limited_us),
        sent_octets: column!(sent_octets),
        sent_again_octets: column!(sent_again_octets),
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_time::MadeTime;
    use super::*;
    use crate::consent::{LEASE_NS, Permit};
    use ethermeter_ethernet::Carrier;
    use ethermeter_net::port::StationAddress;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// Send at `rate_bps` for `transmit_ns`, with a lease that begins with the transmission and is
    /// not renewed, to an end that reads all. Returns the counts, and how many octets have come.
    fn sent(rate_bps: u64, transmit_ns: u64) -> (BulkSenderCounts, u64) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let to = listener.local_addr().expect("an address");
        let over = |stream| BulkStream::over(stream, Some(Duration::from_secs(1)));
        let stream = over(TcpStream::connect(to).expect("an end")).expect("a stream");
        let other = over(listener.accept().expect("the other end").0).expect("a stream");
        let reader = std::thread::spawn(move || {
            let (mut octets, mut room) = (0, vec![0; READ_OCTETS]);
            loop {
                match other.read(&mut room).expect("a connection") {
                    BulkResult::Octets(read) => octets += read as u64,
                    BulkResult::Nothing => {}
                    BulkResult::Closed | BulkResult::Reset => return octets,
                }
            }
        });
        let permit = Permit {
            target: StationAddress::Socket(to),
            rate_bps,
            rate_frames_per_s: 1_000_000,
            longest_frame_octets: 0,
            duration_ns: transmit_ns,
            begin_before_ns: u64::MAX,
        };
        let schedule = ExperimentSchedule::unrenewed(MadeTime::default(), transmit_ns);
        let mut policer = Policer::of_segments(permit, Carrier::TcpOverIpv4, None, 0);
        let mut bulk = BulkConnection::over(stream, 10_000, &mut policer, &schedule);
        bulk.write(u64::MAX);
        bulk.transmit().expect("a connection");
        let (counts, _) = bulk.finish().expect("what was sent");
        (counts, reader.join().expect("no panic"))
    }

    #[test]
    fn no_more_octets_are_sent_than_the_permit_and_the_lease_allow() {
        // Of the 1538 octets of a full frame 1448 are payload. No time passes while a block is
        // written.
        for (transmit_ns, allowed_ns) in [(50 * MS, 50 * MS), (2000 * MS, LEASE_NS)] {
            let (counts, read) = sent(80_000_000, transmit_ns);
            assert!(read <= counts.octets, "{read} of {}", counts.octets);
            let (most, last_ns) = (allowed_ns / 100, counts.last_ns.expect("one").cast_unsigned());
            assert!((most * 9 / 10..=most).contains(&counts.octets), "{} of {most}", counts.octets);
            assert!((allowed_ns - 2 * MS..allowed_ns).contains(&last_ns), "{last_ns}");
        }
    }
}
