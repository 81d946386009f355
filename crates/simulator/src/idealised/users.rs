//! A finite population: stations with their queues, of which the head contends for the medium.

use super::counters::{Frame, FrameCounters};
use super::supply::Supplies;
use crate::identity::StationId;
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// The stations of the groups, each with its supply, its queue, and the frame at its head.
pub(super) struct Users<'w> {
    pub supplies: Supplies<'w>,
    heads: Vec<Option<Frame>>,
    queues: Vec<VecDeque<Instant>>, // when the others arrived
    rooms: Vec<usize>,
}

impl<'w> Users<'w> {
    /// No user has a frame yet.
    pub fn new(compiled: &'w CompiledSegment, slot: Span) -> Self {
        let rooms = StationId::first(compiled.stations())
            .map(|station| compiled.group(station).flow.queue_frames);
        Self {
            supplies: Supplies::new(compiled, slot),
            heads: vec![None; compiled.stations()],
            queues: vec![VecDeque::new(); compiled.stations()],
            rooms: rooms.map(|room| room.map_or(usize::MAX, |frames| frames as usize)).collect(),
        }
    }

    /// The frame that a station contends with.
    #[inline]
    pub fn head(&mut self, station: StationId) -> &mut Frame {
        self.heads[station].as_mut().expect("only stations with a frame contend")
    }

    /// Let in the next frame that is there by `until`. Returns its station and whether it is the
    /// head of the queue.
    #[inline]
    pub fn admit(
        &mut self,
        until: Instant,
        counters: &mut FrameCounters,
    ) -> Option<(StationId, bool)> {
        let (time, station) = self.supplies.soonest();
        if time > until {
            return None;
        }
        self.supplies.take(station);
        counters.offer(station, time);
        if self.heads[station].is_none() {
            self.take_up(station, time, time);
            return Some((station, true));
        }
        if self.queues[station].len() + 1 < self.rooms[station] {
            self.queues[station].push_back(time);
        } else {
            counters.drop(station, time);
        }
        Some((station, false))
    }

    /// The head of a station's queue was delivered; it leaves at `now`. Returns whether there is
    /// another.
    #[inline]
    pub fn leave(&mut self, station: StationId, now: Instant) -> bool {
        self.heads[station] = None;
        if let Some(arrived) = self.queues[station].pop_front() {
            self.take_up(station, arrived, now);
            return true;
        }
        self.supplies.think(station, now);
        false
    }

    fn take_up(&mut self, station: StationId, arrived: Instant, taken_up: Instant) {
        let length = self.supplies.length(station);
        self.heads[station] = Some(Frame { station, arrived, taken_up, length, attempts: 0 });
    }

    /// The frames that contend.
    pub fn held(&self) -> impl Iterator<Item = &Frame> {
        self.heads.iter().flatten()
    }
}
