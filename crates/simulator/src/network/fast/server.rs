//! What serves frames one after the other.

use crate::time::Instant;
use ethermeter_traffic::scheduler::Room;

/// When a resource is free, and which frames are in it.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub free: Instant,
    /// Whether anybody asks what is in it.
    pub watched: bool,
    pub room: Room,
    /// When each frame in it leaves, and its octets: a ring of a power of two, and the numbers of
    /// the first one and of the next.
    leaving: Vec<(Instant, u32)>,
    first: usize,
    next: usize,
    octets: u64,
}

impl Server {
    /// One that is empty.
    pub fn new(watched: bool, room: Room) -> Self {
        Self {
            free: Instant::ZERO,
            watched,
            room,
            leaving: Vec::new(),
            first: 0,
            next: 0,
            octets: 0,
        }
    }

    /// What it holds with one more frame, when all have left that do by now.
    #[inline]
    pub fn held_with(&mut self, octets: u32, now: Instant) -> Room {
        while self.first != self.next {
            let (leaves, octets) = self.leaving[self.first & (self.leaving.len() - 1)];
            if leaves > now {
                break;
            }
            self.octets -= u64::from(octets);
            self.first += 1;
        }
        let frames = (self.next - self.first) as u64 + 1;
        Room { frames, octets: self.octets + u64::from(octets) }
    }

    /// Whether there is room for all that.
    #[inline]
    pub fn has_room(&self, held: Room) -> bool {
        held.frames <= self.room.frames && held.octets <= self.room.octets
    }

    /// A frame is in it, and leaves then; not before those that are.
    #[inline]
    pub fn hold(&mut self, octets: u32, leaves: Instant) {
        if self.next - self.first == self.leaving.len() {
            self.grow();
        }
        let at = self.next & (self.leaving.len() - 1);
        self.leaving[at] = (leaves, octets);
        self.next += 1;
        self.octets += u64::from(octets);
    }

    #[cold]
    fn grow(&mut self) {
        let held = self.leaving.len();
        if held > 0 {
            self.leaving.rotate_left(self.first & (held - 1));
        }
        (self.first, self.next) = (0, held);
        self.leaving.resize((2 * held).max(4), (Instant::ZERO, 0));
    }
}
