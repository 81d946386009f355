//! A table of what was met lately: of more than its limit, what was met longest ago goes.

use std::collections::HashMap;
use std::hash::Hash;

const NONE: usize = usize::MAX;

#[derive(Debug)]
struct Slot<K, V> {
    key: K,
    value: V,
    earlier: usize,
    later: usize,
}

/// Values by key, in the order in which they were met last.
#[derive(Debug)]
pub struct Recent<K, V> {
    places: HashMap<K, usize>,
    slots: Vec<Option<Slot<K, V>>>,
    free: Vec<usize>,
    oldest: usize,
    newest: usize,
}

impl<K: Hash + Eq + Copy, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { places: HashMap::new(), slots: Vec::new(), free: Vec::new(), oldest: NONE, newest: NONE }
    }
}

impl<K: Hash + Eq + Copy, V> Recent<K, V> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The value of a key, made if there is none, which is now the one met last.
    pub fn meet(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        // Captures come in runs of one connection.
        let place = if self.newest != NONE && self.slot(self.newest).key == key {
            self.newest
        } else if let Some(&place) = self.places.get(&key) {
            self.unlink(place);
            self.link(place);
            place
        } else {
            let place = self.free.pop().unwrap_or(self.slots.len());
            let slot = Some(Slot { key, value: make(), earlier: NONE, later: NONE });
            if place == self.slots.len() {
                self.slots.push(slot);
            } else {
                self.slots[place] = slot;
            }
            self.places.insert(key, place);
            self.link(place);
            place
        };
        &mut self.slot_mut(place).value
    }

    /// The value of a key.
    #[must_use]
    pub fn find(&self, key: &K) -> Option<&V> {
        self.places.get(key).map(|&place| &self.slot(place).value)
    }

    /// Take out the value of a key.
    pub fn take(&mut self, key: &K) -> Option<V> {
        let place = self.places.remove(key)?;
        self.unlink(place);
        self.free.push(place);
        self.slots[place].take().map(|slot| slot.value)
    }

    /// Take out what was met longest ago.
    pub fn take_oldest(&mut self) -> Option<V> {
        let key = self.slots.get(self.oldest)?.as_ref()?.key;
        self.take(&key)
    }

    fn slot(&self, place: usize) -> &Slot<K, V> {
        self.slots[place].as_ref().expect("what is linked is there")
    }

    fn slot_mut(&mut self, place: usize) -> &mut Slot<K, V> {
        self.slots[place].as_mut().expect("what is linked is there")
    }

    fn link(&mut self, place: usize) {
        let earlier = self.newest;
        let slot = self.slot_mut(place);
        (slot.earlier, slot.later) = (earlier, NONE);
        if earlier == NONE {
            self.oldest = place;
        } else {
            self.slot_mut(earlier).later = place;
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: usize) {
        let (earlier, later) = (self.slot(place).earlier, self.slot(place).later);
        if earlier == NONE {
            self.oldest = later;
        } else {
            self.slot_mut(earlier).later = later;
        }
        if later == NONE {
            self.newest = earlier;
        } else {
            self.slot_mut(later).earlier = earlier;
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
                        prop_assert_eq!(recent.take(&key).is_some(), model.contains(&key));
                        model.retain(|other| *other != key);
                    }
                    1 => {
                        let oldest = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(recent.take_oldest(), oldest);
                    }
                    _ => {
                        prop_assert_eq!(*recent.meet(key, || key), key);
                        model.retain(|other| *other != key);
                        model.push(key);
                    }
                }
                prop_assert_eq!(recent.len(), model.len());
            }
        }
    }
}
