//! A time for each node, and the earliest of them without a look at all.

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

    /// The earliest time of a block.
    #[inline]
    #[must_use]
    pub fn earliest_of(&self, block: usize) -> Instant {
        self.earliest[block]
    }

    /// The nodes of a block, with those beyond the last node.
    #[inline]
    pub fn nodes(block: usize) -> impl Iterator<Item = StationId> + use<> {
        StationId::range(block * BLOCK, BLOCK)
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
        assert_eq!(
            [0, 1, 2].map(|block| agenda.earliest_of(block)),
            [at(40), Instant::NEVER, at(60)]
        );
        agenda.set(node(2), at(50));
        assert_eq!(agenda.first().1, at(50));
    }
}
