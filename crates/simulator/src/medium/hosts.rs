//! The hosts on a medium, as its nodes see them: stations of a segment, ports of a network, or cards with
//! real frames.

use super::signals::FrameNumber;
use crate::identity::StationId;
use crate::mac::transmitter::Attempt;
use crate::time::{Instant, Span};

/// What the nodes of a medium ask of their hosts.
pub trait Hosts {
    /// How long preamble and frame of a station take whose first bit leaves at `start`.
    fn packet_time(&self, station: StationId, start: Instant) -> Span;

    /// A station could begin to send its frame. If it is too late for that frame, when the station is
    /// ready for its next one.
    fn withdraw(&mut self, _: StationId, _: Instant) -> Option<Instant> {
        None
    }

    /// The frame `number` of a station was sent. Returns the attempt, and when the station is ready
    /// for its next one.
    fn deliver(
        &mut self,
        station: StationId,
        number: FrameNumber,
        start: Instant,
        end: Instant,
    ) -> (Attempt, Instant);

    /// The attempt of a station collided; `end` is that of its jam. Returns it, and when the station
    /// is ready for its next one.
    fn collide(
        &mut self,
        station: StationId,
        start: Instant,
        end: Instant,
        late: bool,
    ) -> (Attempt, Instant);

    /// How many attempts the frame of a station has before it is given up, or handed back.
    fn attempts_left(&self, _: StationId) -> u32 {
        1
    }

    /// A station has heard the end of a frame that was sent without collision, and whether all of
    /// it was right.
    fn receive(&mut self, station: StationId, number: FrameNumber, now: Instant, is_right: bool);

    /// An attempt that reached the line, in the order of their starts.
    fn record(&mut self, attempt: &Attempt);

    /// An attempt that ended in a logical collision.
    fn record_logical(&mut self, attempt: &Attempt);
}
