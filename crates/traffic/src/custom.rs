//! A source of the caller's own, which gives its frames one by one: when each comes, and how long it
//! is.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// A function in Python, as a scenario names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PythonFunction {
    /// Name under which it is registered.
    pub name: String,
    /// SHA-256 of its source, in hexadecimal digits.
    pub sha256: String,
}

/// Gives frames in the order of their arrivals.
pub trait CustomSource: Debug + Send {
    /// The next frame; `None` if there is none any more.
    fn next(&mut self) -> Option<CustomFrame>;
}

/// A frame of a custom source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustomFrame {
    /// Picoseconds since the arrival of the frame before, or since the begin of the source.
    pub wait_ps: u64,
    /// Its length, destination address to FCS; drawn from the lengths of its station if `None`.
    pub bits: Option<u64>,
}

/// A frame that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at_ps: u64,
    pub bits: Option<u64>,
}

/// The frames of a custom source in the queue of its station.
#[derive(Clone, Debug)]
pub(crate) struct CustomFrames {
    /// Shared by clones, which go on with the same frames.
    source: Arc<Mutex<dyn CustomSource>>,
    next: Option<Arrival>,
    /// Frames there is room for, the one being sent included.
    pub room: Option<usize>,
    waiting: VecDeque<Arrival>,
}

impl CustomFrames {
    pub fn new(source: Arc<Mutex<dyn CustomSource>>, begin_ps: u64, room: Option<u32>) -> Self {
        let room = room.map(|frames| frames as usize);
        let mut frames = Self { source, next: None, room, waiting: VecDeque::new() };
        frames.advance(begin_ps);
        frames
    }

    fn advance(&mut self, before_ps: u64) {
        let frame = self.source.lock().expect("a source does not panic").next();
        self.next = frame.map(|frame| Arrival {
            at_ps: before_ps.saturating_add(frame.wait_ps),
            bits: frame.bits,
        });
    }

    /// Take the next frame that arrives before `until_ps`, past the queue.
    pub fn take_before(&mut self, until_ps: u64) -> Option<Arrival> {
        let taken = self.next.filter(|next| next.at_ps < until_ps)?;
        self.advance(taken.at_ps);
        Some(taken)
    }

    /// Let a frame into the queue, in which one frame is being sent. Whether there is room.
    pub fn admit(&mut self, frame: Arrival) -> bool {
        let has_room = self.room.is_none_or(|room| self.waiting.len() + 1 < room);
        if has_room {
            self.waiting.push_back(frame);
        }
        has_room
    }

    /// The first frame of the queue.
    pub fn first_waiting(&mut self) -> Option<Arrival> {
        self.waiting.pop_front()
    }
}
