//! A time for each node, and the earliest of them without a look at all.

use crate::segment::compiled::NEVER;

/// Nodes of a block.
const BLOCK: usize = 8;

/// A time for each node, in blocks with their earliest.
#[derive(Clone, Debug)]
pub struct Agenda {
    blocks: Vec<[i64; BLOCK]>,
    earliest: Vec<i64>,
}

impl Agenda {
    /// Nodes without a time.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let blocks = nodes.div_ceil(BLOCK);
        Self { blocks: vec![[NEVER; BLOCK]; blocks], earliest: vec![NEVER; blocks] }
    }

    /// The time of a node.
    #[inline]
    #[must_use]
    pub fn of(&self, node: usize) -> i64 {
        self.blocks[node / BLOCK][node % BLOCK]
    }

    /// Set the time of a node.
    #[inline]
    pub fn set(&mut self, node: usize, time: i64) {
        let block = &mut self.blocks[node / BLOCK];
        let least = &mut self.earliest[node / BLOCK];
        let before = std::mem::replace(&mut block[node % BLOCK], time);
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

    /// The earliest time of a block.
    #[inline]
    #[must_use]
    pub fn earliest_of(&self, block: usize) -> i64 {
        self.earliest[block]
    }

    /// The nodes of a block, with those beyond the last node.
    #[inline]
    #[must_use]
    pub fn nodes(block: usize) -> std::ops::Range<usize> {
        block * BLOCK..(block + 1) * BLOCK
    }

    /// The node with the earliest time, and the earliest time of the others.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (usize, i64) {
        let (mut block, mut least, mut second) = (0, i64::MAX, i64::MAX);
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
            second = second.min(if index == node { i64::MAX } else { time });
        }
        (block * BLOCK + node, second)
    }
}

#[inline]
fn earliest(block: &[i64; BLOCK]) -> i64 {
    let mut halves = [0; BLOCK / 2];
    for (half, pair) in halves.iter_mut().zip(block.chunks_exact(2)) {
        *half = pair[0].min(pair[1]);
    }
    halves.into_iter().fold(i64::MAX, i64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_node_and_the_time_of_the_second_are_found_in_any_blocks() {
        let mut agenda = Agenda::new(20);
        assert_eq!(agenda.first().1, NEVER);
        for (node, time) in [(17, 30), (3, 50), (2, 40), (19, 35)] {
            agenda.set(node, time);
        }
        assert_eq!(agenda.first(), (17, 35));
        agenda.set(17, 60);
        assert_eq!(agenda.first(), (19, 40));
        agenda.set(19, NEVER);
        assert_eq!(agenda.first(), (2, 50));
        assert_eq!([0, 1, 2].map(|block| agenda.earliest_of(block)), [40, NEVER, 60]);
        agenda.set(2, 50);
        assert_eq!(agenda.first().1, 50);
    }
}
