//! Times of one kind, as they are counted.

use crate::time::Span;
use ethermeter_traffic::histogram::Histogram;
use ethermeter_trial::counts::Delays;

/// Times: how many, their sum, and how they are distributed.
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
    pub fn record(&mut self, time: Span) {
        self.count += 1;
        self.sum += u128::from(time.ps());
        self.histogram.record(time.ps());
    }

    /// The same time of so many.
    pub fn record_many(&mut self, time: Span, times: u64) {
        self.count += times;
        self.sum += u128::from(time.ps()) * u128::from(times);
        self.histogram.record_many(time.ps(), times);
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
