//! The transmitter of a network card: the frame it holds, its attempts, its backoff, and what follows a
//! failure. Stations of a segment, ports of a network and cards with real frames have it alike.
//!
//! ```text
//!            take_up           attempt succeeds
//! (empty) ───────────► holding ──────────────────► (empty)
//!                        ▲  │ attempt collides
//!                        │  ├─ attempts left ─► backoff: r slots from the end of the jam, drawn or read from a clock
//!                        │  ├─ none left, resume ─► the host hands the frame over again
//!                        │  └─ none left, discard, or late and discard ─► (empty)
//!                        └──┘
//! ```

use super::backoff::Retries;
use crate::identity::StationId;
use crate::time::Instant;
use ethermeter_ethernet::units::Bits;
use ethermeter_traffic::coder::VoiceFrame;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Stations};

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
    /// The station that sent.
    pub station: StationId,
    /// How the attempt ended.
    pub ending: Ending,
    /// The collision followed the slot time.
    pub late: bool,
    /// Another transmission overlapped it somewhere, although its sender heard no collision.
    pub damaged: bool,
    /// Attempts of this frame so far, this one included.
    pub attempts: u32,
    /// Samples in the frame, if it is of voice and was delivered; else 0.
    pub samples: u32,
    /// First bit of the preamble leaves the sender.
    pub start: Instant,
    /// Last bit of the frame or of the jam leaves the sender.
    pub end: Instant,
    /// When the transmitter took up the frame.
    pub taken_up: Instant,
    /// When the frame arrived at the queue; of voice that was delivered, when the oldest sample in
    /// it was made.
    pub arrived: Instant,
    /// Length of the frame, destination address to FCS; of voice that collided, the least.
    pub length: Bits,
}

impl Attempt {
    /// Of a station and its times only, as of a transmission that is not over.
    #[inline]
    #[must_use]
    pub(crate) const fn at(station: StationId, start: Instant, end: Instant) -> Self {
        Self {
            station,
            ending: Ending::Collided,
            late: false,
            damaged: false,
            attempts: 0,
            samples: 0,
            start,
            end,
            taken_up: Instant::ZERO,
            arrived: Instant::ZERO,
            length: Bits(0),
        }
    }
}

/// The frame that a transmitter holds, and its attempts.
#[derive(Clone, Debug)]
pub struct Transmitter {
    station: StationId,
    retries: Retries,
    after_attempt_limit: AfterAttemptLimit,
    after_late_collision: AfterLateCollision,
    /// [`Instant::NEVER`] without a frame.
    taken_up: Instant,
    arrived: Instant,
    length: Bits,
    attempts: u32,
    attempts_since_handover: u32,
}

#[expect(
    clippy::inline_always,
    reason = "each attempt of a segment goes through here: up to 7% of its speed"
)]
impl Transmitter {
    /// A transmitter without a frame, of one of these stations.
    #[must_use]
    pub fn new(station: StationId, stations: &Stations, retries: Retries) -> Self {
        let Stations { after_attempt_limit, after_late_collision, .. } = *stations;
        Self { after_attempt_limit, after_late_collision, ..Self::standard(station, retries) }
    }

    /// A transmitter without a frame, of a station with the limits of the standard.
    #[must_use]
    pub fn standard(station: StationId, retries: Retries) -> Self {
        Self {
            station,
            retries,
            after_attempt_limit: AfterAttemptLimit::default(),
            after_late_collision: AfterLateCollision::default(),
            taken_up: Instant::NEVER,
            arrived: Instant::NEVER,
            length: Bits(0),
            attempts: 0,
            attempts_since_handover: 0,
        }
    }

    /// Take up a frame, `arrived` at its queue, for a first attempt at `ready`; of voice, the length
    /// is the least.
    #[inline(always)]
    pub fn take_up(&mut self, ready: Instant, arrived: Instant, length: Bits) {
        self.attempts = 0;
        self.attempts_since_handover = 0;
        (self.taken_up, self.arrived, self.length) = (ready, arrived, length);
    }

    /// Give up the frame that the transmitter holds, sent or not.
    #[inline]
    pub fn release(&mut self) {
        self.taken_up = Instant::NEVER;
    }

    /// Length of the frame in the transmitter; of voice, the least.
    #[inline]
    #[must_use]
    pub fn length(&self) -> Bits {
        self.length
    }

    /// How many attempts it has before it gives its frame up, or hands it back.
    #[must_use]
    pub fn attempts_left(&self) -> u32 {
        self.retries.attempts_left(self.attempts_since_handover)
    }

    /// When the frame in the transmitter was taken up, if there is one.
    #[must_use]
    pub fn holding_since(&self) -> Option<Instant> {
        Some(self.taken_up).filter(|&at| at < Instant::NEVER)
    }

    /// The attempt from `start` to `end` succeeded; the frame has left.
    #[inline(always)]
    pub fn deliver(&mut self, start: Instant, end: Instant) -> Attempt {
        self.attempts += 1;
        self.attempt(start, end, Ending::Delivered, false)
    }

    /// The attempt of a packet of voice succeeded; `frame` has the samples sent until `end`.
    ///
    /// # Panics
    /// If it has more than 2^32 samples: a sample has a bit, and scenarios allow 2^24 of a frame.
    pub fn deliver_voice(&mut self, start: Instant, end: Instant, frame: &VoiceFrame) -> Attempt {
        (self.length, self.arrived) = (Bits(frame.bits), Instant::from_ps(frame.oldest_ps));
        let samples = u32::try_from(frame.samples).expect("lengths were checked");
        Attempt { samples, ..self.deliver(start, end) }
    }

    /// The attempt from `start` to `end`, the end of its jam, collided. Returns it, and when it is
    /// tried again without the host: if its ending is [`Ending::Collided`].
    #[inline(always)]
    pub fn collide(
        &mut self,
        start: Instant,
        end: Instant,
        late: bool,
    ) -> (Attempt, Option<Instant>) {
        self.attempts += 1;
        self.attempts_since_handover += 1;
        if late && self.after_late_collision == AfterLateCollision::Discard {
            return (self.attempt(start, end, Ending::Discarded, late), None);
        }
        if let Some(ready) = self.retries.next(self.attempts_since_handover, end) {
            return (self.attempt(start, end, Ending::Collided, late), Some(ready));
        }
        let ending = match self.after_attempt_limit {
            AfterAttemptLimit::Discard => Ending::Discarded,
            AfterAttemptLimit::Resume => {
                self.attempts_since_handover = 0;
                Ending::Resumed
            }
        };
        (self.attempt(start, end, ending, late), None)
    }

    #[inline(always)]
    fn attempt(&self, start: Instant, end: Instant, ending: Ending, late: bool) -> Attempt {
        Attempt {
            station: self.station,
            ending,
            late,
            damaged: false,
            attempts: self.attempts,
            samples: 0,
            start,
            end,
            taken_up: self.taken_up,
            arrived: self.arrived,
            length: self.length,
        }
    }
}
