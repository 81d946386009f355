//! Congestion windows: Reno (RFC 5681) and CUBIC (RFC 9438) with `HyStart`.
//!
//! CUBIC is computed as Linux computes it (`net/ipv4/tcp_cubic.c`): in whole segments, milliseconds
//! and 1/1024 s, with an integer cube root. So it is the same on every machine, and needs no memory
//! beyond this.

use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Octets;
use ethermeter_trial::transfer::{Congestion, Tcp};

const MILLISECOND: Span = Span::from_ps(1_000_000_000);

/// A congestion window.
#[derive(Debug)]
pub(super) struct Window {
    /// Octets of a full segment.
    most: Octets,
    /// The window.
    pub octets: Octets,
    /// Slow start threshold.
    pub threshold: Octets,
    /// Octets acknowledged since congestion avoidance last widened the window.
    credit: Octets,
    byte_counting: bool,
    cubic: Option<Cubic>,
}

impl Window {
    pub fn new(tcp: &Tcp, most: Octets) -> Self {
        Self {
            most,
            octets: most * u64::from(tcp.initial_segments),
            threshold: Octets(u64::MAX),
            credit: Octets::ZERO,
            byte_counting: tcp.byte_counting,
            cubic: (tcp.congestion == Congestion::Cubic).then(|| Cubic::new(tcp.hystart)),
        }
    }

    pub fn is_slow_start(&self) -> bool {
        self.octets < self.threshold
    }

    /// `acked` octets were delivered while the window was the limit.
    pub fn grow(&mut self, now: Instant, mut acked: Octets) {
        if self.is_slow_start() {
            let growth = if self.byte_counting { acked } else { acked.min(self.most) };
            let wider = (self.octets + growth).min(self.threshold);
            acked = growth - (wider - self.octets);
            self.octets = wider;
            if acked == Octets::ZERO {
                return;
            }
        }
        let segments = self.octets.parts(self.most).max(1);
        match &mut self.cubic {
            Some(cubic) => {
                let per_increase = cubic.per_increase(
                    (now - Instant::ZERO).periods(MILLISECOND),
                    segments,
                    acked,
                    self.most,
                );
                self.avoid(acked, self.most * per_increase);
            }
            None if self.byte_counting => self.avoid(acked, self.most * segments),
            // RFC 2581 § 3.1, equation 2.
            None => self.octets += Octets((self.most * self.most.0).parts(self.octets).max(1)),
        }
    }

    /// Widen by a segment for each `needed` octets.
    fn avoid(&mut self, acked: Octets, needed: Octets) {
        if self.credit >= needed {
            self.credit = Octets::ZERO;
            self.octets += self.most;
        }
        self.credit += acked;
        self.octets += self.most * self.credit.parts(needed);
        self.credit = self.credit % needed;
    }

    /// Data were lost with `flight` octets under way: set the threshold.
    pub fn reduce(&mut self, flight: Octets) {
        let kept = match &mut self.cubic {
            Some(cubic) => self.most * cubic.reduce(flight.parts(self.most)),
            None => flight.half(),
        };
        self.threshold = kept.max(self.most * 2);
        self.credit = Octets::ZERO;
    }

    /// The retransmission timer expired: forget what was learnt.
    pub fn forget(&mut self) {
        self.credit = Octets::ZERO;
        if let Some(cubic) = &mut self.cubic {
            *cubic = Cubic::new(cubic.hystart);
        }
    }

    /// An acknowledgement up to `unacknowledged` took `round_trip`; `next` is the first octet not
    /// yet sent.
    pub fn measure(
        &mut self,
        now: Instant,
        round_trip: Span,
        unacknowledged: Octets,
        next: Octets,
    ) {
        let Some(cubic) = &mut self.cubic else { return };
        if cubic.measure(
            now,
            round_trip,
            unacknowledged,
            next,
            (self.octets < self.threshold).then_some(self.octets.parts(self.most)),
        ) {
            self.threshold = self.octets;
        }
    }

    /// There was nothing to send for so long.
    pub fn rest(&mut self, pause: Span) {
        if let Some(cubic) = &mut self.cubic {
            cubic.epoch_ms = cubic.epoch_ms.map(|at| at + pause.periods(MILLISECOND));
        }
    }
}

/// CUBIC, in segments.
#[derive(Debug, Default)]
struct Cubic {
    hystart: bool,
    /// Since when the window has grown without loss.
    epoch_ms: Option<u64>,
    /// The window at the last loss.
    most_window: u64,
    /// The plateau of the cubic function, and when it is reached: after the epoch's begin, in
    /// 1/1024 s.
    origin: u64,
    reached: u64,
    /// Acknowledged segments for one more in the window.
    per_increase: u64,
    computed_for: u64,
    computed_ms: u64,
    /// The window that Reno would have, and octets acknowledged since it last grew.
    reno: u64,
    reno_credit: Octets,
    least_round_trip: Option<Span>,
    start: Start,
}

/// `HyStart` (Ha and Rhee 2011): what a round of slow start has shown.
#[derive(Debug, Default)]
struct Start {
    is_found: bool,
    /// The round ends with the acknowledgement of what is before this.
    until: Octets,
    began: Instant,
    last_acknowledged: Instant,
    least: Option<Span>,
    samples: u32,
}

/// Constants of `tcp_cubic.c`. C = 410/1024, beta = 717/1024.
const BETA: u64 = 717;
const SCALE: u64 = 1024;
const RATE: u64 = 410;
/// 1024 to the fourth: a scale and the cube of the unit of time.
const CUBE: u64 = 1 << 40;
/// 8 (1 + beta) / 3 (1 - beta), of which Reno's growth follows (RFC 9438 § 4.3).
const FRIENDLINESS: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
const START_SEGMENTS: u64 = 16;
const START_SAMPLES: u32 = 8;
const TRAIN_GAP: Span = MILLISECOND.saturating_mul(2);
/// What acknowledgements may be late for being sent together.
const TRAIN_SLACK: Span = MILLISECOND;

impl Cubic {
    fn new(hystart: bool) -> Self {
        Self { hystart, ..Self::default() }
    }

    fn reduce(&mut self, segments: u64) -> u64 {
        self.epoch_ms = None;
        // Fast convergence, RFC 9438 § 4.7.
        self.most_window = if segments < self.most_window {
            segments * (SCALE + BETA) / (2 * SCALE)
        } else {
            segments
        };
        segments * BETA / SCALE
    }

    /// How many acknowledged segments widen the window by one.
    fn per_increase(&mut self, now_ms: u64, window: u64, acked: Octets, most: Octets) -> u64 {
        self.reno_credit += acked;
        if self.computed_for == window && now_ms - self.computed_ms <= 1000 / 32 {
            return self.per_increase.max(2);
        }
        if self.epoch_ms.is_none() || now_ms != self.computed_ms {
            (self.computed_for, self.computed_ms) = (window, now_ms);
            let epoch_ms = *self.epoch_ms.get_or_insert_with(|| {
                (self.reno_credit, self.reno) = (acked, window);
                let below = self.most_window.saturating_sub(window);
                self.reached = cube_root(CUBE / RATE * below);
                self.origin = window.max(self.most_window);
                now_ms
            });
            self.per_increase = self.cubic_per_increase(now_ms.saturating_sub(epoch_ms), window);
        }
        let needed = most * ((window * FRIENDLINESS) >> 3).max(1);
        self.reno += self.reno_credit.parts(needed);
        self.reno_credit = self.reno_credit % needed;
        if self.reno > window {
            self.per_increase = self.per_increase.min(window / (self.reno - window));
        }
        self.per_increase = self.per_increase.max(2);
        self.per_increase
    }

    /// RFC 9438 § 4.2, a round trip ahead.
    fn cubic_per_increase(&self, since_ms: u64, window: u64) -> u64 {
        let since = (since_ms + self.least_round_trip.unwrap_or_default().periods(MILLISECOND))
            * SCALE
            / 1000;
        // Beyond this the window would pass every limit of a connection, and its cube 64 bits.
        let off = since.abs_diff(self.reached).min(1 << 18);
        let change = RATE * off.pow(3) / CUBE;
        let target = if since < self.reached {
            self.origin.saturating_sub(change)
        } else {
            self.origin.saturating_add(change)
        };
        let computed = if target > window { window / (target - window) } else { 100 * window };
        // Nothing is known of the network before the first loss.
        if self.most_window == 0 { computed.min(20) } else { computed }
    }

    /// Whether slow start, with a window of `starting` segments, is to end.
    fn measure(
        &mut self,
        now: Instant,
        round_trip: Span,
        unacknowledged: Octets,
        next: Octets,
        starting: Option<u64>,
    ) -> bool {
        // Right after a recovery queues are not what they were.
        if self.epoch_ms.is_some_and(|at| (now - Instant::ZERO).periods(MILLISECOND) < at + 1000) {
            return false;
        }
        let least = self.least_round_trip.map_or(round_trip, |least| least.min(round_trip));
        self.least_round_trip = Some(least);
        let Some(window) = starting.filter(|_| self.hystart && !self.start.is_found) else {
            return false;
        };
        let start = &mut self.start;
        if unacknowledged > start.until {
            *start = Start { until: next, began: now, last_acknowledged: now, ..Start::default() };
        }
        if window < START_SEGMENTS {
            return false;
        }
        if now - start.last_acknowledged <= TRAIN_GAP {
            start.last_acknowledged = now;
            start.is_found = now - start.began > (least + TRAIN_SLACK) / 2;
        }
        let shortest = start.least.map_or(round_trip, |shortest| shortest.min(round_trip));
        start.least = Some(shortest);
        if start.samples < START_SAMPLES {
            start.samples += 1;
        } else {
            start.is_found |=
                shortest > least + (least / 8).clamp(MILLISECOND * 4, MILLISECOND * 16);
        }
        start.is_found
    }
}

/// The largest integer whose cube is at most `value`.
fn cube_root(value: u64) -> u64 {
    let mut root = 0u64;
    for bit in (0..22).rev() {
        let larger = root | 1 << bit;
        if u128::from(larger).pow(3) <= u128::from(value) {
            root = larger;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: Octets = Octets(1448);

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + MILLISECOND * ms
    }

    fn window(congestion: &str) -> Window {
        let tcp = serde_json::from_value(
            serde_json::json!({"window_octets": 1 << 30, "congestion": congestion}),
        )
        .expect("keys of tcp");
        Window::new(&tcp, MSS)
    }

    proptest! {
        #[test]
        fn a_cube_root_is_the_largest_whose_cube_fits(value: u64) {
            let root = u128::from(cube_root(value));
            prop_assert!(root.pow(3) <= u128::from(value) && (root + 1).pow(3) > u128::from(value));
        }
    }

    #[test]
    fn reno_widens_by_a_segment_a_window_and_halves() {
        let mut reno = window("reno");
        reno.reduce(MSS * 200);
        assert_eq!(reno.threshold, MSS * 100);
        reno.octets = reno.threshold;
        // 100 segments, then 101, and so on, two with each acknowledgement.
        for _ in 0..50 {
            reno.grow(Instant::ZERO, MSS * 2);
        }
        assert_eq!(reno.octets, MSS * 101);
    }

    /// RFC 5681 § 3.1, equation 4.
    #[test]
    fn a_threshold_is_two_segments_at_least() {
        for congestion in ["reno", "cubic"] {
            let mut window = window(congestion);
            window.reduce(MSS * 2);
            assert_eq!(window.threshold, MSS * 2);
        }
    }

    /// RFC 9438 § 4.2: `W(t) = C (t - K)^3 + W_max` with C = 0.4 and `K = cbrt(W_max (1 - beta) /
    /// C)`. With a round trip of 200 ms and a window of 1000 segments Reno would be far behind, so
    /// the cubic function is what is followed: 5.2 s of it to the plateau at least.
    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn cubic_follows_the_function_of_its_standard() {
        let (mut cubic, round_trip_ms) = (window("cubic"), 200);
        cubic.measure(ms(0), MILLISECOND * round_trip_ms, Octets::ZERO, Octets::ZERO);
        cubic.reduce(MSS * 1000);
        assert_eq!(cubic.threshold.parts(MSS), 700);
        cubic.octets = cubic.threshold;
        let plateau_s = (300.0f64 / 0.4).cbrt();
        let mut now_ms = 1000u64;
        for round in 0..75 {
            // A window in each round trip, an acknowledgement of two segments at a time, evenly.
            let acknowledgements = cubic.octets.parts(MSS) / 2;
            for one in 0..acknowledgements {
                cubic.grow(ms(now_ms + round_trip_ms * one / acknowledgements), MSS * 2);
            }
            now_ms += round_trip_ms;
            let since_s = (now_ms - 1000) as f64 / 1e3;
            let expected = 0.4 * (since_s - plateau_s).powi(3) + 1000.0;
            let found = cubic.octets.parts(MSS) as f64;
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "round {round}: {found} and not {expected}"
            );
        }
    }

    #[test]
    fn slow_start_ends_when_round_trips_grow() {
        let mut cubic = window("cubic");
        cubic.octets = MSS * 32;
        // The second round: 6 ms more than the least in each of more than eight samples, far enough
        // apart to be no train.
        for sample in 0..12 {
            cubic.measure(ms(100 + sample * 3), MILLISECOND * 40, MSS, MSS * 32);
        }
        assert!(cubic.is_slow_start());
        for sample in 0..12 {
            cubic.measure(ms(200 + sample * 3), MILLISECOND * 46, MSS * 33, MSS * 64);
        }
        assert_eq!(cubic.threshold, MSS * 32);
    }

    #[test]
    fn slow_start_ends_when_a_train_is_as_long_as_half_a_round_trip() {
        let mut cubic = window("cubic");
        cubic.octets = MSS * 32;
        for sample in 0..40u64 {
            cubic.measure(ms(100 + sample), MILLISECOND * 40, MSS, MSS * 32);
            assert_eq!(cubic.is_slow_start(), sample <= 20, "{sample}");
        }
    }
}
