//! A file block by block over a TCP connection, as a simulated transfer has it: the client asks,
//! the server answers.
//!
//! ```text
//! client ── request, with a block if it writes ──► server
//!        ◄── answer, with a block if it reads ────         each works on one block at a time
//! ```
//!
//! Blocks come from memory and go nowhere: what is measured is the protocol over a network, not a
//! disk. Both ends know how long each request and answer is, so nothing but octets is exchanged.

use super::bulk::BulkConnection;
use super::schedule::{ExperimentSchedule, since};
use crate::consent::Policer;
use crate::report::{BlockBatch, BlockWindow, ClientCounts, RoleCounts, RoleTotals, ServerCounts};
use ethermeter_net::port::bulk::BulkStream;
use ethermeter_net::{Error, Timeline};
use ethermeter_traffic::file::{FileClient, FileServer};
use ethermeter_traffic::{Batches, Histogram, Purpose, Stream};
use ethermeter_trial::roles::Draws;
use ethermeter_trial::transfer::File;
use std::net::TcpStream;

const PS_PER_NS: u64 = 1000;
/// Octets that are written at a time.
const CALL_OCTETS: usize = 1 << 16;

/// Picoseconds since an experiment began.
#[derive(Clone, Copy)]
struct SinceBegin(u64);

impl SinceBegin {
    fn ps(self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.0).saturating_mul(PS_PER_NS)
    }

    fn ns(self, at_ps: u64) -> u64 {
        self.0.saturating_add(at_ps.div_ceil(PS_PER_NS))
    }
}

/// Ask for blocks from the beginning of the transmission to its end, or until all are done; none
/// beyond the permit's rates.
pub(super) fn request_blocks(
    stream: TcpStream,
    file: &File,
    draws: Draws,
    policer: &mut Policer,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<RoleCounts, Error> {
    let begin_ns = schedule.transmit_ns();
    let end_ns = begin_ns.saturating_add(schedule.phases.transmit_ns);
    let measured_from_ns = begin_ns.saturating_add(schedule.phases.measure_from_ns);
    let stream = BulkStream::over(stream, None)?;
    let mut bulk = BulkConnection::over(stream, CALL_OCTETS, policer, schedule);
    let since_begin = SinceBegin(schedule.begin_ns);
    let chance = Stream::new(draws.seed, draws.station, Purpose::Service);
    let mut client = FileClient::new(file.blocks(), file.ahead, &file.client, chance);
    let (mut octets, mut done) = (0, 0u64);
    let mut batches =
        Batches::<BlockBatch>::new(0, schedule.phases.measured_ps(), schedule.phases.batches);
    let mut round_trip = Histogram::default();
    let (mut first_ns, mut completion_ns) = (None, None);
    let mut end = "time";
    while !schedule.is_over() {
        let now_ns = schedule.time.now_ns();
        if now_ns < begin_ns {
            schedule.time.sleep_until(begin_ns.min(now_ns + 20_000_000));
            continue;
        }
        if now_ns >= end_ns {
            client.stop();
        }
        while let Some(request_octets) = client.request(since_begin.ps(now_ns)) {
            first_ns.get_or_insert(now_ns);
            bulk.write(request_octets);
        }
        if client.outstanding() == 0 && (now_ns >= end_ns || client.next_ps().is_none()) {
            end = if completion_ns.is_some() { "complete" } else { "time" };
            break;
        }
        if !bulk.work(client.next_ps().map(|at_ps| since_begin.ns(at_ps)), now_ns)? {
            end = "closed";
            break;
        }
        let now_ns = schedule.time.now_ns();
        while let Some(block) = client.take(bulk.read_octets(), since_begin.ps(now_ns)) {
            octets += block.octets;
            done += 1;
            let since_ps =
                now_ns.checked_sub(measured_from_ns).map(|ns| ns.saturating_mul(PS_PER_NS));
            if let Some(batch) = since_ps.and_then(|since_ps| batches.at(since_ps)) {
                let round_trip_ps = since_begin.ps(now_ns) - block.requested_ps;
                batch.blocks += 1;
                batch.octets += block.octets;
                batch.round_trip_ns += round_trip_ps / PS_PER_NS;
                round_trip.record(round_trip_ps);
            }
            if file.octets == Some(octets) {
                completion_ns = Some(now_ns);
            }
        }
    }
    let (connection, port) = bulk.finish_both()?;
    let parts = batches.counted();
    let counts = ClientCounts {
        connection,
        octets,
        blocks: done,
        unanswered: client.outstanding(),
        first_ns: since(first_ns, begin_ns),
        completion_ns: since(completion_ns, begin_ns),
        ended_by: end.into(),
        measured: BlockWindow {
            octets: parts.iter().map(|part| part.octets).sum(),
            blocks: parts.iter().map(|part| part.blocks).sum(),
            round_trip: (&round_trip).into(),
            batches: parts,
        },
    };
    Ok(RoleCounts { port, of: RoleTotals::Client(Box::new(counts)) })
}

/// Answer requests for blocks until the client has closed the connection or the time is over;
/// nothing beyond the permit's rates.
pub(super) fn serve_blocks(
    stream: TcpStream,
    file: &File,
    draws: Draws,
    policer: &mut Policer,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<RoleCounts, Error> {
    let stream = BulkStream::over(stream, None)?;
    let mut bulk = BulkConnection::over(stream, CALL_OCTETS, policer, schedule);
    let since_begin = SinceBegin(schedule.begin_ns);
    let chance = Stream::new(draws.seed, draws.station, Purpose::Service);
    let mut server = FileServer::new(file.blocks(), &file.server, chance);
    let (mut requests, mut answers) = (0u64, 0u64);
    let mut end = "time";
    while !schedule.is_over() {
        let now_ns = schedule.time.now_ns();
        while let Some(answer_octets) = server.answer(since_begin.ps(now_ns)) {
            bulk.write(answer_octets);
            answers += 1;
        }
        let next_ns = server.next_ps().map(|at_ps| since_begin.ns(at_ps));
        if !bulk.work(next_ns, now_ns)? {
            end = "closed";
            break;
        }
        let now_ns = schedule.time.now_ns();
        while server.take(bulk.read_octets(), since_begin.ps(now_ns)) {
            requests += 1;
        }
    }
    let (connection, port) = bulk.finish_both()?;
    let counts = ServerCounts { connection, requests, answers, ended_by: end.into() };
    Ok(RoleCounts { port, of: RoleTotals::Server(Box::new(counts)) })
}
