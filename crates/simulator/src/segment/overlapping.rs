//! Contentions that overlap: on long segments, a station may start again while the last collision
//! still travels elsewhere.
//!
//! Starts are taken one by one in the order of time. Each transmission is kept while any position
//! still hears it; what a station does follows from the signals at its position. Stations of one
//! position that have not sent themselves hear the same, so one list of deferrals serves them all,
//! and the one that is ready first decides when the position acts.
//!
//! Taking the earliest start is exact: a later start cannot be heard before it happens, so it
//! changes neither whether this one starts nor any end that this one waited for.
//!
//! A station's start is its decision and the turnaround time after it; whether it defers follows
//! from what it heard by its decision.
//!
//! Where stations have a priority wait, so has their position: a longer gap, watched to its end.
//! Others need not wait for that to call contentions closed: after the segment's gap, whatever
//! comes restarts it, and so is deferred to (as `fast` says).
//!
//! Contentions can overlap for ever: where signals travel long, the medium need not fall silent
//! anywhere. So what signals did to a position's deferrals is kept when the signals themselves are
//! forgotten (its *base*, up to its *cut*: the time before which nothing new can begin to be heard
//! there), and likewise for each station that sent, whose deferrals differ from its neighbours'.

mod forgetting;

use super::compiled::CompiledSegment;
use super::compiled::small;
use super::counters::Record;
use super::deferrals::Deferrals;
use super::reference::overlap;
use super::station::Station;
use crate::identity::{PositionId, StationId};
use crate::mac::transmitter::{Attempt, Ending};
use crate::time::Instant;
use crate::watch::Poll;
use std::ops::Range;

const NONE: u32 = u32::MAX;
const PRUNE_ABOVE: usize = 8;
const MOST_PLACES_FOR_EARLY_CALM: usize = 64;

/// A transmission that is still heard, or was a short while ago.
#[derive(Clone, Copy, Debug)]
struct Sent {
    station: StationId,
    position: PositionId,
    start: Instant,
    end: Instant,
    heard: Instant,
    over: bool,
    /// Another transmission overlaps it at some position.
    overlapped: bool,
    /// Once it is over.
    attempt: Option<Attempt>,
}

/// A sender of a collision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) station: StationId,
    pub(super) position: PositionId,
    pub(super) start: Instant,
    pub(super) end: Instant,
    /// When it heard the collision.
    pub(super) heard: Instant,
    /// When it hears the last of the others begin.
    pub(super) last_arrival: Instant,
    /// When it hears the last of the others end, or its own end if that is later.
    pub(super) silent: Instant,
    /// When it is ready for its next attempt.
    pub(super) ready: Instant,
}

/// Overlapping contentions, until they are closed again.
///
/// It keeps its arrays between one use and the next.
pub(crate) struct Overlapping {
    /// When each station is ready; at the end, when it decides to start next.
    pub(super) ready: Vec<Instant>,
    sent: Vec<Sent>,
    /// The last transmission of each station in these contentions, unless it is forgotten.
    latest: Vec<u32>,
    /// Stations that sent in these contentions, and so may defer otherwise than their neighbours.
    senders: Vec<StationId>,
    is_sender: Vec<bool>,
    /// By position: what begins to be heard before is in the bases, and nothing new will.
    cuts: Vec<Instant>,
    /// By position: the deferrals from signals before the cut.
    bases: Vec<Deferrals>,
    /// By station: the same for each sender, if `has_base`.
    own_bases: Vec<Deferrals>,
    has_base: Vec<bool>,
    /// By station: when a sender decides to start next, if it was worked out since the last start.
    decided: Vec<Option<Instant>>,
    members: Vec<Vec<StationId>>,
    /// The earliest ready time at each position, of stations that are not senders.
    first_ready: Vec<Instant>,
    deferrals: Vec<Deferrals>,
    scratch: Deferrals,
    arrivals: Vec<(Instant, Instant)>,
    finished: Vec<Attempt>,
    prune_above: usize,
    /// For the question whether contentions are closed: by position, and by sender.
    firsts: Vec<Instant>,
    overs: Vec<Instant>,
    gaps_over: Vec<Instant>,
    own_decisions: Vec<Instant>,
}

enum Next {
    Start { station: StationId, at: Instant },
    End { index: usize },
    Calm,
}

impl Overlapping {
    pub(crate) fn new(compiled: &CompiledSegment) -> Self {
        Self {
            ready: Vec::with_capacity(compiled.stations()),
            sent: Vec::new(),
            latest: vec![NONE; compiled.stations()],
            senders: Vec::new(),
            is_sender: vec![false; compiled.stations()],
            cuts: vec![Instant::PAST; compiled.place_count],
            bases: vec![Deferrals::default(); compiled.place_count],
            own_bases: vec![Deferrals::default(); compiled.stations()],
            has_base: vec![false; compiled.stations()],
            decided: vec![None; compiled.stations()],
            members: compiled.members(),
            first_ready: vec![Instant::NEVER; compiled.place_count],
            deferrals: vec![Deferrals::default(); compiled.place_count],
            scratch: Deferrals::default(),
            arrivals: Vec::new(),
            finished: Vec::new(),
            prune_above: PRUNE_ABOVE,
            firsts: Vec::new(),
            overs: Vec::new(),
            gaps_over: Vec::new(),
            own_decisions: Vec::new(),
        }
    }

    /// Overlapping contentions that begin when contentions are closed and `decisions` are the next
    /// decisions to start if no other station starts first.
    ///
    /// `senders`, if there are any, collided at its beginning; `attempts` are theirs, and no other
    /// station starts before they are over.
    pub(crate) fn run<R: Record>(
        &mut self,
        compiled: &CompiledSegment,
        decisions: impl Iterator<Item = Instant>,
        (senders, attempts): (&[Sender], &[Attempt]),
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) {
        self.ready.clear();
        self.ready.extend(decisions);
        self.prune_above = PRUNE_ABOVE;
        for (sender, attempt) in senders.iter().zip(attempts) {
            self.add_collided(sender, *attempt);
        }
        for position in PositionId::first(compiled.place_count) {
            self.find_first_ready(position);
        }
        if !senders.is_empty() && self.is_closed(compiled) {
            return self.settle(compiled, counters);
        }
        self.hear_everywhere(compiled);
        let mut end = Instant::from_ps(compiled.phases.end_ps);
        let mut now = Instant::ZERO;
        loop {
            if !poll.goes_on(now) {
                end = Instant::PAST; // no station starts any more
            }
            match self.next(compiled) {
                Next::Start { station, at } if at < end => {
                    now = at;
                    self.start(compiled, station, at, stations);
                }
                Next::Start { .. } | Next::Calm => {
                    // No station starts any more; the transmissions under way come to their ends.
                    let Some(index) = self.earliest_end() else {
                        self.ready.fill(Instant::NEVER);
                        return self.end_with(compiled, counters);
                    };
                    self.finish(compiled, index, stations);
                }
                Next::End { index } => {
                    self.finish(compiled, index, stations);
                    if self.sent.iter().all(|s| s.over) && self.is_closed(compiled) {
                        return self.settle(compiled, counters);
                    }
                }
            }
            if self.sent.len() > self.prune_above {
                self.prune(compiled, counters);
                self.prune_above = PRUNE_ABOVE.max(2 * self.sent.len());
            }
        }
    }

    fn earliest_end(&self) -> Option<usize> {
        (0..self.sent.len()).filter(|&i| !self.sent[i].over).min_by_key(|&i| self.sent[i].end)
    }

    fn next(&mut self, compiled: &CompiledSegment) -> Next {
        let (mut at, mut who) = (Instant::NEVER, None);
        let mut at_position = None;
        for position in PositionId::first(compiled.place_count) {
            let start = self.deferrals[position]
                .decision(self.first_ready[position], compiled.gaps[position])
                + compiled.turnaround;
            if self.first_ready[position] < Instant::NEVER && start < at {
                at = start;
                at_position = Some(position);
            }
        }
        for index in 0..self.senders.len() {
            let station = self.senders[index];
            if self.is_over(station) {
                let start = self.own_decision(compiled, station) + compiled.turnaround;
                if self.ready[station] < Instant::NEVER && start < at {
                    (at, who) = (start, Some(station));
                }
            }
        }
        if let Some(index) = self.earliest_end()
            && self.sent[index].end <= at
        {
            return Next::End { index };
        }
        if at == Instant::NEVER {
            return Next::Calm;
        }
        let station = who.unwrap_or_else(|| {
            let position = at_position.expect("a station starts at this time");
            let first = self.first_ready[position];
            let free = |s: &&StationId| !self.is_sender[**s] && self.ready[**s] == first;
            *self.members[position].iter().find(free).expect("the one that is ready first")
        });
        Next::Start { station, at }
    }

    /// Whether the last transmission of a sender is over.
    fn is_over(&self, sender: StationId) -> bool {
        let latest = self.latest[sender];
        latest == NONE || self.sent[latest as usize].over
    }

    fn find_first_ready(&mut self, position: PositionId) {
        let free = self.members[position].iter().filter(|&&s| !self.is_sender[s]);
        self.first_ready[position] = free.map(|&s| self.ready[s]).min().unwrap_or(Instant::NEVER);
    }

    /// Go on in `scratch` with what every station at `position` but `station` hears: signals that
    /// begin in `begin`, and end after `since`.
    fn hear_into_scratch(
        &mut self,
        compiled: &CompiledSegment,
        (position, own): (PositionId, Option<StationId>),
        begin: Range<Instant>,
        since: Instant,
    ) {
        self.arrivals.clear();
        for sent in self.sent.iter().filter(|s| Some(s.station) != own) {
            let delay = compiled.delay(sent.position, position);
            let signal = (sent.start + delay, sent.end + delay);
            if begin.contains(&signal.0) && signal.1 > since {
                // Signals arrive nearly in the order in which they were sent, so each is soon in
                // its position.
                let mut at = self.arrivals.len();
                self.arrivals.push(signal);
                while at > 0 && self.arrivals[at - 1] > signal {
                    self.arrivals[at] = self.arrivals[at - 1];
                    at -= 1;
                }
                self.arrivals[at] = signal;
            }
        }
        for &(on, off) in &self.arrivals {
            self.scratch.hear(on, off, compiled.gaps[position]);
        }
    }

    /// What stations that are not senders hear at a position, in `scratch`.
    fn hear_at(&mut self, compiled: &CompiledSegment, position: PositionId) {
        let cut = self.cuts[position];
        self.scratch.copy_from(&self.bases[position]);
        self.hear_into_scratch(compiled, (position, None), cut..Instant::NEVER, Instant::PAST);
    }

    /// What a sender hears, from its last transmission on, of signals that begin before `until`; in
    /// `scratch`.
    fn hear_own(&mut self, compiled: &CompiledSegment, station: StationId, until: Instant) {
        let position = compiled.positions[station];
        if self.has_base[station] {
            self.scratch.copy_from(&self.own_bases[station]);
            let cut = self.cuts[position];
            return self.hear_into_scratch(
                compiled,
                (position, Some(station)),
                cut..until,
                Instant::PAST,
            );
        }
        let own = self.sent[self.latest[station] as usize];
        self.scratch.begin_own(own.start, own.end);
        self.hear_into_scratch(
            compiled,
            (position, Some(station)),
            Instant::PAST..until,
            own.start,
        );
    }

    fn own_decision(&mut self, compiled: &CompiledSegment, station: StationId) -> Instant {
        if let Some(decision) = self.decided[station] {
            return decision;
        }
        self.hear_own(compiled, station, Instant::NEVER);
        let position = compiled.positions[station];
        let decision = self.scratch.decision(self.ready[station], compiled.gaps[position]);
        self.decided[station] = Some(decision);
        decision
    }

    fn hear_everywhere(&mut self, compiled: &CompiledSegment) {
        for position in PositionId::first(compiled.place_count) {
            self.hear_at(compiled, position);
            std::mem::swap(&mut self.scratch, &mut self.deferrals[position]);
        }
    }

    fn start(
        &mut self,
        compiled: &CompiledSegment,
        station: StationId,
        at: Instant,
        stations: &[Station],
    ) {
        let position = compiled.positions[station];
        let end = at + stations[station].packet_time(compiled, at);
        let mut this = Sent {
            station,
            position,
            start: at,
            end,
            heard: Instant::NEVER,
            over: false,
            overlapped: false,
            attempt: None,
        };
        for other in self.sent.iter_mut().filter(|s| s.station != station) {
            let delay = compiled.delay(position, other.position);
            let natural_end = this.end;
            let (there, here) = (at + delay, other.start + delay);
            if there < other.end && !other.over {
                other.heard = other.heard.min(there);
                other.end = collision_end(compiled, other);
            }
            // What ends in the instant in which it starts is still heard.
            if here < natural_end && other.end + delay >= at {
                this.heard = this.heard.min(here.max(at));
            }
        }
        if this.heard < Instant::NEVER {
            this.end = collision_end(compiled, &this);
        }
        for &sender in &self.senders {
            self.decided[sender] = None;
        }
        self.add_sender(station);
        self.sent.push(this);
        self.find_first_ready(position);
        self.hear_everywhere(compiled);
    }

    /// The transmission that is added next is by `station`.
    fn add_sender(&mut self, station: StationId) {
        if !self.is_sender[station] {
            self.is_sender[station] = true;
            self.senders.push(station);
        }
        self.has_base[station] = false;
        self.decided[station] = None;
        self.latest[station] = small(self.sent.len());
    }

    /// Add a transmission that collided, and is over.
    fn add_collided(&mut self, sender: &Sender, attempt: Attempt) {
        let &Sender { station, position, start, end, heard, ready, .. } = sender;
        self.ready[station] = ready;
        self.add_sender(station);
        self.sent.push(Sent {
            station,
            position,
            start,
            end,
            heard,
            over: true,
            overlapped: false,
            attempt: Some(attempt),
        });
    }

    fn finish(&mut self, compiled: &CompiledSegment, index: usize, stations: &mut [Station]) {
        let sent = self.sent[index];
        let station = &mut stations[sent.station];
        let (attempt, ready) = if sent.heard == Instant::NEVER {
            station.deliver(sent.start, sent.end)
        } else {
            station.collide(sent.start, sent.end, sent.heard - sent.start > compiled.slot)
        };
        self.ready[sent.station] = ready;
        self.decided[sent.station] = None;
        self.sent[index].over = true;
        self.sent[index].attempt = Some(attempt);
    }

    /// Whether every signal of the next contention arrives after the last gap is over, everywhere.
    ///
    /// Leaves in `overs` when gap and wait are over at each position, in `gaps_over` when the gap
    /// alone is, and in `own_decisions` when each sender decides to start next.
    fn is_closed(&mut self, compiled: &CompiledSegment) -> bool {
        let positions = compiled.place_count;
        self.firsts.clear();
        self.overs.clear();
        self.gaps_over.clear();
        self.own_decisions.clear();
        for position in PositionId::first(positions) {
            let last = self
                .sent
                .iter()
                .map(|s| s.end + compiled.delay(s.position, position))
                .max()
                .unwrap_or(Instant::ZERO);
            let gap = compiled.gaps[position];
            let over = last + gap.length;
            let mut first = self.first_ready[position];
            if first < over {
                // A station is ready before all is over here: only what is heard tells when it
                // starts.
                self.hear_at(compiled, position);
                first = self.scratch.decision(first, gap);
                if first < over {
                    return false;
                }
            }
            self.firsts.push(first);
            self.overs.push(over);
            self.gaps_over.push(last + compiled.gap);
        }
        for index in 0..self.senders.len() {
            let station = self.senders[index];
            let position = compiled.positions[station];
            let mut decision = self.ready[station];
            if decision < self.overs[position] {
                decision = self.own_decision(compiled, station);
                let others = self.sent.iter().filter(|s| s.station != station);
                let mut heard =
                    others.map(|s| s.end + compiled.delay(s.position, compiled.positions[station]));
                if heard.any(|end| decision < end + compiled.gap) {
                    return false;
                }
            }
            self.own_decisions.push(decision);
            self.firsts[position] = self.firsts[position].min(decision);
        }
        let earliest =
            self.firsts.iter().copied().min().unwrap_or(Instant::NEVER) + compiled.turnaround;
        if self.gaps_over.iter().all(|&over| earliest >= over) {
            return true;
        }
        let (firsts, overs) = (&self.firsts, &self.gaps_over);
        positions <= MOST_PLACES_FOR_EARLY_CALM
            && PositionId::first(positions).all(|p| {
                let first = firsts[p];
                PositionId::first(positions).all(|q| {
                    let alone = p == q && self.members[p].len() < 2;
                    first == Instant::NEVER
                        || alone
                        || first + compiled.turnaround + compiled.delay(p, q) >= overs[q]
                })
            })
    }

    /// Report finished attempts that started before `before`, in the order of their starts.
    fn report<R: Record>(&mut self, counters: &mut R, before: Instant) {
        if !self.finished.is_sorted_by_key(|a| (a.start, a.station)) {
            self.finished.sort_unstable_by_key(|a| (a.start, a.station));
        }
        let ready = self.finished.partition_point(|a| a.start < before);
        for attempt in self.finished.drain(..ready) {
            counters.record(&attempt);
        }
    }

    fn mark_overlapped(&mut self, compiled: &CompiledSegment) {
        if self.sent.iter().all(|s| s.heard < Instant::NEVER) {
            return; // only a frame that was delivered can be damaged unnoticed
        }
        for index in 0..self.sent.len() {
            let this = as_attempt(&self.sent[index]);
            // Those under way may end sooner than it looks now; whatever they overlap is kept until
            // they are over.
            let over = || self.sent.iter().filter(|other| other.over);
            if self.sent[index].over
                && over().any(|other| overlap(compiled, &this, &as_attempt(other)))
            {
                self.sent[index].overlapped = true;
            }
        }
    }

    /// Contentions are closed again: work out who starts when, and report what happened.
    fn settle<R: Record>(&mut self, compiled: &CompiledSegment, counters: &mut R) {
        // No station decides before the last gap at its position is over, so a station that is
        // ready before that does so then.
        for (ready, &position) in self.ready.iter_mut().zip(&compiled.positions) {
            *ready = (*ready).max(self.overs[position]);
        }
        for (&station, &decision) in self.senders.iter().zip(&self.own_decisions) {
            self.ready[station] = decision;
        }
        self.end_with(compiled, counters);
    }

    /// No station starts any more: report what happened.
    fn end_with<R: Record>(&mut self, compiled: &CompiledSegment, counters: &mut R) {
        self.mark_overlapped(compiled);
        self.finished.extend(self.sent.drain(..).map(|sent| finished(&sent)));
        for station in self.senders.drain(..) {
            (self.is_sender[station], self.has_base[station], self.latest[station]) =
                (false, false, NONE);
        }
        self.cuts.fill(Instant::PAST);
        self.bases.iter_mut().for_each(|base| base.list.clear());
        self.report(counters, Instant::NEVER);
    }
}

fn collision_end(compiled: &CompiledSegment, sent: &Sent) -> Instant {
    sent.heard.max(sent.start + compiled.preamble) + compiled.jam
}

/// The attempt of a transmission that is over.
fn finished(sent: &Sent) -> Attempt {
    let attempt = sent.attempt.expect("it is over");
    Attempt { damaged: sent.overlapped && attempt.ending == Ending::Delivered, ..attempt }
}

/// A transmission as an attempt, for its station and times only.
fn as_attempt(sent: &Sent) -> Attempt {
    Attempt::at(sent.station, sent.start, sent.end)
}
