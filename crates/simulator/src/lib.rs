//! A shared Ethernet segment as a world of events.
//!
//! Pure: no clock, no input or output; a trial and its seed go in, what was counted comes out, the same
//! on every machine.
//!
//! - [`trial`]: a trial on the simulator that can run it. [`old`]: plan lines of segments and
//!   networks apart.
//! - [`scenario`]: a segment by groups of stations. [`world`]: the same in picoseconds, ready to run.
//! - [`station`]: one station's transmitter: attempts, backoff, what follows a failure. Shared by
//!   both implementations.
//! - [`mac`]: medium access as state machines. [`mod@reference`]: a segment event by event.
//! - [`fast`] and [`storm`]: the same, one contention after another over flat arrays. This is what
//!   runs.
//! - [`idealised`]: the worlds that theories assume, each by brute force, into the same figures.
//! - [`network`]: links, switches, routers, hubs, hosts as chains of stages.
//! - [`tally`]: what is counted, from attempts in the order of their starts.
//! - [`mod@watch`]: progress of a trial, and how it is stopped.

pub mod fast;
pub mod idealised;
mod lanes;
pub mod mac;
pub mod network;
pub mod old;
pub mod reference;
pub mod scenario;
pub mod station;
pub mod storm;
pub mod tally;
pub mod trial;
pub mod watch;
pub mod world;

pub use scenario::{Error, Trial};
pub use station::Attempt;
pub use watch::Watch;

use ethermeter_trial::Counts;

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
    let world = world::World::new(trial)?;
    Ok(fast::run(&world, watch, false)?.0)
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
    let world = world::World::new(trial)?;
    Ok(reference::run(&world, watch)?.0)
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
    let world = world::World::new(trial)?;
    let watch = Watch::default();
    Ok([fast::run(&world, &watch, true)?, reference::run(&world, &watch)?])
}
