//! Operations on the next starts of all stations, eight at a time.
//!
//! Each exists twice, portable and with 512-bit registers. The caller passes the [`Width`] that it
//! wants, a type without a value to store, so that no operation costs a choice. An [`Avx512`] exists
//! only where its instructions do. The portable operations are compiled with whatever the caller is
//! compiled with.

#![expect(
    clippy::inline_always,
    reason = "what is inlined into a function with wide instructions is compiled with them"
)]

use crate::identity::{PositionId, StationId};
use crate::time::{Instant, Span};
use std::ops::Add;

/// Bits of a key that hold the station; 1024 stations at most.
const STATION_BITS: u32 = 10;

/// A start and its station in one number, so that the least gives both.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

/// From an end to a start of a station: what their keys differ by.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait(u64);

/// The key of a station that does not start any more, and of lanes without a station.
pub(crate) const NO_START: Key = Key(u64::MAX);

impl Key {
    /// Before every start.
    pub(crate) const BEFORE_ALL: Self = Self(0);

    /// A start of a station.
    #[inline(always)]
    pub(crate) fn new(time: Instant, station: StationId) -> Self {
        Self::at(time) + Wait::station(station)
    }

    /// A time, before all starts in its instant.
    #[inline(always)]
    pub(crate) fn at(time: Instant) -> Self {
        Self(time.ps() << STATION_BITS)
    }

    #[inline(always)]
    pub(crate) fn time(self) -> Instant {
        Instant::from_ps(self.0 >> STATION_BITS)
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // ten bits
    pub(crate) fn station(self) -> StationId {
        StationId::from((self.0 & ((1 << STATION_BITS) - 1)) as u32)
    }
}

impl Wait {
    /// A time until a start of a station.
    #[inline(always)]
    pub(crate) fn new(time: Span, station: StationId) -> Self {
        Self((time.ps() << STATION_BITS) + u64::from(station.number()))
    }

    /// No time until a start of a station.
    #[inline(always)]
    pub(crate) fn station(station: StationId) -> Self {
        Self::new(Span::ZERO, station)
    }
}

impl Add<Wait> for Key {
    type Output = Self;

    #[inline(always)]
    fn add(self, wait: Wait) -> Self {
        Self(self.0 + wait.0)
    }
}

/// Stations handled at once.
pub(crate) const LANES: usize = 8;

/// The keys of eight stations.
pub(crate) type Lanes = [Key; LANES];

/// How long eight stations wait.
pub(crate) type Row = [Wait; LANES];

/// The most blocks of eight stations for which operations are made: their lanes fit into one mask.
pub(crate) const WIDEST: usize = 64 / LANES;

/// The instructions that operations on at most [`WIDEST`] blocks use.
pub(crate) trait Width: Copy {
    /// Write the keys before `until` to `found`, in the order of the stations. Returns how many
    /// there are.
    ///
    /// `found` is longer than `next` by a block.
    fn select(self, next: &[Lanes], until: Key, found: &mut [Key]) -> usize;

    /// Put every start off to the end of the gap after transmissions. Returns the earliest start.
    ///
    /// `ends` are positions and times, keys as keys; row p of `rows`, as long as `next`, says how
    /// long the gap is over after an end at position p. The stations of `own` start at the keys
    /// given there.
    fn defer(
        self,
        next: &mut [Lanes],
        rows: &[Row],
        ends: &[(PositionId, Key)],
        own: &[(StationId, Key)],
    ) -> Key;

    /// Whether [`Self::defer`] would put off the start of a station that is not one of `own`.
    fn puts_off(
        self,
        next: &[Lanes],
        rows: &[Row],
        ends: &[(PositionId, Key)],
        own: &[(StationId, Key)],
    ) -> bool;

    /// The lanes of `keys`, each at least `from` and its wait later.
    fn put_off(self, keys: &Lanes, from: Key, waits: &Row) -> Lanes;

    /// The later of two, lane by lane.
    fn later(self, keys: &Lanes, others: &Lanes) -> Lanes;

    /// The earlier of two, lane by lane.
    fn earlier(self, keys: &Lanes, others: &Lanes) -> Lanes;

    /// A bit for each lane in which the key is before the other one.
    fn before(self, keys: &Lanes, others: &Lanes) -> u8;

    /// The least of the lanes.
    fn least(self, keys: &Lanes) -> Key;
}

/// Instructions of any processor.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Width for Portable {
    #[inline(always)]
    fn select(self, next: &[Lanes], until: Key, found: &mut [Key]) -> usize {
        // Every key is written and the cursor moves past those that count: a branch would be a
        // guess each time.
        let mut count = 0;
        for &key in next.as_flattened() {
            found[count] = key;
            count += usize::from(key < until);
        }
        count
    }

    #[inline(always)]
    fn defer(
        self,
        next: &mut [Lanes],
        rows: &[Row],
        ends: &[(PositionId, Key)],
        own: &[(StationId, Key)],
    ) -> Key {
        for &(station, _) in own {
            next.as_flattened_mut()[station] = NO_START;
        }
        let blocks = next.len();
        let next = next.as_flattened_mut();
        let mut earliest = NO_START;
        for &(position, end) in ends {
            let row = rows[position.index() * blocks..][..blocks].as_flattened();
            earliest = defer_to_one(next, row, end);
        }
        for &(station, key) in own {
            next[station] = key;
            earliest = earliest.min(key);
        }
        earliest
    }

    #[inline(always)]
    fn puts_off(
        self,
        next: &[Lanes],
        rows: &[Row],
        ends: &[(PositionId, Key)],
        own: &[(StationId, Key)],
    ) -> bool {
        let blocks = next.len();
        let next = next.as_flattened();
        let early = |&&(position, end): &&(PositionId, Key)| {
            let row = rows[position.index() * blocks..][..blocks].as_flattened();
            let before = |station: StationId| next[station] < end + row[station];
            let all = StationId::first(next.len()).filter(|&station| before(station)).count();
            all > own.iter().filter(|&&(station, _)| before(station)).count()
        };
        ends.iter().find(early).is_some()
    }

    #[inline(always)]
    fn put_off(self, keys: &Lanes, from: Key, waits: &Row) -> Lanes {
        std::array::from_fn(|lane| keys[lane].max(from + waits[lane]))
    }

    #[inline(always)]
    fn later(self, keys: &Lanes, others: &Lanes) -> Lanes {
        std::array::from_fn(|lane| keys[lane].max(others[lane]))
    }

    #[inline(always)]
    fn earlier(self, keys: &Lanes, others: &Lanes) -> Lanes {
        std::array::from_fn(|lane| keys[lane].min(others[lane]))
    }

    #[inline(always)]
    fn before(self, keys: &Lanes, others: &Lanes) -> u8 {
        (0..LANES).fold(0, |found, lane| found | u8::from(keys[lane] < others[lane]) << lane)
    }

    #[inline(always)]
    fn least(self, keys: &Lanes) -> Key {
        keys.iter().copied().fold(NO_START, Key::min)
    }
}

/// Whether there are `avx2`, `bmi1`, `bmi2`, `lzcnt` and `popcnt`.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Instructions with 512-bit registers: a value is proof that this processor and its system have
/// [the features](Self::detect).
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// A proof that there are `avx512f`, `avx512vl`, `avx512dq`, `avx2`, `bmi1`, `bmi2`, `lzcnt` and
    /// `popcnt`, if there are.
    pub(crate) fn detect() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && has_avx2();
        is_there.then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Width for Avx512 {
    #[inline(always)]
    fn select(self, next: &[Lanes], until: Key, found: &mut [Key]) -> usize {
        #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
        // SAFETY: the function needs avx512f and popcnt, which `self` proves; its arguments are checked.
        unsafe {
            wide::select(next, until, found)
        }
    }

    #[inline(always)]
    fn defer(
        self,
        next: &mut [Lanes],
        rows: &[Row],
        ends: &[(PositionId, Key)],
        own: &[(StationId, Key)],
    ) -> Key {
        #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
        // SAFETY: the function needs avx512f and popcnt, which `self` proves; its arguments are checked.
        unsafe {
            wide::defer(next, rows, ends, own)
        }
    }

    #[inline(always)]
    fn puts_off(
        self,
        next: &[Lanes],
        rows: &[Row],
        ends: &[(PositionId, Key)],
        own: &[(StationId, Key)],
    ) -> bool {
        #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
        // SAFETY: the function needs avx512f and popcnt, which `self` proves; its arguments are checked.
        unsafe {
            wide::puts_off(next, rows, ends, own)
        }
    }

    #[inline(always)]
    fn put_off(self, keys: &Lanes, from: Key, waits: &Row) -> Lanes {
        #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
        // SAFETY: the function needs avx512f and popcnt, which `self` proves; its arguments are checked.
        unsafe {
            wide::put_off(keys, from, waits)
        }
    }

    #[inline(always)]
    fn later(self, keys: &Lanes, others: &Lanes) -> Lanes {
        #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
        // SAFETY: the function needs avx512f and popcnt, which `self` proves; its arguments are checked.
        unsafe {
            wide::later(keys, others)
        }
    }

    #[inline(always)]
    fn earlier(self, keys: &Lanes, others: &Lanes) -> Lanes {
        #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
        // SAFETY: the function needs avx512f and popcnt, which `self` proves; its arguments are checked.
        unsafe {
            wide::earlier(keys, others)
        }
    }

    #[inline(always)]
    fn before(self, keys: &Lanes, others: &Lanes) -> u8 {
        #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
        // SAFETY: the function needs avx512f and popcnt, which `self` proves; its arguments are checked.
        unsafe {
            wide::before(keys, others)
        }
    }

    #[inline(always)]
    fn least(self, keys: &Lanes) -> Key {
        #[expect(unsafe_code, reason = "a call of a function with wide instructions")]
        // SAFETY: the function needs avx512f and popcnt, which `self` proves; its arguments are checked.
        unsafe {
            wide::least(keys)
        }
    }
}

#[inline(always)]
fn defer_to_one(next: &mut [Key], row: &[Wait], end: Key) -> Key {
    let mut earliest = NO_START;
    for (next, &row) in next.iter_mut().zip(row) {
        // Lanes that never start stay so: no sum of an end and a row comes near them.
        *next = (*next).max(end + row);
        earliest = earliest.min(*next);
    }
    earliest
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Key, LANES, Lanes, NO_START, Row};
    use crate::identity::{PositionId, StationId};
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi64, _mm512_cmplt_epu64_mask, _mm512_loadu_si512,
        _mm512_mask_mov_epi64, _mm512_maskz_compress_epi64, _mm512_max_epu64, _mm512_min_epu64,
        _mm512_reduce_min_epu64, _mm512_set1_epi64, _mm512_storeu_si512,
    };

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    fn load(lanes: &Lanes) -> __m512i {
        #[expect(unsafe_code, reason = "a load through a pointer")]
        // SAFETY: the reference is to 64 readable octets, and the load needs no alignment.
        unsafe {
            _mm512_loadu_si512(lanes.as_ptr().cast())
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    fn load_row(row: &Row) -> __m512i {
        #[expect(unsafe_code, reason = "a load through a pointer")]
        // SAFETY: the reference is to 64 readable octets, and the load needs no alignment.
        unsafe {
            _mm512_loadu_si512(row.as_ptr().cast())
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    fn store(lanes: &mut Lanes, value: __m512i) {
        #[expect(unsafe_code, reason = "a store through a pointer")]
        // SAFETY: the reference is to 64 octets that nothing else refers to, any value of which is
        // valid, and the store needs no alignment.
        unsafe {
            _mm512_storeu_si512(lanes.as_mut_ptr().cast(), value);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    fn all(key: Key) -> __m512i {
        _mm512_set1_epi64(key.0.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn select(next: &[Lanes], until: Key, found: &mut [Key]) -> usize {
        let bound = all(until);
        let mut count = 0;
        for lanes in next {
            let keys = load(lanes);
            let before = _mm512_cmplt_epu64_mask(keys, bound);
            let room = found[count..].first_chunk_mut().expect("found is longer by a block");
            store(room, _mm512_maskz_compress_epi64(before, keys));
            count += before.count_ones() as usize;
        }
        count
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn defer(
        next: &mut [Lanes],
        rows: &[Row],
        ends: &[(PositionId, Key)],
        own: &[(StationId, Key)],
    ) -> Key {
        let blocks = next.len();
        let mut kept = members(own);
        // One key goes with the others: written alone, it would keep the next load of its block
        // waiting.
        let (one, several) = match own {
            &[(_, key)] => (key, &[][..]),
            several => (NO_START, several),
        };
        let mut least = all(NO_START);
        for (block, lanes) in next.iter_mut().enumerate() {
            let mut keys = load(lanes);
            for &(position, end) in ends {
                let row = &rows[position.index() * blocks + block];
                keys = _mm512_max_epu64(keys, _mm512_add_epi64(all(end), load_row(row)));
            }
            #[allow(clippy::cast_possible_truncation)] // the mask of eight lanes
            let here = kept as u8;
            kept >>= LANES;
            keys = _mm512_mask_mov_epi64(keys, here, all(one));
            least = _mm512_min_epu64(least, keys);
            store(lanes, keys);
        }
        let mut earliest = Key(_mm512_reduce_min_epu64(least));
        for &(station, key) in several {
            next.as_flattened_mut()[station] = key;
            earliest = earliest.min(key);
        }
        earliest
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn puts_off(
        next: &[Lanes],
        rows: &[Row],
        ends: &[(PositionId, Key)],
        own: &[(StationId, Key)],
    ) -> bool {
        let blocks = next.len();
        let mut early = 0u64;
        for (block, lanes) in next.iter().enumerate() {
            let keys = load(lanes);
            for &(position, end) in ends {
                let row = &rows[position.index() * blocks + block];
                let over = _mm512_add_epi64(all(end), load_row(row));
                early |= u64::from(_mm512_cmplt_epu64_mask(keys, over)) << (block * LANES);
            }
        }
        early & !members(own) != 0
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    fn lanes(keys: __m512i) -> Lanes {
        let mut lanes = [NO_START; LANES];
        store(&mut lanes, keys);
        lanes
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn put_off(keys: &Lanes, from: Key, waits: &Row) -> Lanes {
        lanes(_mm512_max_epu64(load(keys), _mm512_add_epi64(all(from), load_row(waits))))
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn later(keys: &Lanes, others: &Lanes) -> Lanes {
        lanes(_mm512_max_epu64(load(keys), load(others)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn earlier(keys: &Lanes, others: &Lanes) -> Lanes {
        lanes(_mm512_min_epu64(load(keys), load(others)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn before(keys: &Lanes, others: &Lanes) -> u8 {
        _mm512_cmplt_epu64_mask(load(keys), load(others))
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn least(keys: &Lanes) -> Key {
        Key(_mm512_reduce_min_epu64(load(keys)))
    }

    /// A bit for each station.
    #[inline]
    fn members(own: &[(StationId, Key)]) -> u64 {
        own.iter().fold(0, |members, &(station, _)| members | 1 << station.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Next starts, rows of two positions, ends at some of them, and stations that start on their
    /// own.
    type Case = (Vec<Lanes>, Vec<Row>, Vec<(PositionId, Key)>, Vec<(StationId, Key)>);

    fn case() -> impl Strategy<Value = Case> {
        (1usize..=8).prop_flat_map(|blocks| {
            let key = prop_oneof![4 => (0u64..1000).prop_map(Key), 1 => Just(NO_START)];
            let lanes = || prop::array::uniform8((0u64..300).prop_map(Wait));
            let stations = u32::try_from(blocks * LANES).unwrap();
            (
                prop::collection::vec(prop::array::uniform8(key), blocks),
                prop::collection::vec(lanes(), 2 * blocks),
                prop::collection::vec(
                    ((0u32..2).prop_map(PositionId::from), (0u64..1000).prop_map(Key)),
                    1..4,
                ),
                prop::collection::btree_map(
                    (0..stations).prop_map(StationId::from),
                    (0u64..2000).prop_map(Key),
                    0..4,
                )
                .prop_map(|own| own.into_iter().collect()),
            )
        })
    }

    /// What the documentation says, station by station.
    fn plainly((next, rows, ends, own): &Case) -> (Vec<Key>, bool) {
        let over = |station: usize| {
            let keys = ends.iter().map(|&(position, end)| {
                end + rows.as_flattened()[position.index() * next.len() * LANES + station]
            });
            keys.max().unwrap()
        };
        let mut early = false;
        let starts = next.as_flattened().iter().enumerate().map(|(station, &key)| {
            let of_its_own = own.iter().find(|(other, _)| other.index() == station);
            early |= of_its_own.is_none() && key < over(station);
            of_its_own.map_or(key.max(over(station)), |&(_, key)| key)
        });
        (starts.collect(), early)
    }

    fn agrees(width: impl Width, case: &Case, until: Key) {
        let (next, rows, ends, own) = case;
        let (starts, early) = plainly(case);
        assert_eq!(width.puts_off(next, rows, ends, own), early);
        let mut after = next.clone();
        assert_eq!(width.defer(&mut after, rows, ends, own), *starts.iter().min().unwrap());
        assert_eq!(after.as_flattened(), starts);
        let mut found = vec![NO_START; (next.len() + 1) * LANES];
        let count = width.select(next, until, &mut found);
        let before: Vec<Key> =
            next.as_flattened().iter().copied().filter(|&key| key < until).collect();
        assert_eq!(found[..count], before);
        let (keys, others) = (&next[0], &next[next.len() - 1]);
        let of_each = |pick: fn(Key, Key) -> Key| -> Vec<Key> {
            keys.iter().zip(others).map(|(&this, &that)| pick(this, that)).collect()
        };
        assert_eq!(width.later(keys, others).to_vec(), of_each(Key::max));
        assert_eq!(width.earlier(keys, others).to_vec(), of_each(Key::min));
        assert_eq!(width.least(keys), *keys.iter().min().unwrap());
        let bits = (0..LANES).filter(|&lane| keys[lane] < others[lane]).map(|lane| 1 << lane);
        assert_eq!(width.before(keys, others), bits.sum::<u8>());
        let (_, end) = ends[0];
        let off: Vec<Key> =
            keys.iter().zip(&rows[0]).map(|(&key, &wait)| key.max(end + wait)).collect();
        assert_eq!(width.put_off(keys, end, &rows[0]).to_vec(), off);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_form_does_what_it_says(case in case(), until in (0u64..1500).prop_map(Key)) {
            agrees(Portable, &case, until);
            #[cfg(target_arch = "x86_64")]
            if let Some(avx512) = Avx512::detect() {
                agrees(avx512, &case, until);
            }
        }
    }
}
