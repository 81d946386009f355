//! A shared Ethernet segment as a world of events.
//!
//! Pure: no clock, no input or output; a trial and its seed go in, its outcome comes out, the same on every machine.
//!
//! - [`scenario`]: a trial as it is written in a plan, and what is wrong with it.
//! - [`world`]: the same in picoseconds, ready to run.
//! - [`station`]: one station's transmitter: attempts, backoff, what follows a failure. Shared by both implementations.
//! - [`mod@reference`]: the medium access procedures of 802.3, event by event. Written to be read.
//! - [`fast`] and [`storm`]: the same, one contention after another over flat arrays. This is what runs.
//! - [`idealised`]: the worlds that theories assume, each by brute force, into the same figures.
//! - [`network`]: links, switches, routers, hubs, hosts as chains of stages.
//! - [`tally`]: what is counted, from attempts in the order of their starts.
//! - [`outcome`]: the figures of a trial.

pub mod fast;
pub mod idealised;
mod lanes;
pub mod network;
pub mod outcome;
pub mod reference;
pub mod scenario;
pub mod station;
pub mod storm;
pub mod tally;
pub mod world;

pub use outcome::Outcome;
pub use scenario::{Error, Trial};
pub use station::Attempt;

/// Run a trial.
///
/// # Errors
/// If the trial contradicts itself or leaves the range of what can be simulated.
pub fn simulate(trial: &Trial) -> Result<Outcome, Error> {
    let world = world::World::new(trial)?;
    Ok(fast::run(&world, false).0)
}

/// Run a trial with the reference implementation: the same outcome, slowly.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_reference(trial: &Trial) -> Result<Outcome, Error> {
    let world = world::World::new(trial)?;
    Ok(reference::run(&world).0)
}

/// Run a trial of an idealised world, the one that a theory assumes.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_idealised(trial: &idealised::Trial) -> Result<Outcome, Error> {
    Ok(idealised::run(trial, false)?.0)
}

/// The attempts of a trial in the order of their starts, from the fast and from the reference implementation.
///
/// # Errors
/// As [`simulate`].
pub fn traces(trial: &Trial) -> Result<[(Outcome, Vec<Attempt>); 2], Error> {
    let world = world::World::new(trial)?;
    Ok([fast::run(&world, true), reference::run(&world)])
}
