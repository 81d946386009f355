//! Simulators of shared media and of networks.
//!
//! Pure: no clock, no input or output. The same trial gives the same counts on every machine.
//!
//! - [`medium`]: a shared medium event by event. [`segment`]: stations on one. [`mac`]: medium access as state machines. [`plca`]:
//!   stations that take turns on one.
//! - [`custom`]: rules of the caller's own, on segments.
//! - [`idealised`]: the media that theories assume, by brute force.
//! - [`network`]: links, switches, routers, hubs and hosts as chains of stages.
//! - [`mod@watch`]: progress of a trial, and how it is stopped. [`error`]: why it has no result.

pub mod custom;
pub mod error;
pub mod idealised;
pub mod mac;
pub mod medium;
pub mod network;
pub mod plca;
pub mod queue;
pub mod segment;
pub mod shared;
mod spread;
pub mod watch;

#[cfg(test)]
extern crate self as ethermeter_simulator; // its name in the buses of the tests

pub use error::Error;
pub use watch::Watch;

use custom::Custom;
use ethermeter_trial::medium::Mac;
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::{Counts, Fault, Trial};
use plca::compiled::CompiledBus;
use segment::compiled::CompiledSegment;
use segment::station::{Attempt, Station};
use segment::{fast, reference};

/// Simulate a trial, and return the implementation that ran, too. Another thread may follow and
/// stop it by `watch`.
///
/// # Errors
/// If the trial contradicts itself or leaves the range of what can be simulated;
/// [`Error::Stopped`] if it was stopped.
pub fn simulate(trial: &Trial, watch: &Watch) -> Result<(Counts, Implementation), Error> {
    simulate_with(trial, watch, None)
}

/// The same of a trial whose stations may have rules of the caller's own: then the reference
/// implementation runs.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with(
    trial: &Trial,
    watch: &Watch,
    custom: Option<&dyn Custom>,
) -> Result<(Counts, Implementation), Error> {
    trial.check_given()?;
    let Some(mac) = mac_of(trial) else { return network::simulate(trial, watch) };
    if is_idealised(mac) {
        return Ok((idealised::run(trial, watch, false)?.0, Implementation::Reference));
    }
    if let Mac::Plca(constants) = mac {
        let bus = CompiledBus::new(trial, constants)?;
        if trial.settings.implementation == Implementation::Reference {
            return Ok((plca::reference::run(&bus, watch)?.0, Implementation::Reference));
        }
        if bus.is_contention() {
            return Ok((plca::contention::run(&bus, watch, false)?.0, Implementation::Fast));
        }
        let run = plca::fast::run(&bus, watch, false)?;
        let is_fast = run.cycles > 0; // else all of it was run event by event
        let ran = if is_fast { Implementation::Fast } else { Implementation::Reference };
        return Ok((run.counts, ran));
    }
    let compiled = match custom {
        Some(_) => CompiledSegment::with_custom(trial)?,
        None => CompiledSegment::new(trial)?,
    };
    let is_fast = trial.settings.implementation == Implementation::Fast && !compiled.has_custom();
    if is_fast && matches!(mac, Mac::CsmaCd(_)) {
        return Ok((fast::run(&compiled, watch, false)?.0, Implementation::Fast));
    }
    let stations = Station::all_with(&compiled, custom);
    Ok((reference::go_on(&compiled, mac, watch, stations, false)?.0, Implementation::Reference))
}

/// Check a trial without simulating it.
///
/// # Errors
/// If the trial contradicts itself or leaves the range of what can be simulated.
pub fn check(trial: &Trial) -> Result<(), Fault> {
    match mac_of(trial) {
        None => network::check(trial),
        Some(mac) if is_idealised(mac) => idealised::compiled(trial).map(drop),
        Some(Mac::Plca(constants)) => CompiledBus::new(trial, constants).map(drop),
        Some(_) => CompiledSegment::with_custom(trial).map(drop),
    }
}

/// The counts and the attempts of a trial of CSMA/CD, in the order of their starts, from the fast
/// and from the reference implementation.
///
/// # Errors
/// As [`simulate`].
pub fn traces(trial: &Trial) -> Result<[(Counts, Vec<Attempt>); 2], Error> {
    trial.check_given()?;
    let compiled = CompiledSegment::new(trial)?;
    let watch = Watch::default();
    let mac = &trial.scenario.media[0].mac;
    Ok([fast::run(&compiled, &watch, true)?, reference::run(&compiled, mac, &watch)?])
}

/// The MAC of a segment: one medium, without links, whose flows have no receivers; `None` of a
/// network.
fn mac_of(trial: &Trial) -> Option<&Mac> {
    let scenario = &trial.scenario;
    match &scenario.media[..] {
        [medium] if scenario.links.is_empty() && scenario.flows.iter().all(|f| f.to.is_empty()) => {
            Some(&medium.mac)
        }
        _ => None,
    }
}

fn is_idealised(mac: &Mac) -> bool {
    matches!(mac, Mac::Slotted(_) | Mac::Adaptive(_) | Mac::Unslotted(_) | Mac::Polling(_))
}
