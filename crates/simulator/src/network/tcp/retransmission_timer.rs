//! The retransmission timer of a TCP sender (RFC 6298).

use crate::time::{Instant, Span};
use ethermeter_trial::transfer::Tcp;

/// Longest timeout, § 2.5.
const LONGEST_TIMEOUT: Span = Span::from_ps(60_000_000_000_000);

/// When a sender gives up waiting for an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    /// The smoothed round trip and its variation, once one was measured.
    round_trip: Option<(Span, Span)>,
    /// From the start of the timer to its expiry.
    pub timeout: Span,
    /// When it expires, if it runs.
    pub expires: Option<Instant>,
    least: Span,
    /// The least that four variations add to the round trip.
    margin: Span,
}

impl RetransmissionTimer {
    /// A timer that does not run, before any round trip was measured.
    pub fn new(tcp: &Tcp) -> Self {
        Self {
            round_trip: None,
            timeout: Span::from_ps(tcp.first_timeout_ps),
            expires: None,
            least: Span::from_ps(tcp.least_timeout_ps),
            margin: Span::from_ps(tcp.timeout_margin_ps),
        }
    }

    /// Start the timer, or start it anew.
    pub fn start(&mut self, now: Instant) {
        self.expires = Some(now + self.timeout);
    }

    /// Stop the timer.
    pub fn stop(&mut self) {
        self.expires = None;
    }

    /// A round trip was measured (§ 2): first `RTO = R + 4 R/2`; then `RTTVAR = 3/4 RTTVAR + 1/4
    /// |SRTT - R'|`, `SRTT = 7/8 SRTT + 1/8 R'`, and `RTO = SRTT + 4 RTTVAR`.
    pub fn measure(&mut self, round_trip: Span) {
        let (smooth, varies) = match self.round_trip {
            None => (round_trip, round_trip / 2),
            Some((smooth, varies)) => {
                let differs = smooth.max(round_trip) - smooth.min(round_trip);
                ((smooth * 7 + round_trip) / 8, (varies * 3 + differs) / 4)
            }
        };
        self.round_trip = Some((smooth, varies));
        let longest = LONGEST_TIMEOUT.max(self.least);
        self.timeout = (smooth + (varies * 4).max(self.margin)).max(self.least).min(longest);
    }

    /// The timer has expired: stop it, and double the next timeout (§ 5.5).
    pub fn back_off(&mut self) {
        self.stop();
        self.timeout = (self.timeout * 2).min(LONGEST_TIMEOUT).max(self.timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_smooth_round_trip_and_four_variations() {
        const MS: u64 = 1_000_000_000;
        let tcp: Tcp = serde_json::from_value(serde_json::json!({
            "window_octets": 65_535, "least_timeout_ps": MS, "timeout_margin_ps": 0,
        }))
        .expect("keys of tcp");
        let mut timer = RetransmissionTimer::new(&tcp);
        timer.measure(Span::from_ps(100 * MS));
        assert_eq!(timer.timeout.ps(), 300 * MS);
        timer.measure(Span::from_ps(180 * MS));
        assert_eq!(timer.timeout.ps(), (110 + (3 * 50 + 80)) * MS);
        timer.start(Instant::ZERO);
        assert_eq!(timer.expires, Some(Instant::from_ps(340 * MS)));
        timer.back_off();
        assert_eq!((timer.expires, timer.timeout.ps()), (None, 680 * MS));
    }
}
