//! Values at regular times, as many as there is room for: when it is full, every other one goes and
//! the times between them double.

use crate::report::ReportSeries;

/// Rows that are kept at most.
pub const MOST_ROWS: usize = 1024;

/// Rows of values, each at its time.
#[derive(Clone, Debug)]
pub struct ColumnSeries<T> {
    every_ns: u64,
    next_ns: u64,
    rows: Vec<(u64, T)>,
}

impl<T> ColumnSeries<T> {
    /// Nothing yet; the first row is for `begin_ns`, the next `every_ns` later.
    #[must_use]
    pub fn new(begin_ns: u64, every_ns: u64) -> Self {
        Self { every_ns: every_ns.max(1), next_ns: begin_ns, rows: Vec::new() }
    }

    /// When the next row is due.
    #[must_use]
    pub fn due_ns(&self) -> u64 {
        self.next_ns
    }

    /// Add a row taken at `now_ns`, if one is due; returns whether it was. Times that were missed
    /// are left out.
    pub fn offer(&mut self, now_ns: u64, row: impl FnOnce() -> T) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        if self.rows.len() >= MOST_ROWS {
            // What is counted since the host's start loses no counts by this, only when they
            // arrived.
            let mut index = 0;
            self.rows.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every_ns = self.every_ns.saturating_mul(2);
        }
        self.rows.push((now_ns, row()));
        let missed = (now_ns - self.next_ns) / self.every_ns;
        self.next_ns = self.next_ns.saturating_add(self.every_ns.saturating_mul(missed + 1));
        true
    }

    #[cfg(test)]
    #[must_use]
    pub fn rows(&self) -> &[(u64, T)] {
        &self.rows
    }

    /// The rows by column, at times since `begin_ns`; `columns` makes the columns of all rows.
    pub fn course<C>(
        &self,
        begin_ns: u64,
        columns: impl FnOnce(&[(u64, T)]) -> C,
    ) -> ReportSeries<C> {
        let at_ns: Vec<i64> =
            self.rows.iter().map(|(at_ns, _)| at_ns.wrapping_sub(begin_ns).cast_signed()).collect();
        ReportSeries { every_ns: self.every_ns, at_ns, columns: columns(&self.rows) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_bounded_and_in_order_and_reach_from_begin_to_end(steps in 1u64..20_000, every in 1u64..1000, begin in 0u64..1 << 40) {
            let mut series = ColumnSeries::new(begin, every);
            for step in 0..steps {
                series.offer(begin + step * every, || step);
            }
            let rows = series.rows();
            prop_assert!(rows.len() <= MOST_ROWS && !rows.is_empty());
            prop_assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(rows.iter().all(|(at, step)| *at == begin + step * every));
            prop_assert_eq!(rows[0].0, begin);
            // Half of the room is always in use once it was full, so the last row is not far from
            // the end.
            prop_assert!(steps <= MOST_ROWS as u64 || rows.len() >= MOST_ROWS / 2);
            prop_assert!(begin + (steps - 1) * every - rows[rows.len() - 1].0 <= series.every_ns);
        }
    }

    #[test]
    fn what_was_missed_is_left_out_and_not_made_up_for() {
        let mut series = ColumnSeries::new(100, 10);
        let taken: Vec<bool> =
            [99, 100, 105, 110, 147, 149, 150].map(|now_ns| series.offer(now_ns, || ())).into();
        assert_eq!(taken, [false, true, false, true, true, false, true]);
    }
}
