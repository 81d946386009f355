//! The plan of a trial: its scenario, checked and compiled once, whatever it has, and which program
//! runs it.
//!
//! Each plan has a reference program, event by event. A fast program runs a plan whole or not at all
//! (segments, contention, networks), or skips ahead within a medium that the reference runs (cycles
//! of a bus).

use crate::custom::Custom;
use crate::error::Error;
use crate::idealised;
use crate::mac::transmitter::Attempt;
use crate::network::compiled::CompiledNetwork;
use crate::network::{self, Delivery};
use crate::plca::compiled::CompiledBus;
use crate::plca::{self, contention};
use crate::segment::compiled::CompiledSegment;
use crate::segment::station::Station;
use crate::segment::{fast, reference};
use crate::watch::Watch;
use ethermeter_trial::flows::Flow;
use ethermeter_trial::medium::Mac;
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::{Counts, Fault, Trial};

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was counted.
    pub counts: Counts,
    /// Attempts on the line of a medium alone, in the order of their starts, if they were wanted.
    pub attempts: Vec<Attempt>,
    /// Deliveries in a network, in the order of time, if they were wanted.
    pub deliveries: Vec<Delivery>,
    /// The program that ran.
    pub implementation: Implementation,
}

/// A trial ready to run.
pub struct Plan<'t> {
    trial: &'t Trial,
    custom: Option<&'t dyn Custom>,
    compiled: Compiled<'t>,
}

enum Compiled<'t> {
    /// Stations on one medium, all of whose frames go to it alone.
    Segment(&'t Mac, CompiledSegment),
    /// Stations on one medium, with a MAC that a theory assumes.
    Idealised(&'t Mac, CompiledSegment),
    /// Stations on one medium, with PLCA.
    Bus(CompiledBus),
    /// Links and media between hosts.
    Network(Box<CompiledNetwork>),
}

impl<'t> Plan<'t> {
    /// Check and compile a trial; `custom` makes rules of the caller's own, where it names any.
    ///
    /// # Errors
    /// If the trial contradicts itself or leaves the range of what can be simulated.
    pub fn new(trial: &'t Trial, custom: Option<&'t dyn Custom>) -> Result<Self, Fault> {
        Self::compile(trial, custom, custom.is_some())
    }

    /// Check a trial that is not run: rules of the caller's own are not made.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn check(trial: &'t Trial) -> Result<(), Fault> {
        Self::compile(trial, None, true).map(drop)
    }

    fn compile(
        trial: &'t Trial,
        custom: Option<&'t dyn Custom>,
        has_custom: bool,
    ) -> Result<Self, Fault> {
        #[allow(clippy::match_wildcard_for_single_variants)] // a new MAC does not change this file
        let compiled = match trial.scenario.contended() {
            Some(medium) => match &medium.mac {
                Mac::Slotted(_) | Mac::Adaptive(_) | Mac::Unslotted(_) | Mac::Polling(_) => {
                    Compiled::Idealised(&medium.mac, idealised::compiled(trial)?)
                }
                Mac::Plca(constants) => Compiled::Bus(CompiledBus::new(trial, constants)?),
                mac if has_custom => Compiled::Segment(mac, CompiledSegment::with_custom(trial)?),
                mac => Compiled::Segment(mac, CompiledSegment::new(trial)?),
            },
            None => Compiled::Network(Box::new(CompiledNetwork::new(trial)?)),
        };
        Ok(Self { trial, custom, compiled })
    }

    /// Run the plan, by a fast program if one supports it and the trial does not want the reference.
    /// Another thread may follow and stop it by `watch`; `tracing` keeps attempts and deliveries.
    ///
    /// # Errors
    /// [`Error::Stopped`] if it was stopped.
    pub fn run(&self, watch: &Watch, tracing: bool) -> Result<Run, Error> {
        if self.trial.settings.implementation == Implementation::Fast
            && let Some(run) = self.try_run(watch, tracing)?
        {
            return Ok(run);
        }
        self.run_reference(watch, tracing)
    }

    /// Run the plan by a fast program; `None` if no fast program supports it.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn try_run(&self, watch: &Watch, tracing: bool) -> Result<Option<Run>, Error> {
        // Their packets may be withdrawn when they could start.
        let mut voices = self.trial.scenario.flows.iter().filter_map(Flow::voice);
        if voices.any(|voice| voice.fixed.is_some()) {
            return Ok(None);
        }
        let found = match &self.compiled {
            // The fast programs have one jam for all, and whole cables.
            Compiled::Segment(Mac::CsmaCd(_), segment)
                if !segment.has_custom()
                    && segment.has_one_jam()
                    && segment.cable_fault.is_none() =>
            {
                fast::run(segment, watch, tracing)?
            }
            Compiled::Bus(bus) if bus.is_contention() => contention::run(bus, watch, tracing)?,
            Compiled::Bus(bus) => {
                let plca::fast::Run { counts, attempts, cycles } =
                    plca::fast::run(bus, watch, tracing)?;
                // Without a cycle, all of it was run event by event.
                let is_fast = cycles > 0;
                let ran = if is_fast { Implementation::Fast } else { Implementation::Reference };
                return Ok(Some(of_medium((counts, attempts), ran)));
            }
            Compiled::Network(network) => {
                let run = network::fast::run(network, self.trial, watch, tracing).transpose()?;
                return Ok(run.map(|traced| of_network(traced, Implementation::Fast)));
            }
            Compiled::Segment(..) | Compiled::Idealised(..) => return Ok(None),
        };
        Ok(Some(of_medium(found, Implementation::Fast)))
    }

    /// Run the plan event by event.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_reference(&self, watch: &Watch, tracing: bool) -> Result<Run, Error> {
        let found = match &self.compiled {
            Compiled::Segment(mac, segment) => {
                let stations = Station::all_with(segment, self.custom);
                reference::go_on(segment, mac, watch, stations, tracing)?
            }
            Compiled::Idealised(mac, compiled) => idealised::run(mac, compiled, watch, tracing)?,
            Compiled::Bus(bus) => plca::reference::run(bus, watch, tracing)?,
            Compiled::Network(network) => {
                let traced = network::reference::run(network, self.trial, watch, tracing)?;
                return Ok(of_network(traced, Implementation::Reference));
            }
        };
        Ok(of_medium(found, Implementation::Reference))
    }
}

fn of_medium((counts, attempts): (Counts, Vec<Attempt>), implementation: Implementation) -> Run {
    Run { counts, attempts, deliveries: Vec::new(), implementation }
}

fn of_network(traced: network::Traced, implementation: Implementation) -> Run {
    let network::Traced { counts, trace } = traced;
    Run { counts, attempts: Vec::new(), deliveries: trace, implementation }
}
