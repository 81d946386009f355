//! Contention in slots that begin with the silence, each station after its own backoff (Almes and
//! Lazowska's simulations; compare `adaptive`, where everybody knows how many wait).
//!
//! A station starts in the first slot that begins when its backoff is over; backoff goes on while
//! others send. Stations that start in one slot collide, for one slot.

use crate::scenario::Error;
use crate::station::{Attempt, Station};
use crate::tally::Tally;
use crate::watch::Watch;
use crate::world::{signed, World};
use ethermeter_trial::idealised::{Adaptive, Empty};
use ethermeter_trial::Counts;

/// Run such a world, whose slot is that in which stations count their backoff.
pub(super) fn run(
    world: &World,
    adaptive: Adaptive,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let (slot, clear) = (world.slot, signed(adaptive.clear_ps));
    let mut tally = Tally::new(world, tracing);
    let (mut stations, mut next) = Station::all(world);
    let mut starting: Vec<usize> = Vec::new();
    let mut collision: Vec<Attempt> = Vec::new();
    let end = world.phases.end_ps.cast_signed();
    let mut now = world.phases.begin_ps.cast_signed();
    let mut poll = watch.begin(world.phases.begin_ps, world.phases.end_ps);
    loop {
        let soonest = next.iter().copied().min().expect("at least one station");
        if soonest > now {
            let holds =
                |station: &Station| station.holding_since().is_some_and(|since| since < soonest);
            now = if adaptive.empty == Empty::AtOnce && !stations.iter().any(holds) {
                soonest
            } else {
                now + (soonest - now + slot - 1) / slot * slot
            };
        }
        if now >= end || !poll.goes_on(now.cast_unsigned()) {
            poll.check()?;
            return Ok(tally.finish(world, &mut stations));
        }
        starting.clear();
        starting.extend(
            next.iter().enumerate().filter(|(_, &ready)| ready <= now).map(|(station, _)| station),
        );
        if let [station] = starting[..] {
            let over = now + stations[station].packet_time(world, now);
            let (attempt, ready) = stations[station].deliver(now, over);
            tally.record(&attempt);
            next[station] = ready;
            now = over + clear;
        } else {
            collision.clear();
            for &station in &starting {
                let (attempt, ready) = stations[station].collide(now, now + slot, false);
                collision.push(attempt);
                next[station] = ready;
            }
            tally.record_collision(&collision);
            now += slot;
        }
    }
}
