//! A table of what was met lately: of more than its limit, what was met longest ago goes.
//!
//! The order and the hashes stand apart from the values, 12 and 8 octets each: to find a value and
//! to note that it was met touches no other value.

use crate::ahead::prefetch;
use crate::index::{HashIndex, Seeds};
use std::hash::Hash;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct OrderLink {
    hash: u32,
    earlier: u32,
    later: u32,
}

#[derive(Debug)]
struct RecentSlot<K, V> {
    key: K,
    value: V,
}

/// Values by key, in the order in which they were met last.
#[derive(Debug)]
pub struct RecentTable<K, V> {
    seeds: Seeds,
    index: HashIndex,
    links: Vec<OrderLink>,
    // Boxed, so that the table grows without moving them.
    slots: Vec<Option<Box<RecentSlot<K, V>>>>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl<K: Hash + Eq + Copy, V> Default for RecentTable<K, V> {
    fn default() -> Self {
        Self {
            seeds: Seeds::default(),
            index: HashIndex::default(),
            links: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }
}

impl<K: Hash + Eq + Copy, V> RecentTable<K, V> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The hash of a key, an argument of all other methods: callers with many keys hash them
    /// beforehand.
    #[must_use]
    pub fn hash(&self, key: &K) -> u32 {
        self.seeds.hash(key)
    }

    /// The value of a key, made if it does not exist, now the most recent; `hash` is the key's.
    ///
    /// # Panics
    /// If there are 2^32 - 1 values.
    pub fn meet(&mut self, key: &K, hash: u32, make: impl FnOnce() -> V) -> &mut V {
        // Captures come in runs of one connection.
        let is_newest = self.newest != NONE
            && self.link(self.newest).hash == hash
            && self.slot(self.newest).key == *key;
        let number = if is_newest {
            self.newest
        } else if let Some(number) = self.number(key, hash) {
            self.unlink(number);
            self.append(number);
            number
        } else {
            let slot = Some(Box::new(RecentSlot { key: *key, value: make() }));
            let link = OrderLink { hash, earlier: NONE, later: NONE };
            let number = if let Some(number) = self.free.pop() {
                (self.slots[number as usize], self.links[number as usize]) = (slot, link);
                number
            } else {
                self.slots.push(slot);
                self.links.push(link);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 slots")
            };
            self.index.insert(hash, number);
            self.append(number);
            number
        };
        &mut self.slots[number as usize].as_mut().expect("what is linked is there").value
    }

    /// The value of a key, whose hash is `hash`.
    #[must_use]
    pub fn find(&self, key: &K, hash: u32) -> Option<&V> {
        self.number(key, hash).map(|number| &self.slot(number).value)
    }

    /// The value of a key, whose hash is `hash`, to be changed.
    pub fn find_mut(&mut self, key: &K, hash: u32) -> Option<&mut V> {
        let number = self.number(key, hash)?;
        self.slots[number as usize].as_mut().map(|slot| &mut slot.value)
    }

    /// The slot number of the first value with this hash: that of the key, except for collisions.
    #[must_use]
    pub fn likely(&self, hash: u32) -> Option<u32> {
        self.index.find(hash, |_| true)
    }

    /// The value in a slot from [`RecentTable::likely`], if nothing was taken out since.
    #[must_use]
    pub fn at(&self, number: u32) -> Option<&V> {
        self.slots.get(number as usize)?.as_ref().map(|slot| &slot.value)
    }

    /// Prefetch the memory that [`RecentTable::likely`] needs.
    pub(crate) fn prefetch_index(&self, hash: u32) {
        self.index.prefetch(hash);
    }

    /// Prefetch the value of a slot.
    pub(crate) fn prefetch(&self, number: u32) {
        if let Some(Some(slot)) = self.slots.get(number as usize) {
            prefetch(&**slot);
        }
    }

    /// Take out the value of a key, whose hash is `hash`.
    pub fn take(&mut self, key: &K, hash: u32) -> Option<V> {
        self.number(key, hash).map(|number| self.take_at(number))
    }

    /// Take out what was met longest ago.
    pub fn take_oldest(&mut self) -> Option<V> {
        (self.oldest != NONE).then(|| self.take_at(self.oldest))
    }

    fn take_at(&mut self, number: u32) -> V {
        self.index.remove(self.link(number).hash, number);
        self.unlink(number);
        self.free.push(number);
        self.slots[number as usize].take().expect("what is linked is there").value
    }

    fn number(&self, key: &K, hash: u32) -> Option<u32> {
        self.index.find(hash, |number| self.slot(number).key == *key)
    }

    fn slot(&self, number: u32) -> &RecentSlot<K, V> {
        self.slots[number as usize].as_ref().expect("what is linked is there")
    }

    fn link(&self, number: u32) -> OrderLink {
        self.links[number as usize]
    }

    fn append(&mut self, number: u32) {
        let earlier = self.newest;
        let link = &mut self.links[number as usize];
        (link.earlier, link.later) = (earlier, NONE);
        if earlier == NONE {
            self.oldest = number;
        } else {
            self.links[earlier as usize].later = number;
        }
        self.newest = number;
    }

    fn unlink(&mut self, number: u32) {
        let OrderLink { earlier, later, .. } = self.link(number);
        if earlier == NONE {
            self.oldest = later;
        } else {
            self.links[earlier as usize].later = later;
        }
        if later == NONE {
            self.newest = earlier;
        } else {
            self.links[later as usize].earlier = earlier;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_oldest_goes_first_whatever_was_met_and_taken(steps in prop::collection::vec((0u8..12, 0u8..4), 0..200)) {
            let mut recent = RecentTable::default();
            let mut model: Vec<u8> = Vec::new();
            for (key, what) in steps {
                match what {
                    0 => {
                        prop_assert_eq!(recent.take(&key, recent.hash(&key)).is_some(), model.contains(&key));
                        model.retain(|other| *other != key);
                    }
                    1 => {
                        let oldest = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(recent.take_oldest(), oldest);
                    }
                    _ => {
                        prop_assert_eq!(*recent.meet(&key, recent.hash(&key), || key), key);
                        model.retain(|other| *other != key);
                        model.push(key);
                    }
                }
                prop_assert_eq!(recent.len(), model.len());
            }
        }
    }
}
