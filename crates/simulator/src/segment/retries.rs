//! When a station tries again after a collision: after slots that it draws, that a load register
//! reads from the station's own clock, or that a rule of the caller's own returns.

use super::compiled::{CompiledSegment, NEVER, signed, small};
use crate::custom::{Custom, CustomBackoff, Rule};
use crate::mac::csma_cd::Retry;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::medium::Backoff;
use std::sync::{Arc, Mutex};

/// The retries of one station.
#[derive(Clone, Debug)]
pub struct Retries {
    chance: Stream,
    retry: Retry,
    /// What its clock showed at time 0, in picoseconds.
    clock: u64,
    /// Shared by clones, which go on with the same rule.
    custom: Option<Arc<Mutex<dyn CustomBackoff>>>,
}

impl Retries {
    /// The retries of a station whose clock is this one; `custom` makes rules of the caller's own,
    /// if there are any.
    pub(super) fn new(
        compiled: &CompiledSegment,
        index: usize,
        clock: &StationClock,
        custom: Option<&dyn Custom>,
    ) -> Self {
        let stations = &compiled.group(index).stations;
        let station = small(index);
        let (backoff, slot) = match stations.backoff {
            Backoff::LoadRegister { bits, clock_ps, ticks } => (
                Backoff::LoadRegister { bits, clock_ps: clock.true_ps(clock_ps), ticks },
                signed(clock.true_ps(compiled.slot.cast_unsigned())),
            ),
            ref drawn => (drawn.clone(), compiled.slot),
        };
        let chance = Stream::new(compiled.seed, station, Purpose::Backoff);
        let custom = match &backoff {
            Backoff::Python { function } => {
                let custom = custom.expect("CompiledSegment::new refuses it");
                Some(custom.backoff(&Rule { function, station }, chance.clone()))
            }
            _ => None,
        };
        let retry = Retry { backoff, attempt_limit: stations.attempt_limit, slot };
        Self { chance, retry, clock: clock.at_start_ps, custom }
    }

    /// When a frame is tried again that has collided so often since it was handed over, the last
    /// time with a jam until `end`; `None` if it is not.
    #[inline]
    pub fn next(&mut self, attempts: u32, end: i64) -> Option<i64> {
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
    fn undrawn(&self, attempts: u32, end: i64) -> i64 {
        match self.retry.backoff {
            Backoff::LoadRegister { clock_ps, ticks, .. } => {
                self.counted_down(attempts, end, clock_ps, ticks)
            }
            _ => end.saturating_add(self.custom_wait(attempts)).min(NEVER),
        }
    }

    fn custom_wait(&self, attempts: u32) -> i64 {
        let custom = self.custom.as_ref().expect("made with the retries");
        let slots = custom.lock().expect("a rule does not panic").slots(attempts);
        slots.map_or(NEVER, |slots| self.retry.fractional_slots(slots))
    }

    /// When a station has counted down whose jam ended at `end`, by its own clock.
    fn counted_down(&self, attempts: u32, end: i64, clock_ps: u64, ticks: bool) -> i64 {
        let shown_ps = self.clock + end.cast_unsigned();
        let load = self.retry.backoff.range(attempts) - 1;
        let slots = (shown_ps / clock_ps) & load;
        let slot_ps = self.retry.slot.cast_unsigned();
        let since_tick = if ticks && slots > 0 { signed(shown_ps % slot_ps) } else { 0 };
        end + self.retry.slots(slots) - since_tick
    }
}

/// The clock of a station: what it shows at time 0, and how fast it goes.
pub(super) struct StationClock {
    /// Anything, up to when the bits that a load register uses begin again, or the next tick comes.
    at_start_ps: u64,
    /// How much longer its times are than they should be, in parts of 10⁹.
    longer_ppb: i64,
}

impl StationClock {
    pub(super) fn new(compiled: &CompiledSegment, index: usize) -> Self {
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
    pub(super) fn true_ps(&self, ps: u64) -> u64 {
        let billionths = i128::from(ps) * i128::from(1_000_000_000 + self.longer_ppb);
        u64::try_from((billionths + 500_000_000) / 1_000_000_000)
            .expect("a clock that goes, and a time within range")
    }
}
