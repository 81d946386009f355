//! The time that a station puts on the wire: its face, which tests may set wrong.

/// Times on the wire are modulo 2^48 ns.
const FACE_BITS: u32 = 48;
const FACE_MASK: u64 = (1 << FACE_BITS) - 1;

/// How a station's clock looks from outside: the host's time since an epoch, with an artificial
/// offset and drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    /// The host's time at which the face of a true clock shows 0.
    pub epoch_ns: u64,
    /// How far it is ahead at the epoch.
    pub offset_ns: i64,
    /// By how many nanoseconds it gains each second.
    pub drift_ns_per_s: i64,
}

impl Face {
    /// A true clock from `epoch_ns` on.
    #[must_use]
    pub const fn of_epoch(epoch_ns: u64) -> Self {
        Self { epoch_ns, offset_ns: 0, drift_ns_per_s: 0 }
    }

    /// What the face shows at the host's time `host_ns`, modulo 2^48 ns.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)] // less than 64 bits of nanoseconds are meant
    pub fn shows(&self, host_ns: u64) -> u64 {
        let since_ns = host_ns.wrapping_sub(self.epoch_ns).cast_signed();
        let gained_ns = if self.drift_ns_per_s == 0 {
            0 // by far the commonest, and free of a division of 128 bits
        } else {
            (i128::from(since_ns) * i128::from(self.drift_ns_per_s)).div_euclid(1_000_000_000)
                as i64
        };
        since_ns.wrapping_add(self.offset_ns).wrapping_add(gained_ns).cast_unsigned() & FACE_MASK
    }
}

/// From `earlier` to `later`, two faces less than 2^47 ns apart; negative if they are the other way
/// round.
#[inline]
#[must_use]
pub const fn between_ns(earlier: u64, later: u64) -> i64 {
    // The sign of the difference modulo 2^48 is its 48th bit.
    (later.wrapping_sub(earlier).cast_signed() << (64 - FACE_BITS)) >> (64 - FACE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differences_of_faces_are_those_of_times(epoch: u64, start: u64, step in -(1i64 << 47)..(1i64 << 47), offset: i64) {
            let face = Face { offset_ns: offset, ..Face::of_epoch(epoch) };
            let later = start.wrapping_add_signed(step);
            prop_assert_eq!(between_ns(face.shows(start), face.shows(later)), step);
        }
    }

    #[test]
    fn a_clock_that_gains_is_ahead_by_its_drift() {
        let face = Face { epoch_ns: 5, offset_ns: 1000, drift_ns_per_s: 100_000 };
        assert_eq!(face.shows(5), 1000);
        assert_eq!(face.shows(5 + 2_000_000_000), 2_000_000_000 + 1000 + 200_000);
        let losing = Face { drift_ns_per_s: -1, ..face };
        assert_eq!(losing.shows(6), 1000); // rounded down: one of a thousand million is not yet lost in full, but begun
    }
}
