//! The next event of each shared medium, among those of a network.

use crate::time::Instant;

/// When each medium has its next event, with its rank, and which is the first: of equal ones, that of
/// the lowest number.
#[derive(Debug)]
pub(super) struct NextEvents {
    each: Vec<(Instant, u8)>,
    first: usize,
    /// When the first of all others is.
    second_at: Instant,
}

/// No event.
const NONE_NEXT: (Instant, u8) = (Instant::NEVER, AFTER_ALL);

/// Rank of events that come after all others of their instant.
pub(super) const AFTER_ALL: u8 = u8::MAX;

impl NextEvents {
    /// No medium has an event.
    pub fn new(media: usize) -> Self {
        Self { each: vec![NONE_NEXT; media], first: 0, second_at: Instant::NEVER }
    }

    /// The first: when and of which rank, and of which medium.
    #[inline]
    pub fn first(&self) -> ((Instant, u8), usize) {
        (self.each.get(self.first).copied().unwrap_or(NONE_NEXT), self.first)
    }

    /// When the first event of another medium than the first is.
    #[inline]
    pub fn second_at(&self) -> Instant {
        self.second_at
    }

    /// A medium has its next event then, if it has one.
    #[inline]
    pub fn set(&mut self, medium: usize, next: Option<(Instant, u8)>) {
        let next = next.unwrap_or(NONE_NEXT);
        let before = std::mem::replace(&mut self.each[medium], next);
        if medium == self.first {
            if next.0 >= self.second_at {
                self.sort();
            }
        } else if next <= self.each[self.first] || before.0 <= self.second_at {
            self.sort();
        } else {
            self.second_at = self.second_at.min(next.0);
        }
    }

    fn sort(&mut self) {
        (self.first, self.second_at) = (0, Instant::NEVER);
        for number in 1..self.each.len() {
            let (next, first) = (self.each[number], self.each[self.first]);
            let later = if next < first {
                self.first = number;
                first
            } else {
                next
            };
            self.second_at = self.second_at.min(later.0);
        }
    }
}
