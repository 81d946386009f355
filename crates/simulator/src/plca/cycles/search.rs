//! The next opportunity that is used, while the line is silent.

use super::{Cycles, Used};
use crate::identity::StationId;
use crate::plca::turn::Phase;
use crate::time::{Instant, Span};

impl Cycles<'_> {
    /// The very next opportunity, if its owner waits for nothing else and all others owe a gap: on a
    /// busy bus most often, so that it is worth a look before the search. It may be the first one
    /// after a beacon.
    #[inline]
    pub(super) fn look(&self) -> Option<Used> {
        let schedule = self.schedule;
        let next = self.silence.next;
        let (cycles, opportunity) = if next < schedule.opportunities { (0, next) } else { (1, 0) };
        let node = schedule.owner(opportunity)?;
        let begin = if cycles == 0 { self.begin_of(node, next) } else { self.next_cycle_of(node) };
        let turn = &self.turns[node];
        let is_used = turn.phase != Phase::Idle
            && turn.pending <= begin
            && begin + schedule.reach * 2 < self.last.end + schedule.gap;
        is_used.then_some(Used { cycles, opportunity, node, begin })
    }

    /// The first opportunity that is used, if one is before `end`, or is known to be near it.
    pub(super) fn search(&mut self, end: Instant) -> Option<Used> {
        let reach = self.schedule.reach * 2;
        loop {
            let mut first = self.first_that_waits(end);
            // Idle nodes can come before it only if they are there by then, as it is heard.
            let mut bound = first.map_or(end, |first| end.min(first.begin + reach));
            if bound < self.last.end + self.schedule.gap {
                return first; // they owe a gap
            }
            if first.is_none() {
                // The idle node that is first is often the only one for long.
                let (node, second) = self.listening.first();
                if self.listening.of(node) > end {
                    return None;
                }
                let (used, until) = self.use_of(node);
                bound = end.min(until.min(used.begin) + reach);
                if second > bound {
                    if until > used.begin {
                        return Some(used);
                    }
                    if until >= end {
                        return None;
                    }
                    self.collide(node, self.start_of(node), until);
                    continue;
                }
            }
            let Some((at, node)) = self.look_at_idle(bound, &mut first) else { return first };
            let is_heard_later = |used: Used| {
                let delay = self.schedule.delay(used.node, node);
                at <= used.begin + self.schedule.carrier_on + delay
            };
            if at >= end || !first.is_none_or(is_heard_later) {
                return first;
            }
            self.collide(node, self.start_of(node), at);
        }
    }

    /// Before when no opportunity is used, if no other frame comes.
    pub(super) fn next_use(&mut self) -> Instant {
        let before_never = Instant::NEVER - Span::PICOSECOND;
        let first = self.first_that_waits(before_never);
        let mut next = first.map_or(before_never, |first| first.begin);
        for block in 0..self.listening.blocks() {
            for node in self.listening.until(block, next) {
                let (used, until) = self.use_of(node);
                next = next.min(used.begin).min(until);
            }
        }
        next
    }

    /// The first opportunity of a node whose MAC jams or backs off, if one may be used before `end`.
    #[inline]
    fn first_that_waits(&mut self, end: Instant) -> Option<Used> {
        let schedule = self.schedule;
        let mut from = 0;
        while let Some(number) = self.pending.next(from) {
            let node = StationId::new(number);
            if self.turns[node].pending <= self.silence.since {
                self.pending.remove(number);
                schedule.ids[node].iter().for_each(|&id| self.due.insert(id));
            }
            from = number + 1;
        }
        let mut first = self.next_due();
        from = 0;
        while let Some(number) = self.pending.next(from) {
            let node = StationId::new(number);
            let at = self.turns[node].pending;
            if at <= first.map_or(end, |first| first.begin + schedule.reach * 2) {
                let used = self.own_from(node, at);
                if first.is_none_or(|first| used.is_before(&first)) {
                    first = Some(used);
                }
            }
            from = number + 1;
        }
        first
    }

    /// The first opportunity of the nodes that wait for nothing else.
    #[inline]
    fn next_due(&self) -> Option<Used> {
        let schedule = self.schedule;
        let owner = |opportunity| schedule.owner(opportunity).expect("it is used");
        let used = |opportunity| {
            let node = owner(opportunity);
            Used { cycles: 0, opportunity, node, begin: self.begin_of(node, opportunity) }
        };
        if let Some(opportunity) = self.due.next(self.silence.next) {
            return Some(used(opportunity));
        }
        let opportunity = self.due.next(0)?;
        let node = owner(opportunity);
        let begin = self.next_cycle_of(node) + schedule.opportunity * opportunity as u64;
        Some(Used { cycles: 1, opportunity, node, begin })
    }

    /// The own opportunity in which an idle node sends, if no other node sends before and it begins
    /// before the time returned with it; at that time a frame in the delay line collides.
    #[inline]
    fn use_of(&self, node: StationId) -> (Used, Instant) {
        let held_since = self.held_since(node);
        let from = held_since.max(self.turns[node].idle_from + Span::PICOSECOND);
        (self.own_from(node, from), held_since + self.schedule.hold)
    }

    /// Look at all idle nodes that may do something until `bound`: put `first` back if one of them
    /// sends before it. Returns the first frame whose time in the delay line ends before its
    /// opportunity.
    fn look_at_idle(
        &self,
        mut bound: Instant,
        first: &mut Option<Used>,
    ) -> Option<(Instant, StationId)> {
        let reach = self.schedule.reach * 2;
        let mut failed: Option<(Instant, StationId)> = None;
        for block in 0..self.listening.blocks() {
            for node in self.listening.until(block, bound) {
                if self.held_since(node) > bound {
                    continue;
                }
                let (used, until) = self.use_of(node);
                if used.begin >= until {
                    if failed.is_none_or(|(at, _)| until < at) {
                        failed = Some((until, node));
                    }
                } else if first.is_none_or(|first| used.is_before(&first)) {
                    *first = Some(used);
                    // Others may hear it later than it is sent, and be before it all the same.
                    bound = bound.min(used.begin + reach);
                }
            }
        }
        failed
    }

    /// When a node begins the first opportunity of the next cycle, if the line stays silent.
    #[inline]
    fn next_cycle_of(&self, node: StationId) -> Instant {
        let schedule = self.schedule;
        self.silence.beacon_end + schedule.release + schedule.delay(schedule.coordinator, node)
    }

    /// The first own opportunity of a node that begins at or after a time, if the line stays
    /// silent.
    fn own_from(&self, node: StationId, time: Instant) -> Used {
        let schedule = self.schedule;
        let own = |&opportunity: &usize| {
            if opportunity >= self.silence.next {
                let begin = self.begin_of(node, opportunity);
                if begin >= time {
                    return Used { cycles: 0, opportunity, node, begin };
                }
            }
            let begin = self.next_cycle_of(node) + schedule.opportunity * opportunity as u64;
            if begin >= time {
                return Used { cycles: 1, opportunity, node, begin };
            }
            let almost = time - begin + schedule.empty_cycle - Span::PICOSECOND;
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
