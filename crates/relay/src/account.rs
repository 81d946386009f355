//! What happened to frames, by direction.

use ethermeter_traffic::Histogram;
use ethermeter_traffic::classes::ClassCounts;
use serde::Serialize;
use serde_json::{Value, json};

/// Frames that did not leave, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DirectionDrops {
    /// Too much waited for the wire.
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

impl DirectionCounts {
    /// Frames so far as JSON, with those still under way: `arrived` = `left` + `under_way` + all of
    /// `dropped`; `latest_ns` is the greatest lateness of any.
    #[must_use]
    pub fn counted(
        &self,
        from: &str,
        to: &str,
        under_way: usize,
        classes: &[ClassCounts],
    ) -> Value {
        json!({
            "from": from,
            "to": to,
            "came": self.came + self.dropped.ring,
            "left": self.left,
            "octets": self.octets,
            "under_way": under_way,
            "dropped": self.dropped,
            "classes": classes,
            "latest_ns": self.lateness.max_ps().div_ceil(1000),
        })
    }

    /// What was counted, with lateness as quantiles and buckets, in ns.
    #[must_use]
    pub fn with_lateness(&self, mut counted: Value) -> Value {
        counted["late_ns"] = quantiles_ns(&self.lateness);
        counted["noticed_after_ns"] = quantiles_ns(&self.noticed);
        counted
    }
}

#[allow(clippy::cast_precision_loss)] // for reading
pub(crate) fn quantiles_ns(times: &Histogram) -> Value {
    let at = |share| times.quantile_ps(share).map(|ps| ps as f64 / 1000.0);
    let buckets: Vec<(f64, f64, u64)> = times
        .filled()
        .into_iter()
        .map(|(low, high, count)| (low as f64 / 1000.0, high as f64 / 1000.0, count))
        .collect();
    json!({"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p999": at(0.999), "max": at(1.0), "buckets": buckets})
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
        let counted = account.with_lateness(account.counted("a", "b", 4, &[]));
        let lost: u64 = counted["dropped"]
            .as_object()
            .expect("an object")
            .values()
            .filter_map(Value::as_u64)
            .sum();
        assert_eq!(counted["came"].as_u64(), Some(80 + 4 + lost));
        assert_eq!(counted["late_ns"]["p50"], Value::Null);
    }
}
