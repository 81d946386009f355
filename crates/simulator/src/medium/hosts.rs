//! The hosts on a medium, as its nodes see them: stations of a segment, ports of a network, or cards with
//! real frames.

use crate::segment::station::Attempt;

/// What the nodes of a medium ask of their hosts.
pub trait Hosts {
    /// How long preamble and frame of a station take whose first bit leaves at `start`.
    fn packet_time(&self, station: u32, start: i64) -> i64;

    /// The frame `number` of a station was sent. Returns the attempt, and when the station is ready
    /// for its next one.
    fn deliver(&mut self, station: u32, number: u32, start: i64, end: i64) -> (Attempt, i64);

    /// The attempt of a station collided; `end` is that of its jam. Returns it, and when the station
    /// is ready for its next one.
    fn collide(&mut self, station: u32, start: i64, end: i64, late: bool) -> (Attempt, i64);

    /// A station has heard the end of a frame that was sent without collision, and whether all of
    /// it was right.
    fn receive(&mut self, station: u32, number: u32, now: i64, is_right: bool);

    /// An attempt that reached the line, in the order of their starts.
    fn record(&mut self, attempt: &Attempt);

    /// An attempt that ended in a logical collision.
    fn record_logical(&mut self, attempt: &Attempt);
}
