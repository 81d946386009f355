//! Medium access one contention after another, over flat arrays.
//!
//! `Starts` hold the earliest time at which each station starts if no other station does first:
//! its ready time, put off by what it has heard so far. Time and station share a number (a *key*),
//! so that the least key gives both. That station starts first; those that start no later than they
//! hear it collide with it; every other station defers to the end of the gap after it. A station
//! that merely defers costs no event.
//!
//! That is exact as long as contentions are *closed*: every signal of the next one arrives at every
//! position after the gap of the last one is over there. It follows from the triangle inequality
//! when there was one sender, and when the carriers of a collision join at every position, as they do
//! if every sender heard every other before its own jam was over. Where it does not hold, as on long
//! segments, `overlapping` takes over until it holds again.
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
//! the receiver's position and stands in the rows of `Starts`. Contentions stay closed: a station
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
use super::places::Places;
#[cfg(target_arch = "x86_64")]
use super::simd::{Avx512, has_avx2};
use super::simd::{Key, LANES, NO_START, Portable, Width};
use super::starts::{Blocks, Flat, Starts, key_before};
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
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,bmi1,bmi2,lzcnt,popcnt")]
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
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
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
        if has_avx2() {
            #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
            // SAFETY: the function needs the features just detected, and no others.
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
    if compiled.stations() <= Flat::<W>::MOST {
        resolve_by(Flat::new(width, compiled), compiled, stations, first, counters, poll);
    } else {
        resolve_by(Blocks::new(width, compiled), compiled, stations, first, counters, poll);
    }
}

#[inline(always)]
fn resolve_by<S: Starts, R: Record>(
    starts: S,
    compiled: &CompiledSegment,
    stations: &mut [Station],
    first: &[Instant],
    counters: &mut R,
    poll: &mut Poll,
) {
    if compiled.is_plain() {
        Contention::<S, true>::new(starts, compiled).run(stations, first, counters, poll);
    } else {
        Contention::<S, false>::new(starts, compiled).run(stations, first, counters, poll);
    }
}

/// Sort keys by the same steps whatever their order.
#[inline(always)]
fn sort_few<const N: usize>(keys: &mut [Key; N]) {
    for unsorted in (1..N).rev() {
        for at in 0..unsorted {
            (keys[at], keys[at + 1]) = (keys[at].min(keys[at + 1]), keys[at].max(keys[at + 1]));
        }
    }
}

/// `PLAIN` says that no station has a turnaround time, waits for higher priority or sends voice, so
/// that nothing need be asked frame by frame.
struct Contention<'c, S, const PLAIN: bool> {
    compiled: &'c CompiledSegment,
    starts: S,
    candidates: Vec<Key>,
    end: Instant,
    many: Many,
    overlapping: Overlapping,
}

/// The senders of a collision, and room for what follows from it.
struct Collision<'a> {
    /// Whether every sender hears every other before its own end.
    is_closed: bool,
    senders: &'a mut [Sender],
    /// Where and when senders end.
    ends: &'a [(PositionId, Key)],
    /// By sender.
    attempts: &'a mut [Attempt],
    /// The next starts, by sender.
    own: &'a mut [(StationId, Key)],
}

/// Room for a collision of many.
#[derive(Default)]
struct Many {
    senders: Vec<Sender>,
    places: Places,
    attempts: Vec<Attempt>,
    ends: Vec<(PositionId, Key)>,
    own: Vec<(StationId, Key)>,
}

impl<'c, S: Starts, const PLAIN: bool> Contention<'c, S, PLAIN> {
    #[inline(always)]
    fn new(starts: S, compiled: &'c CompiledSegment) -> Self {
        Self {
            compiled,
            starts,
            candidates: vec![NO_START; compiled.stations().next_multiple_of(LANES) + LANES],
            end: Instant::from_ps(compiled.phases.end_ps),
            many: Many::default(),
            overlapping: Overlapping::new(compiled),
        }
    }

    #[inline(always)]
    fn key(&self, station: StationId, time: Instant) -> Key {
        key_before(self.end, station, time)
    }

    /// Let stations start by their decisions. Returns the earliest start.
    #[inline(always)]
    fn start_at(&mut self, decisions: impl Iterator<Item = Instant>) -> Key {
        let (turnaround, end) = (self.turnaround(), self.end);
        let key = |(station, decision)| key_before(end, station, decision + turnaround);
        self.starts.set((0..).map(StationId::from).zip(decisions).map(key))
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
    fn run<R: Record>(
        &mut self,
        stations: &mut [Station],
        first: &[Instant],
        counters: &mut R,
        poll: &mut Poll,
    ) {
        let mut earliest = self.start_at(first.iter().copied());
        loop {
            // Rounds of one alone, which are most of them.
            let count = loop {
                if earliest.time() >= self.end || !poll.goes_on(earliest.time()) {
                    return;
                }
                // A station that starts later than this has heard the earliest before it decided,
                // wherever it is.
                let latest = earliest.time() + self.compiled.max_delay + self.turnaround();
                let until = Key::at((latest + Span::PICOSECOND).min(self.end));
                let count = self.starts.select(until, &mut self.candidates);
                if count > 1 {
                    break count;
                }
                let first = if S::KNOWS_STATION { earliest } else { self.candidates[0] };
                earliest = self.deliver(first.station(), first.time(), stations, counters);
            };
            let next = match count {
                2 => self.resolve_few::<2, R>(stations, counters, poll),
                3 => self.resolve_few::<3, R>(stations, counters, poll),
                4 => self.resolve_few::<4, R>(stations, counters, poll),
                5 => self.resolve_few::<5, R>(stations, counters, poll),
                _ => None,
            };
            earliest = match next {
                Some(next) => next,
                None => self.resolve_many(count, stations, counters, poll),
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
        let earliest = self.starts.defer(&[(position, Key::at(end))], &[(station, own)]);
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

    /// `N` candidates would start, perhaps before they hear each other. Returns the earliest next
    /// start, if all of them do.
    ///
    /// The few that contend nearly always have a number of their own here, so that all loops over
    /// them are unrolled: their ends would be guesses.
    #[inline(always)]
    fn resolve_few<const N: usize, R: Record>(
        &mut self,
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Option<Key> {
        let mut keys = [NO_START; N];
        keys.copy_from_slice(&self.candidates[..N]);
        sort_few(&mut keys);
        let mut senders = keys.map(|key| self.sender(key));
        for index in 1..N {
            let (before, this) = senders.split_at_mut(index);
            if !self.hears(before, &mut this[0]) {
                // Of two, the first is alone.
                let Sender { station, start, .. } = senders[0];
                return (N == 2).then(|| self.deliver(station, start, stations, counters));
            }
        }
        let Some(is_closed) = self.end_senders(&mut senders, stations) else {
            return Some(self.go_on_unnoticed(stations, counters, poll));
        };
        self.silence_few(&mut senders);
        let collision = Collision {
            is_closed,
            ends: &senders.map(|of| (of.position, Key::at(of.end))),
            attempts: &mut senders.map(|of| Attempt::at(of.station, of.start, of.end)),
            own: &mut [(StationId::from(0), NO_START); N],
            senders: &mut senders,
        };
        Some(self.collide(collision, stations, counters, poll))
    }

    /// The same for any number of candidates, position by position: the work grows with their
    /// number, and not with that of their pairs.
    #[inline(always)]
    fn resolve_many<R: Record>(
        &mut self,
        count: usize,
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        self.candidates[..count].sort_unstable();
        let mut many = std::mem::take(&mut self.many);
        let earliest = self.resolve_in(&mut many, count, stations, counters, poll);
        self.many = many;
        earliest
    }

    #[inline(always)]
    fn resolve_in<R: Record>(
        &mut self,
        Many { senders, places, attempts, ends, own }: &mut Many,
        count: usize,
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        let compiled = self.compiled;
        let candidates = self.candidates[..count].iter().map(|&key| self.sender(key));
        places.choose(compiled, candidates, self.turnaround(), senders);
        if let [alone] = senders[..] {
            return self.deliver(alone.station, alone.start, stations, counters);
        }
        places.let_hear(compiled, senders);
        let Some(is_closed) = self.end_senders(senders, stations) else {
            return self.go_on_unnoticed(stations, counters, poll);
        };
        places.silence(compiled, senders);
        attempts.clear();
        attempts.extend(senders.iter().map(|of| Attempt::at(of.station, of.start, of.end)));
        own.resize(senders.len(), (StationId::from(0), NO_START));
        ends.clear();
        ends.extend(places.ends());
        let collision = Collision { is_closed, senders, ends, attempts, own };
        self.collide(collision, stations, counters, poll)
    }

    /// The senders, whose ends are known, collide. Returns the earliest next start.
    #[inline(always)]
    fn collide<R: Record>(
        &mut self,
        Collision { is_closed, senders, ends, attempts, own }: Collision<'_>,
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        let calm = self.back_off(senders, stations, attempts, own);
        // A collision that parts is like a closed one as long as no station starts between its
        // parts.
        if !is_closed {
            let early = self.starts.puts_off(ends, own);
            let may_part = (early || !calm) && !self.carriers_join(senders);
            if may_part && self.parts(senders, (early, calm)) {
                return self.go_on_overlapping(attempts, stations, counters, poll);
            }
        }
        let earliest = self.starts.defer(ends, own);
        counters.record_collision(attempts);
        earliest
    }

    /// The station of a key, which starts then and has heard nothing yet.
    #[inline(always)]
    fn sender(&self, key: Key) -> Sender {
        let station = key.station();
        Sender {
            station,
            position: self.compiled.positions[station],
            start: key.time(),
            end: Instant::ZERO,
            heard: Instant::NEVER,
            last_arrival: Instant::ZERO,
            silent: Instant::ZERO,
            ready: Instant::ZERO,
        }
    }

    /// Let those who start before `this` one and it hear each other, if it starts before it hears
    /// one of them. Returns whether it does.
    #[inline(always)]
    fn hears(&self, before: &mut [Sender], this: &mut Sender) -> bool {
        let delays = self.compiled.delays_from(this.position);
        for other in &*before {
            let arrival = other.start + delays[other.position];
            this.heard = this.heard.min(arrival);
            this.last_arrival = this.last_arrival.max(arrival);
        }
        // What it hears in the instant in which it decides does not keep it from starting.
        if this.start - self.turnaround() > this.heard {
            return false;
        }
        for other in before {
            let arrival = this.start + delays[other.position];
            other.heard = other.heard.min(arrival);
            other.last_arrival = other.last_arrival.max(arrival);
        }
        true
    }

    /// Whether the carriers of a collision join at every position, although not every sender hears
    /// every other before its own end: there is a moment at which all of them are heard.
    ///
    /// A sender hears those of the others, which then join without its own, too; and that with its
    /// own, since the first of them begins before its own end, which it brought about.
    #[inline(always)]
    fn carriers_join(&self, senders: &[Sender]) -> bool {
        PositionId::first(self.compiled.place_count).all(|here| {
            let delays = self.compiled.delays_from(here);
            let (mut last_on, mut first_off) = (Instant::PAST, Instant::NEVER);
            for sender in senders {
                last_on = last_on.max(sender.start + delays[sender.position]);
                first_off = first_off.min(sender.end + delays[sender.position]);
            }
            last_on <= first_off
        })
    }

    /// Whether some station starts before all is silent after a collision of `senders`.
    #[inline(never)]
    fn parts(&mut self, senders: &[Sender], early: (bool, bool)) -> bool {
        self.overlapping.begin(&mut self.starts, self.compiled, senders, early)
    }

    /// Contentions overlap for a while, from now on.
    fn go_on_unnoticed<R: Record>(
        &mut self,
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        self.parts(&[], (true, false));
        self.go_on_overlapping(&[], stations, counters, poll)
    }

    /// Contentions overlap for a while, after the collision with these attempts.
    #[inline(never)]
    fn go_on_overlapping<R: Record>(
        &mut self,
        attempts: &[Attempt],
        stations: &mut [Station],
        counters: &mut R,
        poll: &mut Poll,
    ) -> Key {
        let (starts, compiled) = (&mut self.starts, self.compiled);
        self.overlapping.run(starts, compiled, attempts, stations, counters, poll)
    }

    /// Work out when each sender ends. Returns whether every one hears every other before its own
    /// end; nothing if a frame is over before its sender hears another, or if a sender turned around
    /// while it heard another from begin to end, and so did not collide with that one.
    #[inline(always)]
    fn end_senders(&self, senders: &mut [Sender], stations: &[Station]) -> Option<bool> {
        let compiled = self.compiled;
        // Two hear each other before their jams are over.
        let (mut closed, mut unnoticed) = (true, false);
        let is_pair = senders.len() == 2;
        for sender in &mut *senders {
            sender.heard = sender.heard.max(sender.start);
            sender.end = sender.heard.max(sender.start + compiled.preamble) + compiled.jam;
            sender.silent = sender.end;
            let packet = self.packet_time(&stations[sender.station], sender.start);
            unnoticed |= sender.heard >= sender.start + packet;
            closed &= is_pair || sender.last_arrival <= sender.end;
        }
        let missed = !PLAIN && !closed && self.somebody_missed_another(senders);
        (!unnoticed && !missed).then_some(closed)
    }

    /// Whether a sender started after it had heard another from begin to end.
    #[inline(always)]
    fn somebody_missed_another(&self, senders: &[Sender]) -> bool {
        senders.iter().enumerate().any(|(index, this)| {
            let delays = self.compiled.delays_from(this.position);
            let missed = |other: &Sender| other.end + delays[other.position] < this.start;
            senders[..index].iter().any(missed)
        })
    }

    /// Work out when each sender hears the last of the others.
    #[inline(always)]
    fn silence_few(&self, senders: &mut [Sender]) {
        for index in 1..senders.len() {
            let (before, this) = senders.split_at_mut(index);
            let this = &mut this[0];
            let delays = self.compiled.delays_from(this.position);
            for other in before {
                let delay = delays[other.position];
                this.silent = this.silent.max(other.end + delay);
                other.silent = other.silent.max(this.end + delay);
            }
        }
    }

    /// Note the attempts of the senders, and when they start next: after all is silent.
    ///
    /// Returns whether that is so: not for one that is silent itself before it hears another, and
    /// ready before that is over.
    #[inline(always)]
    fn back_off(
        &self,
        senders: &mut [Sender],
        stations: &mut [Station],
        attempts: &mut [Attempt],
        own: &mut [(StationId, Key)],
    ) -> bool {
        let mut calm = true;
        for ((sender, attempt), own) in senders.iter_mut().zip(attempts).zip(own) {
            let &mut Sender { station, start, end, heard, last_arrival, silent, .. } = sender;
            let late = heard - start > self.compiled.slot;
            let ready;
            (*attempt, ready) = stations[station].collide(start, end, late);
            sender.ready = ready;
            let over = silent + self.gap(station);
            *own = (station, self.key(station, ready.max(over) + self.turnaround()));
            calm &= last_arrival <= end || ready >= over;
        }
        calm
    }
}
