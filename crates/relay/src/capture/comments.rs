//! Comments of a capture: what became of an attempt, in words.

use crate::recorder::{AttemptOutcome, CapturedAttempt};
use ethermeter_net::time::PS_PER_NS;
use std::fmt::Write;

/// Stations that collided with each other, and how long the line was busy.
#[derive(Clone, Debug, Default)]
pub(super) struct Collision {
    stations: Vec<u32>,
    begin: i64,
    end: i64,
}

impl Collision {
    /// A collision that an attempt begins.
    pub fn begin(&mut self, attempt: &CapturedAttempt) {
        self.stations.clear();
        (self.begin, self.end) = (attempt.start, attempt.end);
        self.stations.push(attempt.station);
    }

    /// Whether an attempt that starts later belongs to it, which it does then.
    pub fn takes(&mut self, attempt: &CapturedAttempt) -> bool {
        let is_one = attempt.start < self.end;
        if is_one {
            self.end = self.end.max(attempt.end);
            if !self.stations.contains(&attempt.station) {
                self.stations.push(attempt.station);
            }
        }
        is_one
    }

    fn write(&self, attempt: &CapturedAttempt, to: &mut String) {
        let mut stations = self.stations.clone();
        stations.sort_unstable();
        let words = if stations.len() == 1 { "station " } else { "stations " };
        to.push_str(words);
        for (at, station) in stations.iter().enumerate() {
            let between = match at {
                0 => "",
                _ if at + 1 == stations.len() => " and ",
                _ => ", ",
            };
            let _ = write!(to, "{between}{}", station + 1);
        }
        let _ =
            write!(to, ", attempt {}, {}", attempt.attempts, Microseconds(self.end - self.begin));
    }
}

/// Write the comment of an attempt; of a frame that leaves the card, also how long it has waited.
pub(super) fn write(attempt: &CapturedAttempt, collision: &Collision, to: &mut String) {
    to.clear();
    let waited = WaitComment(attempt.waited);
    let _ = match attempt.outcome {
        AttemptOutcome::Sent => write!(to, "attempt {}, {waited}", attempt.attempts),
        AttemptOutcome::Damaged => {
            write!(to, "damaged on the line, attempt {}, {waited}", attempt.attempts)
        }
        AttemptOutcome::Logical => write!(
            to,
            "logical collision of station {}, attempt {}, nothing on the line",
            attempt.station + 1,
            attempt.attempts
        ),
        AttemptOutcome::Collided { is_late, is_last } => {
            to.push_str(if is_late { "late collision of " } else { "collision of " });
            collision.write(attempt, to);
            let _ = write!(to, "; {} of {} octets sent", attempt.sent, attempt.octets);
            if is_last { write!(to, "; given up, {waited}") } else { Ok(()) }
        }
    };
}

/// A time in picoseconds, to a tenth of a microsecond.
struct Microseconds(i64);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = (self.0 + 50_000) / 100_000;
        write!(to, "{}.{} us", tenths / 10, tenths % 10)
    }
}

/// How long a frame waited, in picoseconds, to a nanosecond. It is rounded down as starts of frames
/// are, so that a start less this wait is the stamp of the frame's arrival, exactly.
struct WaitComment(i64);

impl std::fmt::Display for WaitComment {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ns = self.0.max(0) / PS_PER_NS.cast_signed();
        write!(to, "waited {}.{:03} us", ns / 1000, ns % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt_of(station: u32, start: i64, end: i64, outcome: AttemptOutcome) -> CapturedAttempt {
        let waited = 2_345_678_999;
        CapturedAttempt {
            start,
            end,
            waited,
            station,
            attempts: 3,
            outcome,
            octets: 60,
            sent: 2,
            kept: 2,
        }
    }

    fn text(attempt_of: &CapturedAttempt, collision: &Collision) -> String {
        let mut text = "before".to_owned();
        write(attempt_of, collision, &mut text);
        text
    }

    #[test]
    fn a_collision_names_its_stations_in_order_and_the_time_of_the_line() {
        let collided = AttemptOutcome::Collided { is_late: false, is_last: false };
        let first = attempt_of(4, 0, 12_000_000, collided);
        let mut collision = Collision::default();
        collision.begin(&first);
        assert!(collision.takes(&attempt_of(1, 300_000, 12_400_000, collided)));
        assert!(!collision.takes(&attempt_of(0, 12_400_000, 20_000_000, collided)));
        let expected = "collision of stations 2 and 5, attempt 3, 12.4 us; 2 of 60 octets sent";
        assert_eq!(text(&first, &collision), expected);
        assert!(collision.takes(&attempt_of(2, 12_300_000, 20_000_000, collided)));
        let last = AttemptOutcome::Collided { is_late: true, is_last: true };
        let expected = "late collision of stations 2, 3 and 5, attempt 3, 20.0 us; 2 of 60 octets sent; \
             given up, waited 2345.678 us";
        assert_eq!(text(&attempt_of(2, 0, 1, last), &collision), expected);
    }

    #[test]
    fn a_frame_that_leaves_its_card_has_waited() {
        let none = Collision::default();
        let mut sent = attempt_of(0, 0, 1, AttemptOutcome::Sent);
        assert_eq!(text(&sent, &none), "attempt 3, waited 2345.678 us");
        (sent.attempts, sent.waited) = (1, 999);
        assert_eq!(text(&sent, &none), "attempt 1, waited 0.000 us");
        let logical = attempt_of(0, 0, 1, AttemptOutcome::Logical);
        let expected = "logical collision of station 1, attempt 3, nothing on the line";
        assert_eq!(text(&logical, &none), expected);
        let damaged = attempt_of(0, 0, 1, AttemptOutcome::Damaged);
        let expected = "damaged on the line, attempt 3, waited 2345.678 us";
        assert_eq!(text(&damaged, &none), expected);
    }
}
