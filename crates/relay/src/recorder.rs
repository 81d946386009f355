//! What happens on a medium, kept for a capture: flat arrays that another thread writes
//! ([`crate::capture`]). Nothing is allocated for each frame, and nothing waits for that thread.

use crate::frames::Frames;
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_simulator::segment::station::{Attempt, Ending};

/// Attempts that a buffer has room for.
const MOST_ATTEMPTS: usize = 1 << 13;
/// Octets of frames that it has room for.
const MOST_OCTETS: usize = 1 << 20;

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its frame was sent.
    Sent,
    /// The same, but it was damaged on the line.
    Damaged,
    /// It collided on the line.
    Collided {
        /// After the slot time.
        is_late: bool,
        /// The frame was given up.
        is_last: bool,
    },
    /// The MAC got a collision signal, and nothing was on the line.
    Logical,
}

impl Outcome {
    fn of(attempt: &Attempt) -> Self {
        match attempt.ending {
            Ending::Delivered if attempt.damaged => Self::Damaged,
            Ending::Delivered => Self::Sent,
            ending => {
                Self::Collided { is_late: attempt.late, is_last: ending == Ending::Discarded }
            }
        }
    }

    /// Whether the attempt collided.
    pub fn is_collision(self) -> bool {
        matches!(self, Self::Collided { .. } | Self::Logical)
    }
}

/// An attempt as a capture has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// First bit of the preamble, in picoseconds since the capture began.
    pub start: i64,
    /// Last bit of the frame or jam.
    pub end: i64,
    /// How long before the start its frame came to the card; of voice, its first sample.
    pub waited: i64,
    pub station: u32,
    /// Attempts of its frame so far.
    pub attempts: u32,
    pub outcome: Outcome,
    /// Octets of its frame, without check sequence.
    pub octets: u32,
    /// How many of them were sent.
    pub sent: u32,
    /// How many of these are in the buffer.
    pub kept: u32,
}

/// Attempts and their octets, one after the other.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub attempts: Vec<Seen>,
    pub octets: Vec<u8>,
    /// Attempts of each station that it had no room for.
    pub dropped: Vec<u64>,
}

impl Buffer {
    pub fn new(stations: usize) -> Self {
        Self {
            attempts: Vec::with_capacity(MOST_ATTEMPTS),
            octets: Vec::with_capacity(MOST_OCTETS),
            dropped: vec![0; stations],
        }
    }

    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty() && self.dropped.iter().all(|&dropped| dropped == 0)
    }

    pub fn is_half_full(&self) -> bool {
        self.attempts.len() > MOST_ATTEMPTS / 2 || self.octets.len() > MOST_OCTETS / 2
    }

    pub fn clear(&mut self) {
        self.attempts.clear();
        self.octets.clear();
        self.dropped.fill(0);
    }

    fn add(&mut self, seen: Seen, octets: &[u8]) {
        let has_room =
            self.attempts.len() < MOST_ATTEMPTS && self.octets.len() + octets.len() <= MOST_OCTETS;
        if has_room {
            self.attempts.push(seen);
            self.octets.extend_from_slice(octets);
        } else if let Some(dropped) = self.dropped.get_mut(seen.station as usize) {
            *dropped += 1;
        }
    }
}

/// An attempt that has ended, and of which it is not yet known whether it was damaged.
#[derive(Clone, Copy, Debug)]
struct Ended {
    station: u32,
    start: i64,
    frame: u32,
}

/// Keeps the attempts of a medium.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The medium's time 0, in picoseconds since the capture began.
    began: i64,
    snap: usize,
    ended: Vec<Ended>,
    pub buffer: Buffer,
}

impl Recorder {
    pub fn new(began: i64, snap: usize, buffer: Buffer) -> Self {
        Self { began, snap, ended: Vec::new(), buffer }
    }

    /// An attempt has ended; its frame is held until the attempt is recorded.
    pub fn hold(&mut self, station: u32, start: i64, frame: u32, frames: &mut Frames) {
        frames.hold(frame);
        self.ended.push(Ended { station, start, frame });
    }

    /// All is known of an attempt on the line.
    pub fn record(&mut self, attempt: &Attempt, of: &CompiledSegment, frames: &mut Frames) {
        self.keep(attempt, Outcome::of(attempt), of, frames);
    }

    /// The same of an attempt that ended in a logical collision.
    pub fn record_logical(&mut self, attempt: &Attempt, of: &CompiledSegment, frames: &mut Frames) {
        self.keep(attempt, Outcome::Logical, of, frames);
    }

    fn keep(
        &mut self,
        attempt: &Attempt,
        outcome: Outcome,
        of: &CompiledSegment,
        frames: &mut Frames,
    ) {
        let is_it = |it: &Ended| (it.station, it.start) == (attempt.station, attempt.start);
        let Some(at) = self.ended.iter().position(is_it) else { return }; // before the capture
        let frame = self.ended.swap_remove(at).frame;
        let octets = frames.octets(frame);
        let sent = sent_octets(attempt, outcome, of).min(octets.len());
        let kept = sent.min(self.snap);
        let count = |octets: usize| u32::try_from(octets).expect("a frame");
        let seen = Seen {
            start: self.began + attempt.start,
            end: self.began + attempt.end,
            waited: attempt.start - attempt.arrived,
            station: attempt.station,
            attempts: attempt.attempts,
            outcome,
            octets: count(octets.len()),
            sent: count(sent),
            kept: count(kept),
        };
        self.buffer.add(seen, &octets[..kept]);
        frames.release(frame);
    }
}

/// Octets of a frame that were sent before its jam.
fn sent_octets(attempt: &Attempt, outcome: Outcome, of: &CompiledSegment) -> usize {
    match outcome {
        Outcome::Sent | Outcome::Damaged => usize::MAX,
        Outcome::Logical => 0,
        Outcome::Collided { .. } => {
            let on_line = attempt.end - attempt.start;
            let octets = (on_line - of.preamble - of.jam).max(0) / (8 * of.bit);
            usize::try_from(octets).unwrap_or(usize::MAX)
        }
    }
}
