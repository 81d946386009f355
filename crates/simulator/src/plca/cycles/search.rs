//! The next opportunity that is used, while the line is silent.

use super::{Cycles, Used};
use crate::identity::StationId;
use crate::plca::agenda::Agenda;
use crate::plca::turn::Phase;
use crate::time::{Instant, Span};

/// Opportunities that are looked at one by one before others are passed over.
const LOOKED_AT: usize = 4;

/// What a look at all nodes gave.
enum Searched {
    /// The first opportunity that is used, if one is.
    Found(Option<Used>),
    /// A frame in a delay line collided, so that another look is needed.
    Again,
}

impl Cycles<'_> {
    /// Whether one of the next few opportunities is used.
    #[inline]
    pub(super) fn look(&mut self) -> Option<Used> {
        let schedule = self.context.schedule;
        let next = self.silence.next;
        for opportunity in next..(next + LOOKED_AT).min(schedule.opportunities) {
            let Some(node) = schedule.owner(opportunity) else { continue };
            let begin = self.begin_of(node, opportunity);
            if self.wakes.of(node) > begin {
                continue;
            }
            if self.turns[node].phase == Phase::Idle {
                let held_since = self.held_since(node);
                if held_since + schedule.hold <= begin {
                    self.collide(node, self.start_of(node), held_since + schedule.hold);
                } else if held_since > begin || self.turns[node].idle_from == begin {
                    continue;
                }
            }
            if self.wakes.of(node) <= begin {
                return Some(Used { cycles: 0, opportunity, node, begin });
            }
        }
        None
    }

    /// The first opportunity that is used, if one is before `end`, or is known to be near it.
    pub(super) fn search(&mut self, end: Instant) -> Option<Used> {
        let reach = self.context.schedule.reach * 2;
        let (mut node, mut second) = self.wakes.first();
        loop {
            if self.wakes.of(node) > end {
                return None;
            }
            let (used, until) = self.use_of(node);
            // Others can come before the use, or before the frame in the delay line collides,
            // only if they are there by then, as it is heard.
            let known = until.min(used.begin) + reach;
            if second <= known || until <= used.begin && until >= end {
                if let Searched::Found(found) = self.search_all(end, end.min(known)) {
                    return found;
                }
            } else if until <= used.begin {
                self.collide(node, self.start_of(node), until);
                if self.wakes.of(node) < second {
                    continue;
                }
            } else {
                return Some(used);
            }
            (node, second) = self.wakes.first();
        }
    }

    /// The own opportunity in which a node sends, if no other node sends before and it begins before
    /// the time returned with it; at that time a frame in the delay line collides.
    #[inline]
    fn use_of(&self, node: StationId) -> (Used, Instant) {
        let turn = &self.turns[node];
        if turn.phase != Phase::Idle {
            return (self.own_from(node, turn.pending), Instant::NEVER);
        }
        let held_since = self.held_since(node);
        let used = self.own_from(node, held_since.max(turn.idle_from + Span::PICOSECOND));
        (used, held_since + self.context.schedule.hold)
    }

    /// The same as [`Cycles::search`], by a look at all nodes that may do something until `bound`.
    fn search_all(&mut self, end: Instant, mut bound: Instant) -> Searched {
        let reach = self.context.schedule.reach * 2;
        let mut first: Option<Used> = None;
        // The first frame whose time in the delay line ends before its opportunity.
        let mut failed: Option<(Instant, StationId)> = None;
        for block in 0..self.wakes.blocks() {
            if self.wakes.earliest_of(block) > bound {
                continue;
            }
            for node in Agenda::nodes(block) {
                if self.wakes.of(node) > bound {
                    continue;
                }
                let (used, until) = self.use_of(node);
                if used.begin >= until {
                    if failed.is_none_or(|(at, _)| until < at) {
                        failed = Some((until, node));
                    }
                } else if first.is_none_or(|first| used.is_before(&first)) {
                    first = Some(used);
                    // Others may hear it later than it is sent, and be before it all the same.
                    bound = bound.min(used.begin + reach);
                }
            }
        }
        let Some((at, node)) = failed else { return Searched::Found(first) };
        let is_heard_later = |used: Used| {
            let delay = self.context.schedule.delay(used.node, node);
            at <= used.begin + self.context.schedule.carrier_on + delay
        };
        if at >= end || !first.is_none_or(is_heard_later) {
            return Searched::Found(first);
        }
        self.collide(node, self.start_of(node), at);
        Searched::Again
    }

    /// The first own opportunity of a node that begins at or after a time, if the line stays
    /// silent.
    fn own_from(&self, node: StationId, time: Instant) -> Used {
        let schedule = self.context.schedule;
        let next_cycle =
            self.next_beacon_end() + schedule.release + schedule.delay(schedule.coordinator, node);
        let own = |&opportunity: &usize| {
            if opportunity >= self.silence.next {
                let begin = self.begin_of(node, opportunity);
                if begin >= time {
                    return Used { cycles: 0, opportunity, node, begin };
                }
            }
            let begin = next_cycle + schedule.opportunity * opportunity as u64;
            let late = (time - begin).max(Span::ZERO);
            let almost = late + schedule.empty_cycle - Span::PICOSECOND;
            let cycles = almost.periods(schedule.empty_cycle);
            let begin = begin + schedule.empty_cycle * cycles;
            Used { cycles: cycles + 1, opportunity, node, begin }
        };
        let ids = &schedule.ids[node];
        if let [id] = ids.as_slice() {
            return own(id);
        }
        let earliest = ids.iter().map(own).min_by_key(|used| (used.cycles, used.opportunity));
        earliest.expect("each node has an opportunity")
    }
}
