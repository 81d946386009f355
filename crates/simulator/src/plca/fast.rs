//! A bus cycle by cycle while it is regular, and event by event else: while it starts and ends,
//! while a node is switched or misses a beacon, and where the measured window begins and ends.
//!
//! The counts and the attempts are those of [`mod@super::reference`], and so are the draws of each
//! stream.

use super::compiled::CompiledBus;
use super::handover;
use super::reference::{Machine, machine};
use super::schedule::Schedule;
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::Attempt;
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
    let mut cycles = 0;
    while let Some((now, event)) = machine.next() {
        if !poll.goes_on(now) {
            break;
        }
        let passed = schedule.as_ref().and_then(|schedule| {
            let beacon = handover::beacon_over(&machine, schedule, event)?;
            run_cycles(bus, &mut machine, schedule, (beacon, now), &mut poll)
        });
        match passed {
            Some(passed) => cycles += passed,
            None => machine.advance(now, event),
        }
    }
    poll.check()?;
    let (counts, attempts) = machine.into_counts();
    Ok(Run { counts, attempts, cycles })
}

/// Run cycles from the end of a beacon, if the bus is regular there, and for as long as it is so.
/// Returns how many.
fn run_cycles(
    bus: &CompiledBus,
    machine: &mut Machine<'_>,
    schedule: &Schedule,
    (beacon, now): (u64, Instant),
    poll: &mut Poll<'_>,
) -> Option<u64> {
    let beacons = Some(beacons_heard(bus, machine, schedule)).filter(|&heard| heard > 0)?;
    let (mut cycles, limit) = handover::begin(machine, schedule, &bus.segment.phases, now)?;
    let end = cycles.run(machine, limit, beacons, poll)?;
    let passed = handover::end(machine, cycles, schedule, (beacon, now - schedule.beacon, end));
    hear_beacons(bus, machine, schedule, passed);
    Some(passed)
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
