//! Contention in slots that begin with the silence, each station after its own backoff (Almes and
//! Lazowska's simulations; compare `adaptive`, where every station knows how many wait).
//!
//! A station starts in the first slot that begins when its backoff is over; backoff goes on while
//! others send. Stations that start in one slot collide, for one slot.

use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::Attempt;
use crate::segment::compiled::CompiledSegment;
use crate::segment::counters::Counters;
use crate::segment::station::Station;
use crate::time::{Instant, Span};
use crate::watch::Watch;
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::{Adaptive, Empty};

/// Simulate a compiled segment, whose slot is that in which stations count their backoff.
pub(super) fn run(
    compiled: &CompiledSegment,
    adaptive: Adaptive,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let (slot, clear) = (compiled.slot, Span::from_ps(adaptive.clear_ps));
    let mut counters = Counters::new(compiled, tracing);
    let (mut stations, mut next) = Station::all(compiled);
    let mut starting: Vec<StationId> = Vec::new();
    let mut collision: Vec<Attempt> = Vec::new();
    let end = Instant::from_ps(compiled.phases.end_ps);
    let mut now = Instant::from_ps(compiled.phases.begin_ps);
    let mut poll = watch.begin(&compiled.phases);
    loop {
        let soonest = next.iter().copied().min().expect("at least one station");
        if soonest > now {
            let holds =
                |station: &Station| station.holding_since().is_some_and(|since| since < soonest);
            now = if adaptive.empty == Empty::AtOnce && !stations.iter().any(holds) {
                soonest
            } else {
                now + slot * (soonest - now + slot - Span::PICOSECOND).periods(slot)
            };
        }
        if now >= end || !poll.goes_on(now) {
            poll.check()?;
            return Ok(counters.finish(compiled, &mut stations));
        }
        starting.clear();
        starting.extend(
            StationId::first(next.len())
                .zip(&next)
                .filter(|&(_, &ready)| ready <= now)
                .map(|(station, _)| station),
        );
        if let [station] = starting[..] {
            let over = now + stations[station].packet_time(compiled, now);
            let (attempt, ready) = stations[station].deliver(now, over);
            counters.record(&attempt);
            next[station] = ready;
            now = over + clear;
        } else {
            collision.clear();
            for &station in &starting {
                let (attempt, ready) = stations[station].collide(now, now + slot, false);
                collision.push(attempt);
                next[station] = ready;
            }
            counters.record_collision(&collision);
            now += slot;
        }
    }
}
