//! The time that a station puts on the wire: that of a clock with an offset and a drift for tests.

/// Times on the wire are modulo 2^48 ns.
const READING_BITS: u32 = 48;
const READING_MASK: u64 = (1 << READING_BITS) - 1;

/// A host's time since an epoch, with an artificial offset and drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkewedClock {
    /// The host's time at which a true clock reads 0.
    pub epoch_ns: u64,
    /// How far it is ahead at the epoch.
    pub offset_ns: i64,
    /// By how many nanoseconds it gains each second.
    pub drift_ns_per_s: i64,
}

impl SkewedClock {
    /// A true clock from `epoch_ns` on.
    #[must_use]
    pub const fn of_epoch(epoch_ns: u64) -> Self {
        Self { epoch_ns, offset_ns: 0, drift_ns_per_s: 0 }
    }

    /// What the clock reads at the host's time `host_ns`, modulo 2^48 ns.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)] // less than 64 bits of nanoseconds are meant
    pub fn reading_at(&self, host_ns: u64) -> u64 {
        let since_ns = host_ns.wrapping_sub(self.epoch_ns).cast_signed();
        let gained_ns = if self.drift_ns_per_s == 0 {
            0 // by far the commonest, and free of a division of 128 bits
        } else {
            (i128::from(since_ns) * i128::from(self.drift_ns_per_s)).div_euclid(1_000_000_000)
                as i64
        };
        since_ns.wrapping_add(self.offset_ns).wrapping_add(gained_ns).cast_unsigned() & READING_MASK
    }
}

/// From `earlier` to `later`, two readings less than 2^47 ns apart; negative if they are the other way
/// round.
#[inline]
#[must_use]
pub const fn between_ns(earlier: u64, later: u64) -> i64 {
    // The sign of the difference modulo 2^48 is its 48th bit.
    (later.wrapping_sub(earlier).cast_signed() << (64 - READING_BITS)) >> (64 - READING_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differences_of_readings_are_those_of_times(epoch: u64, start: u64, step in -(1i64 << 47)..(1i64 << 47), offset: i64) {
            let clock = SkewedClock { offset_ns: offset, ..SkewedClock::of_epoch(epoch) };
            let later = start.wrapping_add_signed(step);
            prop_assert_eq!(between_ns(clock.reading_at(start), clock.reading_at(later)), step);
        }
    }

    #[test]
    fn a_clock_that_gains_is_ahead_by_its_drift() {
        let clock = SkewedClock { epoch_ns: 5, offset_ns: 1000, drift_ns_per_s: 100_000 };
        assert_eq!(clock.reading_at(5), 1000);
        assert_eq!(clock.reading_at(5 + 2_000_000_000), 2_000_000_000 + 1000 + 200_000);
        let losing = SkewedClock { drift_ns_per_s: -1, ..clock };
        assert_eq!(losing.reading_at(6), 1000); // rounded down: one of a thousand million is not yet lost in full, but begun
    }
}
