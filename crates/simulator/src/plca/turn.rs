//! A node of a regular bus between its opportunities, and what it knows of the line.

use super::schedule::Schedule;
use crate::identity::StationId;
use crate::time::{Instant, Span};

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
    pub ready: Instant,
    /// When the MAC began what collided.
    pub start: Instant,
    /// When it collided.
    pub collision: Instant,
    /// When its jam is over.
    pub jam_end: Instant,
    /// From when on it uses its opportunity, unless it is idle.
    pub pending: Instant,
    /// When its sublayer became idle after what it sent last.
    pub idle_from: Instant,
    /// When the MAC began its frame for the first time.
    pub first_attempt: Option<Instant>,
}

/// The last frame on the line.
#[derive(Clone, Copy, Debug)]
pub struct LastFrame {
    /// Its sender.
    pub sender: StationId,
    /// When its last bit left.
    pub end: Instant,
    /// When other nodes hear its end, after that, propagation aside.
    pub latency: Span,
}

impl LastFrame {
    /// When the gap of an idle node after the frame ends, and whether it is the sender.
    #[inline]
    #[must_use]
    pub fn gap_of(&self, node: StationId, schedule: &Schedule) -> (Instant, bool) {
        if self.sender == node {
            return (self.end + schedule.gap, true);
        }
        let heard = self.end + self.latency + schedule.delay(self.sender, node);
        (heard + schedule.gap, false)
    }
}
