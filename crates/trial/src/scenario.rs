//! A trial, and its scenario: network, traffic, and when what happens.

use crate::clocks::Comparing;
use crate::fault::Fault;
use crate::flows::Flow;
use crate::limits::LONGEST_END_PS;
use crate::medium::Medium;
use crate::nodes::{Link, Node};
use ethermeter_traffic::Traces;
use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// One trial of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Identifier, unique in the plan.
    pub id: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// What to simulate.
    pub scenario: Scenario,
    /// How to simulate it.
    #[serde(default)]
    pub settings: Settings,
}

/// Settings of the simulator. No setting changes a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Which implementation runs.
    #[serde(default)]
    pub implementation: Implementation,
}

/// An implementation of the simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Implementation {
    /// The fastest that can run the scenario.
    #[default]
    Fast,
    /// Event by event, slowly.
    Reference,
}

/// Nodes, links and media, the flows over them, and when what happens.
///
/// A segment is one medium and its hosts, whose flows have no receiver.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Hosts, switches, routers and hubs.
    pub nodes: Vec<Node>,
    /// Links between two nodes each; nodes and links are a forest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Shared media.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Medium>,
    /// Traffic.
    pub flows: Vec<Flow>,
    /// Whether receivers of streams estimate their senders' clocks by exchanges of times, where
    /// one of the two hosts has a clock.
    #[serde(default)]
    pub clocks: Comparing,
    /// When what happens.
    pub phases: Phases,
    /// Equal parts of the measured window, from 1; at most 1000, with media only 100 000.
    #[serde(default = "batches")]
    #[file(key = "run.batches", least = 1, most = 1_000)]
    pub batches: u32,
}

fn batches() -> u32 {
    20
}

/// Phases of a trial, in picoseconds from its start.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Stations are silent before this time.
    pub begin_ps: u64,
    /// Nothing new is offered from this time on.
    pub stop_ps: u64,
    /// Begin of the measured window.
    pub measure_from_ps: u64,
    /// End of the measured window, not included.
    pub measure_to_ps: u64,
    /// No attempt begins from this time on.
    #[file(unit = "time", least = 1, most = LONGEST_END_PS)]
    pub end_ps: u64,
    /// Each station begins at `begin_ps` plus a uniform time below this.
    #[file(key = "spread", unit = "time", least = 0, most = LONGEST_END_PS)]
    pub spread_ps: u64,
}

impl Trial {
    /// Read a trial from JSON.
    ///
    /// # Errors
    /// With the path of the key, if a key is unknown or missing or a value has the wrong type.
    pub fn from_json(text: &str) -> Result<Self, Fault> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let trial = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            let within = path.strip_prefix("scenario.").unwrap_or(&path);
            Fault::new(within, error.inner().to_string())
        })?;
        deserializer.end().map_err(|error| Fault::new(".", error.to_string()))?;
        Ok(trial)
    }

    /// Give its flows the traces that they replay.
    ///
    /// # Errors
    /// If one is missing, or is not the one of the scenario.
    pub fn give(&mut self, traces: &Traces) -> Result<(), Fault> {
        for (number, flow) in self.scenario.flows.iter_mut().enumerate() {
            let key = format!("flows[{number}].arrivals");
            let Some(digest) = flow.arrivals.missing_trace() else { continue };
            let Some(trace) = traces.get(digest) else {
                return Err(Fault::new(key, "must replay a trace that is given").got(digest));
            };
            let lengths = flow.frames.given_bits().len();
            flow.arrivals.give(trace, lengths).map_err(|what| Fault::new(key, what))?;
        }
        Ok(())
    }

    /// Refuse a trial that replays a trace that it has not been given.
    ///
    /// # Errors
    /// With the first of them.
    pub fn check_given(&self) -> Result<(), Fault> {
        let missing = |(number, flow): (usize, &Flow)| {
            flow.arrivals.missing_trace().map(|digest| (number, digest.to_owned()))
        };
        match self.scenario.flows.iter().enumerate().find_map(missing) {
            None => Ok(()),
            Some((number, digest)) => {
                let key = format!("flows[{number}].arrivals");
                Err(Fault::new(key, "must replay a trace that is given").got(digest))
            }
        }
    }

    /// Write the trial as JSON on one line.
    ///
    /// # Panics
    /// Never: every field is JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a trial is JSON")
    }
}
