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

use crate::outcome::Outcome;
use crate::station::{Attempt, Station};
use crate::storm::Storm;
use crate::tally::Tally;
use crate::world::{small, World, NEVER};

/// Bits of a key that hold the station; 1024 stations at most.
const STATION_BITS: u32 = 10;
/// The key of a station that does not start any more. Times end far below.
const NO_START: u64 = u64::MAX;

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
            earliest = if count == 1 {
                self.deliver(station_of(earliest), time_of(earliest), stations, tally)
            } else {
                self.resolve(until, stations, tally)
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
        self.next[station] = NO_START;
        let earliest = self.defer(self.world.places[station], end);
        let own = self.key(station, ready.max(end + self.world.gap));
        self.next[station] = own;
        earliest.min(own)
    }

    /// Everybody defers to a transmission that ended at `end` at `place`. Returns the earliest start.
    #[inline(always)]
    fn defer(&mut self, place: u32, end: i64) -> u64 {
        let n = self.next.len();
        let row = &self.deferral[place as usize * n..place as usize * n + n];
        let end = time_key(end);
        let mut earliest = NO_START;
        for (next, &deferral) in self.next.iter_mut().zip(row) {
            let put_off = (*next).max(end + deferral);
            *next = put_off;
            earliest = earliest.min(put_off);
        }
        earliest
    }

    /// Several stations would start before `until`, perhaps before they hear each other. Returns the earliest next start.
    #[inline(always)]
    fn resolve(&mut self, until: u64, stations: &mut [Station], tally: &mut Tally) -> u64 {
        // Every key is written and the cursor moves past those that count: a branch would be a guess each time.
        let mut count = 0;
        for &next in &self.next {
            self.candidates[count] = next;
            count += usize::from(next < until);
        }
        insertion_sort(&mut self.candidates[..count]);
        self.senders.clear();
        for &key in &self.candidates[..count] {
            let (start, station) = (time_of(key), small(station_of(key)));
            let place = self.world.places[station as usize];
            // What it hears in the instant in which it starts does not keep it from starting.
            let hears = |other: &Sender| other.start + self.world.delay(other.place, place);
            if self.senders.iter().all(|other| start <= hears(other)) {
                self.senders.push(Sender { station, place, start, end: 0, heard: NEVER, silent: 0 });
            }
        }
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

    /// Work out when each sender hears the collision and ends.
    #[inline(always)]
    fn close(&mut self, stations: &[Station]) -> Course {
        let world = self.world;
        let mut closed = true;
        for index in 0..self.senders.len() {
            let this = self.senders[index];
            let (mut first, mut last) = (NEVER, 0);
            for (_, other) in self.senders.iter().enumerate().filter(|(other, _)| *other != index) {
                let arrival = other.start + world.delay(other.place, this.place);
                first = first.min(arrival);
                last = last.max(arrival);
            }
            let heard = first.max(this.start);
            let end = heard.max(this.start + world.preamble) + world.jam;
            if heard >= this.start + world.packet_time(stations[this.station as usize].bits()) {
                return Course::Unnoticed;
            }
            closed &= last <= end;
            self.senders[index] = Sender { heard, end, ..this };
        }
        for index in 0..self.senders.len() {
            let this = self.senders[index];
            let mut silent = this.end;
            for (_, other) in self.senders.iter().enumerate().filter(|(other, _)| *other != index) {
                silent = silent.max(other.end + world.delay(other.place, this.place));
            }
            self.senders[index].silent = silent;
        }
        if closed {
            Course::Closed
        } else {
            Course::Overlapping
        }
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
        for index in 0..self.ends.len() {
            let (place, end) = self.ends[index];
            earliest = self.defer(place, end);
        }
        for index in 0..self.senders.len() {
            let sender = self.senders[index];
            let station = sender.station as usize;
            let late = sender.heard - sender.start > self.world.slot;
            let (attempt, ready) = stations[station].collide(sender.start, sender.end, late);
            tally.record(&attempt);
            let own = self.key(station, ready.max(sender.silent + self.world.gap));
            self.next[station] = own;
            earliest = earliest.min(own);
        }
        earliest
    }
}
