//! Seeded chance: one stream of draws per station and purpose.
//!
//! The generator is `SplitMix64` (Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014): the n-th draw is a function of the stream's key and n alone, so two
//! simulators that process events in different orders see the same draws.

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Purpose of a draw; each station has a stream for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Slots to wait after a collision.
    Backoff = 0,
    /// Host time between the end of a frame and the next.
    Service = 1,
    /// Times of arrival.
    Arrival = 2,
    /// Frame lengths.
    Length = 3,
    /// When a station begins.
    Begin = 4,
    /// Time to fill a buffer.
    Generation = 5,
    /// When a station senses the medium again (idealised worlds).
    Sensing = 6,
    /// Station that sends in a slot of contention (idealised worlds).
    Contention = 7,
    /// Sender of a frame of an infinite population (idealised worlds).
    Assignment = 8,
    /// Reading of a host's clock when the trial begins.
    Clock = 9,
    /// Whether a frame is lost in transit.
    Loss = 10,
    /// Whether a beacon is heard.
    Beacon = 11,
    /// Random service times of a stage.
    Stage = 12,
    /// Calls of a group of stations.
    Call = 13,
}

/// A sequence of uniform 64-bit draws.
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Stream {
    /// The stream of `station` for `purpose` under `seed`.
    #[must_use]
    pub const fn new(seed: u64, station: u32, purpose: Purpose) -> Self {
        let lane = ((station as u64) << 8) | purpose as u64;
        // Two rounds, so that neighbouring stations start at unrelated positions of the sequence.
        Self {
            state: mix(mix(seed.wrapping_add(GOLDEN))
                ^ mix(lane.wrapping_mul(GOLDEN).wrapping_add(GOLDEN))),
        }
    }

    /// The next draw, uniform over all 64-bit values.
    #[inline]
    #[allow(clippy::should_implement_trait)] // endless, so not an iterator
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// The next draw, uniform over `0..bound`; 0 when `bound` is 0. Exact for powers of two, else
    /// biased by less than `bound`/2^64.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the high half of a 128-bit product
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// The next draw, uniform over (0, 1].
    #[inline]
    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// The next draw, exponential with mean `mean_ps`, rounded to picoseconds.
    ///
    /// The logarithm is a portable one, so that every machine draws the same. It is called, so that
    /// what draws by several rules is small enough to be inlined.
    #[inline(never)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is not negative
    pub fn exponential_ps(&mut self, mean_ps: f64) -> u64 {
        (-libm::log(self.unit()) * mean_ps + 0.5) as u64
    }
}

/// A coin that is tossed until it shows heads: many tosses for one draw.
#[derive(Clone, Copy, Debug)]
pub struct Coin {
    tails_per_log: f64, // 1 / ln(1 - p), not positive
}

impl Coin {
    /// A coin that shows heads with probability `heads`, above 0 and at most 1.
    #[must_use]
    pub fn new(heads: f64) -> Self {
        Self { tails_per_log: 1.0 / libm::log1p(-heads) }
    }

    /// How many tails come before the next head: at least k with probability (1 - p)^k.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // rounded down; saturates, and is not negative
    pub fn tails(&self, chance: &mut Stream) -> u64 {
        (libm::log(chance.unit()) * self.tails_per_log) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coin_shows_heads_as_often_as_it_should() {
        for heads in [0.001, 0.3, 0.9] {
            let coin = Coin::new(heads);
            let mut chance = Stream::new(1, 0, Purpose::Contention);
            let n = 100_000;
            #[allow(clippy::cast_precision_loss)]
            let mean = (0..n).map(|_| coin.tails(&mut chance) as f64).sum::<f64>() / f64::from(n);
            // geometric: mean (1 - p)/p, variance (1 - p)/p^2; five standard errors
            let error = ((1.0 - heads) / f64::from(n)).sqrt() / heads;
            assert!((mean - (1.0 - heads) / heads).abs() < 5.0 * error, "{heads}: {mean}");
        }
    }

    #[test]
    fn a_coin_that_always_shows_heads_never_shows_tails() {
        let mut chance = Stream::new(1, 0, Purpose::Contention);
        assert!((0..1000).all(|_| Coin::new(1.0).tails(&mut chance) == 0));
    }

    #[test]
    fn draws_are_splitmix64() {
        // The first outputs of SplitMix64 from state 1234567, as published with its reference code.
        let mut stream = Stream { state: 1_234_567 };
        assert_eq!(stream.next(), 6_457_827_717_110_365_317);
        assert_eq!(stream.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_range_is_filled_evenly() {
        let mut stream = Stream::new(7, 3, Purpose::Backoff);
        let mut counts = [0u32; 8];
        for _ in 0..80_000 {
            counts[usize::try_from(stream.below(8)).expect("below 8")] += 1;
        }
        // chi-squared with 7 degrees of freedom: above 24.3 in one of a thousand seeds; this one is
        // fixed
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 24.3, "{counts:?}");
    }

    #[test]
    fn streams_of_stations_and_purposes_differ() {
        let firsts: std::collections::BTreeSet<u64> = (0..100)
            .flat_map(|s| {
                [Purpose::Backoff, Purpose::Service, Purpose::Arrival]
                    .map(|p| Stream::new(1, s, p).next())
            })
            .collect();
        assert_eq!(firsts.len(), 300);
    }

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn exponential_draws_have_their_mean() {
        let mut stream = Stream::new(1, 0, Purpose::Arrival);
        let n = 100_000;
        let mean = (0..n).map(|_| stream.exponential_ps(1e6) as f64).sum::<f64>() / f64::from(n);
        // five standard errors of a mean of n exponentials
        assert!((mean / 1e6 - 1.0).abs() < 5.0 / f64::from(n).sqrt(), "{mean}");
    }
}
