//! Congestion windows over time.

use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Octets;

/// Congestion windows over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    points: Vec<(Instant, Octets)>,
    apart: Span,
}

/// Most points that are kept of a congestion window.
const MOST_POINTS: usize = 2048;

impl Windows {
    pub fn note(&mut self, now: Instant, octets: Octets) {
        match self.points.last_mut() {
            Some(last) if last.1 == octets => return,
            Some(last) if now - last.0 < self.apart || now == last.0 => {
                last.1 = octets;
                return;
            }
            _ => self.points.push((now, octets)),
        }
        if self.points.len() == MOST_POINTS {
            self.points = self.points.iter().copied().step_by(2).collect();
            let span = now - self.points[0].0;
            self.apart = (self.apart * 2).max(span / MOST_POINTS as u64);
        }
    }

    pub fn finish(&mut self) -> Vec<(u64, u64)> {
        let points = std::mem::take(&mut self.points);
        points.into_iter().map(|(at, window)| (at.ps(), window.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Instant, MOST_POINTS, Octets, Windows};

    #[test]
    fn windows_are_kept_to_a_bound_and_in_the_order_of_time() {
        let mut windows = Windows::default();
        for at in 0..100_000 {
            windows.note(Instant::from_ps(at), Octets(at));
        }
        let points = windows.finish();
        assert!(points.len() < MOST_POINTS && points.len() > MOST_POINTS / 4, "{}", points.len());
        assert!(points.is_sorted() && points[0].0 == 0 && points[points.len() - 1].1 == 99_999);
    }
}
