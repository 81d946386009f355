//! The two applications of a file, block by block: the client requests, the server answers.
//!
//! ```text
//! client ── request, with a block if it writes ──► server
//!        ◄── answer, with a block if it reads ────         each works on one block at a time
//! ```
//!
//! Whatever carries the octets tells them the time and how many octets they have read so far, and
//! writes what they ask for. Times are picoseconds since any instant.

use crate::random::Stream;
use crate::times::Times;
use std::collections::VecDeque;
use std::iter::Peekable;

/// One block of a file. Both ends know how long each request and answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Octets of the file.
    pub octets: u64,
    /// Octets of its request, with the block if the client writes.
    pub request_octets: u64,
    /// Octets of its answer, with the block if the client reads.
    pub answer_octets: u64,
}

/// The blocks of a file that are left, of which the last may be shorter.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Octets of the file that are left.
    pub left_octets: u64,
    /// Octets of each block.
    pub block_octets: u64,
    /// Octets of a request and of an answer, without a block.
    pub around_octets: (u64, u64),
    /// Whether answers have the blocks; else requests have them.
    pub is_read: bool,
}

impl Iterator for Blocks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let octets = self.block_octets.min(self.left_octets);
        self.left_octets -= octets;
        let (written, read) = if self.is_read { (0, octets) } else { (octets, 0) };
        let (request, answer) = self.around_octets;
        (octets > 0).then_some(Block {
            octets,
            request_octets: request + written,
            answer_octets: answer + read,
        })
    }
}

/// Work of one application, one item at a time.
#[derive(Debug)]
struct Worker {
    times: Times,
    chance: Stream,
    until_ps: u64,
    /// When each item is done.
    done_ps: VecDeque<u64>,
}

impl Worker {
    fn new(times: &Times, chance: Stream) -> Self {
        Self { times: times.clone(), chance, until_ps: 0, done_ps: VecDeque::new() }
    }

    fn take_up(&mut self, now_ps: u64) {
        let work_ps = self.times.draw(&mut self.chance);
        self.until_ps = self.until_ps.max(now_ps).saturating_add(work_ps);
        self.done_ps.push_back(self.until_ps);
    }

    fn is_done(&mut self, now_ps: u64) -> bool {
        let is_done = self.done_ps.front().is_some_and(|at_ps| *at_ps <= now_ps);
        is_done && self.done_ps.pop_front().is_some()
    }
}

/// A block whose answer is awaited.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    requested_ps: u64,
    octets: u64,
    /// Octets that have been read when its answer is whole.
    complete_at: u64,
}

/// A block whose answer is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteBlock {
    /// When it was requested.
    pub requested_ps: u64,
    /// Octets of the file.
    pub octets: u64,
}

/// The application that requests blocks, the first as soon as it begins.
#[derive(Debug)]
pub struct FileClient {
    blocks: Blocks,
    worker: Worker,
    /// Requests that nothing but the beginning is waited for.
    first: u32,
    outstanding: VecDeque<Outstanding>,
    answer_octets: u64,
    is_stopped: bool,
}

impl FileClient {
    /// Of these blocks, with `ahead` requests outstanding at most, and work of `times` between an
    /// answer and the next request.
    #[must_use]
    pub fn new(blocks: Blocks, ahead: u32, times: &Times, chance: Stream) -> Self {
        Self {
            blocks,
            worker: Worker::new(times, chance),
            first: ahead,
            outstanding: VecDeque::new(),
            answer_octets: 0,
            is_stopped: false,
        }
    }

    /// Request nothing more.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// When it next requests a block by itself, after the first ones.
    #[must_use]
    pub fn next_ps(&self) -> Option<u64> {
        self.worker.done_ps.front().copied()
    }

    /// Requests without an answer.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Octets of the next request that is due, if one is.
    pub fn request(&mut self, now_ps: u64) -> Option<u64> {
        while self.first > 0 || self.worker.is_done(now_ps) {
            self.first = self.first.saturating_sub(1);
            let Some(block) = (!self.is_stopped).then(|| self.blocks.next()).flatten() else {
                continue;
            };
            self.answer_octets += block.answer_octets;
            self.outstanding.push_back(Outstanding {
                requested_ps: now_ps,
                octets: block.octets,
                complete_at: self.answer_octets,
            });
            return Some(block.request_octets);
        }
        None
    }

    /// So many octets have been read in all: the next block that is complete with them.
    pub fn take(&mut self, read_octets: u64, now_ps: u64) -> Option<CompleteBlock> {
        let &Outstanding { requested_ps, octets, complete_at } = self.outstanding.front()?;
        if complete_at > read_octets {
            return None;
        }
        self.outstanding.pop_front();
        self.worker.take_up(now_ps);
        Some(CompleteBlock { requested_ps, octets })
    }
}

/// The application that answers requests.
#[derive(Debug)]
pub struct FileServer {
    blocks: Peekable<Blocks>,
    worker: Worker,
    /// Octets of the answers that are worked on.
    answers: VecDeque<u64>,
    request_octets: u64,
}

impl FileServer {
    /// Of these blocks, with work of `times` between a request and its answer.
    #[must_use]
    pub fn new(blocks: Blocks, times: &Times, chance: Stream) -> Self {
        Self {
            blocks: blocks.peekable(),
            worker: Worker::new(times, chance),
            answers: VecDeque::new(),
            request_octets: 0,
        }
    }

    /// When it next answers.
    #[must_use]
    pub fn next_ps(&self) -> Option<u64> {
        self.worker.done_ps.front().copied()
    }

    /// Octets of the next answer that is due, if one is.
    pub fn answer(&mut self, now_ps: u64) -> Option<u64> {
        self.worker.is_done(now_ps).then(|| self.answers.pop_front()).flatten()
    }

    /// So many octets have been read in all: whether another request is complete with them.
    pub fn take(&mut self, read_octets: u64, now_ps: u64) -> bool {
        let room = read_octets - self.request_octets;
        let Some(block) = self.blocks.next_if(|block| block.request_octets <= room) else {
            return false;
        };
        self.request_octets += block.request_octets;
        self.answers.push_back(block.answer_octets);
        self.worker.take_up(now_ps);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn blocks() -> Blocks {
        Blocks { left_octets: 10_000, block_octets: 4096, around_octets: (64, 32), is_read: true }
    }

    fn chance(station: u32) -> Stream {
        Stream::new(1, station, Purpose::Service)
    }

    #[test]
    fn a_file_is_cut_into_blocks_of_which_the_last_may_be_short() {
        let octets = |block: Block| (block.octets, block.request_octets, block.answer_octets);
        let read: Vec<_> = blocks().map(octets).collect();
        assert_eq!(read, [(4096, 64, 4128), (4096, 64, 4128), (1808, 64, 1840)]);
        let written = Blocks { is_read: false, ..blocks() };
        assert_eq!(written.map(octets).last(), Some((1808, 1872, 32)));
        assert_eq!(Blocks { left_octets: u64::MAX, ..blocks() }.take(1000).count(), 1000);
    }

    #[test]
    fn two_requests_are_outstanding_until_the_file_ends() {
        let mut client = FileClient::new(blocks(), 2, &Times::Constant { ps: 5 }, chance(0));
        let mut server = FileServer::new(blocks(), &Times::Constant { ps: 100 }, chance(1));
        assert_eq!([0, 0, 0].map(|at_ps| client.request(at_ps)), [Some(64), Some(64), None]);
        // The server works on one request after the other.
        assert!(!server.take(63, 10) && server.take(128, 10) && server.take(128, 10));
        assert!(!server.take(128, 10));
        assert_eq!((server.next_ps(), server.answer(109)), (Some(110), None));
        assert_eq!(
            [110, 209, 210].map(|at_ps| server.answer(at_ps)),
            [Some(4128), None, Some(4128)]
        );
        assert_eq!(client.take(4127, 150), None);
        let first = CompleteBlock { requested_ps: 0, octets: 4096 };
        assert_eq!(client.take(4128, 150), Some(first));
        assert_eq!((client.next_ps(), client.request(154)), (Some(155), None));
        assert_eq!(client.request(160), Some(64));
        assert_eq!(client.outstanding(), 2);
        // Nothing is left to be requested.
        assert_eq!(client.take(8256, 220), Some(first));
        assert_eq!((client.request(300), client.outstanding(), client.next_ps()), (None, 1, None));
    }

    #[test]
    fn a_client_that_is_stopped_awaits_what_it_has_requested() {
        let mut client = FileClient::new(blocks(), 1, &Times::Constant { ps: 0 }, chance(0));
        assert_eq!(client.request(0), Some(64));
        client.stop();
        assert!(client.take(4128, 7).is_some());
        assert_eq!((client.request(7), client.outstanding()), (None, 0));
    }
}
