//! Networks of links, switches, routers, hubs, and hosts as chains of stages.
//!
//! - `compiled`: a network ready to run: stages, resources, routes; its faults.
//! - [`transfer`]: data over TCP.
//! - [`clocks`]: what hosts' clocks show of delays, and how receivers compare them.
//! - `applications`: messages, answers, and what follows them. `talker`: a host's voice. `frame`: a
//!   copy of a frame. `table`: what switches learn.
//! - `reference`: event by event, with half-duplex links and shared media. `fast`: the same, an event only
//!   where ways meet (`junctions`).
//! - [`counters`]: what is counted.

mod applications;
pub mod clocks;
mod compiled;
pub mod counters;
mod fast;
mod frame;
mod junctions;
mod reference;
mod table;
mod talker;
pub mod transfer;

pub use counters::Delivery;

use crate::error::Error;
use crate::watch::Watch;
use applications::Applications;
use compiled::CompiledNetwork;
use counters::Counters;
use ethermeter_trial::counts::NodeCounts;
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::{Counts, Fault, Trial};

/// What was counted in a trial, with every delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// What was counted.
    pub counts: Counts,
    /// Deliveries in the order of time, if they were wanted.
    pub trace: Vec<Delivery>,
}

impl std::ops::Deref for Traced {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.counts
    }
}

impl Traced {
    fn new(
        compiled: &CompiledNetwork,
        counters: Counters,
        applications: &mut Applications,
        mut flooded: Vec<u64>,
        events: u64,
    ) -> Self {
        flooded.truncate(compiled.listed_nodes);
        let (mut flows, ports, trace) = counters.finish(&applications.finish());
        for (flow, transfer) in flows.iter_mut().zip(applications.finish_transfers()) {
            flow.transfer = transfer;
        }
        for (flow, host) in flows.iter_mut().zip(applications.finish_voice()) {
            if let (Some(voice), Some(host)) = (&mut flow.voice, host) {
                voice.host = host;
            }
        }
        let of_comparisons = flows.split_off(applications.flow_count() as usize);
        let (delays, clock_pairs) =
            applications.finish_clocks(of_comparisons.into_iter().map(|flow| flow.balance));
        for (flow, delays) in delays {
            flows[flow as usize].clocks = Some(delays);
        }
        let window_ps = compiled.phases.measure_to_ps - compiled.phases.measure_from_ps;
        let nodes = NodeCounts { flooded };
        let counts =
            Counts { window_ps, events, flows, ports, nodes, clock_pairs, ..Counts::default() };
        Self { counts, trace }
    }
}

/// Check a trial without running it.
///
/// # Errors
/// As [`simulate`].
pub fn check(trial: &Trial) -> Result<(), Fault> {
    CompiledNetwork::new(trial).map(drop)
}

/// Simulate a trial, and return the implementation that ran, too.
///
/// # Errors
/// As [`crate::simulate`].
pub fn simulate(trial: &Trial, watch: &Watch) -> Result<(Counts, Implementation), Error> {
    let compiled = CompiledNetwork::new(trial)?;
    if trial.settings.implementation == Implementation::Fast
        && let Some(traced) = fast::run(&compiled, trial, watch, false)
    {
        return Ok((traced?.counts, Implementation::Fast));
    }
    let traced = reference::run(&compiled, trial, watch, false)?;
    Ok((traced.counts, Implementation::Reference))
}

/// Counts of both implementations with every delivery; of one only if the other does not know
/// what the network has.
///
/// # Errors
/// As [`simulate`].
pub fn traces(trial: &Trial) -> Result<(Traced, Option<Traced>), Error> {
    let compiled = CompiledNetwork::new(trial)?;
    let watch = Watch::default();
    Ok((
        reference::run(&compiled, trial, &watch, true)?,
        fast::run(&compiled, trial, &watch, true).transpose()?,
    ))
}
