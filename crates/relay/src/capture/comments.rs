//! Comments of a capture: what became of an attempt, in words.

use crate::recorder::{Outcome, Seen};
use ethermeter_live::time::PS_PER_NS;
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
    pub fn begin(&mut self, seen: &Seen) {
        self.stations.clear();
        (self.begin, self.end) = (seen.start, seen.end);
        self.stations.push(seen.station);
    }

    /// Whether an attempt that starts later belongs to it, which it does then.
    pub fn takes(&mut self, seen: &Seen) -> bool {
        let is_one = seen.start < self.end;
        if is_one {
            self.end = self.end.max(seen.end);
            if !self.stations.contains(&seen.station) {
                self.stations.push(seen.station);
            }
        }
        is_one
    }

    fn write(&self, seen: &Seen, to: &mut String) {
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
        let _ = write!(to, ", attempt {}, {}", seen.attempts, Microseconds(self.end - self.begin));
    }
}

/// Write the comment of an attempt; of a frame that leaves the card, also how long it has waited.
pub(super) fn write(seen: &Seen, collision: &Collision, to: &mut String) {
    to.clear();
    let waited = Waited(seen.waited);
    let _ = match seen.outcome {
        Outcome::Sent => write!(to, "attempt {}, {waited}", seen.attempts),
        Outcome::Damaged => write!(to, "damaged on the line, attempt {}, {waited}", seen.attempts),
        Outcome::Logical => write!(
            to,
            "logical collision of station {}, attempt {}, nothing on the line",
            seen.station + 1,
            seen.attempts
        ),
        Outcome::Collided { is_late, is_last } => {
            to.push_str(if is_late { "late collision of " } else { "collision of " });
            collision.write(seen, to);
            let _ = write!(to, "; {} of {} octets sent", seen.sent, seen.octets);
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
struct Waited(i64);

impl std::fmt::Display for Waited {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ns = self.0.max(0) / PS_PER_NS.cast_signed();
        write!(to, "waited {}.{:03} us", ns / 1000, ns % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(station: u32, start: i64, end: i64, outcome: Outcome) -> Seen {
        let waited = 2_345_678_999;
        Seen { start, end, waited, station, attempts: 3, outcome, octets: 60, sent: 2, kept: 2 }
    }

    fn text(seen: &Seen, collision: &Collision) -> String {
        let mut text = "before".to_owned();
        write(seen, collision, &mut text);
        text
    }

    #[test]
    fn a_collision_names_its_stations_in_order_and_the_time_of_the_line() {
        let collided = Outcome::Collided { is_late: false, is_last: false };
        let first = seen(4, 0, 12_000_000, collided);
        let mut collision = Collision::default();
        collision.begin(&first);
        assert!(collision.takes(&seen(1, 300_000, 12_400_000, collided)));
        assert!(!collision.takes(&seen(0, 12_400_000, 20_000_000, collided)));
        let expected = "collision of stations 2 and 5, attempt 3, 12.4 us; 2 of 60 octets sent";
        assert_eq!(text(&first, &collision), expected);
        assert!(collision.takes(&seen(2, 12_300_000, 20_000_000, collided)));
        let last = Outcome::Collided { is_late: true, is_last: true };
        let expected = "late collision of stations 2, 3 and 5, attempt 3, 20.0 us; 2 of 60 octets sent; \
             given up, waited 2345.678 us";
        assert_eq!(text(&seen(2, 0, 1, last), &collision), expected);
    }

    #[test]
    fn a_frame_that_leaves_its_card_has_waited() {
        let none = Collision::default();
        let mut sent = seen(0, 0, 1, Outcome::Sent);
        assert_eq!(text(&sent, &none), "attempt 3, waited 2345.678 us");
        (sent.attempts, sent.waited) = (1, 999);
        assert_eq!(text(&sent, &none), "attempt 1, waited 0.000 us");
        let logical = seen(0, 0, 1, Outcome::Logical);
        let expected = "logical collision of station 1, attempt 3, nothing on the line";
        assert_eq!(text(&logical, &none), expected);
        let damaged = seen(0, 0, 1, Outcome::Damaged);
        let expected = "damaged on the line, attempt 3, waited 2345.678 us";
        assert_eq!(text(&damaged, &none), expected);
    }
}
