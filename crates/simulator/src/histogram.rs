//! Histograms of times with a fixed relative width: 128 buckets an octave, below 0.8% of the value.

const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;
const BUCKETS: usize = ((64 - SUB_BITS as usize) + 1) << SUB_BITS;

/// Counts of times in picoseconds, after the layout of the HDR histogram (G. Tene).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS] }
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation)] // below BUCKETS
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
    /// Count a time.
    #[inline]
    pub fn record(&mut self, ps: u64) {
        self.counts[bucket_of(ps)] += 1;
    }

    /// Count a time as often as `times` says.
    #[inline]
    pub fn record_many(&mut self, ps: u64, times: u64) {
        self.counts[bucket_of(ps)] += times;
    }

    /// The buckets that hold something: lowest time, lowest time of the next bucket, count.
    #[must_use]
    pub fn filled(&self) -> Vec<(u64, u64, u64)> {
        (0u64..)
            .zip(&self.counts)
            .filter(|(_, &count)| count > 0)
            .map(|(bucket, &count)| (lowest_of(bucket), lowest_of(bucket + 1), count))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_falls_between_the_bounds_of_its_bucket() {
        for ps in (0..2000).chain((0..62).flat_map(|e| [(1u64 << e) - 1, 1 << e, (1 << e) + 1, 3 << e])) {
            let bucket = bucket_of(ps) as u64;
            let (low, high) = (lowest_of(bucket), lowest_of(bucket + 1));
            assert!(low <= ps && ps < high, "{ps} in {low}..{high}");
            assert!(high - low == 1 || (high - low) * SUB <= low, "{ps} in {low}..{high}");
        }
    }
}
