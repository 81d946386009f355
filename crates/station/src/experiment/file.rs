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

use super::bulk::{BulkConnection, ReadResult};
use super::schedule::{ExperimentSchedule, since};
use crate::policer::{Policer, SendProgress};
use crate::refusal::{ConsentRule, Refusal};
use crate::report::{BlockBatch, BlockWindow, ClientCounts, RoleCounts, RoleTotals, ServerCounts};
use ethermeter_live::{Error, Timeline};
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Batches, Histogram, Purpose, Stream};
use ethermeter_trial::transfer::{Direction, File};
use std::collections::VecDeque;
use std::net::TcpStream;

const PS_PER_NS: u64 = 1000;
/// Requests that may be without an answer, at most: what an agent keeps of each takes memory.
const MOST_AHEAD: u32 = 4096;
/// Octets of a block, a request or an answer, at most.
const MOST_OCTETS: u64 = 1 << 40;

/// Read what a client and a server do.
///
/// # Errors
/// By [`ConsentRule::Description`].
pub fn read_file(text: &str) -> Result<File, Refusal> {
    let fault = |what: String| Refusal::new(ConsentRule::Description, what, "a file as in a plan");
    let file: File = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
    match fault_of(&file) {
        Some(what) => Err(fault(what)),
        None => Ok(file),
    }
}

/// What of a file is beyond an agent's limits.
fn fault_of(file: &File) -> Option<String> {
    for (name, octets) in [
        ("octets", file.octets.unwrap_or(1)),
        ("block_octets", file.block_octets),
        ("request_octets", file.request_octets),
        ("answer_octets", file.answer_octets),
    ] {
        if !(1..=MOST_OCTETS).contains(&octets) {
            return Some(format!("{name} must be from 1 to {MOST_OCTETS}, got {octets}"));
        }
    }
    if !(1..=MOST_AHEAD).contains(&file.ahead) {
        return Some(format!("ahead must be from 1 to {MOST_AHEAD}, got {}", file.ahead));
    }
    file.client.fault().or_else(|| file.server.fault())
}

/// The blocks of a file, one after the other.
struct BlockSequence<'a> {
    file: &'a File,
    left: u64,
}

/// A block that is asked for.
#[derive(Clone, Copy)]
struct RequestedBlock {
    octets: u64,
    request_octets: u64,
    answer_octets: u64,
}

impl<'a> BlockSequence<'a> {
    fn of(file: &'a File) -> Self {
        Self { file, left: file.octets.unwrap_or(u64::MAX) }
    }
}

impl Iterator for BlockSequence<'_> {
    type Item = RequestedBlock;

    fn next(&mut self) -> Option<RequestedBlock> {
        let octets = self.file.block_octets.min(self.left);
        self.left -= octets;
        let (written, answered) = match self.file.direction {
            Direction::Read => (0, octets),
            Direction::Write => (octets, 0),
        };
        (octets > 0).then(|| RequestedBlock {
            octets,
            request_octets: self.file.request_octets + written,
            answer_octets: self.file.answer_octets + answered,
        })
    }
}

/// Work of one application, one piece after the other.
struct ApplicationWorker<'a> {
    times: &'a Times,
    chance: Stream,
    until_ns: u64,
    /// When pieces are done.
    done_ns: VecDeque<u64>,
}

impl<'a> ApplicationWorker<'a> {
    fn new(times: &'a Times, (seed, station): (u64, u32)) -> Self {
        Self {
            times,
            chance: Stream::new(seed, station, Purpose::Service),
            until_ns: 0,
            done_ns: VecDeque::new(),
        }
    }

    fn take_up(&mut self, now_ns: u64) {
        let work_ns = self.times.draw(&mut self.chance).div_ceil(PS_PER_NS);
        self.until_ns = self.until_ns.max(now_ns).saturating_add(work_ns);
        self.done_ns.push_back(self.until_ns);
    }

    fn is_done(&mut self, now_ns: u64) -> bool {
        let is_done = self.done_ns.front().is_some_and(|&at_ns| at_ns <= now_ns);
        is_done && self.done_ns.pop_front().is_some()
    }
}

/// A request that is to be answered.
struct PendingBlock {
    begun_ns: u64,
    octets: u64,
    /// Octets that will have been read when its answer is whole.
    complete_at: u64,
}

/// Seed of the experiment and number of the station, which determine every draw.
pub type Draws = (u64, u32);

/// Ask for blocks from the beginning of the transmission to its end, or until all are done; none
/// beyond the permit's rates.
pub(super) fn request_blocks(
    stream: &mut TcpStream,
    file: &File,
    draws: Draws,
    policer: &mut Policer,
    progress: &SendProgress,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<RoleCounts, Error> {
    let begin_ns = schedule.transmit_ns();
    let end_ns = begin_ns.saturating_add(schedule.phases.transmit_ns);
    let measured_from_ns = begin_ns.saturating_add(schedule.phases.measure_from_ns);
    let mut bulk = BulkConnection::over(stream, policer, progress, schedule)?;
    let (mut blocks, mut worker) =
        (BlockSequence::of(file), ApplicationWorker::new(&file.client, draws));
    let mut outstanding: VecDeque<PendingBlock> = VecDeque::with_capacity(file.ahead as usize);
    let (mut answers_octets, mut octets, mut done) = (0, 0, 0u64);
    let mut batches =
        Batches::<BlockBatch>::new(0, schedule.phases.measured_ps(), schedule.phases.batches);
    let mut round_trip = Histogram::default();
    let (mut first_ns, mut completion_ns) = (None, None);
    let mut owed = file.ahead; // requests that nothing but the beginning is waited for
    let mut end = "time";
    while !schedule.is_over() {
        let now_ns = schedule.time.now_ns();
        if now_ns < begin_ns {
            schedule.time.sleep_until(begin_ns.min(now_ns + 20_000_000));
            continue;
        }
        while owed > 0 || worker.is_done(now_ns) {
            owed = owed.saturating_sub(1);
            if now_ns >= end_ns {
                continue; // nothing more is outstanding for
            }
            let Some(block) = blocks.next() else { continue };
            first_ns.get_or_insert(now_ns);
            answers_octets += block.answer_octets;
            outstanding.push_back(PendingBlock {
                begun_ns: now_ns,
                octets: block.octets,
                complete_at: answers_octets,
            });
            bulk.write(block.request_octets);
        }
        if outstanding.is_empty() && (now_ns >= end_ns || worker.done_ns.is_empty()) {
            end = if completion_ns.is_some() { "complete" } else { "time" };
            break;
        }
        match bulk.work(worker.done_ns.front().copied(), now_ns)? {
            ReadResult::Octets => {}
            ReadResult::Closed => {
                end = "closed";
                break;
            }
        }
        let now_ns = schedule.time.now_ns();
        while outstanding
            .front()
            .is_some_and(|outstanding| outstanding.complete_at <= bulk.read_octets())
        {
            let Some(block) = outstanding.pop_front() else { break };
            worker.take_up(now_ns);
            octets += block.octets;
            done += 1;
            let since_ps =
                now_ns.checked_sub(measured_from_ns).map(|ns| ns.saturating_mul(PS_PER_NS));
            if let Some(batch) = since_ps.and_then(|since_ps| batches.at(since_ps)) {
                let round_trip_ns = now_ns - block.begun_ns;
                batch.blocks += 1;
                batch.octets += block.octets;
                batch.round_trip_ns += round_trip_ns;
                round_trip.record(round_trip_ns.saturating_mul(PS_PER_NS));
            }
            if file.octets == Some(octets) {
                completion_ns = Some(now_ns);
            }
        }
    }
    let (connection, port) = bulk.finish()?;
    let parts = batches.counted();
    let counts = ClientCounts {
        connection,
        octets,
        blocks: done,
        unanswered: outstanding.len(),
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
    stream: &mut TcpStream,
    file: &File,
    draws: Draws,
    policer: &mut Policer,
    progress: &SendProgress,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<RoleCounts, Error> {
    let mut bulk = BulkConnection::over(stream, policer, progress, schedule)?;
    let (mut blocks, mut worker) =
        (BlockSequence::of(file).peekable(), ApplicationWorker::new(&file.server, draws));
    let mut served: VecDeque<u64> = VecDeque::with_capacity(file.ahead as usize);
    let (mut complete_at, mut requests, mut answers) = (0, 0u64, 0u64);
    let mut end = "time";
    while !schedule.is_over() {
        let now_ns = schedule.time.now_ns();
        while worker.is_done(now_ns) {
            let answer_octets = served.pop_front().expect("an answer for each piece of work");
            bulk.write(answer_octets);
            answers += 1;
        }
        if matches!(bulk.work(worker.done_ns.front().copied(), now_ns)?, ReadResult::Closed) {
            end = "closed";
            break;
        }
        let now_ns = schedule.time.now_ns();
        while let Some(block) =
            blocks.next_if(|block| complete_at + block.request_octets <= bulk.read_octets())
        {
            complete_at += block.request_octets;
            requests += 1;
            served.push_back(block.answer_octets);
            worker.take_up(now_ns);
        }
    }
    let (connection, port) = bulk.finish()?;
    let counts = ServerCounts { connection, requests, answers, ended_by: end.into() };
    Ok(RoleCounts { port, of: RoleTotals::Server(Box::new(counts)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(octets: Option<u64>) -> File {
        let octets = octets.map_or(String::new(), |octets| format!("\"octets\": {octets}, "));
        read_file(&format!(
            "{{\"direction\": \"read\", {octets}\"block_octets\": 4096, \"request_octets\": 64, \"answer_octets\": 32, \
             \"client\": {{\"kind\": \"constant\", \"ps\": 5000}}, \"server\": {{\"kind\": \"constant\", \"ps\": 0}}}}"
        ))
        .expect("a file")
    }

    #[test]
    fn a_file_is_cut_into_blocks_of_which_the_last_may_be_short() {
        let reads = file(Some(10_000));
        let blocks: Vec<(u64, u64, u64)> = BlockSequence::of(&reads)
            .map(|block| (block.octets, block.request_octets, block.answer_octets))
            .collect();
        assert_eq!(blocks, [(4096, 64, 4128), (4096, 64, 4128), (1808, 64, 1840)]);
        let written = File { direction: Direction::Write, ..reads };
        assert_eq!(
            BlockSequence::of(&written).map(|block| block.request_octets).collect::<Vec<_>>(),
            [4160, 4160, 1872]
        );
        assert_eq!(BlockSequence::of(&file(None)).take(1000).count(), 1000);
    }

    #[test]
    fn one_piece_of_work_is_done_after_the_other() {
        let times = Times::Constant { ps: 5000 };
        let mut worker = ApplicationWorker::new(&times, (1, 1));
        for at_ns in [100, 102, 200] {
            worker.take_up(at_ns);
        }
        assert_eq!(worker.done_ns, [105, 110, 205]);
        assert!(!worker.is_done(104) && worker.is_done(105) && !worker.is_done(109));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_is_allowed() {
        for (key, value) in [
            ("block_octets", "0"),
            ("octets", "0"),
            ("request_octets", "0"),
            ("ahead", "0"),
            ("ahead", "5000"),
        ] {
            let text = r#"{"direction": "write", "octets": 1, "block_octets": 1, "request_octets": 1, "answer_octets": 1,
                "ahead": 1, "client": {"kind": "constant", "ps": 0}, "server": {"kind": "constant", "ps": 0}}"#;
            let wrong = text.replace(&format!("\"{key}\": 1"), &format!("\"{key}\": {value}"));
            let refused = read_file(&wrong).expect_err("refused").to_string();
            assert!(refused.contains(key) && refused.contains(value), "{refused}");
        }
        assert!(read_file("{}").is_err());
    }
}
