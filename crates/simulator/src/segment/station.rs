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

use super::compiled::{signed, small, CompiledSegment, NEVER};
use crate::mac::csma_cd::Retry;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::voice::Samples;
use ethermeter_traffic::{Purpose, Source, Stream};
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff};

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

/// What a station does between and after its attempts.
#[derive(Clone, Debug)]
pub struct Station {
    index: u32,
    source: Source,
    chance: Stream,
    retry: Retry,
    after_attempt_limit: AfterAttemptLimit,
    after_late_collision: AfterLateCollision,
    /// What its clock showed at time 0, in picoseconds.
    clock: u64,
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
        (0..compiled.stations()).map(|index| Self::new(compiled, index)).unzip()
    }

    fn new(compiled: &CompiledSegment, index: usize) -> (Self, i64) {
        let stations = &compiled.group(index).stations;
        let station = small(index);
        let begin_ps = compiled.phases.begin_ps
            + Stream::new(compiled.seed, station, Purpose::Begin).below(compiled.phases.spread_ps);
        let clock = Clock::new(compiled, index);
        let mut spec = compiled.source_spec(index);
        if let Arrivals::Coder { sample_ps, .. } = &mut spec.arrivals {
            *sample_ps = clock.true_ps(*sample_ps);
        }
        let mut source = Source::new(&spec, compiled.seed, station, compiled.window(begin_ps));
        let first = source.first();
        let (backoff, slot) = match stations.backoff {
            Backoff::LoadRegister { bits, clock_ps, ticks } => (
                Backoff::LoadRegister { bits, clock_ps: clock.true_ps(clock_ps), ticks },
                signed(clock.true_ps(compiled.slot.cast_unsigned())),
            ),
            drawn => (drawn, compiled.slot),
        };
        let mut new = Self {
            index: station,
            source,
            chance: Stream::new(compiled.seed, station, Purpose::Backoff),
            retry: Retry { backoff, attempt_limit: stations.attempt_limit, slot },
            after_attempt_limit: stations.after_attempt_limit,
            after_late_collision: stations.after_late_collision,
            clock: clock.at_start_ps,
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
        let (preamble_ps, bit_ps) =
            (compiled.preamble.cast_unsigned(), compiled.bit.cast_unsigned());
        let voice = self.source.voice().expect("only voice grows");
        compiled.packet_time(voice.bits_at(start.cast_unsigned(), preamble_ps, bit_ps))
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
        if self.retry.is_allowed(attempts) {
            let ready = match self.retry.backoff {
                Backoff::LoadRegister { clock_ps, ticks, .. } => {
                    self.counted_down(end, clock_ps, ticks)
                }
                _ => end + self.retry.wait(attempts, &mut self.chance),
            };
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

    /// Frames offered and dropped within the measured window, when nothing more happens.
    pub fn finish(&mut self) -> (u64, u64) {
        self.source.finish()
    }

    /// What became of the samples made within the measured window, when nothing more happens;
    /// nothing if it is no voice station.
    pub fn finish_voice(&mut self) -> Option<Samples> {
        self.source.finish_voice()
    }

    fn discard(&mut self, start: i64, end: i64, late: bool) -> (Attempt, i64) {
        let attempt = self.attempt(start, end, Ending::Discarded, late);
        let next = self.source.next(end.cast_unsigned());
        (attempt, self.take_up(next))
    }

    /// When a station has counted down whose jam ended at `end`, by its own clock.
    fn counted_down(&self, end: i64, clock_ps: u64, ticks: bool) -> i64 {
        let shown_ps = self.clock + end.cast_unsigned();
        let load = self.retry.backoff.range(self.attempts_since_handover) - 1;
        let slots = (shown_ps / clock_ps) & load;
        let slot_ps = self.retry.slot.cast_unsigned();
        let since_tick = if ticks && slots > 0 { signed(shown_ps % slot_ps) } else { 0 };
        end + self.retry.slots(slots) - since_tick
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

/// The clock of a host: what it shows at time 0, and how fast it goes.
struct Clock {
    /// Anything, up to when the bits that a load register uses begin again, or the next tick comes.
    at_start_ps: u64,
    /// How much longer its times are than they should be, in parts of 10⁹.
    longer_ppb: i64,
}

impl Clock {
    fn new(compiled: &CompiledSegment, index: usize) -> Self {
        let stations = &compiled.group(index).stations;
        let mut chance = Stream::new(compiled.seed, small(index), Purpose::Clock);
        let at_start_ps = match stations.backoff {
            Backoff::LoadRegister { bits, clock_ps, .. } => {
                chance.below((clock_ps << bits).max(compiled.slot.cast_unsigned()))
            }
            _ => 0,
        };
        let most = stations.clock_error_ppb;
        let longer_ppb = signed(chance.below(2 * most + 1)) - signed(most);
        Self { at_start_ps, longer_ppb }
    }

    /// How long `ps` of this clock are, to the nearest picosecond.
    fn true_ps(&self, ps: u64) -> u64 {
        let billionths = i128::from(ps) * i128::from(1_000_000_000 + self.longer_ppb);
        u64::try_from((billionths + 500_000_000) / 1_000_000_000)
            .expect("a clock that goes, and a time within range")
    }
}
