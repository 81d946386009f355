//! Distributions of times.

use crate::random::Stream;
use serde::{Deserialize, Serialize};

/// Longest time of a scenario, in picoseconds: 1000 s.
pub const LONGEST_PS: u64 = 1_000_000_000_000_000;
/// Most values of a measured distribution.
pub const MOST_VALUES: usize = 10_000;

/// A distribution of times, in picoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Times {
    /// Always the same.
    Constant {
        /// The time itself.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "constant", "x-unit" = "time", "minimum" = 0, "maximum" = LONGEST_PS)))]
        ps: u64,
    },
    /// Uniform over whole picoseconds from `low_ps` to `high_ps`, both included.
    Uniform {
        /// Shortest.
        low_ps: u64,
        /// Longest.
        high_ps: u64,
    },
    /// `offset_ps` plus an exponential time with mean `mean_ps`.
    Exponential {
        /// Constant part of the time.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "offset", "x-unit" = "time", "minimum" = 0, "maximum" = LONGEST_PS)))]
        offset_ps: u64,
        /// Mean of the exponential part.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "mean", "x-unit" = "time", "minimum" = 1, "maximum" = LONGEST_PS)))]
        mean_ps: f64,
    },
    /// One of `values_ps`, each as often as its weight says.
    Measured {
        /// Measured times.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "values", "x-unit" = "time", "minimum" = 0, "maximum" = LONGEST_PS, "minItems" = 1, "maxItems" = MOST_VALUES)))]
        values_ps: Vec<u64>,
        /// Frequency of each value, relative to the others; as many as `values`.
        #[cfg_attr(feature = "schema", schemars(extend("x-unit" = "weight", "minItems" = 1, "maxItems" = MOST_VALUES)))]
        weights: Vec<f64>,
    },
}

impl Default for Times {
    /// No time.
    fn default() -> Self {
        Self::Constant { ps: 0 }
    }
}

impl Times {
    /// The next time. A constant uses no draw.
    #[inline]
    pub fn draw(&self, chance: &mut Stream) -> u64 {
        match self {
            Self::Constant { ps } => *ps,
            Self::Uniform { low_ps, high_ps } => low_ps + chance.below(high_ps - low_ps + 1),
            Self::Exponential { offset_ps, mean_ps } => offset_ps + chance.exponential_ps(*mean_ps),
            Self::Measured { values_ps, weights } => values_ps[pick(weights, chance)],
        }
    }

    /// The mean time, in picoseconds.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a mean for reports
    pub fn mean_ps(&self) -> f64 {
        match self {
            Self::Constant { ps } => *ps as f64,
            Self::Uniform { low_ps, high_ps } => f64::midpoint(*low_ps as f64, *high_ps as f64),
            Self::Exponential { offset_ps, mean_ps } => *offset_ps as f64 + mean_ps,
            Self::Measured { values_ps, weights } => {
                let total: f64 = weights.iter().sum();
                values_ps.iter().zip(weights).map(|(&v, w)| v as f64 * w).sum::<f64>() / total
            }
        }
    }

    /// Its fault, if any.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let within = |ps: u64| ps <= LONGEST_PS;
        match self {
            Self::Constant { ps } if within(*ps) => None,
            Self::Uniform { low_ps, high_ps } if low_ps <= high_ps && within(*high_ps) => None,
            Self::Exponential { offset_ps, mean_ps }
                if within(*offset_ps) && *mean_ps >= 0.0 && *mean_ps <= 1e15 =>
            {
                None
            }
            Self::Measured { values_ps, weights } if values_ps.iter().all(|&v| within(v)) => {
                weights_fault(weights, values_ps.len())
            }
            _ => Some(format!("must be ordered times of at most 1000 s, got {self:?}")),
        }
    }
}

/// The fault of `weights` for `count` values, if any.
pub(crate) fn weights_fault(weights: &[f64], count: usize) -> Option<String> {
    let sum: f64 = weights.iter().sum();
    let fine = count > 0
        && weights.len() == count
        && weights.iter().all(|w| *w >= 0.0)
        && sum > 0.0
        && sum.is_finite();
    (!fine).then(|| format!("needs {count} weights, at least one, not negative, with a positive sum, got {weights:?}"))
}

/// An index, each as often as its weight says. It is called, as [`Stream::exponential_ps`] is.
#[inline(never)]
pub(crate) fn pick(weights: &[f64], chance: &mut Stream) -> usize {
    let total: f64 = weights.iter().sum();
    let mut left = chance.unit() * total;
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left <= 0.0 && *weight > 0.0 {
            return index;
        }
    }
    // Rounding may leave a remainder after the last weight; it belongs to the last possible value.
    weights.iter().rposition(|w| *w > 0.0).expect("weights have a positive sum")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn a_uniform_time_reaches_both_ends() {
        let times = Times::Uniform { low_ps: 3, high_ps: 5 };
        let mut chance = Stream::new(1, 1, Purpose::Service);
        let seen: std::collections::BTreeSet<u64> =
            (0..100).map(|_| times.draw(&mut chance)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn a_weight_of_zero_is_never_picked() {
        let times = Times::Measured { values_ps: vec![1, 2, 3], weights: vec![0.0, 1.0, 0.0] };
        let mut chance = Stream::new(1, 1, Purpose::Service);
        assert!((0..1000).all(|_| times.draw(&mut chance) == 2));
    }

    #[test]
    fn a_reversed_range_is_a_fault() {
        assert!(Times::Uniform { low_ps: 5, high_ps: 3 }.fault().is_some());
        assert!(Times::Measured { values_ps: vec![1], weights: vec![] }.fault().is_some());
    }
}
