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
use crate::segment::compiled::{CompiledSegment, NEVER, signed, small};
use crate::segment::station::{Attempt, Ending};
use crate::watch::Watch;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::NonPersistent;

/// Simulate a compiled segment.
pub(super) fn run(
    compiled: &CompiledSegment,
    propagation: i64,
    access: NonPersistent,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let collision = signed(access.collision_ps);
    let mut chances: Vec<Stream> = (0..compiled.stations())
        .map(|station| Stream::new(compiled.seed, small(station), Purpose::Sensing))
        .collect();
    let mut wait = |station: u32| {
        chances[station as usize].exponential_ps(access.sensing_mean_ps).cast_signed()
    };
    let mut users = Users::new(compiled, 1);
    let mut counters = FrameCounters::new(compiled, tracing);
    let mut looks = vec![NEVER; compiled.stations()]; // when the waiting frame of a station senses next
    let mut starting: Vec<(i64, u32)> = Vec::new();
    let end = compiled.phases.end_ps.cast_signed();
    let mut poll = watch.begin(compiled.phases.begin_ps, compiled.phases.end_ps);
    loop {
        let arrival = users.supplies.soonest().0;
        if arrival < end && looks.iter().all(|&look| arrival < look) {
            match users.admit(arrival, &mut counters) {
                Some((station, true)) => looks[station as usize] = arrival, // a new frame looks at once
                _ => continue,
            }
        }
        let now = looks.iter().copied().min().expect("at least one station");
        if now >= end || !poll.goes_on(now.cast_unsigned()) {
            break;
        }
        // All who look before they can hear the first.
        let heard = now + propagation;
        while let Some((station, is_head)) = users.admit(heard - 1, &mut counters) {
            if is_head {
                looks[station as usize] = users.head(station).taken_up;
            }
        }
        starting.clear();
        starting.extend(
            (0..)
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
            looks[station as usize] = idle_from + wait(station);
        }
        while let Some((station, is_head)) = users.admit(idle_from - 1, &mut counters) {
            if is_head {
                looks[station as usize] = users.head(station).taken_up + wait(station);
            }
        }
        for (station, look) in (0..).zip(&mut looks) {
            while *look < idle_from {
                *look += wait(station).max(1);
            }
        }
        if let Some(station) = delivered {
            let more = users.leave(station, idle_from);
            looks[station as usize] = if more { idle_from + wait(station) } else { NEVER };
        }
    }
    poll.check()?;
    while users.admit(end, &mut counters).is_some() {}
    Ok(counters.finish(users.held()))
}
