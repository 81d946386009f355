//! Another station's clock, from exchanges on the data path.
//!
//! After Saka (Hughes-Jones and Saka 2000, section on one-way latency): a station sends its time,
//! the other answers with its own, and the other's time belongs to the middle of the exchange; a
//! line through many of these gives offset and drift. Of the exchanges within each interval
//! only the fastest is kept, since it was delayed least.
//!
//! The error is bounded. The answer was made at some time within the exchange, so one exchange is
//! wrong by half its round trip at most, however unequal the two paths are. The fitted line is a weighted sum
//! of exchanges, so it is wrong by the sum of their bounds, weighted by the sizes of their weights,
//! at most. This bound is the stated uncertainty. It is not a probability, and has two assumptions:
//! both clocks run evenly during the exchanges, and times are taken at the stated points. Exchanges
//! that contradict the line beyond their bounds are counted, and refute the assumptions.

pub mod rounds;

use crate::skewed_clock::between_ns;

/// A request and its answer: four readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When the request was sent, by our clock.
    pub requested_ns: u64,
    /// When it arrived, by the other's.
    pub received_ns: u64,
    /// When it was answered, by the other's.
    pub answered_ns: u64,
    /// When the answer arrived, by our clock.
    pub returned_ns: u64,
}

/// Reason why exchanges determine no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// A line needs two points of different times.
    #[error("{usable} usable exchanges in different pieces of the time are too few, 2 are needed")]
    TooFew {
        /// Those there are.
        usable: usize,
    },
}

/// A kept exchange, relative to the reference time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_field_names, reason = "the unit is part of every name")]
struct Sample {
    at_ns: f64,
    offset_ns: f64,
    /// Half the round trip: it is wrong by no more.
    bound_ns: f64,
}

/// The relation of another station's clock to ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    reference_ns: u64,
    /// How far the other's clock is ahead at the reference time, whole nanoseconds and the rest, so
    /// that a day's offset does not cost precision.
    ahead_whole_ns: i64,
    offset_rest_ns: f64,
    drift: f64,
    samples: Vec<Sample>,
    mean_at_ns: f64,
    weight_sum: f64,
    spread: f64,
}

/// Intervals, of each of which the fastest exchange is kept.
pub const PIECES: usize = 64;

impl Relation {
    /// Fit a line to exchanges, in any order.
    ///
    /// An exchange whose answer took longer than the exchange, or whose times are more than a
    /// day apart, is left out.
    ///
    /// # Errors
    /// If fewer than two intervals have a usable exchange.
    pub fn fitted(exchanges: &[Exchange]) -> Result<Self, ClockError> {
        let Some(first) = exchanges.first() else { return Err(ClockError::TooFew { usable: 0 }) };
        let reference_ns = first.requested_ns;
        let ahead_whole_ns = between_ns(first.requested_ns, first.received_ns);
        let usable: Vec<Sample> = exchanges
            .iter()
            .filter_map(|exchange| sample(exchange, reference_ns, ahead_whole_ns))
            .collect();
        let samples = fastest_of_pieces(&usable);
        if samples.len() < 2 {
            return Err(ClockError::TooFew { usable: samples.len() });
        }
        let mut relation = Self {
            reference_ns,
            ahead_whole_ns,
            offset_rest_ns: 0.0,
            drift: 0.0,
            samples,
            mean_at_ns: 0.0,
            weight_sum: 0.0,
            spread: 0.0,
        };
        relation.fit();
        Ok(relation)
    }

    fn fit(&mut self) {
        let weighted = |of: &dyn Fn(&Sample) -> f64| {
            self.samples.iter().map(|s| weight(s) * of(s)).sum::<f64>()
        };
        let weight_sum = weighted(&|_| 1.0);
        let mean_at_ns = weighted(&|s| s.at_ns) / weight_sum;
        let mean_offset_ns = weighted(&|s| s.offset_ns) / weight_sum;
        let spread = weighted(&|s| square(s.at_ns - mean_at_ns));
        let drift = weighted(&|s| (s.at_ns - mean_at_ns) * (s.offset_ns - mean_offset_ns)) / spread;
        (self.weight_sum, self.mean_at_ns, self.spread) = (weight_sum, mean_at_ns, spread);
        (self.drift, self.offset_rest_ns) = (drift, mean_offset_ns - drift * mean_at_ns);
    }

    /// By how many nanoseconds the other's clock gains on ours each nanosecond.
    #[must_use]
    pub fn drift(&self) -> f64 {
        self.drift
    }

    /// Largest error of the drift.
    #[must_use]
    pub fn drift_uncertainty(&self) -> f64 {
        self.samples.iter().map(|s| self.drift_weight(s).abs() * s.bound_ns).sum()
    }

    /// How far the other's clock is ahead of ours when ours shows `at_ns`, in nanoseconds.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // readings differ by less than 2^47
    pub fn offset_ns(&self, at_ns: u64) -> f64 {
        self.ahead_whole_ns as f64 + self.rest_ns(self.since_reference_ns(at_ns))
    }

    /// Largest error of [`Relation::offset_ns`].
    #[must_use]
    pub fn uncertainty_ns(&self, at_ns: u64) -> f64 {
        self.bound_at_ns(self.since_reference_ns(at_ns))
    }

    /// The time by our clock when the other's shows `other_ns`.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // below 2^47 ns, to the next nanosecond
    pub fn own_ns(&self, other_ns: u64) -> u64 {
        let since_ns = between_ns(
            self.reference_ns,
            other_ns.wrapping_sub(self.ahead_whole_ns.cast_unsigned()),
        ) as f64;
        // other = own + rest + drift * own, all since the reference
        let own_ns = (since_ns - self.offset_rest_ns) / (1.0 + self.drift);
        self.reference_ns.wrapping_add_signed(own_ns.round() as i64) & ((1 << 48) - 1)
    }

    /// Kept exchanges.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.samples.len()
    }

    /// The round trip of the fastest, without the other's time to answer.
    #[must_use]
    pub fn fastest_round_trip_ns(&self) -> f64 {
        2.0 * self.samples.iter().map(|s| s.bound_ns).fold(f64::INFINITY, f64::min)
    }

    /// Kept exchanges that lie farther from the line than their bound and the line's together: with
    /// even clocks there are none.
    #[must_use]
    pub fn contradictions(&self) -> usize {
        let contradicts = |s: &&Sample| {
            (s.offset_ns - self.rest_ns(s.at_ns)).abs() > s.bound_ns + self.bound_at_ns(s.at_ns)
        };
        self.samples.iter().filter(contradicts).count()
    }

    #[allow(clippy::cast_precision_loss)] // readings differ by less than 2^47
    fn since_reference_ns(&self, at_ns: u64) -> f64 {
        between_ns(self.reference_ns, at_ns) as f64
    }

    fn rest_ns(&self, since_ns: f64) -> f64 {
        self.offset_rest_ns + self.drift * since_ns
    }

    fn bound_at_ns(&self, since_ns: f64) -> f64 {
        let from_mean_ns = since_ns - self.mean_at_ns;
        let of = |s: &Sample| weight(s) / self.weight_sum + self.drift_weight(s) * from_mean_ns;
        self.samples.iter().map(|s| of(s).abs() * s.bound_ns).sum()
    }

    /// Weight of a sample in the drift.
    fn drift_weight(&self, sample: &Sample) -> f64 {
        weight(sample) * (sample.at_ns - self.mean_at_ns) / self.spread
    }
}

/// The slower, the less an exchange counts: as its square, as if its bound were a standard
/// deviation.
fn weight(sample: &Sample) -> f64 {
    1.0 / square(sample.bound_ns)
}

/// Without a power function, whose last bit may differ between machines.
fn square(ns: f64) -> f64 {
    ns * ns
}

#[allow(clippy::cast_precision_loss)] // differences below a day: exact to far below a nanosecond
fn sample(exchange: &Exchange, reference_ns: u64, ahead_whole_ns: i64) -> Option<Sample> {
    const DAY_NS: i64 = 86_400_000_000_000;
    let Exchange { requested_ns, received_ns, answered_ns, returned_ns } = *exchange;
    let whole_ns = between_ns(requested_ns, returned_ns);
    let turn_ns = between_ns(received_ns, answered_ns);
    let at_ns = between_ns(reference_ns, requested_ns);
    if !(0..DAY_NS).contains(&whole_ns)
        || !(0..=whole_ns).contains(&turn_ns)
        || at_ns.abs() > DAY_NS
    {
        return None;
    }
    let there_ns = between_ns(requested_ns, received_ns).checked_sub(ahead_whole_ns)?;
    let back_ns = between_ns(returned_ns, answered_ns).checked_sub(ahead_whole_ns)?;
    Some(Sample {
        at_ns: at_ns as f64 + whole_ns as f64 / 2.0,
        offset_ns: f64::midpoint(there_ns as f64, back_ns as f64),
        // One nanosecond for four times that are rounded down.
        bound_ns: (whole_ns - turn_ns) as f64 / 2.0 + 1.0,
    })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // a piece below PIECES
fn fastest_of_pieces(usable: &[Sample]) -> Vec<Sample> {
    let begin_ns = usable.iter().map(|s| s.at_ns).fold(f64::INFINITY, f64::min);
    let end_ns = usable.iter().map(|s| s.at_ns).fold(f64::NEG_INFINITY, f64::max);
    let mut fastest: [Option<Sample>; PIECES] = [None; PIECES];
    for sample in usable {
        let share = (sample.at_ns - begin_ns) / (end_ns - begin_ns); // not a number if there is one time only; then it is piece 0
        let piece = &mut fastest[((share * PIECES as f64) as usize).min(PIECES - 1)];
        if piece.is_none_or(|so_far| sample.bound_ns < so_far.bound_ns) {
            *piece = Some(*sample);
        }
    }
    fastest.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skewed_clock::SkewedClock;
    use crate::{Purpose, Stream};
    use proptest::prelude::*;

    const US: f64 = 1e3;

    /// A path with a fixed and a random time in each direction, in nanoseconds.
    struct Path {
        there: (f64, f64),
        turn: (f64, f64),
        back: (f64, f64),
    }

    /// Exchanges one a millisecond, and the host's time of the last.
    fn exchanges(
        ours: SkewedClock,
        others: SkewedClock,
        path: &Path,
        count: usize,
        seed: u64,
    ) -> (Vec<Exchange>, u64) {
        let mut chance = Stream::new(seed, 0, Purpose::Service);
        let mut takes = |(fixed, random): (f64, f64)| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let ns = (fixed - random * chance.unit().ln()) as u64;
            ns
        };
        let mut host_ns = 77_000_000_000;
        let exchanges = (0..count)
            .map(|_| {
                host_ns += 1_000_000;
                let received_host_ns = host_ns + takes(path.there);
                let answered_host_ns = received_host_ns + takes(path.turn);
                Exchange {
                    requested_ns: ours.reading_at(host_ns),
                    received_ns: others.reading_at(received_host_ns),
                    answered_ns: others.reading_at(answered_host_ns),
                    returned_ns: ours.reading_at(answered_host_ns + takes(path.back)),
                }
            })
            .collect();
        (exchanges, host_ns)
    }

    #[allow(clippy::cast_possible_wrap)]
    fn skewed_clocks(seed: u64) -> (SkewedClock, SkewedClock) {
        let mut chance = Stream::new(seed, 1, Purpose::Begin);
        let mut other = || SkewedClock {
            epoch_ns: chance.below(1 << 40),
            offset_ns: chance.below(2_000_000_001) as i64 - 1_000_000_000,
            drift_ns_per_s: chance.below(200_001) as i64 - 100_000,
        };
        // Ours is as wrong as the other's: only the relation can be known.
        (other(), other())
    }

    #[allow(clippy::cast_precision_loss)]
    fn true_offset_ns(ours: SkewedClock, others: SkewedClock, host_ns: u64) -> f64 {
        between_ns(ours.reading_at(host_ns), others.reading_at(host_ns)) as f64
    }

    const UNEQUAL: Path = Path {
        there: (2.0 * US, 30.0 * US),
        turn: (1.0 * US, 2.0 * US),
        back: (6.0 * US, 5.0 * US),
    };

    #[test]
    fn the_stated_uncertainty_covers_the_error_in_every_one_of_a_thousand_trials_with_unequal_jitter()
     {
        let mut widest_ns: f64 = 0.0;
        for seed in 0..1000 {
            let (ours, others) = skewed_clocks(seed);
            let (exchanges, end_ns) = exchanges(ours, others, &UNEQUAL, 1000, seed);
            let relation = Relation::fitted(&exchanges).expect("enough exchanges");
            // at the begin, in the middle, at the end, and a second later
            for host_ns in
                [end_ns - 1_000_000_000, end_ns - 500_000_000, end_ns, end_ns + 1_000_000_000]
            {
                let at_ns = ours.reading_at(host_ns);
                let error_ns = relation.offset_ns(at_ns) - true_offset_ns(ours, others, host_ns);
                // Readings are rounded to a nanosecond each.
                assert!(
                    error_ns.abs() <= relation.uncertainty_ns(at_ns) + 2.0,
                    "{seed}: {error_ns}"
                );
            }
            let others_drift = (1.0 + drift_of(others)) / (1.0 + drift_of(ours)) - 1.0;
            assert!(
                (relation.drift() - others_drift).abs() <= relation.drift_uncertainty(),
                "{seed}"
            );
            assert_eq!(relation.contradictions(), 0);
            widest_ns =
                widest_ns.max(relation.uncertainty_ns(ours.reading_at(end_ns - 500_000_000)));
        }
        // In the middle weights are all positive. 15 exchanges an interval; the fixed paths are 8 us,
        // the least of 15 random times about 4 us more: so about 6 us, and certainly not half of a
        // typical round trip of 43 us.
        assert!(widest_ns < 10.0 * US, "{widest_ns}");
    }

    #[allow(clippy::cast_precision_loss)]
    fn drift_of(clock: SkewedClock) -> f64 {
        clock.drift_ns_per_s as f64 * 1e-9
    }

    #[test]
    fn a_wholly_unequal_path_is_covered_and_only_just() {
        // There at once, back in 20 us: every exchange is wrong by half of that, which is what is
        // stated.
        let path = Path { there: (0.0, 0.0), turn: (1.0 * US, 0.0), back: (20.0 * US, 0.0) };
        let (ours, others) = skewed_clocks(3);
        let (exchanges, end_ns) = exchanges(ours, others, &path, 500, 3);
        let relation = Relation::fitted(&exchanges).expect("enough exchanges");
        let middle_ns = end_ns - 250_000_000;
        let error_ns = relation.offset_ns(ours.reading_at(middle_ns))
            - true_offset_ns(ours, others, middle_ns);
        let uncertainty_ns = relation.uncertainty_ns(ours.reading_at(middle_ns));
        assert!(
            error_ns.abs() <= uncertainty_ns + 2.0 && error_ns.abs() > 0.98 * uncertainty_ns,
            "{error_ns} {uncertainty_ns}"
        );
    }

    #[test]
    fn a_clock_that_is_set_during_the_exchanges_contradicts_itself() {
        let (ours, others) = skewed_clocks(4);
        let set = SkewedClock { offset_ns: others.offset_ns + 5_000_000, ..others };
        let (mut before, _) = exchanges(ours, others, &UNEQUAL, 400, 4);
        let (after, _) = exchanges(ours, set, &UNEQUAL, 800, 5);
        before.extend_from_slice(&after[400..]);
        assert!(Relation::fitted(&before).expect("enough exchanges").contradictions() > 0);
    }

    #[test]
    fn one_time_is_too_few() {
        let exchange = Exchange { requested_ns: 1, received_ns: 2, answered_ns: 3, returned_ns: 4 };
        assert_eq!(Relation::fitted(&[]), Err(ClockError::TooFew { usable: 0 }));
        assert_eq!(Relation::fitted(&[exchange; 5]), Err(ClockError::TooFew { usable: 1 }));
    }

    #[test]
    fn there_and_back_between_clocks_is_the_same_time() {
        let (ours, others) = skewed_clocks(6);
        let (exchanges, end_ns) = exchanges(ours, others, &UNEQUAL, 1000, 6);
        let relation = Relation::fitted(&exchanges).expect("enough exchanges");
        let own_ns = ours.reading_at(end_ns);
        #[allow(clippy::cast_possible_truncation)]
        let other_ns =
            own_ns.wrapping_add_signed(relation.offset_ns(own_ns).round() as i64) & ((1 << 48) - 1);
        assert!(between_ns(own_ns, relation.own_ns(other_ns)).abs() <= 1);
    }

    proptest! {
        #[test]
        fn no_times_make_fitting_panic(times in proptest::collection::vec(any::<[u64; 4]>(), 0..20)) {
            let exchanges: Vec<Exchange> = times
                .into_iter()
                .map(|[requested_ns, received_ns, answered_ns, returned_ns]| Exchange { requested_ns, received_ns, answered_ns, returned_ns })
                .collect();
            if let Ok(relation) = Relation::fitted(&exchanges) {
                let _ = (relation.own_ns(0), relation.offset_ns(u64::MAX), relation.uncertainty_ns(1), relation.contradictions());
            }
        }
    }
}
