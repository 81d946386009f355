//! How long things took: counts in buckets of a fixed relative width, of which only the octaves
//! that hold something take memory.

use crate::ahead::prefetch;

const SUB_BITS: u32 = 5;
const SUB: usize = 1 << SUB_BITS;
/// Octets that an octave takes, with its part of what the allocator adds.
const OCTAVE_OCTETS: usize = SUB * 8 + 16;

/// Times in nanoseconds: their number, sum and ends exactly, their distribution in 32 buckets an
/// octave, so to 3.2%.
///
/// Thousands of connections have some of these each, and most of them have seen a few times only:
/// an octave takes 256 octets, and a connection's times lie in ten of them or so.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram {
    count: u64,
    sum_ns: u128,
    least_ns: u64,
    most_ns: u64,
    /// A bit for every octave that was met.
    octaves: u64,
    /// The counts of those octaves, one after the other.
    counts: Vec<u64>,
}

/// Octave of a time, and bucket within it.
#[allow(clippy::cast_possible_truncation)] // an octave is below 64, a bucket below 32
fn bucket_of(ns: u64) -> (u8, usize) {
    if ns < SUB as u64 {
        return (0, ns as usize);
    }
    let shift = 63 - SUB_BITS - ns.leading_zeros();
    (shift as u8 + 1, ((ns >> shift) & (SUB as u64 - 1)) as usize)
}

/// Largest time of a bucket.
fn top_of(octave: u8, bucket: usize) -> u64 {
    if octave == 0 {
        return bucket as u64;
    }
    let next = (SUB as u128 + bucket as u128 + 1) << (octave - 1);
    u64::try_from(next - 1).unwrap_or(u64::MAX)
}

impl DelayHistogram {
    /// Count a time.
    pub fn record(&mut self, ns: u64) {
        self.least_ns = if self.count == 0 { ns } else { self.least_ns.min(ns) };
        self.most_ns = self.most_ns.max(ns);
        self.count += 1;
        self.sum_ns += u128::from(ns);
        let (octave, bucket) = bucket_of(ns);
        let at = self.before(octave) * SUB;
        if self.octaves >> octave & 1 == 0 {
            self.octaves |= 1 << octave;
            self.counts.reserve_exact(SUB);
            self.counts.splice(at..at, [0; SUB]);
        }
        self.counts[at + bucket] += 1;
    }

    /// Octaves that were met below this one.
    fn before(&self, octave: u8) -> usize {
        (self.octaves & ((1 << octave) - 1)).count_ones() as usize
    }

    /// Octaves that were met, and their counts.
    fn octaves(&self) -> impl Iterator<Item = (u8, &[u64])> {
        let octaves = (0..64).filter(|octave| self.octaves >> octave & 1 == 1);
        octaves.zip(self.counts.chunks_exact(SUB))
    }

    /// Prefetch the memory of the count of a time.
    pub(crate) fn prefetch(&self, ns: u64) {
        let (octave, bucket) = bucket_of(ns);
        self.counts.get(self.before(octave) * SUB + bucket).inspect(|count| prefetch(*count));
    }

    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The least; nothing if there was none.
    #[must_use]
    pub fn least_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least_ns)
    }

    /// The largest; nothing if there was none.
    #[must_use]
    pub fn most_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most_ns)
    }

    /// Sum of the times.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Mean of the times; nothing if there was none.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a mean to 53 bits
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The time that a share `share` (0 to 1) of all does not exceed: the upper end of its bucket,
    /// at most 3.2% above it, and never beyond the largest.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // a share of a count
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut below = 0;
        for (octave, counts) in self.octaves() {
            for (bucket, &count) in counts.iter().enumerate() {
                below += count;
                if below >= rank {
                    return Some(top_of(octave, bucket).clamp(self.least_ns, self.most_ns));
                }
            }
        }
        unreachable!("the buckets hold every time that was counted")
    }

    /// The buckets that hold something: greatest time, and count; from short to long.
    #[must_use]
    pub fn filled(&self) -> Vec<(u64, u64)> {
        let all = self.octaves().flat_map(|(octave, counts)| {
            counts.iter().enumerate().map(move |(bucket, &count)| (top_of(octave, bucket), count))
        });
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Octets of memory beyond the value itself.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.octaves.count_ones() as usize * OCTAVE_OCTETS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quantile_is_at_most_one_in_32_above_the_time_of_its_rank(mut times in prop::collection::vec(any::<u64>(), 1..200), share in 0.0f64..=1.0) {
            let mut delays = DelayHistogram::default();
            for (at, time) in times.iter_mut().enumerate() {
                *time >>= at % 64; // of all sizes
                delays.record(*time);
            }
            times.sort_unstable();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let rank = ((share * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let (exact, estimated) = (times[rank - 1], delays.quantile_ns(share).expect("some"));
            prop_assert!(exact <= estimated && estimated - exact <= exact / 32 + 1, "{} for {}", estimated, exact);
            prop_assert_eq!(delays.filled().iter().map(|(_, count)| count).sum::<u64>(), times.len() as u64);
            prop_assert_eq!((delays.least_ns(), delays.most_ns()), (times.first().copied(), times.last().copied()));
        }
    }

    #[test]
    fn without_a_time_there_is_nothing() {
        let delays = DelayHistogram::default();
        assert_eq!(
            (delays.least_ns(), delays.most_ns(), delays.quantile_ns(0.5)),
            (None, None, None)
        );
        assert_eq!((delays.mean_ns(), delays.held_octets()), (None, 0));
    }
}
