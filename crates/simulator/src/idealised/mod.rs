//! The worlds that theories assume, by brute force: slot by slot or event by event, and by no
//! formula.
//!
//! An idealised world is another medium access. It gives the same [`Attempt`]s in the order of
//! their starts into the same [`Tally`](crate::tally::Tally), so that frames, delays, histograms,
//! batches and channel time come out as they do of a segment. Of the segment only the duration of a
//! bit is used; a packet is a frame, without preamble and gap.
//!
//! - [`scenario`]: such a trial as it is written in a plan, and what is wrong with it.
//! - `slotted_crowd`, `slotted_users`: carrier sense in slots, for an infinite and for a finite
//!   population.
//! - `adaptive`: one implied queue whose contention adapts to how many wait. `backoff`: the same
//!   medium, each station with its own backoff.
//! - `sensing_again`, `persistent`: carrier sense without slots, non-persistent and 1-persistent.
//! - `polling`: cyclic service of queues, as by a token.
//! - `supply`: what the stations, and the population without end, offer. `account`: what is
//!   counted.

mod account;
mod adaptive;
mod backoff;
mod persistent;
mod polling;
pub mod scenario;
mod sensing_again;
mod slotted_crowd;
mod slotted_users;
mod supply;
mod users;

pub use scenario::{Idealised, Trial};

use crate::scenario::Error;
use crate::station::Attempt;
use crate::watch::Watch;
use crate::world::World;
use ethermeter_trial::idealised::{Access, Adaptive, Policy, Population, Slotted, Unslotted};
use ethermeter_trial::Counts;
use ethermeter_trial::Fault;

/// Run a trial. `tracing` also gives every attempt in the order of their starts.
///
/// # Errors
/// If the trial contradicts itself or leaves the range of what can be simulated; [`Error::Stopped`]
/// if it was stopped.
pub fn run(trial: &Trial, watch: &Watch, tracing: bool) -> Result<(Counts, Vec<Attempt>), Error> {
    let mut world = checked(trial)?;
    // Nothing propagates from place to place here; what a world says of propagation is its own.
    world.max_delay = 0;
    let world = &mut world;
    match &trial.idealised {
        Idealised::Slotted(slotted) => run_slotted(world, slotted, watch, tracing),
        Idealised::Adaptive(adaptive) => run_adaptive(world, *adaptive, watch, tracing),
        Idealised::Unslotted(unslotted) => run_unslotted(world, unslotted, watch, tracing),
        Idealised::Polling(polling) => polling::run(world, *polling, watch, tracing),
    }
}

/// Check a trial without running it.
///
/// # Errors
/// If it contradicts itself or leaves the range of what can be simulated.
pub fn check(trial: &Trial) -> Result<(), Fault> {
    checked(trial).map(drop)
}

fn checked(trial: &Trial) -> Result<World, Fault> {
    let world = World::idealised(trial.seed, &trial.scenario)?;
    scenario::check_no_voice(&world)?;
    trial.idealised.check(&world, &trial.scenario.segment)?;
    Ok(world)
}

fn run_slotted(
    world: &World,
    slotted: &Slotted,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    match &slotted.population {
        Population::Infinite(infinite) => {
            slotted_crowd::run(world, slotted, *infinite, watch, tracing)
        }
        Population::Finite(finite) => slotted_users::run(world, slotted, *finite, watch, tracing),
    }
}

fn run_adaptive(
    world: &mut World,
    adaptive: Adaptive,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    if adaptive.policy == Policy::BinaryExponential {
        world.slot = adaptive.slot_ps.cast_signed(); // in which stations count their backoff
        return backoff::run(world, adaptive, watch, tracing);
    }
    adaptive::run(world, adaptive, watch, tracing)
}

fn run_unslotted(
    world: &World,
    unslotted: &Unslotted,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let propagation = unslotted.propagation_ps.cast_signed();
    match unslotted.access {
        Access::NonPersistent(access) => {
            sensing_again::run(world, propagation, access, watch, tracing)
        }
        Access::OnePersistent(access) => {
            persistent::run(world, propagation, access, watch, tracing)
        }
    }
}
