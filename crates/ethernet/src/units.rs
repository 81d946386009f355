//! Units that do not mix.
//!
//! Time is a count of picoseconds: one octet is a whole number of them at every standard rate from
//! 10 Mb/s to 1.6 Tb/s, and 64 bits of them last 213 days.

use std::ops::{Add, AddAssign, Mul, Rem, Sub, SubAssign};

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// A length in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits(pub u64);

/// A length in octets (eight bits each).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Octets(pub u64);

/// How long one bit lasts on the medium, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitTime(pub u64);

impl Octets {
    /// No octet.
    pub const ZERO: Self = Self(0);

    /// The same length in bits.
    #[must_use]
    pub const fn bits(self) -> Bits {
        Bits(self.0 * 8)
    }

    /// How many whole parts of a length it has.
    #[inline]
    #[must_use]
    pub const fn parts(self, part: Self) -> u64 {
        self.0 / part.0
    }

    /// Half as many, rounded down.
    #[inline]
    #[must_use]
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// The sum, at most the largest length.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or nothing if the other is longer.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Octets {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Octets {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Octets {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Octets {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Octets {
    type Output = Self;

    #[inline]
    fn mul(self, count: u64) -> Self {
        Self(self.0 * count)
    }
}

impl Rem for Octets {
    type Output = Self;

    #[inline]
    fn rem(self, other: Self) -> Self {
        Self(self.0 % other.0)
    }
}

impl Add for Bits {
    type Output = Bits;

    fn add(self, other: Bits) -> Bits {
        Bits(self.0 + other.0)
    }
}

impl BitTime {
    /// Picoseconds that `length` takes, or `None` past 64 bits of picoseconds (213 days).
    #[must_use]
    pub const fn ps_for(self, length: Bits) -> Option<u64> {
        self.0.checked_mul(length.0)
    }

    /// Bits per second.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn rate_bps(self) -> f64 {
        PS_PER_S as f64 / self.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_octet_is_eight_bits() {
        assert_eq!(Octets(64).bits() + Bits(32), Bits(544));
    }

    #[test]
    fn a_minimal_packet_at_10_mbps_takes_57_6_us() {
        assert_eq!(BitTime(100_000).ps_for(Octets(72).bits()), Some(57_600_000));
    }

    #[test]
    fn time_beyond_213_days_is_refused() {
        assert_eq!(BitTime(100_000).ps_for(Bits(u64::MAX / 1000)), None);
    }
}
