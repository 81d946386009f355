//! What an engine counts in a trial, before any formula.
//!
//! Sums, histograms and extremes, each of all entities of one kind. Names are those of the
//! quantities counted (`frames`, `collisions`, `one_way_ps`); a name that ends in `_ps` is a sum of
//! picoseconds, in `_ps2` of their squares.

use crate::scenario::Implementation;
use serde::{Deserialize, Serialize};

/// Everything that was counted in one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Length of the measured window in picoseconds.
    pub window_ps: u64,
    /// Equal parts of the measured window.
    pub batches: u32,
    /// Events processed, for speed figures; implementations differ.
    pub events: u64,
    /// The implementation that ran.
    pub implementation: Implementation,
    /// Sums and counts.
    pub sums: Vec<Sums>,
    /// Distributions of times.
    pub histograms: Vec<Histograms>,
    /// Largest values.
    pub extremes: Vec<Extremes>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Entity {
    /// A shared medium.
    Medium,
    /// A station on a medium, in the order of the scenario.
    Station,
    /// A flow, in the order of the scenario.
    Flow,
    /// A port: 2l and 2l + 1 are the ends of link l.
    Port,
    /// A node, in the order of the scenario.
    Node,
    /// A pair of hosts whose clocks are compared.
    ClockPair,
}

/// One sum of each entity in each batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sums {
    /// What they are of.
    pub entity: Entity,
    /// What is summed.
    pub name: String,
    /// Batches that are told apart: all of the window, or 1 where the sum is of the whole window.
    pub batches: u32,
    /// The sums, batch by batch, within it entity by entity.
    pub values: Vec<u128>,
}

/// One distribution of each entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Histograms {
    /// What they are of.
    pub entity: Entity,
    /// What is distributed.
    pub name: String,
    /// Buckets that hold something.
    pub buckets: Vec<Bucket>,
}

/// A bucket of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Index of the entity.
    pub index: u32,
    /// Lowest value of the bucket.
    pub low: i64,
    /// Lowest value of the next bucket.
    pub high: i64,
    /// How many values it holds.
    pub count: u64,
}

/// The largest value of each entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Extremes {
    /// What they are of.
    pub entity: Entity,
    /// What is largest.
    pub name: String,
    /// The largest values, entity by entity.
    pub values: Vec<u64>,
}

impl Counts {
    /// The sums of one name: batches told apart, and values; `None` if this was not counted.
    #[must_use]
    pub fn sums_of(&self, entity: Entity, name: &str) -> Option<(usize, &[u128])> {
        let found = self.sums.iter().find(|sums| sums.entity == entity && sums.name == name)?;
        Some((found.batches as usize, &found.values))
    }
}
