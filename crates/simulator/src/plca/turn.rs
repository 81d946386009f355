//! A node of a regular bus between its opportunities, and what it knows of the line.

use super::schedule::Schedule;

/// What a node does between its opportunities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its sublayer is idle, or holds a frame since its MAC has begun it.
    Idle,
    /// Its MAC jams after a collision.
    Jams,
    /// Its MAC backs off. From [`Turn::pending`] on it uses its opportunity.
    BacksOff,
}

/// A node between its opportunities.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Phase.
    pub phase: Phase,
    /// When a frame, or its next attempt, is ready at the MAC. Not known while it jams.
    pub ready: i64,
    /// When the MAC began what collided.
    pub start: i64,
    /// When it collided.
    pub collision: i64,
    /// When its jam is over.
    pub jam_end: i64,
    /// From when on it uses its opportunity, unless it is idle.
    pub pending: i64,
    /// When its sublayer became idle after what it sent last.
    pub idle_from: i64,
    /// When the MAC began its frame for the first time.
    pub first_attempt: Option<i64>,
}

/// The last frame on the line.
#[derive(Clone, Copy, Debug)]
pub struct LastFrame {
    /// Its sender.
    pub sender: usize,
    /// When its last bit left.
    pub end: i64,
    /// When other nodes hear its end, after that, propagation aside.
    pub latency: i64,
}

impl LastFrame {
    /// When the gap of an idle node after the frame ends, and whether it is the sender.
    #[inline]
    #[must_use]
    pub fn gap_of(&self, node: usize, schedule: &Schedule) -> (i64, bool) {
        if self.sender == node {
            return (self.end + schedule.gap, true);
        }
        let heard = self.end + self.latency + schedule.delay(self.sender, node);
        (heard + schedule.gap, false)
    }
}
