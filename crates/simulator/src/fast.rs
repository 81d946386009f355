//! Medium access one contention after another, over flat arrays.
//!
//! `next[i]` is the earliest time at which station *i* starts if nobody else does first: its ready time, put off by what it has
//! heard so far. The smallest starts first; those that start no later than they hear it collide with it; everybody else defers
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

/// Run a world. Returns its figures and, when `tracing`, every attempt in the order of their starts.
#[must_use]
pub fn run(world: &World, tracing: bool) -> (Outcome, Vec<Attempt>) {
    let mut tally = Tally::new(world, tracing);
    let (mut stations, next) = Station::all(world);
    contend(world, &mut stations, next, &mut tally);
    tally.finish(world, &mut stations)
}

/// Run all contentions, with the widest instructions that this machine has; the results are the same with any.
fn contend(world: &World, stations: &mut [Station], next: Vec<i64>, tally: &mut Tally) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,bmi2")]
        fn widest(world: &World, stations: &mut [Station], next: Vec<i64>, tally: &mut Tally) {
            Contention::new(world, next).run(stations, tally);
        }
        #[target_feature(enable = "avx2,bmi2")]
        fn wide(world: &World, stations: &mut [Station], next: Vec<i64>, tally: &mut Tally) {
            Contention::new(world, next).run(stations, tally);
        }
        let has = |feature: bool| feature;
        if has(std::arch::is_x86_feature_detected!("avx512f"))
            && has(std::arch::is_x86_feature_detected!("avx512vl"))
            && has(std::arch::is_x86_feature_detected!("avx512dq"))
            && has(std::arch::is_x86_feature_detected!("bmi2"))
        {
            #[expect(unsafe_code, reason = "the features were just detected")]
            return unsafe { widest(world, stations, next, tally) };
        }
        if has(std::arch::is_x86_feature_detected!("avx2")) && has(std::arch::is_x86_feature_detected!("bmi2")) {
            #[expect(unsafe_code, reason = "the features were just detected")]
            return unsafe { wide(world, stations, next, tally) };
        }
    }
    Contention::new(world, next).run(stations, tally);
}

/// A sender of a collision.
#[derive(Clone, Copy, Debug)]
struct Sender {
    station: u32,
    start: i64,
    end: i64,
    /// When it heard the collision.
    heard: i64,
    /// When it hears the last of the others end, or its own end if that is later.
    silent: i64,
}

struct Contention<'w> {
    world: &'w World,
    next: Vec<i64>,
    /// `deferral[p * stations + i]`: from the end of a transmission at place p to the end of the gap at station i.
    deferral: Vec<i64>,
    candidates: Vec<u32>,
    senders: Vec<Sender>,
    /// Last end of a sender at each place, where there is one.
    ends: Vec<(u32, i64)>,
    end: i64,
}

impl<'w> Contention<'w> {
    fn new(world: &'w World, next: Vec<i64>) -> Self {
        let deferral = (0..small(world.place_count))
            .flat_map(|p| world.places.iter().map(move |&q| world.delay(p, q) + world.gap))
            .collect();
        Self {
            world,
            candidates: vec![0; next.len()],
            next,
            deferral,
            senders: Vec::new(),
            ends: Vec::new(),
            end: world.phases.end_ps.cast_signed(),
        }
    }

    #[inline(always)]
    fn run(&mut self, stations: &mut [Station], tally: &mut Tally) {
        let mut earliest = self.next.iter().fold(NEVER, |least, &next| least.min(next));
        while earliest < self.end {
            // Whoever starts later than this has heard the earliest by then, wherever it is.
            let count = self.collect_candidates((earliest + self.world.max_delay).min(self.end - 1));
            earliest = if count == 1 {
                self.deliver(self.candidates[0] as usize, stations, tally)
            } else {
                self.resolve(count, stations, tally)
            };
        }
    }

    #[inline(always)]
    fn collect_candidates(&mut self, until: i64) -> usize {
        let mut count = 0;
        let candidates = &mut self.candidates[..self.next.len()];
        for (station, &next) in (0u32..).zip(&self.next) {
            candidates[count.min(candidates.len() - 1)] = station;
            count += usize::from(next <= until);
        }
        count
    }

    /// `station` sends alone. Returns the earliest next start.
    #[inline(always)]
    fn deliver(&mut self, station: usize, stations: &mut [Station], tally: &mut Tally) -> i64 {
        let start = self.next[station];
        let end = start + self.world.packet_time(stations[station].bits());
        let (attempt, ready) = stations[station].deliver(start, end);
        tally.record(&attempt);
        // It hears its own end at once; the others, also those at its place, later.
        self.next[station] = NEVER;
        let earliest = self.defer(self.world.places[station], end);
        let own = ready.max(end + self.world.gap);
        self.next[station] = own;
        earliest.min(own)
    }

    /// Everybody defers to a transmission that ended at `end` at `place`. Returns the earliest start.
    #[inline(always)]
    fn defer(&mut self, place: u32, end: i64) -> i64 {
        let n = self.next.len();
        let row = &self.deferral[place as usize * n..place as usize * n + n];
        let mut earliest = NEVER;
        for (next, &deferral) in self.next.iter_mut().zip(row) {
            *next = (*next).max(end + deferral);
            earliest = earliest.min(*next);
        }
        earliest
    }

    /// Several stations may start before they hear each other. Returns the earliest next start.
    #[inline(never)]
    fn resolve(&mut self, count: usize, stations: &mut [Station], tally: &mut Tally) -> i64 {
        let next = &self.next;
        self.candidates[..count].sort_unstable_by_key(|&s| (next[s as usize], s));
        self.senders.clear();
        for &station in &self.candidates[..count] {
            let start = next[station as usize];
            let place = self.world.places[station as usize];
            // What it hears in the instant in which it starts does not keep it from starting.
            let hears =
                |other: &Sender| other.start + self.world.delay(self.world.places[other.station as usize], place);
            if self.senders.iter().all(|other| start <= hears(other)) {
                self.senders.push(Sender { station, start, end: 0, heard: NEVER, silent: 0 });
            }
        }
        if let [alone] = self.senders[..] {
            return self.deliver(alone.station as usize, stations, tally);
        }
        if self.close(stations) {
            self.collide(stations, tally)
        } else {
            Storm::new(self.world, &mut self.next).run(stations, tally);
            self.next.iter().fold(NEVER, |least, &next| least.min(next))
        }
    }

    /// Work out when each sender hears the collision and ends. False when the contention is not closed.
    fn close(&mut self, stations: &[Station]) -> bool {
        let world = self.world;
        for index in 0..self.senders.len() {
            let this = self.senders[index];
            let place = world.places[this.station as usize];
            let arrivals = self.senders.iter().filter(|other| other.station != this.station);
            let (mut first, mut last) = (NEVER, 0);
            for other in arrivals {
                let arrival = other.start + world.delay(world.places[other.station as usize], place);
                first = first.min(arrival);
                last = last.max(arrival);
            }
            let heard = first.max(this.start);
            let end = heard.max(this.start + world.preamble) + world.jam;
            let unnoticed = heard >= this.start + world.packet_time(stations[this.station as usize].bits());
            if unnoticed || last > end {
                return false;
            }
            self.senders[index] = Sender { heard, end, ..this };
        }
        for index in 0..self.senders.len() {
            let this = self.senders[index];
            let place = world.places[this.station as usize];
            let mut silent = this.end;
            for other in self.senders.iter().filter(|other| other.station != this.station) {
                silent = silent.max(other.end + world.delay(world.places[other.station as usize], place));
            }
            self.senders[index].silent = silent;
        }
        true
    }

    fn collide(&mut self, stations: &mut [Station], tally: &mut Tally) -> i64 {
        self.ends.clear();
        for sender in &self.senders {
            self.next[sender.station as usize] = NEVER;
            let place = self.world.places[sender.station as usize];
            match self.ends.iter_mut().find(|(p, _)| *p == place) {
                Some((_, end)) => *end = (*end).max(sender.end),
                None => self.ends.push((place, sender.end)),
            }
        }
        let mut earliest = NEVER;
        for index in 0..self.ends.len() {
            let (place, end) = self.ends[index];
            earliest = self.defer(place, end);
        }
        for sender in &self.senders {
            let late = sender.heard - sender.start > self.world.slot;
            let (attempt, ready) = stations[sender.station as usize].collide(sender.start, sender.end, late);
            tally.record(&attempt);
            let own = ready.max(sender.silent + self.world.gap);
            self.next[sender.station as usize] = own;
            earliest = earliest.min(own);
        }
        earliest
    }
}
