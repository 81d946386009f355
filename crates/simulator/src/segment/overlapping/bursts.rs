//! Transmissions at one position that collide with each other at once: to others they are one
//! signal.

use crate::identity::{PositionId, StationId};
use crate::mac::transmitter::Attempt;
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub station: StationId,
    pub start: Instant,
    /// As far as is known.
    pub end: Instant,
    /// When the station hears another one begin.
    pub heard: Instant,
    /// When it is ready for its next attempt, once this one is over.
    pub ready: Instant,
}

/// Transmissions at a position in the order of their starts, one or more. Each of several hears the
/// first of the others before a collision of its own could be over, so that carrier of any of them
/// joins, and so does that of all but one.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    pub position: PositionId,
    pub sent: Vec<Sent>,
    pub start: Instant,
    pub end: Instant,
    /// The latest time at which one of its stations hears another.
    heard: Instant,
    pub is_over: bool,
    /// If it is of one frame that was delivered.
    pub delivered: Option<Attempt>,
}

impl Burst {
    /// Of one transmission. `room` is empty.
    #[inline]
    pub fn new(position: PositionId, sent: Sent, is_over: bool, mut room: Vec<Sent>) -> Self {
        room.push(sent);
        let Sent { start, end, heard, .. } = sent;
        Self { position, sent: room, start, end, heard, is_over, delivered: None }
    }

    /// Whether a transmission at its position, no earlier than those that it has, belongs to it:
    /// from `start` to `end` if it hears no other.
    #[inline]
    pub fn takes(&self, compiled: &CompiledSegment, start: Instant, end: Instant) -> bool {
        let delay = compiled.delay(self.position, self.position);
        let collision = self.start + compiled.preamble + compiled.jam;
        // Of several, each ends no earlier than the first could after a collision.
        let least = if self.sent.len() == 1 { self.end.min(collision) } else { collision };
        start + delay < least && self.start + delay < end
    }

    #[inline]
    pub fn add(&mut self, sent: Sent) {
        self.end = self.end.max(sent.end);
        self.heard = self.heard.max(sent.heard);
        self.sent.push(sent);
    }

    /// The stations hear a signal that begins at `on`.
    #[inline]
    pub fn hear(&mut self, compiled: &CompiledSegment, on: Instant) {
        if self.is_over || on >= self.heard {
            return;
        }
        (self.end, self.heard) = (Instant::PAST, Instant::PAST);
        for sent in &mut self.sent {
            if on < sent.end && on < sent.heard {
                sent.heard = on;
                sent.end = collision_end(compiled, sent.start, on);
            }
            self.end = self.end.max(sent.end);
            self.heard = self.heard.max(sent.heard);
        }
    }

    /// When a station elsewhere that starts at `start` hears the first of these transmissions that
    /// is still there then. It does not hear its own.
    #[inline]
    pub fn first_heard(&self, station: StationId, start: Instant, delay: Span) -> Option<Instant> {
        if self.end + delay < start {
            return None;
        }
        let mut others = self.sent.iter().filter(|sent| sent.station != station);
        let first = others.find(|sent| sent.end + delay >= start)?;
        Some((first.start + delay).max(start))
    }

    /// The station that ends last, and when the last of the others does.
    #[inline]
    pub fn last(&self) -> (StationId, Instant) {
        let first = (self.sent[0].station, self.sent[0].end, Instant::PAST);
        let (station, _, before) =
            self.sent[1..].iter().fold(first, |(station, last, before), sent| {
                if sent.end > last {
                    (sent.station, sent.end, last)
                } else {
                    (station, last, before.max(sent.end))
                }
            });
        (station, before)
    }
}

/// When a station ends that hears a collision at `heard`.
pub(super) fn collision_end(compiled: &CompiledSegment, start: Instant, heard: Instant) -> Instant {
    heard.max(start + compiled.preamble) + compiled.jam
}

/// Whether a frame from a position and a transmission of a burst are heard at once at some station.
pub(super) fn overlap(
    compiled: &CompiledSegment,
    members: &[Vec<StationId>],
    (position, frame): (PositionId, &Attempt),
    other: &Burst,
) -> bool {
    if frame.end + compiled.max_delay <= other.start
        || other.end + compiled.max_delay <= frame.start
    {
        return false;
    }
    let (there, back) =
        (compiled.delay(position, other.position), compiled.delay(other.position, position));
    other.sent.iter().filter(|sent| sent.station != frame.station).any(|sent| {
        let meets = |to_frame: Span, to_sent: Span| {
            sent.start + to_sent < frame.end + to_frame
                && frame.start + to_frame < sent.end + to_sent
        };
        // The station of either hears itself at once.
        meets(Span::ZERO, back)
            || meets(there, Span::ZERO)
            || PositionId::first(compiled.place_count).any(|at| {
                let senders = usize::from(at == position) + usize::from(at == other.position);
                members[at].len() > senders
                    && meets(compiled.delay(position, at), compiled.delay(other.position, at))
            })
    })
}
