//! Cyclic service of queues, as by a token (Bux 1981): the server walks from station to station,
//! and sends what its discipline allows.

use super::counters::{Frame, FrameCounters};
use super::supply::Supplies;
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::Attempt;
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};
use crate::watch::Watch;
use ethermeter_ethernet::units::Bits;
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::{Discipline, Polling};

/// Simulate a compiled segment. Queues have no limit, so nothing of them is stored but which station is next.
pub(super) fn run(
    compiled: &CompiledSegment,
    polling: Polling,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let walk = Span::from_ps(polling.walk_ps);
    let round = walk * compiled.stations() as u64;
    let mut supplies = Supplies::new(compiled, Span::PICOSECOND);
    let mut counters = FrameCounters::new(compiled, tracing);
    let mut free = vec![Instant::ZERO; compiled.stations()]; // when the last frame of a station ended
    let end = Instant::from_ps(compiled.phases.end_ps);
    let mut now = Instant::from_ps(compiled.phases.begin_ps);
    let mut poll = watch.begin(&compiled.phases);
    while now < end && poll.goes_on(now) {
        // Whole rounds in which no station has a frame.
        let next = supplies.soonest().0;
        if next == Instant::NEVER {
            break;
        }
        if next > now + round {
            now += round * (next - now).periods(round);
        }
        for (station, free) in StationId::first(free.len()).zip(&mut free) {
            let visited = now;
            loop {
                let arrived = supplies.next(station);
                let may = if polling.discipline == Discipline::Exhaustive { now } else { visited };
                if arrived > may || now >= end || !poll.goes_on(now) {
                    break;
                }
                supplies.take(station);
                counters.offer(station, arrived);
                let taken_up = arrived.max(*free);
                let length = supplies.length(station);
                now = counters
                    .deliver(&Frame { station, arrived, taken_up, length, attempts: 0 }, now);
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
    for (station, &free) in StationId::first(free.len()).zip(&free) {
        let arrived = supplies.next(station);
        if arrived < end {
            held.push(Frame {
                station,
                arrived,
                taken_up: arrived.max(free),
                length: Bits(0),
                attempts: 0,
            });
        }
        while supplies.next(station) < end {
            let arrived = supplies.take(station);
            counters.offer(station, arrived);
        }
    }
    Ok(counters.finish(held.iter()))
}
