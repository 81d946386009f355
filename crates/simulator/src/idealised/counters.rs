//! What is counted of an idealised compiled, and the frames that it is counted of.

use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::segment::compiled::CompiledSegment;
use crate::segment::counters::Counters;
use crate::segment::station::Supplied;
use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Bits;
use ethermeter_trial::Counts;

/// A frame that waits or is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Whose it is.
    pub station: StationId,
    /// When it arrived at the queue.
    pub arrived: Instant,
    /// When its contention for the medium began.
    pub taken_up: Instant,
    /// Its length.
    pub length: Bits,
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

    /// How long a frame takes.
    #[inline]
    pub fn packet(&self, length: Bits) -> Span {
        self.compiled.bit * length
    }

    fn within(&self, at: Instant) -> u64 {
        let phases = &self.compiled.phases;
        u64::from((phases.measure_from_ps..phases.measure_to_ps).contains(&at.ps()))
    }

    /// A frame comes to a station.
    #[inline]
    pub fn offer(&mut self, station: StationId, at: Instant) {
        self.supplied[station].offered += self.within(at);
    }

    /// A frame is refused: by a full queue, or, in a population without end, by a busy medium.
    #[inline]
    pub fn drop(&mut self, station: StationId, at: Instant) {
        self.supplied[station].dropped += self.within(at);
    }

    /// A frame is sent from `start` on, alone. Returns the end of its last bit.
    #[inline]
    pub fn deliver(&mut self, frame: &Frame, start: Instant) -> Instant {
        let end = start + self.packet(frame.length);
        self.counters.record(&attempt(frame, start, end, Ending::Delivered));
        end
    }

    /// A frame is sent from `start` to `end`, in vain. Those of one collision come in the order of
    /// their starts, then [`Self::collide`].
    #[inline]
    pub fn fail(&mut self, frame: &mut Frame, start: Instant, end: Instant, ending: Ending) {
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
        let held: Vec<_> = held.map(|frame| (frame.station, frame.taken_up)).collect();
        self.counters.close(self.compiled, &held, &self.supplied)
    }
}

#[inline]
fn attempt(frame: &Frame, start: Instant, end: Instant, ending: Ending) -> Attempt {
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
        length: frame.length,
    }
}
