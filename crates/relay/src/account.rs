//! What happened to frames, by direction.

use ethermeter_traffic::Histogram;
use ethermeter_traffic::classes::ClassCounts;
use serde::Serialize;

/// Frames that did not leave, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DirectionDrops {
    /// Too much waited for the wire, or was under way.
    pub queue: u64,
    /// Lost on the way, as was asked for.
    pub lost: u64,
    /// Longer than the wire's longest: several frames in one, by segmentation offload.
    pub too_long: u64,
    /// Frames whose checksums were left to an interface that computes them.
    pub unfinished: u64,
    /// Frames that arrived when the ring between kernel and relay was full.
    pub ring: u64,
    /// The interface they were to leave by did not take them.
    pub refused: u64,
}

/// What happened in one direction.
#[derive(Clone, Debug, Default)]
pub struct DirectionCounts {
    /// Frames read from the ring.
    pub came: u64,
    /// Frames that left.
    pub left: u64,
    /// Octets of them, destination address to FCS.
    pub octets: u64,
    /// Frames that did not leave, by cause.
    pub dropped: DirectionDrops,
    /// How long after they should have frames left.
    pub lateness: Histogram,
    /// How long after the kernel's stamp frames were noticed.
    pub noticed: Histogram,
}

/// Frames of a direction so far: `came` = `left` + `under_way` + all of `dropped`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionReport {
    /// Interface at which frames arrive.
    pub from: String,
    /// Interface by which they leave.
    pub to: String,
    /// Frames that arrived.
    pub came: u64,
    /// Frames that left.
    pub left: u64,
    /// Octets of them, destination address to FCS.
    pub octets: u64,
    /// Frames that are still under way.
    pub under_way: usize,
    /// Frames that did not leave, by cause.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, u64>"))]
    pub dropped: DirectionDrops,
    /// Counts of each traffic class, in their order; empty of one queue.
    pub classes: Vec<ClassCounts>,
    /// Greatest lateness of any frame.
    pub latest_ns: u64,
}

/// Frames of a direction, and how punctual the relay was.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionResult {
    /// The frames.
    #[serde(flatten)]
    pub report: DirectionReport,
    /// How long after its due time a frame left.
    pub late_ns: TimeQuantiles,
    /// How long after the kernel's stamp a frame was noticed.
    pub noticed_after_ns: TimeQuantiles,
}

/// Quantiles and buckets of a time, in ns; quantiles are absent without frames.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeQuantiles {
    /// Median.
    pub p50: Option<f64>,
    /// Quantile of 90%.
    pub p90: Option<f64>,
    /// Quantile of 99%.
    pub p99: Option<f64>,
    /// Quantile of 99.9%.
    pub p999: Option<f64>,
    /// Largest time.
    pub max: Option<f64>,
    /// Lower bound, upper bound and count.
    pub buckets: Vec<(f64, f64, u64)>,
}

impl DirectionCounts {
    /// Frames so far, with those still under way.
    #[must_use]
    pub fn report(
        &self,
        from: &str,
        to: &str,
        under_way: usize,
        classes: Vec<ClassCounts>,
    ) -> DirectionReport {
        DirectionReport {
            from: from.to_owned(),
            to: to.to_owned(),
            came: self.came + self.dropped.ring,
            left: self.left,
            octets: self.octets,
            under_way,
            dropped: self.dropped,
            classes,
            latest_ns: self.lateness.max_ps().div_ceil(1000),
        }
    }

    /// What was counted, with lateness.
    #[must_use]
    pub fn result(&self, report: DirectionReport) -> DirectionResult {
        let (late_ns, noticed_after_ns) = ((&self.lateness).into(), (&self.noticed).into());
        DirectionResult { report, late_ns, noticed_after_ns }
    }
}

impl From<&Histogram> for TimeQuantiles {
    #[allow(clippy::cast_precision_loss)] // for reading
    fn from(times: &Histogram) -> Self {
        let at = |share| times.quantile_ps(share).map(|ps| ps as f64 / 1000.0);
        let buckets = times.filled().into_iter();
        Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: at(1.0),
            buckets: buckets
                .map(|(low, high, n)| (low as f64 / 1000.0, high as f64 / 1000.0, n))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_came_left_or_were_dropped_or_are_under_way() {
        let dropped =
            DirectionDrops { queue: 1, lost: 2, too_long: 3, unfinished: 4, ring: 5, refused: 6 };
        let account =
            DirectionCounts { came: 100, left: 80, dropped, ..DirectionCounts::default() };
        let result = account.result(account.report("a", "b", 4, vec![]));
        assert_eq!(result.report.came, 80 + 4 + (1 + 2 + 3 + 4 + 5 + 6));
        assert_eq!(result.late_ns.p50, None);
    }
}
