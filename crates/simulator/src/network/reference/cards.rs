//! The cards of ports on shared media: each holds a frame until the medium has carried it.

use crate::mac::csma_cd::Retry;
use crate::medium::hosts::Hosts;
use crate::network::compiled::{CompiledNetwork, NONE, Segment};
use crate::segment::compiled::{NEVER, small};
use crate::segment::station::{Attempt, Ending};
use crate::shared::SharedMedium;
use crate::spread::Spread;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::counts::PortCounts;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision};
use std::collections::VecDeque;

/// A shared medium of ports.
pub(super) type PortMedium<'p> = SharedMedium<'p, Cards<'p>>;

/// What a card tells its port.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// Its frame was sent.
    Sent { station: u32, number: u32, copy: u32, start: i64, end: i64 },
    /// Its frame is given up.
    GivenUp { station: u32, copy: u32, at: i64 },
    /// It has heard a frame to its end, and whether all of it was right.
    Heard { station: u32, number: u32, at: i64, is_right: bool },
}

/// The frame that a card holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    copy: u32,
    octets: u32,
    since: i64,
    attempts: u32,
}

#[derive(Debug)]
struct Card {
    held: Option<Held>,
    chance: Stream,
    collisions: u64,
    late_collisions: u64,
    access: Spread,
}

/// The cards of the ports on a medium.
pub(super) struct Cards<'p> {
    segment: &'p Segment,
    /// The measured window.
    window: (i64, i64),
    each: Vec<Card>,
    outcomes: VecDeque<Outcome>,
    /// Frames on their way: number, how many stations have not heard it yet, and their copies.
    on_way: VecDeque<(u32, u32, Vec<u32>)>,
    /// Rooms for copies that all stations have heard.
    spare: Vec<Vec<u32>>,
}

impl<'p> Cards<'p> {
    fn new(compiled: &CompiledNetwork, segment: &'p Segment, first: u32) -> Self {
        let phases = &compiled.phases;
        let card = |station| {
            let number = first + segment.port(station);
            let chance = Stream::new(compiled.seed, number, Purpose::Backoff);
            let access = Spread::default();
            Card { held: None, chance, collisions: 0, late_collisions: 0, access }
        };
        Self {
            segment,
            window: (phases.measure_from_ps.cast_signed(), phases.measure_to_ps.cast_signed()),
            each: (0..segment.stations()).map(card).collect(),
            outcomes: VecDeque::new(),
            on_way: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// A card takes up a frame.
    pub fn take_up(&mut self, station: u32, copy: u32, octets: u32, since: i64) {
        self.each[station as usize].held = Some(Held { copy, octets, since, attempts: 0 });
    }

    /// Whether a card has told something that its port does not know yet.
    pub fn has_outcome(&self) -> bool {
        !self.outcomes.is_empty()
    }

    /// What a card has told, if its port does not know it yet.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    /// Room for a copy of each station, without any.
    pub fn no_copies(&mut self) -> Vec<u32> {
        let mut copies = self.spare.pop().unwrap_or_default();
        copies.resize(self.each.len(), NONE);
        copies
    }

    /// The frame `number` is on its way to all stations that have a copy of it.
    pub fn share(&mut self, number: u32, copies: Vec<u32>) {
        self.on_way.push_back((number, small(copies.len() - 1), copies));
    }

    /// The copy of a frame that a station has heard to its end; none of one that collided.
    pub fn take_heard(&mut self, station: u32, number: u32) -> Option<u32> {
        let (_, left, copies) = self.on_way.iter_mut().find(|(of, ..)| *of == number)?;
        let copy = std::mem::replace(&mut copies[station as usize], NONE);
        *left -= 1;
        while self.on_way.front().is_some_and(|&(_, left, _)| left == 0) {
            self.spare.extend(self.on_way.pop_front().map(|(.., copies)| copies));
        }
        Some(copy)
    }

    /// What was counted of a card belongs to its port.
    pub fn count_into(&self, station: usize, port: &mut PortCounts) {
        let card = &self.each[station];
        let access = card.access.finish();
        port.collisions = card.collisions;
        port.late_collisions = card.late_collisions;
        port.access_ps = u64::try_from(access.sum_ps).unwrap_or(u64::MAX);
        port.access_most_ps = access.max_ps;
    }

    fn held(&self, station: u32) -> Held {
        self.each[station as usize].held.expect("a station that sends holds a frame")
    }

    fn attempt(&self, station: u32, start: i64, end: i64, ending: Ending, late: bool) -> Attempt {
        let Held { octets, since, attempts, .. } = self.held(station);
        Attempt {
            station,
            ending,
            late,
            damaged: false,
            attempts,
            samples: 0,
            start,
            end,
            taken_up: since,
            arrived: since,
            bits: 8 * u64::from(octets),
        }
    }
}

impl Hosts for Cards<'_> {
    fn packet_time(&self, station: u32, _: i64) -> i64 {
        self.segment.medium.packet_time(8 * u64::from(self.held(station).octets))
    }

    fn deliver(&mut self, station: u32, number: u32, start: i64, end: i64) -> (Attempt, i64) {
        let copy = self.held(station).copy;
        self.outcomes.push_back(Outcome::Sent { station, number, copy, start, end });
        let attempt = self.attempt(station, start, end, Ending::Delivered, false);
        self.each[station as usize].held = None;
        (attempt, NEVER)
    }

    fn collide(&mut self, station: u32, start: i64, end: i64, late: bool) -> (Attempt, i64) {
        let index = station as usize;
        let retry: &Retry = &self.segment.retries[index];
        let is_fatal =
            late && self.segment.after_late_collision[index] == AfterLateCollision::Discard;
        let card = &mut self.each[index];
        let held = card.held.as_mut().expect("a station that sends holds a frame");
        held.attempts += 1;
        let attempts = held.attempts;
        if !is_fatal && retry.is_allowed(attempts) {
            let ready = end + retry.wait(attempts, &mut card.chance);
            return (self.attempt(station, start, end, Ending::Collided, late), ready);
        }
        if !is_fatal && self.segment.after_attempt_limit[index] == AfterAttemptLimit::Resume {
            held.attempts = 0;
            return (self.attempt(station, start, end, Ending::Resumed, late), end);
        }
        let attempt = self.attempt(station, start, end, Ending::Discarded, late);
        let copy = self.held(station).copy;
        self.each[index].held = None;
        self.outcomes.push_back(Outcome::GivenUp { station, copy, at: end });
        (attempt, NEVER)
    }

    fn receive(&mut self, station: u32, number: u32, now: i64, is_right: bool) {
        self.outcomes.push_back(Outcome::Heard { station, number, at: now, is_right });
    }

    fn record(&mut self, attempt: &Attempt) {
        if attempt.end < self.window.0 || attempt.end >= self.window.1 {
            return;
        }
        let card = &mut self.each[attempt.station as usize];
        if attempt.ending == Ending::Delivered {
            card.access.record((attempt.start - attempt.taken_up).cast_unsigned());
        } else {
            card.collisions += 1;
            card.late_collisions += u64::from(attempt.late);
        }
    }

    fn record_logical(&mut self, _: &Attempt) {} // the bus counts them
}

/// Every shared medium. Draws have the numbers of ports from `first` on.
pub(super) fn media<'p>(compiled: &'p CompiledNetwork, first: u32) -> Vec<PortMedium<'p>> {
    let medium = |segment: &'p Segment| {
        let Segment { medium, plca, .. } = segment;
        let cards = Cards::new(compiled, segment, first);
        let streams = (compiled.seed, first + segment.port(0));
        SharedMedium::new(medium, plca.as_ref(), &compiled.phases, streams, cards)
    };
    compiled.segments.iter().map(medium).collect()
}
