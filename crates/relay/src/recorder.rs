//! What happens on a medium, kept for a capture: flat arrays that another thread writes
//! ([`crate::capture`]). Nothing is allocated for each frame, and nothing waits for that thread.

use crate::frames::FrameStore;
use ethermeter_simulator::identity::StationId;
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_simulator::time::{Instant, Span};

/// Attempts that a buffer has room for.
const MOST_ATTEMPTS: usize = 1 << 13;
/// Octets of frames that it has room for.
const MOST_OCTETS: usize = 1 << 20;

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptOutcome {
    /// The attempt's frame was sent.
    Sent,
    /// The attempt's frame was sent, but damaged on the line.
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

impl AttemptOutcome {
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
pub(crate) struct CapturedAttempt {
    /// First bit of the preamble, in picoseconds since the capture began.
    pub start: i64,
    /// Last bit of the frame or jam.
    pub end: i64,
    /// How long before the start its frame came to the card; of voice, its first sample.
    pub waited: i64,
    pub station: u32,
    /// Attempts of its frame so far.
    pub attempts: u32,
    pub outcome: AttemptOutcome,
    /// Octets of its frame, without check sequence.
    pub octets: u32,
    /// How many of them were sent.
    pub sent: u32,
    /// How many of these are in the buffer.
    pub kept: u32,
}

/// Attempts and their octets, one after the other.
#[derive(Debug)]
pub(crate) struct AttemptBuffer {
    pub attempts: Vec<CapturedAttempt>,
    pub octets: Vec<u8>,
    /// Attempts of each station that it had no room for.
    pub dropped: Vec<u64>,
}

impl AttemptBuffer {
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

    fn add(&mut self, attempt: CapturedAttempt, octets: &[u8]) {
        let has_room =
            self.attempts.len() < MOST_ATTEMPTS && self.octets.len() + octets.len() <= MOST_OCTETS;
        if has_room {
            self.attempts.push(attempt);
            self.octets.extend_from_slice(octets);
        } else if let Some(dropped) = self.dropped.get_mut(attempt.station as usize) {
            *dropped += 1;
        }
    }
}

/// An attempt that has ended, and of which it is not yet known whether it was damaged.
#[derive(Clone, Copy, Debug)]
struct EndedAttempt {
    station: StationId,
    start: Instant,
    frame: u32,
}

/// Keeps the attempts of a medium.
#[derive(Debug)]
pub(crate) struct AttemptRecorder {
    /// The medium's time 0, in picoseconds since the capture began.
    began: i64,
    snap: usize,
    ended: Vec<EndedAttempt>,
    pub buffer: AttemptBuffer,
}

impl AttemptRecorder {
    pub fn new(began: i64, snap: usize, buffer: AttemptBuffer) -> Self {
        Self { began, snap, ended: Vec::new(), buffer }
    }

    /// An attempt has ended; its frame is held until the attempt is recorded.
    pub fn hold(
        &mut self,
        station: StationId,
        start: Instant,
        frame: u32,
        frames: &mut FrameStore,
    ) {
        frames.hold(frame);
        self.ended.push(EndedAttempt { station, start, frame });
    }

    /// All is known of an attempt on the line.
    pub fn record(
        &mut self,
        attempt: &Attempt,
        segment: &CompiledSegment,
        frames: &mut FrameStore,
    ) {
        self.keep(attempt, AttemptOutcome::of(attempt), segment, frames);
    }

    /// Record an attempt that ended in a logical collision.
    pub fn record_logical(
        &mut self,
        attempt: &Attempt,
        segment: &CompiledSegment,
        frames: &mut FrameStore,
    ) {
        self.keep(attempt, AttemptOutcome::Logical, segment, frames);
    }

    fn keep(
        &mut self,
        attempt: &Attempt,
        outcome: AttemptOutcome,
        segment: &CompiledSegment,
        frames: &mut FrameStore,
    ) {
        let is_it =
            |ended: &EndedAttempt| (ended.station, ended.start) == (attempt.station, attempt.start);
        let Some(at) = self.ended.iter().position(is_it) else { return }; // before the capture
        let frame = self.ended.swap_remove(at).frame;
        let octets = frames.octets(frame);
        let sent = sent_octets(attempt, outcome, segment).min(octets.len());
        let kept = sent.min(self.snap);
        let count = |octets: usize| u32::try_from(octets).expect("a frame");
        let attempt_seen = CapturedAttempt {
            start: self.began + attempt.start.ps().cast_signed(),
            end: self.began + attempt.end.ps().cast_signed(),
            waited: (attempt.start - attempt.arrived).ps().cast_signed(),
            station: attempt.station.number(),
            attempts: attempt.attempts,
            outcome,
            octets: count(octets.len()),
            sent: count(sent),
            kept: count(kept),
        };
        self.buffer.add(attempt_seen, &octets[..kept]);
        frames.release(frame);
    }
}

/// Octets of a frame that were sent before its jam.
fn sent_octets(attempt: &Attempt, outcome: AttemptOutcome, segment: &CompiledSegment) -> usize {
    match outcome {
        AttemptOutcome::Sent | AttemptOutcome::Damaged => usize::MAX,
        AttemptOutcome::Logical => 0,
        AttemptOutcome::Collided { .. } => {
            let on_line = attempt.end - attempt.start;
            let around = segment.preamble + segment.jams[attempt.station];
            let octets = (on_line - around).max(Span::ZERO).periods(segment.bit * 8);
            usize::try_from(octets).unwrap_or(usize::MAX)
        }
    }
}
