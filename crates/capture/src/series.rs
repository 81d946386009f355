//! What happened when: slices of time whose number is bounded, since their width doubles whenever
//! there would be too many.

/// Slices that there may be.
pub const MOST_SLICES: usize = 256;
/// Slices that there may be where memory is short.
pub const FEW_SLICES: usize = 32;
/// Width of the slices at first.
pub const FIRST_WIDTH_NS: u64 = 100_000;

/// What one end of a connection, or a flow, did in a slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Packets.
    pub packets: u32,
    /// Of these, sent again.
    pub resent: u32,
    /// Octets of payload.
    pub octets: u64,
    /// Highest number sent so far, from the first on; 0 where nothing was sent in the slice.
    pub sent: u64,
    /// Highest number acknowledged, likewise.
    pub acknowledged: u64,
    /// Highest number that the window allowed, likewise.
    pub edge: u64,
    /// Times from data to acknowledgement: how many ended in the slice, their sum, and the longest.
    pub delays: u32,
    /// Most octets outstanding as the sender knew it.
    pub flight: u32,
    /// See `delays`.
    pub delay_sum_ns: u64,
    /// See `delays`.
    pub delay_most_ns: u64,
}

impl Slice {
    fn add(&mut self, later: &Self) {
        self.packets = self.packets.saturating_add(later.packets);
        self.resent = self.resent.saturating_add(later.resent);
        self.octets = self.octets.saturating_add(later.octets);
        self.sent = self.sent.max(later.sent);
        self.acknowledged = self.acknowledged.max(later.acknowledged);
        self.edge = self.edge.max(later.edge);
        self.delays = self.delays.saturating_add(later.delays);
        self.flight = self.flight.max(later.flight);
        self.delay_sum_ns = self.delay_sum_ns.saturating_add(later.delay_sum_ns);
        self.delay_most_ns = self.delay_most_ns.max(later.delay_most_ns);
    }
}

/// Slices from a beginning on.
#[derive(Clone, Debug, Default)]
pub struct SliceSeries {
    slices: Vec<Slice>,
    /// How often the width was doubled.
    doubled: u32,
    is_short: bool,
}

impl SliceSeries {
    /// The slice of a time after the beginning.
    pub fn at(&mut self, after_ns: u64) -> &mut Slice {
        let most = if self.is_short { FEW_SLICES } else { MOST_SLICES };
        while self.index(after_ns) >= most as u64 {
            self.halve();
        }
        #[allow(clippy::cast_possible_truncation)] // below the number of slices
        let index = self.index(after_ns) as usize;
        if index >= self.slices.len() {
            self.slices.resize(index + 1, Slice::default());
        }
        &mut self.slices[index]
    }

    /// Slices before a time: what is divided is a constant, since that takes a fraction of the
    /// time.
    fn index(&self, after_ns: u64) -> u64 {
        (after_ns >> self.doubled) / FIRST_WIDTH_NS
    }

    /// Say whether memory is short: then there are few slices, and their memory goes back.
    pub fn spare(&mut self, is_short: bool) {
        self.is_short = is_short;
        if is_short && self.slices.len() > FEW_SLICES {
            while self.slices.len() > FEW_SLICES {
                self.halve();
            }
            self.slices.shrink_to(FEW_SLICES);
        }
    }

    fn halve(&mut self) {
        for at in 0..self.slices.len().div_ceil(2) {
            let mut both = self.slices[2 * at];
            if let Some(later) = self.slices.get(2 * at + 1) {
                both.add(later);
            }
            self.slices[at] = both;
        }
        self.slices.truncate(self.slices.len().div_ceil(2));
        // 64 bits of nanoseconds in 32 slices: the width stays below 2^60.
        self.doubled += 1;
    }

    /// Width of a slice.
    #[must_use]
    pub fn width_ns(&self) -> u64 {
        FIRST_WIDTH_NS << self.doubled
    }

    /// The slices, from the beginning on.
    #[must_use]
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// Octets of memory beyond the value itself.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.slices.capacity() * size_of::<Slice>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_is_added_is_there_in_the_slice_of_its_time(times in prop::collection::vec(any::<u64>(), 1..100), shift in 0u32..60) {
            let mut series = SliceSeries::default();
            for time in &times {
                let slice = series.at(time >> shift);
                slice.packets += 1;
                slice.octets += 7;
                slice.sent = slice.sent.max(time >> shift);
            }
            prop_assert!(series.slices().len() <= MOST_SLICES);
            prop_assert_eq!(series.slices().iter().map(|slice| slice.octets).sum::<u64>(), 7 * times.len() as u64);
            for (at, slice) in (0u64..).zip(series.slices()).filter(|(_, slice)| slice.sent > 0) {
                prop_assert_eq!(slice.sent / series.width_ns(), at);
            }
        }
    }

    #[test]
    fn where_memory_is_short_there_are_few_slices_and_nothing_is_lost() {
        let mut series = SliceSeries::default();
        for at in 0..MOST_SLICES as u64 {
            series.at(at * FIRST_WIDTH_NS).packets += 1;
        }
        series.spare(true);
        assert_eq!((series.slices().len(), series.width_ns()), (FEW_SLICES, 8 * FIRST_WIDTH_NS));
        assert!(series.held_octets() <= FEW_SLICES * size_of::<Slice>());
        assert!(series.slices().iter().all(|slice| slice.packets == 8));
        series.at(MOST_SLICES as u64 * FIRST_WIDTH_NS).packets += 1;
        assert_eq!(series.slices().len(), FEW_SLICES / 2 + 1);
    }

    #[test]
    fn short_series_keep_their_first_width() {
        let mut series = SliceSeries::default();
        series.at(FIRST_WIDTH_NS * MOST_SLICES as u64 - 1).packets += 1;
        assert_eq!((series.width_ns(), series.slices().len()), (FIRST_WIDTH_NS, MOST_SLICES));
        series.at(FIRST_WIDTH_NS * MOST_SLICES as u64).packets += 1;
        assert_eq!(
            (series.width_ns(), series.slices().len()),
            (2 * FIRST_WIDTH_NS, MOST_SLICES / 2 + 1)
        );
    }
}
