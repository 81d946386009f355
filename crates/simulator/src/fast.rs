//! Medium access one contention after another, over flat arrays.
//!
//! `next[i]` holds the earliest time at which station *i* starts if nobody else does first: its ready time, put off by what it has
//! heard so far. Time and station share a number (a *key*), so that the least of them tells both. The smallest starts first; those that start no later than they hear it collide with it; everybody else defers
//! to the end of the gap after it. Nobody who merely defers costs an event.
//!
//! That is exact as long as contentions are *closed*: every signal of the next one arrives at every place after the gap of the last
//! one is over there. It follows from the triangle inequality when there was one sender, and when every sender of a collision heard
//! every other before its own jam was over (then the carrier of them all joins at every place). Where it does not hold, as on
//! long segments, [`crate::storm`] takes over until it holds again.

#![expect(
    clippy::inline_always,
    reason = "what is inlined into a function with wide instructions is compiled with them"
)]

use crate::outcome::Outcome;
use crate::station::{Attempt, Station};
use crate::storm::Storm;
use crate::tally::Tally;
use crate::world::{small, World, NEVER};

/// Bits of a key that hold the station; 1024 stations at most.
const STATION_BITS: u32 = 10;
/// The key of a station that does not start any more. Times end far below.
const NO_START: u64 = u64::MAX;
/// No station has this number.
const NOBODY: usize = usize::MAX;

/// Run a world. Returns its figures and, when `tracing`, every attempt in the order of their starts.
#[must_use]
pub fn run(world: &World, tracing: bool) -> (Outcome, Vec<Attempt>) {
    let mut tally = Tally::new(world, tracing);
    let (mut stations, first) = Station::all(world);
    contend(world, &mut stations, &first, &mut tally);
    tally.finish(world, &mut stations)
}

/// Run all contentions, with the widest instructions that this machine has; the results are the same with any.
fn contend(world: &World, stations: &mut [Station], first: &[i64], tally: &mut Tally) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,bmi2")]
        fn widest(world: &World, stations: &mut [Station], first: &[i64], tally: &mut Tally) {
            Contention::new(world, first).run(stations, tally);
        }
        #[target_feature(enable = "avx2,bmi2")]
        fn wide(world: &World, stations: &mut [Station], first: &[i64], tally: &mut Tally) {
            Contention::new(world, first).run(stations, tally);
        }
        let avx2 = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi2");
        let avx512 = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512dq");
        if avx2 && avx512 {
            #[expect(unsafe_code, reason = "the features were just detected")]
            return unsafe { widest(world, stations, first, tally) };
        }
        if avx2 {
            #[expect(unsafe_code, reason = "the features were just detected")]
            return unsafe { wide(world, stations, first, tally) };
        }
    }
    Contention::new(world, first).run(stations, tally);
}

/// How a collision goes on.
enum Course {
    /// Every sender hears every other before its own jam is over.
    Closed,
    /// Some sender is silent before it hears another.
    Overlapping,
    /// Some frame is over before its sender hears another.
    Unnoticed,
}

/// A sender of a collision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub(crate) station: u32,
    pub(crate) place: u32,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// When it heard the collision.
    pub(crate) heard: i64,
    /// When it hears the last of the others begin.
    last_arrival: i64,
    /// When it hears the last of the others end, or its own end if that is later.
    silent: i64,
}

#[inline(always)]
fn time_of(key: u64) -> i64 {
    (key >> STATION_BITS).cast_signed()
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // ten bits
fn station_of(key: u64) -> usize {
    (key & ((1 << STATION_BITS) - 1)) as usize
}

#[inline(always)]
fn time_key(time: i64) -> u64 {
    time.cast_unsigned() << STATION_BITS
}

/// For the few that contend at once.
#[inline(always)]
fn insertion_sort(keys: &mut [u64]) {
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

struct Contention<'w> {
    world: &'w World,
    next: Vec<u64>,
    /// `deferral[p * stations + i]`, a key: from the end of a transmission at place p to the end of the gap at station i.
    deferral: Vec<u64>,
    candidates: Vec<u64>,
    senders: Vec<Sender>,
    /// Delays between each sender and those before it, sender by sender.
    between: Vec<i64>,
    /// Last end of a sender at each place, where there is one.
    ends: Vec<(u32, i64)>,
    end: i64,
    storm: Storm,
}

impl<'w> Contention<'w> {
    fn new(world: &'w World, first: &[i64]) -> Self {
        let stations = world.stations();
        let deferral = (0..small(world.place_count)).flat_map(|p| {
            let keys = world.places.iter().zip(0u64..);
            keys.map(move |(&q, station)| time_key(world.delay(p, q) + world.gap) + station)
        });
        let mut new = Self {
            world,
            candidates: vec![NO_START; stations + 1],
            next: vec![NO_START; stations],
            deferral: deferral.collect(),
            senders: Vec::with_capacity(stations),
            between: Vec::new(),
            ends: Vec::with_capacity(world.place_count),
            end: world.phases.end_ps.cast_signed(),
            storm: Storm::new(world),
        };
        for (station, &time) in first.iter().enumerate() {
            new.next[station] = new.key(station, time);
        }
        new
    }

    /// A start as a key. Nobody starts once the test is over, which keeps keys from overflow.
    #[inline(always)]
    fn key(&self, station: usize, time: i64) -> u64 {
        if time < self.end {
            time_key(time) + station as u64
        } else {
            NO_START
        }
    }

    #[inline(always)]
    fn earliest(&self) -> u64 {
        self.next.iter().fold(NO_START, |least, &next| least.min(next))
    }

    #[inline(always)]
    fn run(&mut self, stations: &mut [Station], tally: &mut Tally) {
        let mut earliest = self.earliest();
        while time_of(earliest) < self.end {
            // Whoever starts later than this has heard the earliest by then, wherever it is.
            let until = time_key((time_of(earliest) + self.world.max_delay + 1).min(self.end));
            let count: u64 = self.next.iter().map(|&next| u64::from(next < until)).sum();
            earliest = match count {
                1 => self.deliver(station_of(earliest), time_of(earliest), stations, tally),
                2 => self.pair(earliest, stations, tally),
                _ => self.resolve(until, stations, tally),
            };
        }
    }

    /// `station` sends alone from `start` on. Returns the earliest next start.
    #[inline(always)]
    fn deliver(&mut self, station: usize, start: i64, stations: &mut [Station], tally: &mut Tally) -> u64 {
        let end = start + self.world.packet_time(stations[station].bits());
        let (attempt, ready) = stations[station].deliver(start, end);
        tally.record(&attempt);
        // It hears its own end at once; the others, also those at its place, later.
        let own = self.key(station, ready.max(end + self.world.gap));
        self.defer(self.world.places[station], end, station, own)
    }

    /// Everybody but `station`, which starts at `own`, defers to a transmission that ended at `end` at `place`. Returns the earliest start.
    ///
    /// The one that differs is blended in within the pass: writing it before or after would make the next wide read wait for the write.
    #[inline(always)]
    fn defer(&mut self, place: u32, end: i64, station: usize, own: u64) -> u64 {
        let n = self.next.len();
        let row = &self.deferral[place as usize * n..place as usize * n + n];
        let (end, station) = (time_key(end), station as u64);
        let mut earliest = NO_START;
        for ((next, &deferral), index) in self.next.iter_mut().zip(row).zip(0u64..) {
            let put_off = (*next).max(end + deferral);
            let start = if index == station { own } else { put_off };
            *next = start;
            earliest = earliest.min(start);
        }
        earliest
    }

    /// The station of `first` and one other would start before they hear each other, or nearly. Returns the earliest next start.
    ///
    /// Two senders hear each other before their jams are over, so their collision is closed, unless a frame was over before.
    #[inline(always)]
    fn pair(&mut self, first: u64, stations: &mut [Station], tally: &mut Tally) -> u64 {
        let world = self.world;
        let second =
            self.next.iter().fold(NO_START, |least, &next| least.min(if next > first { next } else { NO_START }));
        let ((a, start_a), (b, start_b)) = ((station_of(first), time_of(first)), (station_of(second), time_of(second)));
        let (place_a, place_b) = (world.places[a], world.places[b]);
        let delay = world.delay(place_a, place_b);
        if start_b > start_a + delay {
            return self.deliver(a, start_a, stations, tally);
        }
        let (heard_a, heard_b) = (start_b + delay, start_a + delay);
        let unnoticed = heard_a >= start_a + world.packet_time(stations[a].bits())
            || heard_b >= start_b + world.packet_time(stations[b].bits());
        if unnoticed {
            self.senders.clear();
            return self.weather(stations, tally);
        }
        let end_a = heard_a.max(start_a + world.preamble) + world.jam;
        let end_b = heard_b.max(start_b + world.preamble) + world.jam;
        let own_a = self.back_off(stations, tally, (a, start_a, end_a, heard_a), end_a.max(end_b + delay));
        let own_b = self.back_off(stations, tally, (b, start_b, end_b, heard_b), end_b.max(end_a + delay));
        self.defer_to_two((place_a, end_a), (place_b, end_b), [(a, own_a), (b, own_b)])
    }

    /// A sender, its start and end and when it heard the collision; `silent` is when it hears the last of it. Returns its next start.
    #[inline(always)]
    fn back_off(
        &self,
        stations: &mut [Station],
        tally: &mut Tally,
        (station, start, end, heard): (usize, i64, i64, i64),
        silent: i64,
    ) -> u64 {
        let (attempt, ready) = stations[station].collide(start, end, heard - start > self.world.slot);
        tally.record(&attempt);
        self.key(station, ready.max(silent + self.world.gap))
    }

    /// Everybody but those `own`, with their starts, defers to transmissions that ended at these places and times. Returns the earliest start.
    #[inline(always)]
    fn defer_to_two(
        &mut self,
        (place_a, end_a): (u32, i64),
        (place_b, end_b): (u32, i64),
        own: [(usize, u64); 2],
    ) -> u64 {
        let n = self.next.len();
        let row_a = &self.deferral[place_a as usize * n..place_a as usize * n + n];
        let row_b = &self.deferral[place_b as usize * n..place_b as usize * n + n];
        let (end_a, end_b) = (time_key(end_a), time_key(end_b));
        let [(a, own_a), (b, own_b)] = own.map(|(station, key)| (station as u64, key));
        let mut earliest = NO_START;
        for (((next, &row_a), &row_b), index) in self.next.iter_mut().zip(row_a).zip(row_b).zip(0u64..) {
            let put_off = (*next).max((end_a + row_a).max(end_b + row_b));
            let start = if index == a { own_a } else { put_off };
            let start = if index == b { own_b } else { start };
            *next = start;
            earliest = earliest.min(start);
        }
        earliest
    }

    /// Several stations would start before `until`, perhaps before they hear each other. Returns the earliest next start.
    #[inline(always)]
    fn resolve(&mut self, until: u64, stations: &mut [Station], tally: &mut Tally) -> u64 {
        let count = self.collect_candidates(until);
        insertion_sort(&mut self.candidates[..count]);
        self.choose_senders(count);
        if let [alone] = self.senders[..] {
            return self.deliver(alone.station as usize, alone.start, stations, tally);
        }
        match self.close(stations) {
            Course::Closed => self.collide(stations, tally),
            Course::Overlapping => self.weather(stations, tally),
            Course::Unnoticed => {
                self.senders.clear();
                self.weather(stations, tally)
            }
        }
    }

    /// The keys before `until`, in no order. Returns how many there are.
    #[inline(always)]
    fn collect_candidates(&mut self, until: u64) -> usize {
        // Every key is written and the cursor moves past those that count: a branch would be a guess each time.
        let mut count = 0;
        for &next in &self.next {
            self.candidates[count] = next;
            count += usize::from(next < until);
        }
        count
    }

    /// Of the first `count` candidates, in their order, those that start before they hear another; and when each hears others.
    #[inline(always)]
    fn choose_senders(&mut self, count: usize) {
        self.senders.clear();
        self.between.clear();
        for &key in &self.candidates[..count] {
            let (start, station) = (time_of(key), small(station_of(key)));
            let place = self.world.places[station as usize];
            let row = self.world.delays_from(place);
            let known = self.between.len();
            let (mut first, mut last) = (NEVER, 0);
            for other in &self.senders {
                let delay = row[other.place as usize];
                self.between.push(delay);
                first = first.min(other.start + delay);
                last = last.max(other.start + delay);
            }
            // What it hears in the instant in which it starts does not keep it from starting.
            if start > first {
                self.between.truncate(known);
                continue;
            }
            for (other, delay) in self.senders.iter_mut().zip(&self.between[known..]) {
                other.heard = other.heard.min(start + delay);
                other.last_arrival = other.last_arrival.max(start + delay);
            }
            self.senders.push(Sender { station, place, start, end: 0, heard: first, last_arrival: last, silent: 0 });
        }
    }

    /// Contentions overlap for a while, after the collision of `senders`, if there are any.
    #[inline(never)]
    fn weather(&mut self, stations: &mut [Station], tally: &mut Tally) -> u64 {
        let starts = self.next.iter().map(|&key| if key == NO_START { NEVER } else { time_of(key) });
        self.storm.run(self.world, starts, &self.senders, stations, tally);
        for station in 0..self.next.len() {
            self.next[station] = self.key(station, self.storm.starts()[station]);
        }
        self.earliest()
    }

    /// Work out when each sender ends and when it hears the last of the others.
    #[inline(always)]
    fn close(&mut self, stations: &[Station]) -> Course {
        let world = self.world;
        let mut closed = true;
        for sender in &mut self.senders {
            sender.heard = sender.heard.max(sender.start);
            sender.end = sender.heard.max(sender.start + world.preamble) + world.jam;
            sender.silent = sender.end;
            if sender.heard >= sender.start + world.packet_time(stations[sender.station as usize].bits()) {
                return Course::Unnoticed;
            }
            closed &= sender.last_arrival <= sender.end;
        }
        if !closed {
            return Course::Overlapping;
        }
        let mut between = self.between.iter();
        for index in 1..self.senders.len() {
            let (before, this) = self.senders.split_at_mut(index);
            let this = &mut this[0];
            for (other, &delay) in before.iter_mut().zip(&mut between) {
                this.silent = this.silent.max(other.end + delay);
                other.silent = other.silent.max(this.end + delay);
            }
        }
        Course::Closed
    }

    #[inline(always)]
    fn collide(&mut self, stations: &mut [Station], tally: &mut Tally) -> u64 {
        self.ends.clear();
        for sender in &self.senders {
            self.next[sender.station as usize] = NO_START;
            match self.ends.iter_mut().find(|(place, _)| *place == sender.place) {
                Some((_, end)) => *end = (*end).max(sender.end),
                None => self.ends.push((sender.place, sender.end)),
            }
        }
        let mut earliest = NO_START;
        let mut index = 0;
        while index < self.ends.len() {
            let first = self.ends[index];
            earliest = match self.ends.get(index + 1) {
                Some(&second) => self.defer_to_two(first, second, [(NOBODY, NO_START); 2]),
                None => self.defer(first.0, first.1, NOBODY, NO_START),
            };
            index += 2;
        }
        for index in 0..self.senders.len() {
            let Sender { station, start, end, heard, silent, .. } = self.senders[index];
            let own = self.back_off(stations, tally, (station as usize, start, end, heard), silent);
            self.next[station as usize] = own;
            earliest = earliest.min(own);
        }
        earliest
    }
}
