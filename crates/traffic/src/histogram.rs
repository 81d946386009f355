//! Histograms of times with a fixed relative width: 128 buckets an octave, below 0.8% of the value.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;

/// Counts of times in picoseconds, after the layout of the HDR histogram (G. Tene), with the least
/// and the largest of them exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Of whole octaves, from that of the least to that of the largest time: of what thousands of
    /// flows count, most octaves are empty.
    counts: Vec<u64>,
    /// The bucket of the first count.
    first: usize,
    min_ps: u64,
    max_ps: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Vec::new(), first: 0, min_ps: u64::MAX, max_ps: 0 }
    }
}

/// The filled buckets of a histogram and some of its quantiles, as they are sent and stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Count over all buckets.
    pub total: u64,
    /// Quantiles by their share; that of "1" is the largest time.
    pub quantiles_ps: BTreeMap<String, Option<u64>>,
    /// Buckets in rising order: low and high in ps, and count (see [`Histogram::filled`]).
    pub buckets: Vec<(u64, u64, u64)>,
}

/// Quantiles of a [`Distribution`].
const QUANTILES: [(&str, f64); 6] =
    [("0.01", 0.01), ("0.5", 0.5), ("0.9", 0.9), ("0.99", 0.99), ("0.999", 0.999), ("1", 1.0)];

impl From<&Histogram> for Distribution {
    fn from(histogram: &Histogram) -> Self {
        let quantile = |(name, share): (&str, f64)| (name.to_owned(), histogram.quantile_ps(share));
        Self {
            total: histogram.total(),
            quantiles_ps: QUANTILES.map(quantile).into(),
            buckets: histogram.filled(),
        }
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation)] // 58 octaves of 128 buckets
fn bucket_of(ps: u64) -> usize {
    if ps < SUB {
        return ps as usize;
    }
    let shift = 63 - SUB_BITS - ps.leading_zeros();
    (((u64::from(shift) + 1) << SUB_BITS) + ((ps >> shift) & (SUB - 1))) as usize
}

fn lowest_of(bucket: u64) -> u64 {
    if bucket < SUB {
        return bucket;
    }
    let shift = (bucket >> SUB_BITS) - 1;
    (SUB + (bucket & (SUB - 1))) << shift
}

impl Histogram {
    /// The count of a bucket.
    #[inline]
    fn count(&mut self, bucket: usize) -> &mut u64 {
        let at = bucket.wrapping_sub(self.first);
        if at >= self.counts.len() {
            self.reach(bucket);
            return &mut self.counts[bucket - self.first];
        }
        &mut self.counts[at]
    }

    /// Make room for the octave of a bucket.
    #[cold]
    #[inline(never)]
    fn reach(&mut self, bucket: usize) {
        let octave = bucket >> SUB_BITS << SUB_BITS;
        let (mut first, mut end) = (octave, octave + (1 << SUB_BITS));
        if !self.counts.is_empty() {
            (first, end) = (first.min(self.first), end.max(self.first + self.counts.len()));
        }
        let mut counts = vec![0; end - first];
        let at = self.first.saturating_sub(first);
        counts[at..at + self.counts.len()].copy_from_slice(&self.counts);
        (self.counts, self.first) = (counts, first);
    }

    /// Count a time.
    #[inline]
    pub fn record(&mut self, ps: u64) {
        *self.count(bucket_of(ps)) += 1;
        self.min_ps = self.min_ps.min(ps);
        self.max_ps = self.max_ps.max(ps);
    }

    /// Count a time as often as `times` says.
    #[inline]
    pub fn record_many(&mut self, ps: u64, times: u64) {
        if times > 0 {
            *self.count(bucket_of(ps)) += times;
            self.min_ps = self.min_ps.min(ps);
            self.max_ps = self.max_ps.max(ps);
        }
    }

    /// The largest time, exactly; 0 when nothing was counted.
    #[must_use]
    pub const fn max_ps(&self) -> u64 {
        self.max_ps
    }

    /// How many times were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time that a share `share` of all times does not exceed: the upper end of its bucket, so
    /// at most 0.8% above it, but not above the largest time.
    ///
    /// `None` when nothing was counted. A share is clamped to 0..=1; 0 is the least time's bucket.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // a share of a count
    pub fn quantile_ps(&self, share: f64) -> Option<u64> {
        let total = self.total();
        let wanted = ((share.clamp(0.0, 1.0) * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        (self.first as u64..).zip(&self.counts).find_map(|(bucket, &count)| {
            seen += count;
            (seen >= wanted).then(|| (lowest_of(bucket + 1) - 1).min(self.max_ps))
        })
    }

    /// Count everything that `other` counted, too.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, &more) in (other.first..).zip(&other.counts).filter(|&(_, &more)| more > 0) {
            *self.count(bucket) += more;
        }
        self.min_ps = self.min_ps.min(other.min_ps);
        self.max_ps = self.max_ps.max(other.max_ps);
    }

    /// The buckets that hold something: lowest time, lowest time beyond, count. The first begins at
    /// the least time and the last ends with the largest, so that equal times are known exactly.
    #[must_use]
    pub fn filled(&self) -> Vec<(u64, u64, u64)> {
        if self.min_ps > self.max_ps {
            return Vec::new();
        }
        // Most buckets are beyond the least and the largest time.
        let first = bucket_of(self.min_ps);
        (first as u64..)
            .zip(&self.counts[first - self.first..=bucket_of(self.max_ps) - self.first])
            .filter(|&(_, &count)| count > 0)
            .map(|(bucket, &count)| {
                let (low, high) = (lowest_of(bucket), lowest_of(bucket + 1));
                (low.max(self.min_ps), high.min(self.max_ps + 1), count)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_upper_end_of_the_bucket_of_that_rank() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_ps(0.5), None);
        (1..=100).for_each(|ps| histogram.record(ps)); // below 128 every bucket holds one value
        assert_eq!(
            [0.0, 0.5, 0.505, 0.99, 1.0].map(|share| histogram.quantile_ps(share)),
            [1, 50, 51, 99, 100].map(Some)
        );
        histogram.record(1_000_001); // in a bucket of 8192
        assert_eq!((histogram.max_ps(), histogram.quantile_ps(1.0)), (1_000_001, Some(1_000_001)));
    }

    #[test]
    fn the_outer_buckets_end_at_the_least_and_the_largest_time() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.filled(), []);
        // 260 us lies in a bucket of 2^21 ps.
        (0..3).for_each(|_| histogram.record(260_000_000));
        assert_eq!(histogram.filled(), [(260_000_000, 260_000_001, 3)]);
        histogram.record_many(1_000_000_000, 2);
        histogram.record(500_000_000);
        let filled = histogram.filled();
        assert_eq!(filled[0].0, 260_000_000);
        assert_eq!(filled[0].1, lowest_of(bucket_of(260_000_000) as u64 + 1));
        assert_eq!(filled[1].0, lowest_of(bucket_of(500_000_000) as u64));
        assert_eq!(filled[2].1, 1_000_000_001);
        let mut other = Histogram::default();
        other.record(259_000_000);
        histogram.merge(&other);
        assert_eq!(histogram.filled()[0].0, 259_000_000);
    }

    #[test]
    fn two_merged_histograms_are_one_of_both() {
        let (mut one, mut other, mut both) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for ps in 0..5000 {
            if ps % 3 == 0 { &mut one } else { &mut other }.record(ps * ps);
            both.record(ps * ps);
        }
        one.merge(&other);
        assert_eq!((one.total(), &one), (5000, &both));
    }

    #[test]
    fn room_is_made_for_whole_octaves_in_any_order() {
        let (mut rising, mut falling) = (Histogram::default(), Histogram::default());
        let times = [3, 1000, 60_000_000, 61_000_000, 1_200_000_000];
        for ps in times {
            rising.record(ps);
        }
        for ps in times.into_iter().rev() {
            falling.record_many(ps, 1);
        }
        assert_eq!(rising, falling);
        assert_eq!(rising.total(), 5);
        let mut narrow = Histogram::default();
        (60_000_000..67_000_000).step_by(1000).for_each(|ps| narrow.record(ps));
        assert_eq!(narrow.counts.len(), 128); // from 2^25 to 2^26 ps
    }

    #[test]
    fn every_time_falls_between_the_bounds_of_its_bucket() {
        for ps in
            (0..2000).chain((0..62).flat_map(|e| [(1u64 << e) - 1, 1 << e, (1 << e) + 1, 3 << e]))
        {
            let bucket = bucket_of(ps) as u64;
            let (low, high) = (lowest_of(bucket), lowest_of(bucket + 1));
            assert!(low <= ps && ps < high, "{ps} in {low}..{high}");
            assert!(high - low == 1 || (high - low) * SUB <= low, "{ps} in {low}..{high}");
        }
    }
}
