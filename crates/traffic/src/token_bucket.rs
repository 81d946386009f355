//! A token bucket that holds messages back: the shaper of a flow.

/// Parts of a bit in which a bucket counts: what a rate in bit/s gives in a picosecond.
const PARTS_PER_BIT: u128 = 1_000_000_000_000;

/// A token bucket, full at its begin.
///
/// Volumes are exact, in 10⁻¹² bit; a release is at the first whole picosecond at which the bucket
/// has the volume.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    rate_bps: u128,
    burst: u128,
    level: u128,
    at_ps: u64,
}

impl TokenBucket {
    /// A bucket that fills at a rate from 1 bit/s, and holds so many octets.
    #[must_use]
    pub fn new(rate_bps: u64, burst_octets: u64, begin_ps: u64) -> Self {
        let burst = u128::from(burst_octets) * 8 * PARTS_PER_BIT;
        Self { rate_bps: rate_bps.into(), burst, level: burst, at_ps: begin_ps }
    }

    /// Release a message of so many octets, which the bucket can hold, as soon as it has them, but
    /// not before `earliest_ps` or the last release. Returns when that is.
    #[inline]
    pub fn release(&mut self, octets: u64, earliest_ps: u64) -> u64 {
        let volume = u128::from(octets) * 8 * PARTS_PER_BIT;
        debug_assert!(volume <= self.burst, "a message that the bucket can hold");
        let earliest_ps = earliest_ps.max(self.at_ps);
        self.fill(earliest_ps);
        let missing = volume.saturating_sub(self.level);
        let wait_ps = u64::try_from(missing.div_ceil(self.rate_bps)).unwrap_or(u64::MAX);
        self.fill(earliest_ps.saturating_add(wait_ps));
        self.level = self.level.saturating_sub(volume);
        self.at_ps
    }

    fn fill(&mut self, now_ps: u64) {
        let grown = u128::from(now_ps - self.at_ps) * self.rate_bps;
        self.level = self.burst.min(self.level + grown);
        self.at_ps = now_ps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_burst_passes_at_once_and_what_follows_at_the_rate() {
        // 1 Mb/s is an octet each 8 µs: after 3000 octets at 5, each 1000 take 8 ms.
        let mut bucket = TokenBucket::new(1_000_000, 3000, 5);
        let released = [(); 5].map(|()| bucket.release(1000, 0));
        assert_eq!(released, [5, 5, 5, 8_000_000_005, 16_000_000_005]);
        // A silence fills it up again, and no further.
        let later = 10_000_000_000_000;
        assert_eq!(
            [(); 4].map(|()| bucket.release(1000, later)),
            [later, later, later, later + 8_000_000_000]
        );
    }

    #[test]
    fn a_release_is_never_early_by_a_fraction_of_a_picosecond() {
        // 3 bit/s: the eight bits of an octet take 8/3 s, 2 666 666 666 666.7 ps; a bucket of one
        // octet is full when it is released, a third of a picosecond after it has it.
        let mut bucket = TokenBucket::new(3, 1, 0);
        let released = [(); 4].map(|()| bucket.release(1, 0));
        assert_eq!(released, [0, 2_666_666_666_667, 5_333_333_333_334, 8_000_000_000_001]);
    }

    proptest! {
        #[test]
        fn no_interval_has_more_than_the_burst_and_the_rate(
            rate_bps in 1u64..1 << 40, burst in 1u64..20_000, wishes in proptest::collection::vec((1u64..20_000, 0u64..1 << 36), 1..40),
        ) {
            let mut bucket = TokenBucket::new(rate_bps, burst, 0);
            let mut earliest = 0;
            let released: Vec<(u64, u64)> = wishes.iter().map(|(octets, pause)| {
                let octets = *octets.min(&burst);
                earliest += pause;
                (bucket.release(octets, earliest), octets)
            }).collect();
            for first in 0..released.len() {
                let mut volume = 0;
                for (at, octets) in &released[first..] {
                    volume += u128::from(*octets) * 8 * PARTS_PER_BIT;
                    let most = bucket.burst + u128::from(at - released[first].0) * u128::from(rate_bps);
                    prop_assert!(volume <= most);
                }
            }
        }
    }
}
