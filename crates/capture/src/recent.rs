//! A table of what was met lately: of more than its limit, what was met longest ago goes.
//!
//! The order and the hashes stand apart from the values, 12 and 8 octets each: to find a value and
//! to note that it was met touches no other value.

use crate::ahead::ask_for;
use crate::index::{Index, Seeds};
use std::hash::Hash;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    hash: u32,
    earlier: u32,
    later: u32,
}

#[derive(Debug)]
struct Slot<K, V> {
    key: K,
    value: V,
}

/// Values by key, in the order in which they were met last.
#[derive(Debug)]
pub struct Recent<K, V> {
    seeds: Seeds,
    index: Index,
    links: Vec<Link>,
    // Boxed, so that the table grows without moving them.
    slots: Vec<Option<Box<Slot<K, V>>>>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl<K: Hash + Eq + Copy, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self {
            seeds: Seeds::default(),
            index: Index::default(),
            links: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }
}

impl<K: Hash + Eq + Copy, V> Recent<K, V> {
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

    /// The hash of a key, which all others are given with it: whoever has many keys hashes them
    /// beforehand.
    #[must_use]
    pub fn hash(&self, key: &K) -> u32 {
        self.seeds.hash(key)
    }

    /// The value of a key, made if there is none, which is now the one met last; `hash` is the
    /// key's.
    ///
    /// # Panics
    /// If there are 2^32 - 1 values.
    pub fn meet(&mut self, key: &K, hash: u32, make: impl FnOnce() -> V) -> &mut V {
        // Captures come in runs of one connection.
        let is_newest = self.newest != NONE
            && self.link(self.newest).hash == hash
            && self.slot(self.newest).key == *key;
        let place = if is_newest {
            self.newest
        } else if let Some(place) = self.place(key, hash) {
            self.unlink(place);
            self.append(place);
            place
        } else {
            let slot = Some(Box::new(Slot { key: *key, value: make() }));
            let link = Link { hash, earlier: NONE, later: NONE };
            let place = if let Some(place) = self.free.pop() {
                (self.slots[place as usize], self.links[place as usize]) = (slot, link);
                place
            } else {
                self.slots.push(slot);
                self.links.push(link);
                u32::try_from(self.slots.len() - 1).expect("fewer places than 32 bits tell apart")
            };
            self.index.insert(hash, place);
            self.append(place);
            place
        };
        &mut self.slots[place as usize].as_mut().expect("what is linked is there").value
    }

    /// The value of a key, whose hash is `hash`.
    #[must_use]
    pub fn find(&self, key: &K, hash: u32) -> Option<&V> {
        self.place(key, hash).map(|place| &self.slot(place).value)
    }

    /// The place of the first value whose key has this hash: of the key's own value, but for
    /// chance.
    #[must_use]
    pub fn likely(&self, hash: u32) -> Option<u32> {
        self.index.find(hash, |_| true)
    }

    /// The value at a place that [`Recent::likely`] gave, if nothing was taken out since.
    #[must_use]
    pub fn at(&self, place: u32) -> Option<&V> {
        self.slots.get(place as usize)?.as_ref().map(|slot| &slot.value)
    }

    /// Ask for the memory that [`Recent::likely`] will need.
    pub(crate) fn ask_for_place(&self, hash: u32) {
        self.index.ask_for(hash);
    }

    /// Ask for the memory of the value at such a place.
    pub(crate) fn ask_for(&self, place: u32) {
        if let Some(Some(slot)) = self.slots.get(place as usize) {
            ask_for(&**slot);
        }
    }

    /// Take out the value of a key, whose hash is `hash`.
    pub fn take(&mut self, key: &K, hash: u32) -> Option<V> {
        self.place(key, hash).map(|place| self.take_at(place))
    }

    /// Take out what was met longest ago.
    pub fn take_oldest(&mut self) -> Option<V> {
        (self.oldest != NONE).then(|| self.take_at(self.oldest))
    }

    fn take_at(&mut self, place: u32) -> V {
        self.index.remove(self.link(place).hash, place);
        self.unlink(place);
        self.free.push(place);
        self.slots[place as usize].take().expect("what is linked is there").value
    }

    fn place(&self, key: &K, hash: u32) -> Option<u32> {
        self.index.find(hash, |place| self.slot(place).key == *key)
    }

    fn slot(&self, place: u32) -> &Slot<K, V> {
        self.slots[place as usize].as_ref().expect("what is linked is there")
    }

    fn link(&self, place: u32) -> Link {
        self.links[place as usize]
    }

    fn append(&mut self, place: u32) {
        let earlier = self.newest;
        let link = &mut self.links[place as usize];
        (link.earlier, link.later) = (earlier, NONE);
        if earlier == NONE {
            self.oldest = place;
        } else {
            self.links[earlier as usize].later = place;
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: u32) {
        let Link { earlier, later, .. } = self.link(place);
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
            let mut recent = Recent::default();
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
