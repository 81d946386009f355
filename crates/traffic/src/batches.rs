//! The measured window in equal batches, from which one replication estimates its own error.

/// Counts in each of the equal batches of a measured window.
///
/// Batch k of b reaches from `floor(k w / b)` to before `floor((k + 1) w / b)`, counted from the
/// window's begin, w being its length: whole picoseconds, and none is counted twice. The counts of
/// the latest batch are cached, so access in the order of time, or nearly, hardly ever divides.
#[derive(Clone, Debug)]
pub struct Batches<T> {
    /// The latest batch.
    begin_ps: u64,
    end_ps: u64,
    current: T,
    batch: usize,
    from_ps: u64,
    to_ps: u64,
    /// All batches; the entry of the latest one is out of date.
    counts: Vec<T>,
}

impl<T: Copy + Default> Batches<T> {
    /// `count` batches of the window from `from_ps` to before `to_ps`, nothing counted.
    ///
    /// # Panics
    /// If `count` is 0.
    #[must_use]
    pub fn new(from_ps: u64, to_ps: u64, count: u32) -> Self {
        assert!(count > 0, "a window has at least one batch");
        let counts = vec![T::default(); count as usize];
        Self {
            begin_ps: from_ps,
            end_ps: from_ps,
            current: T::default(),
            batch: 0,
            from_ps,
            to_ps,
            counts,
        }
    }

    /// Counts of the batch in which an instant lies; `None` outside of the window.
    #[inline]
    pub fn at(&mut self, at_ps: u64) -> Option<&mut T> {
        if self.begin_ps <= at_ps && at_ps < self.end_ps {
            return Some(&mut self.current);
        }
        self.turn_to(at_ps)
    }

    #[cold]
    #[allow(clippy::cast_possible_truncation)] // a batch is below their number, its ends are within the window
    fn turn_to(&mut self, at_ps: u64) -> Option<&mut T> {
        if at_ps < self.from_ps || at_ps >= self.to_ps {
            return None;
        }
        let (length, count) = (u128::from(self.to_ps - self.from_ps), self.counts.len() as u128);
        // The last k with floor(k w / b) at or before the instant, so with k w / b before the next
        // picosecond.
        let batch = ((u128::from(at_ps - self.from_ps) + 1) * count - 1) / length;
        self.begin_ps = self.from_ps + (batch * length / count) as u64;
        self.end_ps = self.from_ps + ((batch + 1) * length / count) as u64;
        self.counts[self.batch] = self.current;
        self.batch = batch as usize;
        self.current = self.counts[self.batch];
        Some(&mut self.current)
    }

    /// Counts of each batch, in their order.
    #[must_use]
    pub fn counted(&self) -> Vec<T> {
        let mut counts = self.counts.clone();
        counts[self.batch] = self.current;
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The batch of every picosecond of a window, from the rule as it is written.
    fn expected(from: u64, to: u64, count: u32) -> Vec<usize> {
        let batch = |at: u64| {
            (0..count)
                .rfind(|&k| from + u64::from(k) * (to - from) / u64::from(count) <= at)
                .expect("the first")
        };
        (from..to).map(|at| batch(at) as usize).collect()
    }

    #[test]
    fn every_instant_of_the_window_counts_in_the_batch_that_the_rule_names_in_whatever_order_they_come()
     {
        for (from, to, count) in
            [(0, 7, 7), (5, 105, 20), (5, 108, 20), (1, 1000, 3), (9, 10, 1), (3, 1002, 998)]
        {
            let mut sums = vec![0; count as usize];
            expected(from, to, count).iter().zip(from..).for_each(|(&batch, at)| sums[batch] += at);
            let length = to - from;
            // Forth, back, and in steps that meet each moment once, since 1009 is prime and longer
            // than any of these windows.
            let orders: [fn(u64, u64) -> u64; 3] =
                [|i, _| i, |i, n| n - 1 - i, |i, n| i * 1009 % n];
            for order in orders {
                let mut batches = Batches::<u64>::new(from, to, count);
                for at in (0..length).map(|i| from + order(i, length)) {
                    *batches.at(at).expect("within") += at;
                }
                assert!(batches.at(to).is_none() && batches.at(from.wrapping_sub(1)).is_none());
                assert_eq!(batches.counted(), sums, "{from} {to} {count}");
            }
        }
    }

    #[test]
    fn no_batch_is_longer_than_another_by_more_than_a_picosecond() {
        let mut batches = Batches::<u64>::new(5, 108, 20);
        (5..108).for_each(|at| *batches.at(at).expect("within") += 1);
        let lengths = batches.counted();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&5), Some(&6)));
    }

    #[test]
    fn the_longest_window_does_not_overflow_and_an_empty_one_counts_nothing() {
        let mut batches = Batches::<u8>::new(1, u64::MAX, 1000);
        *batches.at(u64::MAX - 1).expect("the last moment") = 7;
        *batches.at(1).expect("the first moment") = 5;
        assert!(batches.at(0).is_none() && batches.at(u64::MAX).is_none());
        assert_eq!((batches.counted()[0], batches.counted()[999]), (5, 7));
        assert_eq!(Batches::<u8>::new(9, 9, 3).at(9), None);
    }
}
