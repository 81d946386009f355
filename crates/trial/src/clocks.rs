//! Clocks of hosts.

use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// Largest offset of a clock, and largest spread of offsets: 10 s.
pub const MOST_OFFSET_PS: i64 = 10_000_000_000_000;
/// Largest drift of a clock, and largest spread of drifts: 1000 parts of 10⁶.
pub const MOST_DRIFT_PPB: i64 = 1_000_000;

/// A host's clock.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClockSpec {
    /// Offset when the trial begins, in picoseconds, positive if ahead; at most 10¹³ (10 s) either
    /// way.
    #[serde(default)]
    #[file(key = "offset", unit = "time", least = -i128::from(MOST_OFFSET_PS), most = i128::from(MOST_OFFSET_PS))]
    pub offset_ps: i64,
    /// Drift in parts of 10⁹, positive if too fast; at most 10⁶ either way.
    #[serde(default)]
    #[file(key = "drift", unit = "clock error", least = -i128::from(MOST_DRIFT_PPB), most = i128::from(MOST_DRIFT_PPB))]
    pub drift_ppb: i64,
    /// Spread of the offset in picoseconds, at most 10¹³: a uniform value of either sign up to
    /// this, drawn by the trial's seed, is added to the offset.
    #[serde(default)]
    #[file(key = "offset_spread", unit = "time", least = 0, most = i128::from(MOST_OFFSET_PS))]
    pub offset_spread_ps: u64,
    /// Spread of the drift in parts of 10⁹, at most 10⁶, drawn likewise.
    #[serde(default)]
    #[file(key = "drift_spread", unit = "clock error", least = 0, most = i128::from(MOST_DRIFT_PPB))]
    pub drift_spread_ppb: u64,
}

/// Whether receivers of streams estimate the offset and drift of their senders' clocks.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Comparing {
    /// They do not.
    #[default]
    NotCompared,
    /// They do, by exchanges of time stamps over the network.
    Compared,
}
