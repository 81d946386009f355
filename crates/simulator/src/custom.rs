//! Rules of the caller's own, by which the stations of a segment wait and offer frames: for
//! `backoff` and `arrivals` of the kind `python`.
//!
//! Only the reference simulator of segments runs them. One that fails returns `None` from then on and
//! stops the trial by its watch.

use ethermeter_traffic::Stream;
use ethermeter_traffic::custom::{CustomSource, PythonFunction};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// Makes the rules of stations, by the names in their scenario.
pub trait Custom {
    /// The backoff of a station, with its draws for that purpose.
    fn backoff(&self, rule: &Rule<'_>, chance: Stream) -> Arc<Mutex<dyn CustomBackoff>>;

    /// The source of a station, with the shortest and the longest length in bits that its frames
    /// may have, and its draws for arrivals.
    fn source(
        &self,
        rule: &Rule<'_>,
        range_bits: (u64, u64),
        chance: Stream,
    ) -> Arc<Mutex<dyn CustomSource>>;
}

/// A rule as a scenario names it, and the station that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'s> {
    /// The function that is the rule.
    pub function: &'s PythonFunction,
    /// Number of the station, from 0.
    pub station: u32,
}

/// How long one station waits after collisions.
pub trait CustomBackoff: Debug + Send {
    /// Slots to wait after the n-th collision of a frame, at least 0 and finite; `None` if the rule
    /// has failed.
    fn slots(&mut self, collisions: u32) -> Option<f64>;
}
