//! Times of one kind, as they are counted.

use ethermeter_traffic::histogram::Histogram;
use ethermeter_trial::counts::Delays;

/// Times in picoseconds: how many, their sum, and how they are distributed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread {
    count: u64,
    sum: u128,
    histogram: Histogram,
}

impl Spread {
    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    pub fn record(&mut self, ps: u64) {
        self.count += 1;
        self.sum += u128::from(ps);
        self.histogram.record(ps);
    }

    /// The same time of so many.
    pub fn record_many(&mut self, ps: u64, times: u64) {
        self.count += times;
        self.sum += u128::from(ps) * u128::from(times);
        self.histogram.record_many(ps, times);
    }

    pub fn finish(&self) -> Delays {
        Delays {
            count: self.count,
            sum_ps: self.sum,
            max_ps: self.histogram.max_ps(),
            buckets: self.histogram.filled(),
        }
    }
}
