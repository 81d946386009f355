//! Medium access one contention after another, over flat arrays.
//!
//! `next[i]` holds the earliest time at which station *i* starts if no other station does first:
//! its ready time, put off by what it has heard so far. Time and station share a number (a *key*),
//! so that the least key gives both. That station starts first; those that start no later than they
//! hear it collide with it; every other station defers to the end of the gap after it. A station
//! that merely defers costs no event.
//!
//! That is exact as long as contentions are *closed*: every signal of the next one arrives at every
//! position after the gap of the last one is over there. It follows from the triangle inequality
//! when there was one sender, and when every sender of a collision heard every other before its own
//! jam was over (then the carrier of them all joins at every position). Where it does not hold, as
//! on long segments, `overlapping` takes over until it holds again.
//!
//! Where stations have a *turnaround time* d before their first bits, one that starts at s has
//! decided at s - d, on what it had heard by then. So every station collides with the first who
//! decided no later than it could hear it, that is, who starts no later than d after that; and who
//! defers starts d after the end of the gap. The argument holds as it stands, with more to spare:
//! signals of the next contention arrive d later. But a sender may begin when another is over that
//! it did not hear. Where all hear each other before their ends this cannot be, since then their
//! carriers join at its position too; where not, it is looked for, and `overlapping` decides.
//!
//! Stations with a *priority wait* listen on after the gap. A position has stations of one wait
//! only ([`super::compiled`] splits those of several), so what is owed after a carrier belongs to
//! the receiver's position and stands in the rows of `deferral`. Contentions stay closed: a station
//! that starts next has kept silence for the segment's gap at least, so its signals still arrive at
//! every position after that gap is over there, and those without a wait remember nothing. A
//! position that still listens then is restarted. But its gap and wait are watched to their end,
//! also after an own transmission, so it starts a gap and a wait after the last carrier that it
//! heard, or when it is ready, whatever preceded: to be restarted by the next contention is to
//! defer to it, and nothing need be known but the latest end of all. That end is the largest of
//! those in the rows, in whatever order they are applied. A station whose wait ends in the meantime
//! is a candidate like others. In a collision that parts, a station whose wait is over between the
//! parts starts there; `puts_off` finds it by the same rows, as it finds those whose gap is.

#![expect(
    clippy::inline_always,
    reason = "what is inlined into a function with wide instructions is compiled with them"
)]

use super::compiled::CompiledSegment;
use super::counters::{Counters, Record};
use super::overlapping::{Overlapping, Sender};
#[cfg(target_arch = "x86_64")]
use super::simd::Avx512;
use super::simd::{Key, LANES, Lanes, NO_START, Portable, Row, Wait, Width};
use super::station::Station;
use crate::error::Error;
use crate::identity::{PositionId, StationId};
use crate::mac::transmitter::Attempt;
use crate::time::{Instant, Span};
use crate::watch::{Poll, Watch};
use ethermeter_trial::Counts;

/// Run a compiled segment. Returns what was counted and, when `tracing`, every attempt in the order
/// of their starts.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub fn run(
    compiled: &CompiledSegment,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let mut counters = Counters::new(compiled, tracing);
    let (mut stations, first) = Station::all(compiled);
    let mut poll = watch.begin(&compiled.phases);
    contend(compiled, &mut stations, &first, &mut counters, &mut poll);
    poll.check()?;
    Ok(counters.finish(compiled, &mut stations))
}

/// Run all contentions of stations that are ready at `first`, with the widest instructions that
/// this machine has; the results are the same with any.
pub(crate) fn contend<R: Record>(
    compiled: &CompiledSegment,
    stations: &mut [Station],
    first: &[Instant],
    counters: &mut R,
    poll: &mut Poll,
) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,bmi2")]
        fn widest<R: Record>(
            avx512: Avx512,
            compiled: &CompiledSegment,
            stations: &mut [Station],
            first: &[Instant],
            counters: &mut R,
            poll: &mut Poll,
        ) {
            resolve_all(avx512, compiled, stations, first, counters, poll);
        }
        #[target_feature(enable = "avx2,bmi2")]
        fn wide<R: Record>(
            compiled: &CompiledSegment,
            stations: &mut [Station],
            first: &[Instant],
            counters: &mut R,
            poll: &mut Poll,
        ) {
            resolve_all(Portable, compiled, stations, first, counters, poll);
        }
        if let Some(avx512) = Avx512::detect() {
            #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
            // SAFETY: the function needs the features that `avx512` proves, and no others.
            return unsafe { widest(avx512, compiled, stations, first, counters, poll) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
            // SAFETY: the function needs the two features just detected, and no others.
            return unsafe { wide(compiled, stations, first, counters, poll) };
        }
    }
    resolve_all(Portable, compiled, stations, first, counters, poll);
}

#[inline(always)]
fn resolve_all<W: Width, R: Record>(
    width: W,
    compiled: &CompiledSegment,
    stations: &mut [Station],
    first: &[Instant],
    counters: &mut R,
    poll: &mut Poll,
) {
    if compiled.is_plain() {
        Contention::<W, true>::new(width, compiled, first).run(stations, counters, poll);
    } else {
        Contention::<W, false>::new(width, compiled, first).run(stations, counters, poll);
    }
}

/// For the few that contend at once.
#[inline(always)]
fn insertion_sort(keys: &mut [Key]) {
    for sorted in 1..keys.len() {
        let key = keys[sorted];
        let mut at = sorted;
        while at > 0 && keys[at - 1] > key {
            keys[at] = keys[at - 1];
            at -= 1;
        }
        keys[at] = key;
    }
}

/// `PLAIN` says that no station has a turnaround time, waits for higher priority or sends voice, so
/// that nothing need be asked frame by frame.
struct Contention<'w, W: Width, const PLAIN: bool> {
    width: W,
    compiled: &'w CompiledSegment,
    next: Vec<Lanes>,
    /// Row p, a key for each station: from the end of a transmission at position p to the end of
    /// gap and wait at the station.
    deferral: Vec<Row>,
    candidates: Vec<Key>,
    senders: Vec<Sender>,
    attempts: Vec<Attempt>,
    /// The next starts of the senders, if no other station starts first.
    own: Vec<(StationId, Key)>,
    /// Delays between each sender and those before it, sender by sender.
    between: Vec<Span>,
    /// Last end of a sender at each position, where there is one.
    ends: Vec<(PositionId, Key)>,
    end: Instant,
    overlapping: Overlapping,
}

impl<'w, W: Width, const PLAIN: bool> Contention<'w, W, PLAIN> {
    fn new(width: W, compiled: &'w CompiledSegment, first: &[Instant]) -> Self {
        let stations = compiled.stations();
        let blocks = stations.div_ceil(LANES);
        let mut deferral = vec![[Wait::default(); LANES]; compiled.place_count * blocks];
        for (p, row) in
            PositionId::first(compiled.place_count).zip(deferral.chunks_exact_mut(blocks))
        {
            for ((wait, &q), station) in row
                .as_flattened_mut()
                .iter_mut()
                .zip(&compiled.positions)
                .zip(StationId::first(stations))
            {
                let silence = compiled.delay(p, q) + compiled.gaps[q].length;
                *wait = Wait::new(silence + compiled.turnaround, station);
            }
        }
        let mut new = Self {
            width,
            compiled,
            candidates: vec![NO_START; (blocks + 1) * LANES],
            // The lanes of the last block beyond the last station never start.
            next: vec![[NO_START; LANES]; blocks],
            deferral,
            senders: Vec::with_capacity(stations),
            attempts: Vec::with_capacity(stations),
            own: Vec::with_capacity(stations),
            between: Vec::new(),
            ends: Vec::with_capacity(compiled.place_count),
            end: Instant::from_ps(compiled.phases.end_ps),
            overlapping: Overlapping::new(compiled),
        };
        for (station, &time) in StationId::first(stations).zip(first) {
            let key = new.key(station, time + compiled.turnaround);
            new.next.as_flattened_mut()[station] = key;
        }
        new
    }

    /// A start as a key. No station starts once the test is over, which keeps keys from overflow.
    #[inline(always)]
    fn key(&self, station: StationId, time: Instant) -> Key {
        if time < self.end { Key::new(time, station) } else { NO_START }
    }

    /// From a decision to start to the first bit.
    #[inline(always)]
    fn turnaround(&self) -> Span {
        if PLAIN { Span::ZERO } else { self.compiled.turnaround }
    }

    /// The silence that a station owes before it decides.
    #[inline(always)]
    fn gap(&self, station: StationId) -> Span {
        if PLAIN { self.compiled.gap } else { self.compiled.gap_of(station).length }
    }

    #[inline(always)]
    fn earliest(&self) -> Key {
        self.next.as_flattened().iter().fold(NO_START, |least, &next| least.min(next))
    }

    #[inline(always)]
    fn run<R: Record>(&mut self, stations: &mut [Station], counters: &mut R, poll: &mut Poll) {
        let mut earliest = self.earliest();
        while earliest.time() < self.end && poll.goes_on(earliest.time()) {
            // A station that starts later than this has heard the earliest before it decided,
            // wherever it is.
            let latest = earliest.time() + self.compiled.max_delay + self.turnaround();
            let until = Key::at((latest + Span::PICOSECOND).min(self.end));
            let count = self.width.select(&self.next, until, &mut self.candidates);
            earliest = match count {
                1 => self.deliver(earliest.station(), earliest.time(), stations, counters),
                2 => self.pair(stations, counters, poll),
                _ => self.resolve(count, stations, counters, poll),
            };
        }
    }

    /// `station` sends alone from `start` on. Returns the earliest next start.
    #[inline(always)]
    fn deliver<R: Record>(
        &mut self,
        station: StationId,
        start: Instant,
        stations: &mut [Station],
        counters: &mut R,
    ) -> Key {
        let end = start + self.packet_time(&stations[station], start);
        let (attempt, ready) = if PLAIN {
            stations[station].deliver_frame(start, end)
        } else {
            stations[station].deliver(start, end)
        };
        // It hears its own end at once; the others, also those at its position, later.
        let own = self.key(station, ready.max(end + self.gap(station)) + self.turnaround());
        let position = self.compiled.positions[station];
        let earliest = self.width.defer(
            &mut self.next,
            &self.deferral,
            &[(position, Key::at(end))],
            &[(station, own)],
        );
        // After the pass: what it wrote one by one is then written when the next pass reads it at
        // once.
        if PLAIN {
            counters.record_frame(&attempt);
        } else {
            counters.record(&attempt);
        }
        earliest
    }

    /// How long the packet of a station takes that starts at `start`.
    #[inline(always)]
    fn packet_time(&self, station: &Station, start: Instant) -> Span {
        if PLAIN {
            self.compiled.packet_time(station.length())
        } else {
            station.packet_time(self.compiled, start)
        }
    }

    /// The two candidates would start before they hear each other, or nearly. Returns the earliest
    /// next start.
    ///
    /// Two senders hear each other before their jams are over, so their collision is closed, unless
    /// a frame was over before.
    #[inline(always)]
    fn pair<R: Record>(
        &mut self,
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        let compiled = self.compiled;
        let [first, second] = [self.candidates[0], self.candidates[1]];
        let (first, second) = (first.min(second), first.max(second));
        let ((a, start_a), (b, start_b)) =
            ((first.station(), first.time()), (second.station(), second.time()));
        let (place_a, place_b) = (compiled.positions[a], compiled.positions[b]);
        let delay = compiled.delay(place_a, place_b);
        if start_b - self.turnaround() > start_a + delay {
            return self.deliver(a, start_a, stations, counters);
        }
        let heard_b = if PLAIN { start_a + delay } else { start_b.max(start_a + delay) };
        let heard_a = start_b + delay;
        let unnoticed = heard_a >= start_a + self.packet_time(&stations[a], start_a)
            || heard_b >= start_b + self.packet_time(&stations[b], start_b);
        if unnoticed {
            self.senders.clear();
            return self.go_on_overlapping(stations, counters, poll);
        }
        let end_a = heard_a.max(start_a + compiled.preamble) + compiled.jam;
        let end_b = heard_b.max(start_b + compiled.preamble) + compiled.jam;
        let (attempt_a, own_a) =
            self.back_off(stations, (a, start_a, end_a, heard_a), end_a.max(end_b + delay));
        let (attempt_b, own_b) =
            self.back_off(stations, (b, start_b, end_b, heard_b), end_b.max(end_a + delay));
        let ends = [(place_a, Key::at(end_a)), (place_b, Key::at(end_b))];
        let earliest =
            self.width.defer(&mut self.next, &self.deferral, &ends, &[(a, own_a), (b, own_b)]);
        counters.record_collision(&[attempt_a, attempt_b]);
        earliest
    }

    /// A sender, its start and end and when it heard the collision; `silent` is when it hears the
    /// last of it. Returns its attempt and its next start.
    #[inline(always)]
    fn back_off(
        &self,
        stations: &mut [Station],
        (station, start, end, heard): (StationId, Instant, Instant, Instant),
        silent: Instant,
    ) -> (Attempt, Key) {
        let (attempt, ready) =
            stations[station].collide(start, end, heard - start > self.compiled.slot);
        (attempt, self.key(station, ready.max(silent + self.gap(station)) + self.turnaround()))
    }

    /// `count` candidates would start, perhaps before they hear each other. Returns the earliest
    /// next start.
    #[inline(always)]
    fn resolve<R: Record>(
        &mut self,
        count: usize,
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        insertion_sort(&mut self.candidates[..count]);
        self.choose_senders(count);
        if let [alone] = self.senders[..] {
            return self.deliver(alone.station, alone.start, stations, counters);
        }
        let Some(closed) = self.end_senders(stations) else {
            self.senders.clear();
            return self.go_on_overlapping(stations, counters, poll);
        };
        if !PLAIN && !closed && self.somebody_missed_another() {
            self.senders.clear();
            return self.go_on_overlapping(stations, counters, poll);
        }
        self.silence_senders();
        let calm = self.back_off_senders(stations);
        // A collision that parts is like a closed one as long as no station starts between its
        // parts.
        if !closed
            && (!calm || self.width.puts_off(&self.next, &self.deferral, &self.ends, &self.own))
        {
            return self.go_on_overlapping(stations, counters, poll);
        }
        let earliest = self.width.defer(&mut self.next, &self.deferral, &self.ends, &self.own);
        counters.record_collision(&self.attempts);
        earliest
    }

    /// Of the first `count` candidates, in their order, those that start before they hear another;
    /// and when each hears others.
    #[inline(always)]
    fn choose_senders(&mut self, count: usize) {
        let turnaround = self.turnaround();
        self.senders.clear();
        self.between.clear();
        for &key in &self.candidates[..count] {
            let (start, station) = (key.time(), key.station());
            let position = self.compiled.positions[station];
            let row = self.compiled.delays_from(position);
            let known = self.between.len();
            let (mut first, mut last) = (Instant::NEVER, Instant::ZERO);
            for other in &self.senders {
                let delay = row[other.position];
                self.between.push(delay);
                first = first.min(other.start + delay);
                last = last.max(other.start + delay);
            }
            // What it hears in the instant in which it decides does not keep it from starting.
            if start - turnaround > first {
                self.between.truncate(known);
                continue;
            }
            for (other, delay) in self.senders.iter_mut().zip(self.between[known..].iter().copied())
            {
                other.heard = other.heard.min(start + delay);
                other.last_arrival = other.last_arrival.max(start + delay);
            }
            self.senders.push(Sender {
                station,
                position,
                start,
                end: Instant::ZERO,
                heard: first,
                last_arrival: last,
                silent: Instant::ZERO,
                ready: Instant::ZERO,
            });
        }
    }

    /// Contentions overlap for a while, after the collision of `senders`, if there are any.
    #[inline(never)]
    fn go_on_overlapping<R: Record>(
        &mut self,
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        let keys = &self.next.as_flattened()[..stations.len()];
        // Overlapping contentions know decisions.
        let turnaround = self.turnaround();
        let start_of =
            |key: Key| if key == NO_START { Instant::NEVER } else { key.time() - turnaround };
        let starts = keys.iter().map(|&key| start_of(key));
        let senders = (&self.senders[..], &self.attempts[..]);
        self.overlapping.run(self.compiled, starts, senders, stations, counters, poll);
        for station in StationId::first(stations.len()) {
            let key = self.key(station, self.overlapping.decisions()[station] + turnaround);
            self.next.as_flattened_mut()[station] = key;
        }
        self.earliest()
    }

    /// Work out when each sender ends. Returns whether every one hears every other before its own
    /// end; nothing if a frame is over before its sender hears another.
    #[inline(always)]
    fn end_senders(&mut self, stations: &[Station]) -> Option<bool> {
        let compiled = self.compiled;
        let mut closed = true;
        for sender in &mut self.senders {
            sender.heard = sender.heard.max(sender.start);
            sender.end = sender.heard.max(sender.start + compiled.preamble) + compiled.jam;
            sender.silent = sender.end;
            let station = &stations[sender.station];
            let packet = if PLAIN {
                compiled.packet_time(station.length())
            } else {
                station.packet_time(compiled, sender.start)
            };
            if sender.heard >= sender.start + packet {
                return None;
            }
            closed &= sender.last_arrival <= sender.end;
        }
        Some(closed)
    }

    /// Whether a sender turned around while it heard another from begin to end, and so did not
    /// collide with that one when it started.
    #[inline(always)]
    fn somebody_missed_another(&self) -> bool {
        let mut between = self.between.iter();
        let mut missed = false;
        for (index, this) in self.senders.iter().enumerate() {
            for (other, &delay) in self.senders[..index].iter().zip(&mut between) {
                missed |= other.end + delay < this.start;
            }
        }
        missed
    }

    /// Work out when each sender hears the last of the others.
    #[inline(always)]
    fn silence_senders(&mut self) {
        let mut between = self.between.iter();
        for index in 1..self.senders.len() {
            let (before, this) = self.senders.split_at_mut(index);
            let this = &mut this[0];
            for (other, &delay) in before.iter_mut().zip(&mut between) {
                this.silent = this.silent.max(other.end + delay);
                other.silent = other.silent.max(this.end + delay);
            }
        }
    }

    /// Note the attempts of the senders, where and when they ended, and when they start next: after
    /// all is silent.
    ///
    /// Returns whether that is so: not for one that is silent itself before it hears another, and
    /// ready before that is over.
    #[inline(always)]
    fn back_off_senders(&mut self, stations: &mut [Station]) -> bool {
        self.ends.clear();
        self.own.clear();
        self.attempts.clear();
        let mut calm = true;
        for index in 0..self.senders.len() {
            let Sender { station, position, start, end, heard, last_arrival, silent, .. } =
                self.senders[index];
            let late = heard - start > self.compiled.slot;
            let (attempt, ready) = stations[station].collide(start, end, late);
            self.senders[index].ready = ready;
            self.attempts.push(attempt);
            let over = silent + self.gap(station);
            self.own.push((station, self.key(station, ready.max(over) + self.turnaround())));
            calm &= last_arrival <= end || ready >= over;
            let end = Key::at(end);
            match self.ends.iter_mut().find(|(other, _)| *other == position) {
                Some((_, last)) => *last = (*last).max(end),
                None => self.ends.push((position, end)),
            }
        }
        calm
    }
}
