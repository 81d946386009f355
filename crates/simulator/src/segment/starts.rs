//! The next starts of all stations: who starts first, and who is put off by what it hears.
//!
//! Both ways keep a *key* for each station, its start as far as is known. [`Flat`] puts every key off
//! with every transmission, by wide instructions; for the stations of most segments, that is a few of
//! them. [`Blocks`] is for many stations: it keeps the time until which stations are put off once for
//! eight stations of one position, so that a contention costs little more than its attempts.

#![expect(
    clippy::inline_always,
    reason = "what is inlined into a function with wide instructions is compiled with them"
)]

use super::compiled::{CompiledSegment, small};
use super::simd::{Key, LANES, Lanes, NO_START, Row, WIDEST, Wait, Width};
use crate::identity::{PositionId, StationId};
use crate::time::Instant;
use std::ops::Range;

/// The next starts of all stations.
///
/// `ends` are positions and times of transmissions, these as keys. The stations of `own` start at the
/// keys given there.
pub(crate) trait Starts {
    /// Whether the earliest start is known with its station, and not by its time only.
    const KNOWS_STATION: bool;

    /// Write the keys before `until` to `found`. Returns how many there are.
    ///
    /// `found` is longer than the stations by a block.
    fn select(&self, until: Key, found: &mut [Key]) -> usize;

    /// Put every start off to the end of the gap after transmissions. Returns the earliest start.
    fn defer(&mut self, ends: &[(PositionId, Key)], own: &[(StationId, Key)]) -> Key;

    /// Whether [`Self::defer`] would put off the start of a station that is not one of `own`.
    fn puts_off(&self, ends: &[(PositionId, Key)], own: &[(StationId, Key)]) -> bool;

    /// The earliest start at a position, by its time.
    fn first_at(&self, position: PositionId) -> Key;

    /// Add the keys before `until` at a position to `found`. These stations do not start any more.
    fn take(&mut self, position: PositionId, until: Key, found: &mut Vec<Key>);

    /// Let each station start at its key, by station. Returns the earliest start.
    fn set(&mut self, keys: impl Iterator<Item = Key>) -> Key;
}

/// A start as a key. No station starts once the test is over, which keeps keys from overflow.
#[inline(always)]
pub(crate) fn key_before(end: Instant, station: StationId, time: Instant) -> Key {
    if time < end { Key::new(time, station) } else { NO_START }
}

/// From a transmission's end at `from` to the end of gap and wait at `to`.
fn silence(
    compiled: &CompiledSegment,
    from: PositionId,
    to: PositionId,
    station: StationId,
) -> Wait {
    let silence = compiled.delay(from, to) + compiled.gaps[to].length;
    Wait::new(silence + compiled.turnaround, station)
}

/// A key for each station.
pub(crate) struct Flat<W> {
    width: W,
    members: Vec<Vec<StationId>>,
    stations: usize,
    next: Vec<Lanes>,
    /// Row p, a key for each station: from the end of a transmission at position p to the end of
    /// gap and wait at the station.
    rows: Vec<Row>,
}

impl<W: Width> Flat<W> {
    /// The most stations.
    pub(crate) const MOST: usize = WIDEST * LANES;

    /// No station starts.
    #[inline(always)]
    pub(crate) fn new(width: W, compiled: &CompiledSegment) -> Self {
        let stations = compiled.stations();
        let blocks = stations.div_ceil(LANES);
        let mut rows = vec![[Wait::default(); LANES]; compiled.place_count * blocks];
        for (p, row) in PositionId::first(compiled.place_count).zip(rows.chunks_exact_mut(blocks)) {
            let waits = row.as_flattened_mut().iter_mut();
            for ((wait, &q), station) in
                waits.zip(&compiled.positions).zip(StationId::first(stations))
            {
                *wait = silence(compiled, p, q, station);
            }
        }
        // The lanes of the last block beyond the last station never start.
        let members = compiled.members();
        Self { width, members, stations, next: vec![[NO_START; LANES]; blocks], rows }
    }
}

impl<W: Width> Starts for Flat<W> {
    const KNOWS_STATION: bool = true;

    #[inline(always)]
    fn select(&self, until: Key, found: &mut [Key]) -> usize {
        self.width.select(&self.next, until, found)
    }

    #[inline(always)]
    fn defer(&mut self, ends: &[(PositionId, Key)], own: &[(StationId, Key)]) -> Key {
        self.width.defer(&mut self.next, &self.rows, ends, own)
    }

    #[inline(always)]
    fn puts_off(&self, ends: &[(PositionId, Key)], own: &[(StationId, Key)]) -> bool {
        self.width.puts_off(&self.next, &self.rows, ends, own)
    }

    #[inline(always)]
    fn first_at(&self, position: PositionId) -> Key {
        let next = self.next.as_flattened();
        let keys = self.members[position].iter().map(|&station| next[station]);
        keys.fold(NO_START, Key::min)
    }

    #[inline(always)]
    fn take(&mut self, position: PositionId, until: Key, found: &mut Vec<Key>) {
        let next = self.next.as_flattened_mut();
        for &station in &self.members[position] {
            if next[station] < until {
                found.push(std::mem::replace(&mut next[station], NO_START));
            }
        }
    }

    #[inline(always)]
    fn set(&mut self, keys: impl Iterator<Item = Key>) -> Key {
        let mut earliest = NO_START;
        for (next, key) in self.next.as_flattened_mut()[..self.stations].iter_mut().zip(keys) {
            *next = key;
            earliest = earliest.min(key);
        }
        earliest
    }
}

/// Stations in blocks of eight of one position. A station starts at its key, or when its block is no
/// longer put off, if that is later.
pub(crate) struct Blocks<W> {
    width: W,
    /// Block and lane of each station.
    lane_of: Vec<(u32, u32)>,
    /// The blocks of each position.
    ranges: Vec<Range<usize>>,
    next: Vec<Lanes>,
    /// The stations in the lanes of each block, as waits without a time.
    stations: Vec<Row>,
    /// The least key of each block, eight blocks together.
    least: Vec<Lanes>,
    /// The time until which each block is put off.
    until: Vec<Lanes>,
    /// Row p, for each block: from the end of a transmission at position p to the end of gap and
    /// wait there.
    rows: Vec<Row>,
}

impl<W: Width> Blocks<W> {
    /// No station starts.
    pub(crate) fn new(width: W, compiled: &CompiledSegment) -> Self {
        let members = compiled.members();
        let mut lane_of = vec![(0, 0); compiled.stations()];
        let (mut stations, mut places) = (Vec::new(), Vec::new());
        let mut ranges = Vec::new();
        for position in PositionId::first(compiled.place_count) {
            let first = stations.len();
            for block in members[position].chunks(LANES) {
                let mut row = [Wait::default(); LANES];
                for (lane, &station) in (0..).zip(block) {
                    row[lane as usize] = Wait::station(station);
                    lane_of[station] = (small(stations.len()), lane);
                }
                stations.push(row);
                places.push(position);
            }
            ranges.push(first..stations.len());
        }
        let groups = places.len().div_ceil(LANES);
        let mut rows = vec![[Wait::default(); LANES]; compiled.place_count * groups];
        for (p, row) in PositionId::first(compiled.place_count).zip(rows.chunks_exact_mut(groups)) {
            for (wait, &q) in row.as_flattened_mut().iter_mut().zip(&places) {
                *wait = silence(compiled, p, q, StationId::from(0));
            }
        }
        Self {
            width,
            lane_of,
            ranges,
            next: vec![[NO_START; LANES]; stations.len()],
            stations,
            least: vec![[NO_START; LANES]; groups],
            until: vec![[Key::BEFORE_ALL; LANES]; groups],
            rows,
        }
    }

    /// The keys of a block, put off.
    #[inline(always)]
    fn keys(&self, block: usize) -> Lanes {
        let until = self.until.as_flattened()[block];
        self.width.put_off(&self.next[block], until, &self.stations[block])
    }

    /// Keys of a block that are put off, and no time until which they are.
    #[inline(always)]
    fn put_off_for_good(&mut self, block: usize) {
        self.next[block] = self.keys(block);
        self.until.as_flattened_mut()[block] = Key::BEFORE_ALL;
    }

    /// The earliest of the stations' starts, by its time.
    #[inline(always)]
    fn earliest(&self) -> Key {
        let starts = self.least.iter().zip(&self.until);
        let first = starts.fold([NO_START; LANES], |first, (least, until)| {
            self.width.earlier(&first, &self.width.later(least, until))
        });
        self.width.least(&first)
    }

    /// Each block of which a station starts before the time that its group has in `until`.
    #[inline(always)]
    fn early(&self, until: impl Fn(usize) -> Lanes, mut each: impl FnMut(usize, Key)) {
        for (group, (least, put_off)) in self.least.iter().zip(&self.until).enumerate() {
            let until = until(group);
            let mut early = self.width.before(&self.width.later(least, put_off), &until);
            while early != 0 {
                let lane = early.trailing_zeros() as usize;
                each(group * LANES + lane, until[lane]);
                early &= early - 1;
            }
        }
    }
}

impl<W: Width> Starts for Blocks<W> {
    const KNOWS_STATION: bool = false;

    #[inline(always)]
    fn select(&self, until: Key, found: &mut [Key]) -> usize {
        let mut count = 0;
        self.early(
            |_| [until; LANES],
            |block, until| {
                count += self.width.select(&[self.keys(block)], until, &mut found[count..]);
            },
        );
        count
    }

    #[inline(always)]
    fn defer(&mut self, ends: &[(PositionId, Key)], own: &[(StationId, Key)]) -> Key {
        self.width.defer(&mut self.until, &self.rows, ends, &[]);
        // A sender starts by its own key, however long the others of its block are put off: these
        // are put off for good first.
        for &(station, _) in own {
            let (block, _) = self.lane_of[station];
            self.put_off_for_good(block as usize);
        }
        for &(station, key) in own {
            let (block, lane) = self.lane_of[station];
            self.next[block as usize][lane as usize] = key;
        }
        for &(station, _) in own {
            let (block, _) = self.lane_of[station];
            let block = block as usize;
            self.least.as_flattened_mut()[block] = self.width.least(&self.next[block]);
        }
        self.earliest()
    }

    #[inline(always)]
    fn puts_off(&self, ends: &[(PositionId, Key)], own: &[(StationId, Key)]) -> bool {
        let overs = |group: usize| {
            ends.iter().fold([Key::BEFORE_ALL; LANES], |overs, &(position, end)| {
                let row = &self.rows[position.index() * self.until.len() + group];
                self.width.put_off(&overs, end, row)
            })
        };
        let mut found = false;
        self.early(overs, |block, over| {
            found |= self.keys(block).iter().zip(&self.stations[block]).any(|(&key, &station)| {
                key < over + station && own.iter().all(|&(sender, _)| sender != key.station())
            });
        });
        found
    }

    #[inline(always)]
    fn first_at(&self, position: PositionId) -> Key {
        let blocks = self.ranges[position].clone();
        let least = &self.least.as_flattened()[blocks.clone()];
        let until = &self.until.as_flattened()[blocks];
        let starts = least.iter().zip(until).map(|(&least, &until)| least.max(until));
        starts.fold(NO_START, Key::min)
    }

    #[inline(always)]
    fn take(&mut self, position: PositionId, until: Key, found: &mut Vec<Key>) {
        for block in self.ranges[position].clone() {
            let start = self.least.as_flattened()[block].max(self.until.as_flattened()[block]);
            if start < until {
                self.put_off_for_good(block);
                for key in &mut self.next[block] {
                    if *key < until {
                        found.push(std::mem::replace(key, NO_START));
                    }
                }
                self.least.as_flattened_mut()[block] = self.width.least(&self.next[block]);
            }
        }
    }

    #[inline(always)]
    fn set(&mut self, keys: impl Iterator<Item = Key>) -> Key {
        self.until.as_flattened_mut().fill(Key::BEFORE_ALL);
        for (&(block, lane), key) in self.lane_of.iter().zip(keys) {
            self.next[block as usize][lane as usize] = key;
        }
        for (least, lanes) in self.least.as_flattened_mut().iter_mut().zip(&self.next) {
            *least = self.width.least(lanes);
        }
        self.earliest()
    }
}
