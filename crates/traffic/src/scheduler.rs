//! The queue of an output port with traffic classes: which frame is sent next.
//!
//! - Classes are served in strict priority, without preemption; the first is the highest.
//! - Neighbouring classes with a quantum share their level by deficit round robin (Shreedhar and
//!   Varghese 1995): at each visit a class gains its quantum, and sends frames while its deficit
//!   counter covers them; a class whose queue empties loses what is left.
//! - A class with an idle slope is shaped by credits (802.1Q-2022 § 8.6.8.2): they grow at the idle
//!   slope while frames wait, shrink by what is sent less the idle slope while one of its frames is
//!   sent, and return to 0 at the idle slope, or at once if positive, while none waits. A frame
//!   begins with a credit of at least 0.
//!
//! The volume of a frame is what it takes of the wire: preamble, frame and gap. Credits are exact:
//! integers of 10⁻¹² bit.

use crate::classes::{Class, ClassCounts};
use std::collections::VecDeque;

/// Credits in a bit.
const CREDITS_PER_BIT: i128 = 1_000_000_000_000;

/// Frames and octets of a queue: its room, or what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Frames.
    pub frames: u64,
    /// Octets of them, destination address to FCS.
    pub octets: u64,
}

/// Traffic classes of a port, ready to run.
#[derive(Clone, Debug)]
pub struct Classes {
    /// The class of each priority.
    class_of: [u8; 8],
    rules: Vec<Rule>,
}

/// How a class is served.
#[derive(Clone, Copy, Debug)]
struct Rule {
    room: Room,
    quantum: Option<u64>,
    idle_slope_bps: Option<i128>,
}

impl Classes {
    /// Of classes that were checked, at a port with this room for each class.
    #[must_use]
    pub fn new(classes: &[Class], room: Room) -> Self {
        let mut class_of = [0; 8];
        for (number, class) in (0..).zip(classes) {
            for &priority in &class.priorities {
                class_of[usize::from(priority)] = number;
            }
        }
        let rule = |class: &Class| Rule {
            room: Room {
                frames: class.queue_frames.map_or(room.frames, u64::from),
                octets: class.queue_octets.unwrap_or(room.octets),
            },
            quantum: class.quantum_octets.map(u64::from),
            idle_slope_bps: class.idle_slope_bps.map(i128::from),
        };
        Self { class_of, rules: classes.iter().map(rule).collect() }
    }

    /// The class of a priority.
    #[inline]
    #[must_use]
    pub fn class_of(&self, priority: u8) -> usize {
        usize::from(self.class_of[usize::from(priority)])
    }
}

/// A frame that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<T> {
    /// What the frame is.
    pub item: T,
    /// Its length, destination address to FCS.
    pub octets: u32,
    /// Its volume on the wire, in octets.
    pub volume: u64,
    /// Earliest time at which it may begin.
    pub begin: u64,
}

/// What a port does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Sends the first frame of this class.
    Send(usize),
    /// Nothing before this time, unless a frame comes.
    At(u64),
    /// Nothing: no frame waits.
    Nothing,
}

/// Credit of a class as of a time, which may be the end of a frame that is being sent.
#[derive(Clone, Copy, Debug, Default)]
struct Credit {
    value: i128,
    at: u64,
}

#[derive(Clone, Debug)]
struct Queue<T> {
    waiting: VecDeque<Waiting<T>>,
    /// Frames and octets in it, one being sent included.
    held: Room,
    credit: Credit,
    deficit: u64,
    counts: ClassCounts,
}

/// The queue of a port, by class.
#[derive(Clone, Debug)]
pub struct Scheduler<T> {
    queues: Vec<Queue<T>>,
    /// Class and octets of the frame that is being sent.
    sending: Option<(usize, u32)>,
    /// The class that deficit round robin visits, and whether it has its quantum of this visit.
    visited: usize,
    is_granted: bool,
}

impl<T> Scheduler<T> {
    /// An empty one.
    #[must_use]
    pub fn new(classes: &Classes) -> Self {
        let queue = || Queue {
            waiting: VecDeque::new(),
            held: Room { frames: 0, octets: 0 },
            credit: Credit::default(),
            deficit: 0,
            counts: ClassCounts::default(),
        };
        let visited = classes.rules.iter().position(|rule| rule.quantum.is_some()).unwrap_or(0);
        Self {
            queues: classes.rules.iter().map(|_| queue()).collect(),
            sending: None,
            visited,
            is_granted: false,
        }
    }

    /// A frame comes to its class; whether there was room.
    pub fn push(&mut self, classes: &Classes, class: usize, now: u64, frame: Waiting<T>) -> bool {
        let rule = &classes.rules[class];
        let queue = &mut self.queues[class];
        queue.counts.arrived += 1;
        let held = Room {
            frames: queue.held.frames + 1,
            octets: queue.held.octets + u64::from(frame.octets),
        };
        if held.frames > rule.room.frames || held.octets > rule.room.octets {
            queue.counts.dropped += 1;
            return false;
        }
        queue.accrue(rule, now);
        queue.held = held;
        queue.counts.queue_most = queue.counts.queue_most.max(held.frames);
        queue.counts.queue_octets_most = queue.counts.queue_octets_most.max(held.octets);
        queue.waiting.push_back(frame);
        true
    }

    /// What the port does at `now`, when no frame is being sent.
    pub fn next(&mut self, classes: &Classes, now: u64) -> Next {
        let mut later = u64::MAX;
        let mut class = 0;
        while class < self.queues.len() {
            let rule = &classes.rules[class];
            if rule.quantum.is_some() {
                let after = classes.rules.iter().rposition(|rule| rule.quantum.is_some());
                let after = after.map_or(class, |last| last) + 1;
                if let Some(class) = self.round(classes, class, after, now) {
                    return Next::Send(class);
                }
                let begins = self.queues[class..after].iter().filter_map(Queue::begin);
                later = later.min(begins.min().unwrap_or(u64::MAX));
                class = after;
                continue;
            }
            let queue = &mut self.queues[class];
            queue.accrue(rule, now);
            if let Some(begin) = queue.begin() {
                let begin = begin.max(queue.credited(rule));
                if begin <= now {
                    return Next::Send(class);
                }
                later = later.min(begin);
            }
            class += 1;
        }
        if later == u64::MAX { Next::Nothing } else { Next::At(later) }
    }

    /// The class of a group that deficit round robin serves, if a frame of it can begin.
    fn round(&mut self, classes: &Classes, first: usize, after: usize, now: u64) -> Option<usize> {
        let can_begin = |queue: &Queue<T>| queue.begin().is_some_and(|begin| begin <= now);
        if !self.queues[first..after].iter().any(can_begin) {
            return None;
        }
        loop {
            let class = self.visited;
            let queue = &mut self.queues[class];
            if let Some(frame) = queue.waiting.front().filter(|frame| frame.begin <= now) {
                if !std::mem::replace(&mut self.is_granted, true) {
                    queue.deficit += classes.rules[class].quantum.expect("a class of the group");
                }
                if frame.volume <= queue.deficit {
                    return Some(class);
                }
            }
            self.visit_next(first, after);
        }
    }

    fn visit_next(&mut self, first: usize, after: usize) {
        self.visited = if self.visited + 1 < after { self.visited + 1 } else { first };
        self.is_granted = false;
    }

    /// Take the first frame of a class, which is being sent from now on until `free`, its gap
    /// included.
    ///
    /// # Panics
    /// If no frame of the class waits.
    pub fn pop(&mut self, classes: &Classes, class: usize, now: u64, free: u64) -> Waiting<T> {
        debug_assert!(self.sending.is_none(), "one frame at a time");
        let rule = &classes.rules[class];
        let queue = &mut self.queues[class];
        queue.accrue(rule, now);
        let frame = queue.waiting.pop_front().expect("the class that was chosen");
        self.sending = Some((class, frame.octets));
        if let Some(slope) = rule.idle_slope_bps {
            let sent = i128::from(8 * frame.volume) * CREDITS_PER_BIT;
            let credit = &mut queue.credit;
            *credit =
                Credit { value: credit.value + slope * i128::from(free - now) - sent, at: free };
        }
        if rule.quantum.is_some() {
            queue.deficit -= frame.volume;
            if queue.waiting.is_empty() {
                queue.deficit = 0;
            }
        }
        frame
    }

    /// The frame being sent has left.
    ///
    /// # Panics
    /// If none is being sent.
    pub fn left(&mut self) {
        let (class, octets) = self.sending.take().expect("a frame is being sent");
        let queue = &mut self.queues[class];
        queue.held.frames -= 1;
        queue.held.octets -= u64::from(octets);
        queue.counts.frames += 1;
        queue.counts.octets += u64::from(octets);
    }

    /// The first frame of a class in which frames wait.
    ///
    /// # Panics
    /// If none waits.
    #[must_use]
    pub fn first(&self, class: usize) -> &T {
        &self.queues[class].waiting[0].item
    }

    /// Volume on the wire of the first frame of a class in which frames wait, in octets.
    ///
    /// # Panics
    /// If none waits.
    #[must_use]
    pub fn first_volume(&self, class: usize) -> u64 {
        self.queues[class].waiting[0].volume
    }

    /// Frames and octets in all classes.
    #[must_use]
    pub fn held(&self) -> Room {
        let sum = |pick: fn(&Room) -> u64| self.queues.iter().map(|queue| pick(&queue.held)).sum();
        Room { frames: sum(|held| held.frames), octets: sum(|held| held.octets) }
    }

    /// Frames that wait, class by class.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting<T>> {
        self.queues.iter().flat_map(|queue| &queue.waiting)
    }

    /// What was counted of each class.
    #[must_use]
    pub fn counts(&self) -> Vec<ClassCounts> {
        self.queues.iter().map(|queue| queue.counts).collect()
    }
}

impl<T> Queue<T> {
    /// When its first frame may begin.
    #[inline]
    fn begin(&self) -> Option<u64> {
        self.waiting.front().map(|frame| frame.begin)
    }

    /// Bring the credit to `now`; since it was last, frames have waited throughout, or none has.
    #[inline]
    fn accrue(&mut self, rule: &Rule, now: u64) {
        let Some(slope) = rule.idle_slope_bps else { return };
        let credit = &mut self.credit;
        if now < credit.at {
            return; // a frame of the class is being sent, and booked until its end
        }
        credit.value += slope * i128::from(now - credit.at);
        if self.waiting.is_empty() {
            credit.value = credit.value.min(0);
        }
        credit.at = now;
    }

    /// When its credit is not negative; 0 without a shaper.
    #[inline]
    fn credited(&self, rule: &Rule) -> u64 {
        let Some(slope) = rule.idle_slope_bps.filter(|_| self.credit.value < 0) else { return 0 };
        let missing = (-self.credit.value + slope - 1) / slope;
        self.credit.at.saturating_add(u64::try_from(missing).unwrap_or(u64::MAX))
    }
}
