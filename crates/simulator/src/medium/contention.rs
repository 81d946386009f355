//! A shared medium of CSMA/CD contention by contention, whose frames come from outside: while
//! contentions are closed, no signal needs an event.
//!
//! Of each station it knows when it starts if no other does first: when it is ready, put off by what
//! it has heard so far. The earliest start decides who contends: those that start no later than they
//! hear another. All of them are known when the first signal could have come everywhere, for then
//! every frame that could take part has come from outside. So a contention of several stations is
//! resolved at that time, whole, with ends that lie ahead; a frame that is alone, when it ends.
//!
//! This is exact as long as contentions are *closed* ([`crate::segment::fast`] says why). Where they
//! are not, the medium goes on event by event until they are again: when a collision parts, because
//! a sender was over before it heard the last of the others; and when the end of an attempt may come
//! before the contention is resolved. That is so of a frame so short that its sender may not hear
//! that it collides, and, on a long medium, of the last attempt of a frame.

use super::access::Direct;
use super::compiled::{CompiledMedium, Phy};
use super::event::Event;
use super::hosts::Hosts;
use super::signals::Symbol;
use super::{Medium, Node};
use crate::identity::StationId;
use crate::mac::backoff::Draws;
use crate::mac::csma_cd::CsmaCd;
use crate::time::{Instant, Span};
use ethermeter_trial::Phases;

/// What a station waits for.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When it is ready, if it has a frame.
    ready: Instant,
    /// 0, or of a frame that comes after what is heard in its instant, its number.
    order: u64,
    /// When the silence that it owes is over.
    owed: Instant,
    /// When it starts if no other station does first.
    start: Instant,
    /// Whether the end of its attempt may come before its contention is resolved.
    is_hasty: bool,
}

/// A sender of a contention.
#[derive(Clone, Copy, Debug)]
struct Sender {
    station: StationId,
    start: Instant,
    /// When it hears the first of the others, and the last.
    heard: (Instant, Instant),
    end: Instant,
}

/// A medium that is resolved by contentions where it can.
#[expect(clippy::struct_excessive_bools, reason = "each is a state or a property of its own")]
pub(crate) struct Contended<'w, H> {
    medium: Medium<'w, Direct<CsmaCd>, H>,
    /// Whether it goes on event by event.
    has_events: bool,
    can_close: bool,
    /// Whether a collision may be over before its contention is resolved.
    is_long: bool,
    /// Whether frames come after what is heard in their instant.
    comes_after: bool,
    waiting: Vec<Waiting>,
    /// The station that starts first, if any does.
    first: StationId,
    /// When its contention is resolved, and whether no other station contends.
    resolved_at: Instant,
    is_alone: bool,
    hasty: usize,
    /// Frames that have come from outside.
    frames: u64,
    candidates: Vec<StationId>,
    senders: Vec<Sender>,
}

impl<'w, H: Hosts> Contended<'w, H> {
    /// A medium before its first frame. Frames come before what is heard in their instant, or after
    /// it.
    pub(crate) fn new(
        compiled: &'w CompiledMedium,
        phases: &Phases,
        draws: Draws,
        hosts: H,
        comes_after: bool,
    ) -> Self {
        let stations = compiled.stations();
        let idle = Waiting {
            ready: Instant::NEVER,
            order: 0,
            owed: Instant::ZERO,
            start: Instant::NEVER,
            is_hasty: false,
        };
        let access = |station| Direct(CsmaCd::new(compiled.gap_of(station)));
        let accesses = StationId::first(stations).map(access).collect();
        let can_close = compiled.has_contentions();
        let shortest_jam = compiled.jams.iter().copied().min().unwrap_or_default();
        Self {
            medium: Medium::new(compiled, accesses, (), phases, draws, hosts),
            has_events: !can_close,
            can_close,
            is_long: compiled.max_delay > compiled.preamble + shortest_jam,
            comes_after,
            waiting: vec![idle; stations],
            first: StationId::from(0),
            resolved_at: Instant::NEVER,
            is_alone: false,
            hasty: 0,
            frames: 0,
            candidates: Vec::new(),
            senders: Vec::new(),
        }
    }

    pub(crate) fn hosts(&self) -> &H {
        &self.medium.hosts
    }

    pub(crate) fn hosts_mut(&mut self) -> &mut H {
        &mut self.medium.hosts
    }

    /// Whether it goes on event by event. If not, all stations hear a frame that was sent.
    pub(crate) fn has_events(&self) -> bool {
        self.has_events
    }

    /// When something is decided next.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        if self.has_events {
            return self.medium.next_at();
        }
        let first = self.waiting[self.first].start;
        (first < self.medium.end).then_some(self.resolved_at)
    }

    /// Decide it.
    pub(crate) fn step(&mut self) {
        let Some(now) = self.next_at() else { return };
        if self.has_events {
            self.medium.step();
            if self.can_close && self.medium.on_line == 0 {
                self.perhaps_close(now);
            }
        } else if self.hasty > 0 || !self.resolve() {
            self.open();
        }
    }

    /// A station has a frame: now, or once it is done with the one before.
    pub(crate) fn offer(&mut self, at: Instant, station: StationId) {
        let owed = self.waiting[station].owed;
        if !self.has_events {
            self.frames += 1;
            let order = if self.comes_after { self.frames } else { 0 };
            let before = self.hasty;
            self.make_ready(at, station, order);
            if self.key(station) <= self.key(self.first) {
                self.first = station;
                self.set_resolved();
            } else if self.contends(station) || self.hasty != before {
                self.set_resolved();
            }
        } else if at < owed {
            self.medium.make_ready(owed, station);
        } else {
            self.medium.offer(at, station);
        }
    }

    /// Its hosts, when nothing more happens.
    pub(crate) fn finish(self) -> H {
        self.medium.finish().0
    }

    fn make_ready(&mut self, ready: Instant, station: StationId, order: u64) {
        let medium = &self.medium;
        let is_hasty = !ready.is_never()
            && (self.is_long && medium.hosts.attempts_left(station) <= 1
                || medium.hosts.packet_time(station, ready) <= medium.compiled.max_delay * 2);
        let it = &mut self.waiting[station];
        self.hasty = self.hasty + usize::from(is_hasty) - usize::from(it.is_hasty);
        (it.ready, it.order, it.is_hasty) = (ready, order, is_hasty);
        it.start = it.starts();
    }

    /// Who starts first: of several at once, one whose frame has not just come.
    fn key(&self, station: StationId) -> (Instant, u64) {
        self.waiting[station].key()
    }

    fn find_first(&mut self) {
        let stations = StationId::first(self.waiting.len());
        self.first = stations.min_by_key(|&station| self.key(station)).unwrap_or(self.first);
        self.set_resolved();
    }

    /// Whether a station starts before it could hear the first one everywhere.
    #[inline]
    fn contends(&self, station: StationId) -> bool {
        let compiled = self.medium.compiled;
        let [from, to] = [self.first, station].map(|station| compiled.positions[station]);
        let latest = self.waiting[self.first].start + compiled.delay(from, to);
        station != self.first && self.waiting[station].start <= latest
    }

    /// Find when the next contention is resolved: as late as can be, so that a frame that is alone
    /// is looked at once.
    fn set_resolved(&mut self) {
        let start = self.waiting[self.first].start;
        let mut stations = StationId::first(self.waiting.len());
        self.is_alone = false;
        self.resolved_at = if start >= self.medium.end || self.hasty > 0 {
            start
        } else if stations.any(|station| self.contends(station)) {
            start + self.medium.compiled.max_delay
        } else {
            self.is_alone = true;
            start + self.medium.hosts.packet_time(self.first, start)
        };
    }

    /// Resolve the next contention. Whether it is closed; if not, nothing has changed.
    fn resolve(&mut self) -> bool {
        let compiled = self.medium.compiled;
        if self.is_alone {
            self.deliver(self.first, self.waiting[self.first].start, self.resolved_at);
            self.find_first();
            return true;
        }
        self.choose_senders();
        if let [Sender { station, start, .. }] = self.senders[..] {
            self.deliver(station, start, start + self.medium.hosts.packet_time(station, start));
        } else {
            for sender in &mut self.senders {
                let heard = sender.heard.0.max(sender.start);
                let jam = compiled.jams[sender.station];
                sender.heard.0 = heard;
                sender.end = heard.max(sender.start + compiled.preamble) + jam;
            }
            if self.senders.iter().any(|sender| sender.heard.1 > sender.end) {
                return false;
            }
            for index in 0..self.senders.len() {
                let Sender { station, start, heard, end } = self.senders[index];
                let is_late = heard.0 - start > compiled.slot;
                let (attempt, ready) = self.medium.hosts.collide(station, start, end, is_late);
                self.medium.hosts.record(&attempt);
                self.make_ready(ready, station, 0);
            }
            for index in 0..self.senders.len() {
                self.defer_to(self.senders[index].station, self.senders[index].end);
            }
        }
        self.find_first();
        true
    }

    /// A station sends alone.
    fn deliver(&mut self, station: StationId, start: Instant, end: Instant) {
        let number = self.medium.first_kept;
        self.medium.first_kept = number.after(1);
        let (attempt, ready) = self.medium.hosts.deliver(station, number, start, end);
        self.medium.hosts.record(&attempt);
        self.make_ready(ready, station, 0);
        self.defer_to(station, end);
    }

    /// All stations defer to what a sender has sent until `end`.
    fn defer_to(&mut self, sender: StationId, end: Instant) {
        let compiled = self.medium.compiled;
        let row = compiled.delays_from(compiled.positions[sender]);
        let stations = StationId::first(self.waiting.len()).zip(&compiled.positions);
        for ((station, &position), it) in stations.zip(&mut self.waiting) {
            let delay = if station == sender { Span::ZERO } else { row[position] };
            it.owed = it.owed.max(end + delay + compiled.gaps[position].length);
            it.start = it.starts();
        }
    }

    /// Choose the stations that start before they hear another, in the order of their starts.
    fn choose_senders(&mut self) {
        let compiled = self.medium.compiled;
        let (positions, first) = (&compiled.positions, self.first);
        let row = compiled.delays_from(positions[first]);
        let begun = self.waiting[first].start;
        self.senders.clear();
        self.candidates.clear();
        let stations = StationId::first(positions.len()).zip(self.waiting.iter().zip(positions));
        for (station, (it, &position)) in stations {
            if it.start <= begun + row[position] && station != first {
                self.candidates.push(station);
            }
        }
        let (waiting, end) = (&self.waiting, self.medium.end);
        self.candidates.push(first);
        self.candidates.sort_unstable_by_key(|&station| (waiting[station].key(), station));
        for &station in &self.candidates {
            let it = &waiting[station];
            let row = compiled.delays_from(positions[station]);
            let (mut heard, mut last) = (Instant::NEVER, Instant::ZERO);
            for other in &self.senders {
                let arrives = other.start + row[positions[other.station]];
                (heard, last) = (heard.min(arrives), last.max(arrives));
            }
            // What is heard in the instant of a decision does not keep from starting, unless the
            // frame comes after it.
            let defers = if it.has_just_come() { it.start >= heard } else { it.start > heard };
            if defers || it.start >= end {
                continue;
            }
            for other in &mut self.senders {
                let arrives = it.start + row[positions[other.station]];
                other.heard = (other.heard.0.min(arrives), other.heard.1.max(arrives));
            }
            let start = it.start;
            self.senders.push(Sender { station, start, heard: (heard, last), end: Instant::ZERO });
        }
    }

    /// Go on event by event from the next start on. Some frames may have come after it: one of them
    /// may be so short that the contention cannot be resolved any more.
    fn open(&mut self) {
        self.has_events = true;
        let stations = StationId::first(self.waiting.len());
        let starts = |&station: &StationId| !self.waiting[station].start.is_never();
        let (mut come, known): (Vec<_>, Vec<_>) =
            stations.filter(starts).partition(|&station| self.waiting[station].has_just_come());
        for station in known {
            self.medium.make_ready(self.waiting[station].start, station);
        }
        come.sort_unstable_by_key(|&station| self.key(station));
        for station in come {
            let at = self.waiting[station].start;
            while self.medium.next_at().is_some_and(|next| next <= at) {
                self.medium.step();
            }
            self.medium.offer(at, station);
        }
    }

    /// Go on by contentions, if the medium is quiet and the next signal comes everywhere after the
    /// gaps that are owed.
    fn perhaps_close(&mut self, now: Instant) {
        let medium = &self.medium;
        let is_silent = |node: &Node<_>| {
            node.symbol == Symbol::Silence && node.heard.signals() == 0 && node.under_way.is_none()
        };
        if medium.is_closing()
            || !medium.nodes.iter().all(is_silent)
            || medium.queue.iter().any(|(_, event)| matches!(event, Event::Hear { .. }))
        {
            return;
        }
        let mut gaps = vec![now; self.waiting.len()];
        let mut ready = vec![Instant::NEVER; self.waiting.len()];
        for (at, event) in medium.queue.iter() {
            match event {
                Event::Ready { station } => ready[station.index()] = at,
                Event::GapOver { station, number } => {
                    let gap = medium.nodes[station].access.0.gap_under_way();
                    let Some((_, is_second, _)) = gap.filter(|gap| gap.0 == number) else {
                        continue;
                    };
                    let owed = medium.compiled.gap_of(station);
                    let rest = if is_second { Span::ZERO } else { owed.length - owed.part1 };
                    gaps[station.index()] = at + rest;
                }
                _ => {}
            }
        }
        let delay = |a: StationId, b: StationId| {
            let at = |station: StationId| medium.compiled.positions[station];
            medium.compiled.delay(at(a), at(b))
        };
        let stations = StationId::first(self.waiting.len());
        let is_owed = |station: StationId| gaps[station.index()];
        for a in stations.clone() {
            let mac = &medium.nodes[a].access.0;
            if mac.gap_under_way().is_none() && !mac.is_silent()
                || stations.clone().any(|b| a != b && is_owed(a) + delay(a, b) < is_owed(b))
            {
                return;
            }
            if mac.is_waiting() {
                ready[a.index()] = Instant::ZERO;
            }
        }
        let medium = &mut self.medium;
        medium.queue.retain(|_| false);
        medium.sum_up();
        for station in stations.clone() {
            let node = &mut medium.nodes[station];
            node.access = Direct(CsmaCd::new(medium.compiled.gap_of(station)));
            (node.mac_carrier, node.backs_off) = (false, false);
        }
        self.has_events = false;
        for station in stations {
            self.waiting[station].owed = gaps[station.index()];
            self.make_ready(ready[station.index()], station, 0);
        }
        self.find_first();
    }
}

impl Waiting {
    fn starts(&self) -> Instant {
        if self.ready.is_never() { self.ready } else { self.ready.max(self.owed) }
    }

    /// What orders it among those that start: of several at once, frames that have just come are
    /// last, in their order.
    fn key(&self) -> (Instant, u64) {
        (self.start, if self.has_just_come() { self.order } else { 0 })
    }

    /// Whether its frame comes in the very instant in which it starts, after what is heard then.
    fn has_just_come(&self) -> bool {
        self.order > 0 && self.ready >= self.owed
    }
}

impl CompiledMedium {
    /// Whether contentions on it may be closed: its stations decide when they start, and owe a gap.
    /// On one longer than the standard has it, collisions may be late.
    fn has_contentions(&self) -> bool {
        let always_on = |switches: &super::compiled::Switches| {
            switches.access.is_empty() && switches.silent.is_empty()
        };
        self.turnaround == Span::ZERO
            && self.gap > Span::ZERO
            && !self.jams_at_once
            && self.cable_fault.is_none()
            && self.phy.is_plain()
            && self.switches.iter().all(always_on)
            && self.max_delay * 2 <= self.slot
    }
}

impl Phy {
    /// Whether they add nothing at all.
    fn is_plain(&self) -> bool {
        self.is_immediate() && self.end_delimiter == Span::ZERO && self.bit_error_rate <= 0.0
    }
}
