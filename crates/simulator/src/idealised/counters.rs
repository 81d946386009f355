//! What is counted of an idealised compiled, and the frames that it is counted of.

use crate::segment::compiled::CompiledSegment;
use crate::segment::counters::Counters;
use crate::segment::station::Supplied;
use crate::segment::station::{Attempt, Ending};
use ethermeter_trial::Counts;

/// A frame that waits or is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Whose it is.
    pub station: u32,
    /// When it arrived at the queue.
    pub arrived: i64,
    /// When its contention for the medium began.
    pub taken_up: i64,
    /// Its length.
    pub bits: u64,
    /// Attempts so far.
    pub attempts: u32,
}

/// Running sums of a trial.
pub(super) struct FrameCounters<'w> {
    compiled: &'w CompiledSegment,
    counters: Counters,
    colliding: Vec<Attempt>,
    supplied: Vec<Supplied>,
}

impl<'w> FrameCounters<'w> {
    /// Nothing counted yet. `tracing` keeps every attempt.
    pub fn new(compiled: &'w CompiledSegment, tracing: bool) -> Self {
        let supplied = vec![Supplied::default(); compiled.stations()];
        Self {
            compiled,
            counters: Counters::new(compiled, tracing),
            colliding: Vec::new(),
            supplied,
        }
    }

    /// How long a frame of `bits` takes.
    #[inline]
    pub fn packet(&self, bits: u64) -> i64 {
        bits.cast_signed() * self.compiled.bit
    }

    fn within(&self, at: i64) -> u64 {
        u64::from(
            self.compiled.phases.measure_from_ps.cast_signed() <= at
                && at < self.compiled.phases.measure_to_ps.cast_signed(),
        )
    }

    /// A frame comes to a station.
    #[inline]
    pub fn offer(&mut self, station: u32, at: i64) {
        self.supplied[station as usize].offered += self.within(at);
    }

    /// A frame is refused: by a full queue, or, in a population without end, by a busy medium.
    #[inline]
    pub fn drop(&mut self, station: u32, at: i64) {
        self.supplied[station as usize].dropped += self.within(at);
    }

    /// A frame is sent from `start` on, alone. Returns the end of its last bit.
    #[inline]
    pub fn deliver(&mut self, frame: &Frame, start: i64) -> i64 {
        let end = start + self.packet(frame.bits);
        self.counters.record(&attempt(frame, start, end, Ending::Delivered));
        end
    }

    /// A frame is sent from `start` to `end`, in vain. Those of one collision come in the order of
    /// their starts, then [`Self::collide`].
    #[inline]
    pub fn fail(&mut self, frame: &mut Frame, start: i64, end: i64, ending: Ending) {
        self.colliding.push(attempt(frame, start, end, ending));
        frame.attempts += 1;
    }

    /// Count the collision of those that failed since the last one.
    #[inline]
    pub fn collide(&mut self) {
        self.counters.record_collision(&self.colliding);
        self.colliding.clear();
    }

    /// The figures, when nothing more happens. `held` are the frames still there.
    pub fn finish<'f>(self, held: impl Iterator<Item = &'f Frame>) -> (Counts, Vec<Attempt>) {
        let held: Vec<(usize, i64)> =
            held.map(|frame| (frame.station as usize, frame.taken_up)).collect();
        self.counters.close(self.compiled, &held, &self.supplied)
    }
}

#[inline]
fn attempt(frame: &Frame, start: i64, end: i64, ending: Ending) -> Attempt {
    Attempt {
        station: frame.station,
        ending,
        late: false,
        damaged: false,
        attempts: frame.attempts + 1,
        samples: 0,
        start,
        end,
        taken_up: frame.taken_up,
        arrived: frame.arrived,
        bits: frame.bits,
    }
}
