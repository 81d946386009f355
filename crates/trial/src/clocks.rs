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
    /// Offset from true time at the start of the trial, -10 s to 10 s; positive if the clock is
    /// ahead.
    #[serde(default)]
    #[file(key = "offset", unit = "time", least = -i128::from(MOST_OFFSET_PS), most = i128::from(MOST_OFFSET_PS))]
    pub offset_ps: i64,
    /// Frequency error of the clock, -1000 ppm to 1000 ppm; positive if the clock is fast.
    #[serde(default)]
    #[file(key = "drift", unit = "clock error", least = -i128::from(MOST_DRIFT_PPB), most = i128::from(MOST_DRIFT_PPB))]
    pub drift_ppb: i64,
    /// Largest deviation from `offset`, at most 10 s; uniform, drawn by the seed for each host of a
    /// group.
    #[serde(default)]
    #[file(key = "offset_spread", unit = "time", least = 0, most = i128::from(MOST_OFFSET_PS))]
    pub offset_spread_ps: u64,
    /// Largest deviation from `drift`, at most 1000 ppm; uniform, drawn by the seed for each host
    /// of a group.
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
