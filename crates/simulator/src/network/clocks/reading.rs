//! Delays of a stream as its hosts' clocks show them.

use super::clock::Clock;
use super::comparison::Verdict;
use crate::identity::FlowId;
use crate::time::{Instant, Span};
use ethermeter_traffic::Histogram;
use ethermeter_trial::counts::{ClockDelays, ClockPair, SignedDelays, SynchronisedDelays};

/// Times of either sign, in picoseconds: how many, their sum, and how they are distributed. Buckets
/// are as narrow as a histogram's about a time that all are near to, since clocks that differ by a
/// second would make them as wide as milliseconds.
#[derive(Debug)]
struct Spread {
    about: Span,
    count: u64,
    sum: i128,
    above: Histogram,
    /// Of many spreads nothing is below.
    below: Option<Histogram>,
}

impl Spread {
    fn new(about: Span) -> Self {
        Self { about, count: 0, sum: 0, above: Histogram::default(), below: None }
    }

    #[inline]
    fn record(&mut self, delay: Span) {
        self.count += 1;
        self.sum += i128::from(delay.signed_ps());
        let apart = delay - self.about;
        let side =
            if apart >= Span::ZERO { &mut self.above } else { self.below.get_or_insert_default() };
        side.record(apart.abs().ps());
    }

    fn finish(&self) -> SignedDelays {
        let about = self.about.signed_ps();
        let bucket =
            |(low, high, count): (u64, u64, u64)| (low.cast_signed(), high.cast_signed(), count);
        let below = self.below.iter().flat_map(Histogram::filled).rev().map(bucket);
        let above = self.above.filled().into_iter().map(bucket);
        // Below, a bucket's greatest distance is its earliest time.
        let buckets = below
            .map(|(low, high, count)| (about - high + 1, about - low + 1, count))
            .chain(above.map(|(low, high, count)| (about + low, about + high, count)));
        SignedDelays { count: self.count, sum_ps: self.sum, buckets: buckets.collect() }
    }
}

/// What a receiver reads of the messages of a stream.
#[derive(Debug)]
pub(super) struct Reading {
    flow: FlowId,
    sender: Clock,
    receiver: Clock,
    clock: Spread,
    /// Number of the comparison that tells its delays, and these.
    compared: Option<(u32, Spread)>,
    unrelated: u64,
    before_sent: u64,
    error_most_ps: u64,
}

impl Reading {
    /// From `measure_from` on, by the clocks of a sender and a receiver.
    pub fn new(
        flow: FlowId,
        (sender, receiver): (Clock, Clock),
        measure_from: Instant,
        comparison: Option<u32>,
    ) -> Self {
        Self {
            flow,
            sender,
            receiver,
            // By so much the clocks differ when the window begins.
            clock: Spread::new(receiver.reading_at(measure_from) - sender.reading_at(measure_from)),
            compared: comparison.map(|number| (number, Spread::new(Span::ZERO))),
            unrelated: 0,
            before_sent: 0,
            error_most_ps: 0,
        }
    }

    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// Number of the comparison that tells its delays.
    pub fn comparison(&self) -> Option<u32> {
        self.compared.as_ref().map(|(number, _)| *number)
    }

    #[inline]
    pub fn record(&mut self, born: Instant, now: Instant) {
        self.clock.record(self.receiver.reading_at(now) - self.sender.reading_at(born));
    }

    /// What a comparison says of a message.
    #[inline]
    pub fn compare(&mut self, verdict: &Verdict) {
        let Some((_, compared)) = &mut self.compared else { return };
        let Some(measured) = verdict.delay_ns.map(|ns| Span::from_signed_ps(ns * 1000)) else {
            self.unrelated += 1;
            return;
        };
        compared.record(measured);
        self.before_sent += u64::from(measured < Span::ZERO);
        self.error_most_ps = self.error_most_ps.max((measured - verdict.true_delay).abs().ps());
    }

    pub fn outcome(&self, comparisons: &[ClockPair]) -> ClockDelays {
        let synchronised = self.compared.as_ref().map(|(number, delays)| {
            let estimate = comparisons[*number as usize].estimate;
            SynchronisedDelays {
                delays: delays.finish(),
                unrelated: self.unrelated,
                before_sent: self.before_sent,
                error_most_ps: self.error_most_ps,
                estimate,
                delay_uncertainty_ns: estimate.and_then(|estimate| estimate.delay_uncertainty_ns),
                contradictions: estimate.map_or(0, |estimate| estimate.contradictions as u64),
            }
        });
        ClockDelays { clock: self.clock.finish(), synchronised }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_about_a_second_keep_their_picoseconds_and_their_sign() {
        let mut spread = Spread::new(Span::from_ps(1_000_000_000_000));
        for apart in [-300, -261, -1, 0, 5, 5] {
            spread.record(Span::from_signed_ps(1_000_000_000_000 + apart));
        }
        let found = spread.finish();
        assert_eq!((found.count, found.sum_ps), (6, 6 * 1_000_000_000_000 - 552));
        let about: Vec<(i64, i64, u64)> = found
            .buckets
            .iter()
            .map(|&(low, high, n)| (low - 1_000_000_000_000, high - 1_000_000_000_000, n))
            .collect();
        // From 256 on buckets are two wide: 260 and 261, so -261 and -260. The earliest time is exact.
        let expected = [(-300, -299, 1), (-261, -259, 1), (-1, 0, 1), (0, 1, 1), (5, 6, 2)];
        assert_eq!(about, expected);
    }
}
