//! Hash index of a table: hashes to slot numbers, in few octets, so that it stays near
//! the processor.
//!
//! Open addressing with linear probing: eight octets a cell, at least half of the cells empty. The
//! keys stand with the values. Hashes are seeded anew in each process, so that no capture can be
//! written whose keys all collide.

use crate::ahead::prefetch;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

const EMPTY: u32 = u32::MAX;
/// Cells of the smallest index.
const FEWEST: usize = 16;

/// Hashes by multiplication with secret numbers.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    first: u64,
    second: u64,
}

impl Default for Seeds {
    fn default() -> Self {
        let random = RandomState::new();
        Self { first: random.hash_one(1), second: random.hash_one(2) | 1 }
    }
}

impl Seeds {
    /// The hash of a key.
    pub fn hash(&self, key: &impl Hash) -> u32 {
        #[allow(clippy::cast_possible_truncation)] // any half will do
        let half = self.long_hash(key) as u32;
        half
    }

    /// The hash of a key, twice as long: keys are told apart by it.
    pub fn long_hash(&self, key: &impl Hash) -> u64 {
        let mut folding = FoldingHasher { state: self.first, by: self.second };
        key.hash(&mut folding);
        fold(folding.state, self.second)
    }
}

struct FoldingHasher {
    state: u64,
    by: u64,
}

/// Both halves of a product: each bit depends on all of both numbers.
#[allow(clippy::cast_possible_truncation)] // the halves
fn fold(number: u64, by: u64) -> u64 {
    let product = u128::from(number) * u128::from(by);
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for FoldingHasher {
    fn write_u64(&mut self, word: u64) {
        // What is added is another number at each word, so their order counts.
        self.state = fold(self.state.rotate_left(23) ^ word, self.by);
    }

    #[allow(clippy::cast_possible_truncation)] // the halves
    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write(&mut self, octets: &[u8]) {
        let (words, rest) = octets.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[derive(Clone, Copy, Debug)]
struct IndexCell {
    hash: u32,
    slot: u32,
}

/// Places by the hashes of their keys.
#[derive(Debug)]
pub struct HashIndex {
    cells: Vec<IndexCell>,
    count: usize,
}

impl Default for HashIndex {
    fn default() -> Self {
        Self { cells: vec![IndexCell { hash: 0, slot: EMPTY }; FEWEST], count: 0 }
    }
}

impl HashIndex {
    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first slot of a hash of which `is_it` is true.
    pub fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let cell = self.cells[at];
            if cell.slot == EMPTY {
                return None;
            }
            if cell.hash == hash && is_it(cell.slot) {
                return Some(cell.slot);
            }
            at = self.next(at);
        }
    }

    /// Prefetch the memory where the search for a hash begins.
    pub(crate) fn prefetch(&self, hash: u32) {
        prefetch(&self.cells[self.home(hash)]);
    }

    /// Add a slot that is not there yet.
    ///
    /// # Panics
    /// If it is 2^32 - 1.
    pub fn insert(&mut self, hash: u32, slot: u32) {
        assert_ne!(slot, EMPTY, "more than 2^32 - 1 slots");
        if 2 * (self.count + 1) > self.cells.len() {
            let more = 2 * self.cells.len();
            let cells =
                std::mem::replace(&mut self.cells, vec![IndexCell { hash: 0, slot: EMPTY }; more]);
            for cell in cells.into_iter().filter(|cell| cell.slot != EMPTY) {
                self.put(cell);
            }
        }
        self.put(IndexCell { hash, slot });
        self.count += 1;
    }

    /// Take out a slot.
    ///
    /// # Panics
    /// If it is not there.
    pub fn remove(&mut self, hash: u32, slot: u32) {
        let mut hole = self.home(hash);
        while self.cells[hole].slot != slot {
            assert_ne!(self.cells[hole].slot, EMPTY, "what is removed is there");
            hole = self.next(hole);
        }
        // What follows moves up, unless it would come before where its search begins.
        let mut at = hole;
        loop {
            at = self.next(at);
            let cell = self.cells[at];
            if cell.slot == EMPTY {
                break;
            }
            let mask = self.cells.len() - 1;
            let from_home = at.wrapping_sub(self.home(cell.hash)) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.cells[hole] = cell;
                hole = at;
            }
        }
        self.cells[hole].slot = EMPTY;
        self.count -= 1;
    }

    fn put(&mut self, cell: IndexCell) {
        let mut at = self.home(cell.hash);
        while self.cells[at].slot != EMPTY {
            at = self.next(at);
        }
        self.cells[at] = cell;
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.cells.len() - 1)
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.cells.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        // Few hashes, so that most collide, and runs of cells that wrap around the end.
        #[test]
        fn every_place_is_found_until_it_is_removed(steps in prop::collection::vec((0u32..40, any::<bool>()), 0..300)) {
            let mut index = HashIndex::default();
            let mut model: BTreeMap<u32, u32> = BTreeMap::new();
            for (slot, is_added) in steps {
                let hash = (slot / 3).wrapping_mul(7).wrapping_sub(8);
                if is_added && !model.contains_key(&slot) {
                    index.insert(hash, slot);
                    model.insert(slot, hash);
                } else if model.remove(&slot).is_some() {
                    index.remove(hash, slot);
                }
                prop_assert_eq!(index.len(), model.len());
                for slot in 0..40 {
                    let hash = (slot / 3u32).wrapping_mul(7).wrapping_sub(8);
                    let slot_found = index.find(hash, |other| other == slot);
                    prop_assert_eq!(slot_found, model.contains_key(&slot).then_some(slot));
                }
            }
        }
    }

    #[test]
    fn keys_that_differ_in_one_bit_or_in_their_order_have_hashes_that_spread() {
        let seeds = Seeds::default();
        // 65 536 hashes in as many cells: of cells that are met, chance leaves 1 - 1/e, with a
        // standard deviation of 0.12%.
        for shift in [0, 16, 32, 48] {
            let mut cells = vec![false; 1 << 16];
            for key in 0u64..1 << 16 {
                cells[(seeds.hash(&(key << shift)) & 0xffff) as usize] = true;
            }
            let met = cells.iter().filter(|is_met| **is_met).count();
            assert!((40_600..42_300).contains(&met), "{met} cells at shift {shift}");
        }
        assert_ne!(seeds.hash(&(1u64, 2u64)), seeds.hash(&(2u64, 1u64)));
    }
}
