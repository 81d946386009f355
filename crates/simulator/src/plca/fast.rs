//! A bus cycle by cycle while it is regular, and event by event else: while it starts and ends,
//! while a node is switched or misses a beacon, and where the measured window begins and ends.
//!
//! The counts and the attempts are those of [`mod@super::reference`], and so are the draws of each
//! stream.

use super::compiled::CompiledBus;
use super::cycles::{Context, Cycles};
use super::handover;
use super::reference::{Machine, machine};
use super::schedule::Schedule;
use super::timers::Timer;
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::Attempt;
use crate::medium::event::Event;
use crate::time::Instant;
use crate::watch::{Poll, Watch};
use ethermeter_trial::Counts;

/// Beacons that are looked ahead at most for one that a node misses.
const LOOKED_AHEAD: u64 = 4096;

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was counted.
    pub counts: Counts,
    /// If they were traced, the attempts that reached the line, in the order of their starts.
    pub attempts: Vec<Attempt>,
    /// Cycles that were calculated instead of run event by event.
    pub cycles: u64,
}

/// Run a bus. `tracing` keeps every attempt that reaches the line.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub fn run(bus: &CompiledBus, watch: &Watch, tracing: bool) -> Result<Run, Error> {
    let schedule = Schedule::new(bus);
    let mut machine = machine(bus, tracing);
    let mut poll = watch.begin(&bus.segment.phases);
    let (mut last, mut cycles) = (None, 0);
    while let Some((now, event)) = machine.next() {
        if !poll.goes_on(now) {
            break;
        }
        let passed = schedule.as_ref().and_then(|schedule| {
            let beacon = beacon_over(&machine, schedule, event)?;
            last = machine.attempts.last().map(|(a, _)| (a.station, a.end)).or(last);
            run_cycles(bus, &mut machine, schedule, (beacon, now), &mut last, &mut poll)
        });
        match passed {
            Some(passed) => cycles += passed,
            None => machine.handle(now, event),
        }
    }
    poll.check()?;
    let (counts, attempts) = machine.into_counts();
    Ok(Run { counts, attempts, cycles })
}

/// The number of the beacon, if the event is its end.
fn beacon_over(machine: &Machine<'_>, schedule: &Schedule, event: Event<Timer>) -> Option<u64> {
    let Event::TimerOver { station, timer: Timer::Beacon, number } = event else { return None };
    let coordinator = schedule.coordinator;
    let runs = machine.nodes[coordinator].access.sublayer.timers.running(Timer::Beacon);
    (station == coordinator && runs == Some(number)).then_some(number)
}

/// Run cycles from the end of a beacon, if the bus is regular there, and for as long as it is so.
/// `last` is the sender and the end of the last frame on the line. Returns how many.
fn run_cycles(
    bus: &CompiledBus,
    machine: &mut Machine<'_>,
    schedule: &Schedule,
    (beacon, now): (u64, Instant),
    last: &mut Option<(StationId, Instant)>,
    poll: &mut Poll<'_>,
) -> Option<u64> {
    let begun = now - schedule.beacon;
    let limit = limit(bus, begun);
    if now + schedule.longest_cycle > limit {
        return None;
    }
    let beacons = beacons_heard(bus, machine, schedule);
    let (turns, last_frame, switched) = handover::turns(machine, schedule, now, *last)?;
    let limit = limit.min(switched);
    if now + schedule.longest_cycle > limit || beacons == 0 {
        return None;
    }
    machine.sum_up();
    let context = Context {
        bus,
        schedule,
        stations: &mut machine.hosts.stations,
        totals: &mut machine.hosts.totals,
        counters: &mut machine.counters,
        damage: &mut machine.damage,
    };
    let mut cycles = Cycles::new(context, turns, last_frame, now);
    let end = cycles.run(limit, beacons, poll)?;
    let (turns, last_frame, passed, taken) = cycles.finish(begun);
    *last = Some((last_frame.sender, last_frame.end));
    machine.line.record_cycles(begun, end - schedule.beacon, taken);
    hear_beacons(bus, machine, schedule, passed);
    handover::resume(machine, schedule, (&turns, &last_frame), beacon, end);
    Some(passed)
}

/// Before when cycles have to be over that began then, so that they lie within the test and on one
/// side of each edge of the measured window.
fn limit(bus: &CompiledBus, begun: Instant) -> Instant {
    let phases = &bus.segment.phases;
    let edges = [phases.measure_from_ps, phases.measure_to_ps].map(Instant::from_ps);
    let next = edges.into_iter().filter(|&edge| begun < edge).min();
    next.unwrap_or(Instant::NEVER).min(Instant::from_ps(phases.end_ps))
}

/// How many of the next beacons every node hears.
fn beacons_heard(bus: &CompiledBus, machine: &Machine<'_>, schedule: &Schedule) -> u64 {
    let loss = bus.plca.beacon_loss;
    if loss <= 0.0 {
        return u64::MAX;
    }
    let mut heard = LOOKED_AHEAD;
    for (node, of_node) in StationId::first(machine.nodes.len()).zip(&machine.nodes) {
        if node != schedule.coordinator {
            let mut chance = of_node.access.chance.clone();
            heard = (0..heard).find(|_| chance.unit() < loss).unwrap_or(heard);
        }
    }
    heard
}

/// Draw for beacons that every node hears.
fn hear_beacons(bus: &CompiledBus, machine: &mut Machine<'_>, schedule: &Schedule, beacons: u64) {
    if bus.plca.beacon_loss <= 0.0 {
        return;
    }
    for (node, of_node) in StationId::first(machine.nodes.len()).zip(&mut machine.nodes) {
        if node != schedule.coordinator {
            for _ in 0..beacons {
                let _ = of_node.access.chance.unit();
            }
        }
    }
}
