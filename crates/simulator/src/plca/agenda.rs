//! A time for each node, and the earliest of them without a look at all; and a set of numbers, and
//! the next of them.

use crate::identity::StationId;
use crate::time::Instant;

/// Nodes of a block.
const BLOCK: usize = 8;

/// A time for each node, in blocks with their earliest.
#[derive(Clone, Debug)]
pub struct Agenda {
    blocks: Vec<[Instant; BLOCK]>,
    earliest: Vec<Instant>,
}

impl Agenda {
    /// Nodes without a time.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let blocks = nodes.div_ceil(BLOCK);
        Self {
            blocks: vec![[Instant::NEVER; BLOCK]; blocks],
            earliest: vec![Instant::NEVER; blocks],
        }
    }

    /// The time of a node.
    #[inline]
    #[must_use]
    pub fn of(&self, node: StationId) -> Instant {
        self.blocks[node.index() / BLOCK][node.index() % BLOCK]
    }

    /// Set the time of a node.
    #[inline]
    pub fn set(&mut self, node: StationId, time: Instant) {
        let block = &mut self.blocks[node.index() / BLOCK];
        let least = &mut self.earliest[node.index() / BLOCK];
        let before = std::mem::replace(&mut block[node.index() % BLOCK], time);
        if time <= *least {
            *least = time;
        } else if before == *least {
            *least = earliest(block);
        }
    }

    /// How many blocks there are.
    #[inline]
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The nodes of a block whose times are not after a bound.
    #[inline]
    pub fn until(&self, block: usize, bound: Instant) -> impl Iterator<Item = StationId> + use<> {
        let mut found = 0u32;
        if self.earliest[block] <= bound {
            for (index, &time) in self.blocks[block].iter().enumerate() {
                found |= u32::from(time <= bound) << index;
            }
        }
        std::iter::from_fn(move || {
            let index = found.trailing_zeros() as usize;
            if found == 0 {
                return None;
            }
            found &= found - 1;
            Some(StationId::new(block * BLOCK + index))
        })
    }

    /// The node with the earliest time, and the earliest time of the others.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (StationId, Instant) {
        let (mut block, mut least, mut second) = (0, Instant::NEVER, Instant::NEVER);
        for (index, &time) in self.earliest.iter().enumerate() {
            second = second.min(least.max(time));
            if time < least {
                (block, least) = (index, time);
            }
        }
        let mut node = 0;
        for (index, &time) in self.blocks[block].iter().enumerate() {
            if time == least {
                node = index;
            }
        }
        for (index, &time) in self.blocks[block].iter().enumerate() {
            second = second.min(if index == node { Instant::NEVER } else { time });
        }
        (StationId::new(block * BLOCK + node), second)
    }
}

/// Some of the nodes of a bus, or of the opportunities of a cycle, by their numbers.
#[derive(Clone, Debug)]
pub struct Subset {
    words: Vec<u64>,
}

impl Subset {
    /// None of so many, or of a few more.
    #[must_use]
    pub fn none_of(count: usize) -> Self {
        Self { words: vec![0; count / 64 + 1] }
    }

    /// Put one in.
    #[inline]
    pub fn insert(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Take one out, if it is in it.
    #[inline]
    pub fn remove(&mut self, number: usize) {
        self.words[number / 64] &= !(1 << (number % 64));
    }

    /// Whether one is in it.
    #[inline]
    #[must_use]
    pub fn contains(&self, number: usize) -> bool {
        self.words[number / 64] >> (number % 64) & 1 > 0
    }

    /// The first one from `from` on.
    #[inline]
    #[must_use]
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut word = self.words[from / 64] & (u64::MAX << (from % 64));
        let mut at = from / 64;
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at * 64 + word.trailing_zeros() as usize)
    }
}

#[inline]
fn earliest(block: &[Instant; BLOCK]) -> Instant {
    let mut halves = [Instant::NEVER; BLOCK / 2];
    for (half, pair) in halves.iter_mut().zip(block.chunks_exact(2)) {
        *half = pair[0].min(pair[1]);
    }
    halves.into_iter().fold(Instant::NEVER, Instant::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Instant {
        Instant::from_ps(ps)
    }

    fn node(number: u32) -> StationId {
        StationId::from(number)
    }

    #[test]
    fn the_next_number_is_found_from_any_on() {
        let mut some = Subset::none_of(255);
        assert_eq!(some.next(0), None);
        for number in [3, 63, 64, 200, 255] {
            some.insert(number);
        }
        some.remove(5);
        some.remove(63);
        assert_eq!([3, 63, 255].map(|number| some.contains(number)), [true, false, true]);
        let next = [0, 3, 4, 63, 64, 65, 200, 201, 255].map(|from| some.next(from));
        assert_eq!(next, [3, 3, 64, 64, 64, 200, 200, 255, 255].map(Some));
        some.remove(200);
        some.remove(255);
        assert_eq!([some.next(64), some.next(65)], [Some(64), None]);
    }

    #[test]
    fn the_first_node_and_the_time_of_the_second_are_found_in_any_blocks() {
        let mut agenda = Agenda::new(20);
        assert_eq!(agenda.first().1, Instant::NEVER);
        for (number, time) in [(17, 30), (3, 50), (2, 40), (19, 35)] {
            agenda.set(node(number), at(time));
        }
        assert_eq!(agenda.first(), (node(17), at(35)));
        agenda.set(node(17), at(60));
        assert_eq!(agenda.first(), (node(19), at(40)));
        agenda.set(node(19), Instant::NEVER);
        assert_eq!(agenda.first(), (node(2), at(50)));
        let until = |block, time| agenda.until(block, at(time)).collect::<Vec<_>>();
        assert_eq!(until(0, 49), [node(2)]);
        assert_eq!(until(0, 50), [2, 3].map(node));
        assert_eq!([until(1, 100), until(2, 59), until(2, 60)].concat(), [node(17)]);
        agenda.set(node(2), at(50));
        assert_eq!(agenda.first().1, at(50));
    }
}
