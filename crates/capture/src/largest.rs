//! The largest of what is finished, listed; of the others their sums.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Connections, and flows, that are described one by one.
pub const MOST_LISTED: usize = 1000;

/// Something that is finished, or that the capture ended in the middle of.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    /// Number among all of the kind, in the order of their first packets, from 1 on.
    pub number: u64,
    /// Number of its first packet in the file, from 1 on.
    pub first_packet: u64,
    /// Whether it was evicted.
    pub is_evicted: bool,
    /// What it is.
    pub record: T,
}

/// Sums of the unlisted ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnlistedSums {
    /// How many.
    pub count: u64,
    /// Packets of the unlisted ones.
    pub packets: u64,
    /// Octets of payload of the unlisted ones.
    pub octets: u64,
}

/// The largest of what is finished.
#[derive(Debug)]
pub(crate) struct Largest<T> {
    heap: BinaryHeap<RankedEntry<T>>,
    rest: UnlistedSums,
    evicted: u64,
}

#[derive(Debug)]
struct RankedEntry<T> {
    rank: Reverse<(u64, Reverse<u64>)>,
    packets: u64,
    listed: Box<Listed<T>>,
}

impl<T> PartialEq for RankedEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for RankedEntry<T> {}

impl<T> PartialOrd for RankedEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for RankedEntry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl<T> Default for Largest<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), rest: UnlistedSums::default(), evicted: 0 }
    }
}

impl<T> Largest<T> {
    /// Add something finished, of so many packets and octets of payload.
    pub(crate) fn add(&mut self, listed: Listed<T>, packets: u64, octets: u64) {
        self.evicted += u64::from(listed.is_evicted);
        self.heap.push(RankedEntry {
            rank: Reverse((octets, Reverse(listed.number))),
            packets,
            listed: Box::new(listed),
        });
        if self.heap.len() > MOST_LISTED
            && let Some(least) = self.heap.pop()
        {
            self.rest.count += 1;
            self.rest.packets += least.packets;
            self.rest.octets += least.rank.0.0;
        }
    }

    /// From the largest to the smallest; of the same size, the first first.
    pub(crate) fn sorted(self) -> (Vec<Listed<T>>, UnlistedSums, u64) {
        let listed = self.heap.into_sorted_vec().into_iter().map(|ranked| *ranked.listed).collect();
        (listed, self.rest, self.evicted)
    }
}
