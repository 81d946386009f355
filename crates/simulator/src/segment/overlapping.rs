//! Contentions that overlap: on long segments, a station may start again while the last collision
//! still travels elsewhere.
//!
//! Starts are taken in the order of time. Stations of one position that start before they hear each
//! other make one *burst*, which is one signal to all others. Each burst is kept while any position
//! still hears it. Stations of one position that hear the same are one *listener*: those that have
//! not sent, and those of a burst but the one that ended last. What a listener does follows from the
//! signals at its position, and the one who is ready first decides when it acts. So the work grows
//! with starts and bursts, and not with pairs of senders.
//!
//! Taking the earliest start is exact: a later start cannot be heard before it happens, so it
//! changes neither whether this one starts nor any end that this one waited for. Nor can it keep
//! others at the position of the earliest from starting until a signal from the nearest position
//! could arrive, so that they start with it.
//!
//! A station's start is its decision and the turnaround time after it; whether it defers follows
//! from what it heard by its decision.
//!
//! Where stations have a priority wait, so has their position: a longer gap, watched to its end.
//! Others need not wait for that to call contentions closed: after the segment's gap, whatever
//! comes restarts it, and so is deferred to (as `fast` says).
//!
//! Contentions can overlap for ever: where signals travel long, the medium need not fall silent
//! anywhere. So what signals did to a listener's deferral is kept when the signals themselves are
//! forgotten, up to its *cut*: the time before which nothing new can begin to be heard there.

mod bursts;
mod forgetting;
mod listeners;

use super::compiled::CompiledSegment;
use super::counters::Record;
use super::simd::{Key, NO_START};
use super::starts::{Starts, key_before};
use super::station::Station;
use crate::identity::{PositionId, StationId};
use crate::mac::transmitter::{Attempt, Ending};
use crate::time::{Instant, Span};
use crate::watch::Poll;
use bursts::{Burst, Sent, collision_end, overlap};
use listeners::{Arrival, Listener, Signals};

const PRUNE_ABOVE: usize = 4;
const MOST_PLACES_FOR_EARLY_CALM: usize = 64;

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

/// A station that sent in these contentions and waits for its next attempt.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    station: StationId,
    listener: usize,
    ready: Instant,
}

/// Overlapping contentions, until they are closed again.
///
/// It keeps its arrays between one use and the next.
pub(crate) struct Overlapping {
    /// No station starts from then on.
    end: Instant,
    turnaround: Span,
    members: Vec<Vec<StationId>>,
    /// From the nearest position, by position.
    nearest: Vec<Span>,
    bursts: Vec<Burst>,
    /// Room for the transmissions of bursts.
    rooms: Vec<Vec<Sent>>,
    /// Those at each position that have not sent, by position, and then others.
    listeners: Vec<Listener>,
    waiting: Vec<Waiting>,
    /// Who ended last of a burst that its neighbours still hear, with the burst.
    earlier: Vec<(StationId, usize)>,
    /// By position: what begins to be heard before is in deferrals, and nothing new will.
    cuts: Vec<Instant>,
    /// By position: the bursts as signals there.
    signals: Vec<Signals>,
    /// Who start together.
    starting: Vec<Key>,
    finished: Vec<Attempt>,
    prune_above: usize,
    /// For the question whether contentions are closed: by position.
    firsts: Vec<Instant>,
    gaps_over: Vec<Instant>,
    /// For the next starts once they are closed.
    ends: Vec<(PositionId, Key)>,
    own: Vec<(StationId, Key)>,
}

/// The next who start.
struct Turn {
    listener: usize,
    /// When the first of them does.
    at: Instant,
    /// The last decision that nobody else can change.
    until: Instant,
}

impl Overlapping {
    pub(crate) fn new(compiled: &CompiledSegment) -> Self {
        let positions = PositionId::first(compiled.place_count);
        let nearest = |to| positions.clone().map(|from| compiled.delay(from, to)).min();
        Self {
            end: Instant::from_ps(compiled.phases.end_ps),
            turnaround: compiled.turnaround,
            members: compiled.members(),
            nearest: positions.clone().map(|to| nearest(to).expect("there is one")).collect(),
            bursts: Vec::new(),
            rooms: Vec::new(),
            listeners: Vec::new(),
            waiting: Vec::new(),
            earlier: Vec::new(),
            cuts: vec![Instant::PAST; compiled.place_count],
            signals: vec![Signals::NONE; compiled.place_count],
            starting: Vec::new(),
            finished: Vec::new(),
            prune_above: PRUNE_ABOVE,
            firsts: Vec::new(),
            gaps_over: Vec::new(),
            ends: Vec::new(),
            own: Vec::new(),
        }
    }

    /// Whether some station starts before all is silent again after a collision of `senders`, if
    /// `starts` are the next starts if no other station starts first. Contentions overlap then, and
    /// the next call is [`Self::run`].
    ///
    /// `early` says whether a station that did not send would start before that if it heard
    /// nothing, and `calm` that no sender would. Without senders, a station starts.
    #[inline]
    pub(crate) fn begin<S: Starts>(
        &mut self,
        starts: &mut S,
        compiled: &CompiledSegment,
        senders: &[Sender],
        (early, calm): (bool, bool),
    ) -> bool {
        self.listeners.extend(PositionId::first(compiled.place_count).map(Listener::at));
        for sender in senders {
            self.add_collided(compiled, sender);
        }
        self.hear_everywhere(compiled);
        let mut parts = senders.is_empty();
        if !calm {
            parts |= self.senders_start_between(compiled);
        }
        if parts || early {
            self.own.clear();
            self.own.extend(senders.iter().map(|sender| (sender.station, NO_START)));
            starts.defer(&[], &self.own);
            for position in PositionId::first(compiled.place_count) {
                self.find_first_ready(starts, position);
            }
            self.decide(compiled, 0);
            let mut others = self.listeners[..compiled.place_count].iter();
            parts |= others.any(|listener| self.starts_between(compiled, listener));
        }
        if !parts {
            self.clear();
        } else if calm {
            self.senders_start_between(compiled);
        }
        parts
    }

    /// Let the senders of a collision listen. Returns whether one starts before all is silent again.
    #[inline]
    fn senders_start_between(&mut self, compiled: &CompiledSegment) -> bool {
        for index in 0..self.bursts.len() {
            self.listen_after(compiled, index);
        }
        self.decide(compiled, compiled.place_count);
        let mut senders = self.listeners[compiled.place_count..].iter();
        senders.any(|listener| self.starts_between(compiled, listener))
    }

    /// Whether a listener starts before all is silent again.
    #[inline]
    fn starts_between(&self, compiled: &CompiledSegment, listener: &Listener) -> bool {
        let at = listener.position;
        listener.starts_within(&self.signals[at], compiled.gaps[at].length)
    }

    /// Overlapping contentions after the collision with these attempts, as they
    /// [began](Self::begin). Returns the earliest start when they are closed again.
    pub(crate) fn run<S: Starts, R: Record>(
        &mut self,
        starts: &mut S,
        compiled: &CompiledSegment,
        attempts: &[Attempt],
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        self.prune_above = PRUNE_ABOVE;
        self.finished.extend_from_slice(attempts);
        let mut now = Instant::ZERO;
        loop {
            let goes_on = poll.goes_on(now);
            let turn = self.next().filter(|turn| turn.at < self.end && goes_on);
            match (turn, self.earliest_end()) {
                (Some(turn), end) if end.is_none_or(|index| turn.at < self.bursts[index].end) => {
                    now = turn.at;
                    self.start_all(starts, compiled, &turn, stations);
                }
                (_, Some(index)) => {
                    self.finish(compiled, index, stations);
                    if self.earliest_end().is_none() && self.is_closed(compiled) {
                        return self.settle(starts, compiled, counters);
                    }
                }
                (_, None) => {
                    // No station starts any more.
                    self.end_with(counters);
                    return NO_START;
                }
            }
            if self.bursts.len() > self.prune_above {
                let turn = self.next().map(|turn| turn.at);
                let end = self.earliest_end().map(|index| self.bursts[index].end);
                if let Some(next) = turn.into_iter().chain(end).min() {
                    self.prune(starts, compiled, next, counters);
                }
                self.prune_above = PRUNE_ABOVE.max(2 * self.bursts.len());
            }
        }
    }

    /// The burst under way that is over first.
    fn earliest_end(&self) -> Option<usize> {
        let under_way = self.bursts.iter().enumerate().filter(|(_, burst)| !burst.is_over);
        under_way.min_by_key(|(_, burst)| burst.end).map(|(index, _)| index)
    }

    /// Let listeners, from the one with this number on, work out when they start.
    #[inline]
    fn decide(&mut self, compiled: &CompiledSegment, first: usize) {
        for listener in &mut self.listeners[first..] {
            let at = listener.position;
            listener.decide(&self.signals[at], compiled.gaps[at]);
        }
    }

    /// Who start next.
    fn next(&self) -> Option<Turn> {
        let sooner = self.listeners.iter().enumerate().min_by_key(|(_, of)| of.decided.first);
        let (listener, this) = sooner?;
        let first = this.decided.first;
        if first == Instant::NEVER {
            return None;
        }
        let others = self.listeners.iter().enumerate().filter_map(|(index, other)| {
            let is_here = index != listener && other.position == this.position;
            is_here.then_some(other.decided.first)
        });
        let undisturbed = (first + self.nearest[this.position] - self.turnaround).max(first);
        let last = self.end - Span::PICOSECOND - self.turnaround;
        let until = others.fold(this.decided.until, Instant::min).min(undisturbed).min(last);
        Some(Turn { listener, at: first + self.turnaround, until })
    }

    /// When the first of those at a position is ready who have not sent.
    fn find_first_ready<S: Starts>(&mut self, starts: &S, position: PositionId) {
        self.listeners[position.index()].first_ready = match starts.first_at(position) {
            NO_START => Instant::NEVER,
            key => key.time() - self.turnaround,
        };
    }

    /// Put what every position hears in order.
    #[inline]
    fn hear_everywhere(&mut self, compiled: &CompiledSegment) {
        for (position, signals) in PositionId::first(compiled.place_count).zip(&mut self.signals) {
            signals.clear();
            for (burst, sent) in self.bursts.iter().enumerate() {
                let delay = compiled.delay(sent.position, position);
                signals.add(Arrival { on: sent.start + delay, off: sent.end + delay, burst });
            }
        }
    }

    /// Let all start whose turn it is.
    fn start_all<S: Starts>(
        &mut self,
        starts: &mut S,
        compiled: &CompiledSegment,
        turn: &Turn,
        stations: &[Station],
    ) {
        let mut starting = std::mem::take(&mut self.starting);
        starting.clear();
        let listener = &mut self.listeners[turn.listener];
        let first = listener.decided.over + self.turnaround;
        if turn.listener < compiled.place_count {
            let position = listener.position;
            let until = turn.until + self.turnaround + Span::PICOSECOND;
            starts.take(position, Key::at(until), &mut starting);
            self.find_first_ready(starts, position);
        } else {
            listener.first_ready = Instant::NEVER;
            self.waiting.retain(|waiting| {
                if waiting.listener != turn.listener {
                    return true;
                }
                let stays = waiting.ready > turn.until;
                if stays {
                    listener.first_ready = listener.first_ready.min(waiting.ready);
                } else {
                    starting.push(Key::new(waiting.ready + self.turnaround, waiting.station));
                }
                stays
            });
        }
        for key in &mut starting {
            *key = Key::new(key.time().max(first), key.station());
        }
        starting.sort_unstable();
        for key in &starting {
            self.start(compiled, key.station(), key.time(), stations);
        }
        self.starting = starting;
        self.hear_everywhere(compiled);
        self.decide(compiled, 0);
    }

    fn start(
        &mut self,
        compiled: &CompiledSegment,
        station: StationId,
        at: Instant,
        stations: &[Station],
    ) {
        let position = compiled.positions[station];
        let mut end = at + stations[station].packet_time(compiled, at);
        let mates = self.mates(compiled, position, (at, end));
        let mut heard = Instant::NEVER;
        for burst in &mut self.bursts {
            let delay = compiled.delay(burst.position, position);
            if let Some(here) = burst.first_heard(station, at, delay).filter(|&here| here < end) {
                heard = heard.min(here);
            }
            burst.hear(compiled, at + compiled.delay(position, burst.position));
        }
        if heard < Instant::NEVER {
            end = collision_end(compiled, at, heard);
        }
        let sent = Sent { station, start: at, end, heard, ready: Instant::NEVER };
        self.add(mates, position, sent, false);
    }

    /// The burst at a position that takes a transmission in.
    fn mates(
        &self,
        compiled: &CompiledSegment,
        position: PositionId,
        (start, end): (Instant, Instant),
    ) -> Option<usize> {
        let takes = |burst: &Burst| burst.position == position && burst.takes(compiled, start, end);
        self.bursts.iter().rposition(takes)
    }

    fn add(&mut self, mates: Option<usize>, position: PositionId, sent: Sent, is_over: bool) {
        if let Some(index) = mates {
            self.bursts[index].add(sent);
        } else {
            let room = self.rooms.pop().unwrap_or_default();
            self.bursts.push(Burst::new(position, sent, is_over, room));
        }
    }

    /// Add a transmission that collided, and is over.
    #[inline]
    fn add_collided(&mut self, compiled: &CompiledSegment, sender: &Sender) {
        let &Sender { station, position, start, end, heard, ready, .. } = sender;
        let mates = self.mates(compiled, position, (start, Instant::NEVER));
        self.add(mates, position, Sent { station, start, end, heard, ready }, true);
    }

    /// A burst is over.
    fn finish(&mut self, compiled: &CompiledSegment, index: usize, stations: &mut [Station]) {
        let burst = &mut self.bursts[index];
        burst.is_over = true;
        for sent in &mut burst.sent {
            let station = &mut stations[sent.station];
            let attempt;
            if sent.heard == Instant::NEVER {
                (attempt, sent.ready) = station.deliver(sent.start, sent.end);
                burst.delivered = Some(attempt);
            } else {
                let late = sent.heard - sent.start > compiled.slot;
                (attempt, sent.ready) = station.collide(sent.start, sent.end, late);
                self.finished.push(attempt);
            }
        }
        // It ends as was known, so for others nothing changes.
        let first = self.listeners.len();
        self.listen_after(compiled, index);
        self.decide(compiled, first);
        self.mark_overlapped(compiled, index);
    }

    /// The stations of a burst that is over hear the others, and wait.
    fn listen_after(&mut self, compiled: &CompiledSegment, index: usize) {
        let burst = &self.bursts[index];
        let (position, end) = (burst.position, burst.end);
        let (last, before) = burst.last();
        let delay = compiled.delay(position, position);
        // Only who ends last can start again before its neighbours hear its end.
        let is_heard = |of: &Burst| of.position == position && of.end + delay > burst.start;
        let earlier =
            self.bursts.iter().enumerate().filter(|(at, of)| *at != index && is_heard(of));
        self.earlier.clear();
        self.earlier.extend(earlier.map(|(at, of)| (of.last().0, at)));
        let first = self.listeners.len();
        for sent in &burst.sent {
            let Sent { station, ready, .. } = *sent;
            let others = if station == last { before } else { end };
            let carrier_off = sent.end.max(others + delay);
            let own = self.earlier.iter().filter(|(of, _)| *of == station).map(|&(_, at)| at);
            let before: Vec<_> = own.collect();
            let alike = |of: &Listener| {
                of.deferral.carrier_off == carrier_off && of.before.len() + before.len() == 0
            };
            let known = self.listeners[first..].iter().position(alike);
            let listener = first + known.unwrap_or(self.listeners.len() - first);
            if known.is_none() {
                let new = Listener::of_burst(position, index, carrier_off, compiled.gaps[position]);
                self.listeners.push(Listener { before, ..new });
            }
            let first_ready = &mut self.listeners[listener].first_ready;
            *first_ready = ready.min(*first_ready);
            self.waiting.push(Waiting { station, listener, ready });
        }
    }

    /// Whether every signal of the next contention arrives after the last gap is over, everywhere.
    /// Every burst is over.
    fn is_closed(&mut self, compiled: &CompiledSegment) -> bool {
        self.firsts.clear();
        self.gaps_over.clear();
        for (position, listener) in PositionId::first(compiled.place_count).zip(&self.listeners) {
            let last = self.signals[position].last;
            if listener.decided.first < last + compiled.gaps[position].length {
                return false;
            }
            self.firsts.push(listener.decided.first);
            self.gaps_over.push(last + compiled.gap);
        }
        for listener in &self.listeners[compiled.place_count..] {
            let at = listener.position;
            if listener.starts_within(&self.signals[at], compiled.gap) {
                return false;
            }
            self.firsts[at] = self.firsts[at].min(listener.decided.first);
        }
        let (firsts, overs) = (&self.firsts, &self.gaps_over);
        let turnaround = compiled.turnaround;
        let earliest = firsts.iter().copied().min().unwrap_or(Instant::NEVER) + turnaround;
        if overs.iter().all(|&over| earliest >= over) {
            return true;
        }
        let positions = compiled.place_count;
        positions <= MOST_PLACES_FOR_EARLY_CALM
            && PositionId::first(positions).all(|p| {
                let first = firsts[p];
                PositionId::first(positions).all(|q| {
                    let alone = p == q && self.members[p].len() < 2;
                    first == Instant::NEVER
                        || alone
                        || first + turnaround + compiled.delay(p, q) >= overs[q]
                })
            })
    }

    /// A burst is over: whether frames that were delivered overlap with others there are.
    fn mark_overlapped(&mut self, compiled: &CompiledSegment, index: usize) {
        // Those under way may end sooner than it looks now.
        for other in (0..self.bursts.len()).filter(|&other| other != index) {
            for (frame, other) in [(index, other), (other, index)] {
                let (this, other) = (&self.bursts[frame], &self.bursts[other]);
                let Some(attempt) = this.delivered.filter(|_| other.is_over) else { continue };
                let damaged = overlap(compiled, &self.members, (this.position, &attempt), other);
                let marked = Attempt { damaged: attempt.damaged || damaged, ..attempt };
                self.bursts[frame].delivered = Some(marked);
            }
        }
    }

    /// Report finished attempts that started before `before`, in the order of their starts.
    fn report<R: Record>(&mut self, counters: &mut R, before: Instant) {
        if !self.finished.is_sorted_by_key(|a| (a.start, a.station)) {
            self.finished.sort_unstable_by_key(|a| (a.start, a.station));
        }
        let ready = self.finished.partition_point(|a| a.start < before);
        let is_alike = |a: &Attempt, b: &Attempt| {
            a.ending != Ending::Delivered && b.ending != Ending::Delivered
        };
        for attempts in self.finished[..ready].chunk_by(is_alike) {
            match attempts {
                [attempt] => counters.record(attempt),
                collided => counters.record_collision(collided),
            }
        }
        self.finished.drain(..ready);
    }

    /// Contentions are closed again: work out who starts when, and report what happened.
    fn settle<S: Starts, R: Record>(
        &mut self,
        starts: &mut S,
        compiled: &CompiledSegment,
        counters: &mut R,
    ) -> Key {
        // No station decides before the last gap at its position is over, so a station that is
        // ready before that does so then.
        self.ends.clear();
        self.ends.extend(self.bursts.iter().map(|burst| (burst.position, Key::at(burst.end))));
        self.own.clear();
        for waiting in &self.waiting {
            let over = self.listeners[waiting.listener].decided.over;
            let key = key_before(
                self.end,
                waiting.station,
                waiting.ready.max(over) + compiled.turnaround,
            );
            self.own.push((waiting.station, key));
        }
        let earliest = starts.defer(&self.ends, &self.own);
        self.end_with(counters);
        earliest
    }

    /// Forget these bursts and those after them; their attempts are finished.
    fn forget_from(&mut self, first: usize) {
        for mut burst in self.bursts.drain(first..) {
            self.finished.extend(burst.delivered);
            burst.sent.clear();
            self.rooms.push(burst.sent);
        }
    }

    /// Report what happened, and forget it.
    fn end_with<R: Record>(&mut self, counters: &mut R) {
        self.clear();
        self.cuts.fill(Instant::PAST);
        self.report(counters, Instant::NEVER);
    }

    fn clear(&mut self) {
        self.forget_from(0);
        self.waiting.clear();
        self.listeners.clear();
    }
}
