//! A shared Ethernet segment as a world of events.
//!
//! Pure: no clock, no input or output; a trial and its seed go in, what was counted comes out, the
//! same on every machine.
//!
//! - [`trial`]: a trial on the simulator that can run it.
//! - [`scenario`]: a segment by groups of stations. [`segment`]: its simulators.
//! - [`mac`]: medium access as state machines.
//! - [`idealised`]: the worlds that theories assume, each by brute force, into the same counts.
//! - [`network`]: links, switches, routers, hubs, hosts as chains of stages.
//! - [`mod@watch`]: progress of a trial, and how it is stopped.

pub mod idealised;
pub mod mac;
pub mod network;
pub mod scenario;
pub mod segment;
pub mod trial;
pub mod watch;

pub use scenario::{Error, Trial};
pub use segment::station::Attempt;
pub use watch::Watch;

use ethermeter_trial::Counts;
use segment::compiled::CompiledSegment;
use segment::{fast, reference};

/// Run a trial.
///
/// # Errors
/// If the trial contradicts itself or leaves the range of what can be simulated.
pub fn simulate(trial: &Trial) -> Result<Counts, Error> {
    simulate_watched(trial, &Watch::default())
}

/// Run a trial that another thread may follow and stop.
///
/// # Errors
/// As [`simulate`]; and [`Error::Stopped`] if it was stopped.
pub fn simulate_watched(trial: &Trial, watch: &Watch) -> Result<Counts, Error> {
    let compiled = CompiledSegment::new(trial)?;
    Ok(fast::run(&compiled, watch, false)?.0)
}

/// Run a trial with the reference implementation: the same counts, slowly.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_reference(trial: &Trial) -> Result<Counts, Error> {
    simulate_reference_watched(trial, &Watch::default())
}

/// Run a trial with the reference implementation, which another thread may follow and stop.
///
/// # Errors
/// As [`simulate_watched`].
pub fn simulate_reference_watched(trial: &Trial, watch: &Watch) -> Result<Counts, Error> {
    let compiled = CompiledSegment::new(trial)?;
    Ok(reference::run(&compiled, watch)?.0)
}

/// Run a trial of an idealised world, the one that a theory assumes.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_idealised(trial: &idealised::Trial) -> Result<Counts, Error> {
    simulate_idealised_watched(trial, &Watch::default())
}

/// Run a trial of an idealised world, which another thread may follow and stop.
///
/// # Errors
/// As [`simulate_watched`].
pub fn simulate_idealised_watched(
    trial: &idealised::Trial,
    watch: &Watch,
) -> Result<Counts, Error> {
    Ok(idealised::run(trial, watch, false)?.0)
}

/// The attempts of a trial in the order of their starts, from the fast and from the reference
/// implementation.
///
/// # Errors
/// As [`simulate`].
pub fn traces(trial: &Trial) -> Result<[(Counts, Vec<Attempt>); 2], Error> {
    let compiled = CompiledSegment::new(trial)?;
    let watch = Watch::default();
    Ok([fast::run(&compiled, &watch, true)?, reference::run(&compiled, &watch)?])
}
