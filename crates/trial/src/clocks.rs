//! Clocks of hosts.

use crate::fault::Fault;
use serde::{Deserialize, Serialize};

/// Largest offset of a clock, and largest spread of offsets: 10 s.
pub const MOST_OFFSET_PS: i64 = 10_000_000_000_000;
/// Largest drift of a clock, and largest spread of drifts: 1000 parts of 10⁶.
pub const MOST_DRIFT_PPB: i64 = 1_000_000;

/// A host's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClockSpec {
    /// Offset when the trial begins, in picoseconds, positive if ahead; at most 10¹³ (10 s) either
    /// way.
    #[serde(default)]
    pub offset_ps: i64,
    /// Drift in parts of 10⁹, positive if too fast; at most 10⁶ either way.
    #[serde(default)]
    pub drift_ppb: i64,
    /// Spread of the offset in picoseconds, at most 10¹³: a uniform value of either sign up to
    /// this, drawn by the trial's seed, is added to the offset.
    #[serde(default)]
    pub offset_spread_ps: u64,
    /// Spread of the drift in parts of 10⁹, at most 10⁶, drawn likewise.
    #[serde(default)]
    pub drift_spread_ppb: u64,
}

/// Whether receivers of streams estimate the offset and drift of their senders' clocks.
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

impl ClockSpec {
    /// Check the values; `key` is the path of this table.
    ///
    /// # Errors
    /// With the first value that is out of range.
    pub fn check(&self, key: &str) -> Result<(), Fault> {
        let signed = [
            ("offset_ps", self.offset_ps, MOST_OFFSET_PS, "10 s"),
            ("drift_ppb", self.drift_ppb, MOST_DRIFT_PPB, "1000 ppm"),
        ];
        for (name, value, most, words) in signed {
            if value.unsigned_abs() > most.unsigned_abs() {
                return Err(Fault::new(
                    format!("{key}.{name}"),
                    format!("must be from -{words} to {words}"),
                )
                .got(value));
            }
        }
        let spreads = [
            ("offset_spread_ps", self.offset_spread_ps, MOST_OFFSET_PS, "10 s"),
            ("drift_spread_ppb", self.drift_spread_ppb, MOST_DRIFT_PPB, "1000 ppm"),
        ];
        for (name, value, most, words) in spreads {
            if value > most.unsigned_abs() {
                return Err(Fault::new(
                    format!("{key}.{name}"),
                    format!("must be at most {words}"),
                )
                .got(value));
            }
        }
        Ok(())
    }
}
