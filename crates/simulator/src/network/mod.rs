//! Networks of links, switches, routers, hubs, and hosts as chains of stages.
//!
//! - `compiled`: a network ready to run: stages, resources, routes; its faults.
//! - `chances`: random service times of stages.
//! - `cards`: of ports on shared media.
//! - [`tcp`]: data over TCP.
//! - [`clocks`]: what hosts' clocks show of delays, and how receivers compare them.
//! - `applications`: messages, answers (`exchange`), and what follows them. `hosts`: how engines run them. `talker`: a
//!   host's voice. `frame`: a
//!   copy of a frame. `learning_table`: what switches learn.
//! - `reference`: event by event, with half-duplex links and shared media. `fast`: the same, an event only
//!   where ways meet (`junctions`).
//! - [`counters`]: what is counted.

mod applications;
mod cards;
mod chances;
pub mod clocks;
pub(crate) mod compiled;
pub mod counters;
pub(crate) mod fast;
mod frame;
mod hosts;
mod junctions;
mod learning_table;
pub(crate) mod reference;
mod talker;
pub mod tcp;

pub use counters::Delivery;

use applications::Applications;
use compiled::CompiledNetwork;
use counters::Counters;
use ethermeter_trial::Counts;
use ethermeter_trial::counts::NodeCounts;

/// What was counted in a network, with every delivery.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    /// What was counted.
    pub counts: Counts,
    /// Deliveries in the order of time, if they were wanted.
    pub trace: Vec<Delivery>,
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
            flows[flow].clocks = Some(delays);
        }
        let window_ps = compiled.phases.measure_to_ps - compiled.phases.measure_from_ps;
        let nodes = NodeCounts { flooded };
        let counts =
            Counts { window_ps, events, flows, ports, nodes, clock_pairs, ..Counts::default() };
        Self { counts, trace }
    }
}
