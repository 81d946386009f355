//! A token bucket that holds messages back: the shaper of a flow.

use crate::lengths::Lengths;
use crate::times::LONGEST_PS;
use serde::{Deserialize, Serialize};

/// Parts of a bit in which a bucket counts: what a rate in bit/s gives in a picosecond.
const PARTS_PER_BIT: u128 = 1_000_000_000_000;

/// Most that a token bucket holds, in octets.
const MOST_BURST_OCTETS: u64 = 1 << 32;
/// Highest rate of a token bucket, in bits per second.
const MOST_RATE_BPS: u64 = 1_000_000_000_000;

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

/// The fault of a token bucket's rate and size, if any.
#[must_use]
pub fn bucket_fault(rate_bps: u64, burst_octets: u64) -> Option<String> {
    if !(1..=MOST_RATE_BPS).contains(&rate_bps) {
        return Some(format!("rate_bps must be from 1 to {MOST_RATE_BPS}, got {rate_bps}"));
    }
    (!(1..=MOST_BURST_OCTETS).contains(&burst_octets))
        .then(|| format!("burst_octets must be from 1 to {MOST_BURST_OCTETS}, got {burst_octets}"))
}

/// A token bucket that the messages of a source wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shaping {
    /// Bits per second by which it fills.
    pub rate_bps: u64,
    /// Octets that it holds.
    pub burst_octets: u64,
    /// Time from the begin of the source until it is there, full.
    pub phase_ps: u64,
    /// Volume in octets of a message of each length in bits, in rising order of lengths.
    pub volumes: Vec<(u64, u64)>,
}

impl Shaping {
    /// The fault of the token bucket of a source with these lengths, if any.
    #[must_use]
    pub fn fault(&self, frames: &Lengths) -> Option<String> {
        if let Some(what) = bucket_fault(self.rate_bps, self.burst_octets) {
            return Some(what);
        }
        if self.phase_ps > LONGEST_PS {
            return Some(format!("phase_ps must be at most {LONGEST_PS}, got {}", self.phase_ps));
        }
        let lengths = frames.given_bits();
        let is_rising = self.volumes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let has = |bits: &u64| self.volumes.binary_search_by_key(bits, |known| known.0).is_ok();
        if lengths.is_empty() || !is_rising || !lengths.iter().all(has) {
            return Some("volumes must have every fixed length, in rising order".into());
        }
        let longest = self.volumes.iter().map(|(_, octets)| *octets).max().unwrap_or(0);
        (self.burst_octets < longest).then(|| {
            format!("burst_octets must hold the longest message, which has {longest} octets on the wire: preambles, frames and gaps; got {}", self.burst_octets)
        })
    }
}

/// The token bucket of a source, with what its messages take of it.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    bucket: TokenBucket,
    volumes: Vec<(u64, u64)>,
}

impl Shaper {
    /// A bucket of a source that begins at `begin_ps`, and is there `phase_ps` later.
    pub fn new(shaping: &Shaping, begin_ps: u64) -> Self {
        let bucket =
            TokenBucket::new(shaping.rate_bps, shaping.burst_octets, begin_ps + shaping.phase_ps);
        Self { bucket, volumes: shaping.volumes.clone() }
    }

    /// When a message that is ready is released.
    pub fn release(&mut self, bits: u64, ready_ps: u64) -> u64 {
        let known = self.volumes.binary_search_by_key(&bits, |(length, _)| *length);
        let (_, octets) = self.volumes[known.expect("a length of the source")];
        self.bucket.release(octets, ready_ps)
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
