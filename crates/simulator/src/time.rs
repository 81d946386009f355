//! Simulated time in picoseconds.
//!
//! Both types are signed inside: times are compared in bulk, and processors compare signed numbers
//! best.

use ethermeter_ethernet::units::{Bits, Octets};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Rem, Sub, SubAssign};

/// A time beyond every simulated one, and far from overflow.
const BEYOND: i64 = 1 << 62;

/// A point in simulated time.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

/// How long something takes; the difference of two instants may be negative.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Instant {
    /// When simulated time begins.
    pub const ZERO: Self = Self(0);
    /// When what never happens happens: after every simulated instant.
    pub const NEVER: Self = Self(BEYOND);
    /// Before every simulated instant.
    pub const PAST: Self = Self(-BEYOND);

    /// So many picoseconds after the begin. They were checked to be at most 2^62.
    #[inline]
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(Span::from_ps(ps).0)
    }

    /// Picoseconds since the begin.
    #[inline]
    #[must_use]
    pub const fn ps(self) -> u64 {
        Span(self.0).ps()
    }

    /// The same of any number of picoseconds, at most [`Self::NEVER`].
    #[inline]
    #[must_use]
    pub fn saturating_from_ps(ps: u64) -> Self {
        Self::from_ps(ps.min(Self::NEVER.ps()))
    }

    /// So much later, at most [`Self::NEVER`].
    #[inline]
    #[must_use]
    pub fn saturating_add(self, span: Span) -> Self {
        (self + span).min(Self::NEVER)
    }

    /// Whether it never comes.
    #[inline]
    #[must_use]
    pub const fn is_never(self) -> bool {
        self.0 >= BEYOND
    }
}

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The shortest time.
    pub const PICOSECOND: Self = Self(1);
    /// Longer than every simulation.
    pub const ENDLESS: Self = Self(BEYOND);

    /// So many picoseconds. They were checked to be at most 2^62.
    #[inline]
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        debug_assert!(ps <= BEYOND.unsigned_abs());
        Self(ps.cast_signed())
    }

    /// So many picoseconds, fewer than none in the other direction.
    #[inline]
    #[must_use]
    pub const fn from_signed_ps(ps: i64) -> Self {
        Self(ps)
    }

    /// Its picoseconds, of a difference that may be negative.
    #[inline]
    #[must_use]
    pub const fn signed_ps(self) -> i64 {
        self.0
    }

    /// Its picoseconds.
    #[inline]
    #[must_use]
    pub const fn ps(self) -> u64 {
        debug_assert!(self.0 >= 0);
        self.0.cast_unsigned()
    }

    /// How long it is in either direction.
    #[inline]
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.abs())
    }

    /// Its picoseconds for a mean or a share; exact below 2^53.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // as documented
    pub const fn to_f64(self) -> f64 {
        self.0 as f64
    }

    /// To the nearest picosecond, at most [`Self::ENDLESS`].
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)] // the conversion saturates
    pub fn from_f64(ps: f64) -> Self {
        let rounded = ps.round() as i64;
        if rounded < BEYOND { Self(rounded) } else { Self::ENDLESS }
    }

    /// So many of them, at most [`Self::ENDLESS`].
    #[inline]
    #[must_use]
    pub const fn saturating_mul(self, count: u64) -> Self {
        let ps = self.ps().saturating_mul(count);
        if ps < Self::ENDLESS.ps() { Self::from_ps(ps) } else { Self::ENDLESS }
    }

    /// How many whole periods it has; neither is negative.
    #[inline]
    #[must_use]
    pub const fn periods(self, period: Self) -> u64 {
        self.ps() / period.ps()
    }

    /// `numerator` of `denominator` equal parts of it, rounded down.
    ///
    /// # Panics
    /// If the result is longer than 2^64 ps.
    #[must_use]
    pub fn fraction(self, numerator: usize, denominator: usize) -> Self {
        let ps = u128::from(self.ps()) * numerator as u128 / denominator as u128;
        Self::from_ps(u64::try_from(ps).expect("a fraction is not longer than the whole"))
    }
}

impl Add<Span> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Span> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Self;

    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(self.0 - span.0)
    }
}

impl Sub for Instant {
    type Output = Span;

    #[inline]
    fn sub(self, before: Self) -> Span {
        Span(self.0 - before.0)
    }
}

impl Add for Span {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Span {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Mul<u64> for Span {
    type Output = Self;

    #[inline]
    fn mul(self, count: u64) -> Self {
        Self(self.0 * count.cast_signed())
    }
}

/// Of the duration of a bit: that of several.
impl Mul<Bits> for Span {
    type Output = Self;

    #[inline]
    fn mul(self, length: Bits) -> Self {
        self * length.0
    }
}

/// Of the duration of an octet: that of several.
impl Mul<Octets> for Span {
    type Output = Self;

    #[inline]
    fn mul(self, length: Octets) -> Self {
        self * length.0
    }
}

/// One of so many equal parts, rounded down; it is not negative.
impl Div<u64> for Span {
    type Output = Self;

    #[inline]
    fn div(self, parts: u64) -> Self {
        Self::from_ps(self.ps() / parts)
    }
}

impl Rem for Span {
    type Output = Self;

    #[inline]
    fn rem(self, other: Self) -> Self {
        Self(self.0 % other.0)
    }
}

impl Sum for Span {
    #[inline]
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}
