//! Cyclic service of queues, as by a token (Bux 1981): the server walks from station to station,
//! and sends what its discipline allows.

use super::account::{Account, Frame};
use super::supply::Supplies;
use crate::scenario::Error;
use crate::station::Attempt;
use crate::watch::Watch;
use crate::world::{signed, small, World, NEVER};
use ethermeter_trial::idealised::{Discipline, Polling};
use ethermeter_trial::Counts;

/// Run such a world. Queues have no limit, so nothing of them is stored but who comes next.
pub(super) fn run(
    world: &World,
    polling: Polling,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let walk = signed(polling.walk_ps);
    let round = walk * i64::from(small(world.stations()));
    let mut supplies = Supplies::new(world, 1);
    let mut account = Account::new(world, tracing);
    let mut free = vec![0; world.stations()]; // when the last frame of a station ended
    let end = world.phases.end_ps.cast_signed();
    let mut now = world.phases.begin_ps.cast_signed();
    let mut poll = watch.begin(world.phases.begin_ps, world.phases.end_ps);
    while now < end && poll.goes_on(now.cast_unsigned()) {
        // Whole rounds in which nobody has anything.
        let next = supplies.soonest().0;
        if next == NEVER {
            break;
        }
        if next > now + round {
            now += (next - now) / round * round;
        }
        for (station, free) in free.iter_mut().enumerate() {
            let visited = now;
            loop {
                let arrived = supplies.next(station);
                let may = if polling.discipline == Discipline::Exhaustive { now } else { visited };
                if arrived > may || now >= end || !poll.goes_on(now.cast_unsigned()) {
                    break;
                }
                supplies.take(station);
                account.offer(small(station), arrived);
                let taken_up = arrived.max(*free);
                let bits = supplies.bits(station);
                now = account.deliver(
                    &Frame { station: small(station), arrived, taken_up, bits, attempts: 0 },
                    now,
                );
                *free = now;
                if polling.discipline == Discipline::Limited {
                    break;
                }
            }
            now += walk;
        }
    }
    poll.check()?;
    let mut held = Vec::new();
    for (station, &free) in free.iter().enumerate() {
        let arrived = supplies.next(station);
        if arrived < end {
            held.push(Frame {
                station: small(station),
                arrived,
                taken_up: arrived.max(free),
                bits: 0,
                attempts: 0,
            });
        }
        while supplies.next(station) < end {
            let arrived = supplies.take(station);
            account.offer(small(station), arrived);
        }
    }
    Ok(account.finish(held.iter()))
}
