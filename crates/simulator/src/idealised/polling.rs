//! Cyclic service of queues, as by a token (Bux 1981): the server walks from station to station,
//! and sends what its discipline allows.

use super::counters::{Frame, FrameCounters};
use super::supply::Supplies;
use crate::error::Error;
use crate::segment::compiled::{CompiledSegment, NEVER, signed, small};
use crate::segment::station::Attempt;
use crate::watch::Watch;
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::{Discipline, Polling};

/// Simulate a compiled segment. Queues have no limit, so nothing of them is stored but which station is next.
pub(super) fn run(
    compiled: &CompiledSegment,
    polling: Polling,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let walk = signed(polling.walk_ps);
    let round = walk * i64::from(small(compiled.stations()));
    let mut supplies = Supplies::new(compiled, 1);
    let mut counters = FrameCounters::new(compiled, tracing);
    let mut free = vec![0; compiled.stations()]; // when the last frame of a station ended
    let end = compiled.phases.end_ps.cast_signed();
    let mut now = compiled.phases.begin_ps.cast_signed();
    let mut poll = watch.begin(compiled.phases.begin_ps, compiled.phases.end_ps);
    while now < end && poll.goes_on(now.cast_unsigned()) {
        // Whole rounds in which no station has a frame.
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
                counters.offer(small(station), arrived);
                let taken_up = arrived.max(*free);
                let bits = supplies.bits(station);
                now = counters.deliver(
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
            counters.offer(small(station), arrived);
        }
    }
    Ok(counters.finish(held.iter()))
}
