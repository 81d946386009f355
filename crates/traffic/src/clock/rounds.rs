//! Schedule by which a receiver asks its sender for the time, and the error of delays that were
//! computed meanwhile.
//!
//! ```text
//! settling        transmission        drain
//! each 2 ms       each 100 ms         each 2 ms
//! ├───┬───┬───┬───┤────┬────┬────┬────┤───┬───┬───┬───┤
//!     rounds: at the end of each the relation is fitted again, and delays use it from then on
//! ```
//!
//! Delays of arriving frames use the best relation known then. The final relation is better,
//! because it includes later exchanges; the difference of the two is added to the stated
//! uncertainty.

use super::Relation;
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Octets of a frame that asks, and of the one that answers: the shortest with room for two more
/// times, over IPv4 and IPv6.
pub const FRAME_OCTETS: u32 = 96;
/// Least time between exchanges while nothing else is sent …
pub const QUIET_NS: u64 = 2_000_000;
/// … and while frames are.
pub const BUSY_NS: u64 = 100_000_000;
/// An answer that takes longer is of no use.
pub const TIMEOUT_NS: u64 = 50_000_000;
/// Exchanges in a phase, at most.
const MOST_OF_PHASE: u64 = 512;
/// How long is asked before the relation is fitted again.
const ROUND_NS: u64 = 100_000_000;
/// A receiver uses a relation for so long after a better one is there: as long as it may wait for a
/// frame, with some to spare.
const LATE_NS: u64 = 100_000_000;

/// How times are asked for in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Least time from one request to the next.
    pub interval_ns: u64,
    /// How long is asked before the relation is fitted again.
    pub round_ns: u64,
}

impl Pace {
    /// In a phase of `length_ns` in which nothing else is sent.
    #[must_use]
    pub fn quiet(length_ns: u64) -> Self {
        Self::of(length_ns, QUIET_NS)
    }

    /// In a phase of `length_ns` in which frames are sent.
    #[must_use]
    pub fn busy(length_ns: u64) -> Self {
        Self::of(length_ns, BUSY_NS)
    }

    fn of(length_ns: u64, least_ns: u64) -> Self {
        let interval_ns = least_ns.max(length_ns / MOST_OF_PHASE);
        // Four rounds at least before frames are sent, so that something is known by then.
        Self { interval_ns, round_ns: ROUND_NS.min(length_ns / 4).max(interval_ns) }
    }
}

/// A relation that was published, and since when it was in use, in the host's time.
#[derive(Clone, Debug)]
pub struct Used {
    /// Since when.
    pub since_ns: u64,
    /// The relation.
    pub relation: Arc<Relation>,
}

/// The last estimate of the sender's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockEstimate {
    /// The receiver's reading in the middle of what is measured.
    pub at_ns: u64,
    /// How far the sender's clock was ahead then.
    #[serde(deserialize_with = "or_nan")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub offset_ns: f64,
    /// Largest error of `offset_ns`.
    #[serde(deserialize_with = "or_nan")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub uncertainty_ns: f64,
    /// By how much the sender's clock gained.
    #[serde(deserialize_with = "or_nan")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub drift: f64,
    /// Largest error of `drift`.
    #[serde(deserialize_with = "or_nan")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub drift_uncertainty: f64,
    /// Kept exchanges that contradict the line.
    pub contradictions: usize,
    /// Kept exchanges.
    pub kept: usize,
    /// The round trip of the fastest.
    #[serde(deserialize_with = "or_nan")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub fastest_round_trip_ns: f64,
    /// Largest error of a delay computed within `measured`, apart from the error of
    /// the receiver's own clock over that delay; `None` if there was a time in it when no relation
    /// was known.
    pub delay_uncertainty_ns: Option<f64>,
}

/// Read a number; null, which JSON has instead of NaN, as NaN.
///
/// # Errors
/// If it is neither.
pub fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

impl ClockEstimate {
    /// By the `last` relation, of delays computed with the `used` ones, within
    /// `measured`; `reading_at` is the receiver's reading at a time of its host.
    #[must_use]
    pub fn of(
        last: &Relation,
        used: &[Used],
        measured: Range<u64>,
        reading_at: impl Fn(u64) -> u64,
    ) -> Self {
        let at_ns = reading_at(measured.start + (measured.end - measured.start) / 2);
        Self {
            at_ns,
            offset_ns: last.offset_ns(at_ns),
            uncertainty_ns: last.uncertainty_ns(at_ns),
            drift: last.drift(),
            drift_uncertainty: last.drift_uncertainty(),
            contradictions: last.contradictions(),
            kept: last.kept(),
            fastest_round_trip_ns: last.fastest_round_trip_ns(),
            delay_uncertainty_ns: delay_uncertainty_ns(last, used, &measured, reading_at),
        }
    }
}

fn delay_uncertainty_ns(
    last: &Relation,
    used: &[Used],
    measured: &Range<u64>,
    reading_at: impl Fn(u64) -> u64,
) -> Option<f64> {
    used.first().filter(|first| first.since_ns <= measured.start)?;
    let ends_ns =
        used.iter().skip(1).map(|next| next.since_ns.saturating_add(LATE_NS)).chain([u64::MAX]);
    let wrong_ns = used.iter().zip(ends_ns).filter_map(|(used, end_ns)| {
        // What is used for a frame is what is known when it is read, a little after it arrived.
        let since_ns = used.since_ns.saturating_sub(LATE_NS);
        let (from_ns, to_ns) = (since_ns.max(measured.start), end_ns.min(measured.end));
        // Both are lines, so they are farthest apart at an end; the bound is farthest from the
        // exchanges, which is at an end, too.
        (from_ns < to_ns).then(|| {
            let at = |host_ns| {
                let reading = reading_at(host_ns);
                (used.relation.offset_ns(reading) - last.offset_ns(reading)).abs()
                    + last.uncertainty_ns(reading)
            };
            f64::max(at(from_ns), at(to_ns))
        })
    });
    wrong_ns.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Exchange;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_settling_of_a_tenth_of_a_second_has_four_rounds_of_twelve_exchanges() {
        assert_eq!(Pace::quiet(100 * MS), Pace { interval_ns: 2 * MS, round_ns: 25 * MS });
    }

    #[test]
    fn no_phase_has_more_than_512_exchanges() {
        let pace = Pace::quiet(10_000 * MS);
        assert_eq!(10_000 * MS / pace.interval_ns, 512);
        assert_eq!(Pace::busy(1000 * MS), Pace { interval_ns: 100 * MS, round_ns: 100 * MS });
    }

    /// Of a clock that is 50 ns behind, asked twice at `at_ms`, over a path of 10 us each way.
    fn relation(at_ms: [u64; 2]) -> Arc<Relation> {
        let exchange = |ms: u64| Exchange {
            requested_ns: ms * MS,
            received_ns: ms * MS + 10_000 - 50,
            answered_ns: ms * MS + 10_000 - 50,
            returned_ns: ms * MS + 20_000,
        };
        Arc::new(Relation::fitted(&at_ms.map(exchange)).expect("two times"))
    }

    #[test]
    fn delays_exist_only_after_the_first_relation() {
        let (early, late) = (relation([0, 100]), relation([0, 1000]));
        let used = [Used { since_ns: 100 * MS, relation: Arc::clone(&early) }];
        assert!(delay_uncertainty_ns(&late, &used, &(99 * MS..500 * MS), |ns| ns).is_none());
        let estimate = ClockEstimate::of(&late, &used, 100 * MS..900 * MS, |ns| ns);
        assert_eq!((estimate.at_ns, estimate.kept, estimate.contradictions), (500 * MS, 2, 0));
        assert!(
            (estimate.offset_ns + 50.0).abs() < 1e-6 && estimate.drift.abs() < 1e-12,
            "{estimate:?}"
        );
        // Both lines are the same one. Between two points of equal weight the weights are positive
        // and sum to 1: half a round trip, and 1 ns of rounding.
        let bound_ns = estimate.delay_uncertainty_ns.expect("known");
        assert!((bound_ns - 10_001.0).abs() < 1e-3, "{bound_ns}");
    }
}
