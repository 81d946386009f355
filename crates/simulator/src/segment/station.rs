//! One station's transmitter: the frame it holds, its attempts, its backoff, and what follows a
//! failure.
//!
//! Both implementations of medium access use it, so that they differ in medium access only.
//!
//! ```text
//!             offer              attempt succeeds
//! (empty) ───────────► holding ──────────────────► next offer, after the service time
//!                        ▲  │ attempt collides
//!                        │  ├─ attempts left ─► backoff: r slots from the end of the jam, drawn or read from a clock
//!                        │  ├─ none left, resume ─► the host hands the frame over again, after the service time
//!                        │  └─ none left, discard, or late and discard ─► next offer
//!                        └──┘
//! ```

use super::compiled::{CompiledSegment, NEVER, signed, small};
use super::retries::{Retries, StationClock};
use crate::custom::{Custom, Rule};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::voice::Samples;
use ethermeter_traffic::{Purpose, Source, Stream};
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The sender heard no collision.
    Delivered,
    /// A collision; the frame waits for its next attempt.
    Collided,
    /// A collision, the last one allowed; the host hands the frame over again.
    Resumed,
    /// A collision; the frame is given up.
    Discarded,
}

/// One transmission, as it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Who sent.
    pub station: u32,
    /// How it ended.
    pub ending: Ending,
    /// The collision followed the slot time.
    pub late: bool,
    /// Another transmission overlapped it somewhere, although its sender heard no collision.
    pub damaged: bool,
    /// Attempts of this frame so far, this one included.
    pub attempts: u32,
    /// Samples in the frame, if it is of voice and was delivered; else 0.
    pub samples: u32,
    /// First bit of the preamble leaves the sender, in picoseconds.
    pub start: i64,
    /// Last bit of the frame or of the jam leaves the sender.
    pub end: i64,
    /// When the transmitter took up the frame.
    pub taken_up: i64,
    /// When the frame arrived at the queue; of voice that was delivered, when the oldest sample in
    /// it was made.
    pub arrived: i64,
    /// Length of the frame, destination address to FCS; of voice that collided, the least.
    pub bits: u64,
}

/// What the source of a station offered within the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Supplied {
    /// Frames.
    pub offered: u64,
    /// Of these, dropped.
    pub dropped: u64,
    /// The fate of its samples, if it is of voice.
    pub samples: Option<Samples>,
    /// Bits offered, of a source of the caller's own.
    pub custom_bits: Option<f64>,
}

impl Supplied {
    /// What a source offered, when nothing more happens.
    pub fn by(source: &mut Source) -> Self {
        let (offered, dropped) = source.finish();
        let custom_bits = source.custom_bits();
        Self { offered, dropped, samples: source.finish_voice(), custom_bits }
    }
}

/// What a station does between and after its attempts.
#[derive(Clone, Debug)]
pub struct Station {
    index: u32,
    source: Source,
    retries: Retries,
    after_attempt_limit: AfterAttemptLimit,
    after_late_collision: AfterLateCollision,
    /// Its frames grow until they are over.
    is_voice: bool,
    holds_frame: bool,
    taken_up: i64,
    arrived: i64,
    bits: u64,
    attempts: u32,
    attempts_since_handover: u32,
}

impl Station {
    /// All stations of a compiled segment, each with the time of its first attempt, or [`NEVER`].
    #[must_use]
    pub fn all(compiled: &CompiledSegment) -> (Vec<Self>, Vec<i64>) {
        Self::all_with(compiled, None)
    }

    /// The same, with rules of the caller's own.
    #[must_use]
    pub fn all_with(
        compiled: &CompiledSegment,
        custom: Option<&dyn Custom>,
    ) -> (Vec<Self>, Vec<i64>) {
        (0..compiled.stations()).map(|index| Self::new(compiled, index, custom)).unzip()
    }

    /// The source of a station and its retries, by the draws and the clock of the trial.
    #[must_use]
    pub fn supply(compiled: &CompiledSegment, index: usize) -> (Source, Retries) {
        Self::supply_with(compiled, index, None)
    }

    fn supply_with(
        compiled: &CompiledSegment,
        index: usize,
        custom: Option<&dyn Custom>,
    ) -> (Source, Retries) {
        let station = small(index);
        let begin_ps = compiled.phases.begin_ps
            + Stream::new(compiled.seed, station, Purpose::Begin).below(compiled.phases.spread_ps);
        let clock = StationClock::new(compiled, index);
        let mut spec = compiled.source_spec(index);
        if let Arrivals::Coder { sample_ps, .. } = &mut spec.arrivals {
            *sample_ps = clock.true_ps(*sample_ps);
        }
        let (seed, window) = (compiled.seed, compiled.window(begin_ps));
        let source = match &spec.arrivals {
            Arrivals::Python { function } => {
                let custom = custom.expect("CompiledSegment::new refuses it");
                let chance = Stream::new(seed, station, Purpose::Arrival);
                let frames =
                    custom.source(&Rule { function, station }, spec.frames.range_bits(), chance);
                Source::custom(&spec, seed, station, window, frames)
            }
            _ => Source::new(&spec, seed, station, window),
        };
        (source, Retries::new(compiled, index, &clock, custom))
    }

    fn new(compiled: &CompiledSegment, index: usize, custom: Option<&dyn Custom>) -> (Self, i64) {
        let stations = &compiled.group(index).stations;
        let (mut source, retries) = Self::supply_with(compiled, index, custom);
        let first = source.first();
        let mut new = Self {
            index: small(index),
            source,
            retries,
            after_attempt_limit: stations.after_attempt_limit,
            after_late_collision: stations.after_late_collision,
            is_voice: compiled.is_voice(index),
            holds_frame: false,
            taken_up: NEVER,
            arrived: NEVER,
            bits: 0,
            attempts: 0,
            attempts_since_handover: 0,
        };
        let ready = new.take_up(first);
        (new, ready)
    }

    /// Length of the frame in the transmitter, in bits; of voice, the least.
    #[inline]
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// How long the preamble and the frame in the transmitter take, if the first bit leaves at
    /// `start`.
    #[inline]
    #[must_use]
    pub fn packet_time(&self, compiled: &CompiledSegment, start: i64) -> i64 {
        if self.is_voice {
            return self.grown_packet_time(compiled, start);
        }
        compiled.packet_time(self.bits)
    }

    fn grown_packet_time(&self, compiled: &CompiledSegment, start: i64) -> i64 {
        compiled.grown_packet_time(self.source.voice().expect("only voice grows"), start)
    }

    /// When the frame in the transmitter was taken up, if there is one.
    #[must_use]
    pub fn holding_since(&self) -> Option<i64> {
        self.holds_frame.then_some(self.taken_up)
    }

    /// The attempt from `start` to `end` succeeded. Returns it, and when the station is ready for
    /// its next one.
    #[inline]
    pub fn deliver(&mut self, start: i64, end: i64) -> (Attempt, i64) {
        if self.is_voice {
            return self.deliver_voice(start, end);
        }
        self.deliver_frame(start, end)
    }

    /// The same, of a station that does not send voice.
    #[inline]
    pub fn deliver_frame(&mut self, start: i64, end: i64) -> (Attempt, i64) {
        self.attempts += 1;
        let attempt = self.attempt(start, end, Ending::Delivered, false);
        let next = self.source.next(end.cast_unsigned());
        (attempt, self.take_up(next))
    }

    fn deliver_voice(&mut self, start: i64, end: i64) -> (Attempt, i64) {
        self.attempts += 1;
        let frame = self.source.deliver_voice(end.cast_unsigned());
        self.bits = frame.bits;
        self.arrived = signed(frame.oldest_ps);
        let samples =
            u32::try_from(frame.samples).expect("a sample has a bit, and a frame at most 2^24");
        let attempt = Attempt { samples, ..self.attempt(start, end, Ending::Delivered, false) };
        let next = self.source.next(end.cast_unsigned());
        (attempt, self.take_up(next))
    }

    /// The attempt from `start` to `end`, the end of its jam, collided. Returns it, and when the
    /// station is ready for its next one.
    #[inline]
    pub fn collide(&mut self, start: i64, end: i64, late: bool) -> (Attempt, i64) {
        self.attempts += 1;
        self.attempts_since_handover += 1;
        if late && self.after_late_collision == AfterLateCollision::Discard {
            return self.discard(start, end, late);
        }
        let attempts = self.attempts_since_handover;
        if let Some(ready) = self.retries.next(attempts, end) {
            return (self.attempt(start, end, Ending::Collided, late), ready);
        }
        match self.after_attempt_limit {
            AfterAttemptLimit::Discard => self.discard(start, end, late),
            AfterAttemptLimit::Resume => {
                self.attempts_since_handover = 0;
                let again = signed(self.source.handed_over_again_ps(end.cast_unsigned()));
                (self.attempt(start, end, Ending::Resumed, late), again)
            }
        }
    }

    /// What its source offered, when nothing more happens.
    pub fn finish(&mut self) -> Supplied {
        Supplied::by(&mut self.source)
    }

    fn discard(&mut self, start: i64, end: i64, late: bool) -> (Attempt, i64) {
        let attempt = self.attempt(start, end, Ending::Discarded, late);
        let next = self.source.next(end.cast_unsigned());
        (attempt, self.take_up(next))
    }

    #[inline]
    fn attempt(&self, start: i64, end: i64, ending: Ending, late: bool) -> Attempt {
        Attempt {
            station: self.index,
            ending,
            late,
            damaged: false,
            attempts: self.attempts,
            samples: 0,
            start,
            end,
            taken_up: self.taken_up,
            arrived: self.arrived,
            bits: self.bits,
        }
    }

    #[inline]
    fn take_up(&mut self, offer: Option<ethermeter_traffic::Offer>) -> i64 {
        self.attempts = 0;
        self.attempts_since_handover = 0;
        let Some(offer) = offer else {
            self.holds_frame = false;
            return NEVER;
        };
        self.holds_frame = true;
        self.taken_up = signed(offer.ready_ps);
        self.arrived = signed(offer.arrived_ps);
        self.bits = offer.bits;
        self.taken_up
    }
}
