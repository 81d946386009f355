//! A finite population: stations with their queues, of which the head contends for the medium.

use super::counters::{Frame, FrameCounters};
use super::supply::Supplies;
use crate::segment::compiled::{CompiledSegment, small};
use std::collections::VecDeque;

/// The stations of the groups, each with its supply, its queue, and the frame at its head.
pub(super) struct Users<'w> {
    pub supplies: Supplies<'w>,
    heads: Vec<Option<Frame>>,
    queues: Vec<VecDeque<i64>>, // when the others arrived
    rooms: Vec<usize>,
}

impl<'w> Users<'w> {
    /// No user has a frame yet.
    pub fn new(compiled: &'w CompiledSegment, slot: i64) -> Self {
        let rooms =
            (0..compiled.stations()).map(|station| compiled.group(station).flow.queue_frames);
        Self {
            supplies: Supplies::new(compiled, slot),
            heads: vec![None; compiled.stations()],
            queues: vec![VecDeque::new(); compiled.stations()],
            rooms: rooms.map(|room| room.map_or(usize::MAX, |frames| frames as usize)).collect(),
        }
    }

    /// The frame that a station contends with.
    #[inline]
    pub fn head(&mut self, station: u32) -> &mut Frame {
        self.heads[station as usize].as_mut().expect("only stations with a frame contend")
    }

    /// Let in the next frame that is there by `until`. Returns its station and whether it is the
    /// head of the queue.
    #[inline]
    pub fn admit(&mut self, until: i64, counters: &mut FrameCounters) -> Option<(u32, bool)> {
        let (time, index) = self.supplies.soonest();
        if time > until {
            return None;
        }
        let station = small(index);
        self.supplies.take(index);
        counters.offer(station, time);
        if self.heads[index].is_none() {
            self.take_up(index, time, time);
            return Some((station, true));
        }
        if self.queues[index].len() + 1 < self.rooms[index] {
            self.queues[index].push_back(time);
        } else {
            counters.drop(station, time);
        }
        Some((station, false))
    }

    /// The head of a station's queue was delivered; it leaves at `now`. Returns whether there is
    /// another.
    #[inline]
    pub fn leave(&mut self, station: u32, now: i64) -> bool {
        let index = station as usize;
        self.heads[index] = None;
        if let Some(arrived) = self.queues[index].pop_front() {
            self.take_up(index, arrived, now);
            return true;
        }
        self.supplies.think(index, now);
        false
    }

    fn take_up(&mut self, index: usize, arrived: i64, taken_up: i64) {
        let bits = self.supplies.bits(index);
        self.heads[index] =
            Some(Frame { station: small(index), arrived, taken_up, bits, attempts: 0 });
    }

    /// The frames that contend.
    pub fn held(&self) -> impl Iterator<Item = &Frame> {
        self.heads.iter().flatten()
    }
}
