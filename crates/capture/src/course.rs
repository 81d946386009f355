//! Course of a sender's flight, round trip by round trip: it distinguishes a send buffer from a
//! congestion window.
//!
//! A capture holds neither of them. It holds the *flight*: octets sent and not acknowledged, as the
//! sender knows it. While the sender waits for acknowledgements with room in the receiver's window,
//! the peak of its flight in a round trip is the smaller of its congestion window and its send
//! buffer. Rounds are joined into *blocks*, which end at a loss, after a pause, and where the peak
//! leaves their mean by `STEP`. Each block belongs to one cause, by the first of these rules that
//! holds:
//!
//! ```text
//! the peak grows by more than GROWING segments a round, beyond two standard errors        CongestionWindow
//! the peak changes by less than STEADY segments a round, two standard errors included,
//! over STEADY_ROUNDS rounds or more
//!     and more than one segment in SHORT is not full: its writes set the flight           SenderApplication
//!     otherwise                                                                           SendBuffer
//! the block ends since the peak rises by STEP (slow start doubles it)                     CongestionWindow
//! the peaks are below those before the last loss                                          CongestionWindow
//! none of these                                                                           Window: either
//! ```
//!
//! A congestion window that is the limit grows: in slow start by up to the double, then by one
//! segment a round (Reno, RFC 5681, section 3.1), or by 0.53 at the least (CUBIC with its factor
//! 0.7 in the Reno-friendly region, RFC 9438, section 4.3). A send buffer does not grow, but its
//! flight varies: a writer is woken when a third of the buffer is free. An application that keeps a
//! fixed amount of data outstanding looks the same.

use crate::cause::WaitCause;

/// Segments a round by which a growing congestion window grows at the least: a fifth of CUBIC's
/// slowest growth.
const GROWING: f64 = 0.1;
/// Segments a round by which a steady flight changes at the most: below half of CUBIC's slowest
/// growth.
const STEADY: f64 = 0.2;
/// Rounds of a steady flight at the least: CUBIC grows by five segments in as many.
const STEADY_ROUNDS: f64 = 10.0;
/// A slope has a standard error from three rounds on; growth is determined from one more.
const GROWING_ROUNDS: f64 = 4.0;
/// Of so many segments a transfer in large blocks sends fewer than one that is not full: the last
/// of a block of 64 kB is one of 45.
const SHORT: u64 = 20;
/// Ratio between two rounds that ends a block: above what a send buffer's flight varies by, below
/// what slow start makes of it.
const STEP: f64 = 1.5;
/// A flight that has come back to this share of the peak before a loss has recovered.
const RECOVERED: f64 = 0.9;
/// A round counts if this share of it was spent waiting for acknowledgements: in others the window
/// was not the limit.
const WAITED: u64 = 4;

/// Sums over the rounds of a block; peaks in segments.
#[derive(Clone, Debug, Default)]
struct RoundBlock {
    rounds: f64,
    peaks: f64,
    squares: f64,
    products: f64,
    waited_ns: u64,
    segments: u64,
    short: u64,
}

impl RoundBlock {
    fn add(&mut self, peak: f64) {
        self.products += self.rounds * peak;
        self.rounds += 1.0;
        self.peaks += peak;
        self.squares += peak * peak;
    }

    fn mean(&self) -> f64 {
        self.peaks / self.rounds.max(1.0)
    }

    /// Slope of the peaks in segments a round, and its standard error; nothing of fewer than three
    /// rounds.
    fn slope(&self) -> Option<(f64, f64)> {
        let n = self.rounds;
        if n < 3.0 {
            return None;
        }
        let spread = n * (n * n - 1.0) / 12.0;
        let slope = (self.products - (n - 1.0) / 2.0 * self.peaks) / spread;
        let rest = self.squares - self.peaks * self.peaks / n - slope * slope * spread;
        Some((slope, (rest.max(0.0) / (n - 2.0) / spread).sqrt()))
    }

    fn is_steady(&self) -> bool {
        self.rounds >= STEADY_ROUNDS
            && self.slope().is_some_and(|(slope, error)| slope.abs() + 2.0 * error < STEADY)
    }

    /// What the block belongs to; `rises` if the next round's peak ends it by rising, `before` is
    /// the peak before the last loss.
    fn cause(&self, rises: bool, before: Option<f64>) -> WaitCause {
        let grows = self.rounds >= GROWING_ROUNDS
            && self
                .slope()
                .is_some_and(|(slope, error)| slope > 0.0 && slope - 2.0 * error > GROWING);
        if grows {
            WaitCause::CongestionWindow
        } else if self.is_steady() {
            let is_written = self.short.saturating_mul(SHORT) > self.segments;
            if is_written { WaitCause::SenderApplication } else { WaitCause::SendBuffer }
        } else if rises || before.is_some_and(|peak| self.mean() < RECOVERED * peak) {
            WaitCause::CongestionWindow
        } else {
            WaitCause::Window
        }
    }
}

/// Rounds in which a sender waited for acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlightRounds {
    /// All of them.
    pub all: u64,
    /// Of these, those with a steady flight.
    pub steady: u64,
    /// Mean peak of the flight in the steady rounds, in octets; 0 if there are none.
    pub steady_octets: f64,
    /// Rounds whose peak was half as large again as the mean of the rounds before, or larger.
    pub steps: u64,
}

/// The course of one sender's flight.
#[derive(Clone, Debug, Default)]
pub struct FlightCourse {
    block: RoundBlock,
    segment: f64,
    /// Peak before the last loss.
    before: Option<f64>,
    /// Peak of the last round that counted.
    last: Option<f64>,
    // The current round.
    until: u64,
    peak: u64,
    lasted_ns: u64,
    waited_ns: u64,
    window_ns: u64,
    is_lossy: bool,
    rounds: FlightRounds,
}

impl FlightCourse {
    /// Count time that the sender spent: waiting for acknowledgements or not, and of the first
    /// whether a window is to blame.
    pub(crate) fn spend(&mut self, ns: u64, waits: bool, by_window: bool) {
        self.lasted_ns = self.lasted_ns.saturating_add(ns);
        self.waited_ns = self.waited_ns.saturating_add(if waits { ns } else { 0 });
        self.window_ns = self.window_ns.saturating_add(if by_window { ns } else { 0 });
    }

    /// The sender has sent up to `highest`, knowing that `acknowledged` has arrived; returns the
    /// time of a block that has ended, with its cause.
    pub(crate) fn send(
        &mut self,
        acknowledged: u64,
        highest: u64,
        (payload, segment): (u32, u32),
        is_recovering: bool,
    ) -> Option<(WaitCause, u64)> {
        let segment = segment.max(1);
        self.segment = f64::from(segment);
        self.block.segments += u64::from(payload.div_ceil(segment));
        self.block.short += u64::from(!payload.is_multiple_of(segment));
        let ended = if acknowledged >= self.until { self.end_round(highest) } else { None };
        self.is_lossy |= is_recovering;
        self.peak = self.peak.max(highest.saturating_sub(acknowledged));
        ended
    }

    #[allow(clippy::cast_precision_loss)] // a flight in segments
    fn end_round(&mut self, highest: u64) -> Option<(WaitCause, u64)> {
        let peak = self.peak as f64 / self.segment;
        let counts = !self.is_lossy
            && peak > 0.0
            && self.waited_ns > 0
            && self.waited_ns >= self.lasted_ns / WAITED;
        let mut ended = None;
        if counts {
            let (high, low) = (self.block.mean() * STEP, self.block.mean() / STEP);
            if self.block.rounds > 0.0 && (peak >= high || peak <= low) {
                self.rounds.steps += u64::from(peak >= high);
                ended = Some(self.end_block(peak >= high));
            }
            self.block.add(peak);
            self.rounds.all += 1;
            self.last = Some(peak);
            if self.before.is_some_and(|before| peak >= before) {
                self.before = None;
            }
        }
        self.block.waited_ns = self.block.waited_ns.saturating_add(self.window_ns);
        (self.until, self.peak, self.is_lossy) = (highest, 0, false);
        (self.lasted_ns, self.waited_ns, self.window_ns) = (0, 0, 0);
        ended
    }

    fn end_block(&mut self, rises: bool) -> (WaitCause, u64) {
        self.rounds = self.rounds();
        let ended = (self.block.cause(rises, self.before), self.block.waited_ns);
        self.block = RoundBlock::default();
        ended
    }

    /// Something of the sender was lost, or it paused: the block ends.
    pub(crate) fn interrupt(&mut self, is_loss: bool) -> (WaitCause, u64) {
        if is_loss && !self.is_lossy {
            // Of two losses in a row the second finds no round in between: the peak before the
            // first stays.
            self.before = self.last.take().or(self.before);
        } else if !is_loss {
            self.before = None;
        }
        self.is_lossy |= is_loss;
        self.block.waited_ns =
            self.block.waited_ns.saturating_add(std::mem::take(&mut self.window_ns));
        self.end_block(false)
    }

    /// Time of the current block, with its cause so far.
    pub(crate) fn open_block(&self) -> (WaitCause, u64) {
        (self.block.cause(false, self.before), self.block.waited_ns.saturating_add(self.window_ns))
    }

    /// The rounds so far.
    #[must_use]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts of rounds
    pub fn rounds(&self) -> FlightRounds {
        let mut rounds = self.rounds;
        if self.block.cause(false, None) == WaitCause::SendBuffer {
            let octets =
                rounds.steady_octets * rounds.steady as f64 + self.block.peaks * self.segment;
            rounds.steady += self.block.rounds as u64;
            rounds.steady_octets = octets / rounds.steady as f64;
        }
        rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u32 = 1000;

    /// Cause of a flight of 40 segments at first that changes by so many octets in each of 20
    /// rounds.
    fn cause(change: i64) -> WaitCause {
        let mut course = FlightCourse::default();
        let mut acknowledged = 0;
        for round in 0..20 {
            let peak = u64::try_from(40 * i64::from(SEGMENT) + round * change).expect("positive");
            course.spend(1000, true, true);
            course.send(acknowledged, acknowledged + peak, (SEGMENT, SEGMENT), false);
            acknowledged += peak;
        }
        course.open_block().0
    }

    #[test]
    fn a_flight_that_grows_is_a_congestion_window_and_one_that_falls_is_not_steady() {
        assert_eq!(cause(0), WaitCause::SendBuffer);
        assert_eq!(cause(500), WaitCause::CongestionWindow);
        assert_eq!(cause(-500), WaitCause::Window);
    }
}
