//! Octets in bulk over a TCP connection, in one direction.
//!
//! What becomes segments is up to TCP, so only octets are counted here, and what TCP itself says of
//! the connection.

use super::bulk::{BulkConnection, SAMPLE_NS};
use super::schedule::{ExperimentSchedule, since};
use super::series::ColumnSeries;
use crate::consent::Policer;
use crate::report::{
    BulkReceiverCounts, BulkWindow, OctetColumns, PortUse, RoleCounts, RoleTotals,
};
use ethermeter_net::port::bulk::{BulkResult, BulkStream};
use ethermeter_net::{Error, Timeline};
use ethermeter_traffic::Batches;
use ethermeter_trial::roles::BulkTransfer;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The longest wait in a call: after it the stop flag is looked at.
const LONGEST_CALL: Duration = Duration::from_millis(20);

/// Write from the beginning of the transmission to its end, or until all has been written; nothing
/// beyond the permit's rates.
pub(super) fn send_bulk(
    stream: TcpStream,
    plan: &BulkTransfer,
    policer: &mut Policer,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<RoleCounts, Error> {
    let stream = BulkStream::over(stream, Some(LONGEST_CALL))?;
    let mut bulk = BulkConnection::over(stream, plan.block_octets as usize, policer, schedule);
    bulk.write(plan.octets.unwrap_or(u64::MAX));
    bulk.transmit()?;
    let (counts, port) = bulk.finish()?;
    Ok(RoleCounts { port, of: RoleTotals::BulkSender(Box::new(counts)) })
}

/// Read until the other end has closed the connection, or the time is over.
pub(super) fn receive_bulk(
    stream: TcpStream,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<RoleCounts, Error> {
    let begin_ns = schedule.transmit_ns();
    let measured_from_ns = begin_ns.saturating_add(schedule.phases.measure_from_ns);
    let stream = BulkStream::over(stream, Some(LONGEST_CALL))?;
    let mut buffer = vec![0; 1 << 18];
    let mut samples = ColumnSeries::new(begin_ns, SAMPLE_NS);
    let mut octets = 0u64;
    let mut batches =
        Batches::<u64>::new(0, schedule.phases.measured_ps(), schedule.phases.batches);
    let (mut first_ns, mut last_ns) = (None, None);
    let (mut measured_first_ns, mut measured_last_ns, mut before_first) = (None, None, 0u64);
    let end = loop {
        if schedule.is_over() {
            break "time";
        }
        match stream.read(&mut buffer)? {
            BulkResult::Octets(read) => {
                let now_ns = schedule.time.now_ns();
                octets += read as u64;
                schedule.progress.received.fetch_add(1, Ordering::Relaxed);
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
            BulkResult::Nothing => {}
            BulkResult::Closed => break "closed",
            BulkResult::Reset => break "reset",
        }
    };
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
