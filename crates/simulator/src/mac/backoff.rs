//! The backoff: when a card tries again after a collision, after slots that it draws, that a load
//! register reads from its own clock, or that a rule of the caller's own returns.

use crate::custom::{Custom, CustomBackoff, Rule};
use crate::time::{Instant, Span};
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::medium::{Backoff, Stations};
use std::sync::{Arc, Mutex};

/// What follows a collision (802.3-2022 § 4.2.3.2.5).
#[derive(Clone, Debug)]
pub struct Retry {
    /// Rule for the number of slots to wait.
    pub backoff: Backoff,
    /// Attempts of a frame, the first included.
    pub attempt_limit: u32,
    /// Slot time.
    pub slot: Span,
}

impl Retry {
    /// Whether a frame may be tried again after so many attempts that collided.
    #[inline]
    #[must_use]
    pub fn is_allowed(&self, attempts: u32) -> bool {
        attempts < self.attempt_limit
    }

    /// Time from the end of the jam to the next attempt, drawn after so many attempts.
    #[inline]
    pub fn wait(&self, attempts: u32, chance: &mut Stream) -> Span {
        self.slots(chance.below(self.backoff.range(attempts)))
    }

    /// Duration of a number of slots, at most [`Span::ENDLESS`].
    #[inline]
    #[must_use]
    pub fn slots(&self, slots: u64) -> Span {
        self.slot.saturating_mul(slots)
    }

    /// The same of a number that need not be whole, to the nearest picosecond.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the conversion saturates
    pub fn fractional_slots(&self, slots: f64) -> Span {
        let part = Span::from_f64(slots.fract() * self.slot.to_f64());
        (self.slots(slots.trunc() as u64) + part).min(Span::ENDLESS)
    }
}

/// Whose draws a card has: the seed of the trial, and the number of its station or port.
pub type Draws = (u64, u32);

/// The backoff of one card, with its draws, and its clock if it reads one.
#[derive(Clone, Debug)]
pub struct Retries {
    chance: Stream,
    retry: Retry,
    /// What its clock showed when simulated time began.
    clock_at_start: Span,
    /// Shared by clones, which go on with the same rule.
    custom: Option<Arc<Mutex<dyn CustomBackoff>>>,
}

impl Retries {
    /// The backoff of one of these stations, on a medium with this slot time; `custom` makes rules
    /// of the caller's own, if there are any.
    pub(crate) fn new(
        stations: &Stations,
        slot: Span,
        (seed, number): Draws,
        custom: Option<&dyn Custom>,
    ) -> Self {
        let clock = StationClock::new(stations, slot, (seed, number));
        let (backoff, slot) = match stations.backoff {
            Backoff::LoadRegister { bits, clock_ps, ticks } => {
                let clock_ps = clock.true_time(Span::from_ps(clock_ps)).ps();
                (Backoff::LoadRegister { bits, clock_ps, ticks }, clock.true_time(slot))
            }
            ref drawn => (drawn.clone(), slot),
        };
        let retry = Retry { backoff, attempt_limit: stations.attempt_limit, slot };
        let drawn = Self::drawn(retry, (seed, number));
        let custom = match &drawn.retry.backoff {
            Backoff::Python { function } => {
                let custom = custom.expect("refused where there are none");
                Some(custom.backoff(&Rule { function, station: number }, drawn.chance.clone()))
            }
            _ => None,
        };
        Self { clock_at_start: clock.at_start, custom, ..drawn }
    }

    /// The backoff of a card without a clock and a rule of the caller's own.
    pub(crate) fn drawn(retry: Retry, (seed, number): Draws) -> Self {
        let chance = Stream::new(seed, number, Purpose::Backoff);
        Self { chance, retry, clock_at_start: Span::ZERO, custom: None }
    }

    /// How many attempts are left of a frame that has collided so often since it was handed over.
    pub(crate) fn attempts_left(&self, attempts: u32) -> u32 {
        self.retry.attempt_limit.saturating_sub(attempts)
    }

    /// When a frame is tried again that has collided so often since it was handed over, the last
    /// time with a jam until `end`; `None` if it is not.
    #[inline]
    pub fn next(&mut self, attempts: u32, end: Instant) -> Option<Instant> {
        if !self.retry.is_allowed(attempts) {
            return None;
        }
        Some(match self.retry.backoff {
            Backoff::LoadRegister { .. } | Backoff::Python { .. } => self.undrawn(attempts, end),
            _ => end + self.retry.wait(attempts, &mut self.chance),
        })
    }

    /// When a station tries again that does not draw its slots here. Apart from the draws, which
    /// are frequent.
    #[inline(never)]
    fn undrawn(&self, attempts: u32, end: Instant) -> Instant {
        match self.retry.backoff {
            Backoff::LoadRegister { clock_ps, ticks, .. } => {
                self.counted_down(attempts, end, Span::from_ps(clock_ps), ticks)
            }
            _ => (end + self.custom_wait(attempts)).min(Instant::NEVER),
        }
    }

    fn custom_wait(&self, attempts: u32) -> Span {
        let custom = self.custom.as_ref().expect("made with the retries");
        let slots = custom.lock().expect("a rule does not panic").slots(attempts);
        slots.map_or(Span::ENDLESS, |slots| self.retry.fractional_slots(slots))
    }

    /// When a station has counted down whose jam ended at `end`, by its own clock.
    fn counted_down(&self, attempts: u32, end: Instant, clock: Span, ticks: bool) -> Instant {
        let shown = end - Instant::ZERO + self.clock_at_start;
        let load = self.retry.backoff.range(attempts) - 1;
        let slots = shown.periods(clock) & load;
        let since_tick = if ticks && slots > 0 { shown % self.retry.slot } else { Span::ZERO };
        end + self.retry.slots(slots) - since_tick
    }
}

/// The clock of a station: what it shows at time 0, and how fast it goes.
pub(crate) struct StationClock {
    /// Anything, up to when the bits that a load register uses begin again, or the next tick comes.
    at_start: Span,
    /// How much longer its times are than they should be, in parts of 10⁹.
    longer_ppb: i128,
}

impl StationClock {
    pub(crate) fn new(stations: &Stations, slot: Span, (seed, number): Draws) -> Self {
        let mut chance = Stream::new(seed, number, Purpose::Clock);
        let at_start = match stations.backoff {
            Backoff::LoadRegister { bits, clock_ps, .. } => {
                Span::from_ps(chance.below((clock_ps << bits).max(slot.ps())))
            }
            _ => Span::ZERO,
        };
        let most = stations.clock_error_ppb;
        let longer_ppb = i128::from(chance.below(2 * most + 1)) - i128::from(most);
        Self { at_start, longer_ppb }
    }

    /// How long a time of this clock is, to the nearest picosecond.
    pub(crate) fn true_time(&self, shown: Span) -> Span {
        let billionths = i128::from(shown.ps()) * (1_000_000_000 + self.longer_ppb);
        let ps = u64::try_from((billionths + 500_000_000) / 1_000_000_000);
        Span::from_ps(ps.expect("a clock that goes, and a time within range"))
    }
}
