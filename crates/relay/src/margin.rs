//! How long before a time one must stop sleeping.

/// Learns from how late one wakes: a little more than the latest of late, forgotten slowly.
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    latest_ns: u64,
}

/// Nobody spins longer than this before a time.
pub const LONGEST_NS: u64 = 60_000;
const SHORTEST_NS: u64 = 5_000;
/// What is forgotten at each waking: 1/256 of it, so half of it in 177.
const FORGOTTEN: u32 = 8;

impl Default for Margin {
    /// The longest, until something is known.
    fn default() -> Self {
        Self { latest_ns: LONGEST_NS }
    }
}

impl Margin {
    /// The margin.
    #[inline]
    #[must_use]
    pub fn ns(&self) -> u64 {
        (self.latest_ns + self.latest_ns / 4).clamp(SHORTEST_NS, LONGEST_NS)
    }

    /// A sleep ended `late_ns` after its time.
    #[inline]
    pub fn learn(&mut self, late_ns: u64) {
        self.latest_ns = (self.latest_ns - (self.latest_ns >> FORGOTTEN)).max(late_ns.min(LONGEST_NS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_the_longest_and_shrinks_to_what_is_needed() {
        let mut margin = Margin::default();
        assert_eq!(margin.ns(), LONGEST_NS);
        (0..2000).for_each(|_| margin.learn(8_000));
        assert_eq!(margin.ns(), 10_000);
    }

    #[test]
    fn one_late_waking_is_enough_to_grow_and_none_makes_it_longer_than_the_longest() {
        let mut margin = Margin::default();
        (0..2000).for_each(|_| margin.learn(0));
        // forgetting a 256th of less than 256 ns takes nothing away
        assert_eq!(margin.ns(), SHORTEST_NS);
        margin.learn(30_000);
        assert_eq!(margin.ns(), 37_500);
        margin.learn(u64::MAX);
        assert_eq!(margin.ns(), LONGEST_NS);
    }
}
