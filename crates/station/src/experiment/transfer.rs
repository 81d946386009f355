//! Octets in bulk over a TCP connection.
//!
//! What becomes segments is up to TCP, so only octets are counted here, and what TCP itself says of
//! the connection. The octets are pseudo-random, so that no link compresses them.

use super::connection::finish;
use super::policed_port::{PolicerWaits, SendProgress};
use super::schedule::{ExperimentSchedule, since};
use super::series::ColumnSeries;
use crate::consent::Policer;
use crate::report::{
    BulkReceiverCounts, BulkSenderCounts, BulkWindow, OctetColumns, PortUse, RoleCounts,
    RoleTotals, TcpColumns,
};
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::{Error, Timeline};
use ethermeter_traffic::Batches;
use ethermeter_trial::roles::{self, BulkTransfer};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often TCP is asked about its connection, and octets are noted down.
pub(super) const SAMPLE_NS: u64 = 20_000_000;
/// The longest wait in a call: after it the stop flag is looked at.
const LONGEST_BLOCK: Duration = Duration::from_millis(20);
/// After having found no room in the permit's rates, the time to the next look.
const AFTER_REFUSAL_NS: u64 = 200_000;
/// Octets from which blocks are cut; a prime number more than the longest block, so that blocks
/// differ.
pub(super) const CHANCE_OCTETS: usize = LONGEST_BLOCK_OCTETS + 65_537;
/// Octets of the longest block.
pub(super) const LONGEST_BLOCK_OCTETS: usize = roles::LONGEST_BLOCK_OCTETS as usize;

/// Octets that look like chance, the same in each run.
pub(super) fn chance(octets: usize, seed: u64) -> Vec<u8> {
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

/// Write from the beginning of the transmission to its end, or until all has been written; nothing
/// beyond the permit's rates.
pub(super) fn send_bulk(
    stream: &mut TcpStream,
    plan: &BulkTransfer,
    policer: &mut Policer,
    progress: &SendProgress,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<RoleCounts, Error> {
    let begin_ns = schedule.transmit_ns();
    let end_ns = begin_ns.saturating_add(schedule.phases.transmit_ns);
    let preparing = |source| Error::System { doing: "preparing a TCP connection", source };
    stream.set_write_timeout(Some(LONGEST_BLOCK)).map_err(preparing)?;
    let source = chance(CHANCE_OCTETS, schedule.experiment);
    let mut samples = ColumnSeries::new(begin_ns, SAMPLE_NS);
    let (mut octets, mut writes, mut blocked) = (0u64, 0u64, 0u64);
    let (mut held_back, mut refused) = (PolicerWaits::default(), PolicerWaits::default());
    let (mut first_ns, mut last_ns, mut at) = (None, None, 0);
    let mut closed_by_other = false;
    while plan.octets.is_none_or(|all| octets < all) {
        let now_ns = schedule.time.now_ns();
        if schedule.lease.is_silent_at(now_ns) || now_ns >= end_ns {
            break;
        }
        if now_ns < begin_ns {
            schedule.time.sleep_until(begin_ns.min(now_ns + 20_000_000));
            continue;
        }
        if now_ns >= samples.due_ns() {
            let info = TcpInfo::of(stream)?;
            samples.offer(now_ns, || (octets, info));
        }
        if policer.is_due(now_ns) {
            policer.follow(&TcpInfo::of(stream)?, now_ns);
        }
        let left = plan.octets.map_or(u64::MAX, |all| all - octets);
        let most = (plan.block_octets as usize).min(usize::try_from(left).unwrap_or(usize::MAX));
        let room = within(policer, most, now_ns);
        if room == 0 {
            held_back.refuse(1);
            schedule.time.sleep_until(now_ns + AFTER_REFUSAL_NS);
            continue;
        }
        match stream.write(&source[at..at + room]) {
            Ok(written) => {
                policer.take(written);
                held_back.pass(1);
                refused.pass(1);
                writes += 1;
                octets += written as u64;
                progress.sent.fetch_add(1, Ordering::Relaxed);
                first_ns.get_or_insert(now_ns);
                last_ns = Some(schedule.time.now_ns());
                at = (at + written) % (CHANCE_OCTETS - LONGEST_BLOCK_OCTETS);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                blocked += 1;
                refused.refuse(1);
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
            {
                closed_by_other = true;
                break;
            }
            Err(source) => {
                return Err(Error::System { doing: "writing to a TCP connection", source });
            }
        }
    }
    let acknowledged_ns = if closed_by_other { None } else { finish(stream, schedule)? };
    let info = TcpInfo::of(stream)?;
    samples.offer(samples.due_ns().max(schedule.time.now_ns()), || (octets, info));
    let counts = BulkSenderCounts {
        octets,
        first_ns: since(first_ns, begin_ns),
        last_ns: since(last_ns, begin_ns),
        acknowledged_ns: since(acknowledged_ns, begin_ns),
        acknowledged: acknowledged_ns.is_some(),
        closed_by_other,
        permitted_octets_per_s: policer.payload_octets_per_s(),
        found_full: blocked,
        writes,
        tcp: samples.course(begin_ns, columns),
    };
    let port = PortUse {
        held_back: Some(held_back.frames()),
        refused: Some(refused.frames()),
        ..PortUse::default()
    };
    Ok(RoleCounts { port, of: RoleTotals::BulkSender(Box::new(counts)) })
}

/// Octets of a block of `wanted` that are within the permit's rates: whole segments, or the last
/// piece.
pub(super) fn within(policer: &mut Policer, most: usize, now_ns: u64) -> usize {
    let segment = usize::try_from(policer.segment_octets()).unwrap_or(usize::MAX);
    if most <= segment {
        return if policer.room(most, now_ns) > 0 { most } else { 0 };
    }
    let segments = usize::try_from(policer.room(segment, now_ns)).unwrap_or(usize::MAX);
    most.min(segments.saturating_mul(segment))
}

pub(super) fn columns(rows: &[(u64, (u64, TcpInfo))]) -> TcpColumns {
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

/// Read until the other end has closed the connection, or the time is over.
pub(super) fn receive_bulk(
    stream: &mut TcpStream,
    progress: &SendProgress,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<RoleCounts, Error> {
    let begin_ns = schedule.transmit_ns();
    let measured_from_ns = begin_ns.saturating_add(schedule.phases.measure_from_ns);
    let preparing = |source| Error::System { doing: "preparing a TCP connection", source };
    stream.set_read_timeout(Some(LONGEST_BLOCK)).map_err(preparing)?;
    let mut buffer = vec![0; 1 << 18];
    let mut samples = ColumnSeries::new(begin_ns, SAMPLE_NS);
    let mut octets = 0u64;
    let mut batches =
        Batches::<u64>::new(0, schedule.phases.measured_ps(), schedule.phases.batches);
    let (mut first_ns, mut last_ns) = (None, None);
    let (mut measured_first_ns, mut measured_last_ns, mut before_first) = (None, None, 0u64);
    let mut end = "time";
    while !schedule.is_over() {
        match stream.read(&mut buffer) {
            Ok(0) => {
                end = "closed";
                break;
            }
            Ok(read) => {
                let now_ns = schedule.time.now_ns();
                octets += read as u64;
                progress.received.fetch_add(1, Ordering::Relaxed);
                first_ns.get_or_insert(now_ns);
                last_ns = Some(now_ns);
                let since_ps =
                    now_ns.checked_sub(measured_from_ns).map(|ns| ns.saturating_mul(1000));
                if let Some(batch) = since_ps.and_then(|since_ps| batches.at(since_ps)) {
                    // The octets of the first read arrived in the time before it.
                    if measured_first_ns.is_none() {
                        before_first = read as u64;
                    }
                    measured_first_ns.get_or_insert(now_ns);
                    measured_last_ns = Some(now_ns);
                    *batch += read as u64;
                }
                samples.offer(now_ns, || octets);
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                end = "reset";
                break;
            }
            Err(source) => return Err(Error::System { doing: "reading a TCP connection", source }),
        }
    }
    let parts = batches.counted();
    let measured_octets: u64 = parts.iter().sum();
    let over_ns =
        measured_last_ns.zip(measured_first_ns).map(|(last, first): (u64, u64)| last - first);
    #[allow(clippy::cast_precision_loss)] // a rate
    let data_rate_bps = over_ns
        .filter(|&ns| ns > 0)
        .map(|ns| (measured_octets - before_first) as f64 * 8e9 / ns as f64);
    let of_rows = |rows: &[(u64, u64)]| OctetColumns {
        octets: rows.iter().map(|(_, octets)| *octets).collect(),
    };
    let counts = BulkReceiverCounts {
        octets,
        first_ns: since(first_ns, begin_ns),
        last_ns: since(last_ns, begin_ns),
        ended_by: end.into(),
        measured: BulkWindow {
            octets: measured_octets,
            first_ns: since(measured_first_ns, begin_ns),
            last_ns: since(measured_last_ns, begin_ns),
            data_rate_bps,
            batches: parts,
        },
        progress: samples.course(begin_ns, of_rows),
    };
    Ok(RoleCounts { port: PortUse::default(), of: RoleTotals::BulkReceiver(Box::new(counts)) })
}
