//! Simulators of shared media and of networks.
//!
//! Pure: no clock, no input or output. The same trial gives the same counts on every machine.
//!
//! - [`plan`]: a trial checked and compiled, and which program runs it.
//! - [`medium`]: a shared medium event by event. [`segment`]: stations on one. [`mac`]: medium access as state machines. [`plca`]:
//!   stations that take turns on one.
//! - [`custom`]: rules of the caller's own, on segments.
//! - [`idealised`]: the media that theories assume, by brute force.
//! - [`network`]: links, switches, routers, hubs and hosts as chains of stages.
//! - [`time`]: instants and spans. [`identity`]: the numbers of stations and other parts.
//! - [`mod@watch`]: progress of a trial, and how it is stopped. [`error`]: why it has no result.

pub mod custom;
pub mod error;
pub mod event_queue;
pub mod idealised;
pub mod identity;
pub mod mac;
pub mod medium;
pub mod network;
pub mod plan;
pub mod plca;
pub mod segment;
pub mod shared;
mod spread;
pub mod time;
pub mod watch;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(test)]
extern crate self as ethermeter_simulator; // its name in the trials of the tests

pub use error::Error;
pub use watch::Watch;

use custom::Custom;
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::{Counts, Trial};
use plan::Plan;

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
    let run = Plan::new(trial, custom)?.run(watch, false)?;
    Ok((run.counts, run.implementation))
}
