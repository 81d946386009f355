//! Carrier sense without slots, non-persistent: a waiting frame senses again after exponential
//! times (Coyle and Liu 1983).
//!
//! ```text
//!                       none starts within a: packet, and a more
//! idle ── first look ─┤                                            ├─► idle
//!                       some station does: `collision_ps`, from the first start
//! ```
//!
//! All are at distance a of each other. Who looks while the medium is heard waits, and looks again.

use super::counters::FrameCounters;
use super::users::Users;
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};
use crate::watch::Watch;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::NonPersistent;

/// Simulate a compiled segment.
pub(super) fn run(
    compiled: &CompiledSegment,
    propagation: Span,
    access: NonPersistent,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let collision = Span::from_ps(access.collision_ps);
    let mut chances: Vec<Stream> = StationId::first(compiled.stations())
        .map(|station| Stream::new(compiled.seed, station.number(), Purpose::Sensing))
        .collect();
    let mut wait =
        |station: StationId| Span::from_ps(chances[station].exponential_ps(access.sensing_mean_ps));
    let mut users = Users::new(compiled, Span::PICOSECOND);
    let mut counters = FrameCounters::new(compiled, tracing);
    let mut looks = vec![Instant::NEVER; compiled.stations()]; // when the waiting frame of a station senses next
    let mut starting: Vec<(Instant, StationId)> = Vec::new();
    let end = Instant::from_ps(compiled.phases.end_ps);
    let mut poll = watch.begin(&compiled.phases);
    loop {
        let arrival = users.supplies.soonest().0;
        if arrival < end && looks.iter().all(|&look| arrival < look) {
            match users.admit(arrival, &mut counters) {
                Some((station, true)) => looks[station] = arrival, // a new frame looks at once
                _ => continue,
            }
        }
        let now = looks.iter().copied().min().expect("at least one station");
        if now >= end || !poll.goes_on(now) {
            break;
        }
        // All who look before they can hear the first.
        let heard = now + propagation;
        while let Some((station, is_head)) = users.admit(heard - Span::PICOSECOND, &mut counters) {
            if is_head {
                looks[station] = users.head(station).taken_up;
            }
        }
        starting.clear();
        starting.extend(
            StationId::first(looks.len())
                .zip(&looks)
                .filter(|&(_, &look)| look < heard)
                .map(|(station, &look)| (look, station)),
        );
        starting.sort_unstable();
        let delivered = if let [(_, station)] = starting[..] { Some(station) } else { None };
        let idle_from = if let Some(station) = delivered {
            counters.deliver(users.head(station), now) + propagation
        } else {
            for &(start, station) in &starting {
                counters.fail(users.head(station), start, now + collision, Ending::Collided);
            }
            counters.collide();
            now + collision
        };
        for &(_, station) in &starting {
            looks[station] = idle_from + wait(station);
        }
        while let Some((station, is_head)) =
            users.admit(idle_from - Span::PICOSECOND, &mut counters)
        {
            if is_head {
                looks[station] = users.head(station).taken_up + wait(station);
            }
        }
        for (station, look) in StationId::first(looks.len()).zip(&mut looks) {
            while *look < idle_from {
                *look += wait(station).max(Span::PICOSECOND);
            }
        }
        if let Some(station) = delivered {
            let more = users.leave(station, idle_from);
            looks[station] = if more { idle_from + wait(station) } else { Instant::NEVER };
        }
    }
    poll.check()?;
    while users.admit(end, &mut counters).is_some() {}
    Ok(counters.finish(users.held()))
}
