//! The worlds that theories assume, by brute force: slot by slot or event by event, and by no
//! formula.
//!
//! An idealised world is another medium access. It gives the same [`Attempt`]s in the order of
//! their starts into the same [`Counters`](crate::segment::counters::Counters), so that frames, delays, histograms,
//! batches and channel time come out as they do of a segment. Of the segment only the duration of a
//! bit is used; a packet is a frame, without preamble and gap.
//!
//! - `limits`: allowed values.
//! - `slotted_crowd`, `slotted_users`: carrier sense in slots, for an infinite and for a finite
//!   population.
//! - `adaptive`: one implied queue whose contention adapts to how many wait. `backoff`: the same
//!   medium, each station with its own backoff.
//! - `sensing_again`, `persistent`: carrier sense without slots, non-persistent and 1-persistent.
//! - `polling`: cyclic service of queues, as by a token.
//! - `supply`: what the stations, and the population without end, offer. `counters`: what is
//!   counted.

mod adaptive;
mod backoff;
mod counters;
mod limits;
mod persistent;
mod polling;
mod sensing_again;
mod slotted_crowd;
mod slotted_users;
mod supply;
mod users;

use crate::error::Error;
use crate::mac::transmitter::Attempt;
use crate::segment::compiled::CompiledSegment;
use crate::time::Span;
use crate::watch::Watch;
use ethermeter_trial::idealised::{Access, Adaptive, Policy, Population, Slotted, Unslotted};
use ethermeter_trial::medium::Mac;
use ethermeter_trial::{Counts, Fault, Trial};

/// Run a compiled segment with a MAC that a theory assumes. `tracing` also gives every attempt in the
/// order of their starts.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub(crate) fn run(
    mac: &Mac,
    compiled: &CompiledSegment,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    #[allow(clippy::match_wildcard_for_single_variants)] // a new MAC does not change this file
    match mac {
        Mac::Slotted(slotted) => run_slotted(compiled, slotted, watch, tracing),
        Mac::Adaptive(adaptive) if adaptive.policy == Policy::BinaryExponential => {
            backoff::run(compiled, *adaptive, watch, tracing)
        }
        Mac::Adaptive(adaptive) => adaptive::run(compiled, *adaptive, watch, tracing),
        Mac::Unslotted(unslotted) => run_unslotted(compiled, unslotted, watch, tracing),
        Mac::Polling(polling) => polling::run(compiled, *polling, watch, tracing),
        _ => unreachable!("not an idealised MAC"),
    }
}

/// Check a trial and compile it.
///
/// # Errors
/// If it contradicts itself or leaves the range of what can be simulated.
pub(crate) fn compiled(trial: &Trial) -> Result<CompiledSegment, Fault> {
    let mut compiled = CompiledSegment::new(trial)?;
    let mac = &trial.scenario.media[0].mac;
    limits::check(mac, &compiled)?;
    // Nothing propagates between attachment points here; a MAC has its own propagation.
    compiled.medium.max_delay = Span::ZERO;
    if let Mac::Adaptive(Adaptive { policy: Policy::BinaryExponential, slot_ps, .. }) = mac {
        compiled.medium.slot = Span::from_ps(*slot_ps); // in which stations count their backoff
    }
    Ok(compiled)
}

fn run_slotted(
    compiled: &CompiledSegment,
    slotted: &Slotted,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    match &slotted.population {
        Population::Infinite(infinite) => {
            slotted_crowd::run(compiled, slotted, *infinite, watch, tracing)
        }
        Population::Finite(finite) => {
            slotted_users::run(compiled, slotted, *finite, watch, tracing)
        }
    }
}

fn run_unslotted(
    compiled: &CompiledSegment,
    unslotted: &Unslotted,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let propagation = Span::from_ps(unslotted.propagation_ps);
    match unslotted.access {
        Access::NonPersistent(access) => {
            sensing_again::run(compiled, propagation, access, watch, tracing)
        }
        Access::OnePersistent(access) => {
            persistent::run(compiled, propagation, access, watch, tracing)
        }
    }
}
